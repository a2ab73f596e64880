"""The tools that every market shares. They are pure, so resume and verify re-execute them like any other.

`await_turn` waits in the host and stays outside the chain; `execute_code` runs in the host's sandbox and is recorded,
not recomputed (its inner calls are events of their own).
"""

from __future__ import annotations

from typing import Annotated, Protocol

from pydantic import Field, JsonValue

from tradefair.contract.bounds import MAX_WAIT_S
from tradefair.contract.errors import HarnessFailure, IllegalAction
from tradefair.contract.market import Market, MarketType
from tradefair.contract.policy import TurnView
from tradefair.contract.scenario import Scenario, SeatId
from tradefair.contract.tool import Result, ToolTable, tool

# Both stand in the descriptions and schemas of the tools below: another bound is another tool schema.
MAX_NOTES = 100
MAX_CODE_CHARS = 20_000
MAX_INNER_CALLS = 200


class RulesView(Result):
    """The rules as this seat may know them, and what it is there for."""

    market: str
    version: str
    scenario: str
    seat: SeatId
    role: str
    objective: str
    round_semantics: str
    rules: dict[str, JsonValue]


class Note(Result):
    """One note of a seat to itself."""

    number: int
    round: int
    text: str


class Notes(Result):
    """All notes of the seat, oldest first."""

    notes: list[Note]
    room_for: int


class CodeResult(Result):
    """What the code printed and the value of its last expression."""

    output: str
    value: JsonValue
    inner_calls: int


class Asked(Protocol):
    """What the tools here need of an episode; `Core` is one. They do not import it: Core imports their table."""

    market_type: MarketType
    scenario: Scenario
    market: Market
    notes: dict[SeatId, dict[int, Note]]

    def turn_view(self, seat: SeatId) -> TurnView:
        """The clock as the seat sees it."""
        ...

    def next_note(self, seat: SeatId) -> int:
        """A fresh note number of the seat; numbers of removed notes do not come back."""
        ...


@tool("read", title="Rules", subject="kernel")
def view_rules(episode: Asked, seat: SeatId) -> RulesView:
    """The rules of this market, your role and your objective."""
    brief = episode.market_type.brief(episode.scenario, seat)
    return RulesView(
        market=episode.market_type.name,
        version=episode.market_type.version,
        scenario=episode.scenario.id,
        seat=seat,
        role=brief.role,
        objective=brief.objective,
        round_semantics=brief.round_semantics,
        # As plain data: the kernel's table is the same for all markets, so its schema cannot name a market's model.
        rules=episode.market.rules_view(seat).model_dump(mode="json"),
    )


@tool("read", title="Turn", subject="kernel")
def view_turn(episode: Asked, seat: SeatId) -> TurnView:
    """Where the clock stands, whether a decision of yours is awaited, which actions are open to you now, and limits."""
    return episode.turn_view(seat)


@tool("read", title="Wait for your turn", subject="kernel")
def await_turn(
    episode: Asked,
    seat: SeatId,
    *,
    timeout_s: Annotated[
        float | None,
        Field(ge=0, le=MAX_WAIT_S, description="seconds to wait at most; left out: a few, which the host decides"),
    ] = None,
) -> TurnView:
    """Wait until a decision of yours is awaited or the episode is over, a few seconds or timeout_s (at most 45).

    still_open = true means that neither has happened yet: call it again.
    """
    return episode.turn_view(seat)


@tool("note", title="Add a note", subject="kernel")
def add_note(
    episode: Asked, seat: SeatId, *, text: Annotated[str, Field(min_length=1, max_length=2_000, description="the note")]
) -> Note:
    """Keep a note to yourself until the end of the episode (at most 2,000 characters each, 100 notes)."""
    notes = episode.notes[seat]
    # Bounded, because notes are state of the episode: kept per seat and rebuilt on resume.
    if len(notes) >= MAX_NOTES:
        raise IllegalAction("notes_full", f"there is room for {MAX_NOTES} notes", hint="remove_note makes room")
    note = Note(number=episode.next_note(seat), round=episode.market.clock.round, text=text)
    notes[note.number] = note
    return note


@tool("read", title="Notes", subject="kernel")
def view_notes(episode: Asked, seat: SeatId) -> Notes:
    """Your own notes, oldest first."""
    notes = list(episode.notes[seat].values())
    return Notes(notes=notes, room_for=MAX_NOTES - len(notes))


@tool("note", title="Remove a note", subject="kernel", destructive=True)
def remove_note(
    episode: Asked, seat: SeatId, *, number: Annotated[int, Field(ge=1, le=1_000_000, description="number of the note")]
) -> Note:
    """Remove one of your notes by its number; answers the removed note."""
    note = episode.notes[seat].pop(number, None)
    if note is None:
        raise IllegalAction("unknown_id", f"you have no note {number}", hint="view_notes shows their numbers")
    return note


@tool("analysis", title="Run code", subject="kernel", recorded=True)
def execute_code(
    episode: Asked,
    seat: SeatId,
    *,
    code: Annotated[str, Field(min_length=1, max_length=MAX_CODE_CHARS, description="the program")],
) -> CodeResult:
    """Run a short Python program over your own read and analysis tools, which are plain functions in it.

    Modules: math, statistics, random, itertools, collections, heapq, operator, json, re, datetime. No files, no
    network, no actions. At most 2 seconds, 64 MiB, 200 tool calls, 64 KiB of output. Answers what it printed and the
    value of its last expression.
    """
    # Recorded and not recomputed: replay hands Core what the sandbox gave (core.py, `finish`).
    raise HarnessFailure("execute_code runs in a host, not in Core")


# The order of the table is the order in the schema digest: moving a tool makes every older trace foreign.
KERNEL_TOOLS = ToolTable(
    view_rules, view_turn, await_turn, add_note, view_notes, remove_note, execute_code
)  # fmt: skip
AWAIT_TURN = await_turn.name
EXECUTE_CODE = execute_code.name


def full_table(market_type: MarketType) -> ToolTable:
    """A market's own tools and the kernel's, made once per market type."""
    # By identity and not by name: tests and authors build several types of one name.
    known = _TABLES.get(id(market_type))
    if known is None or known[0] is not market_type:
        known = (market_type, ToolTable(*market_type.tools.values(), *KERNEL_TOOLS.values()))
        _TABLES[id(market_type)] = known
    return known[1]


_TABLES: dict[int, tuple[MarketType, ToolTable]] = {}
