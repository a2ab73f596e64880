"""One pass over a retail trace: calls and facts become a `RetailPlay`, choices judged by what could be seen.

Actions come before the facts of their day, so they are kept until the day closes. A trace may hold anything: events
that contradict the market are reported and left out, never raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any, NamedTuple

from tradefair.catalog import market_type
from tradefair.contract import MarketType, Need, TradefairError
from tradefair.contract.kernel.kernel_tools import EXECUTE_CODE
from tradefair.contract.money import to_minor
from tradefair.evaluation.markets.retail.modes.choices import judge_line
from tradefair.evaluation.markets.retail.modes.play import (
    ActionEvent,
    ActionKind,
    Bought,
    DayConduct,
    PriceChoice,
    RetailPlay,
    ShelfCall,
    TradedDay,
    Unsold,
)
from tradefair.evaluation.markets.retail.modes.visible import Visible
from tradefair.evaluation.modes.calls import named_at, named_objects
from tradefair.evaluation.modes.evidence import EvidenceIndex, Moment, need_names, needs_of
from tradefair.evaluation.read.rounds import Did, did_of, scenario_of
from tradefair.evaluation.reading import Facts, TraceReading, Watcher, once_per_trace, read_trace
from tradefair.retail.answers.evidence import EVIDENCE_VERSION, RECENCY_DAYS, EvidenceScene
from tradefair.retail.model import SEAT, DayFacts, EndingFacts, RetailScenario, product_id, supplier_id
from tradefair.tracestore import Trace

# The kind of object: tools name it as `product_id` and `product_ids`.
_OBJECT = "product"


class RetailReading(NamedTuple):
    """The market-free reading and what is special to retail, from the same pass."""

    reading: TraceReading
    play: RetailPlay


@once_per_trace
def read_retail(trace: Trace) -> RetailReading:
    """Read an opened trace; the result is kept, because stages, charts and outcomes all ask for it."""
    watcher = _Watcher()
    return RetailReading(read_trace(trace, watcher.begin), watcher.play)


class _Line(NamedTuple):
    """An executed order line, kept until the day's facts are there."""

    seq: int
    product: int
    supplier: int
    quantity: int
    shown: int | None


class _Watcher:
    """Takes events as they come; a day's choices are judged when its facts arrive."""

    def __init__(self) -> None:
        self._reading = TraceReading()
        self.play = RetailPlay(SEAT, problem="the manifest cannot be read")
        self._places: dict[str, int] = {}
        self._numbers: dict[str, int] = {}
        self._visible: Visible | None = None
        self._index: EvidenceIndex | None = None
        self._needs: dict[str, tuple[Need, ...]] = {}
        # By action: the names of its needs, and all their categories.
        self._names: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}
        self._kind: MarketType | None = None
        self._shelf: Sequence[str] = ()
        self._calls = 0
        self._news_read: set[str] = set()
        # The last day on which a price was shown, by product and supplier; None stands for all of them.
        self._shown: dict[tuple[str | None, str | None], int] = {}
        self._open_day()

    def begin(self, reading: TraceReading) -> Watcher:
        """Rebuild scenario, tools and visible past from the manifest; what cannot be rebuilt is reported."""
        self._reading = reading
        play, core = self.play, reading.core
        play.scenario, play.problem = scenario_of(reading, RetailScenario)
        scenario = play.scenario
        if scenario is None or core is None:
            return self
        try:
            self._kind = market_type("retail")
        except TradefairError as error:
            self._give_up(str(error))
            return self
        play.categories = _categories(scenario)
        play.privileged = SEAT in reading.seating.privileged
        play.evidence_version = EVIDENCE_VERSION
        self._index = EvidenceIndex(self._kind.tools, _OBJECT)
        self._needs = needs_of(self._kind.evidence_map, scenario, self._kind.tools, SEAT)
        self._names = {
            action: (need_names(needs), frozenset(category for need in needs for category in need.any_of))
            for action, needs in self._needs.items()
        }
        self._places = {product_id(place): place for place in range(len(play.categories))}
        self._numbers = {supplier_id(number): number for number in range(scenario.supplier.count)}
        try:
            self._visible = visible = Visible.of(scenario, core.seed)
            play.quickest = [min(offer.transit_min for offer in item.suppliers) for item in visible.store.products]
            play.worth = visible.worth()
        except TradefairError as error:
            # Not the end: figures that need no records (calls, follow-up) can still be counted.
            play.unseen = f"the store of this scenario cannot be rebuilt: {error}"
            reading.found(None, play.unseen)
        return self

    def _give_up(self, problem: str) -> None:
        """Stop reading for good: later days cannot be understood without this one."""
        self.play.problem = problem
        self._reading.found(None, problem)

    def __call__(self, seq: int, event: dict[str, Any]) -> None:
        """Take in one event; one that contradicts the market is a finding."""
        # After a day that does not fit, everything that follows would be counted for the wrong day.
        if self.play.problem is not None:
            return
        try:
            match event["event"]:
                case "tool_called":
                    self._take_call(did_of(seq, event))
                case "seat_lapsed":
                    self._day.ended_by = seq
                case "round_closed":
                    self._take_day(self._reading.rounds[-1])
                case "episode_ended" if self._reading.ending is not None:
                    self.play.ending = self._reading.typed(self._reading.ending, EndingFacts)
                case _:
                    pass
        # Whatever an edited trace can hold; a defect of this code would show in the tests on sound traces.
        except (ArithmeticError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            self._reading.found(seq, f"the event does not fit this market: {error!r}"[:300])

    # --- calls --------------------------------------------------------------------------------------------------

    def _open_day(self) -> None:
        """Begin a day with nothing done; its facts arrive when it closes."""
        self._day = DayConduct()
        self._actions: list[ActionEvent] = []
        self._lines: list[_Line] = []
        self._prices: list[tuple[int, int, int]] = []
        self._all_news = False

    def _take_call(self, call: Did) -> None:
        """Count a call and hand actions and looks on."""
        day = self._day
        # All calls count, those of programs and refused ones too: gaps are distances in calls
        # (docs/explanation/why/retail.md).
        self._calls += 1
        day.calls += not call.inner
        day.inner_calls += call.inner
        day.notes += call.kind == "note"
        if call.kind == "action":
            self._take_action(call)
        # Reads inside a program are calls of their own; `execute_code` itself looks at nothing.
        elif call.accepted and call.kind in ("read", "analysis") and call.tool != EXECUTE_CODE:
            self._take_query(call)

    def _take_query(self, call: Did) -> None:
        """Note the products that a successful read or analysis named, and the evidence that it gave."""
        named = named_objects(call.arguments, _OBJECT)
        self._day.named.update(self._places[product] for product in named if product in self._places)
        if self._index is None:
            return
        scene = EvidenceScene(self._shelf, self._visible.ordered_from if self._visible else {})
        look = self._index.look(call, self._calls, scene, self._stale(call))
        if look is None:
            return
        if "news" in look.categories:
            self._take_news(call)
        if "supplier_price" in look.categories:
            only = call.arguments.get("supplier_id")
            for about in (None,) if look.objects is None else look.objects:
                self._shown[about, only if isinstance(only, str) else None] = call.round

    def _stale(self, call: Did) -> list[str]:
        """Categories that a range which ended long ago does not give: sales of last year support no price of today."""
        # Only a range with an end of its own can be old.
        end, scenario = call.arguments.get("end_date"), self.play.scenario
        if not isinstance(end, str) or scenario is None:
            return []
        today = scenario.date_at(scenario.history_days + call.round - 1)
        age = (today - date.fromisoformat(end)).days
        return [category for category, most in RECENCY_DAYS.items() if age > most]

    def _take_news(self, call: Did) -> None:
        """Items whose title or content was shown: the one named, those that the result refers to, else all live."""
        # A ref may carry a field after a dot; the item's id is what stands before it.
        shown = [*named_at(call.arguments, "news_id"), *(ref.partition(".")[0] for ref in call.refs or ())]
        self._news_read.update(shown)
        # A look at today's list whose items were not recorded: it showed all live ones.
        if call.refs is None and not call.arguments:
            self._all_news = True

    def _take_action(self, call: Did) -> None:
        """Take in an action: counts of refusals, and for accepted ones what was changed."""
        day = self._day
        day.rejected_actions += call.status == "rejected"
        day.invalid_actions += call.status == "invalid"
        # Before the status is looked at: an attempt counts whether it was executed or not.
        if call.tool in ("place_order", "modify_product_price"):
            self._take_attempt(call)
        if not call.accepted:
            return
        if self._ends_day(call.tool or ""):
            day.ended_by = call.seq
        else:
            day.active = True
        if call.tool == "set_shelf_products":
            # The shelf decides what a look at "the shelf" was about, until it is changed again.
            self._shelf = [*named_objects(call.arguments, _OBJECT)]
            chosen = frozenset(self._places[product] for product in self._shelf)
            self.play.shelves.append(ShelfCall(call.seq, call.round, chosen))
        elif call.tool == "place_order":
            self._take_order(call)
        elif call.tool == "modify_product_price":
            place = self._places[call.arguments["product_id"]]
            # Kept until the facts of the day are there: p* needs the quotes of the same day.
            self._prices.append((call.seq, place, to_minor(call.arguments["new_price"])))
            self._act(call, "modify_product_price", place)

    def _ends_day(self, name: str) -> bool:
        """Whether a tool ends the day: closing it is no activity."""
        tool = self._kind.tools.get(name) if self._kind is not None else None
        return tool is not None and tool.ends_turn

    def _take_attempt(self, call: Did) -> None:
        """Count an attempt: every line of an order counts, because every line is a decision of its own."""
        lines = call.arguments.get("lines")
        count = max(1, len(lines)) if call.tool == "place_order" and isinstance(lines, list) else 1  # pyright: ignore[reportUnknownArgumentType]
        # It reached the rules or failed on its arguments; limits and faults of ours do not count.
        if call.status in ("ok", "rejected", "invalid"):
            self._day.attempts += count
            self._day.executed += count if call.accepted else 0
            if not call.accepted:
                self._day.blocked.append(call.seq)

    def _take_order(self, call: Did) -> None:
        """Keep the lines of an accepted order until the day's facts arrive, and note an event for each of them."""
        supplier = self._numbers[call.arguments["supplier_id"]]
        for line in call.arguments["lines"]:
            place = self._places[line["product_id"]]
            names = line["product_id"], call.arguments["supplier_id"]
            seen = (self._shown.get(key) for key in ((names[0], None), names, (None, None), (None, names[1])))
            shown = max((day for day in seen if day is not None), default=None)
            self._lines.append(_Line(call.seq, place, supplier, line["quantity"], shown))
            # The receipt shows the price that was paid.
            self._shown[names] = call.round
            self._act(call, "place_order", place)

    def _act(self, call: Did, kind: ActionKind, place: int) -> None:
        """Note an action event with the evidence that there was for it."""
        self._day.acted.setdefault(place, call.seq)
        if self._index is None:
            return
        needs = self._needs.get(kind, ())
        names, categories = self._names.get(kind, ((), frozenset[str]()))
        # The evidence index knows products by id, as calls name them; everything else here uses indices.
        product, now = product_id(place), Moment(call.round, call.revision)
        # Stale is told apart from never looked: such a manager knows the tool and came too late.
        case = self._index.case(call.seq, needs, product, now)
        looks = self._index.of_round(product, now, categories)
        self._actions.append(
            ActionEvent(
                seq=call.seq,
                day=self.play.length + 1,
                kind=kind,
                product=place,
                needs=names,
                missing=case.missing,
                stale=case.stale,
                # The call itself has been counted already, hence − 1.
                gap=self._calls - looks[-1].place - 1 if looks else None,
                tools=frozenset(look.tool for look in looks),
            )
        )

    # --- facts --------------------------------------------------------------------------------------------------

    def _take_day(self, closed: Facts) -> None:
        """Take the facts of a closed day, judge the choices of that day, and file it."""
        facts = self._reading.typed(closed, DayFacts)
        # What the day says is kept once, typed: a long episode would not fit twice.
        self._reading.rounds[-1] = Facts(closed.seq, None)
        play = self.play
        if facts is None or not self._fits(facts):
            self._give_up(
                f"event {closed.seq}: the facts are not those of day {play.length + 1}; days after are left out"
            )
            return
        self._keep_bought(facts)
        if self._visible is not None:
            self._judge(facts, self._visible)
            # After the day was judged: its own sales were not yet to be seen when its choices were made.
            self._visible.close(facts)
        # The recorded look named no items, so the facts say which were live.
        if self._all_news:
            self._news_read.update(item.news_id for item in facts.news)
        read = frozenset(item.news_id for item in facts.news if item.news_id in self._news_read)
        play.events += self._actions
        play.days.append(TradedDay(closed.seq, facts, self._day, read))
        self._open_day()

    def _fits(self, facts: DayFacts) -> bool:
        """Whether these are the facts of the next day of this store."""
        products = len(self.play.categories)
        pairs = facts.supplier
        # Every column must be as wide as the store before any is read by index.
        widths = {len(column) for _, column in facts.product}
        pair_columns = (pairs.quote_e4, pairs.quality_milli, pairs.units, pairs.returned)
        return (
            facts.day == self.play.length + 1
            and widths == {products}
            and pairs.suppliers == len(self._numbers)
            and all(len(column) == products * pairs.suppliers for column in pair_columns)
        )

    def _judge(self, facts: DayFacts, visible: Visible) -> None:
        """Judge the day's prices and order lines; they must be the lines that the facts tell of."""
        visible.see(facts)
        for seq, place, cents in self._prices:
            self.play.prices.append(PriceChoice(seq, facts.day, place, cents, visible.best_price(place)))
        told = [(line.product_id, line.supplier_id, line.quantity) for line in facts.orders]
        done = [(product_id(line.product), supplier_id(line.supplier), line.quantity) for line in self._lines]
        if told != done:
            # The day is judged all the same: the finding says that the trace contradicts itself.
            self._reading.found(None, f"day {facts.day}: the facts tell of other order lines than the calls")
        for line in self._lines:
            choice = judge_line(visible, facts, line.seq, line.product, line.supplier, line.quantity)
            self.play.lines.append(choice)
        self._find_unsold(facts, visible)

    def _keep_bought(self, facts: DayFacts) -> None:
        """What was ordered, with cost and day of arrival, where facts and calls tell of the same lines."""
        for line, told in zip(self._lines, facts.orders, strict=False):
            if (product_id(line.product), line.quantity) == (told.product_id, told.quantity):
                paid = told.cost_cents, told.due_day
                rest = line.product, line.supplier, line.quantity, *paid, line.shown
                self.play.bought.append(Bought(line.seq, facts.day, *rest))

    def _find_unsold(self, facts: DayFacts, visible: Visible) -> None:
        """Products that lay on the shelf all day and that no customer bought."""
        product, categories = facts.product, self.play.categories
        for place, units in enumerate(product.units):
            if not units and product.on_shelf[place] and product.opening_stock[place]:
                siblings = [item for item, category in enumerate(categories) if category == categories[place]]
                price, sold_at = product.price_cents[place], visible.sold_price(facts, place, siblings)
                self.play.unsold.append(Unsold(self._reading.rounds[-1].seq, facts.day, place, price, sold_at))


def _categories(scenario: RetailScenario) -> list[str]:
    """The category of each product, in store order."""
    names = [row.name for row in scenario.store.categories]
    fitted = scenario.store.fitted
    if fitted is not None:
        # A fitted store lists products one by one, a generated one counts them by category.
        return [names[product.category] for product in fitted.products]
    return [row.name for row in scenario.store.categories for _ in range(row.products)]
