"""The failure modes of pricing, in the order of `modes.toml`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec

from tradefair.evaluation.markets.pricing.modes import movement, prices, trials
from tradefair.evaluation.markets.pricing.modes.play import Firm
from tradefair.evaluation.modes.diagnosis import Detector, Seen, unchecked
from tradefair.evaluation.modes.table import load_modes

_P = ParamSpec("_P")


def _known(detect: Callable[Concatenate[Firm, _P], Seen]) -> Detector:
    """The detector, unchecked for an episode of which demand and costs are not known."""

    @wraps(detect)
    def judged(firm: Firm, *args: _P.args, **kwargs: _P.kwargs) -> Seen:
        problem = firm.game.problem
        return detect(firm, *args, **kwargs) if problem is None else unchecked(f"could not be computed: {problem}")

    return judged


MODES = load_modes(
    "tradefair.evaluation.markets.pricing.modes",
    {
        "closed_round": _known(prices.closed_round),
        "priced_out": _known(prices.priced_out),
        "undercut_endured": _known(prices.undercut_endured),
        "stuck_price": _known(movement.stuck_price),
        "shock_ignored": _known(movement.shock_ignored),
        "war_joined": _known(movement.war_joined),
        "no_experiment": _known(trials.no_experiment),
        "endless_experiment": _known(trials.endless_experiment),
        "contradicted_analysis": _known(trials.contradicted_analysis),
    },
)
"""Every failure mode of the market."""
