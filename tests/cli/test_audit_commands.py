from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.playing import played
from tests.sample import sample

from tradefair.cli import run


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    return played(tmp_path / "runs" / "one.trace", "double_auction/smoke", "zip", 5, seats={})


class Shell:
    def __init__(self, capture: pytest.CaptureFixture[bytes]) -> None:
        self._capture = capture

    def out(self, *arguments: object, code: int = 0) -> bytes:
        assert run([str(argument) for argument in arguments]) == code
        return self._capture.readouterr().out

    def json(self, *arguments: object, code: int = 0) -> Any:
        return orjson.loads(self.out(*arguments, "--json", code=code))

    def error(self, arguments: Sequence[object], code: int) -> str:
        assert run([str(argument) for argument in arguments]) == code
        return self._capture.readouterr().err.decode()


@pytest.fixture
def shell(capsysbinary: pytest.CaptureFixture[bytes]) -> Shell:
    return Shell(capsysbinary)


def test_verify_answers_for_files_and_folders(trace: Path, shell: Shell) -> None:
    for place in (trace, trace.parent):
        content = shell.json("verify", place)
        assert (content["traces"], content["sound"]) == (1, 1)
        assert [verdict["verdict"] for verdict in content["verdicts"]] == ["reproduced"]
    assert shell.json("verify", trace, "--chain")["verdicts"][0]["verdict"] == "intact"
    assert b"reproduced" in shell.out("verify", trace)


def test_verify_fails_for_one_bad_trace_among_good_ones(trace: Path, shell: Shell) -> None:
    (trace.parent / "two.trace").write_bytes(trace.read_bytes().replace(b"view_my_value", b"view_my_valve", 1))
    content = shell.json("verify", trace.parent, code=1)
    assert sorted(verdict["verdict"] for verdict in content["verdicts"]) == ["damaged", "reproduced"]
    assert b"damaged" in shell.out("verify", trace.parent, code=1)


def test_evaluate_prints_seats_and_market_and_writes_json(trace: Path, shell: Shell, tmp_path: Path) -> None:
    outcome = shell.json("evaluate", trace.parent)["traces"][0]["outcome"]
    assert outcome["end_reason"] == "terminated:rounds_completed"
    assert outcome["seats"]["B1"]["label"] == "policy:zip"
    shown = shell.out("evaluate", trace, "--all")
    assert b"trades at equilibrium" in shown
    assert b"S2" in shown
    assert b"trades at equilibrium" not in shell.out("evaluate", trace)
    written = shell.error(["evaluate", trace, "-o", tmp_path / "new" / "out.json"], 0)
    assert "out.json (1 traces, " in written
    assert f"made the folder {tmp_path / 'new'}" in written
    assert orjson.loads((tmp_path / "new" / "out.json").read_bytes())["traces"][0]["outcome"] == outcome


def test_evaluate_gives_each_seat_its_sentence_and_its_cases_and_says_once_what_holds_for_all(
    tmp_path: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "runs"
    shell.out("play", "double_auction", "--scenario", "smoke", "--agent", "policy", "--model", "policy:passive",
              "--others", "passive", "--seed", "1", "--no-references", "--ledger", "off", "--out", out)  # fmt: skip
    found = shell.json("evaluate", out, "--ledger", "off")["traces"][0]["diagnosis"]["findings"]
    raised = [finding for finding in found if finding["status"] == "raised"]
    assert [(finding["id"], *finding["seats"]) for finding in raised] == [
        ("lapse", seat) for seat in ("B1", "B2", "S1", "S2")
    ]
    monkeypatch.setenv("COLUMNS", "200")
    lines = shell.out("evaluate", out, "--all", "--ledger", "off").decode().splitlines()
    for finding in raised:
        place = lines.index(f" {finding['rank']}  lapse  {finding['says']}")
        cases = [f"      #{case['seq']} {case['because']}" for case in finding["cases"]]
        assert lines[place + 1 : place + 5] == ["      competent seats: 0 of 24", *cases]
    # What was not checked, in all four seats.
    assert sum(line.startswith("unit_mistake: ") for line in lines) == 1


def test_evaluate_fails_for_what_is_no_trace(tmp_path: Path, shell: Shell) -> None:
    path = tmp_path / "x.trace"
    path.write_bytes(b"?")
    assert shell.json("evaluate", path, code=1)["traces"][0]["outcome"] is None
    assert shell.out("evaluate", path, code=1).startswith(b"The trace cannot be read: not a trace")


def test_evaluate_ends_with_the_reason_of_its_exit_code(trace: Path, shell: Shell) -> None:
    assert shell.error(["evaluate", trace], 0) == ""
    (trace.parent / "x.trace").write_bytes(b"?")
    told = shell.error(["evaluate", trace.parent], 1)
    assert told.splitlines()[-1] == f"exit code 1: 1 of 2 cannot be evaluated: {trace.parent / 'x.trace'}"


def test_a_seats_view_is_no_damaged_trace(trace: Path, shell: Shell, tmp_path: Path) -> None:
    view = tmp_path / "B1.jsonl"
    written = shell.error(["export", trace, "--seat", "B1", "-o", view], 0)
    assert written == f"wrote {view} ({view.read_bytes().count(b'seq')} events, {view.stat().st_size:,} bytes)\n"
    (verdict,) = shell.json("verify", view, code=1)["verdicts"]
    assert verdict["verdict"] == "not_a_trace"
    assert "verify or evaluate the whole trace" in verdict["sentence"]
    shown = shell.out("verify", view, code=1).decode()
    assert " ".join(shown.split()).startswith(f"{view}: ")


def test_an_export_verifies_and_a_seats_export_is_smaller(trace: Path, shell: Shell, tmp_path: Path) -> None:
    copy = tmp_path / "copy.trace.jsonl"
    assert shell.out("export", trace, "--format", "jsonl", "-o", copy) == b""
    assert shell.out("export", trace) == copy.read_bytes()
    assert shell.json("verify", copy)["verdicts"][0]["verdict"] == "reproduced"
    view = shell.out("export", trace, "--seat", "B1")
    assert 0 < len(view) < len(copy.read_bytes())
    assert "B1, B2, S1, S2" in shell.error(["export", trace, "--seat", "X"], 2)
    assert "jsonl" in shell.error(["export", trace, "--format", "xml"], 2)


def test_an_export_that_cannot_be_written_is_a_harness_failure(trace: Path, shell: Shell) -> None:
    assert "cannot be written" in shell.error(["export", trace, "-o", trace / "below-a-file.jsonl"], 3)


def test_a_damaged_log_is_named_with_line_and_field_and_exit_code_1(tmp_path: Path, shell: Shell) -> None:
    log = tmp_path / "game.jsonl"
    log.write_bytes(b'{"type":"init"}\nnot json\n')
    content = shell.json("import", "bazaar-log", log, "--out", tmp_path / "out", code=1)
    assert content["imported"] == 0
    assert {(finding["file"], finding["line"]) for finding in content["findings"]} >= {
        ("game.jsonl", 1),
        ("game.jsonl", 2),
    }
    assert b"game.jsonl:2" in shell.out("import", "bazaar-log", log, "--out", tmp_path / "out", code=1)


@pytest.mark.many
def test_the_public_samples_import_and_verify_from_the_command_line(tmp_path: Path, shell: Shell) -> None:
    content = shell.json("import", "bazaar-log", sample("logs/bazaar"), "--out", tmp_path)
    assert (content["games"], content["rounds"], content["findings"]) == (16, 480, [])
    verified = shell.json("verify", tmp_path)
    assert (verified["traces"], verified["sound"]) == (16, 16)
