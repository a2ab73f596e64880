"""Call ids, and the programs that hold one without an event.

A call of a seat is `r<round>.<seat>.<n>`, n from 1 in each round. A program (`execute_code`) takes its number when it
begins and writes its event when it finishes; the calls that it makes name it as their parent. Replay meets these
events in the order of the log: whichever of them comes first shows that the program has begun.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tradefair.contract.errors import HarnessFailure, TraceError
from tradefair.contract.kernel.kernel_tools import MAX_INNER_CALLS
from tradefair.contract.scenario import SeatId


class Program(NamedTuple):
    """A program that has begun and not finished, with the number of calls that it has made.

    `calls` is the id of its call. In replay it can be several, as long as only a `busy` answer has shown that the
    program runs: it may have begun in any round since the seat's last call.
    """

    calls: tuple[str, ...]
    children: int = 0


class CallBook:
    """The last call id of each seat, and the program that it runs, at most one."""

    def __init__(self, seats: Iterable[SeatId], now: int) -> None:
        self.programs: dict[SeatId, Program] = {}
        # seat -> (round of its last call, calls numbered in it)
        self._last: dict[SeatId, tuple[int, int]] = dict.fromkeys(seats, (now, 0))

    def number(self, seat: SeatId, now: int) -> str:
        """The next call id of this seat in round `now`."""
        last, used = self._last[seat]
        number = used + 1 if last == now else 1
        self._last[seat] = now, number
        return f"r{now}.{seat}.{number}"

    def child(self, seat: SeatId, parent: str | None) -> None:
        """Count a call that the seat's program makes; `parent` is None where it does not say so.

        Raises HarnessFailure for any other call while a program runs, for a parent that does not run, and for more
        than `MAX_INNER_CALLS`.
        """
        program = self.programs.get(seat)
        if program is None or program.calls != (parent,):
            raise HarnessFailure(f"a program of {seat} is running, or {str(parent)[:80]} is not")
        if program.children >= MAX_INNER_CALLS:
            raise HarnessFailure(f"a program makes at most {MAX_INNER_CALLS} calls")
        self.programs[seat] = program._replace(children=program.children + 1)

    def show(self, seat: SeatId, call: str, now: int) -> int | None:
        """Replay: an event names `call` as a program of this seat. The round in which it began, once; then None.

        Raises TraceError where no program of this id can be running.
        """
        program = self.programs.get(seat)
        possible = self._possible(seat, now) if program is None else program.calls
        if call not in possible:
            raise TraceError(f"{str(call)[:80]!r} is no program that can be running here")
        if program is not None and len(possible) == 1:
            return None
        begun = int(call.split(".", 1)[0][1:])
        # Where a `busy` answer has shown it before, the seat's last number is beyond it already.
        if program is None:
            self._last[seat] = begun, int(call.rsplit(".", 1)[1])
        self.programs[seat] = Program((call,))
        return begun

    def show_busy(self, seat: SeatId, call: str, now: int) -> int | None:
        """Replay: `call` of this seat was answered `busy`, so a program of the seat runs.

        The first such answer opens it: with the number before its own, or, where its own is the first of this round,
        in an earlier round. Returns the round in which it began, where this is known now and was not before; does
        nothing where neither can be.
        """
        if seat in self.programs:
            return None
        due, begun = self._due(seat, now), self._last[seat][0]
        if call == f"r{now}.{seat}.{due + 1}":
            self.programs[seat] = Program((self.number(seat, now),))
            return now
        if begun < now and call == f"r{now}.{seat}.{due}":
            self.programs[seat] = Program(self._possible(seat, now - 1))
        return None

    def _due(self, seat: SeatId, now: int) -> int:
        last, used = self._last[seat]
        return used + 1 if last == now else 1

    def _possible(self, seat: SeatId, until: int) -> tuple[str, ...]:
        """The ids of a program that began by round `until` and that no event has shown yet, earliest first."""
        return tuple(f"r{begun}.{seat}.{self._due(seat, begun)}" for begun in range(self._last[seat][0], until + 1))
