"""The conclusion of a comparison as text: what the pairs show, and what their number cannot show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tradefair.evaluation.compare.comparison import (
    MIN_PAIRS,
    Bound,
    Conclusion,
    Metric,
    Missing,
    NoiseFloor,
    Pair,
    Shares,
    Skew,
    Verdict,
)
from tradefair.evaluation.table import decimals, number_text

# The level at which a difference is named, after Holm; docs/how-to/compare.md states it.
LEVEL = 0.05
_SMALL = 0.001  # ties are named when they keep the least possible p above this


class Limits(NamedTuple):
    """What the pairs cannot tell; `named`: the seat was asked for, so that it was the same on every seed."""

    missing: Missing
    bounds: Sequence[Bound] = ()
    shares: Shares | None = None
    skewed: Sequence[Skew] = ()
    named: bool = False

    @property
    def sentences(self) -> list[str]:
        """Missing pairs first, then pairs with nothing to win, then differences that few pairs carry."""
        return [*self._missing(), *self._stakes(), *self._skew()]

    def _missing(self) -> Iterator[str]:
        count = self.missing.absent + self.missing.unfinished
        if count:
            yield (
                f"{count} of {_pairs(self.missing.expected)} missing "
                f"({self.missing.unfinished} unfinished, {self.missing.absent} absent)"
            )
        for bound in self.bounds:
            ends = f"{signed_text(bound.low)} to {signed_text(bound.high)}"
            could = "could reverse it" if bound.low < 0 < bound.high else "would not reverse it"
            yield f"{bound.metric}: the missing pairs {could}: {ends}"

    def _stakes(self) -> Iterator[str]:
        shares = self.shares
        if shares is None or not shares.nothing:
            return
        text = f"{shares.nothing} of {_pairs(shares.nothing + shares.n)} had nothing to win, whoever plays"
        if self.named:
            text += ": leave --seat out, and the agent sits in each seat in turn"
        if shares.mean_difference is not None:
            text += f"; over the others B − A is {shares.mean_difference:+.1%} of what there was to win"
        yield text

    def _skew(self) -> Iterator[str]:
        for skew in self.skewed:
            low, high = map(signed_text, skew.interval)
            yield (
                f"{skew.metric}: few pairs carry the difference (skewness {skew.skewness:g}, the largest is "
                f"{skew.largest:.0%} of all): BCa interval {low} to {high}"
            )

    def settled(self, metric: Metric) -> bool:
        """Whether no outcome of the missing pairs could reverse the difference of a metric."""
        return not any(bound.metric == metric.name and bound.low < 0 < bound.high for bound in self.bounds)


def judge(
    pairs: Sequence[Pair],
    metrics: Sequence[Metric],
    floor: Sequence[NoiseFloor],
    limits: Limits | None = None,
    *,
    same_agent: bool = False,
    luck: str = "",
) -> Verdict:
    """The conclusion of a comparison.

    `limits`: what the pairs cannot tell. `same_agent`: the sides differ in their draws only, so the comparison is
    itself a noise floor. `luck` is a sentence about draws that differ, or empty.
    """
    primary = [metric for metric in metrics if metric.primary]
    limits = limits or Limits(Missing(expected=len(pairs), unfinished=0, absent=0))
    told = limits.sentences
    if not pairs:
        return Verdict("no_pairs", "; ".join(["nothing to compare: no pair is left", *([luck] if luck else [])]))
    # Before the count of pairs: "identical" needs no test and is true of one pair as well.
    if all(pair.identical for pair in pairs):
        same = f"identical on all pairs ({len(pairs)} of {len(pairs)})"
        return Verdict("identical", _joined([same, *told]) if told else same)
    if len(pairs) < MIN_PAIRS:
        head = f"exploratory, no test: {_pairs(len(pairs))}, fewer than {MIN_PAIRS}"
        return Verdict("exploratory", _joined([head, *told, *map(_seen, primary), *([luck] if luck else [])]))
    # After the count of pairs: without a declared metric nothing may be called better, whatever the columns show.
    if not primary:
        return Verdict("no_difference", "nothing tested: the evaluator of this market declares no primary metric")
    floors = {row.name: row for row in floor}
    # A/A pairs are the floor themselves: held against it they would only be held against their own interval.
    shown = [metric for metric in primary if _detected(metric, None if same_agent else floors.get(metric.name))]
    # A difference that the missing pairs could reverse is none to act on.
    found = [metric for metric in shown if limits.settled(metric)]
    better = [metric for metric in found if _b_is_better(metric)]
    worse = [metric for metric in found if not _b_is_better(metric)]
    sentences = [
        _sentence(metric, metric in found) + _noise(floors.get(metric.name), same_agent, metric) for metric in primary
    ]
    if same_agent:
        sentences.insert(0, "A and B are the same agent under other draws (A/A)")
    sentences += [luck] if luck else []
    # Behind the conclusion, before the figures: what is missing decides how far they can be trusted.
    sentences = [*told, *sentences]
    # Not weighed against each other: the evaluator declares metrics, not what one is worth in the other.
    if better and worse:
        return Verdict("mixed", _joined(["better in one, worse in another", *sentences]))
    if found:
        who: Conclusion = "b_better" if better else "a_better"
        return Verdict(who, _joined([_better(pairs[0], bool(better)), *sentences]))
    return Verdict("no_difference", _joined(["no difference detectable", *sentences]))


def _better(pair: Pair, b: bool) -> str:
    """The sentence that names the better side, each side with its label."""
    a_label, b_label = (f"{name} ({runs[0].label})" for name, runs in (("A", pair.a), ("B", pair.b)))
    return f"{b_label} is better than {a_label}" if b else f"{a_label} is better than {b_label}"


# A label of the first pair stands for the side: different labels of one side are in the table of what differs.


def _detected(metric: Metric, floor: NoiseFloor | None) -> bool:
    """Whether a difference is significant after Holm, and larger than the noise floor where that was measured.

    Without a corrected p-value, because too few pairs were played, nothing is detected.
    """
    significant = metric.p_holm is not None and metric.p_holm <= LEVEL
    return significant and not (floor is not None and floor.within)


def _b_is_better(metric: Metric) -> bool:
    """Whether B's mean is on the better side of A's."""
    # Where less is better the sign turns; None (not declared) counts as higher is better.
    return ((metric.mean_difference or 0) > 0) == (metric.higher_is_better is not False)


def _sentence(metric: Metric, detected: bool) -> str:
    """What the pairs show of one metric: difference, interval, p, wins, and what they could have shown."""
    if metric.mean_difference is None:
        return f"{metric.name}: undefined on every pair"
    # Defined on too few pairs although the comparison has enough: said, not tested.
    if metric.n < MIN_PAIRS:
        return f"{_seen(metric)}; defined on {_pairs(metric.n)} only: no test"
    # A p of 1 would be right and would read like a test that was made.
    if metric.ties == metric.n:
        return f"{metric.name}: equal on every pair"
    parts = [f"{metric.name}: B − A = {signed_text(metric.mean_difference)} {metric.unit or ''}".rstrip()]
    if metric.interval is not None:
        low, high = metric.interval
        parts.append(f"95 % interval {signed_text(low)} to {signed_text(high)}")
    if metric.p is not None:
        parts.append(f"sign-flip p {p_text(metric.p)} ({metric.p_method}), after Holm {p_text(metric.p_holm)}")
    parts.append(f"B better in {metric.wins}, equal in {metric.ties}, worse in {metric.losses} of {metric.n} pairs")
    ties = _ties(metric)
    if ties:
        parts.append(ties)
    # A difference that was found needs no excuse about the number of pairs.
    if not detected:
        parts.append(_reach(metric))
    return ", ".join(parts)


def _noise(floor: NoiseFloor | None, same_agent: bool, metric: Metric) -> str:
    """How a difference compares with the noise floor; empty where no floor was measured."""
    if floor is None or floor.half_width is None or floor.within is None:
        return ""
    shown = f"noise floor ±{number_text(floor.half_width)} ({_pairs(floor.n)})"
    # A/A runs are the floor: "larger than the floor" would compare them with themselves.
    if same_agent:
        return f", {shown}"
    if floor.within:
        return f", within the A/A {shown}"
    significant = _detected(metric, floor)
    return f", larger than the A/A {shown}" + ("" if significant else f", but not significant with {_pairs(metric.n)}")


def _ties(metric: Metric) -> str:
    """How equal pairs limit the test; empty where they do not matter.

    Flipping the sign of 0 changes nothing, so with t ties among n pairs p is at least 2^(1 + t − n).
    """
    least = min(1.0, 2.0 ** (1 + metric.ties - metric.n))
    if not metric.ties or least < _SMALL:
        return ""
    ties = "1 tie" if metric.ties == 1 else f"{metric.ties} ties"
    return f"{ties}: the least p possible is {p_text(least)}"


def _reach(metric: Metric) -> str:
    """The smallest difference that these pairs could have shown."""
    least = f"{metric.n} pairs would show {number_text(metric.minimum_detectable)} or more with power 0.8"
    # So many pairs were played and the difference was not found: naming the number would contradict that.
    if metric.pairs_needed is None or metric.pairs_needed <= metric.n:
        return least
    return f"{least}; {metric.pairs_needed:,} pairs would show the difference seen"


def _seen(metric: Metric) -> str:
    """A difference without any test, for few pairs."""
    if metric.mean_difference is None:
        return f"{metric.name}: undefined on every pair"
    shown = f"{metric.name}: B − A = {signed_text(metric.mean_difference)} {metric.unit or ''}".rstrip()
    return f"{shown} in the mean, B better in {metric.wins}, equal in {metric.ties}, worse in {metric.losses}"


def _pairs(n: int) -> str:
    """A number of pairs in words."""
    return "1 pair" if n == 1 else f"{n} pairs"


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


def _joined(sentences: Sequence[str]) -> str:
    """Sentences in one paragraph; the parts come without a full stop."""
    return ". ".join(sentences) + "."
