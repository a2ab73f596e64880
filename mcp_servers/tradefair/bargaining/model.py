"""The bargaining market's scenario, its records and what its tools answer.

Prices, limits and profits are integers: 1 tick = 1 unit of price = the ledger's minor unit. Prices lie in 0..100.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, NamedTuple, get_args

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tradefair.contract import Limit, Result, Scenario, ScenarioError, SeatId, Untrusted
from tradefair.contract.policy import parse_policy
from tradefair.trading.chance import ChanceKind
from tradefair.trading.values import Acceptance, Law, Mix, Roster

# Prices are 0..100 in every scenario, as in the public games; there is no other grid to choose.
PRICE_MAX = 100
BUYER: SeatId = "B1"
SELLER: SeatId = "S1"
ROSTER = Roster.of(1, 1)

Role = Literal["buyer", "seller"]
Phase = Literal["speak_first", "speak_second", "quote"]
Distribution = Literal[Law, "mix", "fixed"]


def role_of(seat: SeatId) -> Role:
    """The role of a seat of this market."""
    return "buyer" if seat == BUYER else "seller"


def other(seat: SeatId) -> SeatId:
    """The counterpart."""
    return SELLER if seat == BUYER else BUYER


class MixPercent(BaseModel):
    """Weights of the laws that `distribution = mix` draws from; they sum to 100."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    heavy_tailed: int = Field(default=30, ge=0, le=100)
    correlated_source: int = Field(default=30, ge=0, le=100)
    uniform: int = Field(default=20, ge=0, le=100)
    semi_bimodal: int = Field(default=20, ge=0, le=100)

    @property
    def mix(self) -> Mix:
        """The weights as the value generator takes them."""
        return Mix(self.heavy_tailed, self.correlated_source, self.uniform, self.semi_bimodal)


# 60 calls a round (section 2). One call more lapses the seat in the round's remaining phases too.
_LIMITS = (Limit(counts=("read", "analysis", "action"), max=60, per="round", then="lapse"),)


class BargainingScenario(Scenario):
    """A configuration of the bargaining market; bounds and meaning: bargaining page, section 2."""

    by_turns: ClassVar[bool] = True

    rounds: int = Field(default=20, ge=1, le=200)
    chat: bool = Field(default=True, description="message phases exist")
    max_words: int = Field(default=100, ge=1, le=500, description="longest message in words")
    max_chars: int = Field(default=2_000, ge=10, le=8_000, description="longest message in characters")
    speaking_order: Literal["shuffled", "alternating", "buyer_first", "seller_first"] = "shuffled"
    distribution: Distribution = Field(default="mix", description="law of the private limits")
    mix_percent: MixPercent = MixPercent()
    acceptance: Literal["pact", "none"] = Field(default="pact", description="redraw until v - c >= min_gap, or never")
    min_gap: int = Field(default=3, ge=1, le=100, description="smallest accepted v - c, ticks")
    buyer_value: int | None = Field(default=None, ge=0, le=100, description="only with distribution = fixed")
    seller_cost: int | None = Field(default=None, ge=0, le=100, description="only with distribution = fixed")
    # Off by default: the seats do not know the law of the limits.
    announce_distribution: bool = Field(default=False, description="view_rules names the law of the limits")
    half_tick: Literal["coin", "down", "up"] = Field(default="coin", description="where a half tick goes")
    # own_limit is what the public games did; it shows the limit to the counterpart (section 12).
    lapse_quote: Literal["forfeit", "own_limit"] = Field(default="forfeit", description="what a silent seat quotes")
    limits: tuple[Limit, ...] = Field(default=_LIMITS, max_length=100)
    chance: ChanceKind = Field(default="keyed", description="where orders and coins come from")
    seat_order: tuple[SeatId, ...] | None = Field(
        default=None, max_length=20, description="order in which a log's chance takes seats"
    )

    @model_validator(mode="after")
    def _coherent(self) -> BargainingScenario:
        # All at once: the author of a scenario mends everything that is wrong in one go.
        if complaints := [*self._wrong_limits(), *self._wrong_chance(), *self._wrong_seats()]:
            raise ValueError("; ".join(complaints))
        return self

    def _wrong_limits(self) -> Iterator[str]:
        if sum(self.mix_percent.mix) != 100:
            yield f"mix_percent: the weights sum to {sum(self.mix_percent.mix)}, not 100"
        given = {"buyer_value": self.buyer_value, "seller_cost": self.seller_cost}
        for name, points in given.items():
            # Both ways: missing where they are required, and given where a law would override them.
            if (points is None) == (self.distribution == "fixed"):
                needed = "required" if points is None else "only allowed"
                yield f"{name}: {needed} with distribution = fixed"

    def _wrong_chance(self) -> Iterator[str]:
        if self.clock != "turns":
            yield f"clock = {self.clock}: quotes are sealed until both have acted; the clock must be 'turns'"
        if self.seat_order is not None and sorted(self.seat_order) != [BUYER, SELLER]:
            yield f"seat_order: must name {BUYER} and {SELLER} exactly once"
        # Recorded orders and coins fit fixed limits too; only drawn ones need the log's law.
        if self.chance == "keyed" or (self.chance == "recorded" and self.distribution == "fixed"):
            return
        if self.distribution in ("mix", "fixed", "correlated_common"):
            yield f"chance = {self.chance}: needs the log's own distribution, not {self.distribution}"
        # What the public games did: with anything else the stream would be asked for other draws.
        if (self.acceptance, self.half_tick, self.speaking_order) != ("pact", "coin", "shuffled"):
            yield f"chance = {self.chance}: needs acceptance = pact, half_tick = coin and speaking_order = shuffled"

    def _wrong_seats(self) -> Iterator[str]:
        known = {*get_args(Role), BUYER, SELLER}
        for selector, occupant in self.seats.items():
            if selector not in known:
                yield f"seats.{selector}: no such seat or role; allowed are {BUYER}, {SELLER}, buyer, seller"
            try:
                # The form only: whether the policy exists is for `create`, which knows the registry.
                parse_policy(occupant)
            except ScenarioError as error:
                yield f"seats.{selector}: {error}"

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of every round, in order."""
        return ("speak_first", "speak_second", "quote") if self.chat else ("quote",)

    @property
    def accepted(self) -> Acceptance:
        """The acceptance rule of the limits; the source's bounds on single values follow from the gap.

        min v >= 1 and max c <= 99 hold wherever v - c >= 1 does, so only the gap is passed on.
        """
        return Acceptance("none") if self.acceptance == "none" else Acceptance(min_gap=self.min_gap)


class PrivateLimits(NamedTuple):
    """The buyer's value and the seller's cost, where they came from and how often both were redrawn.

    In ticks, fixed for the game. `redraws` counts the draws before the one that was kept. `gap` is negative where no
    trade could gain, which only fixed limits or `acceptance = none` allow.
    """

    value: int
    cost: int
    law: str
    redraws: int

    @property
    def gap(self) -> int:
        """G = v - c: what one trade gives both together."""
        return self.value - self.cost

    def of(self, seat: SeatId) -> int:
        """A seat's own limit."""
        return self.value if seat == BUYER else self.cost

    def profit(self, seat: SeatId, price: int) -> int:
        """What a trade at `price` earns a seat."""
        return self.value - price if seat == BUYER else price - self.cost


class Message(NamedTuple):
    """What one seat said, or its silence, in the order of speaking; `number` counts from 1 over the game.

    `place` is 1 for the round's first speaker and 2 for the second; empty text is silence.
    """

    number: int
    round: int
    place: int
    seat: SeatId
    text: str
    words: int


class RoundRecord(NamedTuple):
    """A settled round. Null: a forfeited quote, no trade, an even sum (`rounded_up`).

    Prices and profits in ticks. `midpoint_x2` is bid plus ask, so it is whole; `lapsed` are the seats that others
    decided for, also where their own limit was quoted (`lapse_quote`). `quote_order`, `rounded_up` and `maker` are
    hidden.
    """

    round: int
    speaking_order: tuple[SeatId, ...] | None
    quote_order: tuple[SeatId, ...]
    bid: int | None
    ask: int | None
    lapsed: tuple[SeatId, ...]
    midpoint_x2: int | None
    price: int | None
    # null: an even sum, which needs no coin
    rounded_up: bool | None
    maker: SeatId | None
    profit_buyer: int
    profit_seller: int

    def quote_of(self, seat: SeatId) -> int | None:
        """A seat's quote, null when it forfeited."""
        return self.bid if seat == BUYER else self.ask

    def profit_of(self, seat: SeatId) -> int:
        """A seat's profit."""
        return self.profit_buyer if seat == BUYER else self.profit_seller


# --- what tools answer ------------------------------------------------------------------------------------------------


class RulesView(Result):
    """The rules of this market; `limits_law` is null unless the scenario announces it."""

    rounds: int
    phases: list[str]
    price_min: int
    price_max: int
    tick: int
    trade: str
    pricing: str
    payoff: str
    lapse: str
    messages: str | None
    max_words: int | None
    max_chars: int | None
    limits_law: str | None


class TurnPart(Result):
    """The market's part of `view_turn`; nothing that has a tool of its own."""

    rounds: int
    speaking_order: list[SeatId] | None
    profit_total: int


class MyValue(Result):
    """The own limit, value (buyer) or cost (seller), and what was earned so far, in ticks."""

    role: Role
    limit: int
    limit_kind: Literal["value", "cost"]
    profit_total: int
    price_min: int
    price_max: int


class HistoryRow(Result):
    """A closed round: both quotes (null: forfeited), the trade if there was one, and the own profit."""

    round: int
    speaking_order: list[SeatId] | None
    bid: int | None
    ask: int | None
    forfeited: list[SeatId]
    traded: bool
    midpoint: float | None
    price: int | None
    my_profit: int


class History(Result):
    """Closed rounds, oldest first; `total` counts those from the asked round on, `next_cursor` continues."""

    rounds: list[HistoryRow]
    total: int
    next_cursor: str | None


class MessageRow(Result):
    """One message, or a silence; `untrusted` marks what the counterpart wrote."""

    number: int
    round: int
    place: int
    seat: SeatId
    text: Annotated[str, Untrusted()]
    words: int
    silent: bool
    untrusted: bool


class Messages(Result):
    """Messages of both seats, oldest first; pass `next_cursor` as `after` to go on."""

    messages: list[MessageRow]
    total: int
    next_cursor: int | None


class MessageReceipt(Result):
    """What was said."""

    round: int
    place: int
    words: int


class QuoteReceipt(Result):
    """What was sealed; the same whoever was first."""

    round: int
    price: int
    sealed: Literal[True] = True


class SurplusIf(Result):
    """Arithmetic of a pair of quotes for this seat, in ticks; zeros without a trade."""

    traded: bool
    midpoint: float | None
    price_low: int
    price_high: int
    my_profit_low: int
    my_profit_high: int
    my_profit_mean: float
    through_my_limit: bool


class SidePath(Result):
    """How one side's quotes moved; concessions count towards the counterpart, retreats negative."""

    seat: SeatId
    first: int | None
    last: int | None
    best: int | None
    concession_window: int | None
    concession_game: int | None
    rounds_since_move: int | None


class ConcessionPath(Result):
    """Both sides' quotes over the last `window` closed rounds and the game; `gap_now` is ask minus bid."""

    window: int
    rounds: int
    sides: list[SidePath]
    gap_now: int | None
    closing_per_round: float | None
    rounds_to_meet: int | None


class NumberRow(Result):
    """A number that was named in chat: its kind, how it binds, and the rounds it speaks of."""

    kind: str
    relation: str
    x: float
    strength: str
    from_round: int
    to_round: int


class OfferRow(Result):
    """What one seat said and did in one closed round."""

    round: int
    seat: SeatId
    numbers: list[NumberRow]
    quote: int | None
    price: int | None


class Offers(Result):
    """Numbers named in chat beside quotes and prices, oldest first; read mechanically, which may misread."""

    rows: list[OfferRow]
    total: int
    next_cursor: str | None
    reading: Literal["mechanical"] = "mechanical"


# --- events -----------------------------------------------------------------------------------------------------------


class PublicMessage(Result):
    """What both seats know when a speaker has spoken."""

    round: int
    place: int
    seat: SeatId
    text: Annotated[str, Untrusted()]
    words: int
    silent: bool


class PublicRound(Result):
    """What both seats know when a round has closed."""

    round: int
    speaking_order: list[SeatId] | None
    bid: int | None
    ask: int | None
    forfeited: list[SeatId]
    midpoint_x2: int | None
    price: int | None


class GameRecord(Result):
    """A round's record as plain data, hidden truth included."""

    round: int
    speaking_order: list[SeatId] | None
    quote_order: list[SeatId]
    bid: int | None
    ask: int | None
    lapsed: list[SeatId]
    midpoint_x2: int | None
    price: int | None
    rounded_up: bool | None
    maker: SeatId | None
    profit_buyer: int
    profit_seller: int


class OpeningFacts(Result):
    """The private limits and how they came about."""

    buyer_value: int
    seller_cost: int
    gap: int
    law: str
    redraws: int


class RoundFacts(Result):
    """The truth of a round; `profit` is cumulative."""

    record: GameRecord
    opening: OpeningFacts
    profit: dict[SeatId, int]


class EndingFacts(Result):
    """Totals at the end; `trades` and `forfeits` count rounds."""

    rounds_closed: int
    trades: int
    forfeits: dict[SeatId, int]
    profit: dict[SeatId, int]
    opening: OpeningFacts
