"""What has been proven here is not re-executed again, and nothing else passes for proven."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.corpus.forge import Forge
from tests.evaluation.ratings.playing import play_seats

import tradefair
from tradefair.evaluation.prove import known, proving
from tradefair.evaluation.prove.known import is_known, question_of
from tradefair.evaluation.prove.proof import Refusal
from tradefair.evaluation.prove.proving import refusal_of
from tradefair.evaluation.prove.verify import Check
from tradefair.tracestore import Manifest, Trace, open_trace

AGENT, RIVAL = "B1", "S1"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """A short game of two policies."""
    seats = {AGENT: "shade_5", RIVAL: "truthful"}
    return play_seats(tmp_path / "game.trace", "bargaining/smoke", seats, 1, compared=[AGENT])


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The traces that are re-executed, as they are."""
    seen: list[Path] = []
    verify = proving.verify

    def _verify(trace: Trace) -> Check:
        seen.append(trace.path)
        return verify(trace)

    monkeypatch.setattr(proving, "verify", _verify)
    return seen


def asked(path: Path, *seats: str, hold: bool = True) -> Refusal | None:
    with open_trace(path) as opened:
        if hold:
            opened.hold()
        return refusal_of(opened, seats or None)


def notes(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "proven" / "notes"


def test_a_proof_is_made_once_also_by_the_next_process(trace: Path, checked: list[Path], tmp_path: Path) -> None:
    assert [asked(trace), asked(trace)] == [None, None]
    # Another process has the file alone.
    known.noted_in.cache_clear()
    assert asked(trace) is None
    assert checked == [trace]
    assert notes(tmp_path).stat().st_mode & 0o077 == 0
    # A copy under another name is the same trace; other seats are another question.
    assert asked(Path(shutil.copy(trace, tmp_path / "copy.trace"))) is None
    assert asked(trace, AGENT) is None
    assert checked == [trace, trace]


def test_a_refusal_is_no_note_and_a_changed_byte_another_trace(
    trace: Path, checked: list[Path], tmp_path: Path
) -> None:
    assert asked(trace) is None
    forge = Forge.load(trace)
    forge.about["created"] = "2026-11-29T00:00:00+00:00"
    assert asked(forge.save(tmp_path / "again.trace")) is None
    seating = forge.event(1)["seating"]
    seating["players"][RIVAL]["policy"] = "boulware"
    forge.change(1, seating=seating)
    cheat = forge.save(tmp_path / "cheat.trace")
    assert [getattr(asked(cheat), "code", None) for _ in range(2)] == ["rival_not_replayed"] * 2
    assert [path.stem for path in checked] == ["game", "again", "cheat", "cheat"]


def test_a_time_that_was_changed_below_an_old_seal_is_seen(trace: Path, tmp_path: Path) -> None:
    assert asked(trace) is None
    changed = Path(shutil.copy(trace, tmp_path / "changed.trace"))
    with closing(sqlite3.connect(changed)) as file, file:
        file.execute("UPDATE events SET at_ms = 1 WHERE seq = 2")
    assert getattr(asked(changed), "code", None) == "not_reproduced"


def nobodys(module: str) -> str:
    return ""


def others() -> list[str]:
    return ["orjson-0.dist-info"]


@pytest.mark.parametrize("how", ["log beside", "not held", "unfinished", "elsewhere"])
def test_what_is_not_one_finished_file_is_re_executed_each_time(
    how: str, trace: Path, checked: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if how == "log beside":
        Path(f"{trace}-wal").touch()
    elif how == "unfinished":
        monkeypatch.setattr(Manifest, "sealed", False)
    elif how == "elsewhere":
        monkeypatch.setattr(known, "code_of", nobodys)
    for _ in range(2):
        asked(trace, hold=how != "not held")
    assert checked == [trace, trace]
    assert not notes(tmp_path).exists()


def test_a_file_that_took_the_name_of_the_one_in_memory_is_not_taken_for_it(trace: Path, tmp_path: Path) -> None:
    assert asked(trace) is None
    other = play_seats(tmp_path / "other.trace", "bargaining/smoke", {AGENT: "truthful", RIVAL: "truthful"}, 2)
    with open_trace(other) as opened:
        opened.hold()
        shutil.copy(trace, tmp_path / "swap")
        (tmp_path / "swap").replace(other)
        assert not is_known(question_of(opened, None))


@pytest.mark.parametrize("place", [".", "notes"])
def test_notes_that_others_could_write_are_not_believed(
    place: str, trace: Path, checked: list[Path], tmp_path: Path
) -> None:
    asked(trace)
    (notes(tmp_path).parent / place).chmod(0o777)
    asked(trace)
    assert len(checked) == 2


def test_other_code_makes_another_question(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    digests: list[str] = []
    monkeypatch.setattr(tradefair, "__path__", [str(tmp_path)])

    def _note() -> None:
        known.code_of.cache_clear()
        digests.append(known.code_of("tradefair.pie.tools"))

    for name in ("contract/kernel/core.py", "pie/policies.py", "pie/data/values.json", "evaluation/reading.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        for content in ("1", "2"):
            (tmp_path / name).write_text(content)
            _note()
    monkeypatch.setattr(known, "installed", others)
    _note()
    assert len({*digests}) == len(digests) == 9
    assert known.code_of("elsewhere.pie") == ""
    known.code_of.cache_clear()


def test_the_notes_are_begun_anew_when_there_are_too_many(
    trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(trace)
    monkeypatch.setattr(known, "_MOST_BYTES", 10)
    asked(trace, AGENT)
    assert len(notes(tmp_path).read_text().split()) == 1


@pytest.mark.parametrize("market", ["bargaining", "double_auction", "marketplace", "pricing", "retail", "order_book"])
def test_all_code_that_a_proof_imports_is_part_of_the_question(market: str) -> None:
    code = f"""
import sys
from tradefair.catalog import market_type
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.prove import known, proving
kind = market_type({market!r})
kind.policies
import tradefair.{market}.policies
print(*(name for name in sys.modules if name.startswith("tradefair.")))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env={**os.environ})
    tops = (*(package.replace("/", ".") for package in known.JUDGES), market)
    # The command line's are progress and options; modules of evaluation itself are all taken.
    stray = [
        name
        for name in run.stdout.split()
        if not name.removeprefix("tradefair.").startswith((*tops, "cli"))
        and not (name.startswith("tradefair.evaluation") and name.count(".") == 2)
    ]
    assert set(stray) <= {"tradefair.evaluation"}
