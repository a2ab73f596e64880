"""What may be concluded from the pairs, and what a reader of the tables must know of each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tradefair.evaluation.compare.comparison import MIN_PAIRS, Bound, Conclusion, Judgement, Metric, Pair
from tradefair.evaluation.table import counted, decimals

# The level at which a difference is named, after Holm; docs/how-to/compare.md states it.
LEVEL = 0.05
_SMALL = 0.001  # ties are named when they keep the least possible p above this


def judge(
    pairs: Sequence[Pair],
    metrics: Sequence[Metric],
    bounds: Sequence[Bound] = (),
    *,
    luck: str = "",
    named: Callable[[str], str] = str,
) -> Judgement:
    """The conclusion of a comparison, and its notes.

    `bounds`: what missing pairs could make of each metric. `luck` is a sentence about draws that differ, or empty.
    `named` gives the title of a metric.
    """
    primary = [metric for metric in metrics if metric.primary]
    notes = [luck] if luck else []
    if not pairs:
        return Judgement("no_pairs", notes)
    # Before the count of pairs: "identical" needs no test and is true of one pair as well.
    if all(pair.identical for pair in pairs):
        return Judgement("identical", notes)
    if len(pairs) < MIN_PAIRS:
        return Judgement("exploratory", notes)
    notes += [note for metric in primary for note in _notes(named(metric.name), metric, settled(metric, bounds))]
    shown = [metric for metric in primary if detected(metric)]
    # A difference that the missing pairs could reverse is none to act on.
    return Judgement(_weighed([metric for metric in shown if settled(metric, bounds)]), notes)


def _weighed(found: Sequence[Metric]) -> Conclusion:
    """Which side is better, by the metrics in which the sides differ."""
    # Without a declared metric nothing may be called better, whatever the columns show.
    if not found:
        return "no_difference"
    better = sum(b_is_better(metric) for metric in found)
    # Not weighed against each other: the evaluator declares metrics, not what one is worth in the other.
    if 0 < better < len(found):
        return "mixed"
    return "b_better" if better else "a_better"


def detected(metric: Metric) -> bool:
    """Whether a difference is significant after Holm.

    Without a corrected p-value, because too few pairs were played, nothing is detected.
    """
    return metric.p_holm is not None and metric.p_holm <= LEVEL


def settled(metric: Metric, bounds: Sequence[Bound]) -> bool:
    """Whether no outcome of the missing pairs could reverse the difference of a metric."""
    return not any(bound.metric == metric.name and bound.low < 0 < bound.high for bound in bounds)


def b_is_better(metric: Metric) -> bool:
    """Whether B's mean is on the better side of A's."""
    # Where less is better the sign turns; None (not declared) counts as higher is better.
    return ((metric.mean_difference or 0) > 0) == (metric.higher_is_better is not False)


def _notes(title: str, metric: Metric, sure: bool) -> Iterator[str]:
    """What limits the test of one metric, by its title: too few values, ties, missing pairs."""
    if metric.mean_difference is None:
        yield f"{title}: undefined on every pair"
    # Defined on too few pairs although the comparison has enough: said, not tested.
    elif metric.n < MIN_PAIRS:
        yield f"{title}: defined on {counted(metric.n, 'pair')} only: no test"
    elif metric.ties == metric.n:
        yield f"{title}: equal on every pair"
    elif ties := _ties(metric):
        yield f"{title}: {ties}"
    if not sure:
        yield f"{title}: the missing pairs could reverse the difference"


def _ties(metric: Metric) -> str:
    """How equal pairs limit the test; empty where they do not matter.

    Flipping the sign of 0 changes nothing, so with t ties among n pairs p is at least 2^(1 + t − n).
    """
    least = min(1.0, 2.0 ** (1 + metric.ties - metric.n))
    if not metric.ties or least < _SMALL:
        return ""
    return f"{counted(metric.ties, 'tie')}: the least p possible is {p_text(least)}"


def signed_text(value: float) -> str:
    """A number with its sign, the typographical minus."""
    # U+2212 has the width of a plus sign, so columns of signed numbers line up.
    return decimals(value, "+,").replace("-", "−")


def p_text(value: float | None) -> str:
    """A p-value to four decimals."""
    if value is None:
        return "–"
    # Four decimals would print 0.0000, which reads as impossible.
    return "<0.0001" if value < 0.0001 else f"{value:.4f}".rstrip("0").rstrip(".")
