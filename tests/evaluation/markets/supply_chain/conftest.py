"""Episodes that several tests look at, each played once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest
from pydantic import JsonValue
from tests.evaluation.playing import Player, played_by

from tradefair.contract import ToolCall, Turns, TurnView
from tradefair.evaluation.judge.evaluate import diagnose
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.tracestore import open_trace

A, B, C = "retailer_01", "retailer_02", "retailer_03"
DUEL, PAPER, GATED = "supply_chain/duel", "supply_chain/paper", "supply_chain/gated"


class Episode(NamedTuple):
    """Who plays where: named seats, a policy for the others, values of the scenario."""

    scenario: str
    seats: Mapping[str, Player]
    others: str = "cost_plus"
    seed: int = 1
    overrides: Mapping[str, Any] = {}


def play_game(path: Path, game: Episode) -> Path:
    """A real episode as a sealed trace; policies may have parameters."""
    return played_by(path, game.scenario, game.seats, game.seed, game.others, **game.overrides)


class Judged(NamedTuple):
    """A played episode, its events and what was found in it."""

    path: Path
    events: dict[int, dict[str, Any]]
    diagnosis: Diagnosis

    def finding(self, name: str, seat: str = A) -> Finding:
        """The finding of a seat."""
        return self.diagnosis.of_seat(seat)[name]

    def raised(self, seat: str = A) -> set[str]:
        """What was found in a seat."""
        return {finding.id for finding in self.diagnosis.raised if seat in finding.seats}


def judged(path: Path) -> Judged:
    with open_trace(path) as trace:
        events = {stored.seq: orjson.loads(stored.body) for stored in trace.events()}
        return Judged(path, events, diagnose(trace))


Played = Callable[[str], Judged]


@pytest.fixture(scope="session")
def game(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """An episode of `EPISODES` by its name."""
    known: dict[str, Judged] = {}

    def _game(name: str) -> Judged:
        if name not in known:
            path = tmp_path_factory.mktemp("supply") / f"{name}.trace"
            known[name] = judged(play_game(path, EPISODES[name]))
        return known[name]

    return _game


# --- seats that fail in a way that no policy does ---------------------------------------------------------------------


def bids(*lines: tuple[str, int, float]) -> ToolCall:
    asked: list[JsonValue] = [{"item": item, "quantity": units, "price": price} for item, units, price in lines]
    return ToolCall("submit_bids", {"bids": asked})


def offer(**prices: float) -> ToolCall:
    asked: list[JsonValue] = [{"item": item, "price": price} for item, price in prices.items()]
    return ToolCall("submit_offer", {"prices": asked})


def follows(where: str) -> Callable[[TurnView], Turns]:
    """Estimates beans in the second pass, then bids this field of the answer; never looks at what others post."""

    def turn(now: TurnView) -> Turns:
        if now.phase == "bidding_1":
            yield bids(("beans", 5, 30))
        elif now.phase == "retail":
            yield offer(beans=40)
        else:
            told = yield ToolCall("estimate_clearing_prices", {"items": ["beans"]})
            yield bids(("beans", 5, 10 if where == "reserve" else told.data["items"][0][where]))

    return turn


def checks_first(now: TurnView) -> Turns:
    """Adds up a vector beyond its money, sends it all the same, then nothing."""
    if now.phase == "retail":
        yield ToolCall("skip_phase")
        return
    beyond = bids(("watch", 3, 400), ("lamp", 10, 80))
    yield ToolCall("check_bid_cost", beyond.arguments)
    yield beyond
    yield bids()


def reads_then_posts(now: TurnView) -> Turns:
    """Bids, and reads the last round before it posts."""
    if now.phase == "retail":
        if now.round > 1:
            yield ToolCall("view_market_history")
        yield offer(beans=13)
    else:
        yield bids(("beans", 4, 11))


def silent(now: TurnView) -> Turns:
    """No call at all."""
    yield from ()


def tells_its_funds(now: TurnView) -> Turns:
    """A slogan with the seat's own money in it."""
    if now.phase == "retail":
        slogan = f"With funds of {now.market['funds']} we last."
        yield ToolCall("submit_offer", {"prices": [], "slogan": slogan})
    else:
        yield ToolCall("skip_phase")


_FIRM = "cost_plus(commitment=1.0, premium=0.02, markup=0.25)"
_COURTING = {f"retailer_{place:02d}": f"clone(slogan={group}.{1 + place % 3})" for place, group in enumerate(
    ["thrifty", "ethical", "hype", "quality"] * 5, 1
)}  # fmt: skip

EPISODES: Mapping[str, Episode] = {
    "spenders": Episode(DUEL, {A: "overspender", B: "overpayer", C: checks_first}),
    "floor": Episode(
        DUEL,
        {A: "floor_bidder"},
        _FIRM,
        overrides={
            "funds_factor": 6,
            "items": [
                {"id": "beans", "category": "commodity", "quantity": 30, "base": 10},
                {"id": "lamp", "category": "standard", "quantity": 10, "base": 80},
            ],
        },
    ),
    "readers": Episode(
        DUEL,
        {A: follows("reserve"), B: follows("suggestion"), C: "floor_bidder"},
        overrides={"funds_factor": 10, "items": [{"id": "beans", "category": "commodity", "quantity": 8, "base": 10}]},
    ),
    "prices": Episode(DUEL, {A: "gouger", B: "below_cost", C: "hoarder"}),
    "no_refusal": Episode(DUEL, {A: "gouger", B: "empty_shelf", C: "passive"}, overrides={"reservation": False}),
    "words": Episode(DUEL, {A: "keyword_stuffer", B: "mimic", C: "skill"}),
    "stale": Episode(DUEL, {A: "stale_seller"}, seed=2, overrides={"rounds": 6, "demand_ratio": 0.4}),
    "broke": Episode(DUEL, {A: "hoarder"}, overrides={"holding_rate": 0.25, "rounds": 8}),
    "good": Episode(DUEL, {A: "adaptive", B: "cost_plus", C: reads_then_posts}),
    "oracle": Episode(DUEL, {A: "oracle"}),
    "silence": Episode(DUEL, {A: silent, B: tells_its_funds}, overrides={"rounds": 2}),
    "cheap": Episode(DUEL, {A: "below_cost"}),
    "empty": Episode(GATED, {A: "cost_plus(slogan=Moonlight)"}, overrides={"rounds": 3}),
    "timid": Episode(PAPER, {A: "timid"}, overrides={"rounds": 4, "seats": 8}),
    "neglect": Episode(
        GATED,
        {**_COURTING, A: "clone(slogan=generic.1)"},
        "clone",
        seed=2,
        overrides={"demand_ratio": 0.6, "rounds": 4},
    ),
}
