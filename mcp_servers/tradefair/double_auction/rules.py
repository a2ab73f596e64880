"""The engine: one sealed quote per seat and round, matched by rank, each pair at its own midpoint; before it, talk.

Double_auction page, sections 3, 4, 6 and 7. A round's order of draws is fixed (6.2): speaking order (with chat), quote
order, then per matched pair in rank order the coin (if needed) and the maker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from tradefair.contract.chain import canonical
from tradefair.contract.chance import Chance
from tradefair.contract.errors import EpisodeOver, HarnessFailure, IllegalAction
from tradefair.contract.market import Clock, Closure, EndReason, LapseReason
from tradefair.contract.seats import SeatId, SeatSpec
from tradefair.double_auction import views
from tradefair.double_auction.engine import talk
from tradefair.double_auction.model import (
    ClosedRound,
    DoubleAuctionScenario,
    EndingFacts,
    MatchFacts,
    Message,
    MessageReceipt,
    OpeningFacts,
    Phase,
    PrivateValues,
    QuoteReceipt,
    RoundFacts,
    RulesView,
    State,
    TalkClosed,
    TurnPart,
    role_of,
)
from tradefair.trading.chance import TradingChance, feed_chance, open_chance
from tradefair.trading.clearing import benchmarks, clear, potentials
from tradefair.trading.values import Mix

_COMPLETED = "terminated:rounds_completed"


class HiddenTruth(NamedTuple):
    """What privileged policies are given: live views of all private values and of the sealed quotes."""

    values: Mapping[SeatId, int]
    book: Mapping[SeatId, int]
    price_max: int


class DoubleAuction:
    """A live double auction (contract `Market`); `state` is read by the views and changed here only."""

    def __init__(self, scenario: DoubleAuctionScenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        roster = scenario.roster
        self.seats: dict[SeatId, SeatSpec] = {seat: SeatSpec(seat, role_of(seat)) for seat in roster.seats}
        self.read_marks: dict[SeatId, int] = dict.fromkeys(roster.seats, 0)
        self.terminated: EndReason | None = None
        self._chance: TradingChance = open_chance(
            scenario.chance,
            seed,
            roster,
            seat_order=scenario.seat_order,
            chat=scenario.chat.enabled,
            price_max=scenario.price_max,
        )
        self.state = State(
            scenario=scenario,
            roster=roster,
            private=_private_values(scenario, self._chance),
            phase=scenario.phases[0],
            payoff=dict.fromkeys(roster.seats, 0),
            rounds_traded=dict.fromkeys(roster.seats, 0),
            rounds_forfeited=dict.fromkeys(roster.seats, 0),
            inbox={seat: [] for seat in roster.seats},
        )
        self.clock = Clock(1, self.state.phase, 0)
        self._everyone = frozenset(roster.seats)
        self._awaited: frozenset[SeatId] = self._everyone
        self._inputs: list[JsonValue] = []
        self._history: tuple[hashlib.blake2b, hashlib.blake2b] | None = None
        self._hashed = (0, 0)

    def awaited(self) -> frozenset[SeatId]:
        """The seats that have not acted in the open phase."""
        return self._awaited

    def say(self, seat: SeatId, recipient: str, text: str, round_guard: int | None = None) -> MessageReceipt:
        """Seal one message until the talk phase closes; blank text is silence, whatever the recipient.

        Raises EpisodeOver, or IllegalAction: stale_round, wrong_phase, already_acted, message_too_long, unknown_id,
        recipient_not_allowed, recipient_is_self.
        """
        self._require_open(seat, "talk", round_guard)
        message = talk.written(self.scenario, self.state.round, seat, recipient, text)
        self._spoken(seat, message)
        return MessageReceipt(
            round=self.state.round,
            delivered_to=[] if message is None else list(message.addressees),
            words=0 if message is None else message.words,
            silent=message is None,
        )

    def _spoken(self, seat: SeatId, message: Message | None) -> None:
        self.state.outbox[seat] = message
        self._awaited = self._awaited - {seat}

    def quote(self, seat: SeatId, price: int, round_guard: int | None = None) -> QuoteReceipt:
        """Seal one quote, 0..P points; final once accepted.

        Raises EpisodeOver, or IllegalAction: stale_round, wrong_phase, already_acted, price_out_of_range,
        through_value.
        """
        through = self.place(seat, price, round_guard)
        return QuoteReceipt(round=self.state.round, price=price, warning="through_value" if through else None)

    def place(self, seat: SeatId, price: int, round_guard: int | None = None) -> bool:
        """`quote` without a receipt: whether the quote goes through the own value."""
        state = self.state
        self._require_open(seat, "quote", round_guard)
        price_max = self.scenario.price_max
        if not 0 <= price <= price_max:
            raise IllegalAction(
                "price_out_of_range",
                f"prices are whole points from 0 to {price_max}",
                hint=f"submit_quote with a price of 0..{price_max}",
            )
        value = state.private.by_seat[seat]
        through = price > value if seat[0] == "B" else price < value
        if through and self.scenario.budget_constraint:
            raise IllegalAction(
                "through_value",
                "this venue refuses a bid above the own value and an ask below the own cost",
                hint="view_my_value shows your limit; submit_quote within it",
            )
        state.book[seat] = price
        self._awaited = self._awaited - {seat}
        return through

    def _require_open(self, seat: SeatId, phase: Phase, round_guard: int | None) -> None:
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)
        open_round = self.state.round
        tool = "submit_quote" if phase == "quote" else "send_message"
        if round_guard is not None and round_guard != open_round:
            raise IllegalAction(
                "stale_round",
                f"round {round_guard} is not open; the open round is {open_round}",
                hint=f"{tool} with round={open_round}, or without round",
            )
        if self.state.phase != phase:
            raise self._wrong_phase(seat)
        if seat not in self._awaited:
            quoting = phase == "quote"
            raise IllegalAction(
                "already_acted",
                f"the {'quote' if quoting else 'message'} of round {open_round} is final",
                hint=f"await_turn until the next {'round' if quoting else 'phase'} opens",
                retryable=False,
            )

    def _wrong_phase(self, seat: SeatId) -> IllegalAction:
        """A quote while the seats talk, or a message while they quote."""
        awaited = seat in self._awaited
        if self.state.phase == "talk":
            hint = "send_message first; an empty message is silence" if awaited else "await_turn until all have spoken"
            return IllegalAction("wrong_phase", "the seats talk now; quotes follow", hint=hint)
        hint = "submit_quote" if awaited else "await_turn until the next round opens"
        return IllegalAction("wrong_phase", f"the talk of round {self.state.round} is over; quotes are due", hint=hint)

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """Silence while the seats talk; else the seat forfeits the round: the book and the ledger stay as they are."""
        if seat not in self._awaited:
            raise HarnessFailure(f"{seat} cannot lapse ({reason}): it is not awaited")
        if self.state.phase == "talk":
            self._spoken(seat, None)
            return "silence"
        self.state.lapsed.add(seat)
        self._awaited = self._awaited - {seat}
        return "forfeit_round"

    def advance(self) -> Closure:
        """Close the open phase: talk is delivered, the quote phase settles and publishes the round.

        That a talk phase has closed is all that its closure tells: who spoke is known to sender and addressees only.
        """
        if self.state.phase == "talk":
            self.close_talk()
            return Closure("phase", TalkClosed(round=self.state.round))
        closed = self.close_round()
        return Closure("round", closed.row, self._facts(closed))

    def close_talk(self) -> None:
        """Deliver the sealed messages in speaking order and open the quote phase."""
        self._require_acted("talk")
        state = self.state
        state.speaking_order = self._chance.speaking_order(state.round)
        for seat in state.speaking_order:
            message = state.outbox[seat]
            if message is not None:
                state.messages.append(message)
                for reader in (message.sender, *message.addressees):
                    state.inbox[reader].append(message)
        state.outbox.clear()
        state.phase = "quote"
        self._awaited = self._everyone
        self.clock = Clock(state.round, state.phase, self.clock.revision + 1)

    def _require_acted(self, phase: Phase) -> None:
        if self._awaited or self.terminated is not None or self.state.phase != phase:
            raise HarnessFailure(f"a {phase} phase closes when it is open and nobody is awaited")

    def close_round(self) -> ClosedRound:
        """Settle the open round and open the next one; `advance` without its closure, for play by rules alone."""
        self._require_acted("quote")
        closed = self._settle()
        self._pay(closed)
        state = self.state
        state.rounds.append(closed)
        state.book.clear()
        state.lapsed.clear()
        state.memo.clear()
        if state.round == self.scenario.rounds:
            self.terminated = _COMPLETED
        else:
            state.round += 1
            state.phase = self.scenario.phases[0]
            state.speaking_order = None
            self._awaited = self._everyone
        self.clock = Clock(state.round, state.phase, self.clock.revision + 1)
        return closed

    def _settle(self) -> ClosedRound:
        """Match and price the book; reads the quotes in seat order, so that arrival leaves no mark."""
        state = self.state
        number, book = state.round, state.book
        order = self._chance.quote_order(number)
        bids = {seat: book[seat] for seat in state.roster.buyers if seat in book}
        asks = {seat: book[seat] for seat in state.roster.sellers if seat in book}
        chance = self._chance
        matches = clear(
            bids,
            asks,
            order,
            lambda pair: chance.round_up(number, pair),
            lambda pair, earlier: chance.maker(number, pair, earlier),
        )
        forfeited = tuple(seat for seat in state.roster.seats if seat in state.lapsed) if state.lapsed else ()
        return ClosedRound(number, order, bids, asks, forfeited, tuple(matches), state.speaking_order)

    def _pay(self, closed: ClosedRound) -> None:
        state = self.state
        values = state.private.by_seat
        for match in closed.matches:
            state.payoff[match.buyer] += values[match.buyer] - match.price
            state.payoff[match.seller] += match.price - values[match.seller]
            state.rounds_traded[match.buyer] += 1
            state.rounds_traded[match.seller] += 1
        for seat in closed.forfeited:
            state.rounds_forfeited[seat] += 1

    def feed(self, source: str, payload: JsonValue) -> None:
        """Take a round's recorded orders, coins and makers (`chance = recorded`), before its first phase closes."""
        over = self.terminated is not None
        feed_chance(self._chance, self.scenario.chance, source, payload, open_round=self.state.round, over=over)
        self._inputs.append(payload)

    def rules_view(self, seat: SeatId) -> RulesView:
        """The rules; equal for all seats."""
        return views.rules(self.state)

    def turn_view(self, seat: SeatId) -> TurnPart:
        """How the seat fared in the last round; neither value nor history."""
        return views.turn_part(self.state, seat)

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """SEAT, ROLE, PRICE_MAX and ROUNDS."""
        scenario = self.scenario
        return {"SEAT": seat, "ROLE": role_of(seat), "PRICE_MAX": scenario.price_max, "ROUNDS": scenario.rounds}

    def news_mark(self, seat: SeatId) -> int:
        """Closed rounds and messages of others: nothing else ever reaches a seat."""
        heard = sum(message.sender != seat for message in self.state.inbox[seat])
        return len(self.state.rounds) + heard

    def privileged(self) -> HiddenTruth:
        """All private values and the sealed quotes of the open round."""
        return HiddenTruth(self.state.private.by_seat, self.state.book, self.scenario.price_max)

    def _facts(self, closed: ClosedRound) -> RoundFacts:
        state = self.state
        values = state.private.by_seat
        gains = dict.fromkeys(self.seats, 0)
        for match in closed.matches:
            gains[match.buyer] = values[match.buyer] - match.price
            gains[match.seller] = match.price - values[match.seller]
        through = [seat for seat, bid in closed.bids.items() if bid > values[seat]]
        through += [seat for seat, ask in closed.asks.items() if ask < values[seat]]
        return RoundFacts(
            round=closed.round,
            speaking_order=None if closed.speaking_order is None else list(closed.speaking_order),
            quote_order=list(closed.quote_order),
            quotes={**closed.bids, **closed.asks},
            forfeited=list(closed.forfeited),
            through_value=through,
            matches=[MatchFacts(**match._asdict()) for match in closed.matches],
            payoff=gains,
            cumulative_payoff=state.payoff,
            surplus=sum(gains.values()),
            max_surplus=state.private.benchmarks.max_surplus,
            residual_spread=closed.residual_spread,
            opening=self._opening() if closed.round == 1 else None,
        )

    def _opening(self) -> OpeningFacts:
        private = self.state.private
        possible = private.benchmarks
        return OpeningFacts(
            values=private.by_seat,
            potentials=private.potential,
            q_star=possible.trades,
            p_lo=possible.p_lo,
            p_hi=possible.p_hi,
            max_surplus=possible.max_surplus,
            distribution=private.distribution,
            attempts=private.attempts,
        )

    def ending_facts(self) -> EndingFacts:
        """Values, potentials and benchmarks once more, with the final ledger."""
        state = self.state
        return EndingFacts(rounds_closed=len(state.rounds), payoff=state.payoff, opening=self._opening())

    def digest(self) -> bytes:
        """BLAKE2b-256 of seed, values, closed rounds and messages (running hashes) and of the open round."""
        state = self.state
        if self._history is None:
            start = [self.seed, self.scenario.model_dump(mode="json"), dict(state.private.by_seat)]
            self._history = hashlib.blake2b(canonical(start), digest_size=32), hashlib.blake2b(digest_size=32)
        # Two hashes, so that nothing depends on how often the digest was asked for.
        rounds, messages = self._history
        for closed in state.rounds[self._hashed[0] :]:
            rounds.update(canonical(_plain(closed)))
        for message in state.messages[self._hashed[1] :]:
            messages.update(canonical([*message]))
        self._hashed = len(state.rounds), len(state.messages)
        now = [
            state.round,
            state.phase,
            state.book,
            sorted(state.lapsed),
            {seat: None if message is None else [*message] for seat, message in state.outbox.items()},
            state.speaking_order,
            self._inputs[len(state.rounds) :],
            self.read_marks,
            self.terminated,
        ]
        return hashlib.blake2b(rounds.digest() + messages.digest() + canonical(now), digest_size=32).digest()

    def check(self) -> None:
        """Conservation laws (double_auction page, 13); raises AssertionError."""
        state, values = self.state, self.state.private.by_seat
        ledger = dict.fromkeys(self.seats, 0)
        for closed in state.rounds:
            _check_round(closed, self._everyone)
            for match in closed.matches:
                ledger[match.buyer] += values[match.buyer] - match.price
                ledger[match.seller] += match.price - values[match.seller]
                assert match.bid > values[match.buyer] or match.price <= values[match.buyer], "a loss within the value"
                assert match.ask < values[match.seller] or match.price >= values[match.seller], "a loss within the cost"
        assert ledger == state.payoff, "the ledger is not the sum of the trades"
        acted = state.outbox.keys() if state.phase == "talk" else state.book.keys() | state.lapsed
        talk.check(state)
        assert not state.book.keys() & state.lapsed, "a seat quoted and forfeited"
        assert self.terminated is not None or self._awaited == self._everyone - acted, "awaited is not who is missing"
        assert len(state.rounds) == (state.round if self.terminated else state.round - 1), "a round is missing"

    def perturbed(self, seat: SeatId, salt: int) -> DoubleAuction:
        """What the seat knows is the same; other values, sealed actions and messages among others are not."""
        chance = Chance(f"double_auction.perturb:{salt}")
        span = self.scenario.price_max + 1
        values, book = dict(self.state.private.by_seat), dict(self.state.book)
        for table, stream in ((values, "value"), (book, "quote")):
            for other, points in table.items():
                if other != seat:
                    table[other] = (points + 1 + int(chance.uniform(stream, other) * (span - 1))) % span
        return self._replayed(values, book, talk.perturbed(self.state, seat, chance))

    def _replayed(
        self, values: Mapping[SeatId, int], book: Mapping[SeatId, int], said: Mapping[int, talk.Outbox]
    ) -> DoubleAuction:
        """This episode's quotes under other private values, with other messages by round and another open book."""
        twin = DoubleAuction(self.scenario, self.seed)
        private = twin.state.private
        twin.state.private = _private(twin.scenario, values, private.distribution, private.attempts)
        for index, closed in enumerate(self.state.rounds):
            if index < len(self._inputs):
                twin.feed("recorded_chance", self._inputs[index])
            if closed.speaking_order is not None:
                twin._talk_again(said[closed.round])
            twin._reopen({**closed.bids, **closed.asks}, frozenset(closed.forfeited))
            twin.close_round()
        for payload in self._inputs[len(self.state.rounds) :]:
            twin.feed("recorded_chance", payload)
        if self.terminated is None:
            if self.state.speaking_order is not None:
                twin._talk_again(said[self.state.round])
            elif self.state.phase == "talk":
                twin.state.outbox.update(said[self.state.round])
                twin._awaited = twin._awaited - self.state.outbox.keys()
            twin._reopen(book, frozenset(self.state.lapsed))
        twin.read_marks = dict(self.read_marks)
        return twin

    def _talk_again(self, outbox: talk.Outbox) -> None:
        self.state.outbox.update(outbox)
        self._awaited = frozenset[SeatId]()
        self.close_talk()

    def _reopen(self, book: Mapping[SeatId, int], lapsed: frozenset[SeatId]) -> None:
        self.state.book.update(book)
        self.state.lapsed.update(lapsed)
        self._awaited = self._awaited - book.keys() - lapsed


def _private_values(scenario: DoubleAuctionScenario, chance: TradingChance) -> PrivateValues:
    if scenario.distribution == "explicit":
        given = scenario.values
        listed = () if given is None else (*given.buyers, *given.sellers)
        return _private(scenario, dict(zip(scenario.roster.seats, listed, strict=True)), "explicit", 0)
    law = Mix() if scenario.distribution == "mix" else scenario.distribution
    drawn = chance.limits(law, scenario.accepted)
    return _private(scenario, drawn.values, drawn.law, drawn.attempts)


def _private(scenario: DoubleAuctionScenario, by_seat: Mapping[SeatId, int], law: str, attempts: int) -> PrivateValues:
    values = {seat: by_seat[seat] for seat in scenario.roster.buyers}
    costs = {seat: by_seat[seat] for seat in scenario.roster.sellers}
    possible = benchmarks(values.values(), costs.values(), scenario.price_max)
    return PrivateValues({**values, **costs}, law, attempts, potentials(values, costs), possible)


def _check_round(closed: ClosedRound, everyone: frozenset[SeatId]) -> None:
    traded = [seat for match in closed.matches for seat in (match.buyer, match.seller)]
    assert len(traded) == len(set(traded)), "a seat traded twice"
    assert {*closed.bids, *closed.asks, *closed.forfeited} == everyone, "a seat is missing"
    spread = closed.residual_spread
    assert spread is None or spread >= 1, "an unmatched pair crosses"
    for match in closed.matches:
        assert match.ask <= match.price <= match.bid, "a price outside its pair"
        assert abs(2 * match.price - match.bid - match.ask) == int(match.coin is not None), "not a midpoint"
        assert (match.bid, match.ask) == (closed.bids[match.buyer], closed.asks[match.seller]), "a foreign quote"


def _plain(closed: ClosedRound) -> list[object]:
    """A closed round as plain data, for the digest."""
    return [
        closed.round,
        closed.quote_order,
        closed.bids,
        closed.asks,
        closed.forfeited,
        [tuple(match) for match in closed.matches],
        closed.speaking_order,
    ]
