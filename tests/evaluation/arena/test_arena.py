"""Terms, entries and boards: sealed seeds, the same bytes each time, copies, ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.arena.conftest import Bundle, Field, arena_of, play

from tradefair.cli import run
from tradefair.contract import ScenarioError
from tradefair.contract.sealed_seeds import SealedSeeds
from tradefair.evaluation.arena.board import boards_of_arena
from tradefair.evaluation.arena.check import Others, check_entry, pack
from tradefair.evaluation.arena.terms import Arena, load_arena


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
