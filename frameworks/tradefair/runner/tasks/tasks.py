"""Tasks: episodes with a name, `<split>/<index>`, each a scenario, the seats to play and a seed.

A split is worked out, not listed: its seeds are digests of what they stand for, so that they are the same on every
machine and no two splits share one. Those of a sealed split are keyed with a salt that one person keeps; what that
salt digests to is known from the start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tradefair.catalog import Tier, load_scenario, market_names, market_type, scenario_ids, scenario_tier
from tradefair.contract import ScenarioError, SeatError, SeatId
from tradefair.contract.errors import unknown
from tradefair.contract.scenario import checked_content
from tradefair.contract.sealed_seeds import SALT_BYTES, SealedSeeds, commitment_of, split_seed
from tradefair.files.user_files import parse_toml, regular, text_file
from tradefair.host.episode.orders import Order
from tradefair.host.seats.plans import STAND_IN, plan_seats

BUNDLED = "tasks.toml"
ALL = "all"
_MAX_SALT_FILE = 4_096
_GROUP_OR_OTHERS = 0o077
_ScenarioId: TypeAlias = Annotated[str, Field(pattern=r"^[a-z_]{1,40}/[a-z0-9_]{1,40}$")]
_Scenarios: TypeAlias = Annotated[tuple[_ScenarioId, ...], Field(max_length=1_000)]
_Seats: TypeAlias = Annotated[tuple[Annotated[str, Field(pattern=r"^[^|,\s]{1,64}$")], ...], Field(min_length=1)]


class SplitTable(BaseModel):
    """A `[[split]]` of a task file: which scenarios, who plays in them, how many seeds for each."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(pattern=r"^[a-z0-9_-]{1,40}$")
    scenarios: _Scenarios = ()
    # One task per agent's seat; all seats in one, for self-play; or these seats in one.
    seats: Literal["each", "all"] | _Seats = "each"
    seeds: int = Field(ge=1, le=1_000_000)
    sealed: bool = False


class TaskFile(BaseModel):
    """A task file: its splits, and the scenarios of those that name none."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    scenarios: _Scenarios = ()
    split: tuple[SplitTable, ...] = Field(min_length=1, max_length=100)


class Choice(NamedTuple):
    """One scenario and the seats that are played from outside in it; `label` is what seeds know them by."""

    market: str
    scenario: str
    tier: Tier
    seats: tuple[SeatId, ...]
    label: str


class Task(NamedTuple):
    """An episode with a name."""

    id: str
    choice: Choice
    seed: int
    sealed: bool

    @property
    def order(self) -> Order:
        """What a host carries out: nobody else has to come."""
        _, _, _, seats, label = self.choice
        return Order(
            market=self.choice.market,
            scenario=self.choice.scenario,
            seed=self.seed,
            seats=ALL if label == ALL else seats,
            others=STAND_IN,
            task=self.id,
            sealed=self.sealed,
        )


@dataclass(frozen=True)
class Split:
    """All tasks of one name. `len` is their number; task `index` has choice index // seeds and seed index % seeds."""

    name: str
    choices: tuple[Choice, ...]
    seeds: int
    salt: bytes = b""
    sealed: bool = False

    def __len__(self) -> int:
        return len(self.choices) * self.seeds

    @property
    def commitment(self) -> str | None:
        """What stands for the salt before it is revealed; None where nothing is sealed."""
        return commitment_of(self.salt) if self.sealed else None

    @property
    def scenarios(self) -> list[str]:
        """Ids, in the order of the tasks."""
        return list(dict.fromkeys(choice.scenario for choice in self.choices))

    @property
    def tiers(self) -> list[Tier]:
        """The tiers of its scenarios, each once."""
        return list(dict.fromkeys(choice.tier for choice in self.choices))

    def task(self, index: int) -> Task:
        """Task number `index`, from 0. Raises SeatError beyond the last."""
        if not 0 <= index < len(self):
            raise SeatError(f"there is no task {self.name}/{index}: {self.name} has 0 to {len(self) - 1}")
        choice, number = self.choices[index // self.seeds], index % self.seeds
        seed = split_seed(self.name, choice.scenario, choice.label, number, self.salt)
        return Task(f"{self.name}/{index}", choice, seed, self.sealed)


@dataclass(frozen=True)
class Tasks:
    """The splits of a file by name; `left_out` names the sealed ones for which there is no salt."""

    splits: Mapping[str, Split]
    left_out: tuple[str, ...] = ()

    def split(self, name: str) -> Split:
        """The split of this name. Raises SeatError."""
        found = self.splits.get(name)
        if name in self.left_out:
            raise SeatError(f"{name} is sealed, and opens with its salt")
        if found is None:
            raise SeatError(unknown("split", name, self.splits))
        return found

    def task(self, name: str) -> Task:
        """The task `<split>/<index>`. Raises SeatError."""
        split, _, index = name.partition("/")
        # As text first: `int` also reads signs, spaces and digits of other scripts. One task has one name: no 007.
        if not (index.isascii() and index.isdigit() and len(index) <= 12 and index == str(int(index))):
            raise SeatError(f"{name[:60]!r} is no task: write <split>/<index>, such as {next(iter(self.splits))}/0")
        return self.split(split).task(int(index))


def load_tasks(file: Path | None = None, salt: bytes | None = None) -> Tasks:
    """The tasks of a file, or the bundled ones; sealed splits where there is a salt.

    Every scenario is loaded once: what cannot be played is refused before anything is served. Raises ScenarioError.
    """
    source = BUNDLED if file is None else str(file)
    text = (files("tradefair.runner.tasks") / BUNDLED).read_text(encoding="utf-8") if file is None else text_file(file)
    known = checked_content(TaskFile, parse_toml(text, source=source), source=source)
    names = [table.name for table in known.split]
    if len(set(names)) < len(names):
        raise ScenarioError(f"{source}: two splits have one name")
    if salt is not None and not any(table.sealed for table in known.split):
        raise ScenarioError(f"{source}: no split of it is sealed: leave the salt out, or write sealed = true")
    usable = [table for table in known.split if salt is not None or not table.sealed]
    if not usable:
        raise ScenarioError(f"{source}: all its splits are sealed: name their salt")
    splits = {
        table.name: Split(
            table.name,
            tuple(_choices(table.scenarios or known.scenarios, table.seats, f"{source}, {table.name}")),
            table.seeds,
            (salt or b"") if table.sealed else b"",
            table.sealed,
        )
        for table in usable
    }
    return Tasks(splits, tuple(table.name for table in known.split if table.name not in splits))


def _choices(scenarios: Sequence[str], seats: str | Sequence[SeatId], source: str) -> Iterable[Choice]:
    if not scenarios:
        raise ScenarioError(f"{source}: name scenarios, for the split or above all of them")
    if len(set(scenarios)) < len(scenarios):
        raise ScenarioError(f"{source}: a scenario stands there twice, and both would have the same seeds")
    for scenario in scenarios:
        market = scenario.partition("/")[0]
        if market not in market_names() or scenario not in scenario_ids(market):
            known = [name for found in market_names() for name in scenario_ids(found)]
            raise ScenarioError(f"{source}: {unknown('scenario', scenario, known)}")
        yield from _of_scenario(market, scenario, seats, source)


def _of_scenario(market: str, scenario: str, seats: str | Sequence[SeatId], source: str) -> Iterable[Choice]:
    try:
        kind, setting = market_type(market), load_scenario(market, scenario)
        plan = plan_seats(kind, setting, agents=None if isinstance(seats, str) else seats, others=STAND_IN)
    except ScenarioError as wrong:
        raise ScenarioError(f"{source}: {scenario}: {wrong}") from None
    tier = scenario_tier(market, scenario)
    if seats == ALL:
        yield Choice(market, scenario, tier, tuple(plan.seats), ALL)
    elif not isinstance(seats, str):
        yield Choice(market, scenario, tier, tuple(plan.agents), ",".join(plan.agents))
    elif not plan.agents:
        raise ScenarioError(f"{source}: {scenario} has no seat for an agent: name some with seats")
    else:
        yield from (Choice(market, scenario, tier, (seat,), seat) for seat in plan.agents)


def read_salt(file: Path) -> bytes:
    """The salt of a file that nobody else can read: its 32 to 64 bytes, or the secret that `tradefair seeds new` wrote.

    Raises ScenarioError.
    """
    try:
        with regular(file, _MAX_SALT_FILE) as opened:
            # Of the file that was opened: its name may stand for another one by now.
            mode = os.fstat(opened.fileno()).st_mode
            content = opened.read(_MAX_SALT_FILE)
    except OSError as error:
        raise ScenarioError(f"{file}: cannot be read: {error.strerror}") from None
    # Windows has no such bits.
    if sys.platform != "win32" and mode & _GROUP_OR_OTHERS:
        raise ScenarioError(f"{file}: others can read it (mode {mode & 0o777:o}), and with it every seed: chmod 600")
    return salt_of(content, str(file))


def salt_of(content: bytes, source: str) -> bytes:
    """A salt as a file holds it. Raises ScenarioError for too few or too many bytes."""
    try:
        return bytes.fromhex(SealedSeeds.model_validate_json(content).secret)
    except ValidationError:
        pass
    least, most = SALT_BYTES
    if not least <= len(content) <= most:
        told = f"{len(content)} bytes; a salt has {least} to {most}"
        raise ScenarioError(f"{source}: {told}: `tradefair seeds new -o FILE` writes one")
    return content
