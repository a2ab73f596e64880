"""What a fork must know of its past to replay its policies: which player began at which event, on which draws."""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.contract import Draw, SeatId
from tradefair.contract.chance import KeyPart
from tradefair.contract.players import Seating

FORKED_FROM = "forked_from"
"""The key of a seating's origin under which a fork says where it came from (docs/decisions/0019)."""


class ForkedPast:
    """The past of a fork, in event numbers; made from `Trace.seatings`.

    A `seated` event with `forked_from` starts its seats' players at its number: others played these seats before. Its
    keys are in force from there on. Before `loose_until` a policy need not want the call that is recorded: an event was
    withheld from it, so it has seen other answers than when it decided. `at` is the next event; `Scripted` moves it.
    """

    def __init__(self, seatings: Sequence[tuple[int, Seating]]) -> None:
        self._starts: dict[SeatId, int] = {}
        self.loose_until = 0
        (first, whole), *changes = seatings
        self._whole = [(first, whole)]
        for seq, change in changes:
            whole = whole.later(change)
            self._whole.append((seq, whole))
            forked = (change.origin or {}).get(FORKED_FROM)
            if forked is not None:
                self._starts.update(dict.fromkeys(change.players, seq))
            if isinstance(forked, dict) and forked.get("loose") is True:
                self.loose_until = seq
        # Events are numbered from 1.
        self.at = 1

    def plays(self, seat: SeatId, seq: int) -> bool:
        """Whether event `seq` belongs to the seat's present player."""
        return seq >= self._starts.get(seat, 0)

    def draw(self, seed: int, seat: SeatId) -> Draw:
        """The seat's draws: those of the key that is in force at the next event."""
        # All keys' draws at once: the policy is made before it is known at which event it decides.
        return _PastDraw(self, [(seq, whole.draw(seed, seat)) for seq, whole in self._whole])


class _PastDraw(Draw):
    """Draws of several keys, one after the other."""

    def __init__(self, past: ForkedPast, draws: Sequence[tuple[int, Draw]]) -> None:
        self._past = past
        self._draws = draws

    def uniform(self, *key: KeyPart) -> float:
        """One uniform of the key in force."""
        in_force = next((draw for seq, draw in reversed(self._draws) if seq <= self._past.at), self._draws[0][1])
        return in_force.uniform(*key)
