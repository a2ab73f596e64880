"""Replays of a finished trace: unchanged, with turns of one seat played by a policy, or with calls amended.

The others react: scripted seats play live, by their recorded draws and on the same luck. Only seats that were played
from outside keep to their tapes. Before anything is compared, the unchanged tape must give the original figure to the
last digit (the control). Nothing is written and no model is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import JsonValue

from tradefair.catalog import market_type
from tradefair.contract import MarketType, SeatError, SeatId, TraceError, TradefairError
from tradefair.contract.arguments import event_as_meant
from tradefair.contract.core import Core
from tradefair.contract.errors import unknown
from tradefair.contract.following import FORKED_FROM
from tradefair.contract.market import Resolves
from tradefair.contract.players import policy_spec, seat_policy
from tradefair.contract.policy import parse_policy
from tradefair.evaluation.diagnosing import references_of
from tradefair.evaluation.evaluate import evaluate
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.outcome import Outcome, PrimaryMetric
from tradefair.evaluation.reading import agent_seats, imported
from tradefair.evaluation.reward import reward_metric
from tradefair.evaluation.table import number_text
from tradefair.host.scripted import ScriptedFailure
from tradefair.host.services import Services
from tradefair.host.setup import scripted_seats
from tradefair.runner.tape import Place, Shadow, Tape, TapePlayer, Unit, read_tapes, replay
from tradefair.tracestore import open_trace, sound_head

_EMPTY = Tape({}, {})
_ALIKE = 0.95
"""The share of equal actions from which on a policy plays as the seat does."""
# Ends by the host. Those by the rules come again when the episode is replayed, also where they cut it short.
_CUT_OFF = tuple(f"truncated:{why}" for why in ("cancelled", "ttl", "idle", "storage_limit", "harness_failure"))


class Repair(NamedTuple):
    """What is played otherwise: everything from an event on, else single calls (`amend`), else the rounds.

    `rounds` are those in which something went wrong, also where the repair is another: there nothing is compared.
    `events` are the cited ones: of a market with steps policies are compared in all others, not in other rounds alone.
    """

    rounds: frozenset[int] = frozenset()
    onwards_from: int | None = None
    amend: Mapping[int, Mapping[str, JsonValue] | None] = {}
    events: frozenset[int] = frozenset()


class NotPriced(TradefairError):
    """A finding has no price; the message says why."""


class Replays:
    """The replays of one finished trace. Whatever they have in common is played once.

    `path` is a trace that tradefair has played. Raises TraceError where it cannot be replayed: a seat's view, an
    imported, unfinished, broken or forked one, or one of other rules. `agents` are the seats that an agent played.
    """

    def __init__(self, path: str | Path) -> None:
        with open_trace(path) as trace:
            sound_head(trace)
            self.manifest = trace.manifest
            self.events = [event_as_meant(stored.body) for stored in trace.events()]
            self._original = evaluate(trace)
            seatings, seating = trace.seatings(), trace.seating()
        core = self.manifest.core
        ends = [event["reason"] for event in self.events[-1:] if event["event"] == "episode_ended"]
        if not ends or ends[0] in _CUT_OFF:
            raise TraceError(f"the episode is unfinished ({ends[0] if ends else 'it has no end'})")
        if any(FORKED_FROM in (change.origin or {}) for _, change in seatings):
            raise TraceError("it is a fork: who played its seats changed in the middle")
        if imported(seating):
            raise TraceError("it was imported: only episodes that tradefair has played can be replayed")
        self.kind: MarketType = market_type(core.market)
        # Refuses a trace of other rules or tools, whose replay would mean nothing.
        self._scenario = Core.restore(self.kind, core).scenario
        self.seating = seating
        self.agents = agent_seats(seating)
        self.roles = {seat.id: seat.role for seat in core.seats}
        self._rates = references_of(core, evaluator_of(core.market))
        self._shadows: dict[SeatId, list[Shadow]] = {}
        self._controls: dict[SeatId, Outcome[Any, Any]] = {}
        self._whole: dict[tuple[SeatId, str], float] = {}

    def metric(self, seat: SeatId) -> PrimaryMetric:
        """What prices of this seat are counted in. Raises NotPriced, SeatError."""
        if seat not in self.roles:
            raise SeatError(unknown("seat", seat, self.roles))
        metric = reward_metric(self.kind.name, {self.roles[seat]})
        if metric is None:
            raise NotPriced(f"the evaluator of {self.kind.name} declares no metric of a {self.roles[seat]}")
        return metric

    def original(self, seat: SeatId) -> float:
        """The seat's metric in the trace. Raises NotPriced where it is null."""
        return self._value(self._original, seat)

    def event(self, seq: int) -> Mapping[str, Any]:
        """The event of this number. Raises NotPriced."""
        if not 0 < seq <= len(self.events):
            raise NotPriced(f"there is no event {seq}")
        return self.events[seq - 1]

    def control(self, seat: SeatId) -> None:
        """Play the tape unchanged, once per seat, with every competent reference as its shadow.

        Raises NotPriced where it does not give the figure of the trace.
        """
        if seat not in self._controls:
            shadows = [self._shadow(seat, name) for name in self.competent(seat)]
            self._controls[seat] = self._played(seat, TapePlayer(self._tapes.get(seat, _EMPTY), shadows))
            self._shadows[seat] = shadows
        found, original = self._controls[seat], self._original
        if found.end_reason != original.end_reason:
            raise NotPriced(f"the tape ends as {found.end_reason}, the trace as {original.end_reason}")
        value = self._value(found, seat)
        if value != self.original(seat):
            raise NotPriced(f"the tape gives {number_text(value)}, the trace {number_text(self.original(seat))}")

    def price(self, seat: SeatId, repair: Repair, player: str | None) -> float:
        """The metric of the repaired episode less that of the original; positive where the repair is better.

        `player` plays the repaired turns; an amended call needs none. Raises NotPriced.
        """
        self.control(seat)
        tapes = read_tapes(self.events, repair.amend) if repair.amend else self._tapes
        shadows = [] if player is None else [self._shadow(seat, player)]
        repaired = self._played(seat, TapePlayer(tapes.get(seat, _EMPTY), shadows, self._turns(seat, repair)))
        for shadow in shadows:
            if shadow.broken is not None:
                raise NotPriced(f"{shadow.name} cannot watch this episode: {shadow.broken!r}"[:200])
        sign = 1 if self.metric(seat).higher_is_better else -1
        # Nine digits, as in `compare`; adding 0.0 turns a negative zero into zero.
        return round(sign * (self._value(repaired, seat) - self.original(seat)), 9) + 0.0

    def nearest(self, seat: SeatId, repair: Repair) -> str:
        """The competent reference that agrees most with the tape outside the repair's rounds; of equals the best.

        Agreement is the share of equal actions (tool and arguments) among those of the tape and those of the policy.
        """
        self.control(seat)
        without = self._units(seat, repair)
        shares = {shadow.name: shadow.agreement(without) for shadow in self._shadows[seat] if not shadow.broken}
        if not shares:
            raise NotPriced(f"no competent reference can play {seat}")
        # With nothing to compare all shares are 0, and all are equals.
        return self.best(seat, [name for name, share in shares.items() if share == max(shares.values())])

    def carried_on(self, seat: SeatId, repair: Repair, player: str) -> Repair:
        """The repair, as everything from its first cited event on where this policy plays as the seat does elsewhere.

        Later turns of the tape answer a course that the repair has changed. Whoever gives the same answers to what the
        seat was shown can give them to what it never was.
        """
        self.control(seat)
        without = self._units(seat, repair)
        alike = any(
            shadow.name == player and not shadow.broken and shadow.agreement(without) >= _ALIKE
            for shadow in self._shadows[seat]
        )
        return Repair(repair.rounds, min(repair.events), events=repair.events) if alike and repair.events else repair

    def best(self, seat: SeatId, names: Sequence[str]) -> str:
        """The best of these references: by the base rates, else by what they earn in this seat on this seed."""
        if self._rates is not None or len(names) == 1:
            return names[0]
        sign = 1 if self.metric(seat).higher_is_better else -1
        return max(names, key=lambda name: sign * self.whole(seat, name))

    def whole(self, seat: SeatId, name: str) -> float:
        """The metric with this policy in the seat from the start, played once."""
        if (seat, name) not in self._whole:
            player = TapePlayer(_EMPTY, [self._shadow(seat, name)], lambda place: True)
            self._whole[seat, name] = self._value(self._played(seat, player), seat)
        return self._whole[seat, name]

    def competent(self, seat: SeatId) -> list[str]:
        """The references that play the seat's role well by the preset's base rates, the best first.

        Where none are shipped for this very scenario: the field of the market's headline without its naive one, in its
        order; for a role that this field does not play every bundled policy that is neither privileged nor a control (a
        policy that shows one mistake).
        """
        role, rates, headline = self.roles[seat], self._rates, evaluator_of(self.kind.name).headline
        fitting = {name: spec for name, spec in self.kind.policies.items() if role in spec.roles}
        if rates is not None:
            named = sorted(rates.competent, key=lambda name: -rates.rows[name].mean)
        elif headline is not None and headline.naive in fitting:
            named = [name for name in headline.field if name != headline.naive]
        else:
            named = []
        found = [name for name in named if parse_policy(name)[0] in fitting]
        usable = (spec for spec in fitting.values() if not spec.knows_hidden(self._scenario))
        return found or [spec.name for spec in usable if not spec.description.startswith("control:")]

    @property
    def frozen(self) -> list[SeatId]:
        """The seats that were played from outside: whichever is not priced stays on its tape."""
        return self.seating.agents

    # --- playing ----------------------------------------------------------------------------------------------------

    @cached_property
    def _tapes(self) -> Mapping[SeatId, Tape]:
        return read_tapes(self.events, {})

    def _place(self, seat: SeatId, seq: int) -> Place:
        """The turn of an event; of one that is not this seat's, the beginning of its round."""
        known = self._tapes.get(seat, _EMPTY).places.get(seq)
        if known is not None:
            return known
        return (self.event(seq)["round"], "", 0)

    def _units(self, seat: SeatId, repair: Repair) -> frozenset[Unit]:
        """Where nothing is compared: the repaired rounds, or of a market with steps those of the cited events."""
        tape = self._tapes.get(seat, _EMPTY)
        if not tape.stepped or not repair.events:
            return frozenset[Unit](repair.rounds)
        return frozenset(tape.unit(self._place(seat, seq)) for seq in repair.events)

    def _turns(self, seat: SeatId, repair: Repair) -> Callable[[Place], bool]:
        """Which turns are repaired. Asked in the order of turns: up to the first of them all is as it was."""
        if repair.onwards_from is None:
            return lambda place: not repair.amend and place[0] in repair.rounds
        first, begun = self._place(seat, repair.onwards_from), False

        def onwards(place: Place) -> bool:
            nonlocal begun
            # A later round too: an event of another seat may lie in a round in which this one has no turn.
            begun = begun or place == first or place[0] > first[0] or (not first[1] and place[0] == first[0])
            return begun

        return onwards

    def _shadow(self, seat: SeatId, name: str) -> Shadow:
        role, draw = self.roles[seat], self.seating.draw(self.manifest.core.seed, seat)
        told = policy_spec(self.kind, name, role).knows_hidden(self._scenario)
        return Shadow(name, seat_policy(self.kind, name, role, draw), told=told)

    def _played(self, seat: SeatId, player: TapePlayer) -> Outcome[Any, Any]:
        """The outcome of an episode with this player. Raises NotPriced where a policy fails in it."""
        core = self.manifest.core
        others = {other: TapePlayer(self._tapes.get(other, _EMPTY)) for other in self.frozen}
        players = {**others, seat: player}
        scripted = scripted_seats(self.kind, self._scenario, self.seating, core.seed, seated=players)
        # Asked after the others, as whoever knows hidden truth is.
        scripted.privileged |= {seat} if player.told else set[SeatId]()
        scripted.answer = self._services.at_once if self._services else None
        try:
            trace = replay(Core(self.kind, core, self._scenario), scripted, players, self.manifest, self.seating)
        except (ScriptedFailure, TradefairError) as failure:
            raise NotPriced(f"the replay fails: {failure}"[:200]) from failure
        return evaluate(trace)

    @cached_property
    def _services(self) -> Services | None:
        """What answers the rules' questions to outside services, where this scenario asks any."""
        needs = self.kind.needs(self._scenario) if isinstance(self.kind, Resolves) else ()
        if not needs:
            return None
        from tradefair.host.embedding import similarity_services

        return similarity_services(needs)

    def _value(self, outcome: Outcome[Any, Any], seat: SeatId) -> float:
        name = self.metric(seat).name
        value = getattr(outcome.seats.get(seat), name, None)
        if not isinstance(value, int | float):
            raise NotPriced(f"{name} of {seat} is not known")
        return value
