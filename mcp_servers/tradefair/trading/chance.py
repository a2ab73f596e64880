"""The luck of a trading market behind one protocol: keyed for play, and two ways to follow a public game log.

Double_auction page, 7; bargaining page, 7. The only module of the package that may import `random`, for a local
generator that must give the bits of a foreign log.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

from tradefair.contract import Chance, HarnessFailure, IllegalAction, ScenarioError, TraceError
from tradefair.contract.chance import encode_key
from tradefair.trading.clearing import Pair
from tradefair.trading.values import (
    Acceptance,
    DrawKey,
    Law,
    LawShape,
    Limits,
    Mix,
    Roster,
    draw_limits,
    law_of_mix,
    smeared,
    value_at,
)

Generation = Literal["maker_draw", "maker_order"]
ChanceKind = Literal["keyed", "log_maker_draw", "log_maker_order", "recorded"]

_T = TypeVar("_T")


class TradingStream(StrEnum):
    """The keyed streams of a trading market; each is drawn with `Chance.uniform`."""

    LAW = "law"
    LIMIT = "limit"
    COMMON_BASE = "common_base"
    SPEAKING_ORDER = "speaking_order"
    QUOTE_ORDER = "quote_order"
    ROUND_UP = "round_up"


class TradingChance(Protocol):
    """Everything that chance decides in a trading market. Rounds count from 1.

    The rules ask once and in this order, which a log's single stream depends on: `limits`; then per round
    `speaking_order` (with chat only), `quote_order`, and per matched pair in rank order `round_up` (only if bid + ask
    is odd) and `maker`.
    """

    def limits(self, law: Law | Mix, acceptance: Acceptance) -> Limits:
        """Private values by seat; a `Mix` also draws the law."""
        ...

    def speaking_order(self, round_number: int) -> tuple[str, ...]:
        """A permutation of all seats: the order in which a round's messages are delivered."""
        ...

    def quote_order(self, round_number: int) -> tuple[str, ...]:
        """A permutation of all seats: the order that breaks ties between equal quotes."""
        ...

    def round_up(self, round_number: int, pair: Pair) -> bool:
        """The coin of a half tick: whether the price is rounded up."""
        ...

    def maker(self, round_number: int, pair: Pair, earlier: str) -> str:
        """The seat of `pair` that is called the maker; `earlier` quoted first."""
        ...


class KeyedTradingChance:
    """Keyed streams: no quote, message or earlier draw changes any draw."""

    def __init__(self, chance: Chance, roster: Roster, shape: LawShape | None = None) -> None:
        self._uniform = chance.uniform
        self._under = chance.under
        self._roster = roster
        # Once: every round draws one or two permutations of all seats.
        self._seat_keys = [encode_key(seat) for seat in roster.seats]
        self._shape = shape or LawShape()

    def limits(self, law: Law | Mix, acceptance: Acceptance) -> Limits:
        """See `TradingChance`."""
        chosen = law_of_mix(law, self._uniform(TradingStream.LAW)) if isinstance(law, Mix) else law
        values, attempts = draw_limits(self._roster, acceptance, lambda key: self._value(chosen, key))
        return Limits(values, chosen, attempts)

    def _value(self, law: Law, key: DrawKey) -> int:
        if law == "correlated_source":
            # A base of the seat's own: the source's law, in which nothing is correlated (6.1).
            base = self._uniform(TradingStream.LIMIT, key.attempt, key.seat, "base")
        elif law == "correlated_common":
            # One base for all seats, under the sweep, so that a redrawn vector gets another.
            base = self._uniform(TradingStream.COMMON_BASE, key.sweep)
        else:
            return value_at(law, self._shape, self._uniform(TradingStream.LIMIT, key.attempt, key.seat, "value"))
        return smeared(self._shape, base, self._uniform(TradingStream.LIMIT, key.attempt, key.seat, "noise"))

    def _permutation(self, stream: TradingStream, round_number: int) -> tuple[str, ...]:
        """Seats by a uniform of their own: one more seat in the roster moves no other seat's draw.

        The sort is stable, so equal uniforms stay in seat order.
        """
        seats = self._roster.seats
        drawn = dict(zip(seats, self._under(stream, round_number).each(self._seat_keys), strict=True))
        return tuple(sorted(seats, key=drawn.__getitem__))

    def speaking_order(self, round_number: int) -> tuple[str, ...]:
        """See `TradingChance`."""
        return self._permutation(TradingStream.SPEAKING_ORDER, round_number)

    def quote_order(self, round_number: int) -> tuple[str, ...]:
        """See `TradingChance`."""
        return self._permutation(TradingStream.QUOTE_ORDER, round_number)

    def round_up(self, round_number: int, pair: Pair) -> bool:
        """See `TradingChance`."""
        # By the pair and not by its rank: another pair that forms above it leaves its coin alone.
        return self._uniform(TradingStream.ROUND_UP, round_number, pair.buyer, pair.seller) < 0.5

    def maker(self, round_number: int, pair: Pair, earlier: str) -> str:
        """The earlier seat of the quote order; no draw."""
        return earlier


class _LogStream:
    """The source's single stream: CPython's Mersenne Twister, of which only `getrandbits` and `random` are used.

    The derived draws are written out (double_auction page, 7.2) so that no Python version changes them.
    """

    def __init__(self, seed: int) -> None:
        generator = random.Random(seed)
        self._bits = generator.getrandbits
        self.random = generator.random

    def below(self, count: int) -> int:
        """Uniform on 0..count-1 by rejection."""
        # bit_length of count, not of count - 1: for a power of two half of the draws are rejected, as the source does.
        width = count.bit_length()
        while (drawn := self._bits(width)) >= count:
            pass
        return drawn

    def integer(self, low: int, high: int) -> int:
        """Uniform on low..high, inclusive."""
        return low + self.below(high - low + 1)

    def exponential(self, mean: int) -> float:
        """Exponential by inversion; the source divides by the rate, and the bits of the quotient must be the same."""
        # 1 - u, because `random` can give 0, which has no logarithm.
        return -math.log(1.0 - self.random()) / (1.0 / mean)

    def shuffled(self, items: Sequence[_T]) -> list[_T]:
        """A shuffled copy; a list of one item consumes nothing."""
        deck = list(items)
        # Downwards, as CPython's shuffle: upwards the same bits would give another order.
        for last in range(len(deck) - 1, 0, -1):
            other = self.below(last + 1)
            deck[last], deck[other] = deck[other], deck[last]
        return deck


def _log_value(stream: _LogStream, law: Law, shape: LawShape) -> int:
    """One value as the source draws it (double_auction page, 7.2, step 1)."""
    if law == "uniform":
        return stream.integer(0, shape.price_max)
    if law == "semi_bimodal":
        if stream.random() < 0.5:
            return stream.integer(0, shape.low_peak_to)
        return stream.integer(shape.high_peak_from, shape.price_max)
    if law == "heavy_tailed":
        # The sign first, then the size: two draws of the stream, in the order of the source.
        sign = 1 if stream.random() < 0.5 else -1
        # int() truncates toward 0 like the source (6.1).
        return shape.clamp(int(shape.centre + sign * stream.exponential(shape.spread)))
    base = stream.integer(0, shape.price_max)
    return shape.clamp(base + stream.integer(-shape.jitter, shape.jitter))


def _log_limits(stream: _LogStream, roster: Roster, shape: LawShape, law: Law | Mix, acceptance: Acceptance) -> Limits:
    """Steps 1 and 2 of the source's order: draw until accepted, then shuffle each side's list over its seats."""
    if isinstance(law, Mix) or law == "correlated_common":
        name = "mix" if isinstance(law, Mix) else law
        raise ScenarioError(f"distribution = {name}: no public log has it; a log's chance needs the law of the log")
    if acceptance.mode != "vector":
        raise ScenarioError(f"acceptance = {acceptance.mode}: a log's chance only knows 'vector'")
    drawn, attempts = draw_limits(roster, acceptance, lambda _: _log_value(stream, law, shape))
    # The source draws a list per side and deals it out afterwards, so the values change seats once more.
    values = stream.shuffled([drawn[seat] for seat in roster.buyers])
    costs = stream.shuffled([drawn[seat] for seat in roster.sellers])
    return Limits(dict(zip(roster.seats, values + costs, strict=True)), law, attempts)


def _out_of_order(call: str, allowed: str) -> HarnessFailure:
    return HarnessFailure(f"{call} is out of order: a log's single stream now allows {allowed}")


class LogSeedChance:
    """Reproduces a log's single stream, so that our rules re-execute the public game (double_auction page, 7.2).

    `seat_order` is the key order of `agents` in the log. `chat` says whether each round starts with a speaking order.
    A call out of the stream's order raises HarnessFailure: the state can be rebuilt only by calling again in order.
    """

    def __init__(
        self,
        seed: int,
        roster: Roster,
        seat_order: Sequence[str],
        generation: Generation,
        *,
        chat: bool,
        shape: LawShape | None = None,
    ) -> None:
        _check_seat_order(roster, seat_order)
        self._stream = _LogStream(seed)
        self._roster = roster
        self._seat_order = tuple(seat_order)
        self._generation: Generation = generation
        self._chat = chat
        self._shape = shape or LawShape()
        # -1 before the limits are drawn, then the round of the last quote order
        self._round = -1
        # the round of the last speaking order
        self._spoken = 0
        # seats that have traded in the round: a pair is settled once
        self._settled: set[str] = set()
        # the pair that has had its coin and not yet its maker
        self._coin_of: Pair | None = None

    def limits(self, law: Law | Mix, acceptance: Acceptance) -> Limits:
        """See `TradingChance`; the law must be a log's own and the acceptance `vector`, else ScenarioError."""
        if self._round != -1:
            raise _out_of_order("limits", "no second draw of values")
        limits = _log_limits(self._stream, self._roster, self._shape, law, acceptance)
        self._round = 0
        return limits

    def speaking_order(self, round_number: int) -> tuple[str, ...]:
        """See `TradingChance`."""
        if not self._chat or self._round < 0 or round_number != self._round + 1 or self._spoken == round_number:
            raise _out_of_order(f"speaking_order({round_number})", self._allowed())
        self._require_maker(f"speaking_order({round_number})")
        self._spoken = round_number
        return tuple(self._stream.shuffled(self._seat_order))

    def quote_order(self, round_number: int) -> tuple[str, ...]:
        """See `TradingChance`."""
        if self._round < 0 or round_number != self._round + 1 or (self._chat and self._spoken != round_number):
            raise _out_of_order(f"quote_order({round_number})", self._allowed())
        self._require_maker(f"quote_order({round_number})")
        self._round = round_number
        self._settled.clear()
        return tuple(self._stream.shuffled(self._seat_order))

    def round_up(self, round_number: int, pair: Pair) -> bool:
        """See `TradingChance`; the pair's maker must come next."""
        self._require_open(f"round_up({round_number}, {pair})", round_number, pair)
        self._require_maker(f"round_up({round_number}, {pair})")
        self._coin_of = pair
        return self._stream.random() < 0.5

    def maker(self, round_number: int, pair: Pair, earlier: str) -> str:
        """A fair draw between buyer and seller, or in the generation `maker_order` the earlier seat without a draw."""
        self._require_open(f"maker({round_number}, {pair})", round_number, pair)
        if self._coin_of not in (None, pair):
            raise _out_of_order(f"maker({round_number}, {pair})", self._allowed())
        self._coin_of = None
        self._settled.update(pair)
        # maker_draw: for every pair, though no price needs it, or the stream would be off from here on (7.2, step 4).
        return pair[self._stream.below(2)] if self._generation == "maker_draw" else earlier

    def _require_open(self, call: str, round_number: int, pair: Pair) -> None:
        # A speaking order of the next round closes the pairs of this one.
        spoken_ahead = self._spoken > self._round
        if round_number != self._round or round_number < 1 or spoken_ahead or not self._settled.isdisjoint(pair):
            raise _out_of_order(call, self._allowed())

    def _require_maker(self, call: str) -> None:
        # Coin and maker of a pair lie side by side in the stream; nothing may come between them.
        if self._coin_of is not None:
            raise _out_of_order(call, self._allowed())

    def _allowed(self) -> str:
        """What may come next, for the error's text."""
        if self._round < 0:
            return "limits"
        if self._coin_of is not None:
            return f"maker({self._round}, {self._coin_of})"
        following = self._round + 1
        order = "speaking_order" if self._chat and self._spoken < following else "quote_order"
        return f"{order}({following}) or an unsettled pair of round {self._round}"


class RecordedPair(BaseModel):
    """The recorded luck of one matched pair; `up` is null when its price needed no coin."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    buyer: str
    seller: str
    up: bool | None
    maker: str


class RecordedRound(BaseModel):
    """The recorded luck of one round, as it stands in the `recorded_chance` input event."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")

    round: int
    speaking_order: list[str] | None = None
    quote_order: list[str]
    pairs: list[RecordedPair]

    def payload(self) -> dict[str, JsonValue]:
        """The JSON form that `RecordedChance.feed` takes."""
        return self.model_dump(mode="json")


class RecordedChance:
    """For logs with a stream that cannot be followed: values from the seed, everything else fed round by round."""

    def __init__(self, seed: int, roster: Roster, shape: LawShape | None = None) -> None:
        self._stream = _LogStream(seed)
        self._roster = roster
        self._shape = shape or LawShape()
        self._rounds: dict[int, RecordedRound] = {}
        self._pairs: dict[tuple[int, Pair], RecordedPair] = {}

    def feed(self, payload: JsonValue) -> int:
        """Take one round's orders, coins and makers; returns its number. TraceError if they do not fit the roster."""
        try:
            fed = RecordedRound.model_validate(payload)
        except ValidationError as error:
            raise TraceError(f"recorded_chance: {error.error_count()} wrong fields: {error}") from error
        self._check(fed)
        self._rounds[fed.round] = fed
        self._pairs.update(((fed.round, Pair(pair.buyer, pair.seller)), pair) for pair in fed.pairs)
        return fed.round

    def has_round(self, round_number: int) -> bool:
        """Whether that round has been fed."""
        return round_number in self._rounds

    def _check(self, fed: RecordedRound) -> None:
        # A second feed would replace the luck that the round may have been settled by.
        if fed.round in self._rounds or fed.round < 1:
            raise TraceError(f"recorded_chance: round {fed.round} was fed before or is not a round")
        for order in (fed.quote_order, fed.speaking_order):
            if order is not None and sorted(order) != sorted(self._roster.seats):
                raise TraceError(f"recorded_chance: round {fed.round}: {order} is not a permutation of the seats")
        for pair in fed.pairs:
            if pair.buyer not in self._roster.buyers or pair.seller not in self._roster.sellers:
                raise TraceError(f"recorded_chance: round {fed.round}: {pair.buyer}, {pair.seller} is not a pair")
            if pair.maker not in (pair.buyer, pair.seller):
                raise TraceError(f"recorded_chance: round {fed.round}: maker {pair.maker} is not of the pair")

    def limits(self, law: Law | Mix, acceptance: Acceptance) -> Limits:
        """As `LogSeedChance.limits`."""
        # The values can be followed even here: they were drawn before any baseline took from the stream (7.2, step 6).
        return _log_limits(self._stream, self._roster, self._shape, law, acceptance)

    def speaking_order(self, round_number: int) -> tuple[str, ...]:
        """See `TradingChance`; TraceError if the round was fed without one."""
        # A log without chat has none, and the rules ask only where the scenario has chat.
        order = self._round(round_number).speaking_order
        if order is None:
            raise TraceError(f"recorded_chance: round {round_number} has no speaking order")
        return tuple(order)

    def quote_order(self, round_number: int) -> tuple[str, ...]:
        """See `TradingChance`."""
        return tuple(self._round(round_number).quote_order)

    def round_up(self, round_number: int, pair: Pair) -> bool:
        """See `TradingChance`; TraceError if no coin was recorded for the pair."""
        up = self._pair(round_number, pair).up
        if up is None:
            raise TraceError(f"recorded_chance: round {round_number} has no coin for {pair.buyer} and {pair.seller}")
        return up

    def maker(self, round_number: int, pair: Pair, earlier: str) -> str:
        """See `TradingChance`."""
        return self._pair(round_number, pair).maker

    def _round(self, round_number: int) -> RecordedRound:
        if round_number not in self._rounds:
            raise TraceError(f"recorded_chance: round {round_number} was not fed before its first phase closed")
        return self._rounds[round_number]

    def _pair(self, round_number: int, pair: Pair) -> RecordedPair:
        self._round(round_number)
        found = self._pairs.get((round_number, pair))
        if found is None:
            raise TraceError(f"recorded_chance: round {round_number} has no trade of {pair.buyer} and {pair.seller}")
        return found


def _check_seat_order(roster: Roster, seat_order: Sequence[str]) -> None:
    if sorted(seat_order) != sorted(roster.seats):
        raise ScenarioError(f"seat_order = {list(seat_order)}: must be a permutation of {list(roster.seats)}")


def feed_chance(
    chance: TradingChance, kind: ChanceKind, source: str, payload: JsonValue, *, open_round: int, over: bool
) -> None:
    """Take a round's recorded orders, coins and makers into the chance of a market; IllegalAction where it takes none.

    `kind` is the scenario's `chance`; the payload must be for the open round, before its first phase closes.
    """
    if source != "recorded_chance" or not isinstance(chance, RecordedChance):
        raise _wrong_input(f"chance = {kind} takes no input from {source!r}")
    fed_round = payload.get("round") if isinstance(payload, dict) else None
    if over or fed_round != open_round:
        raise _wrong_input(f"recorded_chance must be for the open round {open_round}, not {fed_round!r}")
    try:
        chance.feed(payload)
    # For the caller of a live market this is a refused input, after which nothing has changed; not a damaged trace.
    except TraceError as error:
        raise _wrong_input(str(error)) from None


def _wrong_input(message: str) -> IllegalAction:
    return IllegalAction(
        "wrong_input", message, hint="feed recorded_chance once, for the open round, before it closes", retryable=False
    )


def open_chance(
    kind: ChanceKind,
    seed: int,
    roster: Roster,
    *,
    seat_order: Sequence[str] | None = None,
    chat: bool = False,
    price_max: int = 100,
) -> TradingChance:
    """The chance of a scenario's `chance` key.

    ScenarioError for a wrong seat order, or for a log's chance on another grid than 0..100.
    """
    shape = LawShape.scaled(price_max)
    if kind == "keyed":
        return KeyedTradingChance(Chance(seed), roster, shape)
    # The logs' draws are written out for their own grid: on another one the same bits would mean other values.
    if shape != LawShape():
        raise ScenarioError(f"price_max = {price_max}: chance = {kind} follows a log, and logs have price_max = 100")
    if kind == "recorded":
        return RecordedChance(seed, roster)
    generation: Generation = "maker_draw" if kind == "log_maker_draw" else "maker_order"
    return LogSeedChance(seed, roster, seat_order or roster.seats, generation, chat=chat)
