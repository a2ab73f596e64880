"""One double auction in the terms of the side that is asked about, without the names of its seats.

Everything below is written for sellers. For buyers the game is mirrored once: v and P − c change places, every price p
is P − p, so that a high ask of the mirrored game is a low bid of the true one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from tradefair.contract import SeatId
from tradefair.contract.scenario import natural_order
from tradefair.trading.clearing import benchmarks
from tradefair.trading.statements import read_statements

Side: TypeAlias = Literal["sellers", "buyers"]

_PRICES = frozenset({"price", "own_quote", "other_quote"})


class PlayedRound(NamedTuple):
    """A closed round as the facts tell it: quotes by seat (forfeits left out), trades, realised surplus.

    Its luck: `coins` by pair (whether a half point went up; pairs without one are left out), and the two orders.
    """

    quotes: Mapping[SeatId, int]
    trades: Sequence[tuple[SeatId, SeatId, int]]
    surplus: int
    speaking_order: Sequence[SeatId] = ()
    quote_order: Sequence[SeatId] = ()
    coins: Mapping[tuple[SeatId, SeatId], bool] = MappingProxyType({})


class Sent(NamedTuple):
    """A message as it was sent: `hearers` are the seats that it was delivered to."""

    round: int
    sender: SeatId
    hearers: Sequence[SeatId]
    text: str


class Pairing(NamedTuple):
    """What has to be equal for two episodes to be one case: economics (a digest), seed, policy key, who played what."""

    economics: str
    seed: int
    policy_key: int
    players: tuple[tuple[SeatId, str], ...]


class Played(NamedTuple):
    """An episode by seat ids; `values` of all seats in points, `rounds` closed ones from the first on."""

    name: str
    pairing: Pairing
    price_max: int
    values: Mapping[SeatId, int]
    rounds: Sequence[PlayedRound]
    messages: Sequence[Sent] = ()
    talks: bool = False


class Deal(NamedTuple):
    """A trade: places of the buyer and of the seller on their sides, and the price."""

    buyer: int
    seller: int
    price: int


class Named(NamedTuple):
    """A number that a message named as a price: from `low` to `high` (equal but for ranges).

    `promise`: the firm, unconditional quote of the speaker, at least `low`, in the rounds `first` to `last`.
    """

    low: float
    high: float
    promise: bool
    first: int
    last: int


class Spoken(NamedTuple):
    """One message: who spoke (side and place), which seats of the own side heard it, and whether the other side did."""

    round: int
    side: Side
    speaker: int
    own_hearers: frozenset[int]
    other_side: bool
    numbers: tuple[Named, ...]


@dataclass(frozen=True)
class Game:
    """An episode for the measures; tuples of a side go by place, null asks and bids are forfeits.

    Places follow costs (values) and deeds, never the names of seats: naming seats otherwise changes nothing.
    """

    name: str
    pairing: Pairing
    price_max: int
    costs: tuple[int, ...]
    values: tuple[int, ...]
    asks: tuple[tuple[int | None, ...], ...]
    """By round, then by seller."""
    bids: tuple[tuple[int | None, ...], ...]
    deals: tuple[tuple[Deal, ...], ...]
    """By round."""
    surplus: int
    spoken: tuple[Spoken, ...]
    talks: bool
    """Whether the scenario has a talk phase."""
    labels: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    """Who played, by place: sellers, then buyers."""

    @property
    def rounds(self) -> int:
        """The number of closed rounds."""
        return len(self.deals)

    @property
    def late(self) -> range:
        """Places (from 0) of the rounds r > R/2."""
        return range(self.rounds // 2, self.rounds)

    @cached_property
    def interval(self) -> tuple[int, int] | None:
        """The competitive interval [p_lo, p_hi]; null where nothing can be gained."""
        # Computed again, not read from the facts: a mirrored game has no facts of its own.
        found = benchmarks(self.values, self.costs, self.price_max)
        return None if found.p_lo is None or found.p_hi is None else (found.p_lo, found.p_hi)

    @cached_property
    def possible_surplus(self) -> int:
        """R·W*."""
        return self.rounds * benchmarks(self.values, self.costs, self.price_max).max_surplus

    @property
    def p_star(self) -> float | None:
        """The middle of the competitive interval."""
        return None if self.interval is None else sum(self.interval) / 2

    def mirrored(self) -> Game:
        """The same episode with the sides in each other's place.

        Its own inverse. The name, the pairing, the surplus and whether there is talk stay as they are.
        """
        # v → P − v makes a buyer a seller of the same strength: measures need no second version for buyers.
        top = self.price_max
        return replace(
            self,
            costs=tuple(top - value for value in self.values),
            values=tuple(top - cost for cost in self.costs),
            asks=_flipped(self.bids, top),
            bids=_flipped(self.asks, top),
            deals=tuple(
                tuple(Deal(deal.seller, deal.buyer, top - deal.price) for deal in deals) for deals in self.deals
            ),
            spoken=tuple(_spoken_mirrored(message, top) for message in self.spoken),
            labels=self.labels[::-1],
        )


def game_of(played: Played, side: Side) -> Game:
    """The game of one side. Seats with an id that begins with B buy, all others sell; messages are read here."""
    buyers = _places([seat for seat in played.values if seat.startswith("B")], played, "buyers")
    sellers = _places([seat for seat in played.values if not seat.startswith("B")], played, "sellers")
    game = Game(
        name=played.name,
        pairing=played.pairing,
        price_max=played.price_max,
        costs=tuple(played.values[seat] for seat in sellers),
        values=tuple(played.values[seat] for seat in buyers),
        asks=tuple(tuple(closed.quotes.get(seat) for seat in sellers) for closed in played.rounds),
        bids=tuple(tuple(closed.quotes.get(seat) for seat in buyers) for closed in played.rounds),
        deals=tuple(
            tuple(Deal(buyers[buyer], sellers[seller], price) for buyer, seller, price in closed.trades)
            for closed in played.rounds
        ),
        surplus=sum(closed.surplus for closed in played.rounds),
        spoken=tuple(_spoken(played, buyers, sellers)),
        talks=played.talks,
        labels=(_labels(sellers, played), _labels(buyers, played)),
    )
    # Messages are read before: their words ("bid", "ask") mean sides of the true game.
    return game if side == "sellers" else game.mirrored()


def _labels(seats: Iterable[SeatId], played: Played) -> tuple[str, ...]:
    """The labels of these seats, in their order."""
    known = dict(played.pairing.players)
    return tuple(known.get(seat, "?") for seat in seats)


def _flipped(quotes: tuple[tuple[int | None, ...], ...], top: int) -> tuple[tuple[int | None, ...], ...]:
    """Quotes by round and place on the mirrored grid, forfeits kept."""
    return tuple(tuple(None if quote is None else top - quote for quote in row) for row in quotes)


# --- places -----------------------------------------------------------------------------------------------------------


def _places(seats: Sequence[SeatId], played: Played, side: Side) -> dict[SeatId, int]:
    """Places by strength (low costs, high values first), then by what a seat did; the id only parts exact twins."""
    sign = 1 if side == "sellers" else -1
    sold = [{seat: price for trade in closed.trades for seat, price in _fills(*trade)} for closed in played.rounds]

    def deeds(seat: SeatId) -> tuple[object, ...]:
        quotes = [_ranked(closed.quotes.get(seat), sign) for closed in played.rounds]
        fills = [_ranked(filled.get(seat), sign) for filled in sold]
        # Text comes after quotes and trades, and the id last: two seats that did the same are exchangeable anyway.
        said = [(message.round, message.text) for message in played.messages if message.sender == seat]
        return sign * played.values[seat], quotes, fills, said, natural_order(seat)

    return {seat: place for place, seat in enumerate(sorted(seats, key=deeds))}


def _ranked(price: int | None, sign: int) -> tuple[int, int]:
    """A price that may be missing, in an order that mirrors with the sides."""
    return (0, 0) if price is None else (1, sign * price)


def _fills(buyer: SeatId, seller: SeatId, price: int) -> Iterable[tuple[SeatId, int]]:
    return (buyer, price), (seller, price)


# --- messages ---------------------------------------------------------------------------------------------------------


def _spoken(played: Played, buyers: Mapping[SeatId, int], sellers: Mapping[SeatId, int]) -> Iterable[Spoken]:
    """Messages in the order in which they were delivered."""

    def order(message: Sent) -> tuple[int, int]:
        # Events lie in the order of the calls; a talk phase delivers in the speaking order, and "the last number" needs
        # that.
        speakers = played.rounds[message.round - 1].speaking_order if 0 < message.round <= len(played.rounds) else ()
        return message.round, speakers.index(message.sender) if message.sender in speakers else len(speakers)

    for message in sorted(played.messages, key=order):
        side: Side = "buyers" if message.sender in buyers else "sellers"
        own = buyers if side == "buyers" else sellers
        if message.sender not in own or not 0 < message.round <= len(played.rounds):
            continue
        yield Spoken(
            round=message.round,
            side=side,
            speaker=own[message.sender],
            own_hearers=frozenset(own[seat] for seat in message.hearers if seat in own),
            other_side=any(seat not in own for seat in message.hearers),
            numbers=tuple(_numbers(message, side, len(played.rounds), played.price_max)),
        )


def _numbers(message: Sent, side: Side, rounds: int, price_max: int) -> Iterable[Named]:
    """Numbers on the grid that the text names as prices, in its order."""
    # "At most 60" of a seller binds it to nothing that other sellers could rely on.
    keeps = ("=", "range", ">=" if side == "sellers" else "<=")
    for said in read_statements(message.text, "seller" if side == "sellers" else "buyer", message.round, rounds):
        high = said.x if said.upper is None else said.upper
        if said.kind not in _PRICES or not 0 <= said.x <= high <= price_max:
            continue
        firm = said.kind == "own_quote" and said.strength == "firm" and said.condition is None
        yield Named(said.x, high, firm and said.relation in keeps, *said.horizon)


def _spoken_mirrored(message: Spoken, top: int) -> Spoken:
    # The ends change places: a range from 40 to 60 on a grid of 100 stays one, from 40 to 60.
    numbers = tuple(named._replace(low=top - named.high, high=top - named.low) for named in message.numbers)
    return message._replace(side="buyers" if message.side == "sellers" else "sellers", numbers=numbers)
