"""What a retail trace says about conduct, as records that stages and failure modes count.

Products are indices in store order, days count from 1; only closed days are in it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from tradefair.evaluation.modes.diagnosis import Case
from tradefair.retail.model import DayFacts, EndingFacts, RetailScenario, product_id

ActionKind = Literal["place_order", "modify_product_price"]


class ActionEvent(NamedTuple):
    """An executed order line or price change, and the evidence of the same day before it.

    `needs` and `missing` are names of categories; `stale` are those of the missing that had been looked at on an
    earlier day. `gap` is the number of calls since the last relevant look, None without one; `tools` are the relevant
    tools used.
    """

    seq: int
    day: int
    kind: ActionKind
    product: int
    needs: tuple[str, ...]
    missing: tuple[str, ...]
    stale: tuple[str, ...]
    gap: int | None
    tools: frozenset[str]


class PriceChoice(NamedTuple):
    """A price that was set, and p* at that moment, both in cents.

    `best` is None where no day of the window had a sale.
    """

    seq: int
    day: int
    product: int
    price: int
    best: int | None

    @property
    def distance(self) -> float | None:
        """100·|p − p*|/p*, in per cent; None without p*."""
        # In per cent of p*, so that cheap and dear products weigh the same.
        return None if self.best is None else 100 * abs(self.price - self.best) / self.best


class LineChoice(NamedTuple):
    """An executed order line and how it compares with its alternatives.

    Ranks count from 1; qualities in 1/1000 star. `best_visible` says whether it went to the best visible supplier,
    `ignored` whether its supplier's r̂ is above twice the lowest. Both are None with fewer than two known suppliers,
    `ignored` also when its own is not known: a buyer who never leaves a bad supplier would look better day by day.
    `cover` is in days of sales. `instead` is the least returned known supplier; None without one, or where the chosen
    supplier is not known.
    """

    seq: int
    day: int
    product: int
    supplier: int
    quantity: int
    quality_rank: int
    price_rank: int
    quality: int
    best_quality: int
    best_visible: bool | None
    ignored: bool | None
    cover: float | None
    instead: int | None


class Bought(NamedTuple):
    """An accepted order line as the facts tell of it: units, cost in cents, the day on whose morning it arrives.

    `shown` is the last day, not after the order's, on which the seat had seen this supplier's price; None: never.
    """

    seq: int
    day: int
    product: int
    supplier: int
    quantity: int
    cents: int
    due: int
    shown: int | None


class ShelfCall(NamedTuple):
    """An accepted choice of the assortment, products by index."""

    seq: int
    day: int
    products: frozenset[int]


class Unsold(NamedTuple):
    """A product that stood on the shelf for a day, with stock, and did not sell; prices in cents.

    `sold_at` is the highest price at which it sold in the 60 days before (never: the lowest quote times the category's
    median mark-up).
    """

    seq: int
    day: int
    product: int
    price: int
    sold_at: float


@dataclass
class DayConduct:
    """What the manager did on one day.

    `acted` holds the event of the first action on each product (by index). `calls` were made by the agent itself,
    `inner_calls` by its code. `attempts` counts order lines and price changes, executed or not.
    """

    acted: dict[int, int] = field(default_factory=dict[int, int])
    named: set[int] = field(default_factory=set[int])
    """Products named in queries."""
    active: bool = False
    """Whether an action other than closing the day was executed."""
    calls: int = 0
    inner_calls: int = 0
    notes: int = 0
    rejected_actions: int = 0
    invalid_actions: int = 0
    attempts: int = 0
    executed: int = 0
    blocked: list[int] = field(default_factory=list[int])
    """Events of attempts that were not executed."""
    ended_by: int | None = None
    """The call or lapse that closed the day."""

    @property
    def attended(self) -> set[int]:
        """Products that were named in a query or acted on."""
        return self.named | self.acted.keys()


class TradedDay(NamedTuple):
    """A closed day: its facts, the event that holds them, what was done, live news items read by then."""

    seq: int
    facts: DayFacts
    conduct: DayConduct
    news_read: frozenset[str]

    @property
    def ended(self) -> int:
        """The event by which the seat closed the day: what stands for something that it did not do."""
        # An imported log may hold no such call; then the closure itself is all there is to cite.
        return self.seq if self.conduct.ended_by is None else self.conduct.ended_by

    def case(self, what: str, about: str | None = None) -> Case:
        """A case of what was not done on this day; `what` follows its number."""
        because = f"day {self.facts.day}: {what}"
        return Case(self.ended, self.facts.day, because, shown_by=self.seq, about=about)


@dataclass
class RetailPlay:
    """A whole episode as the stages read it.

    `problem` says why the trace cannot be used at all, `unseen` why no analysis of visible records could be made
    (figures about them are then left out with this note).
    """

    seat: str
    scenario: RetailScenario | None = None
    problem: str | None = None
    unseen: str | None = None
    privileged: bool = False
    evidence_version: str | None = None
    categories: Sequence[str] = ()
    """Category of each product."""
    days: list[TradedDay] = field(default_factory=list[TradedDay])
    ending: EndingFacts | None = None
    events: list[ActionEvent] = field(default_factory=list[ActionEvent])
    prices: list[PriceChoice] = field(default_factory=list[PriceChoice])
    lines: list[LineChoice] = field(default_factory=list[LineChoice])
    bought: list[Bought] = field(default_factory=list[Bought])
    shelves: list[ShelfCall] = field(default_factory=list[ShelfCall])
    unsold: list[Unsold] = field(default_factory=list[Unsold])
    quickest: Sequence[int] = ()
    """By product, the days of the shortest delivery that any supplier offers."""
    worth: Sequence[float] = ()
    """By product, what it earned a day before day 1 at the lowest quotes, in cents."""

    @property
    def length(self) -> int:
        """T."""
        return len(self.days)

    def bought_of(self, place: int) -> Sequence[Bought]:
        """The order lines of a product, in the order of time; asked for after the whole trace was read."""
        return self._bought.get(place, ())

    @cached_property
    def _bought(self) -> Mapping[int, list[Bought]]:
        found: dict[int, list[Bought]] = {}
        for line in self.bought:
            found.setdefault(line.product, []).append(line)
        return found

    def acted_days(self) -> list[list[int]]:
        """Days with an action event, `[product][…]`, ascending; an empty list for a product that was left alone."""
        return self._days_of(lambda day: day.conduct.acted)

    def attended_days(self) -> list[list[int]]:
        """Days with attention (a query that names the product, or an action), `[product][…]`, ascending."""
        return self._days_of(lambda day: day.conduct.attended)

    def sold_days(self) -> list[list[int]]:
        """Days with a sale, by product."""
        return self._days_of(lambda day: (place for place, units in enumerate(day.facts.product.units) if units))

    def _days_of(self, products: Callable[[TradedDay], Iterable[int]]) -> list[list[int]]:
        """Day numbers by product, ascending, from the products that a function names for each day."""
        found: list[list[int]] = [[] for _ in self.categories]
        for number, day in enumerate(self.days, 1):
            for place in products(day):
                found[place].append(number)
        return found

    def action_pairs(self) -> Iterator[tuple[int, int, int]]:
        """(product, day, event) of every product-day with an action event.

        In the order of days; the event is that of the first action on the product.
        """
        for number, day in enumerate(self.days, 1):
            for place, seq in day.conduct.acted.items():
                yield place, number, seq


def within(days: Sequence[int], first: int, last: int) -> int | None:
    """The first of sorted `days` in first..last, None when there is none."""
    # bisect_right of the day before: the first of the days that is not earlier than `first`.
    place = bisect_right(days, first - 1)
    return days[place] if place < len(days) and days[place] <= last else None


def case_of_line(line: LineChoice | Bought, what: str) -> Case:
    """A case of an order line; `what` follows its day."""
    return Case(line.seq, line.day, f"day {line.day}: {what}", about=product_id(line.product))


def counted(number: int, name: str) -> str:
    """A number with its noun: 1 day, 3 days."""
    return f"{number} {name}{'s' * (number != 1)}"
