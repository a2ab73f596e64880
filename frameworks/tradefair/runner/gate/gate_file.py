"""`gate.toml`: who is judged, where it plays, how large a loss may be, and what may never happen."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import ScenarioError, SeatId
from tradefair.contract.bounds import MAX_SEED
from tradefair.contract.chain import canonical, digest
from tradefair.contract.errors import unknown
from tradefair.contract.scenario import checked_content
from tradefair.contract.sealed_seeds import SealedSeeds
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.modes.detectors import GENERAL
from tradefair.files.sealed import read_sealed
from tradefair.files.user_files import parse_toml, text_file
from tradefair.host.seats.plans import SeatPlan, plan_turn
from tradefair.runner.plans.episodes import Variant
from tradefair.runner.plans.plan import AgentOptions, Budget, Strict

GATE_FILE, BASELINE = "gate.toml", "gate.baseline.json"
FIRST_SEED = 1001
LEAST_SEEDS, MOST_SEEDS = 8, 1_000
"""Below six games nothing can be decided; a few more than that are refused too."""
COUNTED = ("never_acted", "broke_off", "refused")
"""Limits that are no failure modes: games without an accepted action, games that the agent left, refused calls."""
SEALED = "sealed:"
_SHARE = re.compile(r"\s*(\d{1,3}(?:\.\d{1,6})?)\s*%\s*")

_Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
_Seeds = (
    Annotated[int, Field(ge=LEAST_SEEDS, le=MOST_SEEDS)]
    | Annotated[list[_Seed], Field(min_length=LEAST_SEEDS, max_length=MOST_SEEDS)]
    | Annotated[str, Field(pattern=r"^sealed:.", max_length=500)]
)
_Share = Annotated[str, Field(pattern=f"^{_SHARE.pattern}$")]


class Errors(Strict):
    """`[error]`: how often the gate may be wrong, of equal agents and of one that loses the margin."""

    red: float = Field(default=0.05, ge=0.01, le=0.2)
    green: float = Field(default=0.05, ge=0.01, le=0.2)


class CaseEntry(Strict):
    """`[[case]]`: a recorded game that is played again, from before event `at` or from the beginning.

    Passed where no mode of `forbid` is raised and the reward is `at_least` so much (where less is better: at most).
    """

    trace: str = Field(min_length=1, max_length=500)
    at: int | None = Field(default=None, ge=2)
    forbid: Annotated[list[str], Field(max_length=20)] = Field(default=[])
    at_least: float | None = Field(default=None, allow_inf_nan=False)
    plays: int = Field(default=1, ge=1, le=20)


class GateFile(AgentOptions):
    """The whole file; the options of an agent are those of a plan."""

    agent: str = Field(min_length=1, max_length=2_000)
    scenarios: Annotated[list[str], Field(min_length=1, max_length=16)]
    seeds: _Seeds = 16
    margin: _Share | Annotated[float, Field(gt=0, allow_inf_nan=False)] = "5 %"
    at_a_time: int = Field(default=1, ge=1, le=64)
    game_timeout_s: float = Field(default=600.0, ge=1, le=86_400)
    limits: dict[str, Annotated[int, Field(ge=0)] | _Share] = Field(default={})
    error: Errors = Errors()
    budget: Budget = Budget()
    case: list[CaseEntry] = Field(default=[], max_length=200)

    @property
    def share(self) -> float | None:
        """The margin as a share of what the baseline earns more than doing nothing; None for an amount."""
        return share_of(self.margin)


class Place(NamedTuple):
    """A gate file, checked, and the folder that its paths are relative to."""

    gate: GateFile
    folder: Path
    variants: tuple[Variant, ...]

    @property
    def baseline(self) -> Path:
        """Where its baseline lies."""
        return self.folder / BASELINE

    @property
    def runs(self) -> Path:
        """Where its traces lie."""
        return self.folder / "runs" / "gate"

    @property
    def key(self) -> str:
        """Digest of all that the file means, rules and scenarios included."""
        meant = self.gate.model_dump(mode="json", exclude={"case", "limits", "error", "at_a_time", "budget"})
        return digest(canonical([meant, [variant.key for variant in self.variants]]))


def share_of(text: object) -> float | None:
    """`5 %` as .05; None for what is no such text."""
    found = _SHARE.fullmatch(text) if isinstance(text, str) else None
    return float(found[1]) / 100 if found else None


def read_gate(file: Path) -> Place:
    """The gate of a file. Raises ScenarioError, which names the key, what is allowed and what to do next."""
    if not file.is_file():
        raise ScenarioError(f"there is no {file}: `tradefair gate init --agent my_agent.py:play` writes one")
    name = str(file)
    return place_of(checked_content(GateFile, parse_toml(text_file(file), source=name), source=name), file.parent, name)


def place_of(gate: GateFile, folder: Path, name: str) -> Place:
    """A gate that is checked against what there is. Raises ScenarioError before anything is played."""
    variants = tuple(Variant(market, load_scenario(market, text)) for market, text in map(_named, gate.scenarios))
    for problem in _problems(gate, variants):
        raise ScenarioError(f"{name}: {problem}")
    return Place(gate, folder, variants)


def _named(scenario: str) -> tuple[str, str]:
    market = scenario.partition("/")[0]
    # Looked up first: its error says which markets there are.
    market_type(market)
    return market, scenario


def _problems(gate: GateFile, variants: tuple[Variant, ...]) -> Iterator[str]:
    if len(set(gate.scenarios)) < len(gate.scenarios):
        yield "scenarios: one is there twice"
    if isinstance(gate.seeds, list) and len(set(gate.seeds)) < len(gate.seeds):
        yield "seeds: one is there twice; games on the same luck are one game"
    if gate.share == 0:
        yield 'margin: a loss of nothing cannot be told from none; write "5 %", or an amount in the market\'s unit'
    known = [*COUNTED, *modes_of(variants)]
    for limit in [*gate.limits, *(mode for case in gate.case for mode in case.forbid)]:
        if limit not in known:
            yield unknown("limit", limit, known)
    for case in gate.case:
        if not case.forbid and case.at_least is None:
            yield f"case {case.trace}: write forbid or at_least; nothing could break it"


def modes_of(variants: tuple[Variant, ...]) -> list[str]:
    """The ids of all failure modes that these markets look for."""
    own = [mode for variant in variants for mode in evaluator_of(variant.market).modes.rows]
    return sorted({*own, *(f"{variant.market}.{mode}" for variant in variants for mode in own), *GENERAL.rows})


def seated(variant: Variant, seed: int) -> tuple[SeatPlan, Mapping[SeatId, str]]:
    """Who sits where on a seed, and the roles of the agent's seats. Raises ScenarioError."""
    plan = plan_turn(market_type(variant.market), variant.scenario, seed)
    if not plan.agents:
        raise ScenarioError(f"{variant.scenario.id} has no seat for an agent: a gate needs one")
    return plan, {seat: variant.roles[seat] for seat in plan.agents}


def sealed_seeds(place: Place) -> SealedSeeds | None:
    """The sealed seeds of a gate; None where its seeds are no secret. Raises ScenarioError."""
    seeds = place.gate.seeds
    if not isinstance(seeds, str):
        return None
    sealed = read_sealed(place.folder / seeds.removeprefix(SEALED))
    if sealed.count < LEAST_SEEDS:
        raise ScenarioError(f"seeds: {seeds} holds {sealed.count}; a gate needs {LEAST_SEEDS} at least")
    return sealed
