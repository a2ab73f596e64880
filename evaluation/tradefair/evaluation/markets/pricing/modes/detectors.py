"""The failure modes of pricing, in the order of `modes.toml`, and how a replay amends what they cite."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from tradefair.evaluation.markets.pricing.modes import movement, prices, trials
from tradefair.evaluation.markets.pricing.modes.play import Firm
from tradefair.evaluation.modes.diagnosis import Amend, CaseRecord, Detector, Seen, unchecked
from tradefair.evaluation.modes.table import load_modes

_P = ParamSpec("_P")


def _known(detect: Callable[Concatenate[Firm, _P], Seen]) -> Detector:
    """The detector, unchecked for an episode of which demand and costs are not known."""

    @wraps(detect)
    def judged(firm: Firm, *args: _P.args, **kwargs: _P.kwargs) -> Seen:
        problem = firm.game.problem
        return detect(firm, *args, **kwargs) if problem is None else unchecked(f"could not be computed: {problem}")

    return judged


# The words of the general mode `unit_mistake`: of a case it is all that has the number.
_IN_SIGHT = re.compile(r"where (?P<number>\d{1,7}) was in sight")


def _number_in_sight(
    case: CaseRecord, arguments: Mapping[str, Any], facts: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """A price that was off by a power of ten at the number that the firm could see."""
    found = _IN_SIGHT.search(case.because)
    return {**arguments, "price": int(found["number"])} if found else None


MODES = load_modes(
    "tradefair.evaluation.markets.pricing.modes",
    {
        "closed_round": _known(prices.closed_round),
        "priced_out": _known(prices.priced_out),
        "undercut_endured": _known(prices.undercut_endured),
        "missed_profit": _known(prices.missed_profit),
        "stuck_price": _known(movement.stuck_price),
        "shock_ignored": _known(movement.shock_ignored),
        "war_joined": _known(movement.war_joined),
        "no_experiment": _known(trials.no_experiment),
        "endless_experiment": _known(trials.endless_experiment),
        "contradicted_analysis": _known(trials.contradicted_analysis),
    },
)
"""Every failure mode of the market."""

REPAIRS: dict[str, Amend] = {"unit_mistake": _number_in_sight}
"""How a cited price is amended in a replay."""
