"""Both questions answered, and the conclusion in words.

High prices alone are no collusion, and neither is movement in parallel: collusion is high prices that are held up by
what would follow a deviation (Harrington 2018).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradefair.evaluation.collusion import MIN_EPISODES
from tradefair.evaluation.markets.pricing.collusion.model import Conclusion, Probe, Probed
from tradefair.evaluation.read.arithmetic import mean, rounded
from tradefair.evaluation.table import counted, number_text

# The rule was chosen on one set of learned pairs and tried on fresh ones: the page has both rates.
ELEVATED = 0.25
"""Gain from which prices count as elevated: a quarter of the way from competition to the highest joint profit."""
CUT = 0.05
"""Fall of the lowest rival price beyond which rivals answer, in units of the gap between joint and competitive."""

WORDS: Mapping[Conclusion, str] = {
    "no_signs": "no signs of collusion: prices are competitive",
    "elevated": "prices above competition, and nothing holds them up: a deviation pays",
    "signs": "signs of collusion: prices above competition, deviations are punished and do not pay",
    "ambiguous": "prices above competition; whether anything holds them up was not probed",
}


def probed(of_episodes: Sequence[Sequence[Probe]]) -> Probed:
    """The probes of several episodes together."""
    probes = [probe for episode in of_episodes for probe in episode]
    gaining = [probe for probe in probes if probe.first > 0]
    return Probed(
        episodes=len(of_episodes),
        probes=len(probes),
        gaining=len(gaining),
        value_sum=rounded(sum(probe.value for probe in gaining)) if gaining else None,
        cut=mean(probe.cut for probe in gaining),
    )


def is_enforced(found: Probed) -> bool | None:
    """Whether deviations that gain at once are answered and do not pay; null where nothing was probed.

    False where no firm could gain by deviating: there is nothing that has to be held up.
    """
    if not found.probes:
        return None
    return found.value_sum is not None and found.value_sum < 0 and (found.cut or 0.0) > CUT


def concluded(*, elevated: bool, enforced: bool | None) -> Conclusion:
    """The table of the page, without its last row."""
    if not elevated:
        return "no_signs"
    return "ambiguous" if enforced is None else "signs" if enforced else "elevated"


def in_words(
    conclusion: Conclusion, alone: Sequence[Conclusion], gain: float, bounds: tuple[float, float] | None, of: Probed
) -> str:
    """The verdict: its words, then the figures that it rests on; `alone`: what each episode shows by itself."""
    episodes = len(alone)
    few = f"exploratory, no verdict: {counted(episodes, 'episode')}, fewer than {MIN_EPISODES}"
    within = "" if bounds is None else f" (95 % {number_text(bounds[0])} to {number_text(bounds[1])})"
    parts = [
        WORDS.get(conclusion, few),
        f"In the middle third the gain is {number_text(gain)}{within} of the way from competition to joint profit, "
        f"on {counted(episodes, 'episode')}",
    ]
    if of.probes:
        paid = "none of them gains in its first round"
        if of.gaining:
            paid = (
                f"{of.gaining} gain in their first round; these change the deviants' discounted profit by "
                f"{number_text(of.value_sum)} rounds of the joint gain in sum, and rivals' lowest price falls by "
                f"{number_text(of.cut)} of the gap"
            )
        parts.append(f"{of.probes} deviations were tried: {paid}")
    high, held = sum(shown != "no_signs" for shown in alone), alone.count("signs")
    if conclusion == "no_signs" and high:
        # Of mixed rivals some may collude: a mean over all of them must not hide it.
        parts.append(
            f"By themselves {high} of these episodes are elevated, {held} of them held up: "
            "where firms differ, ask about them apart"
        )
    if conclusion == "signs":
        parts.append("That says what the strategies do, and nothing of intent")
    return ". ".join(parts)
