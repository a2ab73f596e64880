"""BAZAAR: its baselines asked for every quote of public games, the ranking of their field, and its scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from benchmarks.baseline_games import FILE, read_games
from benchmarks.bazaar_traders import GAMES, LAWS, NINE, agreement, field_scores, spearman
from benchmarks.fidelity.bazaar_scores import csa_rows
from benchmarks.fidelity.row import Row

_COMMAND = "python -m benchmarks.bazaar_traders"

# README of github.com/lechmazur/bazaar, July 2025, column avg_csa: about 24,000 games of each baseline (10,000 of the
# three fixed ones), most of them among baselines only.
PUBLISHED: Mapping[str, float] = {
    "enhanced_bayesian": 0.105,
    "momentum": 0.097,
    "risk_aware": 0.090,
    "threat_tit_for_tat": 0.060,
    "contrarian": 0.050,
    "stochastic_shading_bandit": 0.049,
    "gdx": 0.042,
    "sniper": 0.038,
    "regime_switcher": 0.031,
    "regression": 0.021,
    "shading5": 0.013,
    "signal_jammer": 0.012,
    "zic_plus": 0.009,
    "enhanced_adaptive_aggressive": 0.000,
    "roth_erev": -0.002,
    "shading10": -0.008,
    "mean_reversion": -0.012,
    "adaptive_aggressive_cliff": -0.020,
    "truthful": -0.036,
    "collusive": -0.041,
    "fictitious": -0.043,
    "qlearning": -0.049,
    "zic_pure_biased_activity": -0.049,
    "gd": -0.075,
    "adversarial_exploiter": -0.090,
    "linear_eq": -0.147,
    "penny_jumper": -0.148,
    "adaptive": -0.450,
    "random": -0.546,
}


def rows(data: Path | None) -> Iterator[Row]:
    """Agreement on the half of the games that no rule was read off, the ranking of the field, and the scores."""
    if data is not None and (data / FILE).is_file():
        games = [game for game in read_games(data / FILE) if game.half == "test"]
        for player in NINE:
            found = agreement(games, player)
            if player in LAWS:
                what = f"{player}: Kolmogorov–Smirnov distance of logged shades and ours, mean of rounds (0: equal)"
                yield Row(what, 0.0, found.distance, None, None, _COMMAND, differs="a law: its draws are unknown")
            else:
                what = f"{player}: share of logged quotes that ours equals within 1 point"
                yield Row(what, 1.0, found.within, None, None, _COMMAND, ".3f", 0.1)
    what = f"field: rank correlation of mean csa_source in {GAMES:,} games with the published avg_csa of 29 baselines"
    differs = "agreed before: .70; 400 seats of a baseline leave chance, and seats whose key no public log determines"
    yield Row(what, 1.0, spearman(PUBLISHED, field_scores(GAMES)), None, None, _COMMAND, differs=differs)
    yield from csa_rows(data)
