"""What reaches the store from outside: supplier walks, quotes and news (retail page, 6.4, 6.7, 6.9), day by day.

History and episode run the same steps; only their luck differs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from tradefair.contract import Chance
from tradefair.contract.chance import encode_key
from tradefair.retail.engine.demand import normal
from tradefair.retail.model import NewsRules, RetailScenario, Store, Streams, news_id

NewsMode = Literal["neutral", "macro", "category", "product"]
NewsSide = Literal["need", "supply"]

# In the order of `news.ratios` and `news.weights`.
_MODES: tuple[NewsMode, ...] = ("neutral", "macro", "category", "product")
_FLOOR_QUOTE_E4 = 100
"""The lowest quote, 0.01 currency units: news may lower a cost, but never to nothing."""
DEGREES = 3
"""Degrees of strength that a news item's content can tell (11.4): equal thirds of the range."""


class Luck:
    """The chance of one era: the episode's seed, or the store's key with every stream under `history.`.

    All episodes of a store share one past, so the history cannot depend on the episode's seed.
    """

    def __init__(self, chance: Chance, *, history: bool) -> None:
        self._chance = chance
        self._prefix = "history." if history else ""

    @classmethod
    def of_history(cls, store_key: str) -> Luck:
        """The luck of the days before day 1."""
        return cls(Chance(store_key), history=True)

    @classmethod
    def of_episode(cls, seed: int) -> Luck:
        """The luck from day 1 on."""
        return cls(Chance(seed), history=False)

    def stream(self, stream: Streams, *key: int | str) -> Callable[..., float]:
        """The uniforms of one stream under the first key parts, as `draw(*rest)`; cheaper when one day draws many."""
        return self._chance.under(self._prefix + stream.value, *key).uniform

    def each(self, stream: Streams, day_key: int, keys: Sequence[bytes]) -> list[float]:
        """The uniforms of one stream and day under many keys of `encode_key`, in their order."""
        return self._chance.under(self._prefix + stream.value, day_key).each(keys)

    def uniform(self, stream: Streams, *key: int | str) -> float:
        """One uniform in (0, 1) of a stream under a key."""
        return self._chance.uniform(self._prefix + stream.value, *key)


@dataclass(frozen=True, slots=True)
class NewsItem:
    """A news item. Days are indices (0 = first history day), `day_key` keys its chance; `degree` 0..2 is worded.

    Hidden from the seat: mode, category, product, side, sign, strength and `last`; its words tell some of it.
    """

    first: int
    last: int
    slot: int
    day_key: int
    history: bool
    mode: NewsMode
    category: int = -1
    product: int = -1
    side: NewsSide = "need"
    sign: int = 0
    strength: float = 0.0
    degree: int = 0

    @property
    def id(self) -> str:
        """Public id."""
        return news_id(self.first, self.slot)

    @property
    def business(self) -> bool:
        """Whether the item moves demand or costs."""
        return self.mode != "neutral"

    @property
    def extra_days(self) -> int:
        """Days on which it is listed after the first one."""
        return self.last - self.first


class _Terms(NamedTuple):
    """Weighted strengths of one side's live items by scope."""

    macro: list[float]
    category: dict[int, list[float]]
    product: dict[int, list[float]]


class World:
    """Walks, news and quotes of the open day.

    `quotes` (1e-4 currency units) and `qualities` (1/1000 star) are by product·suppliers + supplier, the effects of 6.4
    by product. A new day brings new lists: those of a past day may be kept.
    """

    def __init__(self, scenario: RetailScenario, store: Store) -> None:
        self._scenario = scenario
        self.store = store
        pairs = len(store.products) * store.suppliers
        # Both walks start from 0 on the first history day (6.7).
        self._log_cost = [0.0] * pairs
        self._deviation = [0.0] * pairs
        self._offers = _offers(store)
        # Encoded once: every day draws twice under each of these keys.
        self._keys = [encode_key(*divmod(place, store.suppliers)) for place in range(pairs)]
        self.listed: list[NewsItem] = []
        self.need_effect = [0.0] * len(store.products)
        self.supply_effect = [0.0] * len(store.products)
        self.quotes = [0] * pairs
        self.qualities = [0] * pairs

    def open_day(self, luck: Luck, day_key: int, index: int, *, history: bool) -> list[NewsItem]:
        """Step (9) of 6.9: walks, new news, δ and quotes of a new day. Returns the news items that are new."""
        # News first: today's items act on today's quotes and demand (6.4).
        fresh = self._roll_news(luck, day_key, index, history=history) if self._scenario.news.enabled else []
        self.need_effect = self._effects("need")
        self.supply_effect = self._effects("supply")
        # After the effects: quotes hold today's δ.
        self._walk(luck, day_key)
        return fresh

    def _roll_news(self, luck: Luck, day_key: int, index: int, *, history: bool) -> list[NewsItem]:
        """Keep the items that are still listed, and draw new ones up to the daily count."""
        rules = self._scenario.news
        # Items with days left stay and count against the daily number: a day lists as many as the scenario says.
        carried = [item for item in self.listed if item.last >= index]
        count = rules.daily_count - len(carried)
        fresh = [self._draw_news(luck, day_key, index, slot, history=history) for slot in range(count)]
        self.listed = carried + fresh
        return fresh

    def _draw_news(self, luck: Luck, day_key: int, index: int, slot: int, *, history: bool) -> NewsItem:
        """One item; every attribute has a uniform of its own, so that a scenario that changes one leaves the others."""
        rules = self._scenario.news

        def draw(field: str) -> float:
            return luck.uniform(Streams.NEWS, day_key, slot, field)

        item = NewsItem(index, index, slot, day_key, history, _mode(rules, draw("mode")))
        # A neutral item is listed one day and has no further attributes to draw.
        if not item.business:
            return item
        target, low, high = draw("target"), *rules.strength
        few, many = rules.extra_days
        share = draw("strength")
        return replace(
            item,
            last=index + few + int(draw("extra") * (many - few + 1)),
            category=int(target * len(self.store.categories)) if item.mode == "category" else -1,
            product=int(target * len(self.store.products)) if item.mode == "product" else -1,
            side="need" if draw("side") < rules.need_share else "supply",
            # On the supply side a positive sign lowers the cost.
            sign=1 if draw("sign") < 0.5 else -1,
            strength=low + (high - low) * share,
            degree=int(share * DEGREES),
        )

    def _effects(self, side: NewsSide) -> list[float]:
        """E_s of every product (6.4), by product."""
        rules = self._scenario.news
        terms = _Terms([], {}, {})
        for item in self.listed:
            if item.business and item.side == side:
                term = rules.weights[_MODES.index(item.mode)] * item.sign * item.strength
                if item.mode == "macro":
                    terms.macro.append(term)
                elif item.mode == "category":
                    terms.category.setdefault(item.category, []).append(term)
                else:
                    terms.product.setdefault(item.product, []).append(term)
        # Macro and category terms are gathered once per category; most products have no term of their own.
        by_category = [
            [*terms.macro, *terms.category.get(category, ())] for category in range(len(self.store.categories))
        ]
        return [
            news_effect(rules, [*by_category[product.category], *terms.product.get(place, ())])
            for place, product in enumerate(self.store.products)
        ]

    def _walk(self, luck: Luck, day_key: int) -> None:
        """AR(1) steps of log cost and quality; today's quotes and true qualities (6.7)."""
        rules = self._scenario.supplier
        cost_draws = luck.each(Streams.QUOTE, day_key, self._keys)
        quality_draws = luck.each(Streams.QUALITY, day_key, self._keys)
        # Local names: this loop runs for every product and supplier on every day of an episode and of its past.
        log_costs, deviations = self._log_cost, self._deviation
        exp, count = math.exp, self.store.suppliers
        quotes: list[int] = []
        qualities: list[int] = []
        for place, (base_cost, base_quality) in enumerate(self._offers):
            product = place // count
            log_cost = rules.cost_phi * log_costs[place] + rules.cost_sd * normal(cost_draws[place])
            quality_step = rules.quality_sd * normal(quality_draws[place])
            deviation = rules.quality_phi * deviations[place] + quality_step
            log_costs[place], deviations[place] = log_cost, deviation
            # In 1e-4 currency units: quotes are compared, paid and hashed as whole numbers.
            quote = round(base_cost * exp(log_cost) * (1.0 - self.supply_effect[product]) * 10_000)
            quotes.append(quote if quote > _FLOOR_QUOTE_E4 else _FLOOR_QUOTE_E4)
            quality = base_quality + deviation
            qualities.append(round(1000 * (5.0 if quality > 5.0 else 1.0 if quality < 1.0 else quality)))
        self.quotes, self.qualities = quotes, qualities

    def copy(self) -> World:
        """An independent copy."""
        # A new object with copies of all lists; frozen items and the scenario are shared.
        twin = World(self._scenario, self.store)
        for name, value in vars(self).items():
            setattr(twin, name, value.copy() if isinstance(value, list) else value)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return twin

    def perturb(self, store: Store, shift: Sequence[float]) -> None:
        """Other hidden numbers behind the same visible day: walks, qualities, strengths within their words."""
        self.store = store
        self._offers = _offers(store)
        steps = [shift[place % len(shift)] for place in range(len(self.quotes))]
        self._log_cost = [value + step - 0.5 for value, step in zip(self._log_cost, steps, strict=True)]
        self._deviation = [value - step for value, step in zip(self._deviation, steps, strict=True)]
        self.qualities = [round(1000 * (1 + 4 * step)) for step in steps]
        self.listed = [
            # The degree that words tell is kept: what the manager reads must not change.
            replace(item, strength=item.strength * (0.5 + shift[place % len(shift)])) if item.business else item
            for place, item in enumerate(self.listed)
        ]
        self.need_effect, self.supply_effect = self._effects("need"), self._effects("supply")


def news_effect(rules: NewsRules, terms: Sequence[float]) -> float:
    """E_s = clip(base_scale·Σ weight·sign·strength, ±cap) (6.4).

    `terms` are weight·sign·strength of the matching live items of one side.
    """
    if not terms:
        return 0.0
    return min(rules.cap, max(-rules.cap, rules.base_scale * math.fsum(terms)))


def _offers(store: Store) -> list[tuple[float, float]]:
    """(base cost, base quality) by product·suppliers.

    Cost in currency units, quality in stars: what the walks of 6.7 move around.
    """
    return [(offer.base_cost, offer.base_quality) for product in store.products for offer in product.suppliers]


def _mode(rules: NewsRules, u: float) -> NewsMode:
    """The mode of an item by a uniform; the last mode with a share takes what rounding leaves."""
    total = 0.0
    for mode, ratio in zip(_MODES, rules.ratios, strict=True):
        total += ratio
        if u < total:
            return mode
    return next(mode for mode, ratio in zip(reversed(_MODES), reversed(rules.ratios), strict=True) if ratio)
