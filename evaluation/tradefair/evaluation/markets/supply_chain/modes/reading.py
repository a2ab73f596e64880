"""One pass over a supply-chain trace for its failure modes and for what it tells the general ones.

Never raises for what a trace holds: what does not fit is left out, and the outcome's findings say what is unreadable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tradefair.contract import SeatId
from tradefair.evaluation.markets.supply_chain.modes.play import (
    Act,
    Estimate,
    Lapsed,
    Retail,
    SeatRound,
    SupplyGame,
    relative_sales,
)
from tradefair.evaluation.markets.supply_chain.play import SupplyPlay, read_supply_chain
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.evaluation.read.rounds import answer_of
from tradefair.evaluation.reading import once_per_trace
from tradefair.supply_chain.model import SupplyChainScenario
from tradefair.tracestore import Trace

_MAX_CENTS = 10**12
"""Above every price of every scenario: an answer that names more was not written by this market."""


@once_per_trace
def read_game(trace: Trace) -> SupplyGame:
    """An opened trace as a game; one without a closed round has no seats, and its `problem` says why."""
    watcher = _Watcher(trace)
    play = read_supply_chain(trace, watcher)
    if play.scenario is None or not play.rounds:
        why = "the scenario cannot be read" if play.scenario is None else "no round was closed"
        # Without seats every mode has one unchecked finding (`findings_of`).
        return SupplyGame(scenario=play.scenario, problem=why)
    return _game(play, play.scenario, watcher)


class _Calls:
    """What one seat called by round, its lapses, and the answers to its estimates."""

    def __init__(self) -> None:
        self.acts: dict[int, list[Act]] = {}
        self.lapses: list[Lapsed] = []
        self.answers: list[tuple[Act, object]] = []
        self.unread = 0


class _Watcher:
    """Takes the events as they come, hostile ones too: every field is looked at before it is used."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.calls: dict[SeatId, _Calls] = {}
        self.passes: dict[tuple[int, int], int] = {}

    def __call__(self, seq: int, event: dict[str, Any]) -> None:
        number, kind, phase = event.get("round"), event.get("event"), event.get("phase")
        # bool is an int to Python, hence the exact type.
        if type(number) is not int or not isinstance(phase, str):
            return
        if kind == "phase_closed":
            digits = phase.removeprefix("bidding_")
            # A trace may name any phase, with digits that int() refuses or takes long to read.
            if digits.isascii() and digits.isdigit() and len(digits) < 4:
                # The first closure of a pass counts: an edited trace may repeat it.
                self.passes.setdefault((number, int(digits)), seq)
            return
        seat = event.get("seat")
        if not isinstance(seat, str):
            return
        calls = self.calls.setdefault(seat, _Calls())
        if kind == "tool_called":
            self._take(calls, seq, number, phase, event)
        elif kind == "seat_lapsed":
            calls.lapses.append(Lapsed(seq, number, phase))

    def _take(self, calls: _Calls, seq: int, number: int, phase: str, event: Mapping[str, Any]) -> None:
        """Keep one call, and the answer of an estimate."""
        act = Act(
            seq=seq,
            round=number,
            phase=phase,
            tool=str(event.get("tool"))[:100],
            accepted=event.get("status") == "ok",
            # Arguments of reads are not needed, and may be large.
            arguments=mapping(event.get("arguments")) if event.get("kind") == "action" else {},
        )
        calls.acts.setdefault(number, []).append(act)
        if act.tool == "estimate_clearing_prices" and act.accepted:
            answer = answer_of(self._trace, event)
            if answer is None:
                # Only its digest is in the trace: what the seat was told cannot be known.
                calls.unread += 1
            else:
                calls.answers.append((act, answer))


def _game(play: SupplyPlay, scenario: SupplyChainScenario, watcher: _Watcher) -> SupplyGame:
    """The read episode as a game, with a row for every seat and round that it was in business in."""
    # A repeated round of an edited trace is taken once, the last one.
    rounds = {facts.round: (closed, facts) for closed, facts in zip(play.closed, play.rounds, strict=True)}
    game = SupplyGame(
        scenario=scenario,
        terminated=(play.reading.end_reason or "").startswith("terminated:"),
        slogans=play.slogans,
        passes_closed=watcher.passes,
    )
    excused = play.reading.seating.privileged
    for seat in play.seats:
        calls = watcher.calls.get(seat, _Calls())
        game.seats[seat] = Retail(
            seat,
            game,
            privileged=seat in excused,
            calls=calls.acts,
            lapses=calls.lapses,
            estimates=[found for act, answer in calls.answers for found in _estimates(act, answer, scenario)],
            unread=calls.unread,
        )
    funds = dict.fromkeys(play.seats, scenario.initial_funds_cents)
    for number, (closed, facts) in sorted(rounds.items()):
        sales = relative_sales(facts)
        for name, seat in game.seats.items():
            own = facts.seats[name]
            # Rounds after a bankruptcy are censored: doing nothing is no failure of a seat that may not act.
            if own.active:
                seat.rounds.append(SeatRound(number, closed, seat, facts, own, funds[name], sales.get(name)))
            # After the row is made: the row holds the money before procurement, which is that of the last close.
            funds[name] = own.funds
    return game


def _estimates(act: Act, answer: object, scenario: SupplyChainScenario) -> list[Estimate]:
    """The rows of an answer about items that exist, with readable numbers."""
    found: list[Estimate] = []
    for row in map(mapping, sequence(mapping(answer).get("items"))):
        item, low, n = row.get("item"), row.get("low"), row.get("n")
        if not isinstance(item, str) or item not in scenario.item_places:
            continue
        # The bounds also keep nan and infinity out, which round() refuses.
        if type(n) is int and isinstance(low, int | float) and 0 <= low * 100 < _MAX_CENTS:
            found.append(Estimate(act.seq, act.round, act.phase, scenario.item_places[item], round(low * 100), n))
    return found
