"""Failure modes of attention to objects (RetailBench, stages 1 and 4)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from pydantic import NonNegativeInt, PositiveInt

from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.evaluation.modes.hooked import inapplicable
from tradefair.evaluation.modes.insight import Happening
from tradefair.evaluation.modes.play import SeatPlay


def distinct(rounds: Iterable[int]) -> list[int]:
    """Each round once, in order."""
    return sorted(set(rounds))


def within(rounds: Mapping[str, Sequence[int]], about: str, first: int, last: int) -> bool:
    """Whether one of the sorted rounds of an object lies in first..last."""
    known = rounds.get(about, ())
    # The rounds are sorted (`distinct`): long episodes have thousands of objects and rounds.
    place = bisect_left(known, first)
    return place < len(known) and known[place] <= last


def narrow_attention(play: SeatPlay, *, look_back: NonNegativeInt) -> Seen:
    """Objects that called for an action in a round, without one in that round or the `look_back` before it."""
    wanted = play.insight.wanted
    if wanted is None or play.seat not in wanted:
        return inapplicable(play, "narrow_attention", "no object calls for an action in this market")
    acted = {about: distinct(at.round for at in times) for about, times in play.acted.items()}
    calls = wanted[play.seat]
    # An action some rounds earlier may still be in force, such as an order on its way.
    missed = [call for call in calls if not within(acted, call.about, call.round - look_back, call.round)]
    cases = [_case(call, f"called for an action, none in the last {look_back} rounds") for call in missed]
    return Seen(cases, len(calls), {"objects acted on": float(len(acted))})


def follow_up(play: SeatPlay, *, window: PositiveInt) -> Seen:
    """Objects that were acted on and not looked at in the `window` rounds after; those too late are left out."""
    # Without an object in the evidence map it is not known what an action is about.
    if play.episode.objects is None or "follow_up" in play.insight.absent:
        return inapplicable(play, "follow_up", "actions of this market are about no object")
    # By object and round: several actions on an object in one round are followed up together.
    pairs = {(about, at.round): at.seq for about, times in play.acted.items() for at in times}
    acts = [Happening(at, about, seq) for (about, at), seq in sorted(pairs.items(), key=lambda pair: pair[1])]
    return _not_looked_at(play, acts, window, "was acted on and not looked at", "followed up")


def resolved(play: SeatPlay, *, window: PositiveInt) -> Seen:
    """Trouble with an object that the seat did not look into in the `window` rounds after."""
    happenings = play.insight.happenings
    if happenings is None or play.seat not in happenings:
        return inapplicable(play, "resolved", "nothing happens to objects in this market")
    return _not_looked_at(play, happenings[play.seat], window, "was in trouble and not looked into", "looked into")


def _not_looked_at(play: SeatPlay, events: Sequence[Happening], window: int, words: str, done: str) -> Seen:
    """Events on whose object there was no look in the `window` rounds after."""
    last = max((closed.round for closed in play.rounds), default=0)
    attended = {about: distinct(rounds) for about, rounds in play.attended.items()}
    # Where the window reaches beyond the last closed round, the seat had no time left.
    at_risk = [event for event in events if event.round + window <= last]
    cases = [
        _case(event, f"{words} in the next {window} rounds")
        for event in at_risk
        # From the next round on: an action itself is no look at what came of it.
        if not within(attended, event.about, event.round + 1, event.round + window)
    ]
    late = len(events) - len(at_risk)
    return Seen(cases, len(at_risk), note=f"{late} too late to be {done}" if late else None)


def _case(event: Happening, words: str) -> Case:
    because = f"round {event.round}: {event.about[:40]} {words}"
    return Case(event.seq, event.round, because, about=event.about)
