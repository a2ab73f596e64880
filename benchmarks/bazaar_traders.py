"""Baselines of the public BAZAAR games asked for every logged quote: `python -m benchmarks.bazaar_traders`.

Each trader sees the true past of its seat (its logged quotes too), and its quote is compared with the logged one. Two
tables: quotes by trader and half of the games, and scores of the field next to those of the public games. Needs
`TRADEFAIR_DATA`, the folder with `bazaar/baseline_games.jsonl.gz`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, cast

from benchmarks.baseline_games import FILE, Asked, BaselineGame, Half, ask, read_games, scores
from benchmarks.double_auction_fast import play_fast
from tradefair.catalog import load_scenario
from tradefair.contract import Chance, Draw
from tradefair.contract.policy import rule_name
from tradefair.double_auction.model import DoubleAuctionScenario, role_of
from tradefair.double_auction.seats.traders import TRADERS
from tradefair.double_auction.seats.traders_identified import BAZAAR_FIELD, IDENTIFIED_TRADERS
from tradefair.double_auction.seats.traders_replayed import REPLAYED_TRADERS
from tradefair.evaluation.markets.double_auction.source_table import csa_source
from tradefair.evaluation.markets.double_auction.surplus_alpha import SeatResult, Shape
from tradefair.evaluation.read.arithmetic import rank_correlation
from tradefair.runner.plans.episodes import LAW_CYCLE

GAMES = 1_500
"""Games of the field."""
_RULES = {rule_name(rule): rule for rule in (*TRADERS, *IDENTIFIED_TRADERS)}
_REPLAYED = {*map(rule_name, REPLAYED_TRADERS)}
NINE = tuple(player for player, name in BAZAAR_FIELD.items() if name in _REPLAYED)
"""Log ids of the baselines that were identified in these games."""
LAWS = frozenset({"signal_jammer", "gdx", "risk_aware"})
"""Those of the nine that draw: their distributions are compared, not their quotes."""
_DRAWS = 5


class Agreement(NamedTuple):
    """How near a trader's quotes come to the logged ones.

    `equal` and `within` (a point) are shares of `rounds`; `distance` is the Kolmogorov–Smirnov distance of the shades
    below the value, the mean over rounds 1..30, `worst` the largest of a round.
    """

    rounds: int
    equal: float
    within: float
    distance: float
    worst: float


def agreement(games: Iterable[BaselineGame], player: str) -> Agreement:
    """Over every seat of a baseline, by its log id; a law answers with several keyed draws."""
    rule = _RULES[BAZAAR_FIELD[player]]
    draws = _DRAWS if player in LAWS else 1
    asked: list[Asked] = []
    for game in games:
        for seat, entry in game.seats.items():
            if entry.player == player:
                for number in range(draws):
                    asked += ask(game, seat, rule(), Draw.of(number, f"{game.game}:{seat}"))
    if not asked:
        return Agreement(0, 0.0, 0.0, 0.0, 0.0)
    asked.sort()
    distances = [_distance(list(answers)) for _, answers in groupby(asked, key=lambda answer: answer.place)]
    return Agreement(
        len(asked) // draws,
        fmean(answer.ours == answer.logged for answer in asked),
        fmean(abs(answer.ours - answer.logged) <= 1 for answer in asked),
        fmean(distances),
        max(distances),
    )


def _distance(answers: Sequence[Asked]) -> float:
    """Kolmogorov–Smirnov, of the logged shades and ours."""
    counts: dict[int, int] = defaultdict(int)
    for answer in answers:
        counts[answer.logged] += 1
        counts[answer.ours] -= 1
    most = total = 0
    for shade in sorted(counts):
        total += counts[shade]
        most = max(most, abs(total))
    return most / len(answers)


def public_scores(games: Iterable[BaselineGame]) -> Mapping[str, float]:
    """Mean `csa_source` by log id, of the scripted seats of the public games; seats without a key do not count."""
    found: dict[str, list[float]] = defaultdict(list)
    for game in games:
        for seat, score in scores(game).items():
            if score is not None and game.seats[seat].player in BAZAAR_FIELD:
                found[game.seats[seat].player].append(score)
    return {player: fmean(values) for player, values in found.items()}


def field_scores(count: int) -> Mapping[str, Sequence[float]]:
    """Each `csa_source` by log id in so many games of the field: eight of its traders, drawn and seated by the seed."""
    chance = Chance("benchmarks.bazaar_traders")
    found: dict[str, list[float]] = defaultdict(list)
    bases = {law: load_scenario("double_auction", "bazaar", {"distribution": law}) for law in LAW_CYCLE}
    for seed in range(1, count + 1):
        law = LAW_CYCLE[(seed - 1) % len(LAW_CYCLE)]
        scenario = cast(DoubleAuctionScenario, bases[law])
        drawn = sorted(BAZAAR_FIELD, key=lambda player: chance.uniform("field", seed, player))
        players = dict(zip(scenario.roster.seats, drawn, strict=False))
        state = play_fast(scenario, seed, {seat: BAZAAR_FIELD[player] for seat, player in players.items()}).state
        shape = Shape(scenario.n_buyers, scenario.n_sellers, scenario.rounds, scenario.price_max, law)
        private, spread = state.private, state.rounds[-1].residual_spread
        for seat, player in players.items():
            result = SeatResult(
                role_of(seat), private.by_seat[seat], state.payoff[seat], private.potential[seat], spread
            )
            score = csa_source(shape, result)
            if score is not None:
                found[player].append(score.score)
    return found


def spearman(public: Mapping[str, float], ours: Mapping[str, float]) -> float:
    """Rank correlation over the players of both; 0 where these do not differ."""
    players = sorted(set(public) & set(ours))
    return rank_correlation([public[player] for player in players], [ours[player] for player in players]) or 0.0


def lines(games: Sequence[BaselineGame], players: Iterable[str]) -> Iterator[str]:
    """The table of agreement, in Markdown."""
    yield "| log id | kind | half | quotes | equal | within 1 | KS, mean round | KS, worst round |"
    yield "|---|---|---|---|---|---|---|---|"
    for player in players:
        for half in cast(tuple[Half, ...], ("train", "test")):
            found = agreement((game for game in games if game.half == half), player)
            kind = "law" if player in LAWS else "rule"
            yield (
                f"| {player} | {kind} | {half} | {found.rounds:,} | {found.equal:.1%} | {found.within:.1%} "
                f"| {found.distance:.3f} | {found.worst:.3f} |"
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bazaar_traders", description=__doc__)
    parser.add_argument("--games", type=int, default=GAMES, help=f"games of the field, 0 for none (default {GAMES})")
    parser.add_argument("--player", choices=sorted(BAZAAR_FIELD), action="append", help="only this log id; repeatable")
    given = parser.parse_args(arguments)
    if not os.environ.get("TRADEFAIR_DATA"):
        parser.error("TRADEFAIR_DATA names no folder of public games")
    games = list(read_games(Path(os.environ["TRADEFAIR_DATA"]) / FILE))
    print("\n".join(lines(games, given.player or NINE)))
    if given.games > 0:
        field = field_scores(given.games)
        public, ours = public_scores(games), {player: fmean(scores) for player, scores in field.items()}
        print(f"\n| log id | csa_source, public games | csa_source, {given.games} games of the field |\n|---|---|---|")
        for player in sorted(ours, key=ours.__getitem__, reverse=True):
            print(f"| {player} | {public.get(player, float('nan')):.3f} | {ours[player]:.3f} |")
        print(f"\nSpearman over {len(ours)} baselines: {spearman(public, ours):.2f}")


if __name__ == "__main__":
    sys.exit(main())
