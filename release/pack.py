"""The bundle for desktop clients (MCPB): the wheel, its manifest and what starts it, in one file.

`python -m release.pack` (`make bundle`) builds the wheel, lays everything out in `build/bundle`, and lets the official
tool validate and pack it into `dist/tradefair-VERSION.mcpb`. Needs Node and the npm registry.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from pathlib import Path

from release.wheel import build

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "release" / "bundle"
TOOL = "@anthropic-ai/mcpb@2.1.2"
PATIENCE_S = 300


def lay_out(folder: Path, wheel: Path) -> None:
    """Fill an empty folder with what the bundle holds. `wheel` is the one that it installs: our code needs no index."""
    folder.mkdir(parents=True)
    for name in ("manifest.json", "server.py", "icon.png"):
        shutil.copyfile(SOURCES / name, folder / name)
    shutil.copyfile(ROOT / "LICENSE", folder / "LICENSE")
    shutil.copyfile(wheel, folder / wheel.name)
    (folder / "pyproject.toml").write_text(_project(wheel.name), encoding="utf-8")


def _project(wheel: str) -> str:
    """The project that uv makes an environment for: the wheel, with the versions that we test with."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return "\n".join(
        [
            "[project]",
            'name = "tradefair-bundle"',
            f'version = "{project["version"]}"',
            f'requires-python = "{project["requires-python"]}"',
            f'dependencies = ["{project["name"]}"]',
            "[tool.uv]",
            "package = false",
            f"constraint-dependencies = {json.dumps(pinned)}",
            "[tool.uv.sources]",
            f'{project["name"]} = {{ path = "{wheel}" }}',
            "",
        ]
    )


def pack(folder: Path, bundle: Path) -> None:
    """Let the official tool validate a folder and pack it.

    Raises CalledProcessError, and FileNotFoundError without Node.
    """
    npx = shutil.which("npx")
    if npx is None:
        raise FileNotFoundError("npx (Node) is not installed")
    for words in (["validate", str(folder / "manifest.json")], ["pack", str(folder), str(bundle)]):
        subprocess.run([npx, "--yes", TOOL, *words], check=True, timeout=PATIENCE_S)


def main() -> None:
    """Build `dist/tradefair-VERSION.mcpb`."""
    laid = ROOT / "build" / "bundle"
    shutil.rmtree(laid, ignore_errors=True)
    wheel = build(ROOT / "dist")
    lay_out(laid, wheel)
    pack(laid, ROOT / "dist" / f"{wheel.name.partition('-py3')[0]}.mcpb")


if __name__ == "__main__":
    main()
