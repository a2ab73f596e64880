"""The emergent-collusion study: what its 45 sample logs and its README state, and the same figures of ours."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.fidelity.row import Row
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.markets.double_auction.collusion.game import Played, game_of
from tradefair.evaluation.markets.double_auction.collusion.players import player_figures
from tradefair.evaluation.markets.double_auction.collusion.prices import efficiency, overcharge_mid
from tradefair.evaluation.markets.double_auction.collusion.reading import read_games
from tradefair.evaluation.markets.double_auction.collusion.replayed import replayed_references
from tradefair.evaluation.read.arithmetic import mean
from tradefair.evaluation.statistics import interval
from tradefair.runner.ledger.probe import PlayedAgain
from tradefair.tracestore import find_traces

_IMPORT = "tradefair import collusion-log LOGS --out real"
_BY_LABEL = "tradefair lab collusion real --by label --play-references"
# README of the study, "Games with illegality score >= 7", in percent; the names are those of its logs.
_ILLEGAL: Mapping[str, int] = {
    "grok-4-0709": 75, "r1-0528": 71, "o4-mini": 62, "qwen3-235B": 57, "o3": 51, "mistral-medium": 47,
    "gemini-2.5-pro": 39, "claude-opus-4-20250514-0K": 36, "claude-sonnet-4-20250514-0K": 32,
    "grok-3-mini-beta-high": 30, "deepseek-fireworks-v3-0324": 26, "chatgpt-4o-03-27": 23, "grok-3-beta": 19,
}  # fmt: skip
_ANOTHER = (
    "another measure: the source's is an analyst model's opinion over all its games, ours counts quotes in the sample's"
)
_NO_FIGURE = "the source states no price figure; the samples have no arm without talk"


def rows(data: Path | None) -> Iterator[Row]:
    """Totals and payoffs by label against the logs, then what the logs do not state."""
    folder = None if data is None else data / "logs" / "emergent_collusion"
    if folder is None or not folder.is_dir():
        return
    logs = sorted(folder.glob("*.jsonl"))
    with TemporaryDirectory() as out:
        run_importer("collusion-log", logs, Path(out))
        games = read_games(find_traces(Path(out))).games
    yield from _logged([_final(log) for log in logs], games)
    yield from _judged(games)
    yield from _priced(games)


def _final(log: Path) -> Mapping[str, Any]:
    """The totals on a log's last line."""
    final: Mapping[str, Any] = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])["data"]
    return final


def _logged(finals: Sequence[Mapping[str, Any]], games: Sequence[Played]) -> Iterator[Row]:
    """What the last lines of the logs state; no chance enters."""
    yield Row("games that re-execute", len(finals), len(games), None, None, _IMPORT, "d")
    fills = sum(sum(seat.values()) for final in finals for seat in final["seat_phase_fill_map"].values())
    trades = sum(len(closed.trades) for game in games for closed in game.rounds)
    yield Row("trades", fills // 2, trades, None, None, _IMPORT, "d")
    efficient = mean(final["market_efficiency"] for final in finals)
    ours = mean(value for game in games if (value := efficiency(game_of(game, "sellers"))) is not None)
    yield Row("market efficiency, mean over games", efficient, ours or 0.0, None, None, _IMPORT, ".4f")
    stated: defaultdict[str, list[float]] = defaultdict(list)
    for final in finals:
        for label, payoff in final["final_tokens"].items():
            stated[label].append(payoff)
    earned: defaultdict[str, list[float]] = defaultdict(list)
    for game in games:
        payoffs = _payoffs(game)
        labels = dict(game.pairing.players)
        for label in set(labels.values()):
            earned[label].append(sum(payoff for seat, payoff in payoffs.items() if labels[seat] == label))
    for label in sorted(stated):
        what = f"payoff a game of `{label}`, points"
        yield Row(what, mean(stated[label]), mean(earned[label]) or 0.0, None, None, _IMPORT)


def _payoffs(game: Played) -> Mapping[str, int]:
    """Payoff by seat over all rounds, from trades and values."""
    payoffs = dict.fromkeys(game.values, 0)
    for closed in game.rounds:
        for buyer, seller, price in closed.trades:
            payoffs[buyer] += game.values[buyer] - price
            payoffs[seller] += price - game.values[seller]
    return payoffs


def _judged(games: Sequence[Played]) -> Iterator[Row]:
    """The study's only table by model beside the nearest of ours."""
    found = {row.player: row for row in player_figures(games) if (row.name, row.role) == ("obedience", "seller")}
    for label, share in _ILLEGAL.items():
        # Another cut-out of the logs need not have every model.
        if label not in found or found[label].mean is None:
            continue
        row = found[label]
        what = f"`{label}`: games judged illegal (source), obedience as seller (ours)"
        yield Row(what, f"{share} %", row.mean or 0.0, row.low, row.high, _BY_LABEL, differs=_ANOTHER)


def _priced(games: Sequence[Played]) -> Iterator[Row]:
    """Prices above the equilibrium, alone and beside each reference on the same values, orders and coins."""
    here = [overcharge_mid(game_of(game, "sellers")) for game in games]
    yield _price("overcharge, points", [price for price in here if price is not None])
    for policy, played in replayed_references(games, PlayedAgain()).by_policy.items():
        there = [overcharge_mid(game_of(game, "sellers")) for game in played]
        pairs = zip(here, there, strict=True)
        gaps = [price - other for price, other in pairs if price is not None and other is not None]
        yield _price(f"overcharge beyond `{policy}` on every seat, points", gaps)


def _price(what: str, values: Sequence[float]) -> Row:
    low, high = interval(values) or (None, None)
    return Row(what, "not published", mean(values) or 0.0, low, high, _BY_LABEL, differs=_NO_FIGURE)
