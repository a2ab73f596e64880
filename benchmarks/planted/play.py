"""Plays a seat with and without its flaw on the same seed, and reads what the findings say of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchmarks.planted.flaw import ANY, Course, Flaw, Flawed, Scene
from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Draw, MarketType, Policy, Scenario
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.players import AGENT, seat_policy, seat_roles
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import diagnose, evaluate
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.host.episode.setup import seating_of
from tradefair.host.seats.plans import SeatPlan
from tradefair.host.seats.scripted import Scripted
from tradefair.tracestore import Written, open_trace, write_trace

PRESETS = {
    "double_auction": "double_auction/bazaar",
    "bargaining": "bargaining/pact",
    "retail": "retail/middle",
    "supply_chain": "supply_chain/gated",
    "marketplace": "marketplace/small_demo",
    "pricing": "pricing/duel",
    "order_book": "order_book/smith",
}
"""The scenario of each market's flaws, where a flaw names no other."""

_CHANGES: dict[str, dict[str, Any]] = {"retail": {"horizon_days": 45}}
# Who plays the seats that a scenario gives to agents, but for the one that is looked at.
_STAND_INS = {"customer": "item_searcher", "business": "honest", "buyer": "linear_concession"}
_ONE_SEAT = ("retail", "supply_chain")
# Draws of the flaw itself: another key than the policy's own, so that twin and flawed policy draw alike.
_FLAW_KEY = 1_000_003


class Setting(NamedTuple):
    """What twins share: market, scenario, role, base policy and the policy of the others."""

    market: str
    preset: str
    changes: str
    role: str
    base: str
    others: str | None

    @classmethod
    def of(cls, flaw: Flaw) -> Setting:
        """The setting of a flaw."""
        changes = {**_CHANGES.get(flaw.market, {}), **flaw.changes}
        preset = flaw.preset or PRESETS[flaw.market]
        return cls(flaw.market, preset, orjson.dumps(changes).decode(), flaw.role, flaw.base, flaw.others)


class Episode(NamedTuple):
    """A finished episode: its trace, the seat, its course, what the seat earned and what was found."""

    path: Path
    seat: str
    course: Course
    metric: float
    found: list[Finding]
    digest: str


@cache
def _scenario(setting: Setting) -> tuple[MarketType, Scenario]:
    kind = market_type(setting.market)
    return kind, load_scenario(kind.name, setting.preset, orjson.loads(setting.changes))


def play(setting: Setting, flaw: Flaw | None, seed: int, folder: Path) -> Episode:
    """Play the setting's base policy, with the flaw in it or (None) as it is."""
    path = folder / f"{flaw.name if flaw else 'twin'}-{seed}-{time.monotonic_ns()}.trace"
    seat, course = write(setting, flaw, seed, path)
    with open_trace(path) as trace:
        outcome = evaluate(trace)
        metric = getattr(outcome.seats[seat], metric_of(setting.market, outcome.seats[seat].role))
        found = ranked(diagnose(trace), seat)
        digest = str(trace.manifest.about.get("outcome_digest"))
    return Episode(path, seat, course, float(metric or 0.0), found, digest)


def write(setting: Setting, flaw: Flaw | None, seed: int, path: Path, draws: int = 0) -> tuple[str, Course]:
    """Play as `play` does and leave the trace; the seat and its course. `draws` gives policy and flaw others."""
    kind, scenario = _scenario(setting)
    roles = seat_roles(kind, scenario)
    seats = [seat for seat, role in roles.items() if setting.role in ("", role)]
    # Seats by turns; where all seats are alike, the one that the scenario gives to an agent.
    seat = seats[0] if setting.market in _ONE_SEAT else seats[seed % len(seats)]
    named = {**_others(setting, scenario, roles), seat: setting.base}
    course = Course.empty()
    makers = {
        other: partial(seat_policy, kind, text, roles[other], Draw.of(seed, other, draws if other == seat else 0))
        for other, text in named.items()
    }
    draw = Draw.of(seed, seat, _FLAW_KEY + draws)
    makers[seat] = partial(_bent, makers[seat], flaw, kind, draw, _rounds(scenario), course)
    core = Core.create(kind, scenario, seed)
    label = {seat: f"{setting.base} with {flaw.name}" if flaw else setting.base}
    players = seating_of(kind, scenario, SeatPlan({**named, seat: AGENT}), labels=label, compared=(seat,))
    scripted = Scripted(makers, late=frozenset({seat}), privileged=players.privileged)
    records = list(core.start(players).records)
    while stretch := scripted.run(core):
        records += stretch
    about = {"end_reason": core.ended, "outcome_digest": core.outcome_digest}
    write_trace(path, core.manifest, about, [Written(record) for record in records])
    return seat, course


def _others(setting: Setting, scenario: Scenario, roles: Mapping[str, str]) -> dict[str, str]:
    """The policy of every seat if no flaw sat anywhere."""
    if setting.others:
        return dict.fromkeys(roles, setting.others)
    given = {
        seat: [scenario.seats.get(seat), scenario.seats.get(role), _STAND_INS.get(role)] for seat, role in roles.items()
    }
    return {seat: next((text for text in texts if text not in (None, AGENT)), AGENT) for seat, texts in given.items()}


def _bent(
    make: Callable[[], Policy], flaw: Flaw | None, kind: MarketType, draw: Draw, rounds: int, course: Course
) -> Policy:
    actions = frozenset(name for name, tool in kind.tools.items() if not tool.read_only)
    return Flawed(make(), flaw, Scene(draw, rounds), actions, course)


def _rounds(scenario: Scenario) -> int:
    """Rounds or days of the scenario."""
    for name in ("rounds", "horizon_days", "rounds_max", "periods"):
        if isinstance(found := getattr(scenario, name, None), int):
            return found
    raise ValueError(f"{scenario.id} has no number of rounds")


def metric_of(market: str, role: str) -> str:
    """The seat field that says how well a seat did."""
    return "revenue" if role == "business" else evaluator_of(market).primary_metrics[0].name


def ranked(diagnosis: Diagnosis, seat: str) -> list[Finding]:
    """The findings that were raised for a seat, the one to read first before the others."""
    found = [finding for finding in diagnosis.raised if seat in finding.seats]
    # Stable: findings without a rank keep the order of the diagnosis.
    return sorted(found, key=lambda finding: finding.rank or len(found) + 1)


def cites(episode: Episode, finding: Finding) -> bool:
    """Whether one of the first three cases of a finding is something that the flaw altered or left out."""
    with open_trace(episode.path) as trace:
        events = {stored.seq: orjson.loads(stored.body) for stored in trace.events()}
    cited = [events[case.seq] for case in finding.cases[:3] if case.seq in events]
    altered = {number for number, _ in episode.course.marks}
    # A lapse ends the turn in which something was altered.
    return any(
        event.get("round") in altered
        if event["event"] == "seat_lapsed"
        else bool({(event.get("round"), event.get("tool", ANY)), (event.get("round"), ANY)} & episode.course.marks)
        for event in cited
    )
