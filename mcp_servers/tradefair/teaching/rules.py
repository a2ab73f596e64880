"""The rules: a Nash demand game (Nash 1953) with a private value per slice; with talk on, a sealed message each."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from tradefair.contract import Chance, IllegalAction, SealedRounds, SeatId
from tradefair.contract.sealed import AppendOnly
from tradefair.teaching.model import Message, PieFacts, PieLedger, PieScenario, RoundRow, Streams
from tradefair.teaching.views import PieRules, PieTurn


class Pie(SealedRounds[int | str | None]):
    """One live episode. A sealed act is a message (text) or a claim (slices; None where a seat made no claim).

    Seats are P1 and P2; claims and slices are whole numbers, payoffs are slices times the seat's value. With talk each
    round has a talk phase before the claims.
    """

    def __init__(self, scenario: PieScenario, seed: int) -> None:
        super().__init__(seed, {"P1": "eater", "P2": "eater"}, scenario.rounds, scenario.phases)
        self.scenario = scenario
        # Keyed by seat: what one seat is given does not depend on how many other draws there are.
        chance = Chance(seed)
        # 1 to 9 and never 0, because `resample` divides by it.
        self.values = {seat: 1 + int(9 * chance.uniform(Streams.VALUE, seat)) for seat in self.seats}
        self.payoffs = dict.fromkeys(self.seats, 0)
        self.rows = AppendOnly[RoundRow]()
        self.inbox = {seat: AppendOnly[Message]() for seat in self.seats}

    def say(self, seat: SeatId, text: str) -> None:
        """Seal a message for the other seat; empty text is silence."""
        self.seal(seat, text)

    def claim(self, seat: SeatId, slices: int) -> None:
        """Seal a claim. Raises IllegalAction: too_many_slices, already_acted."""
        # Before the other check: a seat that has claimed is told so, whatever it claims now.
        self.require_open(seat)
        if slices > self.scenario.slices:
            raise IllegalAction(
                "too_many_slices", f"the pie has {self.scenario.slices} slices", hint="claim again with fewer"
            )
        self.seal(seat, slices)

    def default(self, seat: SeatId, phase: str) -> tuple[int | str | None, str]:
        """Silence, or no claim."""
        return ("", "silence") if phase == "talk" else (None, "no_claim")

    def deliver(self, phase: str, acts: Mapping[SeatId, int | str | None]) -> PieTurn:
        """Put the messages into the inboxes. That is all that both seats learn: the text goes to its reader only."""
        for seat, text in acts.items():
            if isinstance(text, str) and text:
                inbox = self.inbox[self.other(seat)]
                inbox.append(Message(number=len(inbox) + 1, round=self.clock.round, sender=seat, text=text))
        # Either seat's: the public part of a turn is the same for both.
        return self.turn_view("P1")

    def settle(self, acts: Mapping[SeatId, int | str | None]) -> tuple[RoundRow, PieFacts]:
        """Divide the pie: both get their claims if these fit into it, else both get nothing."""
        # By seat, in seat order: nothing here could tell which seat was first.
        claims = {seat: act if isinstance(act, int) else None for seat, act in acts.items()}
        # A seat without a claim asks for nothing, so the other one can still be served.
        shared = sum(claim or 0 for claim in claims.values()) <= self.scenario.slices
        row = RoundRow(round=self.clock.round, claims=claims, shared=shared)
        won = {seat: (claims[seat] or 0) * self.values[seat] if shared else 0 for seat in self.seats}
        for seat, amount in won.items():
            self.payoffs[seat] += amount
        self.rows.append(row)
        return row, PieFacts(row=row, values=self.values, payoffs=won)

    def resample(self, seat: SeatId, chance: Chance) -> None:
        """Another value, the payoff that it makes of the same slices, and another sealed message or claim."""
        # Claims are public, so the slices stay; only their worth is private.
        slices_won = self.payoffs[seat] // self.values[seat]
        # 1 to 8 steps further around the circle of nine values: never the old one.
        self.values[seat] = 1 + (self.values[seat] + int(8 * chance.uniform(Streams.VALUE, seat))) % 9
        self.payoffs[seat] = slices_won * self.values[seat]
        match self.sealed.get(seat):
            case int(claim):
                step = 1 + int(self.scenario.slices * chance.uniform("claim", seat))
                self.sealed[seat] = (claim + step) % (self.scenario.slices + 1)
            case str():
                self.sealed[seat] = f"whisper {chance.uniform('text', seat)}"
            case None:
                pass

    def other(self, seat: SeatId) -> SeatId:
        """The other seat."""
        (other,) = set(self.seats) - {seat}
        return other

    def rules_view(self, seat: SeatId) -> PieRules:
        """The rules; the same for both."""
        return PieRules(rounds=self.rounds, slices=self.scenario.slices, phases=list(self.phases))

    def turn_view(self, seat: SeatId) -> PieTurn:
        """The last closed round."""
        return PieTurn(rounds_left=self.rounds - len(self.rows), last=self.rows[-1] if self.rows else None)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """The size of the pie."""
        return {"slices": self.scenario.slices}

    def news_mark(self, seat: SeatId) -> int:
        """Messages received."""
        return len(self.inbox[seat])

    def ending_facts(self) -> PieLedger:
        """Values and payoffs."""
        return PieLedger(values=self.values, payoffs=self.payoffs)
