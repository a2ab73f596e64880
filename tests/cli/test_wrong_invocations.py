"""Command lines that cannot work: one line says what was wrong and what to do, in plain words; nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradefair.cli import run

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
    assert run(arguments) == code
    captured = capsys.readouterr()
    told = " ".join(captured.err.split())
    assert says in told
    assert captured.out == ""
    assert not [word for word in ("Traceback", "Input should", "Errno", "validation error") if word in told]
    assert list(tmp_path.iterdir()) == []
