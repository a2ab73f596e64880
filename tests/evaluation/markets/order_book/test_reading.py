"""What outcomes and failure modes read of a real order book: who saw which quotes, what met what, how orders ended.

Orders are put in by hand and the rules play them: B1, B2, S1 and S2 act in turn, and each sweep begins one seat later.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
from tests.calling import seating
from tests.corpus.forge import Forge
from tests.evaluation.playing import store

from tradefair.catalog import load_scenario
from tradefair.contract.kernel.core import Core, Done, Record
from tradefair.evaluation.markets.order_book.modes.play import Filled, Game, Period, Quote, Step, read_game
from tradefair.order_book import MARKET
from tradefair.tracestore import open_trace

VALUES = {"values": [[140, 120, 100], [110, 90, 70]], "costs": [[60, 80, 95, 98], [90, 100, 120]]}
GOODS: dict[str, Any] = {**VALUES, "arrival": "rotation", "one_order": False, "max_quantity": 3, "seats": {}}
SHARES: dict[str, Any] = {
    "kind": "asset", "traders": 2, "endowments": [[500, 3]], "dividends": [0, 8], "final_value": 5, "seats": {},
    "periods": 2, "arrival": "rotation", "sweeps": 1,
}  # fmt: skip


class Floor:
    """An episode of the real rules in which every seat does as it is told."""

    def __init__(self, preset: str, **changes: Any) -> None:
        self.core = Core.create(MARKET, load_scenario("order_book", preset, changes), 1)
        self.records: list[Record] = []
        self._keep(self.core.start(seating(self.core.market.seats)))

    def does(self, seat: str, tool: str, /, **arguments: Any) -> int:
        """The event of a call that is carried out."""
        done = self.core.call(seat, tool, arguments)
        assert done.answer is not None
        assert done.answer.error is None
        return self._keep(done)

    def fails(self, seat: str, tool: str, /, **arguments: Any) -> None:
        """A call that is refused."""
        done = self.core.call(seat, tool, arguments)
        assert done.answer is not None
        assert done.answer.error is not None
        self._keep(done)

    def bids(self, seat: str, price: int, quantity: int = 1, **more: Any) -> int:
        return self.does(seat, "submit_order", side="buy", price=price, quantity=quantity, **more)

    def asks(self, seat: str, price: int, quantity: int = 1, **more: Any) -> int:
        return self.does(seat, "submit_order", side="sell", price=price, quantity=quantity, **more)

    def passes(self, *seats: str) -> list[int]:
        return [self.does(seat, "pass_turn") for seat in seats]

    def lapses(self, seat: str) -> int:
        return self._keep(self.core.lapse(seat, "deadline"))

    def ticks(self) -> None:
        self._keep(self.core.feed("clock_tick", None))

    def rest_passes(self) -> None:
        """All pass to the end."""
        while self.core.ended is None:
            self.passes(*self.core.market.awaited())

    def kept(self, folder: Path) -> Path:
        return store(folder / "game.trace", self.core, self.records)

    def closures(self) -> list[int]:
        events = [orjson.loads(record.body) for record in self.records]
        return [event["seq"] for event in events if event["event"] == "round_closed"]

    def _keep(self, done: Done) -> int:
        self.records += done.records
        return orjson.loads(done.records[0].body)["seq"]


def read(path: Path) -> Game:
    with open_trace(path) as trace:
        return read_game(trace)


def forged(path: Path, change: Callable[[Forge], object]) -> Game:
    """The game of a trace that was changed."""
    forge = Forge.load(path)
    change(forge)
    return read(forge.save(path.with_name("forged.trace")))


def closed(forge: Forge, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the facts of the first closed period."""
    forge.edit(forge.seq_of(event="round_closed"), lambda event: change(event["facts"]))


class Morning:
    """One period of goods: orders met in part, over several prices, taken back, lapsed, and dropped."""

    def __init__(self, folder: Path) -> None:
        floor = Floor("smoke", **GOODS, sweeps=3)
        floor.does("B1", "view_book")
        at = [floor.bids("B1", 80, 2), floor.bids("B2", 80), floor.asks("S1", 100), floor.asks("S2", 80)]
        floor.does("B2", "cancel_order", order=2)
        at += [floor.bids("B2", 85), floor.asks("S1", 90), floor.lapses("S2"), floor.bids("B1", 92)]
        at += [floor.asks("S1", 80, 2)]
        floor.fails("S2", "cancel_order", order=77)
        # B1 has no unit left: it is not asked any more.
        at += [floor.asks("S2", 70, 2, rest=False), *floor.passes("B2")]
        self.at, self.closure, self.path = at, floor.closures()[0], floor.kept(folder)
        self.game = read(self.path)


def test_a_trade_is_at_the_price_of_the_order_that_rested_for_the_next_units_of_both(tmp_path: Path) -> None:
    game = Morning(tmp_path).game
    assert game.problem is None
    assert game.fills == [
        # The older of two bids at 80, in part.
        Filled(1, 4, 80, 1, "B1", "S2", "S2", 1, {"B1": (140,), "S2": (90,)}),
        # The lower of two asks, although it is the younger one.
        Filled(1, 8, 90, 1, "B1", "S1", "B1", 6, {"B1": (120,), "S1": (60,)}),
        # Two units at two prices: the higher bid first, then what was left of the first.
        Filled(1, 9, 85, 1, "B2", "S1", "S1", 5, {"B2": (110,), "S1": (80,)}),
        Filled(1, 9, 80, 1, "B1", "S1", "S1", 1, {"B1": (100,), "S1": (95,)}),
    ]
    assert game.priority_violations == 0


def test_a_step_is_the_act_that_ended_it_beside_the_quotes_and_the_unit_before_it(tmp_path: Path) -> None:
    morning = Morning(tmp_path)
    game, seqs = morning.game, iter(morning.at)
    first, second, *both = ((fill,) for fill in game.fills)
    assert game.steps == [
        Step(1, 1, "B1", next(seqs), "order", 80, None, None, 140, 0, ()),
        Step(1, 2, "B2", next(seqs), "order", 80, 80, None, 110, 0, ()),
        Step(1, 3, "S1", next(seqs), "order", 100, 80, None, 60, 0, ()),
        Step(1, 4, "S2", next(seqs), "order", 80, 80, 100, 90, 0, first),
        # It took an order back first: the step's event is that of the order.
        Step(1, 5, "B2", next(seqs), "order", 85, 80, 100, 110, 0, ()),
        Step(1, 6, "S1", next(seqs), "order", 90, 85, 100, 60, 0, ()),
        Step(1, 7, "S2", next(seqs), "pass", None, 85, 90, 100, 1, ()),
        Step(1, 8, "B1", next(seqs), "order", 92, 85, 90, 120, 1, second),
        Step(1, 9, "S1", next(seqs), "order", 80, 85, 100, 80, 1, (*both[0], *both[1])),
        Step(1, 10, "S2", next(seqs), "order", 70, None, 100, 100, 1, ()),
        Step(1, 12, "B2", next(seqs), "pass", None, None, 100, 90, 1, ()),
    ]


def test_an_order_that_rested_is_told_when_it_ends_with_the_best_other_of_its_side(tmp_path: Path) -> None:
    morning = Morning(tmp_path)
    game, at = morning.game, morning.at
    partly, whole, better, rest = game.fills
    assert game.quotes == [
        Quote(1, "B2", "buy", 2, 80, 2, 5, "cancelled", at[1], 80, ()),
        Quote(1, "S1", "sell", 6, 90, 6, 8, "filled", at[5], 100, (whole,)),
        Quote(1, "B2", "buy", 5, 85, 5, 9, "filled", at[4], 80, (better,)),
        Quote(1, "B1", "buy", 1, 80, 1, 9, "filled", at[0], None, (partly, rest)),
        # To the end of the period; an order that must not rest is no quote.
        Quote(1, "S1", "sell", 3, 100, 3, 13, "lapsed", at[2], None, ()),
    ]


def test_spread_and_depth_are_those_before_each_step_in_which_both_sides_stand(tmp_path: Path) -> None:
    game = Morning(tmp_path).game
    # Steps 4 to 9. Three units wanted at 80 and one offered; then two; what is behind the best does not count.
    assert game.spreads == [20, 20, 15, 5, 5, 15]
    assert game.depths == [4, 3, 2, 2, 2, 2]


def test_units_and_the_book_begin_afresh_in_every_period(tmp_path: Path) -> None:
    floor = Floor("smoke", **GOODS, sweeps=1, periods=2)
    floor.bids("B1", 95)
    floor.bids("B2", 50)
    taken = [floor.asks("S1", 95)]
    floor.passes("S2", "B1", "B2")
    later = floor.asks("S1", 91)
    floor.rest_passes()
    game = read(floor.kept(tmp_path))
    assert [fill.values for fill in game.fills] == [{"B1": (140,), "S1": (60,)}]
    assert [(quote.period, quote.order, quote.ended, quote.end) for quote in game.quotes] == [
        (1, 1, 3, "filled"), (1, 2, 5, "lapsed"), (2, 4, 5, "lapsed"),
    ]  # fmt: skip
    steps = [step for step in game.steps if step.seat == "S1"]
    assert [(step.period, step.seq, step.value, step.unit, step.best_bid) for step in steps] == [
        (1, taken[0], 60, 0, 95), (2, later, 60, 0, None),
    ]  # fmt: skip
    profits = {"B1": 45, "B2": 0, "S1": 35, "S2": 0}
    nothing = dict.fromkeys(profits, 0)
    first, second = floor.closures()
    assert [period._replace(cash=nothing, shares=nothing) for period in game.periods] == [
        Period(1, first, 4, None, profits, nothing, nothing),
        Period(2, second, 4, None, profits, nothing, nothing),
    ]
    assert game.trader("S1").traded_units == {1: 1}


def test_a_smaller_order_at_the_same_price_keeps_the_place_of_the_old_one(tmp_path: Path) -> None:
    floor = Floor("smoke", **{**GOODS, "one_order": True}, sweeps=3)
    first, second = floor.bids("B1", 80, 3), floor.bids("B2", 80)
    floor.passes("S1", "S2", "B2", "S1", "S2")
    fewer = floor.bids("B1", 80)
    # One unit is left of the first; the second unit is bought by who came later.
    floor.asks("S1", 70, 2)
    floor.rest_passes()
    game = read(floor.kept(tmp_path))
    assert [(fill.buyer, fill.order, fill.quantity) for fill in game.fills] == [("B1", 1, 1), ("B2", 2, 1)]
    assert [(quote.order, quote.seq, quote.end) for quote in game.quotes] == [
        (1, first, "filled"), (2, second, "filled"),
    ]  # fmt: skip
    # To ask for less is an act with an order.
    assert game.steps[7][2:8] == ("B1", fewer, "order", 80, 80, None)
    assert game.priority_violations == 0


def test_an_order_that_takes_the_place_of_the_own_one_ends_it(tmp_path: Path) -> None:
    floor = Floor("smoke", **{**GOODS, "one_order": True}, sweeps=2)
    old = floor.bids("B1", 80)
    floor.passes("B2", "S1", "S2", "B2", "S1", "S2")
    new = floor.bids("B1", 82)
    game = read(floor.kept(tmp_path))
    assert [quote[3:10] for quote in game.quotes] == [
        (1, 80, 1, 8, "cancelled", old, None), (2, 82, 8, 9, "lapsed", new, None),
    ]  # fmt: skip


def test_a_trade_that_clears_the_book_ends_every_order_with_it(tmp_path: Path) -> None:
    floor = Floor("smoke", **GOODS, sweeps=2, after_trade="clear")
    floor.bids("B1", 80, 2)
    floor.bids("B2", 70)
    floor.asks("S1", 80, 3)
    # All three are gone, and so is what the seller had left; then nothing meets this one.
    floor.asks("S2", 60)
    floor.rest_passes()
    game = read(floor.kept(tmp_path))
    assert [(quote.order, quote.end, quote.placed, quote.ended, quote.best) for quote in game.quotes] == [
        (1, "filled", 1, 3, 70), (2, "lapsed", 2, 3, None), (4, "lapsed", 4, 9, None),
    ]  # fmt: skip
    assert [(fill.order, fill.quantity) for fill in game.fills] == [(1, 2)]
    assert game.steps[3].best_bid is None
    assert game.steps[4].best_ask == 60
    assert game.priority_violations == 0


def test_several_seats_may_act_in_one_tick_and_a_pass_is_told_too(tmp_path: Path) -> None:
    units = {"values": [[140], [110]], "costs": [[60], [90]]}
    floor = Floor("live", buyers=2, sellers=2, **units, sweeps=2, periods=1, seats={})
    bid, ask, other = floor.bids("B1", 95), floor.asks("S1", 97), floor.passes("B2")[0]
    floor.ticks()
    taken, last = floor.asks("S2", 95), floor.passes("B1")[0]
    floor.ticks()
    game = read(floor.kept(tmp_path))
    assert game.problem is None
    assert game.steps == [
        Step(1, 1, "B1", bid, "order", 95, None, None, 140, 0, ()),
        # Within a tick each sees what those before it did.
        Step(1, 1, "S1", ask, "order", 97, 95, None, 60, 0, ()),
        Step(1, 1, "B2", other, "pass", None, 95, 97, 110, 0, ()),
        Step(1, 2, "S2", taken, "order", 95, 95, 97, 90, 0, tuple(game.fills)),
        # Nothing is left to buy: no value.
        Step(1, 2, "B1", last, "pass", None, None, 97, None, 1, ()),
    ]
    assert len(game.fills) == 1
    assert game.spreads == [2]


def test_a_step_knows_what_its_own_seat_had_asked_in_it_before_it_acted(tmp_path: Path) -> None:
    floor = Floor("smoke", **GOODS, sweeps=3)
    # Nothing is counted yet: rows without a probability tell nothing.
    floor.does("B1", "estimate_fill", side="buy", prices=[50])
    floor.bids("B1", 80)
    floor.bids("B2", 70)
    # Of another seat, and of a step that is over.
    floor.does("S2", "estimate_fill", side="sell", prices=[60])
    floor.asks("S1", 85)
    first = floor.does("S2", "estimate_fill", side="sell", prices=[75, 100])
    second = floor.does("S2", "estimate_fill", side="buy", prices=[90])
    floor.asks("S2", 100)
    floor.rest_passes()
    path = floor.kept(tmp_path)

    told = {(step.seat, step.price): step.advice for step in read(path).steps if step.advice}
    sell, other, buy = told["S2", 100]
    assert [*told] == [("S2", 100)]
    assert [(row.seq, row.side, row.price) for row in (sell, other, buy)] == [
        (first, "sell", 75), (first, "sell", 100), (second, "buy", 90),
    ]  # fmt: skip
    assert sell.probability == 1.0
    assert other.probability < 1

    game = forged(path, lambda forge: forge.edit(first, lambda event: event["result"].update(rows="many")))
    assert [row.price for step in game.steps for row in step.advice] == [90]


def test_a_fill_that_priority_does_not_give_is_a_violation(tmp_path: Path) -> None:
    path = Morning(tmp_path).path

    def fills(*told: list[int]) -> Game:
        return forged(path, lambda forge: closed(forge, lambda facts: facts["messages"][-2].update(fills=told)))

    whole = fills([5, 85, 1], [1, 80, 1])
    assert whole.priority_violations == 0
    # Missing: one. The younger order at another price in its place: one that is missing, one that is another.
    assert fills([5, 85, 1]).priority_violations == 1
    assert fills([5, 85, 1], [2, 79, 1]).priority_violations == 2
    assert fills([5, 85, 1], [2, 80, 1]).priority_violations == 2
    assert fills([5, 85, 1], [1, 80, 2]).priority_violations == 2
    # What was to be filled is replayed from the orders, whatever is told.
    assert fills().fills == whole.fills


def test_what_does_not_fit_a_period_is_skipped(tmp_path: Path) -> None:
    morning = Morning(tmp_path)
    path, game = morning.path, morning.game

    def stranger(facts: dict[str, Any]) -> None:
        facts["messages"].append({**facts["messages"][0], "seat": "X9", "step": 12})
        facts["messages"].append({**facts["messages"][0], "act": "cancel", "order": 99, "step": 12})
        facts["messages"].append({**facts["messages"][0], "act": "reduce", "order": 99, "step": 12})

    found = forged(path, lambda forge: closed(forge, stranger))
    assert (found.fills, found.quotes) == (game.fills, game.quotes)
    assert {step.seat for step in found.steps} == {"B1", "B2", "S1", "S2"}

    def unnumbered(forge: Forge) -> None:
        forge.change(morning.at[0], round="first")

    # The call is of no period then; its order is still known by the facts.
    found = forged(path, unnumbered)
    assert found.steps[0] == game.steps[0]._replace(seq=None)
    assert found.fills == [*game.fills]
    found = forged(path, lambda forge: forge.change(morning.at[0], status="rejected"))
    assert found.steps[0] == game.steps[0]._replace(seq=None)


def test_nothing_is_judged_before_a_period_tells_the_schedules(tmp_path: Path) -> None:
    path = Morning(tmp_path).path
    without = forged(path, lambda forge: closed(forge, lambda facts: facts.update(opening=None)))
    assert without.problem == "no closed period tells schedules or endowments"
    assert not without.steps
    assert not without.periods
    other = forged(path, lambda forge: closed(forge, lambda facts: facts.update(messages="none")))
    assert other.problem == without.problem
    with open_trace(path) as trace:
        assert read_game(trace) is read_game(trace)
        assert read_game(trace).problem is None


def test_no_more_than_a_hundred_periods_are_read(tmp_path: Path) -> None:
    def many(forge: Forge) -> None:
        body = forge.bodies[forge.seq_of(event="round_closed") - 1]
        forge.bodies += [body] * 100
        forge.renumber()

    assert len(forged(Morning(tmp_path).path, many).periods) == 100


def test_a_buyer_and_a_seller_look_at_the_same_game_from_two_sides(tmp_path: Path) -> None:
    morning = Morning(tmp_path)
    game = morning.game
    assert game.p_star == 96.5
    assert not game.asset
    buyer, seller = game.trader("B1"), game.trader("S1")
    assert game.trader("B1") is buyer
    assert (buyer.sign, seller.sign) == (1, -1)
    assert (buyer.slack(140, 90), seller.slack(60, 90), seller.slack(95, 85)) == (50, 30, -10)
    eighth = game.steps[7]
    assert (buyer.opposite(eighth), seller.opposite(eighth)) == (90, 85)
    bought = game.fills[1]
    assert (buyer.turn(bought), seller.turn(bought)) == (1, -1)
    # The taker's order is that of the step, the other's the one that rested.
    assert (buyer.event_of(bought), seller.event_of(bought)) == (morning.at[7], morning.at[5])
    assert [buyer.event_of(fill) for fill in buyer.fills] == [morning.at[0], morning.at[7], morning.at[0]]
    assert (buyer.traded_units, seller.traded_units) == ({1: 3}, {1: 3})
    assert [quote.order for quote in seller.quotes] == [6, 3]


def test_a_case_is_shown_by_the_closure_of_its_period_and_about_a_step_where_it_has_one(tmp_path: Path) -> None:
    morning = Morning(tmp_path)
    seller, at, closure = morning.game.trader("S1"), morning.at, morning.closure
    case = seller.case(at[5], 1, "a sale", amount=2, fact="order")
    assert case == (at[5], 1, "period 1: a sale", closure, "step 6", 2, "order")
    # An event of another seat is no step of its own; without an event the closure is all there is.
    assert seller.case(at[0], 1, "a sale").about is None
    assert seller.case(None, 1, "a sale")[:6] == (closure, 1, "period 1: a sale", closure, None, 1.0)
    assert seller.case(None, 9, "a sale")[:6] == (1, 9, "period 9: a sale", None, None, 1.0)
    assert len(seller.case(None, 1, "a" * 200).because) == 160


def test_a_share_is_worth_what_it_has_still_to_pay(tmp_path: Path) -> None:
    floor = Floor("asset_short", **SHARES)
    sold = floor.asks("T1", 9, 2)
    floor.bids("T2", 9, 2)
    floor.rest_passes()
    game = read(floor.kept(tmp_path))
    assert game.asset
    assert game.p_star is None
    # Dividends of 4 in the mean, 5 at the end.
    assert [game.rules.fundamental(period) for period in (1, 2)] == [13, 9]
    assert [game.trader(seat).sign for seat in ("T1", "T2")] == [1, 1]
    assert game.fills == [Filled(1, 2, 9, 2, "T2", "T1", "T2", 1, {"T1": (), "T2": ()})]
    assert game.trader("T1").event_of(game.fills[0]) == sold
    assert game.trader("T1").turn(game.fills[0]) == -1
    assert [step.value for step in game.steps] == [None] * 4
    assert game.periods[0].shares == {"T1": 1, "T2": 5}
    paid = game.periods[0].dividend
    assert paid is not None
    assert game.periods[0].cash == {"T1": 518 + paid, "T2": 482 + 5 * paid}
