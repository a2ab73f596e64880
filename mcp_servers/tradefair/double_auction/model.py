"""The double auction's scenario, its records and what its tools answer.

Prices, values and payoffs are integers of the grid 0..P: 1 point = 1 tick = the ledger's minor unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tradefair.contract import Result, Scenario, ScenarioError, SeatId, Untrusted
from tradefair.contract.policy import parse_policy
from tradefair.trading.chance import ChanceKind
from tradefair.trading.clearing import Benchmarks, Coin, Match, residual_spread
from tradefair.trading.values import Acceptance, Law, Roster

Role = Literal["buyer", "seller"]
Phase = Literal["talk", "quote"]
RecipientKind = Literal["all_traders", "all_sellers", "all_buyers", "seat"]
Distribution = Literal[Law, "mix", "explicit"]

# With more seats a redraw of all of them together is accepted too rarely (6.1).
_VECTOR_SEATS = 16
# The laws that public logs name; correlated_common and mix are in none of them.
_LOG_LAWS = ("uniform", "semi_bimodal", "heavy_tailed", "correlated_source")


def role_of(seat: SeatId) -> Role:
    """The role of a seat of this market: B1.. buy, S1.. sell."""
    return "buyer" if seat[0] == "B" else "seller"


_MAX_SIDE = 500  # seats of a role
_MAX_PRICE = 10_000
# Wider than any price: which values do not fit the scenario's grid is said by name.
_Points = Annotated[
    tuple[Annotated[int, Field(ge=-_MAX_PRICE, le=10 * _MAX_PRICE)], ...], Field(max_length=2 * _MAX_SIDE)
]


class ExplicitValues(BaseModel):
    """The private values of `distribution = explicit`, in the order B1.. and S1..; no acceptance test applies."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    buyers: _Points
    sellers: _Points


class Chat(BaseModel):
    """The talk phase before each quote phase: who may be addressed, and how long one message may be."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    enabled: bool = False
    recipients: tuple[RecipientKind, ...] = Field(
        default=get_args(RecipientKind), max_length=20, description="allowed addressees"
    )
    same_role: bool = Field(default=True, description="messages to the own side are allowed")
    max_words: int = Field(default=40, ge=1, le=200, description="longest message in words")
    max_chars: int = Field(default=400, ge=20, le=2_000, description="longest message in characters")


class DoubleAuctionScenario(Scenario):
    """A configuration of the double auction; bounds and meaning: double_auction page, section 2.

    Points are prices of the grid 0..price_max. Raises ValueError (ScenarioError for a file) that names every key that
    does not fit the others.
    """

    by_turns: ClassVar[bool] = True

    n_buyers: int = Field(default=4, ge=1, le=_MAX_SIDE, description="buyers B1..Bn")
    n_sellers: int = Field(default=4, ge=1, le=_MAX_SIDE, description="sellers S1..Sm")
    rounds: int = Field(default=30, ge=1, le=1000)
    # A multiple of 100, so that the laws' constants scale by P/100 to whole points (6.1).
    price_max: int = Field(default=100, ge=100, le=_MAX_PRICE, multiple_of=100, description="P; prices are 0..P")
    distribution: Distribution = Field(default="mix", description="law of the private values")
    values: ExplicitValues | None = Field(default=None, description="only with distribution = explicit")
    acceptance: Literal["vector", "per_seat", "none"] = Field(default="vector", description="which draws are kept")
    min_buyer_value: int = Field(default=1, ge=0, le=10 * _MAX_PRICE, description="points")
    max_seller_cost: int | None = Field(default=None, ge=0, le=10 * _MAX_PRICE, description="points; default P - 1")
    min_gap: int = Field(default=3, ge=0, le=10 * _MAX_PRICE, description="least max(value) - min(cost), points")
    max_attempts: int = Field(default=10_000, ge=1, le=1_000_000, description="redraws of the values")
    # Off by default: a quote through the own value is a mistake that evaluation wants to see.
    budget_constraint: bool = Field(default=False, description="refuse a quote through the own value")
    # keyed for play; the log modes re-execute public games and serve importers (7).
    chance: ChanceKind = Field(default="keyed", description="where orders and coins come from")
    seat_order: tuple[SeatId, ...] | None = Field(
        default=None, max_length=4 * _MAX_SIDE, description="order in which a log's chance takes seats"
    )
    chat: Chat = Chat()
    framing: Literal["plain", "desk"] = Field(default="plain", description="wording of the brief")

    @model_validator(mode="after")
    def _coherent(self) -> DoubleAuctionScenario:
        # All at once: the author of a scenario mends everything that is wrong in one go.
        if complaints := [*self._wrong_market(), *self._wrong_values(), *self._wrong_chance(), *self._wrong_seats()]:
            raise ValueError("; ".join(complaints))
        return self

    def _wrong_market(self) -> Iterator[str]:
        if self.chat.enabled and not self.chat.recipients:
            yield f"chat.recipients: name at least one of {', '.join(get_args(RecipientKind))}, or switch chat off"
        if self.clock != "turns":
            yield f"clock = {self.clock}: quotes are sealed until all have acted; the clock must be 'turns'"

    def _wrong_values(self) -> Iterator[str]:
        constants = {"min_buyer_value": self.min_buyer_value, "min_gap": self.min_gap}
        if self.max_seller_cost is not None:
            constants["max_seller_cost"] = self.max_seller_cost
        for name, points in constants.items():
            if points > self.price_max:
                yield f"{name} = {points}: must lie in 0..price_max = {self.price_max}"
        if self.distribution == "explicit":
            # No acceptance test follows: explicit values are taken as they are.
            yield from self._wrong_lists()
            return
        if self.values is not None:
            yield f"values: only allowed with distribution = explicit, not {self.distribution}"
        if self.acceptance == "vector" and self.n_buyers + self.n_sellers > _VECTOR_SEATS:
            yield (
                f"acceptance = vector: at most {_VECTOR_SEATS} seats, not {self.n_buyers + self.n_sellers}; "
                "use per_seat or none"
            )

    def _wrong_lists(self) -> Iterator[str]:
        if self.values is None:
            yield "values: required with distribution = explicit: values.buyers and values.sellers"
            return
        sides = (("buyers", self.values.buyers, self.n_buyers), ("sellers", self.values.sellers, self.n_sellers))
        for name, points, wanted in sides:
            if len(points) != wanted:
                yield f"values.{name}: {len(points)} entries; there are {wanted} {name}"
            if any(not 0 <= value <= self.price_max for value in points):
                yield f"values.{name}: every value must lie in 0..price_max = {self.price_max}"

    def _wrong_chance(self) -> Iterator[str]:
        if self.seat_order is not None and sorted(self.seat_order) != sorted(self.roster.seats):
            yield f"seat_order: must name each of the {len(self.roster.seats)} seats B1.., S1.. exactly once"
        # Recorded orders and coins fit any values; only drawn ones need the log's law.
        if self.chance == "keyed" or (self.chance == "recorded" and self.distribution == "explicit"):
            return
        if self.price_max != 100:
            yield f"chance = {self.chance}: follows a public log, whose price_max is 100, not {self.price_max}"
        if self.distribution not in _LOG_LAWS:
            yield f"chance = {self.chance}: needs the log's own distribution, one of {', '.join(_LOG_LAWS)}"
        if self.acceptance != "vector":
            yield f"chance = {self.chance}: a log's values were accepted by 'vector', not {self.acceptance}"

    def _wrong_seats(self) -> Iterator[str]:
        # A selector is a role or a single seat.
        known = {*get_args(Role), *self.roster.seats}
        for selector, occupant in self.seats.items():
            if selector not in known:
                yield f"seats.{selector}: no such seat or role; seats are B1..B{self.n_buyers}, S1..S{self.n_sellers}"
            try:
                # The form only: whether the policy exists is for `create`, which knows the registry.
                parse_policy(occupant)
            except ScenarioError as error:
                yield f"seats.{selector}: {error}"

    @property
    def roster(self) -> Roster:
        """The seats, buyers first."""
        return Roster.of(self.n_buyers, self.n_sellers)

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of every round, in order."""
        return ("talk", "quote") if self.chat.enabled else ("quote",)

    @property
    def accepted(self) -> Acceptance:
        """The acceptance rule of the private values."""
        # The source's bound, 99 for P = 100 (6.1).
        top = self.price_max - 1 if self.max_seller_cost is None else self.max_seller_cost
        return Acceptance(self.acceptance, self.min_buyer_value, top, self.min_gap, self.max_attempts)


class PrivateValues(NamedTuple):
    """What chance (or the scenario) gave the seats, and what it allows; fixed for the episode."""

    by_seat: dict[SeatId, int]
    distribution: str
    attempts: int
    """Largest number of draws of one seat; 0 for explicit values."""
    potential: dict[SeatId, int]
    benchmarks: Benchmarks


class PublicQuote(Result):
    """One published quote, in points."""

    trader: SeatId
    role: Role
    price: int


class PublicTrade(Result):
    """One trade: the pair, its quotes and its own price, in points."""

    buyer: SeatId
    seller: SeatId
    bid: int
    ask: int
    price: int


class RowTotals(Result):
    """How many quotes, trades and forfeits a round had, whatever part of them is shown."""

    quotes: int
    trades: int
    forfeited: int


class HistoryRow(Result):
    """A closed round. Quotes in seat order, trades in rank order; null: left out, the totals still count them."""

    round: int
    quotes: list[PublicQuote] | None
    trades: list[PublicTrade] | None
    forfeited: list[SeatId] | None
    totals: RowTotals


class Message(NamedTuple):
    """One message that was sent: what the sender wrote in `recipient`, and the seats that it reaches."""

    round: int
    sender: SeatId
    recipient: str
    addressees: tuple[SeatId, ...]
    text: str
    words: int


@dataclass(frozen=True)
class ClosedRound:
    """A settled round; immutable, so that what is derived from it is made once.

    `bids` and `asks` hold the quotes by seat, in seat order and in points; `matches` are in rank order. `quote_order`
    and the coins of `matches` are hidden: only `row` is public.
    """

    round: int
    quote_order: tuple[SeatId, ...]
    bids: Mapping[SeatId, int]
    asks: Mapping[SeatId, int]
    forfeited: tuple[SeatId, ...]
    matches: tuple[Match, ...]
    speaking_order: tuple[SeatId, ...] | None = None
    """Null without chat."""

    @cached_property
    def fills(self) -> Mapping[SeatId, int]:
        """Price by seat that traded.

        A seat trades at most once a round, so each has one price.
        """
        return {seat: match.price for match in self.matches for seat in (match.buyer, match.seller)}

    @cached_property
    def residual_spread(self) -> int | None:
        """Lowest unmatched ask minus highest unmatched bid; null when a side has none."""
        return residual_spread(self.bids, self.asks, self.matches)

    @cached_property
    def totals(self) -> RowTotals:
        """Counts of the row."""
        quotes = len(self.bids) + len(self.asks)
        return RowTotals(quotes=quotes, trades=len(self.matches), forfeited=len(self.forfeited))

    @cached_property
    def row(self) -> HistoryRow:
        """What all seats see of the round."""
        # The rules filled both mappings in seat order: the order of arrival must not show here.
        quotes = [
            {"trader": seat, "role": role, "price": price}
            for role, book in (("buyer", self.bids), ("seller", self.asks))
            for seat, price in book.items()
        ]
        trades = [
            {"buyer": match.buyer, "seller": match.seller, "bid": match.bid, "ask": match.ask, "price": match.price}
            for match in self.matches
        ]
        # Whole: pydantic makes the inner models in half the time that a call of each takes.
        return HistoryRow.model_validate(
            {
                "round": self.round,
                "quotes": quotes,
                "trades": trades,
                "forfeited": list(self.forfeited),
                "totals": self.totals,
            }
        )

    @cached_property
    def row_bytes(self) -> int:
        """Size of the row as JSON."""
        return len(self.row.__pydantic_serializer__.to_json(self.row))


class SideOfRoster(Result):
    """One side of the market: its seats run from `first` to `last`."""

    role: Role
    seats: int
    first: SeatId
    last: SeatId


class ChatRules(Result):
    """Who may be addressed in the talk phase and how; `recipients` are group names, and seat ids where seats may be."""

    recipients: list[str]
    same_role: bool
    max_words: int
    max_chars: int
    delivery: str


class RulesView(Result):
    """The rules of this market, equal for all seats; `chat` is null where there is no talk phase."""

    roster: list[SideOfRoster]
    rounds: int
    phases: list[str]
    price_max: int
    tick: int
    budget_constraint: bool
    matching: str
    pricing: str
    payoff: str
    forfeit: str
    published: str
    chat: ChatRules | None


class OwnRound(Result):
    """The own result of a closed round; price is null without a trade."""

    round: int
    traded: bool
    price: int | None
    forfeited: bool


class TurnPart(Result):
    """The market's part of `view_turn`; `rounds_left` counts the open round."""

    rounds_left: int
    last_round: OwnRound | None


class MyValue(Result):
    """Own value (buyer) or cost (seller) and what was earned so far, in points; `rounds_left` counts the open round."""

    role: Role
    value: int
    price_max: int
    round: int
    rounds_left: int
    payoff_so_far: int
    rounds_traded: int
    rounds_forfeited: int


class History(Result):
    """Closed rounds, newest first; `total` counts those that fit the question, `next_cursor` continues the list."""

    rounds: list[HistoryRow]
    total: int
    next_cursor: str | None


class BookRow(Result):
    """Figures of one closed round; a price is null when there was no such quote or trade."""

    round: int
    bids: int
    asks: int
    best_bid: int | None
    best_ask: int | None
    trades: int
    price_min: int | None
    price_mean: float | None
    price_max: int | None
    marginal_bid: int | None
    marginal_ask: int | None
    residual_spread: int | None


class PooledStatistics(Result):
    """Over the window: closed rounds, trades, mean price and its population standard deviation."""

    rounds: int
    trades: int
    price_mean: float | None
    price_sd: float | None


class DepthRow(Result):
    """Numbers of quotes at a price, or in the bin that starts at it."""

    price: int
    bids: int
    asks: int


class BookStatistics(Result):
    """Rounds newest first, their pool, and the book of the last closed round in bins of `depth_step` points."""

    rounds: list[BookRow]
    pooled: PooledStatistics
    depth: list[DepthRow]
    depth_step: int


class FillBelief(Result):
    """Belief that a quote at `price` would have traded: supporting/(supporting + opposing); null for 0/0."""

    price: int
    probability: float | None
    supporting: int
    opposing: int
    rounds_used: int


class PriceRow(Result):
    """What one price would have met in the past rounds."""

    price: int
    fill_share: float
    mean_price_if_filled: float | None
    mean_surplus: float


class SurplusEstimate(Result):
    """Counterfactual replay of prices on published quotes; rivals do not react in it."""

    rows: list[PriceRow]
    best_price: int
    rounds_used: int
    rivals: Literal["held fixed at their published quotes"]


class TraderRow(Result):
    """Published behaviour of one trader in the window; null where it did not quote or trade."""

    trader: SeatId
    role: Role
    quotes: int
    last: int | None
    mean: float | None
    min: int | None
    max: int | None
    sd: float | None
    mean_abs_change: float | None
    trades: int
    mean_trade_price: float | None


class TraderSummaries(Result):
    """Traders in seat order; `total` counts those that fit the question, `next_cursor` continues the list."""

    traders: list[TraderRow]
    rounds_used: int
    total: int
    next_cursor: str | None


class QuoteReceipt(Result):
    """A sealed quote. `warning` is through_value when it could trade at a loss."""

    round: int
    price: int
    warning: Literal["through_value"] | None


class MessageReceipt(Result):
    """A sealed message: the seats that will read it when the talk phase closes; none for silence."""

    round: int
    delivered_to: list[SeatId]
    words: int
    silent: bool


class MessageRow(Result):
    """One delivered message, numbered per seat; `untrusted` marks what another seat wrote."""

    number: int
    round: int
    sender: SeatId
    recipient: str
    text: Annotated[str, Untrusted()]
    words: int
    # True for what another seat wrote; its own messages are in the same list.
    untrusted: bool


class Messages(Result):
    """Messages that the seat sent or was sent, oldest first; pass `next_cursor` as `after` to go on."""

    messages: list[MessageRow]
    total: int
    next_cursor: int | None


class TalkClosed(Result):
    """What everybody knows when a talk phase has closed: nothing but that."""

    round: int


class MatchFacts(Result):
    """A trade with its hidden luck: the coin of a half tick (null: none was needed) and the maker."""

    buyer: SeatId
    seller: SeatId
    bid: int
    ask: int
    coin: Coin | None
    price: int
    maker: SeatId


class OpeningFacts(Result):
    """What the private values are and allow, per round; the price interval is null when nothing can be gained."""

    values: dict[SeatId, int]
    potentials: dict[SeatId, int]
    q_star: int
    p_lo: int | None
    p_hi: int | None
    max_surplus: int
    distribution: str
    attempts: int


class RoundFacts(Result):
    """The hidden truth of a closed round; `speaking_order` is null without chat, `opening` after the first round."""

    round: int
    speaking_order: list[SeatId] | None
    quote_order: list[SeatId]
    quotes: dict[SeatId, int]
    forfeited: list[SeatId]
    through_value: list[SeatId]
    matches: list[MatchFacts]
    payoff: dict[SeatId, int]
    cumulative_payoff: dict[SeatId, int]
    surplus: int
    max_surplus: int
    residual_spread: int | None
    opening: OpeningFacts | None


class EndingFacts(Result):
    """The truth at the end: the opening once more and the final ledger."""

    rounds_closed: int
    payoff: dict[SeatId, int]
    opening: OpeningFacts
