"""The failure modes of pricing, in the order of `modes.toml`."""

from __future__ import annotations

from tradefair.evaluation.markets.pricing.modes import movement, prices, trials
from tradefair.evaluation.modes.table import load_modes

MODES = load_modes(
    "tradefair.evaluation.markets.pricing.modes",
    {
        "closed_round": prices.closed_round,
        "priced_out": prices.priced_out,
        "undercut_endured": prices.undercut_endured,
        "stuck_price": movement.stuck_price,
        "shock_ignored": movement.shock_ignored,
        "war_joined": movement.war_joined,
        "no_experiment": trials.no_experiment,
        "endless_experiment": trials.endless_experiment,
        "contradicted_analysis": trials.contradicted_analysis,
    },
    problem=lambda firm: firm.game.problem,
)
"""Every failure mode of the market; nothing is judged where demand and costs are not known."""
