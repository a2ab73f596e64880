"""What checking a trace has shown, and whether that is enough for a table: every consumer asks `Proof.proves`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

from tradefair.contract import SeatId
from tradefair.evaluation.hands import Handover

Rules = Literal["reproduced", "diverged", "foreign", "damaged", "unchecked"]
SeatState = Literal["replayed", "outside", "unproven"]
Code = Literal[
    "not_reproduced", "rival_not_replayed", "label_of_a_policy", "changed_hands", "fault_copied", "origin_unknown",
    "values_untrue",
]  # fmt: skip

# What a trace may say of its origin and be a game from its first event on; imports are games that others have played.
_PLAYED = frozenset({"resumed"})
_IMPORTED = frozenset({"imported_from"})


class Odd(NamedTuple):
    """A value beside the chain that cannot be true. `seq` is null where it belongs to no event."""

    seq: int | None
    message: str


class Refusal(NamedTuple):
    """Why a trace proves nothing of the seats under test: the code, the seat and the event (0: none), a sentence."""

    code: Code
    seat: SeatId
    event: int
    sentence: str

    @property
    def reason(self) -> str:
        """The code in words, without seat and event: what tables count by."""
        return self.code.replace("_", " ")

    @property
    def where(self) -> str:
        """Seat and event in brackets, as far as they are known."""
        named = ", ".join(filter(None, (self.seat, f"event {self.event}" * (self.event > 0))))
        return f" ({named})" * bool(named)

    @property
    def text(self) -> str:
        """All of it in a line."""
        return f"{self.reason}{self.where}: {self.sentence}"


class Proof(NamedTuple):
    """What was found. `seats` is empty where nobody was played again.

    `replayed`: from the first event to the last, every call is what the named policy gives. `outside`: no policy is
    named, and nothing can be replayed. `unproven`: one is named, and it did not play so, or cannot be played here;
    `why` says what is missing of such seats, `at` since which event. `faults` are the first faults of the host by seat,
    `late` the seats that draw by the key of whoever is under test, `origins` the keys of what the trace says of its
    origin. `seq` and `seat` are those of the first event that is wrong.
    """

    rules: Rules = "unchecked"
    seats: Mapping[SeatId, SeatState] = {}
    copied: Mapping[str, int] = {}
    changes: Sequence[Handover] = ()
    odd: Sequence[Odd] = ()
    why: Mapping[SeatId, str] = {}
    at: Mapping[SeatId, int] = {}
    faults: Mapping[SeatId, int] = {}
    late: frozenset[SeatId] = frozenset()
    origins: frozenset[str] = frozenset()
    sentence: str = ""
    seq: int = 0
    seat: str = ""

    def proves(
        self, under_test: Collection[SeatId], *, imports: bool = False, outside: Collection[SeatId] = ()
    ) -> Refusal | None:
        """None where the trace shows what the seats `under_test` earned against the rivals that it names; else why not.

        `imports`: a log that others have played and that the rules reproduce is enough. `outside` are rivals that may
        be played from outside, as a file of terms or a plan says.
        """
        if self.rules != "reproduced":
            return Refusal("not_reproduced", self.seat, self.seq, self.sentence[:300])
        allowed = _PLAYED | (_IMPORTED if imports else frozenset[str]())
        strange = ", ".join(sorted(self.origins - allowed))[:80]
        found = [*self._of_seats({*under_test}, {*outside}), *self._of_hands({*under_test})]
        found += (
            [Refusal("origin_unknown", "", 1, f"it was not played here from its start: {strange}")] if strange else []
        )
        found += [Refusal("values_untrue", "", odd.seq or 0, odd.message) for odd in self.odd]
        return found[0] if found else None

    def _of_seats(self, under_test: set[SeatId], outside: set[SeatId]) -> Iterator[Refusal]:
        if not self.seats:
            yield Refusal("rival_not_replayed", "", 0, "no seat was played again")
        for seat, state in self.seats.items():
            if state == "unproven":
                code: Code = "label_of_a_policy" if seat in under_test else "rival_not_replayed"
                yield Refusal(
                    code, seat, self.at.get(seat, 1), f"{seat} was not replayed: {self.why.get(seat, '')}"[:300]
                )
            elif state == "outside" and seat not in under_test | outside:
                yield Refusal("rival_not_replayed", seat, 1, f"{seat} was played from outside, and is not under test")
        for seat in sorted(self.late - under_test):
            yield Refusal("rival_not_replayed", seat, 1, f"{seat} draws by the agent's key, and is not under test")

    def _of_hands(self, under_test: set[SeatId]) -> Iterator[Refusal]:
        for seq, seat, before, after in self.changes:
            said = f"{seat} changed hands: {before[:80]} until event {seq}, then {after[:80]}"
            yield Refusal("changed_hands", seat, seq, said)
        for seat, seq in self.faults.items():
            if seat not in under_test:
                yield Refusal("fault_copied", seat, seq, f"event {seq} is a fault of the host in a call of {seat}")
