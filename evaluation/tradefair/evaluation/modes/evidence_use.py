"""Failure modes of evidence: what an action rests on, and how old that is."""

from __future__ import annotations

from collections import Counter

from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked
from tradefair.evaluation.modes.insight import EvidenceCase
from tradefair.evaluation.modes.play import SeatPlay


def missing_evidence(play: SeatPlay) -> Seen:
    """Actions, or lines of them, that rest on less than they should; each weighs the share of its needs that is unmet.

    Parts: actions without each need. A privileged seat needs no look.
    """
    if play.excuse is not None:
        return unchecked(play.excuse)
    needing = _needing(play)
    lacking = [case for case in needing if case.missing]
    parts = Counter(f"without {name}" for case in lacking for name in case.missing)
    cases = [
        _case(play, case, f"without a look at {_named(case.missing)}", len(case.missing) / case.needs)
        for case in lacking
    ]
    return Seen(cases, len(needing), {name: float(count) for name, count in sorted(parts.items())})


def stale_evidence(play: SeatPlay) -> Seen:
    """Actions whose only look at something is from before the market last moved on."""
    if play.excuse is not None:
        return unchecked(play.excuse)
    needing = _needing(play)
    cases = [
        _case(play, case, f"on a look at {_named(case.stale)} from an earlier round", 1.0)
        for case in needing
        if case.stale
    ]
    return Seen(cases, len(needing))


def _needing(play: SeatPlay) -> list[EvidenceCase]:
    # An action without needs rests on nothing and is no case.
    return [case for case in play.evidence if case.needs]


def _case(play: SeatPlay, case: EvidenceCase, words: str, weight: float) -> Case:
    tool = play.tools.get(case.seq, "an action")
    of = f" of {case.about[:40]}" if case.about else ""
    return Case(case.seq, case.round, f"round {case.round}: {tool}{of} {words}", about=case.about, amount=weight)


def _named(needs: tuple[str, ...]) -> str:
    """Needs by their first category, which is the plainest one."""
    return " and ".join(need.split("/")[0].replace("_", " ") for need in needs[:2])
