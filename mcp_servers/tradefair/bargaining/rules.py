"""The engine: each round a message of each seat and one sealed quote of each, on the same private limits.

Bargaining page, sections 3, 4, 6 and 7. A round's order of draws is fixed: speaking order (with chat), quote order,
then for a trade the coin (if needed) and the maker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

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
    TurnPart,
    other,
    role_of,
)
from tradefair.bargaining.state import State
from tradefair.contract import Chance, Clock, Closure, EpisodeOver, IllegalAction, LapseReason, SealedRounds, SeatId
from tradefair.contract.chain import canonical
from tradefair.trading.chance import RecordedChance, TradingChance, feed_chance, open_chance
from tradefair.trading.clearing import Pair, clear
from tradefair.trading.talk import sized_words, words_of

_PAIR = Pair(BUYER, SELLER)


Act: TypeAlias = int | str | None
"""A sealed act: a message (empty text is silence) or a quote; None is a forfeited quote."""


class HiddenTruth(NamedTuple):
    """What privileged policies are given: both limits and a live mapping of the sealed acts."""

    limits: PrivateLimits
    sealed: Mapping[SeatId, Act]


class Bargaining(SealedRounds[Act]):
    """A live bargaining game; `state` is read by the views and changed here only.

    Seats are B1 (buyer) and S1 (seller); prices, limits and profits are whole ticks. A round is a quote phase, with
    chat two phases of speaking before it. Profits may be negative: a quote through the own limit is legal.
    """

    def __init__(self, scenario: BargainingScenario, seed: int) -> None:
        super().__init__(seed, {seat: role_of(seat) for seat in ROSTER.seats}, scenario.rounds, scenario.phases)
        self.scenario = scenario
        self.read_marks = dict.fromkeys(ROSTER.seats, 0)
        self._chance: TradingChance = open_chance(
            scenario.chance, seed, ROSTER, seat_order=scenario.seat_order, chat=scenario.chat
        )
        # Payloads of recorded chance: payload n belongs to round n + 1.
        self._inputs: list[JsonValue] = []
        self.state = State(scenario, _private_limits(scenario, self._chance))
        # Whether the open round's speaking order is known; None in `state.order` also stands for a game without chat.
        self._ordered = False
        # Begun by the first digest, not here: `_replayed` gives a twin other limits after it is made.
        self._history: tuple[hashlib.blake2b, hashlib.blake2b] | None = None
        # Closed rounds and messages that the running hashes hold already.
        self._hashed = (0, 0)

    # --- who is asked ---------------------------------------------------------------------------------------------

    def awaited(self) -> frozenset[SeatId]:
        """The speaker of the open phase, or the seats that have not quoted.

        Empty once the episode is over.
        """
        if self.terminated is not None or self.clock.phase == "quote":
            return super().awaited()
        order = self.speaking_order()
        if order is None:
            # Recorded chance: no seat can speak before the orders of the round are fed.
            return frozenset(ROSTER.seats)
        # One seat at a time: the second speaker has read the first message (section 4).
        return frozenset({order[self._place() - 1]}) - self.sealed.keys()

    def _place(self) -> int:
        """1 in the phase of the first speaker, else 2."""
        return 1 if self.clock.phase == "speak_first" else 2

    def may_speak(self, seat: SeatId) -> bool:
        """Whether this seat's place in the speaking order has come; nobody's has before the order is known."""
        order = self.speaking_order() if self.clock.phase != "quote" else None
        return order is not None and order.index(seat) < self._place()

    def speaking_order(self) -> tuple[SeatId, ...] | None:
        """Who speaks first and second in the open round; null without chat, or while its luck waits to be fed."""
        # Asked for lazily: with recorded chance the order of a round is fed after the round has opened.
        if self.scenario.chat and not self._ordered:
            self._open_order()
        return self.state.order

    def _open_order(self) -> None:
        number, mode = self.clock.round, self.scenario.speaking_order
        if mode == "shuffled":
            if isinstance(self._chance, RecordedChance) and not self._chance.has_round(number):
                return
            self.state.order = self._chance.speaking_order(number)
        else:
            # Alternating: the buyer first in odd rounds.
            first = {"buyer_first": BUYER, "seller_first": SELLER}.get(mode, BUYER if number % 2 else SELLER)
            self.state.order = (first, other(first))
        self._ordered = True

    # --- actions --------------------------------------------------------------------------------------------------

    def say(self, seat: SeatId, text: str, round_guard: int | None = None) -> MessageReceipt:
        """Send the round's message; empty text is silence.

        Raises EpisodeOver, or IllegalAction: stale_round, already_acted, message_too_long.
        """
        self._require_round(round_guard, "send_message")
        if seat not in self.awaited():
            raise IllegalAction(
                "already_acted", "one message per round", hint="await_turn, then submit_quote", retryable=False
            )
        # A message that is too long changes nothing: the seat can shorten it and send again.
        words = sized_words(text, self.scenario.max_words, self.scenario.max_chars)
        self.sealed[seat] = text
        return MessageReceipt(round=self.clock.round, place=self._place(), words=words)

    def quote(self, seat: SeatId, price: int, round_guard: int | None = None) -> QuoteReceipt:
        """Seal one quote, 0..100 ticks; final once accepted. A quote through the own limit is legal.

        Raises EpisodeOver, or IllegalAction: stale_round, already_acted.
        """
        self._require_round(round_guard, "submit_quote")
        number = self.clock.round
        # In the quote phase both are awaited until they have quoted, so this one has.
        if seat not in self.awaited():
            raise IllegalAction(
                "already_acted", f"the quote of round {number} is final", hint="call await_turn", retryable=False
            )
        self.sealed[seat] = price
        return QuoteReceipt(round=number, price=price)

    def _require_round(self, guard: int | None, tool: str) -> None:
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)
        number, phase, _ = self.clock
        if guard is not None and guard != number:
            raise IllegalAction(
                "stale_round",
                f"round {guard} is not open; open is round {number}, phase {phase}",
                hint=f"call {tool} with round={number}, or without round",
            )

    def default(self, seat: SeatId, phase: str) -> tuple[Act, str]:
        """Silence while speaking; a forfeited quote, or the own limit, while quoting."""
        if phase != "quote":
            return "", "silence"
        if self.scenario.lapse_quote == "forfeit":
            return None, "forfeit_round"
        # As the public games did; forfeit is the default because a quoted limit gives itself away (section 12).
        return self.state.private.of(seat), "quote_own_limit"

    def lapse(self, seat: SeatId, reason: LapseReason) -> str:
        """The default; the round's record tells a quote that was made for a seat from a quote of its own."""
        name = super().lapse(seat, reason)
        if self.clock.phase == "quote":
            self.state.lapsed.add(seat)
        return name

    # --- closures -------------------------------------------------------------------------------------------------

    def deliver(self, phase: str, acts: Mapping[SeatId, Act]) -> PublicMessage:
        """Publish the message of the phase's speaker, or its silence."""
        # A phase of speaking has one act: its speaker's.
        ((seat, text),) = acts.items()
        assert isinstance(text, str)
        messages = self.state.messages
        messages.append(Message(len(messages) + 1, self.clock.round, self._place(), seat, text, words_of(text)))
        return _public_message(messages[-1])

    def settle(self, acts: Mapping[SeatId, Act]) -> tuple[PublicRound, RoundFacts]:
        """Settle the round (bargaining page, 6.3)."""
        record = self._settled(acts)
        state = self.state
        for seat in ROSTER.seats:
            state.profit[seat] += record.profit_of(seat)
        state.rounds.append(record)
        state.lapsed.clear()
        # The next round's order is drawn when it is first asked for.
        state.order, self._ordered = None, False
        return _public(record), self._facts(record)

    def _settled(self, acts: Mapping[SeatId, Act]) -> RoundRecord:
        """The record of the round: match, price and profits.

        Draws in the fixed order of section 7; changes neither ledger nor history.
        """
        state, number, chance = self.state, self.clock.round, self._chance
        # Before the quote order: a log's single stream gives the draws in this order only.
        spoken = self.speaking_order()
        order = chance.quote_order(number)
        bid, ask = (price if isinstance(price := acts[seat], int) else None for seat in (BUYER, SELLER))
        bids, asks = ({} if price is None else {seat: price} for seat, price in ((BUYER, bid), (SELLER, ask)))
        # The rule of the double auction with one seat on each side.
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
        return RoundRecord(
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

    def _rounds_up(self, number: int, pair: Pair) -> bool:
        mode = self.scenario.half_tick
        # A fixed direction draws nothing; in keyed play that moves no other draw.
        return self._chance.round_up(number, pair) if mode == "coin" else mode == "up"

    def feed(self, source: str, payload: JsonValue) -> None:
        """Take a round's recorded orders, coins and makers (`chance = recorded`), before its first phase closes."""
        over = self.terminated is not None
        feed_chance(self._chance, self.scenario.chance, source, payload, open_round=self.clock.round, over=over)
        # After the chance has taken it: a refused payload must not enter the digest.
        self._inputs.append(payload)

    # --- views and facts ------------------------------------------------------------------------------------------

    def rules_view(self, seat: SeatId) -> RulesView:
        """The rules; equal for both seats."""
        return views.rules(self.scenario)

    def turn_view(self, seat: SeatId) -> TurnPart:
        """R, this round's speaking order and the own total; everything else has a tool of its own."""
        # After the end the clock shows the last round, which has been settled: asking would draw an order again.
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
        """Both limits and the sealed acts of the open phase."""
        return HiddenTruth(self.state.private, self.sealed)

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

    def _remember(self, closing: Clock, acts: Mapping[SeatId, Act], closure: Closure) -> None:
        """Nothing: `digest` keeps running hashes of its own."""

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
        number, phase, _ = self.clock
        book = {seat: act for seat, act in self.sealed.items() if act is not None}
        # Nothing of the chance: seed, scenario and rounds determine it. Another form of this list is another state
        # digest in every trace, so a new rules version.
        now = [number, phase, book, sorted(state.lapsed), inputs, self.read_marks, self.terminated]
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
        assert len(state.rounds) == self.clock.round - (0 if self.terminated else 1), "a round is missing"
        spoken = [(message.round, message.place) for message in state.messages]
        assert len(spoken) == len(set(spoken)), "a seat spoke twice in a round"

    def perturbed(self, seat: SeatId, salt: int) -> Bargaining:
        """The same public past, but another limit and another sealed quote of the counterpart.

        Messages stay, because both seats have read them. The conformance kit compares what `seat` can read in both
        worlds.
        """
        chance, hidden = Chance(f"bargaining.perturb:{salt}"), other(seat)
        private = self.state.private
        # 1 to 100 ticks further around the grid of 101 prices: never the old limit.
        moved = (private.of(hidden) + 1 + int(chance.uniform("limit", hidden) * 100)) % 101
        changed = private._replace(cost=moved) if hidden == SELLER else private._replace(value=moved)
        acts = dict(self.sealed)
        if isinstance(quote := acts.get(hidden), int):
            acts[hidden] = (quote + 1 + int(chance.uniform("quote", hidden) * 100)) % 101
        return self._replayed(changed, acts)

    def _replayed(self, private: PrivateLimits, acts: Mapping[SeatId, Act]) -> Bargaining:
        """This episode's messages and quotes under other limits, with other sealed acts in the open phase."""
        # Played again by the rules: records and profits then fit the other limits by construction.
        twin = Bargaining(self.scenario, self.seed)
        twin.state.private = private
        for index, record in enumerate(self.state.rounds):
            # Before the round is settled: its recorded luck decides orders, coin and maker.
            twin._fed_again(self._inputs[index : index + 1])
            # Messages are public: they stay.
            twin.state.messages += [message for message in self.state.messages if message.round == record.round]
            twin.state.lapsed.update(record.lapsed)
            twin.settle({seat: record.quote_of(seat) for seat in ROSTER.seats})
            # Phase by phase would only repeat the messages; the clock of the next round is all that is missing.
            twin.clock = Clock(record.round + 1, self.phases[0], 0)
        twin._fed_again(self._inputs[len(self.state.rounds) :])
        if self.terminated is None:
            twin.state.messages += [message for message in self.state.messages if message.round == self.clock.round]
            twin.state.lapsed.update(self.state.lapsed)
            twin.sealed.update(acts)
        twin.clock, twin.terminated = self.clock, self.terminated
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
