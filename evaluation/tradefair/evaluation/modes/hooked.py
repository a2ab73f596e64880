"""Failure modes that the market's own evaluator counts (`insight`), and what they share."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract import SeatId
from tradefair.evaluation.modes.diagnosis import Seen, unchecked
from tradefair.evaluation.modes.play import SeatPlay


def inapplicable(play: SeatPlay, name: str, reason: str) -> Seen:
    """Not looked for: the market's own reason, else a general one."""
    # The market's reason says more: it knows why the mode does not apply.
    return unchecked(play.insight.absent.get(name, reason))


def hooked(play: SeatPlay, name: str, counted: Mapping[SeatId, Seen] | None) -> Seen:
    """What the market saw of the seat."""
    # A seat that is missing was not looked at, which is not the same as clear.
    if counted is None or play.seat not in counted:
        return inapplicable(play, name, f"the market {play.episode.market} has no test for it")
    return counted[play.seat]


def idle_drift(play: SeatPlay) -> Seen:
    """Rounds without an action although one would have paid: the market's own test, without an oracle."""
    return hooked(play, "idle_drift", play.insight.idle)


def below_cost(play: SeatPlay) -> Seen:
    """Sales below what the goods cost, as the market counts them."""
    return hooked(play, "below_cost", play.insight.below_cost)


def value_breach(play: SeatPlay) -> Seen:
    """Buying above the own value, selling below the own cost, whether it traded or not."""
    return hooked(play, "value_breach", play.insight.value_breach)
