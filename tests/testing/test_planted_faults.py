"""One fault at a time in a small foreign market: each is found by the check that is meant for it, and named."""

from __future__ import annotations

import importlib
import random
import re
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field
from tests.testing import foreign
from tests.testing.foreign import BIDDER, BOX, SCENARIO, SEATS, Box, BoxType, Done, MintsMoney, Row
from tests.waiting import SOON

from tradefair.catalog import market_type
from tradefair.contract import (
    Closure,
    IllegalAction,
    LapseReason,
    PolicySpec,
    SeatId,
    Tool,
    ToolCall,
    ToolTable,
    Turns,
    TurnView,
    tool,
)
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.testing import CHECKS, Bench, check_market

HIDDEN = "never in the seats' hands"


def _kind(rules: type[Box] = Box, /, **attributes: Any) -> Any:
    """A market type with other rules, or other attributes; functions among them become methods."""
    return type("PlantedType", (BoxType,), {"rules": rules, **attributes})()


def _tools(*tools: Tool) -> ToolTable:
    return ToolTable(*{**BOX.tools, **{item.name: item for item in tools}}.values())


# --- the rules ----------------------------------------------------------------------------------------------------


class NeverAwaits(Box):
    """No seat is ever asked, and the game never ends: Core closes round after round within one command."""

    def awaited(self) -> frozenset[SeatId]:
        return frozenset()

    def end(self) -> None:
        pass

    def row(self) -> Row:
        return Row(round=self.clock.round, bids={}, winner=None, price=0)

    def digest(self) -> bytes:
        return repr(self.clock).encode()


class NeverEnds(Box):
    def end(self) -> None:
        self.rows = self.rows[-1:]


class FirstCome(Box):
    def best(self, bids: Mapping[SeatId, int]) -> SeatId:
        return max(bids, key=lambda seat: bids[seat])


def _tells(note: Callable[[Box], Any]) -> type[Box]:
    """Rules that publish more than the bids of a round."""

    class Telling(Box):
        def row(self) -> Row:
            return super().row().model_copy(update={"note": note(self)})

    return Telling


def _late(market: Box) -> list[SeatId]:
    return [seat for seat in market.sealed if market.sealed[seat] is None]


def _keenest(market: Box) -> SeatId:
    return max(SEATS, key=lambda seat: (market.values[seat], seat))


class LapseByClock(Box):
    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        self.sealed[seat] = time.time_ns() % 7
        return "no_bid"


class LapseByLuck(Box):
    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        self.sealed[seat] = random.randrange(7)
        return "no_bid"


class Numbered(Box):
    """Counts how often a market was made, in the class."""

    made = 0

    def __init__(self, scenario: Any, seed: int) -> None:
        super().__init__(scenario, seed)
        type(self).made += 1
        self.values["A1"] = type(self).made


def _digests(change: Callable[[Box], dict[str, Any]]) -> type[Box]:
    """Rules whose digest covers something else than the state."""

    class Digesting(Box):
        def state(self) -> dict[str, Any]:
            return {**super().state(), **change(self)}

    return Digesting


def _made(market: Box) -> dict[str, Any]:
    """Without lapses."""
    return {"sealed": {seat: bid for seat, bid in market.sealed.items() if bid is not None}}


def _last_row(market: Box) -> dict[str, Any]:
    return {"past": [row.model_dump() for row in market.rows[-1:]], "money": None}


class Quits(Box):
    def advance(self) -> Closure:
        sys.exit("enough")


class QuitsWhenSilent(Box):
    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        raise SystemExit(0)


class Digs(Box):
    def digest(self) -> bytes:
        return self.digest()


class Hangs(Box):
    def advance(self) -> Closure:
        while True:
            pass


class RareCode(Box):
    def feed(self, source: str, payload: Any) -> None:
        raise IllegalAction("nothing_is_fed", HIDDEN)


class OddCode(Box):
    def bid(self, seat: SeatId, amount: int) -> None:
        code = "_".join(["too", "poor"])
        if amount > self.money[seat]:
            raise IllegalAction(code, "too much")
        super().bid(seat, amount)


class NoReadMarks(Box):
    def __init__(self, scenario: Any, seed: int) -> None:
        super().__init__(scenario, seed)
        del self.read_marks


class NoNewsMark(Box):
    news_mark: Any = property(lambda self: self.missing)  # hides the method of the base, as if there were none


class ListedMarks(Box):
    def __init__(self, scenario: Any, seed: int) -> None:
        super().__init__(scenario, seed)
        self.read_marks: Any = []


class ShortLapse(Box):
    def lapse(self, seat: SeatId) -> str:  # type: ignore[override]  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().lapse(seat, "deadline")


class PlainClock(Box):
    def __init__(self, scenario: Any, seed: int) -> None:
        super().__init__(scenario, seed)
        self.clock: Any = tuple(self.clock)


# --- what is declared ---------------------------------------------------------------------------------------------


@tool("action", title="Bid")
def bid_for(market: Box, seat: SeatId, *, seat_id: str, amount: Annotated[int, Field(ge=0, le=9)]) -> Done:
    """Bid for a seat."""
    market.bid(seat, amount)
    return Done(round=1)


@tool("action", title="Bid")
def bid_as(market: Box, seat: SeatId, *, bidder: Literal["A1", "A2"], amount: int) -> Done:
    """Bid as a seat."""
    market.bid(seat, amount)
    return Done(round=1)


@tool("action", title="Bid")
def bid_by_default(market: Box, seat: SeatId, *, bidder: str = "A1") -> Done:
    """Bid as a seat."""
    market.bid(seat, 0)
    return Done(round=1)


class Order(BaseModel):
    token: str


@tool("action", title="Bid")
def bid_orders(market: Box, seat: SeatId, *, orders: list[Order]) -> Done:
    """Bid with tokens."""
    raise IllegalAction("unknown_id", "no")


@tool("action", title="Bid")
def bid_named(market: Box, seat: SeatId, *, who: str) -> Done:
    """Bid under the own name."""
    if who != seat:
        raise IllegalAction("unknown_id", "that is not you")
    market.bid(seat, 0)
    return Done(round=1)


class Falls:
    def turn(self, now: TurnView) -> Turns:
        yield ToolCall("view_value")
        raise KeyError("value")


def _falls(params: Any, draw: Any) -> Falls:
    return Falls()


def _unmade(params: Any, draw: Any) -> Any:
    raise ValueError("needs greed=N")


def _with_policy(make: Callable[..., Any]) -> dict[str, PolicySpec]:
    return {**BOX.policies, "bold": PolicySpec("bold", make, BIDDER)}


def _no_check(self: Any, market: Box) -> None:
    return None


def _same_check(self: Any, market: Box) -> None:
    assert market.money == dict(market.money)


def _falling_perturbation(self: Any, market: Box, seat: SeatId, salt: int) -> Box:
    raise ZeroDivisionError("no other seats")


# By the check that finds it: what is wrong, the market, and what is said of it.
PLANTED: dict[str, list[tuple[str, Any, str]]] = {
    "random_legal_finishes": [
        ("never ends, asks no seat", _kind(NeverAwaits), "no end after 10,000 closures: round 100"),
        ("rules quit", _kind(Quits), "raised SystemExit: enough .*line .* in advance"),
        ("digest never returns", _kind(Digs), "RecursionError.* in digest"),
    ],
    "arrival_leaves_no_mark": [
        ("order of arrival breaks ties", _kind(FirstCome), "winner is A. or A., depending on which"),
        ("order of arrival is told", _kind(_tells(lambda box: [*box.sealed])), "note.0 is A1 or A3.*seat acts first"),
        ("order of lapses is told", _kind(_tells(_late)), "note.0 is A. or A.*acts first"),
    ],
    "determinism": [
        ("clock in lapse", _kind(LapseByClock), "passive in every seat, played again in this process: event"),
        ("entropy in lapse", _kind(LapseByLuck), "passive in every seat, played again in this process"),
        ("state of the class", _kind(Numbered), "random_legal in every seat, played again in this process"),
        ("default action quits", _kind(QuitsWhenSilent), "with passive in every seat: raised SystemExit"),
    ],
    "closures_tell_nothing": [
        ("sum of private values", _kind(_tells(lambda box: sum(box.values.values()))), r"public note .* is \d+ or \d+"),
        ("whose value is highest", _kind(_tells(_keenest)), "public note .* is A. or A..*private to others"),
    ],
    "digest_sees_everything": [
        ("digest without sealed acts", _kind(_digests(lambda box: {"sealed": None})), "bid of A1 leaves the digest"),
        ("digest without lapses", _kind(_digests(_made)), "the lapse of A1 leaves the digest"),
        ("digest of who sealed", _kind(_digests(lambda box: {"sealed": sorted(box.sealed)})), "misses what is sealed"),
        ("digest without history", _kind(_digests(lambda box: {"past": None, "money": None})), "misses history"),
        ("digest of the last row", _kind(_digests(_last_row)), "misses history"),
    ],
    "conservation": [("money is made", _kind(MintsMoney), "round 1: money was made")],
    "conservation_can_fail": [
        ("check() asserts nothing", _kind(check=_no_check), r"accepts every tampered state: \d+ numbers"),
        ("check() compares nothing", _kind(check=_same_check), "accepts every tampered state"),
    ],
    "errors_are_declared": [
        ("undeclared code", _kind(OddCode), "bid.* of A. gave 'too_poor', which is neither"),
        ("undeclared code, never seen", _kind(RareCode), "line .* raises 'nothing_is_fed', which is neither"),
        ("code without a text", _kind(errors={"above_budget": " "}), "no text for 'above_budget'"),
    ],
    "tools_take_no_seat": [
        ("argument seat_id", _kind(tools=_tools(bid_for)), "bid_for takes 'seat_id': no tool takes a seat"),
        ("choice of seats", _kind(tools=_tools(bid_as)), "bid_as takes 'bidder', which names the seat A1"),
        ("default is a seat", _kind(tools=_tools(bid_by_default)), "bid_by_default .*names the seat A1"),
        ("token within a list", _kind(tools=_tools(bid_orders)), "takes 'token': no tool takes a token"),
        ("own name as argument", _kind(tools=_tools(bid_named)), "takes 'who', the caller's own seat"),
    ],
    "keeps_the_protocol": [
        ("no read_marks", _kind(NoReadMarks), "^Market.read_marks is missing"),
        ("no news_mark", _kind(NoNewsMark), "^Market.news_mark is missing"),
        ("read_marks is a list", _kind(ListedMarks), "Market.read_marks is a list; it must be a dict"),
        ("lapse without a reason", _kind(ShortLapse), r"Market.lapse must take \(seat, reason\)"),
        ("clock is a tuple", _kind(PlainClock), "Market.clock is a tuple; it must be a Clock"),
        ("no request", _kind(request=None), "MarketType.request is a NoneType; it must be a method"),
        ("no passive", _kind(policies={"random_legal": foreign.RANDOM}), "no 'passive'"),
    ],
    "presets_play": [
        ("policy falls", _kind(policies=_with_policy(_falls)), "bold.*KeyError.*line .* in turn"),
        ("policy cannot be made", _kind(policies=_with_policy(_unmade)), "bold.*needs greed=N.*in _unmade"),
    ],
    "non_interference": [
        ("perturbation fails", _kind(perturb_private=_falling_perturbation), "ZeroDivisionError.*others?")
    ],
}


def _bench(market: Any, *scenarios: Any) -> Bench:
    return Bench(market, scenarios=scenarios or [SCENARIO], seeds=(1, 2))


def test_at_least_21_faults_are_planted_and_none_twice() -> None:
    names = [name for faults in PLANTED.values() for name, *_ in faults]
    assert len(names) == len(set(names)) >= 21
    assert PLANTED.keys() <= CHECKS.keys()


@pytest.mark.many
@pytest.mark.parametrize(
    ("check", "market", "message"),
    [pytest.param(check, *fault, id=name) for check, faults in PLANTED.items() for name, *fault in faults],
)
def test_a_planted_fault_is_found_by_its_check_and_named(check: str, market: Any, message: str) -> None:
    failures = CHECKS[check](_bench(market))
    assert {failure.check for failure in failures} == {check}
    assert any(re.search(message, failure.message) for failure in failures), list(map(str, failures))


@pytest.mark.process
@pytest.mark.parametrize("check", CHECKS)
def test_the_market_without_a_fault_passes(check: str) -> None:
    assert CHECKS[check](_bench(BOX)) == []


@pytest.mark.many
def test_the_whole_kit_never_falls_over_a_fault() -> None:
    for rules in (Quits, QuitsWhenSilent, Digs, NoReadMarks):
        assert check_market(_kind(rules), scenarios=[SCENARIO], seeds=(1,))


def test_what_breaks_the_protocol_is_all_that_is_said() -> None:
    failures = check_market(_kind(NoReadMarks), scenarios=[SCENARIO])
    assert [str(failure) for failure in failures] == ["keeps_the_protocol: Market.read_marks is missing"]


@pytest.mark.parametrize(
    ("seats", "message"),
    [
        ({"A9": "passive"}, "seats.A9 is no seat and no role; seats are A1, A2, A3"),
        ({"A1": "clever"}, "with clever, random_legal: box has no policy 'clever' for the role bidder"),
    ],
)
def test_a_preset_that_cannot_be_played_is_named(seats: dict[str, str], message: str) -> None:
    scenario = SCENARIO.model_copy(update={"seats": {"bidder": "random_legal", **seats}})
    (failure,) = CHECKS["presets_play"](_bench(BOX, scenario))
    assert message in str(failure)


def test_a_placeholder_that_nothing_fills_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    told = evaluator_of("double_auction")
    rooms = {role: dict(words) for role, words in told.phrases.items()}
    del rooms["seller"]["limit"]
    rooms["all"]["scored"] = "{verb} {value}, rank {wealth_rank} of {seats}"
    monkeypatch.setattr(type(told), "phrases", rooms)
    messages = [failure.message for failure in CHECKS["phrases_are_whole"](Bench(market_type("double_auction")))]
    assert "the phrases of buyer name wealth_rank, which is no figure of a seat" in messages
    assert any(re.search("names limit, for which seller has no phrase", message) for message in messages)
    assert not [message for message in messages if "buyer has no phrase" in message]


def test_a_loop_that_never_returns_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tradefair.testing.authors_code.PATIENCE_S", SOON)
    (failure,) = CHECKS["random_legal_finishes"](_bench(_kind(Hangs)))
    assert f"did not return within {SOON} s of computing time" in failure.message
    assert "in advance" in failure.message


@pytest.mark.many
def test_a_game_in_which_seats_act_for_ever_is_stopped() -> None:
    (failure,) = CHECKS["random_legal_finishes"](_bench(_kind(NeverEnds)))
    assert failure.message.startswith("cannot be played: no end after 10,000 closures")


def test_an_interrupt_by_the_person_is_none_of_the_kits_failures() -> None:
    class Interrupted(Box):
        def advance(self) -> Closure:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        CHECKS["random_legal_finishes"](_bench(_kind(Interrupted)))


# --- the source ---------------------------------------------------------------------------------------------------


IMPURE = [
    ("import time", "time.time()", "imports time"),
    ("from os import urandom as luck", "luck(1)", "imports os"),
    ("from datetime import date as day", "day.today()", r"calls .today\(\)"),
    ("import datetime", "datetime.datetime.now()", r"calls .now\(\)"),
    ("", 'hash("A1")', r"calls hash\(\)"),
    ("", 'open("/dev/null")', r"calls open\(\)"),
    ("", '__import__("random")', r"calls __import__\(\)"),
    ("from importlib import import_module", 'import_module("random")', "imports random"),
    ("import numpy as np", "np.random.default_rng()", "draws from numpy.random"),
    ("from numpy.random import default_rng", "default_rng()", "draws from numpy.random"),
    ("", "self.helper()", "never_alone_{name}.helper, line 1: imports secrets"),
]


@pytest.mark.parametrize("fault", range(len(IMPURE)), ids=[f"{line} {call}".strip() for line, call, _ in IMPURE])
def test_rules_that_ask_the_world_outside_are_named(
    fault: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    imports, call, message = IMPURE[fault]
    name = f"f{fault}"
    package = tmp_path / f"never_alone_{name}"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "helper.py").write_text("import secrets\n" if "helper" in call else "")
    (package / "unused.py").write_text("import socket\n")
    (package / "rules.py").write_text(
        f"{imports}\nfrom . import helper\nfrom tests.testing.foreign import BoxType\n\n\n"
        f"class Kind(BoxType):\n    def rarely(self):\n        return {call}\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    kind = importlib.import_module(f"never_alone_{name}.rules").Kind()
    failures = CHECKS["rules_are_pure"](_bench(kind))
    assert {failure.check for failure in failures} == {"rules_are_pure"}
    said = [failure.message for failure in failures]
    assert len(said) == 1, said
    assert re.search(message.format(name=name), said[0])


def test_loaders_in_the_room_data_may_read_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    room = tmp_path / "reading_market" / "data"
    room.mkdir(parents=True)
    (room.parent / "__init__.py").write_text("")
    (room / "__init__.py").write_text("from pathlib import Path\n\nTEXT = Path(__file__).read_text()\n")
    (room.parent / "rules.py").write_text(
        "from reading_market.data import TEXT\nfrom tests.testing.foreign import BoxType\n\n\n"
        "class Kind(BoxType):\n    text = TEXT\n"
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    kind = importlib.import_module("reading_market.rules").Kind()
    assert CHECKS["rules_are_pure"](_bench(kind)) == []
