"""The synthetic store of a scenario and its simulated past (retail page, 11.2, 11.3).

A store is a pure function of the scenario and its key: `store.*` streams give attributes, `history.*` streams the days
before day 1. Both are made once per scenario and process.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from tradefair.contract import Chance, ScenarioError
from tradefair.contract.money import divide_half_even, to_minor
from tradefair.retail.engine.day_records import Records
from tradefair.retail.engine.luck import Luck, normal
from tradefair.retail.engine.sales import DayBook, Shoppers
from tradefair.retail.engine.stock import Taken
from tradefair.retail.engine.world import NewsItem, World
from tradefair.retail.model import (
    CategoryCount,
    RetailScenario,
    Store,
    StoreCategory,
    StoreProduct,
    StoreSupplier,
    Streams,
    product_id,
)

_DECIMALS = 9
"""Decimals of a store's numbers: its digest must not depend on the last bits of a logarithm."""
# The upper end of the scale of stars.
_MAX_QUALITY = 5.0


class CategoryTable(NamedTuple):
    """One row of table 11.1 with its words.

    `price` in cents; `margin`, `promo_weeks` and `promo_depth` as shares; `volume` in units per day; `life` in days.
    Pairs are (lowest, highest).
    """

    name: str
    code: str
    price: tuple[int, int]
    margin: tuple[float, float]
    volume: tuple[float, float]
    elasticity: tuple[float, float]
    promo_weeks: float
    promo_depth: tuple[float, float]
    life: tuple[int, int]
    plural: str
    noun: str
    varieties: tuple[str, ...]
    sizes: tuple[str, ...]


class Sourcing(NamedTuple):
    """What the suppliers and the past of a product are made of.

    `entity` keys its luck; `base_cost` is the cost before the roles' multiples, in currency units; `weekly_price_cents`
    has one list price per history week.
    """

    entity: str
    base_cost: float
    weekly_price_cents: tuple[int, ...]


# Parsed once per process: every store and every text reads these tables.
@cache
def data_table(name: str) -> Mapping[str, Any]:
    """A bundled table, `scenarios/data/<name>.toml`, as parsed TOML."""
    table = files("tradefair.retail").joinpath("scenarios", "data", f"{name}.toml")
    return tomllib.loads(table.read_text(encoding="utf-8"))


@cache
def category_table() -> Mapping[str, CategoryTable]:
    """Table 11.1 by category name."""
    data = data_table("categories")
    return {row["name"]: _category_row(row, data["life"]) for row in data["category"]}


def _category_row(row: Mapping[str, Any], lives: Mapping[str, Sequence[int]]) -> CategoryTable:
    low, high = map(to_minor, row["price"])
    few, many = row["margin_percent"]
    return CategoryTable(
        name=row["name"],
        code=row["code"],
        price=(low, high),
        margin=(few / 100, many / 100),
        volume=tuple(row["units_per_day"]),
        elasticity=tuple(row["elasticity"]),
        promo_weeks=row["promo_weeks"],
        promo_depth=tuple(row["promo_depth"]),
        life=(lives[row["life"]][0], lives[row["life"]][1]),
        plural=row["plural"],
        noun=row["noun"],
        varieties=tuple(row["varieties"]),
        sizes=tuple(row["sizes"]),
    )


class _Draft(NamedTuple):
    """A product before volumes are scaled: price in cents, volume in units per day, margin as a share."""

    entity: str
    category: int
    row: CategoryTable
    number: int
    price: int
    volume: float
    margin: float
    elasticity: float


def build_store(scenario: RetailScenario) -> Store:
    """The scenario's store, fitted or synthetic.

    Raises ScenarioError when `store.digest` names another one: a preset promises results of one frozen store, and an
    override must not change it unnoticed.
    """
    rules = scenario.store
    store = rules.fitted if rules.fitted is not None else _synthetic(scenario)
    # An empty digest accepts any store: scenarios of users have none.
    if rules.digest and store.digest != rules.digest:
        raise ScenarioError(
            f"store.digest: the store of key {rules.key!r} has digest {store.digest}, not {rules.digest}; "
            "a scenario that changes the store must empty store.digest or name the new one"
        )
    return store


def _synthetic(scenario: RetailScenario) -> Store:
    """The store of the scenario's key, made without any file."""
    chance = Chance(scenario.store.key)
    drafts = [
        draft
        for place, count in enumerate(scenario.store.categories)
        for draft in _draft_category(chance, place, count)
    ]
    # Above 1, products with high sales (price · volume) carry more of the store; the low ones sell on some days only.
    spread = scenario.store.sales_spread - 1
    drafts = [draft._replace(volume=draft.volume * (draft.volume * draft.price) ** spread) for draft in drafts]
    # The mean volume is a calibrated number of the scenario, so the drawn volumes give the proportions only.
    scale = scenario.store.volume_per_product * len(drafts) / math.fsum(draft.volume for draft in drafts)
    return Store(
        key=scenario.store.key,
        categories=tuple(
            review_category(chance, count.name, scenario.store.review_lift) for count in scenario.store.categories
        ),
        products=tuple(_product(chance, scenario, place, draft, scale) for place, draft in enumerate(drafts)),
    )


def review_category(chance: Chance, name: str, lifts: tuple[float, float]) -> StoreCategory:
    """The hidden review curve of a category: its lift, between the two of `lifts`, and its star threshold."""
    lift = _between(chance.uniform(Streams.STORE_CATEGORY, name, "lift"), *lifts)
    thresholds = data_table("categories")["review_curve"]["thresholds"]
    place = int(chance.uniform(Streams.STORE_CATEGORY, name, "threshold") * len(thresholds))
    return StoreCategory(name=name, lift=round(lift, _DECIMALS), threshold=thresholds[place])


def _draft_category(chance: Chance, place: int, count: CategoryCount) -> list[_Draft]:
    """The products of a category, with prices at stratified quantiles of the log range (11.2).

    One price per stratum: cheap and expensive products occur in every category, whatever the luck.
    """
    row = category_table()[count.name]
    drafts: list[_Draft] = []
    for number in range(count.products):
        # Keyed by category and number: a scenario with fewer categories keeps the products of the others.
        entity = f"{count.name}/{number}"
        share = (number + chance.uniform(Streams.STORE_PRODUCT, entity, "price")) / count.products
        drafts.append(
            _Draft(
                entity,
                place,
                row,
                number,
                max(1, round(_log_between(share, *row.price))),
                _log_between(chance.uniform(Streams.STORE_PRODUCT, entity, "volume"), *row.volume),
                _between(chance.uniform(Streams.STORE_PRODUCT, entity, "margin"), *row.margin),
                _between(chance.uniform(Streams.STORE_PRODUCT, entity, "elasticity"), *row.elasticity),
            )
        )
    return drafts


def _product(chance: Chance, scenario: RetailScenario, place: int, draft: _Draft, scale: float) -> StoreProduct:
    """A product of the store: its draft with volume scaled, suppliers, past prices and words."""
    entity, row, rules = draft.entity, draft.row, scenario.store

    def draw(attribute: str) -> float:
        return chance.uniform(Streams.STORE_PRODUCT, entity, attribute)

    visitors = scenario.traffic.customers_per_day * scenario.traffic.scale
    price = draft.price / 100
    # A volume near the number of customers has no finite logit.
    volume = min(draft.volume * scale, 0.99 * visitors)
    # The elasticity of a logit share at the reference price is about β·p, as long as the share is small.
    beta = -draft.elasticity / price
    prices = _weekly_prices(chance, scenario, draft)
    # The recorded cost of acquisition times a calibrated level (11.3).
    base_cost = rules.cost_level * price * (1 - draft.margin)
    suppliers, weekly_supplier = source_products(chance, scenario, Sourcing(entity, base_cost, prices))
    brand, variety = _name(chance, draft)
    sine, cosine = normal(np.array([draw("beta_sin"), draw("beta_cos")])).tolist()
    return StoreProduct(
        id=product_id(place),
        category=draft.category,
        brand=brand,
        description=f"{variety} {row.noun}",
        size=row.sizes[int(draw("size") * len(row.sizes))],
        shelf_life_days=max(1, round(rules.life_scale * whole(draw("life"), *row.life))),
        reference_price_cents=draft.price,
        start_price_cents=_near(draft.price, draw("start_price"), rules.start_price),
        # So that at the reference price, without season and noise, the mean share gives the drawn volume (11.2).
        alpha=round(math.log(volume / (visitors - volume)) - beta * price, _DECIMALS),
        beta=round(beta, _DECIMALS),
        # Seasons change a slope by about 5 % (11.2).
        beta_sin=round(beta * 0.05 * sine, _DECIMALS),
        beta_cos=round(beta * 0.05 * cosine, _DECIMALS),
        sigma=round(_between(draw("sigma"), *rules.residual_sd), _DECIMALS),
        suppliers=suppliers,
        weekly_price_cents=prices,
        weekly_supplier=weekly_supplier,
    )


def _name(chance: Chance, draft: _Draft) -> tuple[str, str]:
    """Invented brand and variety; no two products of a category share both."""
    brands, varieties = data_table("categories")["brands"], draft.row.varieties
    first_brand = int(chance.uniform(Streams.STORE_CATEGORY, draft.row.name, "brand") * len(brands))
    first_variety = int(chance.uniform(Streams.STORE_CATEGORY, draft.row.name, "variety") * len(varieties))
    rounds, step = divmod(draft.number, len(varieties))
    return brands[(first_brand + rounds + 3 * step) % len(brands)], varieties[(first_variety + step) % len(varieties)]


def _weekly_prices(chance: Chance, scenario: RetailScenario, draft: _Draft) -> tuple[int, ...]:
    """The list price of each history week: around the reference price, or a promotion."""
    row = draft.row
    prices: list[int] = []
    for week in range(history_weeks(scenario)):
        draws = {
            name: chance.uniform(Streams.STORE_HISTORY, draft.entity, week, name)
            for name in ("price", "promo", "depth")
        }
        # All three draws are made by key, so a table with other promotions keeps the ordinary prices.
        if draws["promo"] < row.promo_weeks:
            prices.append(max(1, round(draft.price * (1 - _between(draws["depth"], *row.promo_depth)))))
        else:
            prices.append(_near(draft.price, draws["price"], data_table("suppliers")["history"]["price_range"]))
    return tuple(prices)


def history_weeks(scenario: RetailScenario) -> int:
    """Weeks that the past touches, counted from its first day; the last one may be cut."""
    # Rounded up without floats.
    return -(-scenario.history_days // 7)


def source_products(
    chance: Chance, scenario: RetailScenario, sourcing: Sourcing
) -> tuple[tuple[StoreSupplier, ...], tuple[int, ...]]:
    """Suppliers of a product (roles permuted over the ids, 11.2), and the supplier of each past week."""
    entity = sourcing.entity
    count = scenario.supplier.count
    data = data_table("suppliers")
    roles = _enforced(_roles(chance, entity, scenario, data["role"]), data["enforced"])
    # Permuted per product: no supplier id is good everywhere, so that evidence has to be gathered product by product.
    order = sorted(range(count), key=lambda role: chance.uniform(Streams.STORE_SUPPLIER, entity, "place", role))
    shortest, spread, cap = data["transit"]["shortest"], data["transit"]["spread"], scenario.supplier.transit_cap
    suppliers: list[StoreSupplier] = []
    for number, role in enumerate(order):
        # Delivery times are keyed by id, not by role: fast suppliers need not be good ones.
        least = min(cap, whole(chance.uniform(Streams.STORE_SUPPLIER, entity, "transit_min", number), *shortest))
        more = whole(chance.uniform(Streams.STORE_SUPPLIER, entity, "transit_spread", number), *spread)
        suppliers.append(
            StoreSupplier(
                base_cost=round(max(0.01, sourcing.base_cost * roles[role].cost), _DECIMALS),
                base_quality=round(roles[role].quality, _DECIMALS),
                transit_min=least,
                transit_max=min(cap, least + more),
            )
        )
    # The past bought from the three best suppliers, from the best one most often (11.2).
    ranked = sorted(range(count), key=lambda number: -suppliers[number].base_quality)
    shares = data["history"]["quality_ranks"]
    weekly = tuple(
        ranked[min(count - 1, _pick(chance.uniform(Streams.STORE_HISTORY, entity, week, "supplier"), shares))]
        for week in range(len(sourcing.weekly_price_cents))
    )
    return tuple(suppliers), weekly


class _Role(NamedTuple):
    quality: float
    cost: float


def _roles(chance: Chance, entity: str, scenario: RetailScenario, table: Sequence[Mapping[str, Any]]) -> list[_Role]:
    """Quality (stars) and cost multiple of each role, best first; other counts than five interpolate the table."""
    count = scenario.supplier.count
    qualities = [role["quality"] for role in table]
    costs = [scenario.store.best_cost, *(role["cost"] for role in table[1:])]
    drawn: list[_Role] = []
    for role in range(count):
        # The ends stay best and cheapest, however many suppliers there are.
        at = role * (len(table) - 1) / (count - 1)
        quality, cost = (
            _between(chance.uniform(Streams.STORE_SUPPLIER, entity, name, role), *_interpolated(pairs, at))
            for name, pairs in (("quality", qualities), ("cost", costs))
        )
        drawn.append(_Role(min(_MAX_QUALITY, quality), cost))
    return drawn


def _interpolated(pairs: Sequence[Sequence[float]], at: float) -> list[float]:
    """The pair at a place between two of `pairs`."""
    lower = min(int(at), len(pairs) - 2)
    share = at - lower
    return [(1 - share) * low + share * high for low, high in zip(pairs[lower], pairs[lower + 1], strict=True)]


def _enforced(roles: list[_Role], rules: Mapping[str, float]) -> list[_Role]:
    """Make the best role the best by a lead, and the cheapest the lowest in quality and cost.

    Without it, luck could make one supplier best and cheapest, and there would be nothing to find out.
    """
    best, cheapest = roles[0], roles[-1]
    # Rivals are cut first, so that the best one can lead without leaving the scale.
    rivals = [min(role.quality, _MAX_QUALITY - rules["best_lead"]) for role in roles[1:]]
    roles[1:] = [role._replace(quality=quality) for role, quality in zip(roles[1:], rivals, strict=True)]
    lead = max(rivals) + rules["best_lead"]
    roles[0] = best._replace(quality=min(_MAX_QUALITY, max(best.quality, lead)))
    others = roles[:-1]
    roles[-1] = _Role(
        min(cheapest.quality, min(role.quality for role in others)),
        min(cheapest.cost, rules["cheapest_cost"] * min(role.cost for role in others)),
    )
    return roles


@dataclass(frozen=True)
class Past:
    """A store and its history: the records, the world as it stands before day 1, all news so far.

    `world` and `records` are shared by all episodes of a scenario: copy them before they change.
    """

    store: Store
    records: Records
    world: World
    news: tuple[NewsItem, ...]


def past_of(scenario: RetailScenario) -> Past:
    """Store and past of a scenario, made once. Raises ScenarioError when `store.digest` does not fit."""
    # Only what the past depends on: presets that differ in rent or horizon share one.
    # As JSON, because the cache needs a key that can be hashed.
    asked = scenario.model_dump_json(
        include={"start_date", "history_days", "store", "traffic", "demand", "feedback", "supplier", "news"}
    )
    return _past(asked)


@lru_cache(maxsize=8)
def _past(asked: str) -> Past:
    # The id has no influence on the past, and the scenario needs one.
    scenario = RetailScenario.model_validate_json('{"id":"retail/past",' + asked[1:])
    store = build_store(scenario)
    # The days are traded in order: walks and listed news carry over from one to the next.
    history = _History(scenario, store)
    for index in range(scenario.history_days):
        history.trade(index)
    return Past(store, history.records, history.world, tuple(history.news))


class _History:
    """The simulated days: all products shelved, unlimited stock, ρ_rev 0, one supplier per product-week (11.2)."""

    def __init__(self, scenario: RetailScenario, store: Store) -> None:
        self._scenario = scenario
        self._store = store
        self._luck = Luck.of_history(store.key)
        self._shoppers = Shoppers(scenario, store)
        self.records = Records(len(store.products), store.suppliers)
        self.world = World(scenario, store)
        self.news: list[NewsItem] = []

    def trade(self, index: int) -> None:
        """One day: world, demand, sales, records."""
        # Days of the past are keyed from 1, as those of the episode; their streams have a prefix of their own.
        store, luck, day_key = self._store, self._luck, index + 1
        everything = range(len(store.products))
        day = self._scenario.first_date + timedelta(days=index)
        self.news += self.world.open_day(luck, day_key, index, history=True)
        prices = [product.weekly_price_cents[index // 7] for product in store.products]
        shoppers, effects = self._shoppers, self.world.need_effect
        wanted = shoppers.demand(
            luck,
            day_key,
            shoppers.count(luck, day_key, day),
            shoppers.attractions(luck, day_key, day, prices, everything, effects),
            [True] * len(store.products),
        )
        book = DayBook(self._scenario.feedback, luck, day_key, index, len(store.products), store.suppliers)
        for place, units in enumerate(wanted):
            # No stock limits the past: what is wanted is sold, from a lot that is bought on the same day.
            if units:
                book.sell(place, prices[place], [self._lot(place, index, units)], self.records.reviews)
        self.records.close_day(
            book.columns(
                price=prices,
                # All products are shelved in the past: the manager starts with records of each.
                in_stock=[1] * len(store.products),
                expired=[0] * len(store.products),
                sold_out=[0] * len(store.products),
                quotes=self.world.quotes,
                # In the past orders equal sales, so that tools can show both for it (11.2).
                ordered=book.pair_units,
            )
        )

    def _lot(self, place: int, index: int, units: int) -> Taken:
        """The day's units from the week's supplier, at that day's quote and true quality."""
        supplier = self._store.products[place].weekly_supplier[index // 7]
        pair = place * self._store.suppliers + supplier
        cost = divide_half_even(units * self.world.quotes[pair], 100)
        return Taken(supplier, units, cost, self.world.qualities[pair], units, cost)


def _between(u: float, low: float, high: float) -> float:
    return low + (high - low) * u


def _log_between(u: float, low: float, high: float) -> float:
    """Between two numbers, uniform in the logarithm."""
    return math.exp(_between(u, math.log(low), math.log(high)))


def whole(u: float, low: int, high: int) -> int:
    """A whole number of low..high, both included."""
    return low + int(u * (high - low + 1))


def _near(price: int, u: float, multiples: Sequence[float]) -> int:
    """A price between two multiples of a reference price, in cents."""
    return max(1, round(price * _between(u, *multiples)))


def _pick(u: float, shares: Sequence[float]) -> int:
    """The index of the share in which `u` falls."""
    total = 0.0
    for place, share in enumerate(shares):
        total += share
        if u < total:
            return place
    # Shares that sum to a little less than 1 leave a gap, which goes to the last one.
    return len(shares) - 1
