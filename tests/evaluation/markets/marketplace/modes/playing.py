"""Marketplace episodes of scripted seats as sealed traces, and what was found in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from tests.calling import seating
from tests.evaluation.playing import BY_HAND, Player, played_out
from tests.traces import kept

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.core import Core
from tradefair.contract.policy import parse_policy
from tradefair.evaluation.judge.evaluate import diagnose
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.tracestore import open_trace

PREFIX = "marketplace."


class Episode(NamedTuple):
    """Who plays where: a policy of all customers, one of all businesses (null: the scenario's), and single seats."""

    scenario: str
    customers: str = "item_searcher"
    businesses: str | None = None
    seats: Mapping[str, Player] = {}
    seed: int = 1
    overrides: Mapping[str, Any] = {}


@kept
def play_market(path: Path, episode: Episode) -> Path:
    """A real episode as a sealed trace; its customers count as the agent's seats."""
    kind = market_type("marketplace")
    scenario: Any = load_scenario(kind.name, episode.scenario, episode.overrides)
    core = Core.create(kind, scenario, episode.seed)
    players: dict[str, Player] = {}
    for seat, spec in core.market.seats.items():
        given = episode.customers if spec.role == "customer" else episode.businesses
        players[seat] = episode.seats.get(seat) or given or scenario.seats.get(seat) or scenario.seats[spec.role]

    known = {seat: parse_policy(who)[0] if isinstance(who, str) else BY_HAND for seat, who in players.items()}
    privileged = sorted(seat for seat, name in known.items() if name != BY_HAND and kind.policies[name].privileged)
    # The customers are the agent's: a label `policy:` is the policy's alone.
    inside = {seat: name for seat, name in known.items() if not seat.startswith("customer")}
    labels = {seat: name for seat, name in known.items() if seat not in inside}
    return played_out(path, core, players, seating(known, inside, labels=labels, privileged=privileged))


class Judged(NamedTuple):
    """A played episode, its events and what was found in it."""

    path: Path
    events: dict[int, dict[str, Any]]
    diagnosis: Diagnosis

    def finding(self, name: str, seat: str) -> Finding:
        """The market's finding of a seat."""
        return self.diagnosis.of_seat(seat)[PREFIX + name]

    def named(self, name: str) -> list[Finding]:
        """Where a mode of the market was raised, told by itself or by another one."""
        known = [finding for finding in self.diagnosis.findings if finding.id == PREFIX + name]
        return [finding for finding in known if finding.status in ("raised", "merged")]

    def modes(self) -> set[str]:
        """The market's modes that were raised anywhere."""
        found = self.diagnosis.raised
        return {finding.id.removeprefix(PREFIX) for finding in found if finding.id.startswith(PREFIX)}

    def of(self, finding: Finding) -> list[dict[str, Any]]:
        """The events that a finding cites."""
        return [self.events[seq] for seq in finding.events]


def judged(path: Path) -> Judged:
    """A trace with its diagnosis."""
    with open_trace(path) as trace:
        events = {stored.seq: orjson.loads(stored.body) for stored in trace.events()}
        return Judged(path, events, diagnose(trace))
