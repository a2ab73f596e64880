"""One table of exit codes, and commands that keep it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import LONG, until

from tradefair.cli import EXIT_CODES, run

READERS: dict[str, tuple[str, ...]] = {
    "verify": (),
    "evaluate": (),
    "rate": (),
    "report": ("-o", "page.html"),
    "export": ("-o", "lines.jsonl"),
    "rate --by headline": (),
    "lab collusion": (),
    "lab population": (),
    "lab experiment": (),
}
"""Commands that read traces: whatever they make of them, they agree on what is wrong."""


def test_help_shows_the_table_at_the_width_of_a_small_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    table = " ".join(" ".join(lines).split())
    assert all(f" {code} {meaning}" in table for code, meaning in EXIT_CODES.items())
    assert sorted(EXIT_CODES) == [0, 1, 2, 3, 4, 130]


@pytest.mark.parametrize("arguments", ["--help", "lab"])
def test_a_reader_that_has_gone_is_no_fault(arguments: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    program = [sys.executable, "-c", "from tradefair.cli import main; main()", arguments]
    done = subprocess.run(program, stdout=writing, stderr=subprocess.PIPE, timeout=LONG, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("name", READERS)
def test_commands_agree_on_what_is_wrong_with_a_path(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "junk.trace").write_bytes(b"junk")
    codes = {place: run([*name.split(), place, *READERS[name]]) for place in ("nowhere", "empty", "junk.trace")}
    assert codes == {"nowhere": 2, "empty": 1, "junk.trace": 1}, capsys.readouterr().err
    assert run([*name.split(), "--no-such-option"]) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("play", "retail", "--no-references", "--out", "played"),
        ("sweep", "bargaining/ten_thousand", "--out", "swept", "--processes", "1"),
    ],
    ids=["play", "sweep"],
)
def test_a_job_that_is_interrupted_ends_with_130(arguments: tuple[str, ...], tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tradefair.cli", *arguments], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    try:
        # Playing has begun when there is a trace.
        until(lambda: list(tmp_path.rglob("*.trace*")), "a trace", while_runs=process)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=LONG)
    finally:
        process.kill()
    assert process.returncode == 130, said
    assert "Traceback" not in said
