"""Stage 1: which products the manager turned to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tradefair.evaluation.markets.retail.modes.figures import BEST_SELLERS, FOLLOW_UP_DAYS, LOOK_BACK_DAYS, figure
from tradefair.evaluation.markets.retail.modes.play import RetailPlay, TradedDay, within
from tradefair.evaluation.modes.diagnosis import Figure, Stage, share
from tradefair.retail.model import product_id

# The ten of the figure `top10_share`.
_TOP = 10


class MissedDemand(NamedTuple):
    """Product-days of high demand, those missed, and the events of the days with a miss."""

    missed: int
    all: int
    events: list[int]


def high_demand(day: TradedDay, best: int) -> set[int]:
    """H_t: the products with most units (ties by id) and those that sold out; product indices.

    Products without a sale are left out, so a quiet day has a short list.
    """
    units = day.facts.product.units
    # Ties by index, so that the same sales always give the same list.
    ranked = sorted((place for place, sold in enumerate(units) if sold), key=lambda place: (-units[place], place))
    out = set(day.facts.stock_outs)
    return {*ranked[:best], *(place for place in range(len(units)) if product_id(place) in out)}


def missed_high_demand(play: RetailPlay) -> MissedDemand:
    """Σ|H_t \\ ∪ U_s, s = max(1, t−3)..t| out of Σ|H_t|: wanted products without an action event of late."""
    acted = play.acted_days()
    missed, everything = 0, 0
    events: list[int] = []
    for number, day in enumerate(play.days, 1):
        wanted = high_demand(day, BEST_SELLERS)
        first = max(1, number - LOOK_BACK_DAYS)
        # An action up to three days before counts: a product that was just tended needs nothing today.
        lost = sum(within(acted[place], first, number) is None for place in wanted)
        missed, everything = missed + lost, everything + len(wanted)
        if lost:
            events.append(day.seq)
    return MissedDemand(missed, everything, events)


def selection(play: RetailPlay) -> Stage:
    """All figures of stage 1: how many products were acted on, and whether they were the wanted ones."""
    return Stage(name="1 product selection", figures=[*_breadth(play), *_reach(play)])


def _breadth(play: RetailPlay) -> Iterator[Figure]:
    """How many products and categories were acted on, and how evenly."""
    counts = Counter(event.product for event in play.events)
    total = sum(counts.values())
    acts = [seq for _, _, seq in play.action_pairs()]
    yield figure(play, "acted_per_day", share(len(acts), play.length, acts), "Σ|U_t| / days")
    # Herfindahl index: 1 when all actions are on one product, 1/n when they are spread evenly over n.
    squares = sum(count * count for count in counts.values())
    yield figure(play, "hhi", share(squares, total * total), "Σ share² of action events over products")
    top = sum(count for _, count in counts.most_common(_TOP))
    yield figure(play, "top10_share", share(top, total), "action events on the ten most acted products / all")
    everything = len(play.categories)
    yield figure(play, "distinct_products", share(len(counts), everything), "acted products / products of the store")
    # Each category once, however many of its products were acted on.
    acted = {play.categories[place] for place in counts}
    formula = "categories of acted products / categories of the store"
    yield figure(play, "distinct_categories", share(len(acted), len(set(play.categories))), formula)


def _reach(play: RetailPlay) -> Iterator[Figure]:
    """Whether the products that customers wanted were among those acted on."""
    days = play.length
    attended = sum(len(day.conduct.attended) for day in play.days)
    yield figure(play, "attended_per_day", share(attended, days), "products named in queries or acted on / days")
    missed, everything, events = missed_high_demand(play)
    formula = "daily best sellers (10) and stock-outs without an action event in t-3..t / all of them"
    yield figure(play, "missed_high_demand", share(missed, everything, events), formula, window="t-3..t")
    held = share(everything - missed, everything)
    yield figure(play, "high_demand_cov", held, "1 − missed_high_demand", window="t-3..t")
    after = FOLLOW_UP_DAYS
    sold = play.sold_days()
    # Events of the last days have no full window: counted, they would look like failures of a run that is merely short.
    at_risk = [event for event in play.events if event.day + after <= days]
    led = [event.seq for event in at_risk if within(sold[event.product], event.day, event.day + after) is not None]
    left = len(play.events) - len(at_risk)
    yield figure(
        play,
        "action_to_sale",
        share(len(led), len(at_risk), led),
        "action events with a sale of the product in t..t+7 / those at risk",
        window="t..t+7",
        note=f"{left} censored" if left else None,
    )
