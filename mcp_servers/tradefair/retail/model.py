"""The retail scenario, the frozen store, chance streams, and the facts of a day and of an episode.

Money is in integer cents, supplier quotes in integer hundredths of a cent (`quote_e4`), true quality in integer
thousandths of a star (`quality_milli`): what is compared or hashed never is a float on which two machines disagree.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import date
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tradefair.contract import Amount, Limit, Scenario, ScenarioError
from tradefair.contract.chain import canonical
from tradefair.contract.money import to_minor
from tradefair.contract.policy import parse_policy

SEAT = "manager"
"""The only seat and its role."""

# Products are numbered in this order: another one would give other ids to the same products.
CATEGORY_NAMES = (
    "Bathroom_Tissues",
    "Beer",
    "Bottled_Juices",
    "Canned_Soup",
    "Canned_Tuna",
    "Cereals",
    "Cheeses",
    "Cigarettes",
    "Cookies",
    "Crackers",
    "Dish_Detergent",
    "Fabric_Softeners",
    "Front_end_candies",
    "Frozen_Entrees",
    "Frozen_Juices",
    "Oatmeal",
    "Paper_Towels",
    "Snack_Crackers",
    "Soft_Drinks",
    "Toothpastes",
)
"""Categories in the order of table 11.1."""

# Four products in these, five in the others: 96 in all, as many as in table 11.1.
_FOUR = frozenset({"Beer", "Cigarettes", "Oatmeal", "Toothpastes"})
# The first day of the Dominick's data; seasons are counted in weeks from there (6.2).
_FIRST_WEEK = date(1989, 9, 14)


class Streams(StrEnum):
    """Chance streams (section 7); those of history days carry the prefix `history.`."""

    STORE_CATEGORY = "store.category"
    STORE_PRODUCT = "store.product"
    STORE_SUPPLIER = "store.supplier"
    STORE_HISTORY = "store.history"
    TRAFFIC = "traffic"
    CATEGORY = "category"
    NOISE = "noise"
    ALLOCATION = "allocation"
    FEEDBACK = "feedback"
    REVIEW_TEXT = "review_text"
    QUOTE = "quote"
    QUALITY = "quality"
    DELIVERY = "delivery"
    NEWS = "news"
    NEWS_TEXT = "news_text"
    HISTORY_TRAFFIC = "history.traffic"
    HISTORY_CATEGORY = "history.category"
    HISTORY_NOISE = "history.noise"
    HISTORY_ALLOCATION = "history.allocation"
    HISTORY_FEEDBACK = "history.feedback"
    HISTORY_REVIEW_TEXT = "history.review_text"
    HISTORY_QUOTE = "history.quote"
    HISTORY_QUALITY = "history.quality"
    HISTORY_NEWS = "history.news"
    HISTORY_NEWS_TEXT = "history.news_text"


@cache
def product_id(index: int) -> str:
    """Id of a product by its place in the store: 0 -> P001."""
    return f"P{index + 1:03d}"


def supplier_id(index: int) -> str:
    """Id of a supplier: 0 -> supplier_1."""
    return f"supplier_{index + 1}"


def order_id(number: int) -> str:
    """Id of the n-th order of the episode: 1 -> O00001."""
    return f"O{number:05d}"


def news_id(first_index: int, slot: int) -> str:
    """Id of a news item by the day it was first listed (0 = first history day) and its slot: N1-0."""
    return f"N{first_index + 1}-{slot}"


# Of fitted stores: far beyond the largest that a scenario file holds.
_MAX_CATEGORIES = 1_000
_MAX_CENTS = 10**9
_MAX_SUPPLIERS = 100
_MAX_WEEKS = 10_000


# A price is checked against its bound at every change: the bound's text is read once.
_cents = lru_cache(maxsize=64)(to_minor)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class CategoryCount(_Part):
    """How many products of a category the store carries."""

    name: str = Field(pattern=r"^[A-Za-z][A-Za-z_]{1,39}$")
    products: int = Field(ge=1, le=100)


class StoreSupplier(_Part):
    """One supplier of one product: base cost (currency units), base true quality (1..5), transit days."""

    base_cost: float = Field(gt=0, le=1e6)
    base_quality: float = Field(ge=1, le=5)
    transit_min: int = Field(ge=1, le=30)
    transit_max: int = Field(ge=1, le=30)


class StoreCategory(_Part):
    """A category and its hidden review curve: `lift` X_c above the star threshold s_c (6.3)."""

    name: str
    lift: float
    threshold: float


class StoreProduct(_Part):
    """A product: what the catalogue shows, its hidden demand (6.2), its suppliers, and its weekly past.

    `alpha`, `beta`, `beta_sin`, `beta_cos` and `sigma` are those of 6.2 with prices in currency units.
    `weekly_price_cents` and `weekly_supplier` hold the list price and the supplier (by number) of each history week.
    """

    id: str
    category: int = Field(ge=0, le=_MAX_CATEGORIES)
    brand: str
    description: str
    size: str
    shelf_life_days: int = Field(ge=1, le=3_650)
    reference_price_cents: int = Field(ge=1, le=_MAX_CENTS)
    start_price_cents: int = Field(ge=1, le=_MAX_CENTS)
    alpha: float
    beta: float = Field(lt=0)
    beta_sin: float
    beta_cos: float
    sigma: float = Field(ge=0)
    suppliers: tuple[StoreSupplier, ...] = Field(max_length=_MAX_SUPPLIERS)
    weekly_price_cents: tuple[Annotated[int, Field(ge=0, le=_MAX_CENTS)], ...] = Field(max_length=_MAX_WEEKS)
    weekly_supplier: tuple[Annotated[int, Field(ge=0, le=_MAX_SUPPLIERS)], ...] = Field(max_length=_MAX_WEEKS)


class Store(_Part):
    """One frozen store and the plan of its past; equal digests mean equal stores."""

    key: str
    categories: tuple[StoreCategory, ...] = Field(max_length=_MAX_CATEGORIES)
    products: tuple[StoreProduct, ...] = Field(max_length=20_000)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the store's canonical JSON."""
        return hashlib.sha256(canonical(self.model_dump(mode="json"))).hexdigest()

    @property
    def suppliers(self) -> int:
        """Suppliers per product."""
        return len(self.products[0].suppliers)


def _all_categories() -> tuple[CategoryCount, ...]:
    return tuple(CategoryCount(name=name, products=4 if name in _FOUR else 5) for name in CATEGORY_NAMES)


_Pair = TypeVar("_Pair", tuple[int, int], tuple[float, float])


def _ascending(pair: _Pair) -> _Pair:
    if pair[0] > pair[1]:
        raise ValueError(f"{pair[0]} is above {pair[1]}; the lowest comes first")
    return pair


_Factor = Annotated[float, Field(ge=0.05, le=5)]
_Range = Annotated[tuple[_Factor, _Factor], AfterValidator(_ascending)]


def _later(default: Any, description: str) -> Any:
    """A key that older scenarios lack: left out at its default, so that they keep their bytes and digests."""
    return Field(default=default, exclude_if=lambda value: value == default, description=description)


class StoreRules(_Part):
    """Which store is played.

    A `dominicks` store was fitted by `examples/dominicks/fit.py` and is part of the scenario: replay needs no files.
    `digest` guards against a generator that has changed: any other store is refused.
    """

    source: Literal["synthetic", "dominicks"] = "synthetic"
    # A key of the scenario and not the episode's seed: all episodes of a preset share one store and one past.
    key: str = Field(default="retail-store", min_length=1, max_length=80, description="selects one synthetic store")
    digest: str = Field(default="", pattern=r"^([0-9a-f]{64})?$", description="refuses any other store; empty: any")
    categories: tuple[CategoryCount, ...] = Field(default_factory=_all_categories, min_length=1, max_length=20)
    # These numbers were calibrated: the oracle then earns, sells and runs out as the source's oracle did (11.3).
    volume_per_product: float = Field(default=36.0, ge=0.5, le=500, description="mean stand-alone units per day")
    sales_spread: float = Field(default=1.0, ge=0, le=5, description="exponent of the products' sales: inequality")
    cost_level: float = Field(default=0.56, ge=0.2, le=1.2, description="supplier cost / recorded acquisition cost")
    residual_sd: _Range = _later((0.3, 0.7), "σ of a product's daily demand, lowest and highest")
    start_price: _Range = _later((0.85, 1.15), "first list price / reference price, lowest and highest")
    life_scale: _Factor = _later(1.0, "multiple of the shelf lives")
    review_lift: _Range = _later((0.3, 0.8), "what stars above the threshold add to demand (6.3), lowest and highest")
    best_cost: _Range = _later((0.92, 1.14), "cost of a product's best supplier / base cost, lowest and highest")
    fitted: Store | None = Field(default=None, description="only with source = dominicks")


class TrafficRules(_Part):
    """Customers (6.1). `scale` 7 is the money level of the source; `closed_dates` are month-days without customers."""

    customers_per_day: float = Field(default=4000, ge=10, le=1e6)
    # The source's customer counts are seven times the truth; the paper's amounts rest on them (11.5, trap 9).
    scale: float = Field(default=7, ge=0.1, le=20)
    noise_sd: float = Field(default=0.08, ge=0, le=1)
    closed_dates: tuple[Annotated[str, Field(pattern=r"^(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$")], ...] = Field(
        default=("12-25",), max_length=1_000
    )


class DemandRules(_Part):
    """Choice within a category (6.5) and residual demand (6.2).

    `rho` is the exponent of the power mean of a category, `noise_divisor` what the fitted residual is divided by.
    """

    rho: float = Field(default=3.0, ge=1, le=20)
    # The published runs divide the fitted residual by 5; the paper's formula has none (12).
    noise_divisor: float = Field(default=5, ge=1, le=100)


class FeedbackRules(_Part):
    """Returns and reviews (6.3, 6.6): the share of units that is reviewed, and the window of the rating."""

    enabled: bool = True
    review_share: float = Field(default=0.05, ge=0, le=1)
    window_days: int = Field(default=60, ge=7, le=365)
    window_steps: int = Field(default=20, ge=1, le=50)


class SupplierRules(_Part):
    """Suppliers, and the AR(1) walks of log cost and of quality (6.7): φ and standard deviation of each."""

    count: int = Field(default=5, ge=2, le=9)
    transit_cap: int = Field(default=7, ge=1, le=30)
    cost_phi: float = Field(default=0.95, ge=0, le=0.999)
    cost_sd: float = Field(default=0.012, ge=0, le=0.5)
    quality_phi: float = Field(default=0.9, ge=0, le=0.999)
    quality_sd: float = Field(default=0.02, ge=0, le=0.5)


_Share = Annotated[float, Field(ge=0, le=1)]
_Weight = Annotated[float, Field(ge=0, le=5)]


class NewsRules(_Part):
    """News (6.4, 11.4). `ratios` and `weights` are for neutral, macro, category and product items, in this order.

    `daily_count` includes items that are still listed from earlier days. `need_share` is the share of items that move
    demand, `both_share` of those that move demand and supplier prices; the others move supplier prices. `cap` bounds
    the summed effect of all items on one product.
    """

    enabled: bool = True
    daily_count: int = Field(default=20, ge=1, le=100)
    ratios: tuple[_Share, _Share, _Share, _Share] = (0.90, 0.03, 0.02, 0.05)
    weights: tuple[_Weight, _Weight, _Weight, _Weight] = (0, 1, 1, 1.2)
    # The published runs' values; the paper says 0.4 and no cap (12).
    base_scale: float = Field(default=0.8, ge=0, le=2)
    cap: float = Field(default=0.5, ge=0, le=0.9)
    # `state` looks back so many days for items that are still listed: a wider bound needs a wider look there.
    extra_days: Annotated[
        tuple[Annotated[int, Field(ge=3, le=5)], Annotated[int, Field(ge=3, le=5)]], AfterValidator(_ascending)
    ] = (3, 5)
    # The source has all three sides, but not how often each occurs.
    need_share: float = Field(default=0.55, ge=0, le=1)
    both_share: float = Field(default=0.1, ge=0, le=1)
    strength: Annotated[tuple[_Share, _Share], AfterValidator(_ascending)] = (0.10, 0.45)


def _limits() -> tuple[Limit, ...]:
    # `inner` are the calls that a program makes: they have a limit of their own.
    return (Limit(counts=("read", "analysis", "action"), max=400), Limit(counts=("inner",), max=2000))


class RetailScenario(Scenario):
    """A configuration of the retail market; bounds and meaning: retail page, section 2."""

    limits: tuple[Limit, ...] = Field(default_factory=_limits, max_length=100)
    horizon_days: int = Field(default=180, ge=1, le=3_650)
    start_date: date = Field(default=date(1991, 9, 7), ge=_FIRST_WEEK, le=date(2100, 1, 1))
    history_days: int = Field(default=93, ge=14, le=365, description="simulated past before day 1")
    funds_start: Amount = "30000.00"
    rent_per_day: Amount = "600.00"
    storage_capacity: int = Field(default=15_000, ge=1, le=1_000_000, description="units on hand, all products")
    shelf_capacity: int = Field(default=40, ge=0, le=2_000, description="products on the shelf; 0 = no limit")
    # The source's agents end after 5 such closes, its oracle after 10; 5 for all is fair (12).
    insolvency_days: int = Field(default=5, ge=1, le=100, description="consecutive closes with negative funds")
    order_units_max: int = Field(default=10_000, ge=1, le=1_000_000)
    price_max: Amount = "999.99"
    store: StoreRules = StoreRules()
    traffic: TrafficRules = TrafficRules()
    demand: DemandRules = DemandRules()
    feedback: FeedbackRules = FeedbackRules()
    supplier: SupplierRules = SupplierRules()
    news: NewsRules = NewsRules()

    @model_validator(mode="after")
    def _coherent(self) -> RetailScenario:
        # All at once, so that a person who writes a scenario mends it in one go.
        complaints = [*self._wrong_amounts(), *self._wrong_store(), *self._wrong_news(), *self._wrong_seats()]
        # Without a manager's word no day is over, so no clock may close it.
        if self.clock != "turns":
            complaints.append(f"clock = {self.clock}: a day is closed by the manager; the clock must be 'turns'")
        if complaints:
            raise ValueError("; ".join(complaints))
        return self

    def _wrong_amounts(self) -> Iterator[str]:
        """Amounts outside their bounds. They are text, so no field bound can check them."""
        bounds = (
            ("funds_start", "0", "1000000000"),
            ("rent_per_day", "0", "1000000"),
            ("price_max", "0.01", "1000000"),
        )
        for name, low, high in bounds:
            # In cents: as text "9" would be above "10".
            if not to_minor(low) <= to_minor(getattr(self, name)) <= to_minor(high):
                yield f"{name} = {getattr(self, name)}: must lie in {low}..{high}"

    def _wrong_store(self) -> Iterator[str]:
        """What contradicts itself in `store`: names, source and the fitted store."""
        names = [row.name for row in self.store.categories]
        if len(set(names)) != len(names):
            yield "store.categories: a category is named twice"
        if self.store.source == "synthetic":
            if self.store.fitted is not None:
                yield "store.fitted: only allowed with store.source = dominicks"
            for name in sorted(set(names) - set(CATEGORY_NAMES)):
                yield f"store.categories: {name} is not one of {', '.join(CATEGORY_NAMES)}"
        elif self.store.fitted is None:
            yield "store.fitted: required with store.source = dominicks; examples/dominicks/fit.py makes it"
        else:
            yield from self._wrong_fit(self.store.fitted, names)

    def _wrong_fit(self, store: Store, names: list[str]) -> Iterator[str]:
        """What would make a fitted store unplayable: a past too short, or a supplier that does not exist."""
        if [category.name for category in store.categories] != names:
            yield "store.categories: must name the categories of store.fitted in their order"
        if not store.products:
            yield "store.fitted: no products"
        # A week that has begun needs a price and a supplier too.
        weeks = -(-self.history_days // 7)
        for product in store.products:
            known = product.category < len(store.categories)
            if len(product.suppliers) != self.supplier.count or not known:
                yield f"store.fitted: {product.id} does not have {self.supplier.count} suppliers and a known category"
            if min(len(product.weekly_price_cents), len(product.weekly_supplier)) < weeks:
                yield f"store.fitted: {product.id} has a past of fewer than {weeks} weeks"
            if any(not 0 <= index < len(product.suppliers) for index in product.weekly_supplier):
                yield f"store.fitted: {product.id} names a supplier that does not exist"

    def _wrong_news(self) -> Iterator[str]:
        # Decimal shares need not sum to exactly 1 in binary.
        if abs(sum(self.news.ratios) - 1) > 1e-9:
            yield f"news.ratios = {self.news.ratios}: must sum to 1"
        if self.news.need_share + self.news.both_share > 1:
            yield f"news.both_share = {self.news.both_share}: with need_share {self.news.need_share} it is above 1"

    def _wrong_seats(self) -> Iterator[str]:
        """Selectors that are no seat, and occupants that are no policy's name."""
        for selector, occupant in self.seats.items():
            if selector != SEAT:
                yield f"seats.{selector}: no such seat or role; the only seat is {SEAT}"
            try:
                parse_policy(occupant)
            except ScenarioError as error:
                yield f"seats.{selector}: {error}"

    @property
    def funds_start_cents(self) -> int:
        """Opening cash in cents."""
        return _cents(self.funds_start)

    @property
    def rent_per_day_cents(self) -> int:
        """The charge at every close, in cents."""
        return _cents(self.rent_per_day)

    @property
    def price_max_cents(self) -> int:
        """The highest list price, in cents."""
        return _cents(self.price_max)

    @property
    def shelf_places(self) -> int:
        """How many products fit on the shelf; all of them where `shelf_capacity` is 0."""
        products = self.product_count
        return products if self.shelf_capacity == 0 else min(self.shelf_capacity, products)

    @property
    def product_count(self) -> int:
        """Products of the store."""
        fitted = self.store.fitted
        return sum(row.products for row in self.store.categories) if fitted is None else len(fitted.products)

    @property
    def units_per_order(self) -> int:
        """The largest number of units of one order: never less than would fill an empty store."""
        # A whole store in one order must be possible, whatever `order_units_max` says.
        return max(self.storage_capacity, self.order_units_max)

    @property
    def first_date(self) -> date:
        """The first day of the visible past, day index 0."""
        return self.date_at(0)

    def date_at(self, index: int) -> date:
        """Date of a day index (0 = first history day, history_days = day 1)."""
        return date.fromordinal(self.start_date.toordinal() - self.history_days + index)


class ProductColumns(BaseModel):
    """The truth of a day by product, in store order.

    `opening_stock` is on hand in the morning; `on_hand`, `waiting` and `stock_cost_cents` are after the close. `demand`
    is drawn demand in units, `attraction` A_jt of 6.2 (0 off the shelf), the effects are those of 6.3 and 6.4.
    `below_cost_units` were sold for less than their unit cost.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    price_cents: list[int]
    on_shelf: list[int]
    opening_stock: list[int]
    demand: list[int]
    units: list[int]
    below_cost_units: list[int]
    returned: list[int]
    expired: list[int]
    revenue_cents: list[int]
    refunds_cents: list[int]
    cost_of_goods_cents: list[int]
    expiry_cost_cents: list[int]
    attraction: list[float]
    review_effect: list[float]
    news_effect: list[float]
    supply_effect: list[float]
    on_hand: list[int]
    waiting: list[int]
    stock_cost_cents: list[int]


class SupplierColumns(BaseModel):
    """The truth of a day by product and supplier: index product·suppliers + supplier.

    `quote_e4` in 1e-4 currency units, `quality_milli` in 1/1000 star, `units` and `returned` of the day.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    suppliers: int
    quote_e4: list[int]
    quality_milli: list[int]
    units: list[int]
    returned: list[int]


class OrderLineFacts(BaseModel):
    """An order line of the day, with the true quality that it bought (in 1/1000 star)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    order_id: str
    product_id: str
    supplier_id: str
    quantity: int
    cost_cents: int
    quality_milli: int
    due_day: int


class NewsFacts(BaseModel):
    """A live business item with its hidden fields.

    `sign` is 1 or −1, `strength` a share, `days_left` the listed days after this one.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    news_id: str
    mode: str
    category: str | None
    product_id: str | None
    side: str
    sign: int
    strength: float
    days_left: int


class DayFacts(BaseModel):
    """The hidden truth of a closed day (section 3). Money in cents.

    `short_units` is demand above opening stock. `empty_demand` and `net_lost_units` are expectations about shelf places
    without stock, as defined in section 9: no demand is drawn for what is not there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    day: int
    date: str
    customers: int
    funds_cents: int
    net_worth_cents: int
    stock_value_cents: int
    open_order_cents: int
    rent_cents: int
    negative_days: int
    waiting_units: int
    short_units: int
    empty_demand: float
    net_lost_units: float
    product: ProductColumns
    supplier: SupplierColumns
    stock_outs: list[str]
    empty_shelf: list[str]
    orders: list[OrderLineFacts]
    news: list[NewsFacts]


class EndingFacts(BaseModel):
    """The books at the end, in cents: gain = revenue − refunds − cost of goods − expired − rent − ageing allowance."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    days_closed: int
    funds_cents: int
    net_worth_cents: int
    stock_value_cents: int
    stock_cost_cents: int
    open_order_cents: int
    gain_cents: int
    revenue_cents: int
    refunds_cents: int
    cost_of_goods_cents: int
    expiry_cost_cents: int
    rent_cents: int
    ageing_allowance_cents: int
    on_hand: list[int]
    waiting: list[int]
    product_stock_cost_cents: list[int]
    product_stock_value_cents: list[int]
