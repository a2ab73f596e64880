"""The engine: each round a message of each seat and one sealed quote of each, on the same private limits.

Bargaining page, sections 3, 4, 6 and 7. A round's order of draws is fixed: speaking order (with chat), quote order,
then for a trade the coin (if needed) and the maker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from pydantic import JsonValue

from tradefair.bargaining import views
from tradefair.bargaining.model import (
    BUYER,
    ROSTER,
    SELLER,
    BargainingScenario,
    EndingFacts,
    GameRecord,
    Message,
    MessageReceipt,
    OpeningFacts,
    PrivateLimits,
    PublicMessage,
    PublicRound,
    QuoteReceipt,
    RoundFacts,
    RoundRecord,
    RulesView,
    State,
    TurnPart,
    other,
    role_of,
)
from tradefair.contract.chain import canonical
from tradefair.contract.chance import Chance
from tradefair.contract.errors import EpisodeOver, HarnessFailure, IllegalAction
from tradefair.contract.market import Clock, Closure, EndReason, LapseReason
from tradefair.contract.seats import SeatId, SeatSpec
from tradefair.trading.chance import RecordedChance, TradingChance, feed_chance, open_chance
from tradefair.trading.clearing import Pair, clear
from tradefair.trading.talk import sized_words, words_of

_COMPLETED = "terminated:rounds_completed"
_PAIR = Pair(BUYER, SELLER)


class HiddenTruth(NamedTuple):
    """What privileged policies are given: both limits and a live view of the sealed quotes."""

    limits: PrivateLimits
    book: Mapping[SeatId, int]


class Bargaining:
    """A live bargaining game (contract `Market`); `state` is read by the views and changed here only."""

    def __init__(self, scenario: BargainingScenario, seed: int) -> None:
        self.scenario = scenario
        self.seed = seed
        self.seats: dict[SeatId, SeatSpec] = {seat: SeatSpec(seat, role_of(seat)) for seat in ROSTER.seats}
        self.read_marks: dict[SeatId, int] = dict.fromkeys(ROSTER.seats, 0)
        self.terminated: EndReason | None = None
        self._chance: TradingChance = open_chance(
            scenario.chance, seed, ROSTER, seat_order=scenario.seat_order, chat=scenario.chat
        )
        self._inputs: list[JsonValue] = []
        self.state = State(
            scenario=scenario,
            private=_private_limits(scenario, self._chance),
            phase=scenario.phases[0],
            order=None,
        )
        self.clock = Clock(1, self.state.phase, 0)
        self._ordered = False
        self._history: tuple[hashlib.blake2b, hashlib.blake2b] | None = None
        self._hashed = (0, 0)

    # --- who is asked ---------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """The speaker of the open phase, or the seats that have not quoted."""
        if self.terminated is not None:
            return frozenset()
        state = self.state
        if state.phase == "quote":
            return frozenset(ROSTER.seats) - state.book.keys() - state.lapsed
        order = self.speaking_order()
        if order is None:
            # Fed chance: nobody can speak before the round's orders are there.
            return frozenset(ROSTER.seats)
        speaker = order[0 if state.phase == "speak_first" else 1]
        return frozenset() if self._has_spoken(speaker) else frozenset({speaker})

    def _has_spoken(self, seat: SeatId) -> bool:
        number = self.state.round
        return any(message.seat == seat and message.round == number for message in self.state.messages[-2:])

    def speaking_order(self) -> tuple[SeatId, ...] | None:
        """Who speaks first and second in the open round; null without chat, or while its luck waits to be fed."""
        if self.scenario.chat and not self._ordered:
            self._open_order()
        return self.state.order

    def _open_order(self) -> None:
        number, mode = self.state.round, self.scenario.speaking_order
        if mode == "shuffled":
            if isinstance(self._chance, RecordedChance) and not self._chance.has_round(number):
                return
            self.state.order = self._chance.speaking_order(number)
        else:
            first = {"buyer_first": BUYER, "seller_first": SELLER}.get(mode, BUYER if number % 2 else SELLER)
            self.state.order = (first, other(first))
        self._ordered = True

    # --- actions --------------------------------------------------------------------------------------------------

    def say(self, seat: SeatId, text: str, round_guard: int | None = None) -> MessageReceipt:
        """Send the round's message; empty text is silence.

        Raises EpisodeOver, or IllegalAction: stale_round, wrong_phase, already_acted, message_too_long.
        """
        self._require_round(round_guard, "send_message")
        self._require_speaker(seat)
        sized_words(text, self.scenario.max_words, self.scenario.max_chars)
        message = self._spoken(seat, text)
        return MessageReceipt(round=message.round, place=message.place, words=message.words)

    def _require_speaker(self, seat: SeatId) -> None:
        state = self.state
        if self._has_spoken(seat):
            raise IllegalAction(
                "already_acted",
                "one message per round",
                hint="submit_quote next" if state.phase == "quote" else "await_turn, then submit_quote",
                retryable=False,
            )
        if self.speaking_order() is None or seat not in self.awaited():
            raise IllegalAction("wrong_phase", f"{other(seat)} is speaking; you speak after it", hint="call await_turn")

    def _spoken(self, seat: SeatId, text: str) -> Message:
        state = self.state
        place = 1 if state.phase == "speak_first" else 2
        message = Message(len(state.messages) + 1, state.round, place, seat, text, words_of(text))
        state.messages.append(message)
        return message

    def quote(self, seat: SeatId, price: int, round_guard: int | None = None) -> QuoteReceipt:
        """Seal one quote, 0..100 ticks; final once accepted. A quote through the own limit is legal.

        Raises EpisodeOver, or IllegalAction: stale_round, wrong_phase, already_acted.
        """
        self._require_round(round_guard, "submit_quote")
        state = self.state
        if state.phase != "quote":
            own_turn = seat in self.awaited()
            raise IllegalAction(
                "wrong_phase",
                "you are awaited to speak first" if own_turn else f"{state.phase} is open: quotes follow",
                hint="send_message first; empty text is silence" if own_turn else "call await_turn",
            )
        if seat not in self.awaited():
            raise IllegalAction(
                "already_acted", f"the quote of round {state.round} is final", hint="call await_turn", retryable=False
            )
        state.book[seat] = price
        return QuoteReceipt(round=state.round, price=price)

    def _require_round(self, guard: int | None, tool: str) -> None:
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)
        if guard is not None and guard != self.state.round:
            raise IllegalAction(
                "stale_round",
                f"round {guard} is not open; open is round {self.state.round}, phase {self.state.phase}",
                hint=f"call {tool} with round={self.state.round}, or without round",
            )

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """Silence while speaking; a forfeited quote, or the own limit, while quoting."""
        if seat not in self.awaited():
            raise HarnessFailure(f"{seat} cannot lapse ({reason}): it is not awaited")
        if self.state.phase != "quote":
            self._spoken(seat, "")
            return "silence"
        self.state.lapsed.add(seat)
        if self.scenario.lapse_quote == "forfeit":
            return "forfeit_round"
        self.state.book[seat] = self.state.private.of(seat)
        return "quote_own_limit"

    # --- closures -------------------------------------------------------------------------------------------------

    def advance(self) -> Closure:
        """Close the open phase: publish a message, or settle the round."""
        if self.awaited() or self.terminated is not None:
            raise HarnessFailure("a phase closes when nobody is awaited and the episode is not over")
        if self.state.phase == "quote":
            record = self.settle()
            return Closure("round", _public(record), self._facts(record))
        public = _public_message(self.state.messages[-1])
        phases = self.scenario.phases
        self.state.phase = phases[phases.index(self.state.phase) + 1]
        self.clock = Clock(self.state.round, self.state.phase, self.clock.revision + 1)
        return Closure("phase", public)

    def settle(self) -> RoundRecord:
        """Settle the open round and open the next one (bargaining page, 6.3)."""
        state, number, chance = self.state, self.state.round, self._chance
        spoken = self.speaking_order()
        order = chance.quote_order(number)
        bid, ask = state.book.get(BUYER), state.book.get(SELLER)
        bids, asks = ({} if price is None else {seat: price} for seat, price in ((BUYER, bid), (SELLER, ask)))
        matches = clear(
            bids,
            asks,
            order,
            lambda pair: self._rounds_up(number, pair),
            lambda pair, earlier: chance.maker(number, pair, earlier),
        )
        match = matches[0] if matches else None
        private, price = state.private, match.price if match else None
        profits = [0 if price is None else private.profit(seat, price) for seat in ROSTER.seats]
        record = RoundRecord(
            round=number,
            speaking_order=spoken,
            quote_order=order,
            bid=bid,
            ask=ask,
            lapsed=tuple(seat for seat in ROSTER.seats if seat in state.lapsed),
            midpoint_x2=None if match is None else match.bid + match.ask,
            price=price,
            rounded_up=None if match is None or match.coin is None else match.coin == "up",
            maker=None if match is None else match.maker,
            profit_buyer=profits[0],
            profit_seller=profits[1],
        )
        for seat in ROSTER.seats:
            state.profit[seat] += record.profit_of(seat)
        state.rounds.append(record)
        self._open_next()
        return record

    def _rounds_up(self, number: int, pair: Pair) -> bool:
        mode = self.scenario.half_tick
        return self._chance.round_up(number, pair) if mode == "coin" else mode == "up"

    def _open_next(self) -> None:
        state = self.state
        state.book.clear()
        state.lapsed.clear()
        state.order, self._ordered = None, False
        if state.round == self.scenario.rounds:
            self.terminated = _COMPLETED
        else:
            state.round += 1
            state.phase = self.scenario.phases[0]
        self.clock = Clock(state.round, state.phase, self.clock.revision + 1)

    def feed(self, source: str, payload: JsonValue) -> None:
        """Take a round's recorded orders, coins and makers (`chance = recorded`), before its first phase closes."""
        over = self.terminated is not None
        feed_chance(self._chance, self.scenario.chance, source, payload, open_round=self.state.round, over=over)
        self._inputs.append(payload)

    # --- views and facts ------------------------------------------------------------------------------------------

    def rules_view(self, seat: SeatId) -> RulesView:
        """The rules; equal for both seats."""
        return views.rules(self.scenario)

    def turn_view(self, seat: SeatId) -> TurnPart:
        """R, this round's speaking order and the own total; everything else has a tool of its own."""
        order = None if self.terminated is not None else self.speaking_order()
        return TurnPart(
            rounds=self.scenario.rounds,
            speaking_order=None if order is None else list(order),
            profit_total=self.state.profit[seat],
        )

    def code_constants(self, seat: SeatId) -> dict[str, JsonValue]:
        """SEAT, ROLE, PRICE_MAX and ROUNDS."""
        return {"SEAT": seat, "ROLE": role_of(seat), "PRICE_MAX": 100, "ROUNDS": self.scenario.rounds}

    def news_mark(self, seat: SeatId) -> int:
        """Closed rounds and the counterpart's messages."""
        heard = sum(message.seat != seat for message in self.state.messages)
        return len(self.state.rounds) + heard

    def privileged(self) -> HiddenTruth:
        """Both limits and the sealed quotes of the open round."""
        return HiddenTruth(self.state.private, self.state.book)

    def _facts(self, record: RoundRecord) -> RoundFacts:
        return RoundFacts(record=_plain(record), opening=self._opening(), profit=self.state.profit)

    def _opening(self) -> OpeningFacts:
        private = self.state.private
        return OpeningFacts(
            buyer_value=private.value,
            seller_cost=private.cost,
            gap=private.gap,
            law=private.law,
            redraws=private.redraws,
        )

    def ending_facts(self) -> EndingFacts:
        """Totals, and the private limits once more."""
        rounds = self.state.rounds
        return EndingFacts(
            rounds_closed=len(rounds),
            trades=sum(record.price is not None for record in rounds),
            forfeits={seat: sum(record.quote_of(seat) is None for record in rounds) for seat in ROSTER.seats},
            profit=self.state.profit,
            opening=self._opening(),
        )

    def digest(self) -> bytes:
        """BLAKE2b-256 of seed, limits, closed rounds and messages (running hashes) and of the open round."""
        state = self.state
        if self._history is None:
            start = [self.seed, self.scenario.model_dump(mode="json"), list(state.private)]
            self._history = hashlib.blake2b(canonical(start), digest_size=32), hashlib.blake2b(digest_size=32)
        # Two hashes, so that nothing depends on how often the digest was asked for.
        for running, items, known in zip(self._history, (state.rounds, state.messages), self._hashed, strict=True):
            for item in items[known:]:
                running.update(canonical([*item]))
        self._hashed = len(state.rounds), len(state.messages)
        past = b"".join(running.digest() for running in self._history)
        inputs = self._inputs[len(state.rounds) :]
        now = [state.round, state.phase, state.book, sorted(state.lapsed), inputs, self.read_marks, self.terminated]
        return hashlib.blake2b(past + canonical(now), digest_size=32).digest()

    def check(self) -> None:
        """Conservation laws (bargaining page, 13); raises AssertionError."""
        state, private = self.state, self.state.private
        ledger = dict.fromkeys(ROSTER.seats, 0)
        for record in state.rounds:
            traded = record.price is not None
            crossed = record.bid is not None and record.ask is not None and record.bid >= record.ask
            assert traded == crossed, "a trade without crossing quotes, or none with them"
            assert record.profit_buyer + record.profit_seller == (private.gap if traded else 0), "surplus was made"
            if record.price is not None and record.bid is not None and record.ask is not None:
                assert record.ask <= record.price <= record.bid, "a price outside its pair"
                assert abs(2 * record.price - record.bid - record.ask) <= 1, "not a midpoint"
            for seat in ROSTER.seats:
                ledger[seat] += record.profit_of(seat)
        assert ledger == state.profit, "the ledger is not the sum of the rounds"
        assert len(state.rounds) == (state.round if self.terminated else state.round - 1), "a round is missing"
        spoken = [(message.round, message.place) for message in state.messages]
        assert len(spoken) == len(set(spoken)), "a seat spoke twice in a round"

    def perturbed(self, seat: SeatId, salt: int) -> Bargaining:
        """The same public past, but another limit and another sealed quote of the counterpart."""
        chance, hidden = Chance(f"bargaining.perturb:{salt}"), other(seat)
        private = self.state.private
        moved = (private.of(hidden) + 1 + int(chance.uniform("limit", hidden) * 100)) % 101
        changed = private._replace(cost=moved) if hidden == SELLER else private._replace(value=moved)
        book = dict(self.state.book)
        if hidden in book:
            book[hidden] = (book[hidden] + 1 + int(chance.uniform("quote", hidden) * 100)) % 101
        return self._replayed(changed, book)

    def _replayed(self, private: PrivateLimits, book: Mapping[SeatId, int]) -> Bargaining:
        """This episode's messages and quotes under other limits, with another open book."""
        twin = Bargaining(self.scenario, self.seed)
        twin.state.private = private
        for index, record in enumerate(self.state.rounds):
            twin._fed_again(self._inputs[index : index + 1])
            twin.state.messages += [message for message in self.state.messages if message.round == record.round]
            for seat in ROSTER.seats:
                quote = record.quote_of(seat)
                if quote is not None:
                    twin.state.book[seat] = quote
            twin.state.lapsed.update(record.lapsed)
            twin.settle()
        twin._fed_again(self._inputs[len(self.state.rounds) :])
        if self.terminated is None:
            twin.state.messages += [message for message in self.state.messages if message.round == self.state.round]
            twin.state.phase = self.state.phase
            twin.state.book.update(book)
            twin.state.lapsed.update(self.state.lapsed)
        twin.clock = self.clock
        twin.read_marks = dict(self.read_marks)
        return twin

    def _fed_again(self, payloads: list[JsonValue]) -> None:
        for payload in payloads:
            self.feed("recorded_chance", payload)


def _private_limits(scenario: BargainingScenario, chance: TradingChance) -> PrivateLimits:
    if scenario.distribution == "fixed":
        assert scenario.buyer_value is not None
        assert scenario.seller_cost is not None
        return PrivateLimits(scenario.buyer_value, scenario.seller_cost, "fixed", 0)
    law = scenario.mix_percent.mix if scenario.distribution == "mix" else scenario.distribution
    drawn = chance.limits(law, scenario.accepted)
    return PrivateLimits(drawn.values[BUYER], drawn.values[SELLER], drawn.law, drawn.attempts - 1)


def _public(record: RoundRecord) -> PublicRound:
    return PublicRound(
        round=record.round,
        speaking_order=None if record.speaking_order is None else list(record.speaking_order),
        bid=record.bid,
        ask=record.ask,
        forfeited=[seat for seat in ROSTER.seats if record.quote_of(seat) is None],
        midpoint_x2=record.midpoint_x2,
        price=record.price,
    )


def _public_message(message: Message) -> PublicMessage:
    return PublicMessage(
        round=message.round,
        place=message.place,
        seat=message.seat,
        text=message.text,
        words=message.words,
        silent=not message.text,
    )


def _plain(record: RoundRecord) -> GameRecord:
    fields = record._asdict()
    for name in ("speaking_order", "quote_order", "lapsed"):
        fields[name] = None if fields[name] is None else list(fields[name])
    return GameRecord(**fields)
