"""What the market's tools answer. Money is a number in currency units with at most two decimals."""

from __future__ import annotations

from typing import Annotated, Literal

from tradefair.contract import Result, SeatId, Untrusted

Gate = Literal["active", "inert"]
Status = Literal["active", "bankrupt"]


# Class docstrings and field names below are part of the published tool schemas: another wording is another schema, and
# makes earlier traces foreign. Notes for developers are comments therefore.
# --- what all seats see at a closure ---------------------------------------------------------------------------------


class ItemDisclosure(Result):
    """An item after a pass, anonymous: marginal price, whether it sold out, units asked for; the book if revealed."""

    item: str
    # The reserve, unless the item sold out.
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


# --- what one call answers -------------------------------------------------------------------------------------------


class RulesView(Result):
    """The rules of this market."""

    aim: str
    gate: Gate
    gate_rule: str
    rounds: int
    phases: list[str]
    retailers: int
    buyers: int
    considered: int
    procurement: str
    overspending: str
    disclosure: str
    offers: str
    market: str
    reservation: str | None
    costs: str
    bankruptcy: str
    silence: str
    tick: float
    slogan_words: int
    slogan_chars: int
    embedder: str


class TurnPart(Result):
    """The market's part of `view_turn`; public history takes a call."""

    rounds: int
    retailers: int
    funds: float
    overspent: bool
    units: int
    book_value: float
    active: bool
    gate: Gate
    next_calls: list[str]


class SupplierOffer(Result):
    """What the supplier offers of an item this round; bids lie between reserve and ceiling."""

    item: str
    label: str
    category: str
    quantity: int
    reserve: float
    ceiling: float


class SupplierOffers(Result):
    """This round's supply."""

    round: int
    tick: float
    offers: list[SupplierOffer]


class Stock(Result):
    """Units of an item on the shelf at moving-average cost."""

    item: str
    units: int
    avg_cost: float | None
    book_value: float


class AccountRound(Result):
    """What a closed round brought."""

    round: int
    revenue: float
    profit: float


class OfferPrice(Result):
    """A posted retail price."""

    item: str
    price: float


class OfferView(Result):
    """The standing offer; the slogan is the seat's own."""

    prices: list[OfferPrice]
    slogan: str | None


class Account(Result):
    """The seat's own books."""

    funds: float
    stock: list[Stock]
    book_value: float
    profit_total: float
    rounds: list[AccountRound]
    offer: OfferView | None


class OwnLine(Result):
    """An own bid line; filled and paid are null where the scenario does not tell (a provisional pass)."""

    item: str
    quantity: int
    price: float
    # None and not 0: a seat must not take an untold result for a bid that won nothing.
    filled: int | None
    paid: float | None


class OwnPass(Result):
    """An own pass: provisional or settled; `market` is what was told to all, null if nothing was."""

    bid_pass: int
    settled: bool
    lines: list[OwnLine]
    overspent: bool
    market: list[ItemDisclosure] | None


class BidRound(Result):
    """Passes of one round."""

    round: int
    passes: list[OwnPass]


class BidResults(Result):
    """Own bids and fills, newest round first."""

    rounds: list[BidRound]


class HistoryRound(Result):
    """Offers and sales of a closed round by seat; prices and units in the order of `items`."""

    round: int
    items: list[str]
    rows: list[PublicRow]


class MarketHistory(Result):
    """Closed rounds, oldest first."""

    rounds: list[HistoryRound]


class BidCostLine(Result):
    """A bid line: what it costs, what is wrong with it, and the largest quantity at its price beside the others."""

    item: str
    cost: float
    error: str | None
    # 0 where another error than the quantity is on the line.
    max_quantity: int


class BidCost(Result):
    """What a vector would cost; `affordable`: no line is wrong and the total is within funds."""

    total: float
    funds: float
    remaining: float
    affordable: bool
    lines: list[BidCostLine]


class ClearingEstimate(Result):
    """What an item's marginal price was, from `n` observations; the suggestion is arithmetic, not advice."""

    item: str
    low: float
    mid: float
    high: float
    suggestion: float
    n: int
    # How much an estimate is worth: prices that all were told, own fills only, or nothing at all.
    basis: Literal["disclosed", "own_lines", "no_evidence"]


class ClearingEstimates(Result):
    """Estimates by item."""

    window: int
    items: list[ClearingEstimate]


class NearSlogan(Result):
    """A posted slogan near the candidate; sales are relative to the mean seller of the same items (1 = average)."""

    round: int
    seat: SeatId
    slogan: Annotated[str, Untrusted()]
    closeness: float
    sales: float


class SloganScore(Result):
    """Relative sales of slogans near the candidate, weighted by closeness; null without any."""

    words: int
    index: float | None
    n_eff: float | None
    nearest: list[NearSlogan]
    # Said with every score: the number is an association, not an effect.
    notes: list[str]


class PriceComparison(Result):
    """An own price beside cost and beside rivals' prices and sales of the last closed round."""

    item: str
    price: float
    unit_cost: float | None
    margin: float | None
    margin_pct: float | None
    cheaper_rivals: int | None
    lowest_rival: float | None
    mean_sold: float | None
    top_sold: float | None


class PriceComparisons(Result):
    """Comparisons by item; `round` is the closed round that they rest on."""

    round: int | None
    items: list[PriceComparison]


class PriceStats(Result):
    """Lowest, mean and highest price; the mean of sold prices is weighted by units, that of posted ones is plain."""

    low: float
    mean: float
    high: float


class ItemSalesRound(Result):
    """An item in one round; `units_by_third` are units sold by the cheapest, middle and dearest third of sellers."""

    round: int
    posted_by: int
    sold_by: int
    units: int
    posted: PriceStats | None
    sold: PriceStats | None
    units_by_third: list[int]


class ItemSales(Result):
    """An item's rounds, oldest first."""

    item: str
    rounds: list[ItemSalesRound]


class SalesSummary(Result):
    """Sales by item."""

    window: int
    items: list[ItemSales]


class BidReceipt(Result):
    """What was sealed: accepted, or forfeited because it costs more than the funds."""

    round: int
    bid_pass: int
    status: Literal["accepted", "forfeited"]
    lines: int
    total: float
    remaining: float


class OfferReceipt(Result):
    """The offer as it will be posted."""

    round: int
    prices: list[OfferPrice]
    slogan: str | None
    words: int


class SkipReceipt(Result):
    """The default that now stands."""

    round: int
    phase: str
    default: str
