"""Kinds of forged entries, and the reason by which each is refused; honest ones pass."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.corpus.forge import Forge
from tests.evaluation.arena.conftest import SHORT, Bundle, Field, arena_of, play
from tests.runner.test_seal import reseal

import tradefair.api as tf
from tradefair.evaluation.arena.check import Checked, Others, check_entry, pack, verdict_of_entry
from tradefair.evaluation.arena.entry import Code
from tradefair.evaluation.arena.terms import Arena
from tradefair.evaluation.prove.proof import Code as ProofCode

# Bytes of a member's header before its name.
_HEADER = 30

Make = Callable[[Field, Path], tuple[Path, Arena]]
FORGED: dict[Code, Make] = {}


def forged(code: Code) -> Callable[[Make], Make]:
    def register(make: Make) -> Make:
        assert code not in FORGED
        FORGED[code] = make
        return make

    return register


def bundle(duel: Field, name: str = "zip") -> Bundle:
    return Bundle.load(duel.entries[name])


def edited(duel: Field, folder: Path, sql: str, name: str = "zip") -> tuple[Path, Arena]:
    """The first trace changed by an SQL statement: nothing that protects it fits any longer but the entry's digest."""
    made, path = bundle(duel, name), folder / "edited.trace"
    path.write_bytes(made.traces[made.index["episodes"][0]["file"]])
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(sql)
    made.put(0, path)
    return made.save(folder / "entry.tfb"), duel.arena


def replayed(duel: Field, folder: Path, policy: str = "zip", seed: int = 1, **changes: Any) -> tuple[Path, Arena]:
    """The first trace replaced by an honest one that was played otherwise."""
    made = bundle(duel)
    made.put(0, play(folder / "other", policy, seed, **changes))
    return made.save(folder / "entry.tfb"), duel.arena


@forged("unsafe_archive")
def _climbing_name(duel: Field, folder: Path) -> tuple[Path, Arena]:
    made = bundle(duel)
    made.traces["traces/../../evil.trace"] = b""
    return made.save(folder / "entry.tfb"), duel.arena


@forged("unlisted_file")
def _stowaway(duel: Field, folder: Path) -> tuple[Path, Arena]:
    made = bundle(duel)
    made.traces["traces/stowaway.trace"] = b"anything"
    return made.save(folder / "entry.tfb"), duel.arena


@forged("missing_file")
def _gone(duel: Field, folder: Path) -> tuple[Path, Arena]:
    made = bundle(duel)
    made.traces.pop(made.index["episodes"][0]["file"])
    return made.save(folder / "entry.tfb"), duel.arena


@forged("digest_differs")
def _swapped(duel: Field, folder: Path) -> tuple[Path, Arena]:
    made = bundle(duel)
    first, second = (episode["file"] for episode in made.index["episodes"])
    made.traces[first] = made.traces[second]
    return made.save(folder / "entry.tfb"), duel.arena


@forged("chain_broken")
def _left_out(duel: Field, folder: Path) -> tuple[Path, Arena]:
    return edited(duel, folder, "DELETE FROM events WHERE seq = 6")


@forged("truncated")
def _cut_off(duel: Field, folder: Path) -> tuple[Path, Arena]:
    return edited(duel, folder, "DELETE FROM events WHERE seq > 12")


@forged("side_rows_altered")
def _cheaper(duel: Field, folder: Path) -> tuple[Path, Arena]:
    return edited(duel, folder, "DELETE FROM agent_events WHERE id = 1", "models")


@forged("rules_version")
def _other_rules(duel: Field, folder: Path) -> tuple[Path, Arena]:
    made = bundle(duel)
    made.forge(lambda forge: forge.edit_core(lambda core: core.update(rules_version="1")), folder)
    return made.save(folder / "entry.tfb"), duel.arena


@forged("scenario_differs")
def _easier(duel: Field, folder: Path) -> tuple[Path, Arena]:
    return replayed(duel, folder, settings={"rounds": 4})


@forged("seat_differs")
def _other_seat(duel: Field, folder: Path) -> tuple[Path, Arena]:
    return replayed(duel, folder, seat="S1", others="linear_equilibrium")


@forged("opponents_differ")
def _weaker(duel: Field, folder: Path) -> tuple[Path, Arena]:
    return replayed(duel, folder, others="passive")


@forged("seed_not_in_plan")
def _lucky_seed(duel: Field, folder: Path) -> tuple[Path, Arena]:
    return replayed(duel, folder, seed=99)


@forged("seed_missing")
def _left_at_home(duel: Field, folder: Path) -> tuple[Path, Arena]:
    made = bundle(duel)
    made.traces.pop(made.index["episodes"].pop()["file"])
    return made.save(folder / "entry.tfb"), duel.arena


@forged("duplicate_episode")
def _twice(duel: Field, folder: Path) -> tuple[Path, Arena]:
    made = bundle(duel)
    again = {**made.index["episodes"][0], "file": "traces/again.trace"}
    made.traces["traces/again.trace"] = made.traces[made.index["episodes"][0]["file"]]
    made.index["episodes"].append(again)
    return made.save(folder / "entry.tfb"), duel.arena


@forged("copied_entry")
def _under_another_name(duel: Field, folder: Path) -> tuple[Path, Arena]:
    made = bundle(duel, "models")

    def rename(forge: Forge) -> None:
        def call_it_mine(event: dict[str, Any]) -> None:
            event["seating"]["players"]["B1"]["label"] = "mine"

        forge.edit(1, call_it_mine)

    for place in range(2):
        made.forge(rename, folder, place)
    made.index["agent"] |= {"label": "mine"}
    return made.save(folder / "entry.tfb"), duel.arena


@forged("unfinished_episode")
def _given_up(duel: Field, folder: Path) -> tuple[Path, Arena]:
    async def leave() -> None:
        async with tf.seat(
            "double_auction", "B1", scenario="double_auction/duel", seed=1, settings=SHORT, folder=folder / "left"
        ):
            pass

    asyncio.run(leave())
    made = bundle(duel)
    made.put(0, next((folder / "left").rglob("*.trace")))
    return made.save(folder / "entry.tfb"), duel.arena


@forged("agents_mixed")
def _with_help(duel: Field, folder: Path) -> tuple[Path, Arena]:
    return replayed(duel, folder, policy="gd")


@forged("figures_disagree")
def _bolder_claim(duel: Field, folder: Path) -> tuple[Path, Arena]:
    made = bundle(duel, "models")
    made.index["episodes"][0]["cost_usd_micro"] = 1
    return made.save(folder / "entry.tfb"), duel.arena


def codes(checked: Checked) -> list[str]:
    return [refusal.code for refusal in checked.refusals]


def test_a_game_in_which_a_person_has_moved_for_the_agent_is_refused(duel: Field, tmp_path: Path) -> None:
    made, path = bundle(duel), tmp_path / "helped.trace"
    path.write_bytes(made.traces[made.index["episodes"][0]["file"]])
    with closing(sqlite3.connect(path)) as database, database:
        quotes = """SELECT MIN(seq) FROM events WHERE CAST(body AS TEXT) LIKE '%"seat":"B1"%"tool":"submit_quote"%'"""
        assert database.execute(f"UPDATE events SET by = 'person' WHERE seq = ({quotes})").rowcount == 1
    reseal(path)
    made.put(0, path)
    checked = check_entry(made.save(tmp_path / "entry.tfb"), duel.arena)
    (refusal, *_) = checked.refusals
    assert (refusal.code, "a person made 1 of " in refusal.sentence) == ("agents_mixed", True)


def test_there_is_a_forged_entry_for_every_reason() -> None:
    # What proves nothing is in tests/evaluation/test_proof.py.
    assert set(FORGED) == {*get_args(Code)} - {*get_args(ProofCode)}


@pytest.mark.parametrize("code", FORGED)
def test_a_forged_entry_is_refused_by_name(code: Code, duel: Field, tmp_path: Path) -> None:
    path, arena = FORGED[code](duel, tmp_path)
    checked = check_entry(path, arena, others=Others([duel.entries["models"]] if code == "copied_entry" else []))
    assert not checked.accepted
    assert code in codes(checked)
    # What follows from it may be refused, too: a trace that is gone leaves a seed missing.
    assert codes(checked)[0] == code or code in ("seed_missing", "copied_entry", "agents_mixed", "duplicate_episode")
    text = verdict_of_entry(checked, arena).text
    assert code in text
    assert "None" not in text


@pytest.mark.parametrize(
    ("market", "scenario", "policy", "settings"),
    [
        ("double_auction", "double_auction/duel", "zip", SHORT),
        ("bargaining", "bargaining/smoke", "linear_concession", {}),
        ("retail", "retail/smoke", "reorder_point", {"horizon_days": 2}),
        ("supply_chain", "supply_chain/duel", "cost_plus", {"rounds": 2}),
        ("marketplace", "marketplace/small_demo", "first_taker", {}),
        ("pricing", "pricing/smoke", "best_reply", {}),
        ("order_book", "order_book/smoke", "gd", {}),
        ("teaching", "teaching/pie", "half", {}),
    ],
)
def test_an_honest_entry_of_every_market_passes(
    market: str, scenario: str, policy: str, settings: dict[str, Any], tmp_path: Path
) -> None:
    asked: dict[str, Any] = {"scenario": scenario, "agent": f"policy:{policy}", "settings": settings}
    first, _ = (tf.play(market, seed=seed, folder=tmp_path / "runs", **asked) for seed in (1, 2))
    arena = arena_of(first.path)
    checked = pack(tmp_path / "runs", arena, tmp_path / "entry.tfb")
    assert (checked.refusals, checked.accepted, checked.warnings) == ([], True, [])
    assert check_entry(tmp_path / "entry.tfb", arena).accepted


# --- archives ---------------------------------------------------------------------------------------------------------


def _link(path: Path) -> None:
    info = zipfile.ZipInfo("traces/link.trace")
    info.create_system, info.external_attr = 3, 0o120777 << 16
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(info, "/etc/passwd")


def _twice_in_the_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate name"):
        archive.writestr("entry.json", b"{}")


def _bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("traces/bomb.trace", bytes(50_000_000))


def _absolute(path: Path) -> None:
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("/traces/a.trace", b"")


def _overlapping(path: Path) -> None:
    """One member lies inside the bytes of another: unpacked, they are more than the archive holds."""
    inner = path.with_suffix(".inner")
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("traces/b.trace", b"bytes")
        (held,) = archive.infolist()
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("traces/a.trace", inner.read_bytes())
        around = archive.getinfo("traces/a.trace")
        held.header_offset = around.header_offset + _HEADER + len(around.filename)
        archive.filelist.append(held)


def _many(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-14:-10] = struct.pack("<2H", 60_000, 60_000)
    path.write_bytes(content)


def _trailing(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")


def _no_index(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("traces/a.trace", b"")


def _deep_index(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("entry.json", b"[" * 100_000)


def _flipped(path: Path) -> None:
    """A byte of a stored trace is another one: the archive's own sum does not fit."""
    content = bytearray(path.read_bytes())
    content[content.index(b"SQLite format 3") + 40] ^= 1
    path.write_bytes(content)


@pytest.mark.parametrize(
    "spoil",
    [_link, _twice_in_the_archive, _bomb, _absolute, _overlapping, _many, _trailing, _no_index, _deep_index, _flipped],
)
def test_an_archive_that_no_entry_has_is_refused_before_it_is_unpacked(
    spoil: Callable[[Path], None], duel: Field, tmp_path: Path
) -> None:
    path = Path(shutil.copy(duel.entries["zip"], tmp_path / "entry.tfb"))
    spoil(path)
    checked = check_entry(path, duel.arena)
    assert (codes(checked), checked.entry) == (["unsafe_archive"], None)
    assert verdict_of_entry(checked, duel.arena).status == "unsound"
    # The same for any cut: never an exception, never accepted.
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert codes(check_entry(path, duel.arena)) == ["unsafe_archive"]
