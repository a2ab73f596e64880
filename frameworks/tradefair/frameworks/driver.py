"""Plays a seat round by round with a `RoundPlayer`; the market's clock, not the player, decides when a round begins.

A player that has no call to make passes one phase over; a player that reaches a limit gives the whole round up.
"""

from __future__ import annotations

from tradefair.agents.bridge import Bridge
from tradefair.agents.rounds import RoundEnd, RoundPlayer
from tradefair.contract import TurnView
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.seat_clock import SeatClock


async def play_rounds(
    player: RoundPlayer, clock: SeatClock, bridge: Bridge, seat: SeatConnection, report: SeatReport
) -> SeatReport:
    """Play to the end of the episode, or until a round is given up and the seat cannot lapse; fills in `report`.

    Closes the clock. Raises HarnessFailure.
    """
    try:
        await _play(player, clock, seat, report)
    finally:
        await clock.close()
    report.turns = clock.turns
    report.tool_errors, report.timeouts = bridge.counts.errors, bridge.counts.timeouts
    report.retries = bridge.counts.retries
    return report


async def _play(player: RoundPlayer, clock: SeatClock, seat: SeatConnection, report: SeatReport) -> None:
    view = await clock.next_turn()
    while not view.over:
        end = await player.play_round(view)
        _count(report, end)
        following: TurnView | None = end.view
        if end.stop is not None:
            await _note_given_up(seat, end.view, end.stop)
            following = await _give_up(clock, end.view, end.stop)
        if following is None:
            report.stop = "gave_up"
            report.rounds += 1
            return
        report.rounds += following.over or following.round != view.round
        view = following
    report.end_reason = view.end_reason


async def _give_up(clock: SeatClock, view: TurnView, stop: str) -> TurnView | None:
    """Lapse in the open phase, after a limit in the rest of the round; None without a way to lapse."""
    return await (clock.lapse(view) if stop == "no_call" else clock.give_up(view))


async def _note_given_up(seat: SeatConnection, view: TurnView, stop: str) -> None:
    if seat.note is not None:
        given_up = {"kind": "round_given_up", "round": view.round, "phase": view.phase, "reason": stop}
        await seat.note({**given_up, "lapsed": "phase" if stop == "no_call" else "round"})


def _count(report: SeatReport, end: RoundEnd) -> None:
    report.replies += end.replies
    report.nudges += end.nudges
    report.tool_calls += end.calls
    report.input_tokens += end.input_tokens
    report.output_tokens += end.output_tokens
    report.usage_estimated = report.usage_estimated or end.estimated
    if end.stop is not None:
        report.given_up[end.stop] = report.given_up.get(end.stop, 0) + 1
