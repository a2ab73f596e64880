"""Terms, entries and boards: sealed seeds, the same bytes each time, copies, ranks.

Also here:
- Kinds of forged entries, and the reason by which each is refused; honest ones pass.
"""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import struct
import zipfile
from collections.abc import Callable, Collection, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from tests.corpus.forge import Forge
from tests.evaluation.arena.conftest import SHORT, Bundle, Field, arena_of, play
from tests.runner.test_seal import reseal

import tradefair.api as tf
from tradefair.cli import run
from tradefair.contract import ScenarioError
from tradefair.contract.sealed_seeds import SealedSeeds
from tradefair.evaluation.arena.board import boards_of_arena
from tradefair.evaluation.arena.check import Checked, Others, check_entry, pack, verdict_of_entry
from tradefair.evaluation.arena.entry import Code
from tradefair.evaluation.arena.terms import Arena, load_arena
from tradefair.evaluation.prove.proof import Code as ProofCode


def toml_of(arena: Arena, path: Path, **changes: str) -> Path:
    """The terms as a person writes them."""
    (setting,) = arena.scenarios
    lines = {"name": '"try"', "seat": '"B1"', "seeds": "[1, 2]", **changes}
    table = "\n".join(f'{key} = "{value}"' for key, value in setting.model_dump().items())
    path.write_text(
        "\n".join(f"{key} = {value}" for key, value in lines.items() if value) + f"\n[[scenarios]]\n{table}\n",
        encoding="utf-8",
    )
    return path


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_entries_and_boards_have_the_same_bytes_when_they_are_made_again(
    duel: Field, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    terms = str(toml_of(duel.arena, tmp_path / "arena.toml"))
    for name in ("zip", "gd", "truthful"):
        assert run(["arena", "pack", str(duel.runs / name), "--arena", terms, "-o", str(tmp_path / f"{name}.tfb")]) == 0
        assert (tmp_path / f"{name}.tfb").read_bytes() == duel.entries[name].read_bytes()
    assert "The entry is accepted: 2 games of policy:zip in try" in " ".join(capsys.readouterr().out.split())
    entries = [str(tmp_path / f"{name}.tfb") for name in ("zip", "gd", "truthful")]
    assert run(["arena", "build", *entries, "--arena", terms, "-o", str(tmp_path / "one")]) == 0
    assert run(["arena", "build", *entries[::-1], "--arena", terms, "-o", str(tmp_path / "two")]) == 0
    assert tree(tmp_path / "one") == tree(tmp_path / "two")
    assert set(tree(tmp_path / "one")) == {"index.html", *(f"boards/1.{end}" for end in ("html", "csv", "tex", "json"))}
    page = (tmp_path / "one" / "index.html").read_text()
    assert "cannot prove which model answered" in page
    assert str(tmp_path) not in page


def test_the_board_ranks_by_the_mean_on_the_same_seeds_and_places_it_between_the_references(duel: Field) -> None:
    found = [check_entry(path, duel.arena) for path in duel.entries.values()]
    (board,) = boards_of_arena(duel.arena, found)
    means = [row.mean for row in board.rows]
    assert means == sorted(means, reverse=True)
    rows = {row.label: row for row in board.rows}
    assert rows["policy:zip"].mean == rows["openai_loop/policy:zip"].mean
    assert (rows["policy:zip"].model_calls, rows["policy:zip"].games) == (0, 2)
    assert rows["openai_loop/policy:zip"].model_calls > 0
    naive, best = rows["policy:truthful"].headline, rows["policy:gd"].headline
    assert naive is not None
    assert best is not None
    # Where both earned the same, the figure says nothing.
    assert (naive.value, best.value) in ((0.0, 1.0), (None, None))
    for row in board.rows:
        assert row.low is not None
        assert row.high is not None
        assert row.low <= row.mean <= row.high


@pytest.mark.many
def test_several_games_of_a_seed_give_pass_k_and_the_share_of_luck(tmp_path: Path) -> None:
    played = [play(tmp_path / "runs", "zic", seed, policy_key=key) for seed in range(1, 9) for key in (0, 1)]
    seeds = tuple(range(1, 9))
    arena = arena_of(played[0], seeds=seeds, games=2)
    checked = pack(tmp_path / "runs", arena, tmp_path / "entry.tfb")
    assert (checked.refusals, len(checked.games)) == ([], 16)
    ((row,),) = [board.rows for board in boards_of_arena(arena, [checked])]
    assert set(row.passed) == {1, 2}
    assert row.passed[2] <= row.passed[1]
    assert row.luck is not None
    assert 0 <= row.luck.share <= 1
    # One game of each seed is the plan: a second one under another key is other luck of the opponents.
    once = check_entry(tmp_path / "entry.tfb", arena_of(played[0], seeds=seeds))
    assert {refusal.code for refusal in once.refusals} == {"opponents_differ"}


def test_a_refused_entry_is_named_and_never_ranked(
    duel: Field, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = Bundle.load(duel.entries["zip"])
    made.index["episodes"][0]["score"] = 10**6
    made.save(tmp_path / "bold.tfb")
    terms = str(toml_of(duel.arena, tmp_path / "arena.toml"))
    asked = ["arena", "build", str(tmp_path / "bold.tfb"), str(duel.entries["gd"]), "--arena", terms]
    assert run([*asked, "-o", str(tmp_path / "site")]) == 1
    held = orjson.loads((tmp_path / "site" / "boards" / "1.json").read_bytes())
    assert next(iter(held)) == "verdict"
    assert [row["label"] for row in held["boards"][0]["rows"]] == ["policy:gd"]
    assert held["refused"][0]["refusals"][0]["code"] == "figures_disagree"
    capsys.readouterr()
    assert run(["arena", "check", str(tmp_path / "bold.tfb"), "--arena", terms]) == 1
    shown = " ".join(capsys.readouterr().out.split())
    assert "figures_disagree" in shown
    assert "the entry says score 1000000.0" in shown


def test_a_policy_is_no_copy_of_itself_but_the_same_episode_is(duel: Field, tmp_path: Path) -> None:
    for seed in (1, 2):
        play(tmp_path / "again", "zip", seed)
    pack(tmp_path / "again", duel.arena, tmp_path / "again.tfb")
    # Played again by somebody else: the events are the same, and so is the head of the chain.
    found = check_entry(tmp_path / "again.tfb", duel.arena, others=Others([duel.entries["models"]]))
    assert found.accepted
    found = check_entry(duel.entries["zip"], duel.arena, others=Others([duel.entries["zip"]]))
    assert {refusal.code for refusal in found.refusals} == {"copied_entry"}


def test_sealed_seeds_are_checked_against_the_commitment_and_a_late_agent_is_a_warning(tmp_path: Path) -> None:
    kept = SealedSeeds(secret="ab" * 32, label="try double_auction/duel", count=2)
    path, _ = (play(tmp_path / "runs", "zip", seed) for seed in kept.seeds)
    sealed: dict[str, Any] = {"seeds": (), "commit": {"double_auction/duel": kept.commitment}, "count": 2}
    with pytest.raises(ScenarioError, match="still sealed"):
        pack(tmp_path / "runs", arena_of(path, **sealed), tmp_path / "entry.tfb")
    with pytest.raises(ScenarioError, match="not the one that was committed to"):
        pack(
            tmp_path / "runs",
            arena_of(path, **sealed, secrets={"double_auction/duel": "cd" * 32}),
            tmp_path / "entry.tfb",
        )
    told = arena_of(path, **sealed, secrets={"double_auction/duel": kept.secret})
    checked = pack(tmp_path / "runs", told, tmp_path / "entry.tfb")
    assert checked.accepted
    assert [warning.partition(":")[0] for warning in checked.warnings] == ["committed_late"]
    assert checked.entry is not None
    early = told.model_copy(update={"committed": (checked.entry.commitment,)})
    assert check_entry(tmp_path / "entry.tfb", early).warnings == []


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"seeds": "[1, 1]"}, "named twice"),
        ({"seeds": ""}, "name seeds, or commit"),
        ({"seeds": "[-1]"}, "greater than or equal to 0"),
        ({"games": "1000"}, "less than or equal to 100"),
        ({"min_games": "3"}, "the plan has 2 games"),
        ({"name": '"../x"'}, "match pattern"),
        ({"prize": "1"}, "Extra inputs"),
        ({"seat": "[" * 50_000}, "not valid TOML"),
    ],
)
def test_terms_that_cannot_be_meant_are_refused_with_what_is_wrong(
    duel: Field, tmp_path: Path, changes: dict[str, str], why: str
) -> None:
    with pytest.raises(ScenarioError, match=why):
        load_arena(toml_of(duel.arena, tmp_path / "arena.toml", **changes))
    (tmp_path / "big.toml").write_bytes(b"#" * (2 << 20))
    with pytest.raises(ScenarioError, match="at most"):
        load_arena(tmp_path / "big.toml")


# Bytes of a member's header before its name.
_HEADER = 30

Change = Callable[[Bundle, Path], object]


def edited(sql: str) -> Change:
    """The first trace changed by an SQL statement: nothing that protects it fits any longer but the entry's digest."""

    def change(made: Bundle, folder: Path) -> None:
        path = folder / "edited.trace"
        path.write_bytes(made.traces[made.index["episodes"][0]["file"]])
        with closing(sqlite3.connect(path)) as database, database:
            database.execute(sql)
        made.put(0, path)

    return change


def replayed(policy: str = "zip", seed: int = 1, **changes: Any) -> Change:
    """The first trace replaced by an honest one that was played otherwise."""
    return lambda made, folder: made.put(0, play(folder / "other", policy, seed, **changes))


def _swapped(made: Bundle, _: Path) -> None:
    first, second = (episode["file"] for episode in made.index["episodes"])
    made.traces[first] = made.traces[second]


def _twice(made: Bundle, _: Path) -> None:
    again = {**made.index["episodes"][0], "file": "traces/again.trace"}
    made.traces["traces/again.trace"] = made.traces[made.index["episodes"][0]["file"]]
    made.index["episodes"].append(again)


def _under_another_name(made: Bundle, folder: Path) -> None:
    def rename(forge: Forge) -> None:
        forge.edit(1, lambda event: event["seating"]["players"]["B1"].update(label="mine"))

    for place in range(2):
        made.forge(rename, folder, place)
    made.index["agent"] |= {"label": "mine"}


def _given_up(made: Bundle, folder: Path) -> None:
    async def leave() -> None:
        async with tf.seat(
            "double_auction", "B1", scenario="double_auction/duel", seed=1, settings=SHORT, folder=folder / "left"
        ):
            pass

    asyncio.run(leave())
    made.put(0, next((folder / "left").rglob("*.trace")))


def _with_other_rules(made: Bundle, folder: Path) -> None:
    made.forge(lambda forge: forge.edit_core(lambda core: core.update(rules_version="1")), folder)


FORGED: Mapping[Code, Change] = {
    "unsafe_archive": lambda made, _: made.traces.update({"traces/../../evil.trace": b""}),
    "unlisted_file": lambda made, _: made.traces.update({"traces/stowaway.trace": b"anything"}),
    "missing_file": lambda made, _: made.traces.pop(made.index["episodes"][0]["file"]),
    "digest_differs": _swapped,
    "chain_broken": edited("DELETE FROM events WHERE seq = 6"),
    "truncated": edited("DELETE FROM events WHERE seq > 12"),
    "side_rows_altered": edited("DELETE FROM agent_events WHERE id = 1"),
    "rules_version": _with_other_rules,
    "scenario_differs": replayed(settings={"rounds": 4}),
    "seat_differs": replayed(seat="S1", others="linear_equilibrium"),
    "opponents_differ": replayed(others="passive"),
    "seed_not_in_plan": replayed(seed=99),
    "seed_missing": lambda made, _: made.traces.pop(made.index["episodes"].pop()["file"]),
    "duplicate_episode": _twice,
    "copied_entry": _under_another_name,
    "unfinished_episode": _given_up,
    "agents_mixed": replayed(policy="gd"),
    "figures_disagree": lambda made, _: made.index["episodes"][0].update(cost_usd_micro=1),
}
"""What is done to an honest entry, given a folder for what that takes."""
OF_MODELS: Collection[Code] = ("side_rows_altered", "copied_entry", "figures_disagree")


def codes(checked: Checked) -> list[str]:
    return [refusal.code for refusal in checked.refusals]


def test_a_game_in_which_a_person_has_moved_for_the_agent_is_refused(duel: Field, tmp_path: Path) -> None:
    made, path = Bundle.load(duel.entries["zip"]), tmp_path / "helped.trace"
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
    made = Bundle.load(duel.entries["models" if code in OF_MODELS else "zip"])
    FORGED[code](made, tmp_path)
    checked = check_entry(
        made.save(tmp_path / "entry.tfb"),
        duel.arena,
        others=Others([duel.entries["models"]] if code == "copied_entry" else []),
    )
    assert not checked.accepted
    assert code in codes(checked)
    # What follows from it may be refused, too: a trace that is gone leaves a seed missing.
    assert codes(checked)[0] == code or code in ("seed_missing", "copied_entry", "agents_mixed", "duplicate_episode")
    text = verdict_of_entry(checked, duel.arena).text
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
