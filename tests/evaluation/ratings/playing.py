"""Traces whose seats are played and labelled by different policies, and results made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.calling import seating
from tests.evaluation.playing import played_out
from tests.traces import kept

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.ratings.results import GameResult, SeatResult


@kept
def play_seats(
    path: Path,
    scenario: str,
    policies: Mapping[str, str],
    seed: int,
    *,
    compared: Sequence[str] = (),
    created: str = "",
    **overrides: Any,
) -> Path:
    """An episode with a policy per seat, labelled with it and sealed; `compared` are under test."""
    kind = market_type(scenario.partition("/")[0])
    core = Core.create(kind, load_scenario(kind.name, scenario, overrides), seed)
    who = seating(core.market.seats, policies, labels=policies, compared=tuple(compared))
    return played_out(path, core, policies, who, created=created)


def bargain(
    buyer: str, seller: str, profits: tuple[float, float], seed: int, *, potential: float = 400.0, **changes: Any
) -> GameResult:
    """A bargaining game as ratings read it."""
    numbers = [(profit, profit / 20, None, 0.0, 0.0, 0.0) for profit in profits]
    game = GameResult(
        path=f"{buyer}-{seller}-{seed}.trace",
        market="bargaining",
        scenario="bargaining/pact",
        shape='{"rounds":20}',
        rules_version="1",
        seed=seed,
        head=f"{seed:03}{'ab'[buyer > seller]}{int(profits[0]):05}{int(profits[1]):05}{potential}",
        foreign=False,
        seats=(
            SeatResult("B1", "buyer", buyer, False, numbers[0]),
            SeatResult("S1", "seller", seller, False, numbers[1]),
        ),
        figures=(1.0, 1.0),
        potential=potential,
        unusable="",
    )
    return game._replace(**changes)


def auction(labels: str, shares: tuple[float | None, ...], seed: int, **changes: Any) -> GameResult:
    """An auction of as many seats as `labels` has letters; every score is the share, csa are unknown."""
    seats = tuple(
        SeatResult(
            f"B{place}", "buyer", label, False, (None, None, share, share and 100 * share, None, None, 0.5, None)
        )
        for place, (label, share) in enumerate(zip(labels, shares, strict=True), start=1)
    )
    game = GameResult(
        path=f"{seed}.trace",
        market="double_auction",
        scenario="double_auction/bazaar",
        shape='{"chat":{"enabled":false},"rounds":30}',
        rules_version="2",
        seed=seed,
        head=f"{seed:04}{shares}",
        foreign=False,
        seats=seats,
        figures=(0.9, None),
        potential=None,
        unusable="",
    )
    return game._replace(**changes)


def within(low: float | None, value: float | None, high: float | None) -> bool:
    """Whether a value lies inside an interval, and all three are known."""
    return low is not None and value is not None and high is not None and low < value < high
