"""Files of options for commands that tests run: what `--config` names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def options_file(folder: Path, **options: Any) -> list[str]:
    """`--config` and a new file in `folder` that holds these options; a dash of a name is an underscore here."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"options_{len(list(folder.glob('options_*.toml')))}.toml"
    lines = [f"{name.replace('_', '-')} = {json.dumps(value)}\n" for name, value in options.items()]
    file.write_text("".join(lines), encoding="utf-8")
    return ["--config", str(file)]
