"""The driver's side of the market clock: wait for the seat's turn, or give turns up until a round is behind it."""

from __future__ import annotations

from tradefair.agents.bridge import Bridge
from tradefair.contract import HarnessFailure, TurnView
from tradefair.contract.bounds import MAX_WAIT_S
from tradefair.frameworks.base import BROKE_OFF, SeatConnection, SeatReport


async def open_bridge(seat: SeatConnection) -> Bridge:
    """The seat's tools over its open client.

    Each connection has call keys of its own, by the seat's `key_prefix`.
    """
    return await Bridge.open(seat.client, timeout_s=seat.call_timeout_s, key_prefix=seat.key_prefix)


async def note_given_up(seat: SeatConnection, view: TurnView, why: str) -> None:
    """Note that this phase (`no_call`), or for another reason the round, is given up."""
    if seat.note is not None:
        # `reason` and `lapsed` are read by the reports (docs/explanation/why/frameworks.md): phases for no_call, rounds
        # for all else.
        lapsed = "phase" if why == "no_call" else "round"
        given_up = {"kind": "round_given_up", "round": view.round, "phase": view.phase, "reason": why}
        await seat.note({**given_up, "lapsed": lapsed})


class SeatClock:
    """Waits by `await_turn`, never by polling, and passes the runner's gate before each turn. Close it after play.

    `view` is the latest turn that was waited for.
    """

    def __init__(self, seat: SeatConnection, bridge: Bridge) -> None:
        self._seat = seat
        self._bridge = bridge
        # Whether the gate was entered and not left yet: it must be left exactly once per turn.
        self._inside = False
        self.turns = 0
        self.view: TurnView | None = None

    async def next_turn(self) -> TurnView:
        """The next turn of the seat, or the view that says how the episode ended."""
        # The gate of the turn before; a seat that waits inside it would keep the others from their turns.
        await self.close()
        self.view = view = await self._wait()
        # The last view names no turn: at the end there is nothing to enter.
        if not view.over:
            self.turns += 1
            if self._seat.gate is not None:
                await self._seat.gate.enter(view)
                self._inside = True
        return view

    async def lapse(self, view: TurnView) -> TurnView | None:
        """Lapse the seat in the open phase; its next turn, or None where the connection has no way to lapse.

        Under a free clock nothing lapses: the next turn begins when there are news.

        Raises HarnessFailure when the lapse does not end the turn.
        """
        # The market awaits no seat under a free clock, so there is no default action to take.
        if not view.awaited and not view.over:
            return await self.next_turn()
        if self._seat.lapse is None:
            return None
        await self._seat.lapse("agent_limit")
        following = await self.next_turn()
        # A market that did not move would be asked to lapse again and again; the cause is ours or the market's, not the
        # agent's.
        if not following.over and (following.round, following.revision) == (view.round, view.revision):
            raise HarnessFailure(f"round {view.round}, phase {view.phase}: the lapse did not end the turn")
        return following

    async def give_up(self, view: TurnView) -> TurnView | None:
        """Lapse the seat in the open phase and every later one of the round; otherwise as `lapse`.

        None where the connection has no way to lapse. Raises HarnessFailure as `lapse` does.
        """
        following = await self.lapse(view)
        # A round's phases are not known in advance; the market opens them one after another.
        while following is not None and not following.over and following.round == view.round:
            following = await self.lapse(following)
        return following

    async def close(self) -> None:
        """Leave the gate if inside."""
        if self._inside and self._seat.gate is not None:
            # Before the await: a failure in `leave` must not make a second call.
            self._inside = False
            await self._seat.gate.leave()

    async def _wait(self) -> TurnView:
        # A round in which others take long is waited for in several calls.
        while True:
            # Beyond the server's own wait there is the usual time-out for the answer to travel.
            outcome = await self._bridge.call(
                "await_turn", {"timeout_s": MAX_WAIT_S}, timeout_s=MAX_WAIT_S + self._seat.call_timeout_s
            )
            # Waiting cannot be refused by the rules, so a refusal here is a fault of the connection or of the harness.
            if outcome.is_error:
                raise HarnessFailure(f"await_turn refused: {outcome.text}")
            view = TurnView.model_validate(outcome.structured)
            if not view.still_open:
                return view


async def pass_the_rest(seat: SeatConnection, clock: SeatClock, report: SeatReport, why: str) -> None:
    """Note why an agent left its game, and give every round up that is left; counts into `report`.

    Raises HarnessFailure as `SeatClock.lapse` does.
    """
    view = clock.view or await clock.next_turn()
    if seat.note is not None and not view.over:
        await seat.note({"kind": BROKE_OFF, "round": view.round, "message": why})
    while not view.over:
        await note_given_up(seat, view, BROKE_OFF)
        report.given_up[BROKE_OFF] = report.given_up.get(BROKE_OFF, 0) + 1
        following = await clock.give_up(view)
        if following is None:
            report.stop = "gave_up"
            return
        view = following
    report.end_reason = view.end_reason
