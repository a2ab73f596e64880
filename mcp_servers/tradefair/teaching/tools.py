"""Tool table and market type of the teaching market."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, Field

from tradefair.contract import (
    Bounds,
    Brief,
    EvidenceMap,
    IllegalAction,
    InputRequest,
    Need,
    Result,
    SealedType,
    SeatId,
    ToolTable,
    during,
    tool,
)
from tradefair.teaching.model import Message, PieScenario, RoundRow, Streams
from tradefair.teaching.policies import POLICIES
from tradefair.teaching.rules import Pie

_Number = Annotated[int, Field(ge=0, le=10_000, description="number of the last message that you know")]


class MyValue(Result):
    """Own value per slice, slices in the pie, and what has been earned."""

    value_per_slice: int
    slices: int
    payoff_so_far: int


class History(Result):
    """Closed rounds, oldest first."""

    rounds: list[RoundRow]


class Letters(Result):
    """Messages after the asked number."""

    messages: list[Message]


class Receipt(Result):
    """What has been sealed for which round."""

    round: int
    sealed: str


class Appraisal(Result):
    """What the appraiser says of the pie."""

    words: str


@tool("read", title="Own value", evidence=("private_value",), main=True)
def view_my_value(market: Pie, seat: SeatId) -> MyValue:
    """Your value per slice, the size of the pie, and your payoff so far."""
    return MyValue(
        value_per_slice=market.values[seat], slices=market.scenario.slices, payoff_so_far=market.payoffs[seat]
    )


@tool("read", title="Closed rounds", evidence=("history",), observer=True)
def view_history(
    market: Pie,
    seat: SeatId,
    *,
    first_round: Annotated[int, Field(ge=1, le=1_000, description="the oldest round to show")] = 1,
) -> History:
    """The claims of all closed rounds from first_round on; at most 100 rounds."""
    rows = market.rows[first_round - 1 :]
    # Refused, never cut silently: an agent would take a part for the whole.
    if len(rows) > 100:
        raise IllegalAction("too_many_rows", "at most 100 rounds at once", hint="raise first_round")
    return History(rounds=rows)


def _talks(scenario: PieScenario) -> bool:
    return scenario.talk


def _last_number(letters: Letters) -> int | None:
    # What the seat has now seen; its next action moves the read mark here.
    return letters.messages[-1].number if letters.messages else None


@tool("read", title="Messages", evidence=("messages",), when=_talks, shown=_last_number)
def read_messages(market: Pie, seat: SeatId, *, after: _Number | None = None) -> Letters:
    """Messages to you numbered above `after`; without it, those since your last action. At most 20."""
    # Message number n stands at n - 1, so a number is also the index behind it.
    start = market.read_marks.get(seat, 0) if after is None else after
    return Letters(messages=market.inbox[seat][start : start + 20])


@tool("analysis", title="Appraise the pie", evidence=("appraisal",), needs="appraisal")
def appraise(market: Pie, seat: SeatId, *, inputs: dict[str, Any]) -> Appraisal:
    """Ask the appraiser, an outside service, for a word about the pie."""
    return Appraisal(words=str(inputs["appraisal"])[:200])


@tool("action", title="Say something", when=_talks, open=during("talk"))
def say(
    market: Pie, seat: SeatId, *, text: Annotated[str, Field(max_length=200, description="your message")]
) -> Receipt:
    """Send one message to the other seat, delivered when both have spoken; empty text is silence."""
    market.say(seat, text)
    return Receipt(round=market.clock.round, sealed="message")


def _up_to_the_pie(scenario: PieScenario) -> Mapping[str, Bounds]:
    """What is listed: no more slices than there are."""
    return {"slices": Bounds(maximum=scenario.slices)}


@tool("action", title="Claim slices", destructive=True, bounds=_up_to_the_pie, open=during("claim"))
def claim(
    market: Pie, seat: SeatId, *, slices: Annotated[int, Field(ge=0, le=1_000, description="how many you want")]
) -> Receipt:
    """Claim slices of this round's pie. Sealed until both have claimed; final."""
    market.claim(seat, slices)
    return Receipt(round=market.clock.round, sealed="claim")


# The value once, because it never changes; the history after each closure, once there is one.
_NEEDS: EvidenceMap = {"claim": (Need(("private_value",), "episode"), Need(("history",), "since_close", from_round=2))}


class _PieType(SealedType):
    """The smallest market with private values, talk, evidence and an outside service: the model to copy."""

    name = "teaching"
    version = "3"
    title = "two seats divide a pie, three times"
    scenario_model = PieScenario
    tools = ToolTable(view_my_value, view_history, read_messages, appraise, say, claim)
    evidence_map = _NEEDS
    policies = POLICIES
    streams = Streams
    errors = {  # noqa: RUF012 - a constant table
        "too_many_slices": "the claim is larger than the pie",
        "unknown_source": "the market takes no such input",
    }

    def create(self, scenario: PieScenario, seed: int) -> Pie:
        """A fresh episode."""
        return Pie(scenario, seed)

    def brief(self, scenario: PieScenario, seat: SeatId) -> Brief:
        """What the seat is told."""
        return Brief(
            role=f"You are {seat}. You and one other seat divide a pie of {scenario.slices} slices in each round.",
            objective="Earn as much as you can: slices won times your private value per slice.",
            round_semantics="Both claim at once, sealed. Claims that fit into the pie are granted, others are not.",
        )

    def request(self, market: Pie, seat: SeatId, tool: str, arguments: BaseModel) -> InputRequest | None:
        """The appraiser is asked about the round."""
        return InputRequest("appraisal", {"round": market.clock.round}) if tool == "appraise" else None

    def check(self, market: Pie) -> None:
        """No seat gets more than it claimed, and both together never more slices than there are."""
        for seat in market.seats:
            won = sum(row.claims[seat] or 0 for row in market.rows if row.shared)
            # Recomputed from public rows: the ledger must hold nothing else.
            assert market.payoffs[seat] == won * market.values[seat]
        assert all(
            sum(claim or 0 for claim in row.claims.values()) <= market.scenario.slices
            for row in market.rows
            if row.shared
        )


MARKET = _PieType()
