"""Bargaining games, each played once in a session: by policies, or by given words and quotes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import pytest
from tests.evaluation.playing import played_by, store
from tests.sample import sample_logs

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding

LIMITS = {"B1": (90, 20), "S1": (80, 10)}
"""v and c of the controls, by the seat that the control plays (bargaining page, 10.2)."""


class Game:
    """A trace, and what is found in it by the market's modes and the general ones."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @cached_property
    def whole(self) -> Diagnosis:
        evaluation = evaluate_file(self.path)
        assert evaluation.diagnosis is not None, evaluation.problem
        assert evaluation.outcome is not None
        assert evaluation.outcome.findings == []
        return evaluation.diagnosis

    def finding(self, mode: str, seat: str) -> Finding:
        """What the market found of a seat."""
        return self.whole.of_seat(seat)[f"bargaining.{mode}"]

    def general(self, name: str, seat: str) -> Finding:
        """What a general mode found of a seat."""
        return self.whole.of_seat(seat)[name]


PlayPair = Callable[[str, str, str], Game]


@pytest.fixture(scope="session")
def play_pair(tmp_path_factory: pytest.TempPathFactory) -> PlayPair:
    """`play_pair(seat, control, counterpart)`: 20 rounds on the limits of the controls."""
    folder = tmp_path_factory.mktemp("controls")
    known: dict[tuple[str, str, str], Game] = {}

    def _play(seat: str, control: str, counterpart: str) -> Game:
        key = (seat, control, counterpart)
        if key not in known:
            value, cost = LIMITS[seat]
            fixed = {"distribution": "fixed", "buyer_value": value, "seller_cost": cost}
            path = folder / f"{'-'.join(key)}.trace"
            known[key] = Game(played_by(path, "bargaining/pact", {seat: control}, 3, counterpart, **fixed))
        return known[key]

    return _play


class Turn(NamedTuple):
    """A round as given: what each seat says before its quote; a null quote lapses."""

    bid: int | None
    ask: int | None
    buyer: str = ""
    seller: str = ""


class PlayTurns(Protocol):
    def __call__(
        self, turns: Sequence[Turn], *, value: int = ..., cost: int = ..., rounds: int | None = ...
    ) -> Game: ...


@pytest.fixture
def play_turns(tmp_path: Path) -> PlayTurns:
    """Given rounds under given limits, the buyer speaking first; the game is left open after the last of them."""
    count = 0

    def _play(turns: Sequence[Turn], *, value: int = 80, cost: int = 30, rounds: int | None = None) -> Game:
        nonlocal count
        count += 1
        overrides: dict[str, Any] = {
            "distribution": "fixed",
            "buyer_value": value,
            "seller_cost": cost,
            "speaking_order": "buyer_first",
            "rounds": rounds or len(turns),
            "half_tick": "down",
            "seats": {},
        }
        core = Core.create(market_type("bargaining"), load_scenario("bargaining", "bargaining/pact", overrides), 7)
        records = list(core.start().records)
        for turn in turns:
            said: Mapping[str, str] = {"B1": turn.buyer, "S1": turn.seller}
            for seat, text in said.items():
                records += core.call(seat, "send_message", {"text": text}).records
            for seat, price in (("B1", turn.bid), ("S1", turn.ask)):
                if price is None:
                    records += core.lapse(seat, "agent_limit").records
                else:
                    records += core.call(seat, "submit_quote", {"price": price}).records
        return Game(store(tmp_path / f"turns-{count}.trace", core, records))

    return _play


@pytest.fixture(scope="session")
def pact_games(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Traces of the public games."""
    report = run_importer("pact-log", sample_logs("pact"), tmp_path_factory.mktemp("pact"))
    return [Path(game.trace) for game in report.games if game.trace is not None]
