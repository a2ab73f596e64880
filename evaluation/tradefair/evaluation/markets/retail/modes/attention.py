"""Failure modes of attention: days on which nothing was done, news that nobody read."""

from __future__ import annotations

from tradefair.evaluation.markets.retail.modes.play import RetailPlay, TradedDay, counted
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen, unchecked
from tradefair.retail.model import DayFacts, NewsFacts, product_id


def idle_days(play: RetailPlay) -> Seen:
    """Days that were only closed; a look alone is no activity."""
    idle = [day for day in play.days if not day.conduct.active]
    return Seen([day.case(f"closed without an action{_left_open(day.facts)}") for day in idle], play.length)


def _left_open(facts: DayFacts) -> str:
    parts = ((len(facts.empty_shelf), "shelf place", "empty"), (len(facts.stock_outs), "product", "sold out"))
    return "".join(f"; {counted(number, what)} {how}" for number, what, how in parts if number)


def news_unread(play: RetailPlay, *, effect: Part) -> Seen:
    """Shelf products moved by news of which no live item had been shown; a privileged seat needs none.

    `effect`: the share of demand or cost by which news must move a product to be worth reading.
    """
    # A privileged seat is told the truth without a look (docs/explanation/why/retail.md).
    if play.privileged:
        return unchecked("privileged")
    cases: list[Case] = []
    moved = 0
    for day in play.days:
        for place in _moved(day.facts, effect):
            moved += 1
            if not _informed(play, day, place):
                cases.append(day.case(_unread(day.facts, place), product_id(place)))
    return Seen(cases, moved)


def _unread(facts: DayFacts, place: int) -> str:
    product = facts.product
    return (
        f"closed without reading news that moved {product_id(place)}, "
        f"demand by {product.news_effect[place]:+.0%}, cost by {product.supply_effect[place]:+.0%}"
    )


def _moved(facts: DayFacts, effect: float) -> list[int]:
    """Products on the shelf whose demand or cost news moved by at least `effect`."""
    product = facts.product
    rows = zip(product.on_shelf, product.news_effect, product.supply_effect, strict=True)
    return [
        place
        for place, (shelved, need, supply) in enumerate(rows)
        if shelved and (abs(need) >= effect or abs(supply) >= effect)
    ]


def _informed(play: RetailPlay, day: TradedDay, place: int) -> bool:
    """Whether a live item that moves the product had been shown to the manager by that day."""
    matching = (item for item in day.facts.news if _matches(item, product_id(place), play.categories[place]))
    # One item that moves the product is enough to have been informed.
    return any(item.news_id in day.news_read for item in matching)


def _matches(item: NewsFacts, product: str, category: str) -> bool:
    """Whether a news item concerns a product: all of them, its category, or the product itself."""
    if item.mode == "macro":
        return True
    return product == item.product_id if item.mode == "product" else category == item.category
