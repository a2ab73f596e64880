"""Stage 4: whether the manager came back. The unit is a product-day; windows are censored at T.

A pair (j, t) is at risk only if the whole window t+1..t+7 was played. The rest are left out and counted, and the same
figure over all pairs is given as `*_uncensored`: the source counts it so, which lets short runs look careless.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from tradefair.evaluation.markets.retail.modes.figures import FOLLOW_UP_DAYS, figure
from tradefair.evaluation.markets.retail.modes.play import RetailPlay, TradedDay, within
from tradefair.evaluation.modes.diagnosis import Figure, Share, Stage, share
from tradefair.retail.model import product_id

_KINDS = ("stock_out", "return", "expiry")


class EventPair(NamedTuple):
    """A product-day on which something happened.

    `kinds` are stock_out, return, expiry. `answered` is the first day of attention in t+1..t+7, None without one;
    `at_risk` says whether the whole window was played.
    """

    product: int
    day: int
    seq: int
    kinds: frozenset[str]
    at_risk: bool
    answered: int | None


def follow_up(play: RetailPlay) -> Stage:
    """All figures of stage 4: returning to products, looking into trouble, continuity from day to day."""
    figures = [*_returning(play), *_resolving(play), _continuity(play)]
    return Stage(name="4 follow-up", figures=figures)


def acted_again(play: RetailPlay, days: Sequence[Sequence[int]], *, censored: bool = True) -> Share:
    """Product-days with an action event whose product comes up in `days` within t+1..t+7.

    `days` holds sorted day numbers by product. With `censored` only pairs at risk count.
    """
    after, last = FOLLOW_UP_DAYS, play.length
    # At risk: the whole window was played.
    pairs = [pair for pair in play.action_pairs() if not censored or pair[1] + after <= last]
    # From the next day on: a second action on the same day is no return.
    again = [within(days[place], day + 1, min(day + after, last)) is not None for place, day, _ in pairs]
    left = [seq for (_, _, seq), came in zip(pairs, again, strict=True) if not came]
    return share(sum(again), len(pairs), left)


def _returning(play: RetailPlay) -> Iterator[Figure]:
    """Whether action events were followed by another one, or at least by a look."""
    for name, days, what in (
        ("follow_up_rate", play.acted_days(), "another action event on the product"),
        ("attention_rate", play.attended_days(), "attention to the product"),
    ):
        counted, everything = acted_again(play, days), acted_again(play, days, censored=False)
        formula = f"product-days with an action event and {what} in t+1..t+7 / those at risk; cited: those without"
        note = _left_out(int(everything.denominator - counted.denominator))
        yield figure(play, name, counted, formula, window="t+1..t+7", note=note)
        yield figure(play, f"{name}_uncensored", everything, f"{name} over all pairs", window="t+1..t+7")


def event_pairs(play: RetailPlay) -> list[EventPair]:
    """Product-days with a stock-out, a return or an expiry, in the order of days."""
    after, last = FOLLOW_UP_DAYS, play.length
    attended = play.attended_days()
    return [
        # Judged for all pairs, so that the uncensored figures come from the same list.
        EventPair(
            place, number, day.seq, kinds, number + after <= last, within(attended[place], number + 1, number + after)
        )
        for number, day in enumerate(play.days, 1)
        for place, kinds in _happened(day).items()
    ]


def _happened(day: TradedDay) -> dict[int, frozenset[str]]:
    """What happened to each product of a day, by product index; products without an event are left out."""
    # A set, because every product of the day is looked up in it.
    product, out = day.facts.product, set(day.facts.stock_outs)
    found: dict[int, frozenset[str]] = {}
    for place, (returned, expired) in enumerate(zip(product.returned, product.expired, strict=True)):
        sold_out = bool(out) and product_id(place) in out
        if sold_out or returned > 0 or expired > 0:
            flags = (sold_out, returned > 0, expired > 0)
            found[place] = frozenset(kind for kind, flag in zip(_KINDS, flags, strict=True) if flag)
    return found


def unresolved(pairs: Sequence[EventPair]) -> Share:
    """Event pairs without attention in t+1..t+7, out of all that are given; cited are those without."""
    left = [pair.seq for pair in pairs if pair.answered is None]
    return share(len(left), len(pairs), left)


def _resolving(play: RetailPlay) -> Iterator[Figure]:
    """Whether trouble was looked into, by kind, and after how many days."""
    pairs = event_pairs(play)
    at_risk = [pair for pair in pairs if pair.at_risk]
    by_kind = {kind: unresolved([pair for pair in at_risk if kind in pair.kinds]).value for kind in _KINDS}
    formula = "product-days with a stock-out, return or expiry and no attention in t+1..t+7 / those at risk"
    note = _left_out(len(pairs) - len(at_risk))
    yield figure(play, "unresolved_rate", unresolved(at_risk), formula, window="t+1..t+7", parts=by_kind, note=note)
    words = "unresolved_rate over all pairs"
    yield figure(play, "unresolved_rate_uncensored", unresolved(pairs), words, window="t+1..t+7")
    for name, some in (("latency", at_risk), ("latency_uncensored", pairs)):
        waits = [pair.answered - pair.day for pair in some if pair.answered is not None]
        formula = "mean days until the first attention, of the resolved"
        yield figure(play, name, share(sum(waits), len(waits)), formula, window="t+1..t+7")
    yield _repeated(play, pairs)


def _repeated(play: RetailPlay, pairs: Sequence[EventPair]) -> Figure:
    """Trouble on two days in a row without a look on the second."""
    known = {(pair.product, pair.day) for pair in pairs}
    again = [
        pair.seq
        for pair in pairs
        # The look may come on the second day itself: by then the trouble of the day before was known.
        if (pair.product, pair.day - 1) in known and pair.product not in play.days[pair.day - 1].conduct.attended
    ]
    formula = "event pairs that follow one of the day before, without attention on the day / event pairs"
    return figure(play, "repeated", share(len(again), len(pairs), again), formula, window="t-1..t")


def _continuity(play: RetailPlay) -> Figure:
    """How alike the products acted on are from one day to the next (mean Jaccard index)."""
    acted = [set(day.conduct.acted) for day in play.days]
    steps = [(now & then, now | then) for now, then in pairwise(acted)]
    # Two idle days are neither alike nor different.
    values = [len(both) / len(either) for both, either in steps if either]
    formula = "mean of |U_t ∩ U_t+1| / |U_t ∪ U_t+1|, days without either left out"
    return figure(play, "continuity", share(sum(values), len(values)), formula, window="t..t+1")


def _left_out(censored: int) -> str | None:
    """How many pairs were left out because their window was not played; None without any."""
    return f"{censored} censored" if censored else None
