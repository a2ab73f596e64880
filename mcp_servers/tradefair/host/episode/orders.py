"""An order: all that makes an episode, checked when it is given and carried out when the episode starts."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from tradefair.catalog import default_scenario, load_scenario, market_type
from tradefair.contract import MarketType, Scenario, ScenarioError, SeatId
from tradefair.contract.bounds import MAX_SEED, Refusals
from tradefair.contract.kernel.players import MAX_LABEL, seats_of, shown_label
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import FILES, LogStore
from tradefair.host.episode.setup import new_episode
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import SeatPlan, plan_seats

MAX_TTL_S = 31_536_000.0  # a year
_SeatName = Annotated[str, Field(min_length=1, max_length=64)]
Labels: TypeAlias = Annotated[
    dict[_SeatName, Annotated[str, Field(min_length=1, max_length=MAX_LABEL), AfterValidator(shown_label)]],
    Field(max_length=1_000),
]
"""What the operator calls the players of seats."""


TaskId: TypeAlias = Annotated[str, Field(pattern=r"^[a-z0-9_-]{1,40}/[0-9]{1,12}$")]
"""`<split>/<index>`: an order that has a name."""
IdleS: TypeAlias = Annotated[float, Field(ge=0.1, le=MAX_TTL_S)]
"""Seconds without a call of any seat, after which an episode is ended."""


class Terms(BaseModel):
    """What a host keeps of an order when the episode has begun.

    `ttl_s` is the time to live and `idle_s` the longest time without a call of any seat, both in seconds (None: the
    host's own). `tools`: slim lists have no output schemas; `refusals`: None is the host's own.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    ttl_s: Annotated[float, Field(gt=0, le=MAX_TTL_S)] | None = None
    idle_s: IdleS | None = None
    tools: Literal["full", "slim"] = "full"
    refusals: Refusals | None = None


class Order(Terms):
    """One episode as it is asked for.

    `scenario` names an installed one, never a file: an order comes over the network. `seats` are those played from
    outside: ids, `all`, or None for the scenario's own choice, `labels` what their players are called. `others` is a
    policy, or `stand_in`: nobody else has to come. `task` is the order's name where it has one; the seed of a `sealed`
    one is shown to nobody, the control plane included.
    """

    market: Annotated[str, Field(pattern=r"^[a-z_]{1,40}$")]
    scenario: Annotated[str, Field(pattern=r"^[a-z_]{1,40}(/[a-z0-9_]{1,40})?$")] | None = None
    overrides: Annotated[dict[str, JsonValue], Field(max_length=100)] = {}
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)]
    seats: Literal["all"] | Annotated[tuple[_SeatName, ...], Field(max_length=1_000)] | None = None
    others: Annotated[str, Field(max_length=200)] | None = None
    labels: Labels = {}
    task: TaskId | None = None
    sealed: bool = False

    @property
    def terms(self) -> Terms:
        """What outlives the start of the episode."""
        return Terms(ttl_s=self.ttl_s, idle_s=self.idle_s, tools=self.tools, refusals=self.refusals)


class Mark(NamedTuple):
    """Of which task an episode is, and whether its seed is sealed. A trace keeps it next to the chain."""

    task: str | None = None
    sealed: bool = False

    @classmethod
    def of(cls, about: Mapping[str, Any]) -> Mark:
        """As a manifest's `about` says. Anyone may have edited that: what is no text is no task."""
        task = about.get("task")
        return cls(task if isinstance(task, str) else None, bool(about.get("sealed")))

    @property
    def about(self) -> dict[str, Any]:
        """What a manifest says."""
        return {} if self == Mark() else self._asdict()


class Checked(NamedTuple):
    """An order and what its names stand for."""

    order: Order
    kind: MarketType
    scenario: Scenario
    plan: SeatPlan


def checked(order: Order) -> Checked:
    """Resolve the names of an order. Raises ScenarioError for what cannot be played, before anything is kept.

    The seats of `all` are those of the market, whatever the scenario says of them.
    """
    kind = market_type(order.market)
    scenario = load_scenario(order.market, order.scenario or default_scenario(order.market), order.overrides)
    seats = list(seats_of(kind, scenario)) if order.seats == "all" else order.seats
    plan = plan_seats(kind, scenario, agents=seats, others=order.others)
    # A hosted episode that no client can play would only wait for its time to live.
    if not plan.agents:
        raise ScenarioError(f"{scenario.id} has no seat for an agent: name some with seats")
    check_labelled(order.labels, plan.agents)
    return Checked(order, kind, scenario, plan)


def parse_labels(given: Iterable[str], form: str = "SEAT=LABEL") -> dict[SeatId, str]:
    """Texts by seat, such as `B1=openai:gpt-5/react`. Raises ScenarioError for another form than `form`."""
    found: dict[SeatId, str] = {}
    for text in given:
        seat, _, label = (part.strip() for part in text.partition("="))
        if not seat or not label or len(label) > MAX_LABEL:
            raise ScenarioError(f"{text[:80]!r}: write {form}, at most {MAX_LABEL} characters")
        found[seat] = label
    return found


def check_labelled(labels: Iterable[SeatId], outside: Collection[SeatId], what: str = "labels") -> None:
    """Raises ScenarioError where a label is not of a seat that is played from outside: policies name themselves."""
    wrong = [seat for seat in labels if seat not in outside]
    if wrong:
        seats = ", ".join(list(outside)[:20])
        raise ScenarioError(f"{what} are for seats that are played from outside ({seats}), not for {wrong[0][:40]!r}")


async def begin(
    wanted: Checked, folder: Path, episode_id: str, sandbox: Sandbox | None, logs: LogStore = FILES
) -> Episode:
    """Carry an order out. Raises ScenarioError, StorageUnavailable, TraceError (the id is taken)."""
    order, kind, scenario, plan = wanted
    return await new_episode(
        kind,
        scenario,
        order.seed,
        plan,
        folder,
        episode_id=episode_id,
        labels=order.labels,
        about=Mark(order.task, order.sealed).about,
        sandbox=sandbox,
        logs=logs,
    )
