"""What docs/how-to/collusion.md tells people to type works, in the order in which it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tradefair.cli import run

PAGE = Path(__file__).parents[5] / "docs" / "how-to" / "collusion.md"


@pytest.mark.slow
def test_the_commands_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    block = re.search(r"```console\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    lines = block[1].splitlines()
    for line in lines:
        assert run(shlex.split(line.replace("--seeds 40", "--seeds 3"))[1:]) == 0, line
    shown = capsys.readouterr().out
    assert "3 episodes, 3 of them with talk; silent arm: 3; truthful: 3" in shown
    assert len(lines) == 4
