"""Ratings: TrueSkill over passes, Glicko-2 over shuffles, intervals of a whole tournament, and reading for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.figures import Figure, Stopwatch
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Chance, Draw
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.players import Player, Seating
from tradefair.evaluation.ratings.composite import ALPHA
from tradefair.evaluation.ratings.duels import Duel, pair_sums, scores, shares_of
from tradefair.evaluation.ratings.glicko import rate_duels
from tradefair.evaluation.ratings.results import read_results
from tradefair.evaluation.ratings.shuffles import resampled_sums
from tradefair.evaluation.ratings.trueskill import rate_episodes
from tradefair.host.seats.scripted import Scripted
from tradefair.tracestore import Written, write_trace

_LABELS = 29
_TRADERS = ("zip", "gd", "truthful", "momentum", "zic", "linear_equilibrium", "shaver", "fictitious_play")


def measure(*, tiny: bool = False) -> list[Figure]:
    """TrueSkill's goal is the issue's; 24,000 games are a tournament of the auction's field."""
    games, passes = (20, 4) if tiny else (2_000, 200)
    return [
        _trueskill(games, passes),
        _glicko(20 if tiny else 1_000),
        _shares(20 if tiny else 24_000),
        _bootstrap(20 if tiny else 24_000, 20 if tiny else 2_000),
        _reading(2 if tiny else 40),
    ]


def _trueskill(games: int, passes: int) -> Figure:
    episodes = _episodes(games)
    watch = Stopwatch()
    rate_episodes(episodes, Chance(0), passes=passes)
    how = f"{passes} passes over {games:,} games of eight labels"
    return Figure("TrueSkill", watch.seconds(), "CPU-s", 15.0, how=how)


def _glicko(games: int) -> Figure:
    duels = _duels(games)
    watch = Stopwatch()
    rate_duels(duels, Chance(0))
    return Figure(
        "Glicko-2 with margin", 1e3 * watch.seconds() / games, "CPU-ms per game", how=f"50 shuffles of {games:,}"
    )


def _shares(games: int) -> Figure:
    duels = _duels(games)
    watch = Stopwatch()
    scores(shares_of(pair_sums(duels, Chance(0))), ALPHA)
    return Figure("balanced shares", watch.seconds(), "CPU-s", how=f"{games:,} duels, 2,000 resamples of blocks")


def _bootstrap(games: int, resamples: int) -> Figure:
    table = np.ones((games, 2 * _LABELS))
    watch = Stopwatch()
    resampled_sums(Chance(0), "tournament", table, resamples, "games")
    return Figure("means of a field", watch.seconds(), "CPU-s", how=f"{resamples:,} resamples of {games:,} games")


def _reading(games: int) -> Figure:
    with TemporaryDirectory() as name:
        for seed in range(games):
            _play(Path(name) / f"{seed}.trace", seed)
        read_results([Path(name) / "0.trace"])  # imports are not reading
        watch = Stopwatch()
        read_results([name], workers=1)
        rate = games / watch.seconds()
    return Figure(
        "traces read for rating", rate, "traces per CPU-s", 17.0, "at least", "bazaar, 2,000 in 60 s on 2 cores"
    )


def _play(path: Path, seed: int) -> None:
    kind = market_type("double_auction")
    core = Core.create(kind, load_scenario("double_auction", "double_auction/bazaar", {}), seed)
    labels = dict(zip(core.market.seats, _TRADERS, strict=True))
    makers = {seat: partial(kind.policies[who].make, {}, Draw.of(seed, seat)) for seat, who in labels.items()}
    players = {seat: Player(label=who, policy=who) for seat, who in labels.items()}
    scripted, records = Scripted(makers), list(core.start(Seating(players=players)).records)
    while stretch := scripted.run(core):
        records += stretch
    about = {"end_reason": core.ended, "outcome_digest": core.outcome_digest}
    write_trace(path, core.manifest, about, [Written(record) for record in records])


def _episodes(games: int) -> list[Mapping[str, float]]:
    chance = Chance(1)
    found: list[Mapping[str, float]] = []
    for game in range(games):
        units = chance.uniforms("field", game, n=_LABELS + 8)
        field = sorted(range(_LABELS), key=units.__getitem__)[:8]
        found.append({f"label {who}": who / 20 + noise for who, noise in zip(field, units[_LABELS:], strict=True)})
    return found


def _duels(games: int) -> list[Duel]:
    chance = Chance(2)
    found: list[Duel] = []
    for game in range(games):
        one, other, first, second = chance.uniforms("duel", game, n=4)
        pair = int(_LABELS * one), int((_LABELS - 1) * other)
        opponent = pair[1] + (pair[1] >= pair[0])
        found.append(Duel(f"{pair[0]:02}", f"{opponent:02}", 400 * first, 400 * second, 1_000.0, str(game // 2)))
    return found
