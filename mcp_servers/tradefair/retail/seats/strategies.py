"""How scripted managers read the store and run it day by day: the skeleton S(k, news, B) and who fills it (section 8).

A manager sees tool answers only. Amounts come back from JSON as exact integers: cents, and 1e-4 units for quotes.
Generators yield calls and are sent the answers.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pydantic import JsonValue

from tradefair.contract import ToolAnswer, ToolCall, Turns, TurnView
from tradefair.retail import analysis
from tradefair.retail.analysis import PriceDays, PriceKey, RestockPlan
from tradefair.retail.data.texts import CueReader, ProductWords, TitleCue
from tradefair.retail.engine.world import news_effect
from tradefair.retail.model import NewsRules, supplier_id
from tradefair.retail.rules import HiddenTruth

_T = TypeVar("_T")

Reading: TypeAlias = Generator[ToolCall, ToolAnswer, _T]
"""Calls that end in something known."""

# Days of sales that a price is chosen by (8, step 1).
WINDOW_DAYS = 30
# The bound of one answer; a longer reading is cut into blocks.
_ROWS = 3_000
_MOST_SUPPLIERS = 9
"""The bound of `supplier.count`: blocks of this size fit into 3,000 rows in every scenario."""
# As many products as rank_suppliers_by_evidence takes in one call.
_RANKED_AT_ONCE = 20
_MODES = ("neutral", "macro", "category", "product")


class Refused(Exception):
    """A reading was refused, mostly by a call limit: the manager closes the day with what it has done."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


class Today(NamedTuple):
    """What the turn itself tells: day number, date, funds in cents, places on the shelf."""

    day: int
    date: date
    funds: int
    shelf_places: int

    @classmethod
    def of(cls, now: TurnView) -> Today:
        """From `view_turn`, without a call."""
        told: Any = now.market  # plain data of the market's own model
        return cls(told["day"], date.fromisoformat(told["date"]), _cents(told["funds"]), told["shelf_capacity"])

    def back(self, days: int) -> str:
        """The date so many days ago."""
        return (self.date - timedelta(days=days)).isoformat()


class Catalogue(NamedTuple):
    """The store's products in store order: ids, the category of each, and words where they were asked for."""

    ids: list[str]
    categories: list[str]
    words: list[ProductWords]


class Rules(NamedTuple):
    """What the rules tell: first day in the records, categories, highest price in cents, most units of an order."""

    first_visible: date
    categories: list[str]
    price_max: int
    order_units: int


class Holdings(NamedTuple):
    """Units by product id, and free places of the whole store."""

    on_hand: Mapping[str, int]
    waiting: Mapping[str, int]
    incoming: Mapping[str, int]
    free: int


def _cents(amount: float) -> int:
    return round(amount * 100)


def _e4(amount: float) -> int:
    return round(amount * 10_000)


def ask(tool: str, arguments: Mapping[str, JsonValue] | None = None) -> Reading[Any]:
    """Make one call that must succeed, and return its data. Raises Refused."""
    answer = yield ToolCall(tool, arguments or {})
    if answer.error is not None:
        raise Refused(answer.error.code)
    return answer.data


def _blocks(products: Sequence[str], size: int) -> Iterator[list[JsonValue]]:
    for start in range(0, len(products), size):
        yield [*products[start : start + size]]


# --- readings -------------------------------------------------------------------------------------------------------


def read_rules() -> Reading[Rules]:
    """The rules that a manager plans by."""
    told = (yield from ask("view_rules"))["rules"]
    first = date.fromisoformat(told["first_visible_day"])
    return Rules(first, told["categories"], _cents(told["price_max"]), told["order_units_max"])


def read_catalogue(rules: Rules, *, words: bool = False) -> Reading[Catalogue]:
    """All products: in one call where the store is small, else (or for their brands) with one call per category."""
    if not words:
        try:
            found = yield from ask("view_product_catalog")
        except Refused as refusal:
            if refusal.code != "too_many_rows":
                raise
        else:
            return Catalogue(found["product_id"], found["category"], [])
    return (yield from _read_categories(rules.categories))


def _read_categories(names: Sequence[str]) -> Reading[Catalogue]:
    """The whole catalogue with its words, category by category, in store order."""
    rows: list[ProductWords] = []
    for name in names:
        found = yield from ask("view_product_catalog", {"category": name})
        columns = (found[field] for field in ("product_id", "category", "brand", "description"))
        rows += [ProductWords(*row) for row in zip(*columns, strict=True)]
    # Store order: P999 before P1000.
    rows.sort(key=lambda row: (len(row.id), row.id))
    return Catalogue([row.id for row in rows], [row.category for row in rows], rows)


def read_days(products: Sequence[str], first: date, last: date) -> Reading[dict[str, PriceDays]]:
    """The closed days first..last by product, in as few calls as the row bound allows."""
    found: dict[str, PriceDays] = {}
    dates: dict[str, JsonValue] = {"start_date": first.isoformat(), "end_date": last.isoformat()}
    for block in _blocks(products, max(1, _ROWS // ((last - first).days + 1))):
        told = yield from ask("view_sales_profit_history", {"product_ids": block, **dates})
        for row in told["daily"]:
            prices = [round(price * 100) for price in row["price"]]
            found[row["product_id"]] = PriceDays(prices, row["units"], row["sold_out"], row["in_stock"])
    return found


def read_window(products: Sequence[str], today: Today) -> Reading[dict[str, PriceDays]]:
    """The last 30 closed days by product."""
    first, last = today.date - timedelta(days=WINDOW_DAYS), today.date - timedelta(days=1)
    return (yield from read_days(products, first, last))


def read_quotes(products: Sequence[str]) -> Reading[dict[str, list[int]]]:
    """Today's quotes in 1e-4 units by product, in the order of the suppliers."""
    found: dict[str, list[int]] = {}
    for block in _blocks(products, _ROWS // _MOST_SUPPLIERS):
        told = yield from ask("view_current_date_supplier_prices", {"product_ids": block})
        prices = [round(price * 10_000) for price in told["rows"]["price"]]
        count = len(prices) // len(block)
        for place, product in enumerate(block):
            found[str(product)] = prices[place * count : (place + 1) * count]
    return found


def read_holdings(products: Sequence[str]) -> Reading[Holdings]:
    """Stock and open orders of the products."""
    told = yield from ask("view_inventory", {"product_ids": [*products]})
    rows = told["products"]
    by_product = (
        dict(zip(rows["product_id"], rows[field], strict=True)) for field in ("on_hand", "waiting", "incoming")
    )
    return Holdings(*by_product, free=told["free"])


def read_scores(products: Sequence[str], rules: Rules, today: Today) -> Reading[list[int]]:
    """score_j of each product over the days before day 1, as `analysis.history_scores` counts it."""
    # The day before day 1: a manager that starts later must not count the days of the episode.
    last = today.date - timedelta(days=today.day)
    days = yield from read_days(products, rules.first_visible, last)
    scores: list[int] = []
    for product in products:
        quotes = yield from _cheapest_quotes(product, rules.first_visible, last)
        rows = zip(days[product].price, days[product].units, quotes, strict=True)
        scores.append(sum((100 * price - quote) * units for price, units, quote in rows if units))
    return scores


def _cheapest_quotes(product: str, first: date, last: date) -> Reading[list[int]]:
    """The lowest quote of each day first..last, in blocks of days that the row bound allows."""
    quotes: list[int] = []
    while first <= last:
        end = min(last, first + timedelta(days=_ROWS // _MOST_SUPPLIERS - 1))
        dates: dict[str, JsonValue] = {"start_date": first.isoformat(), "end_date": end.isoformat()}
        told = yield from ask("view_supplier_price_history", {"product_id": product, **dates})
        quotes += [_e4(min(prices)) for prices in zip(*told["price"].values(), strict=True)]
        first = end + timedelta(days=1)
    return quotes


# --- actions --------------------------------------------------------------------------------------------------------


def set_price(product: str, cents: int) -> Turns:
    """Set a list price in cents; a refusal other than by a call limit is accepted."""
    # A price above the scenario's bound is refused; the old price then stays, and the day goes on.
    answer = yield ToolCall("modify_product_price", {"product_id": product, "new_price": cents / 100})
    _stop_at_limit(answer)


def order(product: str, supplier: int, units: int) -> Reading[int | None]:
    """Place a one-line order; the funds left in cents, None when it was refused."""
    lines: JsonValue = [{"product_id": product, "quantity": units}]
    answer = yield ToolCall("place_order", {"supplier_id": supplier_id(supplier), "lines": lines})
    _stop_at_limit(answer)
    return None if answer.error is not None else _cents(answer.data["funds_after"])


def _stop_at_limit(answer: ToolAnswer) -> None:
    """Raises Refused when the day's calls are used up: nothing else can be done then."""
    if answer.error is not None and answer.error.code == "call_limit":
        raise Refused(answer.error.code)


# --- the skeleton ---------------------------------------------------------------------------------------------------


class Keeper:
    """S(k, news, B): on its first turn it selects products and fills the shelf; every day it prices and restocks.

    Subclasses say what else is read, which supplier is chosen (k), and what news does to demand (m).
    """

    cover = 6.0
    """B, days of demand to hold."""
    price_key: PriceKey = "cent"
    needs_words = False

    def __init__(self) -> None:
        self.catalogue = Catalogue([], [], [])
        self.selected: list[str] = []

    def turn(self, now: TurnView) -> Turns:
        """One day: the work, as far as calls are answered, then `end_today`."""
        today = Today.of(now)
        try:
            # Also after a first turn that was refused before it could select: the next day tries again.
            if not self.selected:
                yield from self.open(today)
            yield from self.run(today)
        except Refused:
            pass
        yield ToolCall("end_today")

    def open(self, today: Today) -> Turns:
        """Select the two best products per category by the past, and put them on the shelf for good."""
        rules = yield from read_rules()
        self.catalogue = catalogue = yield from read_catalogue(rules, words=self.needs_words)
        scores = yield from read_scores(catalogue.ids, rules, today)
        places = analysis.select_products(scores, catalogue.categories, today.shelf_places)
        self.selected = self.choose([catalogue.ids[place] for place in places])
        yield from ask("set_shelf_products", {"product_ids": [*self.selected]})

    def run(self, today: Today) -> Turns:
        """Read about the day's products, then price and restock each."""
        products = self.due(today)
        # A day on which no product is due costs no call at all.
        if not products:
            return
        holdings = yield from read_holdings(products)
        days = yield from read_window(products, today)
        quotes = yield from read_quotes(products)
        yield from self.read_more(products, today)
        funds = today.funds
        for product in products:
            funds = yield from self._tend(product, days[product], quotes[product], holdings, funds, today)

    def _tend(
        self, product: str, days: PriceDays, quotes: list[int], holdings: Holdings, funds: int, today: Today
    ) -> Reading[int]:
        """Steps 1 to 3 for one product; the funds left in cents."""
        supplier = self.supplier(product, quotes)
        # Free places are read once a day: orders of the same morning do not take them, deliveries do.
        plan = RestockPlan(
            holdings.on_hand[product],
            holdings.waiting[product],
            holdings.incoming[product],
            holdings.free,
            funds,
            quotes[supplier],
        )
        decision = analysis.decide(
            days, plan, multiplier=self.multiplier(product), cover=self.cover, key=self.price_key
        )
        price = self.price(product, decision.price, quotes, today)
        # Set every day, even unchanged (8, step 2).
        if price is not None:
            yield from set_price(product, price)
        if decision.units:
            left = yield from order(product, supplier, decision.units)
            funds = funds if left is None else left
        return funds

    def choose(self, ranked: list[str]) -> list[str]:
        """The products to carry, of those that the past recommends."""
        return ranked

    def due(self, today: Today) -> list[str]:
        """The products to look after today."""
        return self.selected

    def read_more(self, products: Sequence[str], today: Today) -> Turns:
        """Whatever else the choice of supplier and m rest on."""
        yield from ()

    def supplier(self, product: str, quotes: Sequence[int]) -> int:
        """k: the number of the supplier to order from."""
        raise NotImplementedError

    def multiplier(self, product: str) -> float:
        """m: what news does to the demand of a product; 1 by default."""
        return 1.0

    def price(self, product: str, best: int | None, quotes: Sequence[int], today: Today) -> int | None:
        """The list price to set in cents; None sets none."""
        return best


class PriceFirst(Keeper):
    """Control: always the cheapest quote; reads neither quality nor news."""

    def supplier(self, product: str, quotes: Sequence[int]) -> int:
        """The cheapest."""
        return analysis.cheapest(quotes)


@dataclass
class Oracle(Keeper):
    """Knows true quality and news effects, but not tomorrow: strong, not optimal.

    `price_key` unit_sum repeats the published oracle's grouping of prices.
    """

    price_key: PriceKey = "cent"

    def __post_init__(self) -> None:
        super().__init__()
        self._truth: HiddenTruth | None = None

    def see(self, truth: object) -> None:
        """Take in today's hidden truth."""
        assert isinstance(truth, HiddenTruth)
        self._truth = truth

    def supplier(self, product: str, quotes: Sequence[int]) -> int:
        """The highest true quality today."""
        assert self._truth is not None
        start = _place(product) * len(quotes)
        return analysis.true_best_supplier(self._truth.qualities[start : start + len(quotes)], quotes)

    def multiplier(self, product: str) -> float:
        """m from true effects."""
        assert self._truth is not None
        place = _place(product)
        return analysis.demand_multiplier(self._truth.need_effect[place], self._truth.supply_effect[place])


def _place(product: str) -> int:
    """Index of a product: store order is the order of the numbers in the ids."""
    return int(product[1:]) - 1


class _Ranked(NamedTuple):
    """First supplier by returns, and how many of its units were sold in the window."""

    supplier: int
    sold: int


class _Told(NamedTuple):
    """A news item as far as its words tell: weight·sign·strength acts on what the cue names."""

    cue: TitleCue
    term: float


class CarefulReader(Keeper):
    """The fair upper baseline: suppliers by their returns, news by its words, blind to true quality."""

    needs_words = True
    reads_news = True

    def __init__(self) -> None:
        super().__init__()
        self._cues: CueReader | None = None
        self._ranked: dict[str, _Ranked] = {}
        self._told: dict[str, _Told | None] = {}
        self._live: list[_Told] = []
        # The weights of the default scenario: no tool shows those of the open one.
        self._rules = NewsRules()

    def read_more(self, products: Sequence[str], today: Today) -> Turns:
        """Prices, costs and returns of the products, and the news."""
        yield from ask("view_product_prices", {"product_ids": [*products]})
        yield from ask("view_product_inventory_cost", {"product_ids": [*products]})
        for block in _blocks(products, _RANKED_AT_ONCE):
            told = yield from ask("rank_suppliers_by_evidence", {"product_ids": block})
            self._ranked |= {row["product_id"]: _first_ranked(row) for row in told["products"]}
        if self.reads_news:
            yield from self._read_news()

    def _read_news(self) -> Turns:
        """Read today's titles, and the content of those with a business cue that it has not read yet."""
        try:
            told = yield from ask("view_today_news")
        except Refused as refusal:
            # A scenario without news has no such tool; asking once is enough.
            if refusal.code != "tool_unavailable":
                raise
            self.reads_news = False
            return
        # The reader needs the whole catalogue, which the first turn has read; it is made once.
        if self._cues is None:
            self._cues = CueReader(self.catalogue.words)
        live: dict[str, _Told | None] = {}
        for news, title in zip(told["news_id"], told["title"], strict=True):
            if news not in self._told:
                self._told[news] = yield from self._read_item(self._cues, news, title)
            live[news] = self._told[news]
        # Only what is still listed: over a thousand days old items would add up.
        self._told = live
        self._live = [item for item in live.values() if item is not None]

    def _read_item(self, cues: CueReader, news: str, title: str) -> Reading[_Told | None]:
        """What an item tells; None where title or content has no cue."""
        cue = cues.title(title)
        # A title without a cue names no business: reading it would only cost a call.
        if cue is None:
            return None
        detail = yield from ask("view_news_detail", {"news_id": news})
        content = cues.content(detail["content"])
        if content is None:
            return None
        weight = self._rules.weights[_MODES.index(cue.mode)]
        return _Told(cue, weight * cue.sign * content.strength)

    def supplier(self, product: str, quotes: Sequence[int]) -> int:
        """The first by returns where there is evidence, else the second most expensive."""
        ranked = self._ranked[product]
        if ranked.sold >= analysis.EVIDENCE_UNITS:
            return ranked.supplier
        return sorted(range(len(quotes)), key=lambda number: (-quotes[number], number))[1]

    def multiplier(self, product: str) -> float:
        """m from the words of the live news (6.4); None in `names` stands for news about the whole store."""
        category = self.catalogue.categories[self.catalogue.ids.index(product)]
        names = (None, category, product)
        told = [item for item in self._live if item.cue.target in names]
        effects = (
            news_effect(self._rules, [item.term for item in told if item.cue.side in (side, "both")])
            for side in ("need", "supply")
        )
        return analysis.demand_multiplier(*effects)


def _first_ranked(row: Mapping[str, Any]) -> _Ranked:
    place: int = row["supplier_id"].index(row["rank_by_returns"][0])
    return _Ranked(place, row["sold"][place])
