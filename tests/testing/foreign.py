"""A market that tradefair does not ship: three seats bid for a box, sealed, three times; second price.

It is sound. `test_planted_faults.py` plants one fault at a time in it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, Field, JsonValue

from tradefair.contract import (
    Addressee,
    Brief,
    Chance,
    Clock,
    Closure,
    Draw,
    EndReason,
    EvidenceMap,
    IllegalAction,
    InputRequest,
    LapseReason,
    Params,
    PolicySpec,
    Result,
    Scenario,
    SeatId,
    SeatSpec,
    ToolCall,
    ToolTable,
    Turns,
    TurnView,
    tool,
)

SEATS: tuple[SeatId, ...] = ("A1", "A2", "A3")


class BoxScenario(Scenario):
    rounds: int = Field(default=3, ge=1, le=100)
    budget: int = Field(default=20, ge=1, le=1_000)


class Streams(StrEnum):
    VALUE = "value"
    TIE = "tie"


class Row(Result):
    round: int
    bids: dict[SeatId, int | None]
    winner: SeatId | None
    price: int
    note: JsonValue = None


class Facts(Result):
    row: Row
    values: dict[SeatId, int]
    money: dict[SeatId, int]


class Box:
    """The live market."""

    def __init__(self, scenario: BoxScenario, seed: int) -> None:
        self.scenario = scenario
        self.chance = Chance(seed)
        self.seats = {seat: SeatSpec(seat, "bidder") for seat in SEATS}
        self.clock = Clock(1, "bid", 0)
        self.terminated: EndReason | None = None
        self.read_marks: dict[SeatId, int] = {}
        self.values = {seat: 1 + int(9 * self.chance.uniform(Streams.VALUE, seat)) for seat in SEATS}
        self.money = dict.fromkeys(SEATS, scenario.budget)
        self.sealed: dict[SeatId, int | None] = {}
        self.whispers: list[tuple[SeatId, SeatId, str]] = []
        self.rows: list[Row] = []

    def awaited(self) -> frozenset[SeatId]:
        return frozenset() if self.terminated else frozenset(SEATS) - self.sealed.keys()

    def bid(self, seat: SeatId, amount: int) -> None:
        if seat in self.sealed:
            raise IllegalAction("already_acted", "one bid per round", retryable=False)
        if amount > self.money[seat]:
            raise IllegalAction("above_budget", f"you have {self.money[seat]}", hint="bid less")
        self.sealed[seat] = amount

    def whisper(self, seat: SeatId, to: SeatId, text: str) -> None:
        if to not in SEATS or to == seat:
            raise IllegalAction("unknown_id", "no such seat", hint="view_history")
        self.whispers.append((seat, to, text))

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        self.sealed[seat] = None
        return "no_bid"

    def best(self, bids: Mapping[SeatId, int]) -> SeatId:
        return max(
            sorted(bids), key=lambda seat: (bids[seat], self.chance.uniform(Streams.TIE, self.clock.round, seat))
        )

    def row(self) -> Row:
        bids = {seat: self.sealed[seat] for seat in SEATS}
        made = {seat: amount for seat, amount in self.sealed.items() if amount is not None}
        winner = self.best(made) if made else None
        price = max((amount for seat, amount in made.items() if seat != winner), default=0)
        return Row(round=self.clock.round, bids=bids, winner=winner, price=price)

    def advance(self) -> Closure:
        row = self.row()
        if row.winner is not None:
            self.money[row.winner] -= row.price
        self.rows.append(row)
        self.sealed = {}
        self.whispers = []
        self.end()
        opened = self.clock.round + (self.terminated is None)
        self.clock = Clock(opened, "bid", self.clock.revision + 1)
        return Closure("round", row, Facts(row=row, values=self.values, money=self.money))

    def end(self) -> None:
        if len(self.rows) == self.scenario.rounds:
            self.terminated = "terminated:rounds_completed"

    def feed(self, source: str, payload: JsonValue) -> None:
        raise IllegalAction("unknown_id", "no input is taken")

    def rules_view(self, seat: SeatId) -> BaseModel:
        return _Rules(rounds=self.scenario.rounds, budget=self.scenario.budget)

    def turn_view(self, seat: SeatId) -> BaseModel:
        return _Turn(money=self.money[seat])

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        return {}

    def news_mark(self, seat: SeatId) -> int:
        return len(self.rows)

    def privileged(self) -> object:
        return self.values

    def ending_facts(self) -> BaseModel:
        return _Rules(rounds=len(self.rows), budget=self.scenario.budget)

    def state(self) -> dict[str, Any]:
        """What the digest covers."""
        return {
            "clock": [*self.clock],
            "values": self.values,
            "money": self.money,
            "sealed": self.sealed,
            "whispers": sorted(self.whispers),
            "past": [row.model_dump(mode="json") for row in self.rows],
            "marks": self.read_marks,
        }

    def digest(self) -> bytes:
        return blake2b(orjson.dumps(self.state(), option=orjson.OPT_SORT_KEYS), digest_size=32).digest()


class MintsMoney(Box):
    """Its fault is found by the check of conservation."""

    def advance(self) -> Closure:
        closure = super().advance()
        self.money["A1"] += 1
        return closure


class _Rules(Result):
    rounds: int
    budget: int


class _Turn(Result):
    money: int


class MyValue(Result):
    value: int
    money: int


class History(Result):
    rows: list[Row]


class Done(Result):
    round: int


@tool("read", title="Value")
def view_value(market: Box, seat: SeatId) -> MyValue:
    """The box's value to you, and your money."""
    return MyValue(value=market.values[seat], money=market.money[seat])


@tool("read", title="History")
def view_history(market: Box, seat: SeatId) -> History:
    """All closed rounds."""
    return History(rows=market.rows[-20:])


@tool("action", title="Whisper")
def whisper(
    market: Box,
    seat: SeatId,
    *,
    to: Annotated[SeatId, Addressee(), Field(max_length=20, description="who reads it")],
    text: Annotated[str, Field(max_length=20, description="what it says")],
) -> Done:
    """Whisper to one seat."""
    market.whisper(seat, to, text)
    return Done(round=market.clock.round)


@tool("action", title="Bid")
def bid(market: Box, seat: SeatId, *, amount: Annotated[int, Field(ge=0, le=2_000, description="your bid")]) -> Done:
    """Bid for the box; sealed."""
    market.bid(seat, amount)
    return Done(round=market.clock.round)


class RandomLegal:
    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def turn(self, now: TurnView) -> Turns:
        own = yield ToolCall("view_value")
        yield ToolCall("bid", {"amount": int(self._draw.uniform("bid", now.round) * (own.data["money"] + 1))})


class Passive:
    def turn(self, now: TurnView) -> Turns:
        yield from ()


def _random(params: Params, draw: Draw) -> RandomLegal:
    return RandomLegal(draw)


def _passive(params: Params, draw: Draw) -> Passive:
    return Passive()


BIDDER = frozenset({"bidder"})
RANDOM = PolicySpec("random_legal", _random, BIDDER, stand_in=True)
PASSIVE = PolicySpec("passive", _passive, BIDDER)


class BoxType:
    """The market type. `rules` is the class of the live market."""

    name = "box"
    version = "1"
    title = "three seats bid for a box"
    scenario_model = BoxScenario
    tools = ToolTable(view_value, view_history, whisper, bid)
    evidence_map: EvidenceMap = {}  # noqa: RUF012
    policies: Mapping[str, PolicySpec] = {"random_legal": RANDOM, "passive": PASSIVE}
    streams = Streams
    errors: Mapping[str, str] = {"above_budget": "a bid above the own money"}
    rules: type[Box] = Box

    def create(self, scenario: BoxScenario, seed: int) -> Box:
        return self.rules(scenario, seed)

    def brief(self, scenario: BoxScenario, seat: SeatId) -> Brief:
        return Brief("a bidder", "buy the box for less than its value", "all bid at once")

    def request(self, market: Box, seat: SeatId, tool: str, arguments: BaseModel) -> InputRequest | None:
        return None

    def perturb_private(self, market: Box, seat: SeatId, salt: int) -> Box:
        twin = copy.copy(market)
        twin.values, twin.money, twin.sealed = dict(market.values), dict(market.money), dict(market.sealed)
        twin.rows, twin.whispers, twin.read_marks = list(market.rows), list(market.whispers), dict(market.read_marks)
        for place, other in enumerate(SEATS):
            if other != seat:
                twin.values[other] = 1 + (market.values[other] + salt + place) % 9
                if twin.sealed.get(other) is not None:
                    twin.sealed[other] = (salt + place) % (twin.money[other] + 1)
        twin.whispers = [(sender, to, text if seat in (sender, to) else "?") for sender, to, text in market.whispers]
        return twin

    def check(self, market: Box) -> None:
        paid = sum(row.price for row in market.rows if row.winner)
        assert sum(market.money.values()) + paid == len(SEATS) * market.scenario.budget, "money was made"


BOX = BoxType()
SCENARIO = BoxScenario(id="box/three", seats={"A1": "agent", "bidder": "random_legal"})
