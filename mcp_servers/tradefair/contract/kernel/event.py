"""The events of a trace (`tradefair.trace/2`): a closed, discriminated union, and the manifest.

Core writes events as bytes; these models are how evaluators and exports read them. Unknown fields of a known event are
kept, an unknown event is an error.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, cast

from pydantic import BaseModel, ConfigDict, Field, JsonValue, TypeAdapter, ValidationError

from tradefair.contract.chain import TRACE_SCHEMA as TRACE_SCHEMA
from tradefair.contract.errors import ScenarioError, TraceError
from tradefair.contract.kernel.kernel_tools import full_table
from tradefair.contract.kernel.players import Seating
from tradefair.contract.market import Market, MarketType
from tradefair.contract.scenario import MAX_SEAT_ID, Limit, Scenario, SeatId
from tradefair.contract.tool import Kind

MAX_SEATS = 10_000
"""Seats of an episode."""

FIRST_NAME = "fairground"
"""What the project was called; old manifests name its version under this key."""

OLD_SCHEMAS = frozenset({"tradefair.trace/1", f"{FIRST_NAME}.trace/1"})
"""Schema 1, under both names: its chain does not say who played, so such traces are read and not re-executed."""

READABLE_SCHEMAS = OLD_SCHEMAS | {TRACE_SCHEMA}
"""Schemas that are read."""


class SeatRecord(BaseModel):
    """A seat as the manifest names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[SeatId, Field(max_length=MAX_SEAT_ID)]
    role: Annotated[str, Field(max_length=100)]


class ManifestCore(BaseModel):
    """The part of the manifest that is fixed before the first event and hashed as `hash_0`.

    `scenario` is its full content, data of the user included: a trace re-executes without any file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", serialize_by_alias=True)

    trace_schema: str
    market: str
    rules_version: str
    scenario: dict[str, Any]
    drawn_from: int | None = Field(alias="seed")
    """The seed; None in a foreign trace, whose luck nobody knows."""
    seats: Annotated[tuple[SeatRecord, ...], Field(max_length=MAX_SEATS)]
    tool_schema_digest: str
    limits: tuple[Limit, ...]
    record: Literal["full", "digests"]

    @property
    def seed(self) -> int:
        """The seed of an episode that rules have made. TraceError for a foreign one."""
        if self.drawn_from is None:
            raise TraceError(f"{self.scenario.get('id', self.market)}: a trace that no rules have made has no seed")
        return self.drawn_from


def derived_core(market_type: MarketType, scenario: Scenario, seed: int, market: Market) -> ManifestCore:
    """The core of the manifest of an episode: all of it follows from rules, scenario and seed. Raises ScenarioError."""
    if len(market.seats) > MAX_SEATS:
        raise ScenarioError(f"{scenario.id} has {len(market.seats)} seats; an episode has at most {MAX_SEATS}")
    return ManifestCore(
        trace_schema=TRACE_SCHEMA,
        market=market_type.name,
        rules_version=market_type.version,
        scenario=scenario.model_dump(mode="json"),
        seed=seed,
        seats=tuple(SeatRecord(id=spec.id, role=spec.role) for spec in market.seats.values()),
        tool_schema_digest=full_table(market_type).schema_digest,
        limits=scenario.limits,
        record=scenario.record,
    )


class _Event(BaseModel):
    # "allow": a later version may add a field to an event; exports keep it.
    model_config = ConfigDict(frozen=True, extra="allow")

    seq: int
    round: int
    phase: str
    revision: int
    seat: SeatId | None


class StartFacts(BaseModel):
    """What the market's data is: digests of the blobs that hold its catalogue, in order."""

    model_config = ConfigDict(frozen=True, extra="allow")

    catalogue: list[str] = []


class EpisodeStarted(_Event):
    """The first event: who plays every seat (None in schema 1). `facts`: only where the market writes down its data."""

    event: Literal["episode_started"]
    seating: Seating | None = None
    facts: StartFacts | None = None


class Seated(_Event):
    """Seats change hands; `seating` names these seats only, and what the new players' draws are."""

    event: Literal["seated"]
    seating: Seating


class Input(_Event):
    """An external fact that the rules consumed; `for` is the id of the call that asked for it, null for none."""

    event: Literal["input"]
    # `for` is a keyword of Python.
    for_call: str | None = Field(alias="for")
    source: str
    payload: JsonValue


class ErrorRecord(BaseModel):
    """A refusal as the agent saw it."""

    model_config = ConfigDict(frozen=True, extra="allow")

    code: str
    message: str
    hint: str
    retryable: bool


class ToolCalled(_Event):
    """One tool call, whatever became of it. A result over 2 kB lies in the blob `result_ref`.

    `parent` is the id of the `execute_code` call that made this one. `read_through` is the inbox row up to which an
    action acknowledges messages, `refs` are ids of objects that the result shows. `result_size` counts bytes.
    """

    event: Literal["tool_called"]
    # where the source of a foreign trace holds it; left out of the bytes of our own
    step: int | None = None
    call: str
    parent: str | None
    tool: str
    # null for a tool that does not exist
    kind: Kind | None
    arguments: JsonValue
    read_through: int | None
    # Kept even where the result is a digest only: diagnostics still see which objects were shown.
    refs: list[str] | None
    # rejected: by the rules. invalid: by types or constant bounds. denied: no such tool, a limit, or the host. failed:
    # our fault.
    status: Literal["ok", "rejected", "invalid", "denied", "failed"]
    error: ErrorRecord | None
    result: JsonValue
    result_ref: str | None
    # Present for every result, stored or not: re-execution is compared with it.
    result_digest: str | None
    result_size: int | None


class Message(_Event):
    """What somebody said, in a trace that was imported or recorded; our own markets' talk goes through tools.

    `step` is the ordinal, from 1, of the message, span or record in its run. `name` is the speaker, or a method of the
    protocol. `content` of `media` is {media_type, size, digest}, never the bytes; a text over 8 MiB is {size, digest}.
    """

    event: Literal["message"]
    step: int | None = None
    role: Literal["system", "user", "assistant", "server", "client"]
    name: str | None = None
    part: Literal["text", "reasoning", "media", "protocol"] = "text"
    content: JsonValue


class SeatLapsed(_Event):
    """A silent seat, and the default action that was taken for it."""

    event: Literal["seat_lapsed"]
    reason: str
    # The market's name for it, such as forfeit_round.
    default_action: str


class PhaseClosed(_Event):
    """A phase before the round's last one has closed; `public` is what all seats now see."""

    event: Literal["phase_closed"]
    public: JsonValue


class RoundClosed(_Event):
    """A round has closed: what all seats see, the hidden truth, the state's digest (hex)."""

    event: Literal["round_closed"]
    public: JsonValue
    facts: JsonValue
    # hex of `Market.digest`, 32 bytes
    state_digest: str


class EpisodeEnded(_Event):
    """The last event: why the episode ended, and the truth at its end."""

    event: Literal["episode_ended"]
    reason: str
    facts: JsonValue
    state_digest: str


Event: TypeAlias = Annotated[
    EpisodeStarted | Seated | Input | ToolCalled | Message | SeatLapsed | PhaseClosed | RoundClosed | EpisodeEnded,
    Field(discriminator="event"),
]

_ADAPTER: TypeAdapter[Event] = TypeAdapter(Event)


def parse_event(body: bytes) -> Event:
    """One stored event as its typed model; TraceError when it is not an event of this schema."""
    try:
        return _ADAPTER.validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "event"
        raise TraceError(f"not an event of {TRACE_SCHEMA}: {where}: {first['msg']}") from None


def parts_named(event: object) -> list[str]:
    """Digests of the catalogue's parts that a decoded event names, in order; none for other events and odd ones."""
    said = cast("dict[str, object]", event) if isinstance(event, dict) else {}
    facts = said.get("facts") if said.get("event") == "episode_started" else None
    names = cast("dict[str, object]", facts).get("catalogue") if isinstance(facts, dict) else None
    return [name for name in cast("list[object]", names) if isinstance(name, str)] if isinstance(names, list) else []
