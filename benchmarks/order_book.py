"""How fast the order book is: messages to the book alone, orders by rules alone and with the durable trace, a sweep.

What zero intelligence earns on a schedule is a command of its own: `python -m benchmarks.zero_intelligence`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, cast

from benchmarks.figures import Figure, Stopwatch
from benchmarks.order_book_fast import play_fast
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Draw, ToolCall, Turns, TurnView
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.players import Seating
from tradefair.host.episode.setup import scripted_seats, seating_of
from tradefair.host.seats.plans import plan_seats
from tradefair.host.seats.scripted import Scripted
from tradefair.order_book.engine.book import Book, Side
from tradefair.order_book.model import OrderBookScenario
from tradefair.order_book.rules import OrderBook
from tradefair.tracestore import Written, write_trace

# Zero intelligence looks at its own value only: what is measured is the market.
_SIMPLE = "zi_c"


def measure(*, tiny: bool) -> list[Figure]:
    """The book by itself, then whole markets."""
    runs, messages, seeds, sweeps = (1, 500, 1, 2) if tiny else (7, 200_000, 10, 8)
    book = [messages / _book(messages, run) for run in range(runs)]
    rules = [_orders_by_rules("smith", seeds) for _ in range(runs)]
    random = [_orders_by_rules("zi", seeds) for _ in range(runs)]
    with TemporaryDirectory() as folder:
        durable = [_with_trace(Path(folder), seed, sweeps) for seed in range(runs)]
    thick = [_sweep_of_many(run, sweeps) for run in range(runs)]
    how = f"median of {runs} runs"
    return [
        Figure("book alone", median(book), "messages per CPU s", 400_000, "at least", f"{how} of {messages} messages"),
        Figure("orders by rules", median(rules), "per CPU s", 40_000, "at least", f"{how}, smith, all {_SIMPLE}"),
        Figure("orders by rules, random arrival", median(random), "per CPU s", how=f"{how}, zi, all {_SIMPLE}"),
        Figure(
            "orders with durable full trace",
            median(durable),
            "per CPU s",
            2_500,
            "at least",
            f"{how}, smith, one view_book before each order",
        ),
        Figure("a sweep of 120 seats", median(thick) * 1_000, "CPU ms", 10, how=f"{how}, thick, all {_SIMPLE}"),
    ]


def _book(messages: int, key: int) -> float:
    """Orders of 1 to 9 units at 80 to 120, every fourth message a cancel of one of the last fifty."""
    draw = Draw.of(key, "book")
    asked: list[tuple[Side, int, int] | int] = []
    for number in range(1, messages + 1):
        kind, price, quantity, side = draw.uniforms(number, n=4)
        if kind < 0.25:
            asked.append(max(1, number - int(50 * price)))
        else:
            asked.append(("buy" if side < 0.5 else "sell", 80 + int(41 * price), 1 + int(9 * quantity)))
    book = Book()
    watch = Stopwatch()
    for message in asked:
        if isinstance(message, int):
            book.cancel(message)
        else:
            book.submit("T1", *message)
    return watch.seconds()


def _scenario(preset: str, **changes: Any) -> OrderBookScenario:
    return cast(OrderBookScenario, load_scenario("order_book", preset, {"seats": {}, **changes}))


def _orders_by_rules(preset: str, seeds: int) -> float:
    """Orders per CPU second over whole episodes."""
    scenario = _scenario(preset)
    orders = 0
    watch = Stopwatch()
    for seed in range(seeds):
        orders += len(play_fast(scenario, seed, dict.fromkeys(scenario.roster, _SIMPLE)).state.shouts)
    return orders / watch.seconds()


def _sweep_of_many(seed: int, sweeps: int) -> float:
    """CPU seconds of one of the period's sweeps in a thick market."""
    scenario = _scenario("thick", periods=1, sweeps=sweeps)
    watch = Stopwatch()
    play_fast(scenario, seed, dict.fromkeys(scenario.roster, _SIMPLE))
    return watch.seconds() / sweeps


class _Looker:
    """Looks at the book once and bids within its value: the fewest calls of a seat that looks."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._values: list[int] = []
        self._buys = False
        self._top = self._period = 0

    def turn(self, now: TurnView) -> Turns:
        """view_my_account in the first step of a period, then view_book and submit_order."""
        if self._period != now.round:
            account = yield ToolCall("view_my_account")
            self._period, self._values = now.round, account.data["remaining"]
            self._buys, self._top = account.data["role"] == "buyer", account.data["price_max"]
        book = yield ToolCall("view_book")
        u = self._draw.uniform(book.data["period"], book.data["step"])
        value = self._values[-1]
        price = 1 + int(value * u) if self._buys else value + int((self._top - value) * u)
        yield ToolCall("submit_order", {"side": "buy" if self._buys else "sell", "price": price})


def _with_trace(folder: Path, seed: int, sweeps: int) -> float:
    """Orders per CPU second over the whole life of an episode: made, played, written, sealed."""
    kind: Any = market_type("order_book")
    scenario = _scenario("smith", sweeps=sweeps)
    seating = seating_of(kind, scenario, plan_seats(kind, scenario, agents=[], others=_SIMPLE))
    watch = Stopwatch()
    core = Core.create(kind, scenario, seed)
    lookers = {seat: _Looker(Draw.of(seed, seat)) for seat in scenario.roster}
    scripted = scripted_seats(kind, scenario, seating, seed, seated=lookers)
    about: dict[str, Any] = {"episode": f"{seed}", "created": "2026-01-01T00:00:00Z", "software": "benchmark"}
    write_trace(folder / f"{seed}.trace", core.manifest, about, _events(core, scripted, seating), compact=True)
    return len(cast(OrderBook, core.market).state.shouts) / watch.seconds()


def _events(core: Core, scripted: Scripted, seating: Seating) -> Iterator[Written]:
    """Every event as it happens."""
    records = core.start(seating).records
    while True:
        yield from (Written(record, None, 0) for record in records)
        if core.ended is not None:
            return
        records = scripted.run(core)
