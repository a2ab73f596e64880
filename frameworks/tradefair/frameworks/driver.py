"""Plays a seat round by round with a `RoundPlayer`; the market's clock, not the player, decides when a round begins.

A player that has no call to make passes one phase over; a player that reaches a limit gives the whole round up.
"""

from __future__ import annotations

from tradefair.agents.bridge import Bridge
from tradefair.agents.rounds import RoundEnd, RoundPlayer
from tradefair.contract import TurnView
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models.access import IDLE_ROUNDS, Stopped
from tradefair.frameworks.seat_clock import SeatClock, note_given_up


async def play_rounds(
    player: RoundPlayer, clock: SeatClock, bridge: Bridge, seat: SeatConnection, report: SeatReport
) -> SeatReport:
    """Play to the end of the episode, or until a round is given up and the seat cannot lapse; fills in `report`.

    Closes the clock. Raises HarnessFailure; Stopped after rounds in which nothing was carried out.
    """
    try:
        await _play(player, clock, seat, report)
    finally:
        # Also after a failure: a seat that stays inside the runner's gate would block every other awaited seat.
        await clock.close()
    report.turns = clock.turns
    report.tool_errors, report.timeouts = bridge.counts.errors, bridge.counts.timeouts
    report.retries = bridge.counts.retries
    return report


async def _play(player: RoundPlayer, clock: SeatClock, seat: SeatConnection, report: SeatReport) -> None:
    """Play turn by turn until the view says that the episode is over, counting into `report`."""
    view = await clock.next_turn()
    idle = _Idle(seat.idle_rounds)
    while not view.over:
        end = await player.play_round(view)
        _count(report, end)
        idle.hear(view.round, end)
        following: TurnView | None = end.view
        if end.stop is not None:
            # Noted before the lapse: the lapse opens the next turn or ends the episode, and the note is about this one.
            await note_given_up(seat, end.view, end.stop)
            following = await _give_up(clock, end.view, end.stop)
        if following is None:
            report.stop = "gave_up"
            # A round that could not be lapsed counts as played: its calls are in the trace.
            report.rounds += 1
            return
        # A player may return within a round (a phase was passed over); only a new round or the end makes one more.
        if following.over or following.round != view.round:
            report.rounds += 1
            idle.close(following)
        view = following
    report.end_reason = view.end_reason


class _Idle:
    """Counts rounds in a row in which no call was carried out, up to `most` (0: without end)."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._rounds: list[int] = []
        self._calls = 0
        self._acted = False

    def hear(self, round_number: int, end: RoundEnd) -> None:
        """Take in a round, or a part of one."""
        self._rounds = self._rounds if round_number in self._rounds else [*self._rounds, round_number]
        self._calls += end.calls
        self._acted = self._acted or end.carried_out

    def close(self, following: TurnView) -> None:
        """The round is over. Raises Stopped where it was one too many and another one follows."""
        if self._acted:
            self._rounds, self._calls, self._acted = [], 0, False
        if len(self._rounds) >= self._most > 0 and not following.over:
            calls = f"{self._calls} calls, all refused" if self._calls else "none was made"
            rounds = (
                f"rounds {self._rounds[0]} to {self._rounds[-1]}" if self._rounds[1:] else f"round {self._rounds[0]}"
            )
            raise Stopped(IDLE_ROUNDS, f"no call was carried out in {rounds} ({calls})")


async def _give_up(clock: SeatClock, view: TurnView, stop: str) -> TurnView | None:
    """Lapse in the open phase, after a limit in the rest of the round; None without a way to lapse.

    A model with nothing to say in one phase may still act in the next; a spent limit is the round's, so no later phase
    of it could be played.
    """
    return await (clock.lapse(view) if stop == "no_call" else clock.give_up(view))


def _count(report: SeatReport, end: RoundEnd) -> None:
    report.replies += end.replies
    report.nudges += end.nudges
    report.tool_calls += end.calls
    report.input_tokens += end.input_tokens
    report.output_tokens += end.output_tokens
    report.usage_estimated = report.usage_estimated or end.estimated
    if end.stop is not None:
        report.given_up[end.stop] = report.given_up.get(end.stop, 0) + 1
