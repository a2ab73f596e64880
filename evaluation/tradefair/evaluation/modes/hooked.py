"""Failure modes that the market's own evaluator counts (`insight`), and what they share."""

from __future__ import annotations

import math
from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.insight import Counted
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def inapplicable(play: SeatPlay, name: str, reason: str) -> Sign:
    """Not looked for: the market's own reason, else a general one."""
    # The market's reason says more: it knows why the mode does not apply.
    return Sign(False, 0, note=play.insight.absent.get(name, reason), checked=False)


def hooked(
    play: SeatPlay, name: str, counted: Counted | None, *, least_share: float = 0, least_cases: float = 1
) -> Sign:
    """Raised from `least_share` and `least_cases` on. Severity: the sum of known costs, null where none is known."""
    # A seat that is missing in `of` was not looked at, which is not the same as clear.
    if counted is None or play.seat not in counted.of:
        return inapplicable(play, name, f"the market {play.episode.market} has no test for it")
    cases = counted.cases.get(play.seat, ())
    found = share(len(cases), counted.of[play.seat], (seq for case in cases for seq in case.events))
    # Cases of unknown cost count as cases and add nothing here.
    costs = [case.cost for case in cases if case.cost is not None]
    raised = len(cases) >= least_cases and (found.value or 0) >= least_share
    return sign_of(raised, found, severity=math.fsum(costs) if costs else None)


def idle_drift(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Rounds without an action although one would have paid.

    The market's own test, without an oracle; severity: what it says that the missed actions were worth.
    """
    return hooked(play, "idle_drift", play.insight.idle, least_share=limits["idle"])


def below_cost(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Sales below what the goods cost.

    Sales as the market counts them; severity: how far revenue fell short of cost.
    """
    return hooked(play, "below_cost", play.insight.below_cost, least_share=limits["below"])


def value_breach(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Buying above the own value, selling below the own cost.

    Quotes through the own value; severity: what the trades among them lost.
    """
    return hooked(play, "value_breach", play.insight.value_breach, least_cases=limits["breaches"])


def overspend(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Commitments beyond the seat's funds.

    Actions that the rules refused because the seat cannot pay for them.
    """
    if "overspend" in play.insight.absent:
        # The market says itself that nothing can be overspent.
        return inapplicable(play, "overspend", "")
    # Ending the turn costs nothing, so it is no try.
    tried = [step for step in play.direct() if step.acts and not step.ends_turn]
    beyond = [step.seq for step in tried if step.code == "insufficient_funds"]
    counted = share(len(beyond), len(tried), beyond)
    high = counted.value is not None and counted.value >= limits["overspent"]
    return sign_of(high and len(beyond) >= limits["min_overspent"], counted)
