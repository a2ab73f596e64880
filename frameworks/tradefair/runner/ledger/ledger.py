"""The ledger of a finished trace: the value of a seat's position before each of its turns (`evaluation/ledger.py`).

The tape of the seat is played once, with the best known policies as its shadows. At the beginning of each turn the
episode is copied, and every policy that does not do exactly what the seat did plays on in a copy to the end, by the
rules, on the same luck; scripted rivals react. Nothing is written and no model is asked.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tradefair.contract import Policy, ScenarioError, SeatError, SeatId, ToolCall, TraceError, Turns, TurnView
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.policy import parse_policy
from tradefair.evaluation.judge.evaluate import Evaluation, diagnose
from tradefair.evaluation.ledger import Action, Extent, Ledger, LedgerTurn
from tradefair.evaluation.modes.base_rates import Played
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.table import number_text
from tradefair.host.seats.scripted import Scripted
from tradefair.runner.ledger.replays import Game, NotReplayed, Replays
from tradefair.runner.ledger.tape import Place, Shadow, Tape, TapePlayer
from tradefair.tracestore import Trace, open_trace

MOST_POLICIES = 4
TURNS = 64
"""Values that are computed of each policy; a longer episode is halved where it lost most."""
BUDGET = 100_000
"""Events that a ledger may re-execute by default: about ten seconds, and the same on every machine."""
SERIES_BUDGET = 10 * BUDGET
"""Events that the ledgers of a series may re-execute together, shared equally among its episodes."""
MOST_SEATS = 8
"""Seats under test of one trace that get a ledger."""
_LEAST = 8
"""Values of each policy that are computed however long the episode is."""
_MOST_WHY = 200
"""Characters of a reason why there is no ledger."""
STAND_INS = 2
"""Policies that are played where a scenario has no base rates."""
_BAND, _COMPETENT = 10, 2
"""The best known policies are those within a tenth of the way from the best one to doing nothing, competent ones those
within half of it."""


class _Value(NamedTuple):
    """What a policy's continuation earns, and its actions in the first turn."""

    earned: float
    would: tuple[ToolCall, ...]


_Key = tuple[int, str]
"""A turn by its number from 0, and a policy that plays from there on."""


class _Turn(NamedTuple):
    """A turn of the tape: where it is, and which policies wanted exactly its calls."""

    place: Place
    same: frozenset[str]


class _Onwards:
    """A policy from a turn on; `first` are the accepted actions of that turn (protocol `Policy`)."""

    def __init__(self, policy: Policy, actions: Container[str]) -> None:
        self._policy, self._actions = policy, actions
        self.first: list[ToolCall] | None = None

    def turn(self, now: TurnView) -> Turns:
        """One turn."""
        turns = self._policy.turn(now)
        if self.first is not None:
            return turns
        self.first = []
        return self._written(turns, self.first)

    def _written(self, turns: Turns, calls: list[ToolCall]) -> Turns:
        try:
            call = next(turns, None)
            while call is not None:
                # Written before it is answered: the call that ends the turn never is.
                acts = call.tool in self._actions
                calls += [call] * acts
                answer = yield call
                if acts and answer.error is not None:
                    calls.pop()
                call = turns.send(answer)
        except StopIteration:
            pass
        finally:
            turns.close()


class _CannotWatch(NotReplayed):
    """A policy expects other answers than a shadow gets, or fails when it plays on."""

    def __init__(self, name: str, why: object) -> None:
        super().__init__(f"{name} cannot watch this episode: {why}"[:200])
        self.name = name


class _Pass:
    """One play of the tape, stopped before each turn of the seat.

    `values` has what each policy's continuation earns from the `wanted` turns on.
    """

    def __init__(self, replays: Replays, seat: SeatId, names: Sequence[str], wanted: Container[_Key]) -> None:
        self.turns: list[_Turn] = []
        self.values: dict[_Key, _Value] = {}
        self._replays, self._seat, self._wanted = replays, seat, wanted
        self._player = TapePlayer(replays.tape(seat), [replays.shadow(seat, name) for name in names])
        self._place: Place | None = None
        game = replays.game(seat, self._player)
        self._records = game.records
        game.scripted.before_turn = self._before
        self.earned = replays.rest(game, seat)
        self._close()

    def _before(self, core: Core, scripted: Scripted, seat: SeatId, records: Sequence[Record]) -> None:
        if seat != self._seat:
            return
        self._close()
        self._place = self._player.place(core.turn_view(seat))
        for shadow in self._player.shadows:
            if (key := (len(self.turns), shadow.name)) in self._wanted:
                # What this commit holds so far is not yet among the records of the game.
                self.values[key] = self._onwards(Game(core, scripted, [*self._records, *records]), shadow)

    def _close(self) -> None:
        """The open turn is over: note who wanted the same calls."""
        place, self._place = self._place, None
        if place is not None:
            self.turns.append(_Turn(place, frozenset(shadow.name for shadow in self._player.shadows if shadow.same)))

    def _onwards(self, game: Game, shadow: Shadow) -> _Value:
        """Play on in a copy, this policy in the seat. Raises NotReplayed."""
        if shadow.broken is not None:
            raise _CannotWatch(shadow.name, repr(shadow.broken))
        # The policy takes the tape's place, which need not be copied.
        shared = {id(self._player): self._player}
        try:
            core, scripted, policy = deepcopy((game.core, game.scripted, shadow.policy), shared)
        except TypeError as fault:
            raise NotReplayed(f"a policy of this episode cannot be copied: {fault}"[:200]) from fault
        actions = {name for name, tool in core.tools(self._seat).items() if not tool.read_only}
        onwards = _Onwards(policy, actions)
        scripted.replace(self._seat, onwards)
        try:
            earned = self._replays.rest(Game(core, scripted, game.records), self._seat)
        except NotReplayed as why:
            raise _CannotWatch(shadow.name, why) from why
        return _Value(earned, tuple(onwards.first or ()))


def ledger_of(
    place: str | Path | Trace,
    seat: SeatId | None = None,
    *,
    against: Sequence[str] = (),
    most: int | None = None,
    diagnosis: Diagnosis | None = None,
) -> Ledger:
    """The ledger of a seat, by default of the only one under test.

    `diagnosis` gives the names of mistakes in its turns, `against` names other policies than the best known ones,
    `most` is how many values of each are computed. Raises TraceError for a trace that cannot be replayed, NotReplayed
    for a seat that has no ledger, ScenarioError for a policy that cannot play it, SeatError.
    """
    replays = Replays(place)
    if seat is None:
        if len(replays.agents) != 1:
            raise SeatError(f"name one of the seats under test: {', '.join(replays.agents) or 'there is none'}")
        (seat,) = replays.agents
    ledger = Ledgers(replays).of(seat, against=against, most=most)
    return ledger if diagnosis is None else ledger.named(diagnosis.names(seat))


def with_ledgers(
    path: str | Path,
    evaluation: Evaluation,
    *,
    extent: Extent = Extent.AUTO,
    episodes: int = 1,
    against: Sequence[str] = (),
    progress: Progress | None = None,
) -> Evaluation:
    """The evaluation with the ledgers of the seats under test; where there can be none it says why.

    `episodes` is how many traces get theirs together: with `extent` auto they share a budget of events. Raises
    ScenarioError for a policy of `against` that cannot play a seat.
    """
    if extent is Extent.OFF or evaluation.outcome is None or is_foreign(evaluation.outcome):
        return evaluation
    budget = min(BUDGET, SERIES_BUDGET // episodes)
    try:
        replays = Replays(path)
    except TraceError as error:
        return evaluation.with_ledgers({}, str(error))
    except Exception as fault:  # events that no rules have made can break any reading
        return evaluation.with_ledgers({}, f"its events cannot be played: {fault!r}"[:_MOST_WHY])
    length, seats = len(replays.events), replays.agents[:MOST_SEATS]
    if extent is Extent.AUTO and length > budget // _LEAST:
        # What a ledger cannot be made of may do for whole plays: of idleness, and of so many policies.
        rated = _rated(path, replays, evaluation, seats, budget // (length * max(1, len(seats))) - 1)
        return rated.with_ledgers({}, f"{length:,} events are many; --ledger full makes it")
    ledgers, reason = Ledgers(replays), ""
    found: dict[SeatId, Ledger] = {}
    for seat in watched(seats, progress, lambda seat: f"what the turns of {seat} lost"):
        try:
            most = None if extent is Extent.AUTO else TURNS
            found[seat] = ledgers.of(seat, against=against, most=most, budget=budget)
        except NotReplayed as why:
            reason = reason or str(why)
        except (ScenarioError, SeatError):
            raise
        except Exception as fault:  # as above
            reason = reason or f"its events cannot be played: {fault!r}"[:_MOST_WHY]
    if len(replays.agents) > MOST_SEATS:
        reason = reason or f"{len(replays.agents)} seats were under test, and the first {MOST_SEATS} have one"
    return _rated(path, replays, evaluation, found).with_ledgers(found, reason)


def _rated(
    path: str | Path, replays: Replays, evaluation: Evaluation, seats: Iterable[SeatId], most: int | None = None
) -> Evaluation:
    """Where no base rates are shipped, known policies are played on the same seed in their place, of `most` at most."""
    if replays.references is not None or evaluation.diagnosis is None or (most is not None and most < STAND_INS):
        return evaluation
    ledgers = Ledgers(replays)
    try:
        best = {seat: ledgers.stand_ins(seat, most) for seat in seats}
        if not any(best.values()):
            return evaluation
        played = Played(
            list(dict.fromkeys(name for names in best.values() for name in names)),
            {seat: replays.rates(seat, names) for seat, names in best.items()},
        )
        with open_trace(path) as trace:
            trace.hold()
            return evaluation._replace(diagnosis=diagnose(trace, played=played))
    except Exception:  # as above; the findings stay as they are, without rates
        return evaluation


class Ledgers:
    """The ledgers of one trace; see `ledger_of`."""

    def __init__(self, replays: Replays) -> None:
        self._replays = replays

    def of(
        self, seat: SeatId, *, against: Sequence[str] = (), most: int | None = None, budget: int | None = None
    ) -> Ledger:
        """The ledger of a seat. Without `most` it re-executes about `budget` events (BUDGET). Raises as `ledger_of`."""
        replays = self._replays
        metric = replays.metric(seat)
        # What is usual is so against the best known policies, not against those that somebody named.
        usual = None if against else replays.usual(seat)
        sign = 1 if metric.higher_is_better else -1
        known, idle = self._known(seat, against), replays.idle(seat)
        best = list(dict.fromkeys(against)) or _best(known, idle, sign)
        names, values = self._watched(seat, best, most, BUDGET if budget is None else budget)
        own = replays.original(seat)
        turns = tuple(self._turns(seat, values, names, sign))
        reachable = _mean([known[name] for name in names])
        return Ledger(
            seat=seat,
            unit=metric.unit,
            higher_is_better=metric.higher_is_better,
            own=own,
            reachable=reachable,
            of=tuple(names),
            gap=sign * (reachable - own) + 0.0,
            frozen=any(other != seat for other in replays.frozen),
            idle=idle,
            known=known,
            median_gap=usual and usual.median_gap,
            noise=usual and usual.noise,
            turns=turns,
        )

    def stand_ins(self, seat: SeatId, most: int | None) -> list[str]:
        """The two best of the competent policies, the market's best one and others; of `most` that are tried."""
        sign = 1 if self._replays.metric(seat).higher_is_better else -1
        best = _best(self._known(seat, (), most), self._replays.idle(seat), sign, _COMPETENT)
        policies = self._replays.kind.policies
        return [name for name in best if not policies[parse_policy(name)[0]].control][:STAND_INS]

    def _watched(self, seat: SeatId, names: list[str], most: int | None, budget: int) -> tuple[list[str], _Values]:
        """The policies that can watch this tape, and their values."""
        while names:
            try:
                return names, self._values(seat, names, most, budget)
            except _CannotWatch as fault:
                if len(names) == 1:
                    raise
                names = [name for name in names if name != fault.name]
        raise NotReplayed(f"no known policy can play {seat}")

    def _known(self, seat: SeatId, against: Sequence[str], most: int | None = None) -> dict[str, float]:
        """What each known policy would have earned, whichever is asked about among them; of `most` known ones."""
        found: dict[str, float] = {}
        for name in dict.fromkeys([*against, *self._replays.known(seat, most)]):
            try:
                found[name] = self._replays.whole(seat, name)
            except NotReplayed:
                # A bundled policy may be unable to play this very scenario; one that was asked for is an error.
                if name in against:
                    raise
        return found

    def _values(self, seat: SeatId, names: Sequence[str], most: int | None, budget: int) -> _Values:
        """Values before all turns, or before as many as are allowed: halved where the most is lost."""
        replays = self._replays
        # The best policy from the start: what it would have done first is not yet known.
        first = _Pass(replays, seat, names, {(0, names[0])})
        self._control(first.earned, seat)
        values = _Values(first.turns, names, replays.original(seat))
        if not first.turns:
            raise NotReplayed(f"{seat} never had a turn")
        for name in names:
            values.put(0, name, first.values.get((0, name), _Value(replays.whole(seat, name), ())))
        if most is None:
            # A value is half an episode of each policy; how much a policy looks around decides what that takes.
            each = max(1, sum(replays.length(seat, name) for name in names) // 2)
            most = min(TURNS, max(_LEAST, budget // each))
        while wanted := values.unknown(most):
            for (number, name), found in _Pass(replays, seat, names, wanted).values.items():
                values.put(number, name, found)
        return values

    def _control(self, earned: float, seat: SeatId) -> None:
        """The unchanged tape must give the figure of the trace. Raises NotReplayed."""
        original = self._replays.original(seat)
        if earned != original:
            told = f"the tape gives {number_text(earned)}, the trace {number_text(original)}"
            raise NotReplayed(f"the episode cannot be replayed: {told}")

    def _turns(self, seat: SeatId, values: _Values, names: Sequence[str], sign: int) -> Iterator[LedgerTurn]:
        tape = self._replays.tape(seat)
        seqs: dict[Place, list[int]] = defaultdict(list)
        for seq, place in tape.places.items():
            seqs[place].append(seq)
        known = values.known
        for start, end in pairwise([*known, len(values.turns)]):
            places = [turn.place for turn in values.turns[start:end]]
            before, after = values.at(start), values.at(end)
            each = [sign * (before[name] - after[name]) + 0.0 for name in names]
            lost = sign * (_mean([*before.values()]) - _mean([*after.values()])) + 0.0
            yield LedgerTurn(
                turn=start + 1,
                until=end,
                round=places[0][0],
                phase=places[0][1],
                step=places[0][2],
                last_round=places[-1][0],
                seqs=tuple(seq for place in places for seq in seqs[place]),
                value=_mean([*before.values()]),
                after=_mean([*after.values()]),
                lost=lost,
                band=(min(each), max(each)),
                agreed=all(part > 0 for part in each) or all(part < 0 for part in each) or not any(each),
                did=tuple(_action(call) for place in places for call in tape.turns.get(place, ())),
                would=values.would(start, names[0], tape) if end == start + 1 else None,
                values=before,
            )


class _Values:
    """What is known of the values before each turn; behind the last one it is what the seat earned."""

    def __init__(self, turns: Sequence[_Turn], names: Sequence[str], own: float) -> None:
        self.turns = turns
        self._names = names
        self._known: dict[tuple[int, str], _Value] = {(len(turns), name): _Value(own, ()) for name in names}

    def put(self, number: int, name: str, value: _Value) -> None:
        """A value that was played, before this turn."""
        self._known[number, name] = value

    def _source(self, number: int, name: str) -> _Key:
        """Where a policy's value comes from: where it wants what the seat did, its value is that of the next turn."""
        while (number, name) not in self._known and name in self.turns[number].same:
            number += 1
        return number, name

    def at(self, number: int) -> dict[str, float]:
        """The value of each policy, the best policy first; only of those that are known here."""
        sources = {name: self._source(number, name) for name in self._names}
        return {name: self._known[key].earned for name, key in sources.items() if key in self._known}

    @property
    def known(self) -> list[int]:
        """The turns before which the value of every policy is known."""
        return [number for number in range(len(self.turns)) if len(self.at(number)) == len(self._names)]

    def unknown(self, most: int) -> set[_Key]:
        """What to play next: all where it is no more than `most` of a policy, else the middles of costly stretches.

        As many stretches are halved at a time as there are, so that the number of passes stays small.
        """
        own = {
            (number, name) for number, turn in enumerate(self.turns) for name in self._names if name not in turn.same
        }
        if max(Counter(name for _, name in own).values(), default=0) <= most:
            return own.difference(self._known)
        known = self.known
        played = max(Counter(name for number, name in self._known if number < len(self.turns)).values())
        stretches = [
            (abs(_mean([*self.at(start).values()]) - _mean([*self.at(end).values()])), -start, (start + end) // 2)
            for start, end in pairwise([*known, len(self.turns)])
            if end - start > 1
        ]
        costliest = sorted(stretches, reverse=True)[: max(0, min(most - played, len(known)))]
        middles = [middle for lost, _, middle in costliest if lost]
        return {self._source(middle, name) for middle in middles for name in self._names}.difference(self._known)

    def would(self, number: int, name: str, tape: Tape) -> tuple[Action, ...]:
        """What a policy would have done in a turn that is known."""
        if name in self.turns[number].same:
            return tuple(_action(call) for call in tape.turns.get(self.turns[number].place, ()))
        return tuple(_action(call) for call in self._known[number, name].would)


def _best(known: Mapping[str, float], idle: float | None, sign: int, band: int = _BAND) -> list[str]:
    """The policies within a `band`th of the way from the best one to doing nothing, the best first, at most four."""
    order = sorted(known, key=lambda name: -sign * known[name])
    if not order:
        return []
    best = known[order[0]]
    least = best if idle is None else best - (best - idle) / band
    # Where doing nothing is best of all nothing but the best policy is as good.
    return [name for name in order if sign * known[name] >= min(sign * least, sign * best)][:MOST_POLICIES]


def _mean(values: Sequence[float]) -> float:
    """The mean; of equal numbers that number itself: a ledger ends at what the seat earned, to the last digit."""
    return values[0] if len(set(values)) == 1 else math.fsum(values) / len(values)


def _action(call: ToolCall) -> Action:
    return call.tool, call.arguments
