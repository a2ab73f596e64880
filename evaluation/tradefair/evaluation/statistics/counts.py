"""Statistics of what happened or did not: early ends and successes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence


def kaplan_meier(times: Sequence[int], ended: Sequence[bool]) -> list[tuple[int, float]]:
    """Survival after each time at which one or more ended (Kaplan & Meier 1958), from (0, 1) to the last time.

    `times` are rounds observed; where `ended` is false the episode was only watched that long.
    """
    events = Counter(time for time, event in zip(times, ended, strict=True) if event)
    steps, share = [(0, 1.0)], 1.0
    # Only times with an event make a step: a censored episode changes who is at risk, not the share.
    for time in sorted(events):
        # An episode that was watched up to this round counts as at risk in it, ended or not.
        at_risk = sum(observed >= time for observed in times)
        share *= 1 - events[time] / at_risk
        # Nine decimals, as everywhere in these statistics: products in another order must not show.
        steps.append((time, round(share, 9)))
    # The curve goes on to the last time observed, flat: without it, long survival would look cut off.
    if times and max(times) > steps[-1][0]:
        steps.append((max(times), steps[-1][1]))
    return steps


def mcnemar_p(only_a: int, only_b: int) -> float:
    """Two-sided p-value, 0 to 1, of the exact McNemar test: are `only_a` and `only_b` those of a fair coin?

    They count the pairs in which only one side had the event. Pairs in which both had it, or neither, say nothing.
    """
    n = only_a + only_b
    # No event on either side alone: the sum is 1 and the result is cut to 1, so p is 1.
    tail = sum(math.comb(n, k) for k in range(min(only_a, only_b) + 1))
    return min(1.0, round(2 * tail / 2**n, 9))


def fisher_p(raised_a: int, of_a: int, raised_b: int, of_b: int) -> float:
    """Two-sided p-value, 0 to 1, of Fisher's exact test (1935): does a share differ between two groups?

    The chance, with both margins fixed, of all tables that are no more likely than this one.
    """
    raised, total = raised_a + raised_b, of_a + of_b
    ways = [
        math.comb(of_a, here) * math.comb(of_b, raised - here)
        for here in range(max(0, raised - of_b), min(of_a, raised) + 1)
    ]
    # Whole numbers: no table is as likely as this one in one rounding and less likely in another.
    here = ways[raised_a - max(0, raised - of_b)]
    return round(sum(way for way in ways if way <= here) / math.comb(total, raised), 9)


def pass_hat_k(successes: int, trials: int, k: int) -> float | None:
    """Chance that k of the trials, drawn without putting back, all succeeded; null with fewer than k trials."""
    # With fewer than k trials nothing is known about k of them; 0 would be read as failure.
    if k < 1 or trials < k:
        return None
    return math.comb(successes, k) / math.comb(trials, k)
