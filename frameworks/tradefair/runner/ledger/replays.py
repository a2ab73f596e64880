"""Replays of a finished trace: unchanged, or with a policy in one seat.

The others react: scripted seats play live, by their recorded draws and on the same luck. Only seats that were played
from outside keep to their tapes. Nothing is written and no model is asked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.catalog import market_type
from tradefair.contract import MarketType, Policy, PolicySpec, SeatError, SeatId, TraceError, TradefairError
from tradefair.contract.arguments import event_as_meant
from tradefair.contract.errors import unknown
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.kernel.following import FORKED_FROM
from tradefair.contract.kernel.players import policy_spec, seat_policy
from tradefair.contract.market import Resolves
from tradefair.contract.policy import parse_policy
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.diagnosing import mode_versions, references_of
from tradefair.evaluation.judge.evaluate import diagnose, evaluate
from tradefair.evaluation.judge.reward import primary_metrics, reward_metric
from tradefair.evaluation.modes.base_rates import ModeRate, References, SeatRates, mode_rates
from tradefair.evaluation.modes.diagnosis import Finding
from tradefair.evaluation.outcome import Outcome, PrimaryMetric
from tradefair.evaluation.reading import agent_seats, imported
from tradefair.host.episode.setup import scripted_seats
from tradefair.host.seats.scripted import Scripted, ScriptedFailure
from tradefair.host.seats.services import Services
from tradefair.runner.ledger.tape import Shadow, Tape, TapePlayer, held_trace, looking, read_tapes, replay
from tradefair.tracestore import Trace, open_trace, sound_head

NO_TAPE = Tape({}, {})
# Ends by the host. Those by the rules come again when the episode is replayed, also where they cut it short.
_CUT_OFF = tuple(f"truncated:{why}" for why in ("cancelled", "ttl", "idle", "storage_limit", "harness_failure"))

# As Core writes events: within the texts before `kind` there is no bare quotation mark.
_LOOK = re.compile(rb'\{"seq":\d+,"event":"tool_called",.*?"kind":"(?:read|analysis)"')


class NotReplayed(TradefairError):
    """A seat of this trace cannot be replayed; the message says why."""


class Game(NamedTuple):
    """An episode in memory: the rules, who plays, and its events so far."""

    core: Core
    scripted: Scripted
    records: list[Record]


class Replays:
    """The replays of one finished trace. Whatever they have in common is played once.

    `place` is a trace that tradefair has played: a file, a store's address, or one in memory. Raises TraceError where
    it cannot be replayed: a seat's view, an imported, unfinished, broken or forked one, or one of other rules. `agents`
    are the seats that an agent played.
    """

    def __init__(self, place: str | Path | Trace) -> None:
        with nullcontext(place) if isinstance(place, Trace) else open_trace(place) as trace:
            # What was never written has no chain of hashes.
            if trace is not place:
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
        self._evaluator = evaluator_of(core.market)
        # Refuses a trace of other rules or tools, whose replay would mean nothing.
        self._scenario = Core.restore(self.kind, core).scenario
        self.seating = seating
        self.agents = agent_seats(seating)
        self.roles = {seat.id: seat.role for seat in core.seats}
        self._whole: dict[tuple[SeatId, str], tuple[float, int]] = {}

    def metric(self, seat: SeatId) -> PrimaryMetric:
        """What the seat's results are counted in. Raises NotReplayed, SeatError."""
        if seat not in self.roles:
            raise SeatError(unknown("seat", seat, self.roles))
        metric = reward_metric(self.kind.name, {self.roles[seat]})
        if metric is None:
            raise NotReplayed(f"the evaluator of {self.kind.name} declares no metric of a {self.roles[seat]}")
        return metric

    def original(self, seat: SeatId) -> float:
        """The seat's metric in the trace. Raises NotReplayed where it is null."""
        return self.value(self._original, seat)

    def value(self, outcome: Outcome[Any, Any], seat: SeatId) -> float:
        """The seat's metric in an outcome. Raises NotReplayed where it is null."""
        return self._number(getattr(outcome.seats.get(seat), self.metric(seat).name, None), seat)

    def _number(self, value: object, seat: SeatId) -> float:
        if not isinstance(value, int | float):
            raise NotReplayed(f"{self.metric(seat).name} of {seat} is not known")
        return value

    def whole(self, seat: SeatId, name: str) -> float:
        """The metric with this policy in the seat from the start, played once. Raises NotReplayed, ScenarioError."""
        if (seat, name) not in self._whole:
            game = self._seated(seat, name)
            self._whole[seat, name] = (self.rest(game, seat), len(game.records))
        return self._whole[seat, name][0]

    def _seated(self, seat: SeatId, name: str, *, silent: bool = True) -> Game:
        told = policy_spec(self.kind, name, self.roles[seat]).knows_hidden(self._scenario)
        return self.game(seat, self._policy(seat, name), told=told, silent=silent)

    def rates(self, seat: SeatId, names: Sequence[str]) -> Mapping[str, ModeRate]:
        """How often each failure mode is raised in this seat with these policies in it. Raises as `whole`."""
        found: list[tuple[str, Finding]] = []
        for name in names:
            game = self._seated(seat, name, silent=False)
            self._finish(game)
            trace = held_trace(self.manifest, game.records)
            trace.hold()
            found += [(name, finding) for finding in diagnose(trace).findings if seat in finding.seats]
        return mode_rates(found, mode_versions(self._evaluator))

    def length(self, seat: SeatId, name: str) -> int:
        """The number of events with this policy in the seat from the start. Raises as `whole`."""
        self.whole(seat, name)
        return self._whole[seat, name][1]

    def idle(self, seat: SeatId) -> float | None:
        """The metric of a seat that never acts; null where such an episode cannot be played."""
        try:
            return self.rest(self.game(seat, TapePlayer(NO_TAPE)), seat)
        except NotReplayed:
            return None

    @cached_property
    def references(self) -> References | None:
        """What is shipped for this very scenario and these rules."""
        return references_of(self.manifest.core, self._evaluator)

    def usual(self, seat: SeatId) -> SeatRates | None:
        """What ledgers of competent seats say here; None where none are shipped, or of another metric than this one."""
        of_first = self.metric(seat) in primary_metrics(self.kind.name)[:1]
        return self.references.usual if self.references and of_first else None

    def known(self, seat: SeatId, most: int | None = None) -> list[str]:
        """The known policies that can play this seat and know nothing hidden: the headline's field, and all references.

        Where none of them acts in its role: every bundled policy that is no control.
        Of `most` at most the headline's best one is the first.
        """
        fitting = self._fitting(self.roles[seat])
        found = [name for name in self._named(fitting) if parse_policy(name)[0] in fitting]
        if all(name == "passive" for name in found):
            found = [name for name, spec in fitting.items() if not spec.control]
        headline = self._evaluator.headline
        return found if most is None else sorted(found, key=lambda name: not headline or name != headline.best)[:most]

    def _named(self, fitting: Mapping[str, PolicySpec]) -> dict[str, None]:
        """Each once: the headline's field, what the references of this preset name, and all that are references."""
        headline, rates = self._evaluator.headline, self.references
        field, rated = headline.field if headline else (), rates.rows if rates else ()
        return dict.fromkeys([*field, *rated, *(name for name, spec in fitting.items() if spec.reference)])

    def _fitting(self, role: str) -> dict[str, PolicySpec]:
        """The bundled policies that can play a role and know nothing hidden, by name."""
        specs = self.kind.policies.values()
        return {spec.name: spec for spec in specs if role in spec.roles and not spec.knows_hidden(self._scenario)}

    @property
    def frozen(self) -> list[SeatId]:
        """The seats that were played from outside: whichever is not replayed stays on its tape."""
        return self.seating.agents

    # --- playing ----------------------------------------------------------------------------------------------------

    def tape(self, seat: SeatId) -> Tape:
        """What the seat did."""
        return self._tapes.get(seat, NO_TAPE)

    @cached_property
    def _tapes(self) -> Mapping[SeatId, Tape]:
        return read_tapes(self.events)

    def shadow(self, seat: SeatId, name: str) -> Shadow:
        """A fresh policy that can watch the seat's tape. Raises NotReplayed, ScenarioError."""
        if policy_spec(self.kind, name, self.roles[seat]).knows_hidden(self._scenario):
            # It is told in its own turns only.
            raise NotReplayed(f"{name} has to know what {self._scenario.id} hides, so it cannot watch a seat")
        return Shadow(name, self._policy(seat, name))

    def _policy(self, seat: SeatId, name: str) -> Policy:
        return seat_policy(self.kind, name, self.roles[seat], self.seating.draw(self.manifest.core.seed, seat))

    def game(self, seat: SeatId, player: Policy, *, told: bool = False, silent: bool = True) -> Game:
        """The episode before its first turn, with this player in the seat; one that is `told` knows hidden truth.

        A `silent` one keeps no events where the evaluator has its metric from the rules alone.
        """
        core = self.manifest.core
        others = {other: TapePlayer(self.tape(other)) for other in self.frozen}
        scripted = scripted_seats(self.kind, self._scenario, self.seating, core.seed, seated={**others, seat: player})
        # Asked after the others, as whoever knows hidden truth is.
        scripted.privileged |= {seat} if told else set[SeatId]()
        scripted.answer = self._services.at_once if self._services else None
        fresh = Core(self.kind, core, self._scenario)
        fresh.silent = silent and self._evaluator.metric(fresh.market, seat) is not None
        if isinstance(player, TapePlayer):
            player.look = looking(fresh, scripted, seat)
        return Game(fresh, scripted, list(fresh.start(self.seating).records))

    def rest(self, game: Game, seat: SeatId) -> float:
        """The seat's metric once a game is played to its end. Raises NotReplayed where a policy fails in it."""
        self._finish(game)
        if game.core.silent:
            return self._number(self._evaluator.metric(game.core.market, seat), seat)
        # A tape has no looks, so no metric that has been replayed depends on any; most events are looks.
        trace = held_trace(self.manifest, [record for record in game.records if not _LOOK.match(record.body)])
        trace.hold()
        return self.value(evaluate(trace), seat)

    def _finish(self, game: Game) -> None:
        """Play a game to its end. Raises NotReplayed where a policy fails in it."""
        try:
            replay(*game)
        except NotReplayed:
            raise
        except (ScriptedFailure, TradefairError) as failure:
            raise NotReplayed(f"the replay fails: {failure}"[:200]) from failure

    @cached_property
    def _services(self) -> Services | None:
        """What answers the rules' questions to outside services, where this scenario asks any."""
        needs = self.kind.needs(self._scenario) if isinstance(self.kind, Resolves) else ()
        if not needs:
            return None
        from tradefair.host.seats.embedding import similarity_services

        return similarity_services(needs)
