"""Plays a finished episode again in memory: with one action of one seat played otherwise, or one policy on all seats.

All play on the same luck, and every policy goes on by its own rule, the deviant's too: what the others do afterwards is
their answer to the deviation. Nothing is written and no model is asked, so only episodes whose seats are all played by
policies can be played again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

import orjson
from pydantic import JsonValue

from tradefair.catalog import market_type
from tradefair.contract import Market, MarketType, Policy, Scenario, ToolCall, TradefairError, Turns, TurnView
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.kernel.following import FORKED_FROM
from tradefair.contract.kernel.players import Seating, seat_policy, seat_roles
from tradefair.contract.market import Resolves
from tradefair.contract.policy import PrivilegedPolicy
from tradefair.evaluation.collusion import Deviation, NotPlayed
from tradefair.evaluation.reading import imported
from tradefair.host.episode.setup import scripted_seats, seating_of
from tradefair.host.seats.plans import SeatPlan
from tradefair.host.seats.scripted import Scripted
from tradefair.runner.ledger.tape import held_trace
from tradefair.tracestore import Trace, sound_head


class PlayedAgain:
    """The protocol `Replayer`. Whatever keeps an episode from being played again is a NotPlayed with its reason."""

    def deviating(self, trace: Trace, deviation: Deviation) -> Trace:
        """The episode with one action played otherwise; it ends with the round `until`.

        Raises NotPlayed where a seat was played from outside or changed hands, where the deviation is refused, and
        where the policies do not play as the trace says up to the deviation.
        """
        episode = _episode(trace)
        seating = episode.seating
        if seating.agents:
            raise NotPlayed(f"{', '.join(seating.agents)} was played from outside and cannot be asked again")
        roles, seed = seat_roles(episode.kind, episode.scenario), trace.manifest.core.seed
        try:
            makers = {
                seat: partial(seat_policy, episode.kind, spelling, roles[seat], seating.draw(seed, seat))
                for seat, spelling in seating.scripted.items()
            }
            made = makers[deviation.seat]
            makers[deviation.seat] = cast(Any, lambda: _Swerving(made(), deviation))
            scripted = Scripted(makers, privileged=seating.privileged, late=seating.late)
            records = _played(trace, episode, scripted, seating, deviation.until)
        except NotPlayed:
            raise
        except TradefairError as failure:
            raise NotPlayed(f"it cannot be played again: {failure}"[:200]) from failure
        if not any(_is_swerve(record.body, deviation) for record in records):
            raise NotPlayed(f"{deviation.tool} of {deviation.seat} in round {deviation.round} is refused")
        held = held_trace(trace.manifest, records)
        # A policy of another release, or one whose draws are not keyed: what comes after would answer another game.
        if _states(trace, deviation.round) != _states(held, deviation.round):
            raise NotPlayed("its policies do not play again what the trace says")
        return held

    def on_every_seat(self, trace: Trace, policy: str) -> Trace:
        """The same scenario and seed, `policy` on all seats, under the trace's policy key. Raises NotPlayed."""
        episode = _episode(trace)
        try:
            plan = SeatPlan(dict.fromkeys(seat_roles(episode.kind, episode.scenario), policy))
            seed, key = trace.manifest.core.seed, episode.seating.policy_key
            scripted = scripted_seats(episode.kind, episode.scenario, plan, seed, policy_key=key)
            seating = seating_of(episode.kind, episode.scenario, plan, policy_key=key)
            return held_trace(trace.manifest, _played(trace, episode, scripted, seating, None))
        except TradefairError as failure:
            raise NotPlayed(f"no reference {policy}: {failure}"[:200]) from failure

    def on_luck(self, scenario: Scenario, seed: int, policy: str, policy_key: int, luck: Sequence[JsonValue]) -> Market:
        """One policy on all seats, each round on its luck. Raises TradefairError for a luck that does not fit."""
        kind = market_type(scenario.id.partition("/")[0])
        plan = SeatPlan(dict.fromkeys(seat_roles(kind, scenario), policy))
        scripted = scripted_seats(kind, scenario, plan, seed, policy_key=policy_key)
        core = Core.create(kind, scenario, seed)
        core.start(seating_of(kind, scenario, plan, policy_key=policy_key))
        for number, of_round in enumerate(luck, start=1):
            core.feed("recorded_chance", of_round)
            while core.ended is None and core.market.clock.round == number:
                scripted.run(core)
        return core.market


class _Episode(NamedTuple):
    """What is played again: the rules, the scenario, and who sat where."""

    kind: MarketType
    scenario: Scenario
    seating: Seating


def _episode(trace: Trace) -> _Episode:
    """Raises NotPlayed for an imported or forked trace, one that was edited, and one of other rules."""
    try:
        sound_head(trace)
        seating, core = trace.seating(), trace.manifest.core
        if imported(seating):
            raise NotPlayed("it was imported: only episodes that tradefair has played can be played again")
        if any(FORKED_FROM in (change.origin or {}) for _, change in trace.seatings()):
            raise NotPlayed("it is a fork: who played its seats changed in the middle")
        kind = market_type(core.market)
        # Refuses a trace of other rules or tools.
        scenario = Core.restore(kind, core).scenario
    except NotPlayed:
        raise
    except TradefairError as failure:
        raise NotPlayed(str(failure)[:200]) from failure
    if isinstance(kind, Resolves) and kind.needs(scenario):
        raise NotPlayed("its rules ask outside services")
    return _Episode(kind, scenario, seating)


def _played(trace: Trace, episode: _Episode, scripted: Scripted, seating: Seating, until: int | None) -> list[Record]:
    """The records of an episode up to the closure of round `until`; None: to its end. Raises NotPlayed."""
    core = Core(episode.kind, trace.manifest.core, episode.scenario)
    records = list(core.start(seating).records)
    while core.ended is None and (until is None or core.market.clock.round <= until):
        more = scripted.run(core)
        if not more:
            raise NotPlayed("no seat plays on, and the episode has not ended")
        records += more
    return records


class _Swerving:
    """A policy that plays one action otherwise, once, and does not know it: it goes on by its own rule."""

    def __init__(self, policy: Policy, deviation: Deviation) -> None:
        self._policy, self._deviation = policy, deviation

    def see(self, truth: object) -> None:
        """Hand hidden truth on; asked of privileged seats only."""
        cast(PrivilegedPolicy, self._policy).see(truth)

    def turn(self, now: TurnView) -> Turns:
        """The policy's own turn, with the deviation where it acts, or at the end where it would have kept silent."""
        turns, deviation = self._policy.turn(now), self._deviation
        if now.round != deviation.round:
            yield from turns
            return
        call = next(turns, None)
        while call is not None:
            acts = call.tool == deviation.tool
            answer = yield (ToolCall(deviation.tool, deviation.arguments) if acts else call)
            try:
                call = turns.send(answer)
            except StopIteration:
                call = None
        yield ToolCall(deviation.tool, deviation.arguments)


def _is_swerve(body: bytes, deviation: Deviation) -> bool:
    """Whether an event is the accepted deviation."""
    if b'"event":"tool_called"' not in body:
        return False
    event: Mapping[str, Any] = orjson.loads(body)
    found = (event["seat"], event["round"], event["tool"], event["status"], event["arguments"])
    return found == (deviation.seat, deviation.round, deviation.tool, "ok", dict(deviation.arguments))


def _states(trace: Trace, before: int) -> list[tuple[int, str]]:
    """The digest of the rules' state at the closure of each round before `before`."""
    found: list[tuple[int, str]] = []
    for stored in trace.events():
        if b'"event":"round_closed"' in stored.body:
            event: Mapping[str, Any] = orjson.loads(stored.body)
            if event["round"] >= before:
                break
            found.append((event["round"], event["state_digest"]))
    return found
