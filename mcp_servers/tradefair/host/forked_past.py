"""What a fork must know of its past to replay its policies: which player began at which event, on which draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tradefair.contract import Draw, SeatId, TraceError
from tradefair.contract.chance import KeyPart

FORKED_FROM = "forked_from"
"""The key of a manifest's about under which a fork says where it came from (docs/decisions/0019)."""

# Each fork of a fork adds one key; more than this is a damaged record.
_MAX_KEYS = 1_000


class ForkedPast:
    """The past of a fork, in event numbers.

    `starts[seat]` is the first event of the seat's present player; another one played it before. `keys` are pairs (from
    this event on, policy key), ascending. Before `loose_until` a policy need not want the call that is recorded: an
    event was withheld from it, so it has seen other answers than when it decided. `at` is the next event; `Scripted`
    moves it.
    """

    def __init__(self, starts: Mapping[SeatId, int], keys: Sequence[tuple[int, int]], loose_until: int = 0) -> None:
        self.starts = dict(starts)
        self.keys = list(keys)
        self.loose_until = loose_until
        # Events are numbered from 1.
        self.at = 1

    @classmethod
    def of_about(cls, about: Mapping[str, Any], source: str) -> ForkedPast | None:
        """The past that a manifest's about records; None for an episode that is no fork.

        TraceError for a damaged record.
        """
        record = about.get(FORKED_FROM)
        if record is None:
            return None
        try:
            starts = {str(seat): int(seq) for seat, seq in record["starts"].items()}
            keys = [(int(seq), int(key)) for seq, key in record["keys"]]
            loose = int(record["loose_until"])
        # The manifest is not sealed while an episode runs, so nothing in it is taken on trust.
        except (KeyError, TypeError, ValueError, AttributeError):
            raise TraceError(f"{source}: the manifest does not say how it was forked; it was edited") from None
        if not 0 < len(keys) <= _MAX_KEYS or keys != sorted(keys):
            raise TraceError(f"{source}: the draws of the fork are not in order; the manifest was edited")
        return cls(starts, keys, loose)

    def recorded(self) -> dict[str, Any]:
        """Plain data for the manifest's about.

        The form that `of_about` reads.
        """
        return {"starts": self.starts, "keys": [list(key) for key in self.keys], "loose_until": self.loose_until}

    def forked(self, at: int, seats: Sequence[SeatId], policy_key: int, *, loose: bool = False) -> ForkedPast:
        # The fork's own key holds from `at` on; keys of a later time belong to what was cut off.
        """The past of a fork of this one: from event `at` on, other players in `seats` and other draws in all seats."""
        kept = [(seq, key) for seq, key in self.keys if seq < at]
        starts = {seat: seq for seat, seq in self.starts.items() if seq < at} | dict.fromkeys(seats, at)
        return ForkedPast(starts, [*kept, (at, policy_key)], at if loose else min(self.loose_until, at))

    def plays(self, seat: SeatId, seq: int) -> bool:
        """Whether event `seq` belongs to the seat's present player."""
        return seq >= self.starts.get(seat, 0)

    def draw(self, seed: int, seat: SeatId) -> Draw:
        """The seat's draws: those of the key that is in force at the next event."""
        # All keys' draws at once: the policy is made before it is known at which event it decides.
        return _PastDraw(self, {key: Draw.of(seed, seat, key) for _, key in self.keys})

    @property
    def policy_key(self) -> int:
        """The key in force at the next event."""
        return next((key for seq, key in reversed(self.keys) if seq <= self.at), self.keys[0][1])


class _PastDraw(Draw):
    """Draws of several keys, one after the other."""

    def __init__(self, past: ForkedPast, draws: Mapping[int, Draw]) -> None:
        self._past = past
        self._draws = draws

    def uniform(self, *key: KeyPart) -> float:
        """One uniform of the key in force."""
        return self._draws[self._past.policy_key].uniform(*key)
