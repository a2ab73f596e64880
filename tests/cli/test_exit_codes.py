"""One table of exit codes, and commands that keep it.

Also here:
- Command lines that cannot work: one line says what was wrong and what to do, in plain words; nothing is written.
- The log of a command: ours at the level that was asked for, libraries at warnings, nobody's values.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
from pathlib import Path

import orjson
import pytest
from tests.waiting import LONG, until

from tradefair.cli import EXIT_CODES, run
from tradefair.cli.logs import JsonLines, PlainLines

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


PLAY = ("play", "double_auction", "--scenario", "smoke")


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("play", "--scenario", "pact"), 2, "name a market: bargaining, double_auction, "),
        (("play", "nope"), 2, "there are bargaining, double_auction, "),
        (("play", "--resume", "nope.trace"), 2, "--resume nope.trace: there is no such file"),
        (("play", "--resume", "."), 2, "a folder: name the trace in it"),
        (("play", "teaching", "--resume", "x.trace"), 2, "leave MARKET out"),
        (("play", "--resume", "x.trace", "--seed", "3", "--seeds", "2"), 2, "leave --seed, --seeds out"),
        (("play", "teaching", "--scenario", "missing.toml"), 2, "missing.toml: cannot be read: No such file"),
        ((*PLAY, "--set", "rounds=many"), 2, "rounds = 'many': it should be a whole number"),
        ((*PLAY, "--set", "rounds=-3"), 2, "rounds = -3: it should be at least 1"),
        ((*PLAY, "--seed", "seven"), 2, "'--seed': it should be a whole number"),
        ((*PLAY, "--limit", "tokens=0"), 2, "--limit: tokens = 0: it should be at least 1"),
        ((*PLAY, "--agent", "policy", "--limit", "tokens=9"), 2, "--agent policy asks none: leave --limit tokens out"),
        ((*PLAY, "--agent", "external", "--limit", "calls=9"), 2, "asks none: leave --limit calls out"),
        ((*PLAY, "--agent", "person", "--limit", "tokens=9"), 2, "--agent person asks none: leave --limit tokens out"),
        ((*PLAY, "--limit", "offer=some"), 2, "no offer: write all or useful(reads=3)"),
        ((*PLAY, "--agent", "openai_loop", "--limit", "reply=9"), 2, "--limit reply is an option of our graphs"),
        ((*PLAY, "--limit", "reply=-1"), 2, "--limit: reply = -1: it should be at least 0"),
        ((*PLAY, "--limit", "calls=many"), 2, "--limit: calls = 'many': it should be a whole number"),
        ((*PLAY, "--limit", "seconds=nan"), 2, "--limit: a number without end, or none"),
        ((*PLAY, "--limit", "calls=9,call=9"), 2, "--limit: call: unknown key; did you mean calls?"),
        ((*PLAY, "--limit", "calls=9", "--limit", "calls=8"), 2, "--limit: a name stands there twice"),
        ((*PLAY, "--key", "agent"), 2, "'agent' is not an override: write key=value"),
        ((*PLAY, "--agent", "policy", "--limit", "seconds=9"), 2, "--limit seconds concerns calls of a model"),
        ((*PLAY, "--agent", "dance"), 2, "did you mean "),
        ((*PLAY, "--model", "gpt"), 2, "policy:<name>, replay:<file>"),
        ((*PLAY, "--model", "openai:x", "--base-url", "example.org"), 2, "write --base-url https://HOST/v1"),
        ((*PLAY, "--model", "openai:x"), 3, "set OPENAI_API_KEY"),
        ((*PLAY, "--out", "/dev/null/x"), 3, "/dev/null/x: the folder cannot be made: Not a directory"),
        ((*PLAY, "--set", "roundz=3"), 2, "roundz: unknown key; did you mean rounds"),
        ((*PLAY, "--agent", "policy:zip", "--model", "policy:gd"), 2, "names the policy: leave --model out"),
        (("report", ".", "-o", "x.pdf"), 2, "x.pdf: a name ends in .html, .htm"),
        (("report", ".", "-o", "none/x.html"), 2, "none: there is no such folder; make it first"),
        (("evaluate", ".", "-o", "x.xls"), 2, "x.xls: a name ends in .json"),
        (("site", ".", "-o", "e.html"), 2, "a site is a folder"),
        (("site", ".", "-o", "../pages"), 1, ": no trace here"),
        (("serve",), 2, "name a market: "),
        (("serve", "no_such_market"), 2, "no_such_market"),
        (("serve", "teaching", "--seat", "P9"), 2, "P9"),
        (("serve", "teaching", "--others", "nobody"), 2, "nobody"),
        (("serve", "teaching", "--set", "slices=1"), 2, "slices"),
        (("serve", "teaching", "--continue", "--resume", "missing.trace"), 2, "give one of them"),
        (("host", "teaching", "--host", "0.0.0.0"), 2, "--allow-remote"),
        (("host", "--resume", "."), 1, "host.json"),
        (("connect", "http://127.0.0.1:1/mcp"), 2, "TRADEFAIR_TOKEN"),
        (("config", "teaching", "--client", "emacs"), 2, "emacs"),
        (("host", "teaching", "--continue"), 2, "name it with --out"),
        (("serve", "--resume", "nope.trace"), 2, "--resume nope.trace: there is no such file"),
        (("host", "double_auction", "--out", "/dev/null/x"), 3, "the folder cannot be made"),
        (("host", "--resume", "nope"), 2, "path 'nope' does not exist"),
        (("show", "scenarios", "teaching/pie", "--set", "rounds=many"), 2, "it should be a whole number"),
    ],
)
def test_a_command_line_that_cannot_work_is_told_why(
    arguments: tuple[str, ...],
    code: int,
    says: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("TRADEFAIR_TOKEN", raising=False)
    monkeypatch.delenv("TRADEFAIR_ALLOW_MODELS", raising=False)
    reacts = signal.getsignal(signal.SIGINT)
    assert run(arguments) == code
    # What a server reacts to while it begins is none of its process's afterwards.
    assert signal.getsignal(signal.SIGINT) is reacts
    captured = capsys.readouterr()
    told = " ".join(captured.err.split())
    assert says in told
    assert captured.out == ""
    assert not [word for word in ("Traceback", "Input should", "Errno", "validation error") if word in told]
    assert list(tmp_path.iterdir()) == []


_PROGRAM = """
import logging, sys
from tradefair.cli.logs import log_to_stderr
log_to_stderr(*sys.argv[1:])
# A library that reads a variable of its own when it is imported.
logging.getLogger("openai").setLevel("DEBUG")
for name in ("tradefair.host", "asyncio", "mcp.server", "httpx2", "openai", "uvicorn.error", "somebody"):
    logging.getLogger(name).info("%s at info", name)
    logging.getLogger(name).debug("%s at debug", name)
logging.getLogger("tradefair.host").warning("called \\x1b[2J\\nWARNING forged", extra={"episode": "e\\u202e1"})
value = "value of " + "a trace"
try:
    {}[value]
except KeyError:
    logging.getLogger("somebody").exception("a fault")
"""


def _log(*arguments: str, **environment: str) -> list[str]:
    told = [sys.executable, "-c", _PROGRAM, *arguments]
    return subprocess.run(told, env=environment, capture_output=True, text=True, check=True).stderr.splitlines()


@pytest.mark.parametrize(("level", "expected"), [("debug", ["INFO", "DEBUG"]), ("info", ["INFO"]), ("warning", [])])
def test_a_level_is_that_of_our_loggers_and_of_no_library(level: str, expected: list[str]) -> None:
    for lines in (_log("text", level), _log(TRADEFAIR_LOG_LEVEL=level)):
        asked = [line.split()[0] for line in lines if " at " in line]
        assert asked == expected
        assert not any(name in " ".join(lines) for name in ("asyncio", "mcp", "httpx2", "openai", "uvicorn"))


@pytest.mark.parametrize("kind", ["text", "json"])
def test_a_line_is_one_line_and_a_fault_shows_no_value(kind: str) -> None:
    lines = _log(kind, "warning")
    assert "value of a trace" not in "\n".join(lines)
    if kind == "json":
        warned, fault = map(orjson.loads, lines)
        assert (warned["message"], warned["episode"]) == (r"called \x1b[2J WARNING forged", "e\u202e1")
        assert fault["exception"].endswith("KeyError")
        return
    assert lines[0] == r"WARNING tradefair.host: called \x1b[2J WARNING forged episode=e\u202e1"
    assert lines[1] == "ERROR somebody: a fault"
    assert lines[-1] == "KeyError"


@pytest.mark.parametrize("form", [PlainLines(), JsonLines()])
def test_a_header_that_a_library_quotes_does_not_fill_the_log(form: logging.Formatter) -> None:
    record = logging.makeLogRecord({"name": "mcp", "levelname": "WARNING", "msg": "bad: %s", "args": ("x" * 60_000,)})
    assert len(form.format(record)) < 2_500
