"""Stage 3: what evidence was turned into, prices and order lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tradefair.evaluation.markets.retail.modes.figures import PRICE_LIMIT_CENTS, PRICE_TOLERANCE_PERCENT, figure
from tradefair.evaluation.markets.retail.modes.play import LineChoice, PriceChoice, RetailPlay
from tradefair.evaluation.modes.diagnosis import Figure, Share, Stage, share
from tradefair.evaluation.read.arithmetic import middle, ratio


def judged_prices(play: RetailPlay) -> list[PriceChoice]:
    """Price events up to 50.00 that have a p*; the others are counted in the note of the figure."""
    return [choice for choice in play.prices if choice.best is not None and choice.price <= PRICE_LIMIT_CENTS]


def line_share(lines: Sequence[LineChoice], holds: Callable[[LineChoice], bool | None]) -> Share:
    """Lines for which `holds` is true, out of those for which it is known (not None).

    Cited are the lines for which it is true.
    """
    # None says that the question does not arise for a line; it must not count as "no".
    known = [line for line in lines if holds(line) is not None]
    met = [line.seq for line in known if holds(line)]
    return share(len(met), len(known), met)


def blocked(play: RetailPlay) -> Share:
    """Attempted order lines and price changes that were not executed, out of all attempts.

    Cited are the calls: one event may stand for several lines.
    """
    # Lines, not calls: an order of ten lines is ten decisions.
    attempts = sum(day.conduct.attempts for day in play.days)
    executed = sum(day.conduct.executed for day in play.days)
    return share(attempts - executed, attempts, (seq for day in play.days for seq in day.conduct.blocked))


def conversion(play: RetailPlay) -> Stage:
    """All figures of stage 3: prices, ranks of suppliers, quality, sourcing, blocked attempts."""
    formula = "attempted order lines and price changes that were rejected or invalid / attempted"
    figures = [*_prices(play), *_ranks(play), *_quality(play), *_sourcing(play)]
    return Stage(name="3 conversion", figures=[*figures, figure(play, "blocked_rate", blocked(play), formula)])


def _prices(play: RetailPlay) -> Iterator[Figure]:
    """Distance from p* in per cent, and the share of prices within the tolerance."""
    judged = judged_prices(play)
    distances = [choice.distance or 0.0 for choice in judged]
    # Only these are cited: a finding should lead to what went wrong.
    off = [choice.seq for choice in judged if (choice.distance or 0.0) > PRICE_TOLERANCE_PERCENT]
    # What a mean leaves out is said next to it, or a clean figure could rest on two prices.
    without = sum(choice.best is None for choice in play.prices)
    dear = len(play.prices) - len(judged) - without
    note = play.unseen or f"{without} without a p* and {dear} above 50.00 left out"
    formula = "mean of 100·|p − p*|/p* over price events; cited: those more than 10 % off"
    yield figure(
        play,
        "price_distance",
        share(sum(distances), len(judged), off),
        formula,
        window="30 days",
        parts={"median": middle(distances)},
        note=note,
    )
    right = share(len(judged) - len(off), len(judged), off)
    formula = "price events at most 10 % off p* / price events; cited: the others"
    yield figure(play, "price_correct", right, formula, window="30 days", note=note)


def _ranks(play: RetailPlay) -> Iterator[Figure]:
    """Where the chosen suppliers rank by quality and by price."""
    lines = play.lines
    # The score runs from 1 (best) to 0 (worst), whatever the number of suppliers.
    last = max(1, play.scenario.supplier.count - 1) if play.scenario else 1

    def score(line: LineChoice) -> float:
        return 1 - (line.quality_rank - 1) / last

    yield _mean(play, "supplier_score", score, "mean of 1 − (quality rank − 1)/(suppliers − 1) over order lines")
    for name, rank, words in (
        ("quality_first", _quality_rank, "of the highest true quality"),
        ("price_first", _price_rank, "with the lowest quote"),
    ):
        counted = line_share(lines, lambda line, rank=rank: rank(line) == 1)
        units = ratio(sum(line.quantity for line in lines if rank(line) == 1), sum(line.quantity for line in lines))
        formula = f"order lines to the supplier {words} / order lines"
        yield figure(play, name, counted, formula, parts={"by_units": units}, note=play.unseen)


def _quality(play: RetailPlay) -> Iterator[Figure]:
    """Quality given up, in stars and as a share of the best."""
    formula = "mean of best − chosen true quality over order lines, in stars"
    yield _mean(play, "quality_regret", lambda line: (line.best_quality - line.quality) / 1000, formula)
    formula = "mean of chosen / best true quality over order lines"
    yield _mean(play, "quality_ratio", lambda line: line.quality / line.best_quality, formula)


def _sourcing(play: RetailPlay) -> Iterator[Figure]:
    """Choices compared with what returns showed, and how long the ordered units last."""
    correct = line_share(play.lines, lambda line: line.best_visible)
    left = len(play.lines) - int(correct.denominator)
    note = play.unseen or f"{left} lines with fewer than two known suppliers left out"
    formula = "order lines to the best visible supplier / order lines with at least two known suppliers"
    yield figure(play, "order_correct", correct, formula, window="60 days", note=note)
    formula = (
        "order lines to a supplier with more than twice the lowest known return rate / lines with a known supplier"
    )
    ignored = line_share(play.lines, lambda line: line.ignored)
    yield figure(play, "ignored_returns", ignored, formula, window="60 days", note=play.unseen)
    covers = [line.cover for line in play.lines if line.cover is not None]
    yield figure(
        play,
        "order_cover",
        share(sum(covers), len(covers)),
        "mean of quantity / mean daily units over order lines, in days of sales",
        window="30 days",
        parts={"median": middle(covers)},
        note=play.unseen,
    )


def _mean(play: RetailPlay, name: str, value: Callable[[LineChoice], float], formula: str) -> Figure:
    """A mean over order lines, with the one weighted by units as a part."""
    lines = play.lines
    units = sum(line.quantity for line in lines)
    weighted = ratio(sum(value(line) * line.quantity for line in lines), units)
    counted = share(sum(map(value, lines)), len(lines), [line.seq for line in lines if line.quality_rank > 1])
    return figure(play, name, counted, formula, parts={"by_units": weighted}, note=play.unseen)


def _quality_rank(line: LineChoice) -> int:
    """The rank of the chosen supplier by true quality, 1 the best."""
    return line.quality_rank


def _price_rank(line: LineChoice) -> int:
    """The rank of the chosen supplier by quote, 1 the lowest."""
    return line.price_rank
