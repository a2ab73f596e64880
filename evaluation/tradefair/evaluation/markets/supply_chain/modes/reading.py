"""A supply-chain trace for its failure modes and for what it tells the general ones.

Never raises for what a trace holds: what does not fit is left out, and the outcome's findings say what is unreadable.
"""

from __future__ import annotations

import math

from tradefair.evaluation.markets.supply_chain.modes.play import Estimate, Retail, SeatRound, SupplyGame, relative_sales
from tradefair.evaluation.markets.supply_chain.play import ESTIMATE, SupplyPlay, read_supply_chain
from tradefair.evaluation.reading import once_per_trace
from tradefair.supply_chain.answers.results import ClearingEstimates
from tradefair.supply_chain.model import SupplyChainScenario
from tradefair.tracestore import Trace


@once_per_trace
def read_game(trace: Trace) -> SupplyGame:
    """An opened trace as a game; one without a closed round has no seats, and its `problem` says why."""
    play = read_supply_chain(trace)
    if play.scenario is None or not play.rounds:
        why = "the scenario cannot be read" if play.scenario is None else "no round was closed"
        # Without seats every mode has one unchecked finding (`findings_of`).
        return SupplyGame(scenario=play.scenario, problem=why)
    return _game(play, play.scenario)


def _game(play: SupplyPlay, scenario: SupplyChainScenario) -> SupplyGame:
    """The read episode as a game, with a row for every seat and round that it was in business in."""
    # A repeated round of an edited trace is taken once, the last one.
    rounds = {facts.round: (closed, facts) for closed, facts in zip(play.closed, play.rounds, strict=True)}
    game = SupplyGame(
        scenario=scenario,
        terminated=(play.reading.end_reason or "").startswith("terminated:"),
        slogans=play.slogans,
        phases=play.read.phases,
    )
    excused = play.reading.seating.privileged
    for seat in play.seats:
        did = {number: rows for (who, number), rows in play.read.did.items() if who == seat}
        game.seats[seat] = Retail(seat, game, privileged=seat in excused, did=did)
        _estimate(game.seats[seat], play, scenario)
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


def _estimate(seat: Retail, play: SupplyPlay, scenario: SupplyChainScenario) -> None:
    """Enter what estimates said of items that exist, and how many of their answers cannot be read."""
    seat.unread = len(play.read.accepted(seat.seat, None, ESTIMATE))
    for did, answer in play.read.answers(seat.seat, None, ESTIMATE, ClearingEstimates):
        seat.unread -= 1
        seat.estimates += [
            Estimate(did.seq, did.round, did.phase, scenario.item_places[row.item], round(row.low * 100), row.n)
            for row in answer.items
            if row.item in scenario.item_places and math.isfinite(row.low)
        ]
