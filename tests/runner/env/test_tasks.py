"""Tasks: what a split stands for is worked out, and is the same for whoever works it out."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import pytest
from tests.options_files import options_file

from tradefair.catalog import market_names, scenario_ids, scenario_tier
from tradefair.cli import run
from tradefair.contract import ScenarioError, SeatError
from tradefair.contract.sealed_seeds import commitment_of
from tradefair.host.episode.orders import checked
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
