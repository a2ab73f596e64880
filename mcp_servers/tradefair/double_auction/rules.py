"""The engine: one sealed quote per seat and round, matched by rank, each pair at its own midpoint; before it, talk.

Double_auction page, sections 3, 4, 6 and 7. A round's order of draws is fixed (6.2): speaking order (with chat), quote
order, then per matched pair in rank order the coin (if needed) and the maker.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue

from tradefair.contract import Chance, Clock, Closure, EpisodeOver, HarnessFailure, IllegalAction, SealedRounds, SeatId
from tradefair.contract.chain import canonical
from tradefair.contract.tool import built
from tradefair.double_auction import views
from tradefair.double_auction.engine import talk
from tradefair.double_auction.model import (
    ClosedRound,
    DoubleAuctionScenario,
    EndingFacts,
    HistoryRow,
    MatchFacts,
    Message,
    MessageReceipt,
    OpeningFacts,
    PrivateValues,
    QuoteReceipt,
    RoundFacts,
    RulesView,
    TalkClosed,
    TurnPart,
    role_of,
)
from tradefair.double_auction.state import State
from tradefair.trading.chance import TradingChance, feed_chance, open_chance
from tradefair.trading.clearing import benchmarks, clear, potentials
from tradefair.trading.values import Mix

Act: TypeAlias = int | Message | None
"""A sealed act: a quote, or a message in the talk phase; None is a forfeit or silence."""


class HiddenTruth(NamedTuple):
    """What privileged policies are given: live mappings of all private values and of the sealed acts."""

    values: Mapping[SeatId, int]
    sealed: Mapping[SeatId, Act]
    price_max: int

    @property
    def book(self) -> dict[SeatId, int]:
        """The sealed quotes of the open round, without forfeits."""
        return {seat: price for seat, price in self.sealed.items() if isinstance(price, int)}


class DoubleAuction(SealedRounds[Act]):
    """A live double auction; `state` is read by the views and changed here only.

    Seats are B1..Bn and S1..Sm; prices, values and payoffs are whole points. A round is one quote phase, with chat a
    talk phase before it. `check` states what always holds.
    """

    def __init__(self, scenario: DoubleAuctionScenario, seed: int) -> None:
        roster = scenario.roster
        super().__init__(seed, {seat: role_of(seat) for seat in roster.seats}, scenario.rounds, scenario.phases)
        self.scenario = scenario
        self.read_marks = dict.fromkeys(roster.seats, 0)
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
            payoff=dict.fromkeys(roster.seats, 0),
            rounds_traded=dict.fromkeys(roster.seats, 0),
            rounds_forfeited=dict.fromkeys(roster.seats, 0),
            inbox={seat: [] for seat in roster.seats},
        )
        # Payloads of recorded chance: payload n belongs to round n + 1.
        self._inputs: list[JsonValue] = []
        # Begun by the first digest, not here: `_replayed` gives a twin other values after it is made.
        self._history: tuple[hashlib.blake2b, hashlib.blake2b] | None = None
        # Closed rounds and messages that the running hashes hold already.
        self._hashed = (0, 0)

    def say(self, seat: SeatId, recipient: str, text: str, round_guard: int | None = None) -> MessageReceipt:
        """Seal one message until the talk phase closes; blank text is silence, whatever the recipient.

        Raises EpisodeOver, or IllegalAction: stale_round, already_acted, message_too_long, unknown_id,
        recipient_not_allowed, recipient_is_self.
        """
        self._require_open(seat, round_guard)
        message = talk.written(self.scenario, self.clock.round, seat, recipient, text)
        self.sealed[seat] = message
        return MessageReceipt(
            round=self.clock.round,
            delivered_to=[] if message is None else list(message.addressees),
            words=0 if message is None else message.words,
            silent=message is None,
        )

    def quote(self, seat: SeatId, price: int, round_guard: int | None = None) -> QuoteReceipt:
        """Seal one quote, 0..P points; final once accepted.

        Raises EpisodeOver, or IllegalAction: stale_round, already_acted, price_out_of_range, through_value.
        """
        through = self.place(seat, price, round_guard)
        warning = "through_value" if through else None
        return built(QuoteReceipt, round=self.clock.round, price=price, warning=warning)

    def place(self, seat: SeatId, price: int, round_guard: int | None = None) -> bool:
        """`quote` without a receipt: whether the quote goes through the own value."""
        self._require_open(seat, round_guard)
        price_max = self.scenario.price_max
        if not 0 <= price <= price_max:
            raise IllegalAction(
                "price_out_of_range",
                f"prices are whole points from 0 to {price_max}",
                hint=f"submit_quote with a price of 0..{price_max}",
            )
        value = self.state.private.by_seat[seat]
        # Legal unless the venue refuses it: a loss is a failure that evaluation wants to see.
        through = price > value if seat[0] == "B" else price < value
        if through and self.scenario.budget_constraint:
            raise IllegalAction(
                "through_value",
                "this venue refuses a bid above the own value and an ask below the own cost",
                hint="view_my_value shows your limit; submit_quote within it",
            )
        self.sealed[seat] = price
        return through

    def _require_open(self, seat: SeatId, round_guard: int | None) -> None:
        if self.terminated is not None:
            raise EpisodeOver(self.terminated)
        open_round, quoting = self.clock.round, self.clock.phase == "quote"
        if round_guard is not None and round_guard != open_round:
            tool = "submit_quote" if quoting else "send_message"
            raise IllegalAction(
                "stale_round",
                f"round {round_guard} is not open; the open round is {open_round}",
                hint=f"{tool} with round={open_round}, or without round",
            )
        if seat in self.sealed:
            raise IllegalAction(
                "already_acted",
                f"the {'quote' if quoting else 'message'} of round {open_round} is final",
                hint=f"await_turn until the next {'round' if quoting else 'phase'} opens",
                retryable=False,
            )

    def default(self, seat: SeatId, phase: str) -> tuple[Act, str]:
        """Silence while the seats talk; else the seat forfeits the round: the book and the ledger stay as they are."""
        return None, "silence" if phase == "talk" else "forfeit_round"

    def deliver(self, phase: str, acts: Mapping[SeatId, Act]) -> TalkClosed:
        """Deliver the sealed messages in speaking order.

        That a talk phase has closed is all that its closure tells: who spoke is known to sender and addressees only.
        """
        state = self.state
        state.speaking_order = self._chance.speaking_order(self.clock.round)
        for seat in state.speaking_order:
            message = acts[seat]
            if isinstance(message, Message):
                state.messages.append(message)
                # The sender too: messages are numbered over what a seat sent and was sent.
                for reader in (message.sender, *message.addressees):
                    state.inbox[reader].append(message)
        return TalkClosed(round=self.clock.round)

    def settle(self, acts: Mapping[SeatId, Act]) -> tuple[HistoryRow, RoundFacts]:
        """Settle and publish the round."""
        closed = self._settled(acts)
        return closed.row, self._facts(closed)

    def close_round(self) -> ClosedRound:
        """Settle the open round and open the next one; `advance` without its closure, for play by rules alone."""
        if self.clock.phase != "quote":
            raise HarnessFailure("a round closes with its quote phase")
        closed = self._settled(self._closing())
        self._open_next()
        return closed

    def _settled(self, acts: Mapping[SeatId, Act]) -> ClosedRound:
        """Match, price and pay the round.

        Draws from the market's chance in the fixed order of 6.2, moves the ledger, and appends the round to the state.
        """
        state, chance, number = self.state, self._chance, self.clock.round
        # Before the coins and makers, as a log's stream has it; matching needs it for ties.
        order = chance.quote_order(number)
        # In seat order: the published row lists the quotes as they stand here.
        bids = {seat: price for seat in state.roster.buyers if isinstance(price := acts[seat], int)}
        asks = {seat: price for seat in state.roster.sellers if isinstance(price := acts[seat], int)}
        matches = clear(
            bids,
            asks,
            order,
            lambda pair: chance.round_up(number, pair),
            lambda pair, earlier: chance.maker(number, pair, earlier),
        )
        forfeited = tuple(seat for seat, price in acts.items() if price is None) if None in acts.values() else ()
        closed = ClosedRound(number, order, bids, asks, forfeited, tuple(matches), state.speaking_order)
        self._pay(closed)
        state.rounds.append(closed)
        # Public answers are made from closed rounds, so each closure outdates all of them.
        state.memo.clear()
        if number < self.rounds:
            # The last order stays: it is in the state digest that ends the episode.
            state.speaking_order = None
        return closed

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
        feed_chance(self._chance, self.scenario.chance, source, payload, open_round=self.clock.round, over=over)
        # After the chance has taken it: a refused payload must not enter the digest.
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
        # A seat's own messages are no news to it.
        heard = sum(message.sender != seat for message in self.state.inbox[seat])
        return len(self.state.rounds) + heard

    def privileged(self) -> HiddenTruth:
        """All private values and the sealed quotes of the open round."""
        return HiddenTruth(self.state.private.by_seat, self.sealed, self.scenario.price_max)

    def _facts(self, closed: ClosedRound) -> RoundFacts:
        state = self.state
        values = state.private.by_seat
        gains = dict.fromkeys(self.seats, 0)
        for match in closed.matches:
            gains[match.buyer] = values[match.buyer] - match.price
            gains[match.seller] = match.price - values[match.seller]
        # By quote and not by trade: the risk was taken even where nothing was traded.
        through = [seat for seat, bid in closed.bids.items() if bid > values[seat]]
        through += [seat for seat, ask in closed.asks.items() if ask < values[seat]]
        return built(
            RoundFacts,
            round=closed.round,
            speaking_order=None if closed.speaking_order is None else list(closed.speaking_order),
            quote_order=list(closed.quote_order),
            quotes={**closed.bids, **closed.asks},
            forfeited=list(closed.forfeited),
            through_value=through,
            matches=[built(MatchFacts, **match._asdict()) for match in closed.matches],
            payoff=gains,
            # The round is paid already: `_settled` has moved the ledger, which goes on moving.
            cumulative_payoff=state.payoff.copy(),
            surplus=sum(gains.values()),
            max_surplus=state.private.benchmarks.max_surplus,
            residual_spread=closed.residual_spread,
            # Once: it is the same in all rounds.
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

    def _remember(self, closing: Clock, acts: Mapping[SeatId, Act], closure: Closure) -> None:
        """Nothing: `digest` keeps running hashes of its own, of fewer bytes, because a round is on the hot path."""

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
        quoting = self.clock.phase == "quote"
        acts = {seat: [*act] if isinstance(act, Message) else act for seat, act in self.sealed.items()}
        # Nothing of the chance: seed, scenario and rounds determine it. Only rounds that were fed and are open count.
        # Another form of this list is another state digest in every trace, so a new rules version.
        now = [
            self.clock.round,
            self.clock.phase,
            {seat: price for seat, price in acts.items() if price is not None} if quoting else {},
            sorted(seat for seat, price in acts.items() if price is None) if quoting else [],
            {} if quoting else acts,
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
        talk.check(state)
        missing = self._everyone - self.sealed.keys()
        assert self.terminated is not None or self.awaited() == missing, "awaited is not who is missing"
        assert len(state.rounds) == self.clock.round - (0 if self.terminated else 1), "a round is missing"

    def perturbed(self, seat: SeatId, salt: int) -> DoubleAuction:
        """What the seat knows is the same; other values, sealed actions and messages among others are not.

        Values and sealed quotes of the other seats differ for certain; messages that the seat never saw may differ in
        text, addressees and existence. The kit compares what `seat` can read in both worlds.
        """
        chance = Chance(f"double_auction.perturb:{salt}")
        span = self.scenario.price_max + 1
        quoting = self.clock.phase == "quote"
        # While the seats talk, what is sealed are messages, which `talk.perturbed` changes.
        values, book = dict(self.state.private.by_seat), dict(self.sealed) if quoting else {}
        for table, stream in ((values, "value"), (book, "quote")):
            for other, points in table.items():
                if other != seat and isinstance(points, int):
                    # 1 to P points further around the grid: never the old one.
                    table[other] = (points + 1 + int(chance.uniform(stream, other) * (span - 1))) % span
        messages = {sender: act for sender, act in self.sealed.items() if not isinstance(act, int)}
        return self._replayed(values, book, talk.perturbed(self.state, seat, chance, None if quoting else messages))

    def _replayed(
        self, values: Mapping[SeatId, int], book: Mapping[SeatId, Act], said: Mapping[int, talk.Outbox]
    ) -> DoubleAuction:
        """This episode's quotes under other private values, with other messages by round and another open book."""
        # Played again by the rules: coins, ties and payoffs then fit the other values by construction.
        twin = DoubleAuction(self.scenario, self.seed)
        private = twin.state.private
        twin.state.private = _private(twin.scenario, values, private.distribution, private.attempts)
        for index, closed in enumerate(self.state.rounds):
            if index < len(self._inputs):
                twin.feed("recorded_chance", self._inputs[index])
            if closed.speaking_order is not None:
                twin.sealed.update(said[closed.round])
                twin.advance()
            # Past `place`: under other values budget_constraint might refuse a quote that was made.
            twin.sealed.update({**closed.bids, **closed.asks, **dict.fromkeys(closed.forfeited)})
            twin.close_round()
        # The open round may have been fed already.
        for payload in self._inputs[len(self.state.rounds) :]:
            twin.feed("recorded_chance", payload)
        if self.terminated is None and self.clock.phase == "talk":
            twin.sealed.update(said[self.clock.round])
        elif self.terminated is None:
            # The talk of the open round has closed, so it is played before the open book.
            if self.state.speaking_order is not None:
                twin.sealed.update(said[self.clock.round])
                twin.advance()
            twin.sealed.update(book)
        twin.read_marks = dict(self.read_marks)
        return twin


def _private_values(scenario: DoubleAuctionScenario, chance: TradingChance) -> PrivateValues:
    if scenario.distribution == "explicit":
        given = scenario.values
        listed = () if given is None else (*given.buyers, *given.sellers)
        # 0 draws: no acceptance test applies.
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
    # The laws of section 13, each with the sentence that a failing test shows.
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
