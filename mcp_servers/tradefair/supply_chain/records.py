"""What the rules remember of closed passes and rounds, what a closure tells everybody, and the facts for the trace.

Facts are in cents; lists are by item place or, where named so, by seat place in the manifest's order of seats.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from tradefair.contract.seats import SeatId
from tradefair.contract.tool import Result, Untrusted
from tradefair.supply_chain.engine.procurement import ItemResult
from tradefair.supply_chain.model import Line, Offer

Status = Literal["active", "bankrupt"]


class SeatPass(NamedTuple):
    """One seat's standing vector in a pass and what it would win (or won); `forfeited` is what it asked for in vain."""

    lines: tuple[Line, ...]
    filled: tuple[int, ...]
    forfeited: tuple[Line, ...]


class PassRecord(NamedTuple):
    """A closed pass: seats by place, items by place."""

    number: int
    seats: tuple[SeatPass, ...]
    items: tuple[ItemResult, ...]


class RoundRecord(NamedTuple):
    """A closed round as far as somebody may ask for it again; `sold` and `active` are by seat place."""

    round: int
    supply: tuple[int, ...]
    passes: tuple[PassRecord, ...]
    offers: tuple[Offer | None, ...]
    sold: tuple[tuple[int, ...], ...]
    active: tuple[bool, ...]


# --- what everybody is told -----------------------------------------------------------------------------------------


class ItemDisclosure(Result):
    """An item after a pass, anonymous: marginal price, whether it sold out, units asked for; the book if revealed."""

    item: str
    marginal: float
    sold_out: bool
    requested: int
    book: list[tuple[float, int]] | None


class PublicPass(Result):
    """What a pass tells everybody; no items under reveal = none or own."""

    round: int
    bid_pass: int
    items: list[ItemDisclosure] | None


class PublicRow(Result):
    """A seat's posted offer of a round and what it sold, by item place; a null price is not for sale."""

    seat: SeatId
    slogan: Annotated[str | None, Untrusted()]
    prices: list[float | None]
    sold: list[int]
    status: Status


class PublicRound(Result):
    """What a closed round tells everybody."""

    round: int
    items: list[str]
    rows: list[PublicRow]


# --- facts ----------------------------------------------------------------------------------------------------------


class PassFacts(Result):
    """`pass_settled`, or `procurement_settled` for the last one. Lists by item place; lines by seat.

    A line is [item, units, price, filled]; `forfeited` holds the vectors that were above funds (`bids_forfeited`).
    """

    bid_pass: int
    lines: dict[SeatId, list[tuple[int, int, int, int]]]
    forfeited: dict[SeatId, list[tuple[int, int, int]]]
    marginal: list[int]
    sold_out: list[bool]
    requested: list[int]
    won: list[int]


class SeatFacts(Result):
    """One seat's round. `opening` is stock before procurement, `available` at the start of the market step.

    `holding` is the charge, `holding_paid` what funds could pay of it; `bankrupt` says that it happened in this round.
    """

    active: bool
    opening: list[int]
    spend: int
    available: list[int]
    prices: list[int | None]
    slogan: int | None
    similarity: list[float] | None
    attempts: list[int]
    failed: list[int]
    directed: list[int]
    sold: list[int]
    revenue: list[int]
    cost_of_goods: list[int]
    holding: int
    holding_paid: int
    profit: int
    write_off: int
    bankrupt: bool
    funds: int
    units: list[int]
    book: list[int]


class BuyerFacts(Result):
    """`market_resolved`: every buyer of the round by place, column by column.

    `noticed` holds seat places in the order of the draw, null where it is every active seat; a visit is
    [seat place, units wanted on arrival, units bought].
    """

    tribe: list[int]
    text: list[int]
    item: list[int]
    quantity: list[int]
    limit: list[int | None]
    arrival: list[int]
    noticed: list[tuple[int, ...] | None]
    visits: list[tuple[tuple[int, int, int], ...]]


class SloganFacts(Result):
    """A slogan that is posted for the first time: its number in the episode, its cues, cosines with earlier ones.

    `cosines` holds [number of an earlier slogan, lexical cosine] where the cosine is above 0.
    """

    number: int
    text: str
    stems: int
    cues: int
    groups: list[str]
    cosines: list[tuple[int, float]]


class RoundFacts(Result):
    """The truth of a round."""

    round: int
    supply: list[int]
    passes: list[PassFacts]
    seats: dict[SeatId, SeatFacts]
    buyers: BuyerFacts
    new_slogans: list[SloganFacts]


class TribeFacts(Result):
    """A tribe as it was played."""

    id: str
    weight: float
    sensitivity: float
    reservation_centre: float
    texts: list[str]


class EndingFacts(Result):
    """Totals in cents by seat, and what stayed hidden: tribes, embedder, temperature."""

    rounds_closed: int
    profit: dict[SeatId, int]
    funds: dict[SeatId, int]
    stock: dict[SeatId, int]
    bankrupt: list[SeatId]
    tribes: list[TribeFacts]
    embedder: str
    tau: float
    calibration_gap: float
    persona_digest: str
    gate: Literal["active", "inert"]
