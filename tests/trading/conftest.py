from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.sample import sample

from tradefair.trading.chance import LogSeedChance
from tradefair.trading.clearing import Match, benchmarks, clear
from tradefair.trading.game_log import GameLog, read_game
from tradefair.trading.values import Acceptance, Roster

_SEATS: tuple[str, ...] = ("S2", "B1", "B2", "S1")
_SEED = 20250713
_ROUNDS = 3


def _read(path: Path) -> GameLog:
    with path.open("rb") as lines:
        return read_game(lines, path.name)


@pytest.fixture(scope="session")
def sample_logs() -> dict[str, list[GameLog]]:
    """Every public game of the sample data folder, parsed, by study."""
    logs = sample("logs")
    studies = ("bazaar", "emergent_collusion", "pact")
    return {study: [_read(path) for path in sorted((logs / study).glob("*.jsonl"))] for study in studies}


def _agent(seat: str, limit: int) -> dict[str, Any]:
    buyer = seat.startswith("B")
    return {
        "role": "buyer" if buyer else "seller",
        "model_name": "truthful",
        "is_llm": False,
        "valuation": limit if buyer else None,
        "cost": None if buyer else limit,
        "strategy_params": None,
    }


def _trade_rows(
    number: int, match: Match, gains: dict[str, int], payoffs: dict[str, float]
) -> Iterator[dict[str, Any]]:
    yield {
        "type": "trade",
        "round": number,
        "buyer_id": match.buyer,
        "seller_id": match.seller,
        "bid": match.bid,
        "ask": match.ask,
        "cleared_price": float(match.price),
        "midpoint_exact": (match.bid + match.ask) / 2,
        "clearing_random_pick": match.coin == "up",
        "maker_id": match.maker,
        "maker_round": number,
    }
    for seat in (match.buyer, match.seller):
        old = payoffs[seat]
        payoffs[seat] = old + gains[seat]
        yield {
            "type": "payoff_change",
            "round": number,
            "seat_id": seat,
            "old_payoff": old,
            "new_payoff": payoffs[seat],
            "delta": float(gains[seat]),
        }


def _rows() -> Iterator[dict[str, Any]]:
    """A game of truthful seats in the public format, made by our own rules."""
    roster = Roster.of(2, 2)
    chance = LogSeedChance(_SEED, roster, _SEATS, "maker_draw", chat=True)
    values = chance.limits("uniform", Acceptance()).values
    bids = {seat: values[seat] for seat in roster.buyers}
    asks = {seat: values[seat] for seat in roster.sellers}
    best = benchmarks(bids.values(), asks.values(), 100)
    payoffs = dict.fromkeys(_SEATS, 0.0)
    yield {
        "type": "init",
        "data": {
            "distribution": "uniform",
            "communication_enabled": True,
            "communication_step": None,
            "num_rounds": _ROUNDS,
            "num_buyers": 2,
            "num_sellers": 2,
            "random_seed_value": _SEED,
            "default_baseline_strategy": None,
            "agents": {seat: _agent(seat, values[seat]) for seat in _SEATS},
        },
    }
    for number in range(1, _ROUNDS + 1):
        speaker = chance.speaking_order(number)[0]
        order = chance.quote_order(number)
        yield {
            "type": "conversation",
            "round": number,
            "player_id": speaker,
            "recipient_id": "all_traders",
            "message": "hello",
        }
        for seat in order:
            role = "buyer" if seat in bids else "seller"
            yield {"type": "bid_ask", "round": number, "agent_id": seat, "role": role, "price": values[seat]}
        matches = clear(
            bids,
            asks,
            order,
            lambda pair, number=number: chance.round_up(number, pair),
            lambda pair, earlier, number=number: chance.maker(number, pair, earlier),
        )
        for match in matches:
            gains = {match.buyer: values[match.buyer] - match.price, match.seller: match.price - values[match.seller]}
            yield from _trade_rows(number, match, gains, payoffs)
        yield {
            "type": "round_end",
            "round": number,
            "data": {
                "round": number,
                "payoff_map": dict(payoffs),
                "clearing_prices": [float(match.price) for match in matches],
                "round_surplus": float(sum(values[m.buyer] - values[m.seller] for m in matches)),
                "max_surplus": float(best.max_surplus),
                "normalized_surplus": 1.0,
                "trade_count": len(matches),
                "avg_price": 0.0,
                "price_volatility": 0.0,
            },
        }
    yield {
        "type": "final",
        "data": {
            "aborted": False,
            "final_payoff_map": dict(payoffs),
            "seat_max_potential_surplus_map": dict.fromkeys(_SEATS, 1.0),
            "seat_surplus_share_map": dict.fromkeys(_SEATS, 0.5),
            "seat_csa_map": {},
            "total_surplus": sum(payoffs.values()),
            "max_surplus": float(_ROUNDS * best.max_surplus),
            "market_efficiency": 1.0,
        },
    }


@pytest.fixture(scope="session")
def base_rows() -> list[dict[str, Any]]:
    """The rows of a sound synthetic log: 2+2 seats, three rounds with chat and at least one trade each. Read only."""
    head = {"schema_version": "1.4.0", "game_id": "made_1", "model_name": None, "strategy": None}
    return [{**head, "log_sequence": number, **row} for number, row in enumerate(_rows(), 1)]


@pytest.fixture
def game_rows(base_rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A copy of `base_rows` to damage."""
    return copy.deepcopy(base_rows)
