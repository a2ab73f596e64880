"""Plans of sweeps, experiments and tournaments: one typed TOML file says which episodes are to be played.

    [plan]      name, scenarios, seeds, replicas
    [grid]      scenario values to vary: key = [values]
    [[agent]]   label, framework, model (or models)
    [seating]   kind = "fixed" | "round_robin" | "field" | "dealt", seat_swap, self_play, law_cycle, shift
    [budget]    episodes, wall_time_s, tokens, cost_usd
    [provider."HOST"]   concurrency, tokens

Plans are files of their own (`my.toml`) or lie in a market's package and go by `market/name`. Which episodes a plan
means is worked out in `runner.plan_episodes`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from math import comb, prod
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from tradefair.catalog import bundled_plan
from tradefair.contract import ScenarioError
from tradefair.contract.bounds import MAX_SEED
from tradefair.contract.kernel.players import Limits
from tradefair.contract.scenario import checked_content
from tradefair.files.user_files import parse_toml, text_file
from tradefair.runner.play.agent_spec import NATIVE, AgentSpec

MAX_EPISODES = 1_000_000
"""More than this in one plan is refused: a slip of a digit, or a plan that is better cut into parts."""

MAX_REPLICAS = 64
"""Plays of one episode that differ in the agents' own draws."""

_POLICY = "policy:"
_DEFAULT_FRAMEWORK = "react"

Grid = dict[str, Annotated[list[JsonValue], Field(min_length=1, max_length=1_000)]]
# The table of a sweep keeps seeds as SQLite integers: 63 bits and a sign.
_Seed = Annotated[int, Field(ge=0, le=MAX_SEED)]
_Count = Annotated[int, Field(ge=1)]


class Strict(BaseModel):
    """A table of a file: no other keys, no values that are nearly right."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class PlanEntry(Strict):
    """`[plan]`. `seeds` is a number of seeds from `first_seed` on, or the list of them.

    With `replicas` each episode is played so often with other draws of its agents alone, under the agent keys 1 to N.
    """

    name: str = Field(min_length=1, max_length=80)
    description: str = Field(default="", max_length=500)
    scenarios: Annotated[list[str], Field(min_length=1, max_length=100)]
    seeds: Annotated[int, Field(ge=1, le=MAX_EPISODES)] | Annotated[list[_Seed], Field(min_length=1)] = 1
    first_seed: _Seed = 1
    replicas: int = Field(default=1, ge=1, le=MAX_REPLICAS)

    @property
    def all_seeds(self) -> range | list[int]:
        """Every seed, in the order in which they are played.

        A range where the plan gives a number of seeds, from `first_seed` on; else the plan's own list.
        """
        if isinstance(self.seeds, list):
            return self.seeds
        return range(self.first_seed, self.first_seed + self.seeds)

    @property
    def agent_keys(self) -> range:
        """The keys of the agents' own draws under which each episode is played; 0 alone without replicas."""
        return range(1, self.replicas + 1) if self.replicas > 1 else range(1)


class AgentOptions(Strict):
    """How an agent of ours plays, whatever it is called."""

    model: str | None = Field(default=None, max_length=300)
    base_url: str | None = Field(default=None, max_length=500)
    api: str | None = Field(default=None, max_length=20)
    window: str | None = Field(default=None, max_length=80)
    offer: str | None = Field(default=None, max_length=80)
    max_reply: int | None = Field(default=None, ge=0, le=1_000_000)
    model_timeout_s: float | None = Field(default=None, ge=0.1, le=86_400)
    max_calls_per_round: int = Field(default=60, ge=1, le=10_000)
    max_tokens_per_round: int | None = Field(default=None, ge=1)
    max_cost: float | None = Field(default=None, ge=0.000_001, le=1_000_000, allow_inf_nan=False)
    max_tokens_total: int | None = Field(default=None, ge=1, le=1_000_000_000_000)
    max_idle_rounds: int = Field(default=0, ge=0, le=1_000_000)

    def playing(self, framework: str, model: str | None) -> AgentSpec:
        """What the runner seats; without a framework a policy plays natively and a model through `react`."""
        scripted = model is not None and model.startswith(_POLICY)
        return AgentSpec(
            framework=framework or (NATIVE if scripted else _DEFAULT_FRAMEWORK),
            model=model,
            base_url=self.base_url,
            limits=Limits(self.max_calls_per_round, self.max_tokens_per_round),
            window=self.window,
            offer=self.offer,
            max_reply=self.max_reply,
            timeout_s=self.model_timeout_s,
            api=self.api,
            max_cost=self.max_cost,
            max_tokens=self.max_tokens_total,
            idle_rounds=self.max_idle_rounds,
        )


class AgentEntry(AgentOptions):
    """`[[agent]]`: what plays, and how it is called in tables (default: `policy:zip`, `react/openai:x`).

    With `models` it is an agent per model, `label` in front of each: `terse/openai:x`.
    """

    # Labels are printed on terminals: control characters could move the cursor.
    label: str = Field(default="", max_length=80, pattern=r"^[^\x00-\x1f\x7f]*$")
    framework: str = Field(default="", max_length=2_000)
    models: Annotated[list[str], Field(min_length=1, max_length=100)] | None = None

    @property
    def singles(self) -> list[AgentEntry]:
        """An entry for each of its models; itself where it has one.

        Labels get the model behind them, so that the entries of one agent stay apart in tables.
        """
        if self.models is None:
            return [self]
        return [
            self.model_copy(
                update={"model": model, "models": None, "label": f"{self.label}/{model}" if self.label else ""}
            )
            for model in self.models
        ]

    @property
    def spec(self) -> AgentSpec:
        """What the runner seats."""
        return self.playing(self.framework, self.model)

    @property
    def called(self) -> str:
        """Its label."""
        return self.label or self.spec.label


class Seating(Strict):
    """`[seating]`: who sits where.

    `fixed`: each agent by itself in the scenario's agent seats (or in `seats`), the others as the scenario says. Where
    seats differ in what they can win (auction, bargaining) and none is named, in seat number (seed mod n) of all n.
    `round_robin`: every pair of agents, one on each side of the market; with `seat_swap` both ways round, with
    `self_play` each against itself too. `field`: as many agents as there are seats, drawn without replacement and
    shuffled over the seats by the seed. `dealt`: the agents in the plan's order over the seats, again and again, and
    from one seed to the next each sits `shift` seats further. `law_cycle` fixes the law of private values by the place
    of the seed.
    """

    kind: Literal["fixed", "round_robin", "field", "dealt"] = "fixed"
    seats: list[str] | None = Field(default=None, min_length=1, description="fixed only: instead of the agent seats")
    seat_swap: bool = False
    self_play: bool = False
    law_cycle: bool = False
    shift: int = Field(default=1, ge=0, le=1_000, description="dealt only: seats by which the deal moves on per seed")


class Budget(Strict):
    """`[budget]`: `episodes` and `wall_time_s` of one command; `tokens` and `cost_usd` of all that its folder holds."""

    episodes: _Count | None = None
    # TOML knows `inf` and `nan`, and a limit of either would never be reached.
    wall_time_s: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    tokens: _Count | None = None
    cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)


class ProviderLimits(Strict):
    """`[provider."HOST"]`: seats that may think there at a time, and tokens of all that the folder holds."""

    concurrency: _Count | None = None
    tokens: _Count | None = None


class Plan(Strict):
    """A whole plan file. What a scenario makes of it is checked when its episodes are worked out."""

    plan: PlanEntry
    grid: Grid = Field(default_factory=dict[str, list[JsonValue]])
    agent: Annotated[list[AgentEntry], Field(min_length=1, max_length=1_000)]
    seating: Seating = Seating()
    budget: Budget = Budget()
    provider: dict[str, ProviderLimits] = Field(default_factory=dict[str, ProviderLimits])

    @property
    def entries(self) -> list[AgentEntry]:
        """One entry per agent, in the plan's order: those with several models taken apart."""
        return [single for entry in self.agent for single in entry.singles]

    @property
    def count(self) -> int:
        """Number of episodes: seeds times scenarios, points of the grid, seatings of a block and replicas."""
        entry, agents = self.plan, len(self.entries)
        meetings = comb(agents, 2) * (2 if self.seating.seat_swap else 1) + agents * self.seating.self_play
        # A field and a deal seat all agents at once.
        seatings = {"fixed": agents, "round_robin": meetings}.get(self.seating.kind, 1)
        points = prod(len(values) for values in self.grid.values())
        return len(entry.all_seeds) * len(entry.scenarios) * points * seatings * entry.replicas

    @property
    def labels(self) -> list[str]:
        """How the agents are called, in the plan's order."""
        return [entry.called for entry in self.entries]

    @property
    def agents(self) -> dict[str, AgentSpec]:
        """What plays, by label."""
        return {entry.called: entry.spec for entry in self.entries}


class SourcedPlan(NamedTuple):
    """A plan and the folder that paths in it are relative to; None for a bundled one."""

    plan: Plan
    folder: Path | None


def load_plan(name: str, *, seeds: int | None = None, overrides: Mapping[str, JsonValue] | None = None) -> SourcedPlan:
    """The plan of a `.toml` file, or a bundled one (`double_auction/field`).

    `seeds` replaces the plan's number of seeds, `overrides` are scenario values as of `--set`. Raises ScenarioError
    naming key, value and what is allowed.
    """
    file = Path(name) if name.endswith(".toml") else None
    text = bundled_plan(name) if file is None else text_file(file)
    plan = checked_content(Plan, parse_toml(text, source=name), source=name)
    if seeds is not None:
        given = plan.plan.seeds
        # A list of seeds is cut, for its order is the plan's; a number is replaced.
        fewer: int | list[int] = given[:seeds] if isinstance(given, list) else seeds
        plan = plan.model_copy(update={"plan": plan.plan.model_copy(update={"seeds": fewer})})
    if overrides:
        # A grid of one value: what the command line sets goes before what the plan varies.
        plan = plan.model_copy(update={"grid": {**plan.grid, **{key: [value] for key, value in overrides.items()}}})
    # Checked after the changes: a command line can break what the file keeps.
    check_plan(plan, name)
    return SourcedPlan(plan, None if file is None else file.parent)


def check_plan(plan: Plan, name: str) -> None:
    """Raises ScenarioError, under a name that its reader knows, for what is wrong and no single key shows."""
    for problem in _problems(plan):
        raise ScenarioError(f"{name}: {problem}")


def _problems(plan: Plan) -> Iterator[str]:
    entry = plan.plan
    last = entry.all_seeds[-1]
    if last > MAX_SEED:
        yield f"plan.seeds: seed {last} is beyond 2^63 - 1"
    if isinstance(entry.seeds, list) and entry.first_seed != 1:
        yield "plan.first_seed: a list of seeds says where it begins; leave first_seed out"
    names = {"plan.seeds": entry.all_seeds, "plan.scenarios": entry.scenarios, "agent.label": plan.labels}
    for key, values in names.items():
        # A range is never asked: it may be long, and repeats nothing.
        if not isinstance(values, range) and len(set(values)) < len(values):
            doubled = next(value for value, count in Counter(values).items() if count > 1)
            yield f"{key}: {doubled} is there twice; each has to be another one"
    if any(entry.model is not None and entry.models is not None for entry in plan.agent):
        yield "agent.models: an agent has one model, or several; leave model or models out"
    if any(entry.spec.outside for entry in plan.entries):
        yield "agent.framework: players from outside come by themselves; seat them with tradefair play or host"
    yield from _seating_problems(plan)


def _seating_problems(plan: Plan) -> Iterator[str]:
    """Keys of `[seating]` that do not belong to its kind, and agents that are too few for it."""
    seating = plan.seating
    # Ignoring such a key would play another plan than its author meant.
    if seating.kind != "fixed" and seating.seats is not None:
        yield f'seating.seats belongs to kind = "fixed"; {seating.kind} fills every seat'
    if seating.kind != "round_robin" and (seating.seat_swap or seating.self_play):
        yield 'seating.seat_swap and seating.self_play belong to kind = "round_robin"'
    if seating.kind != "dealt" and seating.shift != 1:
        yield 'seating.shift belongs to kind = "dealt"'
    if seating.kind == "round_robin" and len(plan.entries) < 2 and not seating.self_play:
        yield "a round robin needs two [[agent]] entries, or self_play = true"
    if seating.law_cycle and "distribution" in plan.grid:
        yield "grid.distribution: law_cycle sets the distribution; leave one of them out"
