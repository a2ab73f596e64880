"""Failure modes of attention to objects (RetailBench, stages 1 and 4)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.hooked import inapplicable
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def distinct(rounds: Iterable[int]) -> list[int]:
    """Each round once, in order."""
    return sorted(set(rounds))


def within(rounds: Mapping[str, Sequence[int]], about: str, first: int, last: int) -> bool:
    """Whether one of the sorted rounds of an object lies in first..last."""
    known = rounds.get(about, ())
    # The rounds are sorted (`distinct`): long episodes have thousands of objects and rounds.
    place = bisect_left(known, first)
    return place < len(known) and known[place] <= last


def narrow_attention(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Objects that called for an action and got none.

    What the market says was wanted in a round, without an action in that round or the few before it.
    """
    wanted = play.insight.wanted
    if wanted is None or play.seat not in wanted:
        return inapplicable(play, "narrow_attention", "no object calls for an action in this market")
    acted = {about: distinct(at.round for at in times) for about, times in play.acted.items()}
    # An action some rounds earlier may still be in force, such as an order on its way.
    back = int(limits["look_back"])
    calls = wanted[play.seat]
    missed = [call for call in calls if not within(acted, call.about, call.round - back, call.round)]
    costs = [call.cost for call in missed if call.cost is not None]
    counted = share(len(missed), len(calls), (call.seq for call in missed))
    high = counted.value is not None and counted.value >= limits["missed"]
    parts = {"objects_acted_on": len(acted)}
    # Null, not 0, where no cost is known: "cost nothing" would be a claim.
    return sign_of(high, counted, parts=parts, severity=sum(costs) if costs else None)


def follow_up(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Objects that were acted on and never looked at again.

    Object-rounds with an action and attention afterwards; those too late to be followed up are left out, counted.
    """
    # Without an object in the evidence map it is not known what an action is about.
    if play.episode.objects is None or "follow_up" in play.insight.absent:
        return inapplicable(play, "follow_up", "actions of this market are about no object")
    window, last = int(limits["window"]), max((closed.round for closed in play.rounds), default=0)
    attended = {about: distinct(rounds) for about, rounds in play.attended.items()}
    # By object and round: several actions on an object in one round are followed up together.
    pairs = {(about, at.round): at.seq for about, times in play.acted.items() for at in times}
    # Where the window reaches beyond the last closed round, the seat had no time left to follow up.
    at_risk = {pair: seq for pair, seq in pairs.items() if pair[1] + window <= last}
    # From the next round on: the action itself is no look at what came of it.
    left = [seq for (about, at), seq in at_risk.items() if not within(attended, about, at + 1, at + window)]
    counted = share(len(at_risk) - len(left), len(at_risk), sorted(left))
    low = counted.value is not None and counted.value <= limits["followed"]
    late = len(pairs) - len(at_risk)
    return sign_of(low, counted, note=f"{late} too late to be followed up" if late else None)


def resolved(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Trouble with an object that the seat did not look into.

    What happened to objects and was looked into afterwards; severity: the known cost of what was not.
    """
    happenings = play.insight.happenings
    if happenings is None or play.seat not in happenings:
        return inapplicable(play, "resolved", "nothing happens to objects in this market")
    window, last = int(limits["window"]), max((closed.round for closed in play.rounds), default=0)
    attended = {about: distinct(rounds) for about, rounds in play.attended.items()}
    events = happenings[play.seat]
    at_risk = [event for event in events if event.round + window <= last]
    left = [event for event in at_risk if not within(attended, event.about, event.round + 1, event.round + window)]
    costs = [event.cost for event in left if event.cost is not None]
    counted = share(len(at_risk) - len(left), len(at_risk), (event.seq for event in left))
    low = counted.value is not None and counted.value <= limits["resolved"]
    late = len(events) - len(at_risk)
    note = f"{late} too late to be looked into" if late else None
    return sign_of(low, counted, severity=math.fsum(costs) if costs else None, note=note)
