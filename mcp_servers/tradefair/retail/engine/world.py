"""What reaches the store from outside: supplier walks, quotes and news (retail page, 6.4, 6.7, 6.9), day by day.

History and episode run the same steps; only their luck differs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np

from tradefair.contract.chance import Branch
from tradefair.retail.engine.luck import Floats, Luck
from tradefair.retail.model import NewsRules, RetailScenario, Store, Streams, news_id

NewsMode = Literal["neutral", "macro", "category", "product"]
NewsSide = Literal["need", "supply", "both"]

# In the order of `news.ratios` and `news.weights`.
_MODES: tuple[NewsMode, ...] = ("neutral", "macro", "category", "product")
_FLOOR_QUOTE_E4 = 100
"""The lowest quote, 0.01 currency units: news may lower a cost, but never to nothing."""
DEGREES = 3
"""Degrees of strength that a news item's content can tell (11.4): equal thirds of the range."""


class NewsItem(NamedTuple):
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
        self._log_cost = np.zeros(pairs)
        self._deviation = np.zeros(pairs)
        self._base_cost, self._base_quality = _offers(store)
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
        draws = luck.under(Streams.NEWS, day_key)
        fresh = [
            self._draw_news(draws, NewsItem(index, index, slot, day_key, history, "neutral")) for slot in range(count)
        ]
        self.listed = carried + fresh
        return fresh

    def _draw_news(self, draws: Branch, item: NewsItem) -> NewsItem:
        """A new item; every attribute has a uniform of its own: a scenario that changes one leaves the others."""
        rules, draw, slot = self._scenario.news, draws.uniform, item.slot
        mode = _mode(rules, draw(slot, "mode"))
        # A neutral item is listed one day and has no further attributes to draw.
        if mode == "neutral":
            return item
        target, low, high = draw(slot, "target"), *rules.strength
        few, many = rules.extra_days
        share = draw(slot, "strength")
        return item._replace(
            mode=mode,
            last=item.first + few + int(draw(slot, "extra") * (many - few + 1)),
            category=int(target * len(self.store.categories)) if mode == "category" else -1,
            product=int(target * len(self.store.products)) if mode == "product" else -1,
            side=_side(rules, draw(slot, "side")),
            # On the supply side a positive sign lowers the cost.
            sign=1 if draw(slot, "sign") < 0.5 else -1,
            strength=low + (high - low) * share,
            degree=int(share * DEGREES),
        )

    def _effects(self, side: Literal["need", "supply"]) -> list[float]:
        """E_s of every product (6.4), by product; an item of both sides is a term of each."""
        rules = self._scenario.news
        terms = _Terms([], {}, {})
        for item in self.listed:
            if item.business and item.side in (side, "both"):
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
        common = [news_effect(rules, gathered) for gathered in by_category]
        effects = [common[product.category] for product in self.store.products]
        for place, special in terms.product.items():
            effects[place] = news_effect(rules, [*by_category[self.store.products[place].category], *special])
        return effects

    def _walk(self, luck: Luck, day_key: int) -> None:
        """AR(1) steps of log cost and quality; today's quotes and true qualities (6.7)."""
        # One operation per line: each is exact on every machine, where a fused one would round differently.
        rules, pairs = self._scenario.supplier, len(self.quotes)
        self._log_cost = rules.cost_phi * self._log_cost
        self._log_cost += rules.cost_sd * luck.normals(Streams.QUOTE, day_key, n=pairs)
        self._deviation = rules.quality_phi * self._deviation
        self._deviation += rules.quality_sd * luck.normals(Streams.QUALITY, day_key, n=pairs)
        # exp by scalar `math`: numpy's differs between its builds.
        growth = np.array(list(map(math.exp, self._log_cost.tolist())))
        kept = np.repeat(1.0 - np.array(self.supply_effect), self.store.suppliers)
        # In 1e-4 currency units: quotes are compared, paid and hashed as whole numbers.
        quotes = np.rint(self._base_cost * growth * kept * 10_000)
        self.quotes = np.maximum(quotes, _FLOOR_QUOTE_E4).astype(np.int64).tolist()
        qualities = np.minimum(np.maximum(self._base_quality + self._deviation, 1.0), 5.0)
        self.qualities = np.rint(1000 * qualities).astype(np.int64).tolist()

    def copy(self) -> World:
        """An independent copy."""
        # A new object with copies of all lists; frozen items and the scenario are shared.
        twin = World(self._scenario, self.store)
        for name, value in vars(self).items():
            setattr(twin, name, value.copy() if isinstance(value, (list, np.ndarray)) else value)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return twin

    def perturb(self, store: Store, shift: Sequence[float]) -> None:
        """Other hidden numbers behind the same visible day: walks, qualities, strengths within their words."""
        self.store = store
        self._base_cost, self._base_quality = _offers(store)
        steps = np.resize(np.array(shift), len(self.quotes))
        self._log_cost = self._log_cost + steps - 0.5
        self._deviation = self._deviation - steps
        self.qualities = np.rint(1000 * (1 + 4 * steps)).astype(np.int64).tolist()
        self.listed = [
            # The degree that words tell is kept: what the manager reads must not change.
            item._replace(strength=item.strength * (0.5 + shift[place % len(shift)])) if item.business else item
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


def _offers(store: Store) -> tuple[Floats, Floats]:
    """(base costs in currency units, base qualities in stars) by product·suppliers: the centres of the walks of 6.7."""
    offers = [offer for product in store.products for offer in product.suppliers]
    return np.array([offer.base_cost for offer in offers]), np.array([offer.base_quality for offer in offers])


def _side(rules: NewsRules, u: float) -> NewsSide:
    """The side of an item by a uniform."""
    if u < rules.need_share:
        return "need"
    return "both" if u < rules.need_share + rules.both_share else "supply"


def _mode(rules: NewsRules, u: float) -> NewsMode:
    """The mode of an item by a uniform; the last mode with a share takes what rounding leaves."""
    total = 0.0
    for mode, ratio in zip(_MODES, rules.ratios, strict=True):
        total += ratio
        if u < total:
            return mode
    return next(mode for mode, ratio in zip(reversed(_MODES), reversed(rules.ratios), strict=True) if ratio)
