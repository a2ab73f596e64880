"""Tasks: what a split stands for is worked out, and is the same for whoever works it out.

Also here:
- Scores of stored episodes: which references make a scale, and what is answered where there is none.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.playing import played, played_by
from tests.options_files import options_file

from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids, scenario_tier
from tradefair.cli import run
from tradefair.contract import ScenarioError, SeatError, TraceError
from tradefair.contract.kernel.players import seat_roles
from tradefair.contract.sealed_seeds import commitment_of
from tradefair.evaluation.modes.base_rates import References, shipped
from tradefair.host.episode.orders import checked
from tradefair.runner.tasks.scoring import Scaled, scale_of, score_file
from tradefair.runner.tasks.tasks import Split, Tasks, load_tasks, read_salt

SALT = bytes(range(32))
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="files have no such modes there")


def file_of(folder: Path, text: str) -> Path:
    path = folder / "tasks.toml"
    path.write_text(text, encoding="utf-8")
    return path


def split_of(folder: Path, text: str, salt: bytes | None = None) -> Split:
    (split,) = load_tasks(file_of(folder, f'[[split]]\nname = "train"\n{text}'), salt).splits.values()
    return split


@pytest.fixture(scope="module")
def bundled() -> Tasks:
    return load_tasks(salt=SALT)


def test_ten_thousand_tasks_have_ten_thousand_seeds_and_no_split_shares_one(bundled: Tasks) -> None:
    seeds = [split.task(index).seed for split in bundled.splits.values() for index in range(len(split))]
    assert len(seeds) > 10_000
    assert len(set(seeds)) == len(seeds)
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_seed_is_a_digest_of_what_it_stands_for(bundled: Tasks) -> None:
    task = bundled.task("train/1007")
    assert (task.choice.scenario, task.choice.seats) == ("double_auction/smoke", ("B1",))
    text = b"tradefair-split/1|train|double_auction/smoke|B1|7"
    assert task.seed == int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1
    assert load_tasks(salt=SALT).task("train/1007") == task


def test_another_salt_changes_every_sealed_seed_and_no_open_one(bundled: Tasks) -> None:
    other = load_tasks(salt=b"x" * 32)
    for name, split in bundled.splits.items():
        same = [split.task(index).seed == other.split(name).task(index).seed for index in range(len(split))]
        assert not any(same) if split.sealed else all(same)
    assert [split.commitment for split in other.splits.values()] == [None, None, commitment_of(b"x" * 32)]


def test_without_a_salt_a_sealed_split_is_not_there() -> None:
    known = load_tasks()
    assert ([*known.splits], known.left_out) == (["train", "validation"], ("test",))
    with pytest.raises(SeatError, match=r"^test is sealed, and opens with its salt$"):
        known.task("test/0")


def test_the_bundled_tasks_are_every_short_preset_that_has_a_scale(bundled: Tasks) -> None:
    listed = {name for market in market_names() for name in scenario_ids(market)}
    short = {name for name in listed if scenario_tier(name.partition("/")[0], name) != "full"}
    # A market for tests and docs is nothing to train on.
    assert set(bundled.split("train").scenarios) == {name for name in short if not name.startswith("teaching/")}


def test_every_bundled_task_can_be_ordered_and_nobody_else_has_to_come(bundled: Tasks) -> None:
    split = bundled.split("test")
    for place, choice in enumerate(split.choices):
        task = split.task(place * split.seeds)
        wanted = checked(task.order)
        assert tuple(wanted.plan.agents) == choice.seats
        assert (wanted.order.seed, wanted.order.task, wanted.order.sealed) == (task.seed, task.id, True)


@pytest.mark.parametrize(
    ("seats", "expected"),
    [
        ('"each"', [("customer_0001",), ("customer_0002",), ("customer_0003",)]),
        ('["customer_0002"]', [("customer_0002",)]),
        ('["customer_0003", "customer_0001"]', [("customer_0001", "customer_0003")]),
    ],
)
def test_seats_are_played_one_by_one_or_together(seats: str, expected: list[tuple[str, ...]], tmp_path: Path) -> None:
    split = split_of(tmp_path, f'scenarios = ["marketplace/small_demo"]\nseeds = 2\nseats = {seats}')
    assert [choice.seats for choice in split.choices] == expected
    assert len(split) == 2 * len(expected)


def test_all_seats_are_an_order_for_self_play(tmp_path: Path) -> None:
    task = split_of(tmp_path, 'scenarios = ["double_auction/duel"]\nseeds = 2\nseats = "all"').task(1)
    assert task.choice.seats == ("B1", "S1")
    assert checked(task.order).plan.agents == ["B1", "S1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("seeds = 1", "name scenarios"),
        ('scenarios = ["double_auction/smok"]\nseeds = 1', "did you mean double_auction/smoke"),
        ('scenarios = ["nothing/smoke"]\nseeds = 1', "there is no scenario 'nothing/smoke'"),
        ('scenarios = ["teaching/pie", "teaching/pie"]\nseeds = 1', "stands there twice"),
        ('scenarios = ["teaching/pie"]\nseeds = 0', r"split\.0\.seeds = 0: it should be at least 1$"),
        ('scenarios = ["teaching/pie"]\nseeds = "5"', "seeds = '5'"),
        ('scenarios = ["teaching/pie"]\nseeds = 5\nseats = ["P9"]', "there is no seat 'P9'"),
        ('scenarios = ["teaching/pie"]\nseeds = 5\nseats = []', r"seats = \[\]: .*at least 1 item, not 0$"),
        ('scenarios = ["teaching/pie"]\nseeds = 5\nseed = 4', "unknown key"),
        ('scenarios = ["../secret"]\nseeds = 5', "scenarios"),
        ('scenarios = ["teaching/pie"]\nseeds = 5\nsealed = true', "all its splits are sealed"),
        ('scenarios = ["teaching/pie"]\nseeds = 5\n[[split]]\nname = "train"\nseeds = 1', "two splits have one name"),
    ],
)
def test_a_wrong_task_file_is_refused_with_its_name_and_what_is_allowed(
    text: str, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ScenarioError, match=message) as told:
        split_of(tmp_path, text)
    assert "tasks.toml" in str(told.value)


def test_a_salt_without_a_sealed_split_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="no split of it is sealed"):
        split_of(tmp_path, 'scenarios = ["teaching/pie"]\nseeds = 5', SALT)


@pytest.mark.parametrize(
    "name", ["train", "train/", "train/-1", "train/+1", "train/1.0", "train/01", "train/٣", "/0", "train/0/0"]
)
def test_what_is_no_task_is_named_so(name: str, bundled: Tasks) -> None:
    with pytest.raises(SeatError, match=r"is no task|there is no split"):
        bundled.task(name)


def test_an_index_beyond_the_last_says_where_they_end(bundled: Tasks) -> None:
    bundled.task(f"train/{len(bundled.split('train')) - 1}")
    with pytest.raises(SeatError, match="train has 0 to"):
        bundled.task(f"train/{len(bundled.split('train'))}")


# --- the salt ---------------------------------------------------------------------------------------------------------


def salt_file(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    path = folder / "salt"
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_salt_is_32_to_64_bytes_or_the_secret_of_seeds_new(tmp_path: Path) -> None:
    assert read_salt(salt_file(tmp_path, b"s" * 64)) == b"s" * 64
    assert run(["seeds", "new", "-o", str(tmp_path / "made")]) == 0
    assert len(read_salt(tmp_path / "made")) == 32
    for content in (b"", b"s" * 31, b"s" * 65):
        with pytest.raises(ScenarioError, match="a salt has 32 to 64"):
            read_salt(salt_file(tmp_path, content))


@POSIX
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644])
def test_a_salt_that_others_can_read_is_refused(mode: int, tmp_path: Path) -> None:
    file = salt_file(tmp_path, SALT, mode)
    with pytest.raises(ScenarioError, match=f"mode {mode:o}"):
        read_salt(file)
    assert run(["host", "--tasks", "bundled", *options_file(tmp_path, salt_file=str(file))]) == 2


def test_what_is_revealed_opens_the_sealed_split_for_everybody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], bundled: Tasks
) -> None:
    file = salt_file(tmp_path, SALT)
    assert run(["tasks", "--reveal", "--salt", str(file)]) == 0
    told = capsys.readouterr()
    assert told.out == f"{SALT.hex()}\n"
    assert commitment_of(SALT) in told.err
    assert run(["tasks", "test/3", "--salt", told.out.strip(), "--json"]) == 0
    assert f'"seed": {bundled.task("test/3").seed}' in capsys.readouterr().out
    assert run(["tasks", "test/3", "--salt", "zz"]) == 2


def test_the_command_lists_splits_tasks_and_one_task(capsys: pytest.CaptureFixture[str], bundled: Tasks) -> None:
    assert run(["tasks"]) == 0
    told = capsys.readouterr()
    assert "validation" in told.out
    assert "sealed, and left out without their salt: test" in told.err
    assert run(["tasks", "train", "--start", "1000", "--limit", "2"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split()[0] for row in rows] == ["task", "train/1000", "train/1001"]
    assert rows[1].endswith(str(bundled.task("train/1000").seed))
    assert run(["tasks", "nope/1"]) == 2


def scale(name: str, role: str, rules: str | None = None, **overrides: Any) -> Scaled | None:
    kind = market_type(name.partition("/")[0])
    content = load_scenario(kind.name, name, overrides).model_dump(mode="json")
    return scale_of(kind.name, content, rules or kind.version, role)


def test_the_floor_does_nothing_and_the_top_is_the_best_known_even_if_it_knows_hidden_facts() -> None:
    # Rows of the shipped file: passive 0, adaptive 36.8, oracle 88.1 (privileged).
    found = scale("supply_chain/first", "retailer")
    assert found is not None
    assert found.scale.floor == 0
    assert found.scale.top > 80
    # A shop that does nothing pays rent.
    rented = scale("retail/middle", "manager")
    assert rented is not None
    assert rented.scale.floor == -26_000


def test_a_seat_that_does_nothing_scores_0_and_a_good_one_more(tmp_path: Path) -> None:
    quiet, keen = (
        score_file(
            played_by(tmp_path / f"{mine}.trace", "bargaining/smoke", {"B1": mine}, others=other), mine, every_seat=True
        )
        for mine, other in (("passive", "truthful"), ("linear_equilibrium", "linear_concession"))
    )
    assert quiet.seats["B1"].score == 0
    assert 0.5 < (keen.seats["B1"].score or 0) <= 1
    assert (quiet.task, quiet.verify, quiet.findings) == (None, None, [])


def test_only_the_scenario_and_the_rules_of_the_references_have_a_scale() -> None:
    assert scale("double_auction/smoke", "buyer") is not None
    assert scale("double_auction/smoke", "buyer", rounds=4) is None
    assert scale("double_auction/smoke", "buyer", rules="2") is None
    # Who plays is no part of it.
    assert scale("double_auction/smoke", "buyer", seats={"B2": "agent", "buyer": "zip", "seller": "zip"}) is not None
    assert scale("teaching/pie", "claimant") is None


def test_a_role_with_another_metric_has_rewards_and_no_scores(tmp_path: Path) -> None:
    assert scale("marketplace/first", "customer") is not None
    assert scale("marketplace/first", "business") is None
    path = played_by(tmp_path / "m.trace", "marketplace/first", {"customer_0001": "item_searcher"}, others="honest")
    found = score_file(path, "m", every_seat=True).seats
    businesses = [seat for seat in found.values() if seat.role == "business"]
    assert len(businesses) == 3
    assert {(seat.metric, seat.score, seat.score_range) for seat in businesses} == {("revenue", None, None)}
    assert found["customer_0001"].metric == "utility"


def test_every_bundled_task_has_a_scale_for_each_of_its_seats() -> None:
    for choice in load_tasks().split("train").choices:
        kind = market_type(choice.market)
        roles = seat_roles(kind, load_scenario(kind.name, choice.scenario), choice.seats)
        for role in roles.values():
            found = scale(choice.scenario, role)
            assert found is not None, choice
            assert found.scale.top > found.scale.floor


def test_a_better_reference_or_floor_is_another_digest_and_a_base_rate_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def ships(references: References) -> None:
        def found(*_: object) -> References:
            return references

        monkeypatch.setattr("tradefair.runner.tasks.scoring.shipped", found)

    first = scale("bargaining/pact", "seller")
    assert first is not None
    package = "tradefair.evaluation.markets.bargaining"
    known = shipped(package, load_scenario("bargaining", "pact").model_dump(mode="json"), "2")
    assert known is not None
    assert known.modes
    same = known.model_copy(update={"modes": {}})
    ships(same)
    assert scale("bargaining/pact", "seller") == first
    rows = {**known.rows, "oracle_of_tomorrow": known.rows["passive"]}
    other = known.model_copy(update={"rows": rows})
    ships(other)
    found = scale("bargaining/pact", "seller")
    assert found is not None
    # A policy that nobody has cannot play the role, so it is not the top; the digest knows the file.
    assert found.scale == first.scale
    assert found.references != first.references
    without = known.model_copy(update={"rows": {"truthful": known.rows["truthful"]}})
    ships(without)
    assert scale("bargaining/pact", "seller") is None


def test_a_reward_keeps_its_type_and_every_digit(tmp_path: Path) -> None:
    found = score_file(
        played(tmp_path / "d.trace", "double_auction/smoke", "truthful"), "d", every_seat=True, check=True
    )
    assert {type(seat.reward) for seat in found.seats.values()} == {int}
    assert found.verify is not None
    assert (found.verify.verdict, found.versions.rules) == ("reproduced", market_type("double_auction").version)
    assert found.seats["B1"].score_range == (-1, 1)


def test_what_is_no_trace_has_no_score(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        score_file(tmp_path / "none.trace", "x")
