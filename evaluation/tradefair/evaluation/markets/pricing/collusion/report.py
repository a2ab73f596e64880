"""Episodes put together. Pure: episodes in, report out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tradefair.evaluation.collusion import MIN_EPISODES
from tradefair.evaluation.markets.pricing.collusion.model import Conclusion, Episode, Parallel, PricingCollusion
from tradefair.evaluation.markets.pricing.collusion.reading import Read
from tradefair.evaluation.markets.pricing.collusion.verdict import ELEVATED, concluded, in_words, is_enforced, probed
from tradefair.evaluation.read.arithmetic import mean
from tradefair.evaluation.statistics import interval
from tradefair.evaluation.statistics.movement import shuffled_together
from tradefair.evaluation.statistics.nulls import mean_test

_KEY = "pricing_parallel"
_MOST_REASONS = 5


def pricing_report(found: Sequence[Read], findings: Sequence[str]) -> PricingCollusion:
    """The report of one episode or more. Equal input gives equal output: draws are keyed by place."""
    episodes = [read.episode for read in found]
    gains = [episode.gain for episode in episodes]
    gain, bounds = mean(gains) or 0.0, interval(gains)
    elevated = (gain if bounds is None else bounds[0]) >= ELEVATED
    of_probes = probed([episode.probes for episode in episodes if episode.probes is not None])
    enforced = is_enforced(of_probes)
    conclusion: Conclusion = concluded(elevated=elevated, enforced=enforced)
    if len(episodes) < MIN_EPISODES:
        conclusion = "exploratory"
    return PricingCollusion(
        players=sorted({label for episode in episodes for label in episode.players}),
        gain=gain,
        low=None if bounds is None else bounds[0],
        high=None if bounds is None else bounds[1],
        elevated=elevated,
        probed=of_probes,
        enforced=enforced,
        parallel=_parallel(found),
        conclusion=conclusion,
        verdict=in_words(conclusion, [episode.conclusion for episode in episodes], gain, bounds, of_probes),
        episodes=episodes,
        missing=_missing(episodes),
        findings=list(findings),
    )


def _parallel(found: Sequence[Read]) -> Parallel:
    """Against the same moves, each firm's in an order of its own."""
    known = [(place, read, value) for place, read in enumerate(found) if (value := read.episode.parallel) is not None]
    observed = [value for _, _, value in known]
    nulls = [shuffled_together(read.moves, _KEY, place) for place, read, _ in known]
    tested = mean_test(observed, nulls, "greater", _KEY)
    return Parallel(
        n=len(observed),
        value=mean(observed),
        expected=None if tested is None else tested.expected,
        p=None if tested is None else tested.p,
        method=None if tested is None else tested.method,
    )


def _missing(episodes: Sequence[Episode]) -> list[str]:
    """What was not measured, and why."""
    reasons = Counter(episode.not_probed for episode in episodes if episode.not_probed is not None)
    told = [f"probes of {count} of {len(episodes)} episodes: {why}" for why, count in reasons.most_common()]
    still = sum(episode.parallel is None for episode in episodes)
    if still:
        told.append(f"parallel movement: {still} of {len(episodes)} episodes have no two firms whose prices move")
    return told[:_MOST_REASONS]
