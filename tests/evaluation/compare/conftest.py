"""Episodes as a run writes them, played by scripted seats through Core: fast, and with a manifest's about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.traces import kept

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.players import AgentRecord
from tradefair.host.episode.setup import scripted_seats, seating_of
from tradefair.host.seats.plans import plan_seats
from tradefair.tracestore import Written, write_trace


class PlayInto(Protocol):
    def __call__(self, folder: str, policy: str, seed: int, **rest: Any) -> Path: ...


class PlaySeeds(Protocol):
    def __call__(self, folder: str, policy: str, seeds: range = ..., **rest: Any) -> Path: ...


@kept
def play(
    path: Path,
    policy: str,
    seed: int,
    *,
    scenario: str = "double_auction/duel",
    seat: str = "B1",
    others: str | None = None,
    policy_key: int = 0,
    stop_after: int | None = None,
    reason: str = "truncated:cancelled",
    overrides: Mapping[str, Any] | None = None,
) -> None:
    kind = market_type(scenario.partition("/")[0])
    chosen = load_scenario(kind.name, scenario, {"rounds": 10} if overrides is None else overrides)
    plan = plan_seats(kind, chosen, agents=[seat], others=others).with_policy(seat, policy)
    core = Core.create(kind, chosen, seed)
    agent = AgentRecord(framework="policy", model=f"policy:{policy}")
    scripted = scripted_seats(kind, chosen, plan, seed, policy_key=policy_key)
    who = seating_of(kind, chosen, plan, agents={seat: agent}, policy_key=policy_key)
    records = list(core.start(who).records)
    while stretch := scripted.run(core):
        records += stretch
        if stop_after is not None and core.market.clock.round > stop_after:
            records += core.end(reason).records
    about: dict[str, Any] = {"end_reason": core.ended, "outcome_digest": core.outcome_digest}
    write_trace(path, core.manifest, about, [Written(record) for record in records])


@pytest.fixture
def play_into(tmp_path: Path) -> PlayInto:
    """Plays `policy` in the agent's seat and gives the trace; after `stop_after` rounds it ends for `reason`."""

    def _play(folder: str, policy: str, seed: int, **rest: Any) -> Path:
        scenario = str(rest.get("scenario", "double_auction/duel")).partition("/")[2]
        path = tmp_path / folder / f"{policy}-{seed:02}-{rest.get('policy_key', 0)}-{scenario}.trace"
        return play(path, policy, seed, **rest)

    return _play


@pytest.fixture
def play_seeds(play_into: PlayInto, tmp_path: Path) -> PlaySeeds:
    """Several seeds of the duel, sixteen unless said otherwise, in one folder."""

    def _play(folder: str, policy: str, seeds: range = range(16), **rest: Any) -> Path:
        for seed in seeds:
            play_into(folder, policy, seed, **rest)
        return tmp_path / folder

    return _play
