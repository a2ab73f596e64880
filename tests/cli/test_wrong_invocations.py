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
        ((*PLAY, "--max-tokens", "0"), 2, "it should be at least 1"),
        ((*PLAY, "--agent", "policy", "--max-tokens", "9"), 2, "--agent policy asks none: leave --max-tokens out"),
        ((*PLAY, "--agent", "external", "--max-calls-per-round", "9"), 2, "asks none: leave --max-calls-per-round out"),
        ((*PLAY, "--agent", "person", "--max-tokens", "9"), 2, "--agent person asks none: leave --max-tokens out"),
        (
            (*PLAY, "--agent", "policy", "--no-open"),
            2,
            "a browser is for --agent person: leave --open or --no-open out",
        ),
        ((*PLAY, "--agent", "react", "--slim-tools"), 2, "it is for --agent external: leave --slim-tools out"),
        ((*PLAY, "--offer", "some"), 2, "no offer: write all or useful(reads=3)"),
        ((*PLAY, "--agent", "openai_loop", "--max-reply", "9"), 2, "--max-reply is an option of our graphs"),
        ((*PLAY, "--max-reply", "-1"), 2, "it should be at least 0"),
        ((*PLAY, "--agent", "policy", "--model-timeout", "9"), 2, "--model-timeout concerns calls of a model"),
        ((*PLAY, "--agent", "policy", "--window", "full_round"), 2, "--window is an option of our graphs"),
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
        (("host", "teaching", "--continue"), 2, "name it with --out"),
        (("serve", "--resume", "nope.trace"), 2, "--resume nope.trace: there is no such file"),
        (("host", "double_auction", "--out", "/dev/null/x"), 3, "the folder cannot be made"),
        (("host", "teaching", "--store", "mysql://db/m"), 2, "--store takes the URL of a PostgreSQL database"),
        (("host", "teaching", "--store", "postgresql://db/m#e1"), 2, "--store takes the URL of a PostgreSQL database"),
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
    monkeypatch.delenv("TRADEFAIR_ALLOW_MODELS", raising=False)
    assert run(arguments) == code
    captured = capsys.readouterr()
    told = " ".join(captured.err.split())
    assert says in told
    assert captured.out == ""
    assert not [word for word in ("Traceback", "Input should", "Errno", "validation error") if word in told]
    assert list(tmp_path.iterdir()) == []
