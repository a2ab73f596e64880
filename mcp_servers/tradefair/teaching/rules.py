"""The rules: a Nash demand game (Nash 1953) with a private value per slice; with talk on, a sealed message each."""

from __future__ import annotations

import copy
from hashlib import blake2b

import orjson
from pydantic import JsonValue

from tradefair.contract.chance import Chance
from tradefair.contract.errors import IllegalAction
from tradefair.contract.market import Clock, Closure, EndReason, LapseReason
from tradefair.contract.seats import SeatId, SeatSpec
from tradefair.teaching.model import Message, PieFacts, PieLedger, PieScenario, RoundRow, Streams
from tradefair.teaching.views import PieRules, PieTurn


class Pie:
    """One live episode."""

    def __init__(self, scenario: PieScenario, seed: int) -> None:
        self.scenario = scenario
        self.seats = {"P1": SeatSpec("P1", "eater"), "P2": SeatSpec("P2", "eater")}
        self.clock = Clock(1, self._phases()[0], 0)
        self.terminated: EndReason | None = None
        self.read_marks: dict[SeatId, int] = {}
        chance = Chance(seed)
        self.values = {seat: 1 + int(9 * chance.uniform(Streams.VALUE, seat)) for seat in self.seats}
        self.payoffs = dict.fromkeys(self.seats, 0)
        self.sealed: dict[SeatId, int | str | None] = {}
        self.rows: list[RoundRow] = []
        self.inbox: dict[SeatId, list[Message]] = {seat: [] for seat in self.seats}
        self._closed = blake2b(digest_size=32)

    def awaited(self) -> frozenset[SeatId]:
        """Everybody who has not yet acted in the open phase."""
        return frozenset() if self.terminated else frozenset(self.seats).difference(self.sealed)

    def say(self, seat: SeatId, text: str) -> None:
        """Seal a message for the other seat; empty text is silence."""
        self._open(seat, "talk", "claim")
        self.sealed[seat] = text

    def claim(self, seat: SeatId, slices: int) -> None:
        """Seal a claim."""
        self._open(seat, "claim", "say")
        if slices > self.scenario.slices:
            raise IllegalAction(
                "too_many_slices", f"the pie has {self.scenario.slices} slices", hint="claim again with fewer"
            )
        self.sealed[seat] = slices

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """Silence, or no claim."""
        self.sealed[seat] = "" if self.clock.phase == "talk" else None
        return "silence" if self.clock.phase == "talk" else "no_claim"

    def advance(self) -> Closure:
        """Deliver the messages, or divide the pie."""
        return self._deliver() if self.clock.phase == "talk" else self._divide()

    def feed(self, source: str, payload: JsonValue) -> None:
        """This market takes no free-standing input."""
        raise IllegalAction("unknown_source", f"{source[:40]} is not an input of this market", retryable=False)

    def rules_view(self, seat: SeatId) -> PieRules:
        """The rules; the same for both."""
        return PieRules(rounds=self.scenario.rounds, slices=self.scenario.slices, phases=list(self._phases()))

    def turn_view(self, seat: SeatId) -> PieTurn:
        """The last closed round."""
        return PieTurn(rounds_left=self.scenario.rounds - len(self.rows), last=self.rows[-1] if self.rows else None)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """The size of the pie."""
        return {"slices": self.scenario.slices}

    def news_mark(self, seat: SeatId) -> int:
        """Messages received."""
        return len(self.inbox[seat])

    def privileged(self) -> dict[SeatId, int | str | None]:
        """The sealed claims."""
        return self.sealed

    def ending_facts(self) -> PieLedger:
        """Values and payoffs."""
        return PieLedger(values=self.values, payoffs=self.payoffs)

    def digest(self) -> bytes:
        """Digest of the whole state."""
        state = ([*self.clock], self.values, self.payoffs, self.sealed, self.read_marks, self._closed.hexdigest())
        inboxes = {seat: len(rows) for seat, rows in self.inbox.items()}
        return blake2b(orjson.dumps([*state, inboxes], option=orjson.OPT_SORT_KEYS), digest_size=32).digest()

    def perturbed(self, seat: SeatId, salt: int) -> Pie:
        """An independent market with the same public past in which everything private to the other seat differs."""
        twin = copy.copy(self)
        twin.values, twin.payoffs, twin.sealed = dict(self.values), dict(self.payoffs), dict(self.sealed)
        twin.read_marks, twin.rows = dict(self.read_marks), list(self.rows)
        twin.inbox = {owner: list(letters) for owner, letters in self.inbox.items()}
        twin._closed = self._closed.copy()
        (other,) = set(self.seats) - {seat}
        twin.values[other] = 1 + (self.values[other] + salt % 8) % 9
        twin.payoffs[other] = self.payoffs[other] // self.values[other] * twin.values[other]
        match twin.sealed.get(other):
            case int(slices):
                twin.sealed[other] = (slices + 1 + salt % self.scenario.slices) % (self.scenario.slices + 1)
            case str():
                twin.sealed[other] = f"whisper {salt}"
            case None:
                pass
        return twin

    def _phases(self) -> tuple[str, ...]:
        return ("talk", "claim") if self.scenario.talk else ("claim",)

    def _open(self, seat: SeatId, phase: str, other: str) -> None:
        if self.clock.phase != phase:
            raise IllegalAction("wrong_phase", f"the open phase is {self.clock.phase}", hint=f"call {other}")
        if seat in self.sealed:
            raise IllegalAction("already_acted", "one act per phase", hint="call await_turn", retryable=False)

    def _deliver(self) -> Closure:
        for seat in sorted(self.sealed):
            (other,) = set(self.seats) - {seat}
            text = str(self.sealed[seat] or "")
            if text:
                inbox = self.inbox[other]
                inbox.append(Message(number=len(inbox) + 1, round=self.clock.round, sender=seat, text=text))
                self._closed.update(orjson.dumps(["message", self.clock.round, seat, text]))
        self.sealed = {}
        self.clock = Clock(self.clock.round, "claim", self.clock.revision + 1)
        return Closure("phase", self.turn_view("P1"))

    def _divide(self) -> Closure:
        claims = {seat: c if isinstance(c := self.sealed[seat], int) else None for seat in self.seats}
        shared = sum(c or 0 for c in claims.values()) <= self.scenario.slices
        row = RoundRow(round=self.clock.round, claims=claims, shared=shared)
        won = {seat: (claims[seat] or 0) * self.values[seat] if shared else 0 for seat in self.seats}
        for seat, amount in won.items():
            self.payoffs[seat] += amount
        self.rows.append(row)
        self._closed.update(row.model_dump_json().encode())
        self.sealed = {}
        last = len(self.rows) == self.scenario.rounds
        self.terminated = "terminated:rounds_completed" if last else None
        opened = self.clock.round if last else self.clock.round + 1
        self.clock = Clock(opened, self._phases()[0], self.clock.revision + 1)
        return Closure("round", row, PieFacts(row=row, values=self.values, payoffs=won))
