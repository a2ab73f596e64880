"""The supply-chain scenario, what follows from it, and the facts of a round and of an episode.

Money is in integer cents everywhere inside; scenarios write it as whole numbers or decimal text. Items, seats and
buyers are addressed by index (0, 1, …) in records, by id outside.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from tradefair.contract import Amount, Limit, Result, Scenario, ScenarioError, SeatId
from tradefair.contract.chain import canonical
from tradefair.contract.money import to_minor
from tradefair.contract.policy import parse_policy
from tradefair.supply_chain.data.bundled import bundled_tribes
from tradefair.supply_chain.engine import lexical
from tradefair.trading.talk import plain_text

ROLE = "retailer"
"""The role of every seat."""

Phase: TypeAlias = str
"""`bidding_1` … `bidding_B`, then `retail`."""

RETAIL: Phase = "retail"

Category = Literal["commodity", "standard", "luxury", "Veblen"]
Reveal = Literal["none", "own", "summary", "book"]

# Bounds of the specification; also those of the parameters of tools, which are fixed for all scenarios.
MAX_ITEMS = 20
MAX_TRIBES = 20

# Three thirds written with ten digits each do not sum to 1.
_MAX_SHARE_ERROR = 1e-9
# 0.07 · 100 is 7.000000000000001 in binary: without the slack a buyer would notice 8 sellers.
_SET_SLACK = 1e-9
# 0.2 times the calibration gap of each embedder on the bundled texts (6.5), rounded and then fixed, so that a change of
# the texts cannot change old scenarios.
_TEMPERATURES: Mapping[str, float] = {"lexical": 0.07, "wordllama": 0.05, "minilm": 0.05}
# Below this gap slogans of different tribes look alike to the embedder, and τ made of it would be noise.
_SMALLEST_GAP = 0.01


class Streams(StrEnum):
    """Names of the chance streams (section 7). No draw depends on what seats did."""

    SUPPLY = "supply"
    OUTAGE = "outage"
    BID_TIE = "bid_tie"
    SLOT = "slot"
    ITEM = "item"
    ARRIVAL = "arrival"
    TRIBE = "tribe"
    TEXT = "text"
    RESERVATION = "reservation"
    ATTENTION = "attention"
    PRICE_TIE = "price_tie"


def seat_ids(count: int) -> tuple[SeatId, ...]:
    """The ids of `count` seats, `retailer_01` and so on, padded with zeros so that ids sort by number."""
    width = max(2, len(str(count)))
    return tuple(f"retailer_{number:0{width}d}" for number in range(1, count + 1))


def _one_line(text: str) -> str:
    """The text if it is one line without tabs; ValueError if not."""
    if "\n" in text or "\t" in text:
        raise ValueError("one line of text, without tabs")
    return plain_text(text)


def _file_name(name: str) -> str:
    """The name if it is that of a TOML file of the folder itself; ValueError for a path out of it."""
    # The file comes from a scenario that may be a stranger's: a path could read any file of the machine.
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,79}\.toml", name):
        raise ValueError("a file of the folder of --data itself, ending in .toml, such as cats.toml")
    return name


_FileName = Annotated[str, AfterValidator(_file_name)]
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Item(_Part):
    """An item of the catalogue: units offered per round, and the supplier's base price, which is the reserve."""

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    label: Annotated[str, Field(max_length=60), AfterValidator(_one_line)] = ""
    category: Category
    quantity: int = Field(ge=1, le=100_000)
    base: Amount

    @cached_property
    def base_cents(self) -> int:
        """P_x, the base and reserve price, in cents."""
        return to_minor(self.base)


class Tribe(_Part):
    """A group of buyers: its share of all buyers, and what its members are like.

    `sensitivity` is λ (how much a close slogan sways it), `reservation_centre` μ (what it pays, times base), and
    `texts` are the personas of its members.
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9_]{0,39}$")
    weight: float = Field(gt=0, le=1)
    sensitivity: float = Field(ge=0, le=10)
    reservation_centre: float = Field(ge=1, le=1_000)
    texts: tuple[Annotated[str, Field(min_length=1, max_length=2_000), AfterValidator(plain_text)], ...] = Field(
        min_length=1, max_length=20
    )


class DataFiles(_Part):
    """A user's own files below the folder of `--data`; their tables take the place of `tribes` and `items`.

    The digests, SHA-256 of the files' bytes as hex, are written when the tables are; never by hand.
    """

    personas: _FileName | None = None
    items: _FileName | None = None
    personas_sha256: _Digest | None = None
    items_sha256: _Digest | None = None

    @property
    def lacks_personas(self) -> bool:
        """Whether a file of tribes is named that was not read."""
        return self.personas is not None and self.personas_sha256 is None

    @property
    def lacks_items(self) -> bool:
        """Whether a file of items is named that was not read."""
        return self.items is not None and self.items_sha256 is None


class Embedding(_Part):
    """Which outside embedder the similarities come from; written by the harness before the episode starts."""

    id: str = Field(max_length=200)
    dimensions: int | None = Field(default=None, ge=1, le=100_000)
    calibration_gap: float


def _default_items() -> tuple[Item, ...]:
    """The catalogue of the paper: 1,000 units with a value of 300,000 per round."""
    rows: list[tuple[Category, int, int]] = [
        ("commodity", 200, 50),
        ("commodity", 200, 50),
        ("standard", 133, 150),
        ("standard", 133, 150),
        ("standard", 134, 150),
        ("luxury", 75, 800),
        ("luxury", 75, 800),
        ("Veblen", 50, 2_000),
    ]
    return tuple(
        Item(id=f"item{place}", category=category, quantity=quantity, base=f"{base}.00")
        for place, (category, quantity, base) in enumerate(rows, 1)
    )


def _default_tribes() -> tuple[Tribe, ...]:
    """The bundled tribes, as read from the package's file."""
    return tuple(Tribe.model_validate({**table, "texts": tuple(table["texts"])}) for table in bundled_tribes())


def _names_no_file(data: DataFiles) -> bool:
    """Whether no file is named: then the scenario's content has no key `data`."""
    return data == DataFiles()


# Per phase: a seat that reads on and on is stopped, one that is refused too often loses the phase.
_LIMITS = (
    Limit(counts=("read", "analysis"), max=24, per="phase", then="refuse"),
    Limit(counts=("rejected",), max=6, per="phase", then="lapse"),
)


class SupplyChainScenario(Scenario):
    """A configuration of the supply-chain market; bounds and meaning: supply-chain page, section 2.

    `seats = 4` in a file or an override is short for `retailers = 4` with `rivals` from the second seat on, repeated.
    """

    retailers: int = Field(default=20, ge=2, le=200, description="N: number of seats")
    rivals: tuple[str, ...] = Field(
        default=("skill",), min_length=1, max_length=200, description="who sits in the other seats, in order, repeated"
    )
    rounds: int = Field(default=6, ge=1, le=60, description="T: rounds of the episode")
    bid_passes: int = Field(default=2, ge=1, le=4, description="B: sealed passes per round; only the last settles")
    reveal: Reveal = Field(default="summary", description="what a seat learns after a pass: none, own, summary or book")
    overspend: Literal["error", "forfeit"] = Field(
        default="error", description="bids above funds: error (refused) or forfeit (win nothing)"
    )
    tick: Amount = Field(default="1.00", description="smallest price step")
    items: tuple[Item, ...] = Field(
        default_factory=_default_items,
        min_length=1,
        max_length=MAX_ITEMS,
        description="the catalogue: units per round, and base price",
    )
    funds_factor: float = Field(default=1.5, ge=0.1, le=10, description="initial funds times catalogue value per seat")
    buyers: int = Field(default=200, ge=1, le=20_000, description="J: buyers per round")
    demand_ratio: float = Field(default=0.95, ge=0.05, le=3, description="r: units wanted over units supplied")
    ratio_mode: Literal["demand_over_supply", "supply_over_demand"] = Field(
        default="demand_over_supply", description="how r is read; or supply_over_demand"
    )
    demand_split: Literal["stratified", "random"] = Field(
        default="stratified", description="buyers per item: in proportion to supply, or random"
    )
    rho: float = Field(default=0.25, gt=0, le=1, description="ρ: a buyer notices K = ρ·k_max retailers, rounded up")
    rho_by_tribe: dict[str, Annotated[float, Field(gt=0, le=1)]] = Field(
        default_factory=dict, max_length=2 * MAX_TRIBES, description="ρ of single tribes"
    )
    k_max: int = Field(default=20, ge=1, le=200, description="largest number of retailers that a buyer can notice")
    tau: float | Literal["auto"] | None = Field(
        default=None, description="τ: the lower, the more a close slogan is noticed; null: the embedder's"
    )
    tribes: tuple[Tribe, ...] = Field(
        default_factory=_default_tribes,
        min_length=1,
        max_length=MAX_TRIBES,
        description="hidden groups of buyers: share, λ, μ, persona texts",
    )
    reservation: bool = Field(default=True, description="buyers refuse high prices")
    reservation_sigma: float = Field(default=0.15, ge=0, le=1, description="log spread of the highest price paid")
    reservation_clip: tuple[float, float] = Field(default=(1.02, 4.0), description="its limits, times base")
    ceiling: int = Field(default=1_000, ge=2, le=10_000, description="highest price of any kind, times base")
    slogan_words: int = Field(default=25, ge=1, le=60, description="words of a slogan at most")
    slogan_chars: int = Field(default=240, ge=10, le=600, description="characters of a slogan at most")
    silent_offer: Literal["persist", "drop"] = Field(
        default="persist", description="offer of a seat that posts none: its last one, or (drop) none"
    )
    holding_rate: float = Field(default=0, ge=0, le=0.5, description="charge per round on stock at cost")
    supply_mode: Literal["fixed", "shock"] = Field(default="fixed", description="supply of each round: fixed or shock")
    supply_sigma: float = Field(default=0.35, ge=0, le=2, description="shock: log spread")
    supply_clip: tuple[float, float] = Field(default=(0.25, 2.0), description="shock: limits, times nominal units")
    outage_prob: float = Field(default=0.05, ge=0, le=0.5, description="shock: probability that an item fails")
    embedder: Literal["lexical", "wordllama", "minilm", "openai"] = Field(
        default="lexical", description="what says how close two texts are: lexical, wordllama or openai (older: minilm)"
    )
    embedding: Embedding | None = Field(default=None, description="written by the harness; never by hand")
    osi_mode: Literal["abs", "one_sided", "orders_only"] = Field(
        default="abs", description="reading of the stability index osi"
    )
    # Left out where there is none: the digest of a state starts with its scenario.
    data: DataFiles = Field(
        default=DataFiles(), exclude_if=_names_no_file, description="own files of --data: personas, items (.toml)"
    )
    limits: tuple[Limit, ...] = Field(default=_LIMITS, max_length=100)

    @classmethod
    def prepared(cls, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """The content with `seats = 4`, or no seats at all, written out as a table of seats."""
        seats = content.get("seats")
        if isinstance(seats, Mapping):
            return content
        given = dict(content)
        # Not `isinstance`: `true` is an int in Python and no number of seats.
        if type(seats) is int:
            given["retailers"] = seats
        count: Any = given.get("retailers", 20)
        rivals: Any = given.get("rivals", ["skill"])
        if type(count) is not int or not 2 <= count <= 200 or not isinstance(rivals, list | tuple) or not rivals:
            given.pop("seats", None)
            # A wrong number of seats is left as it is: the error should name the field and its bounds, not this short
            # form.
            return given  # the fields themselves complain
        first, *others = seat_ids(count)
        given["seats"] = {first: "agent"} | {
            # Rivals in order, repeated: the first seat is the agent's.
            seat: rivals[place % len(rivals)]  # pyright: ignore[reportUnknownArgumentType]
            for place, seat in enumerate(others)
        }
        return given

    @model_validator(mode="after")
    def _coherent(self) -> SupplyChainScenario:
        # All at once, so that a person who writes a scenario mends it in one go.
        complaints = [*self._wrong_data(), *self._wrong_clock(), *self._wrong_ranges(), *self._wrong_seats()]
        # What stands for tables of a file that was not read is no matter for complaint.
        if not self.data.lacks_items:
            complaints += self._wrong_catalogue()
        if not self.data.lacks_personas:
            complaints += self._wrong_attention()
        if complaints:
            raise ValueError("; ".join(complaints))
        return self

    def _wrong_data(self) -> Iterator[str]:
        """Digests that no file stands for: a scenario cannot claim to have read what it has not."""
        for key, table in (("personas", "tribes"), ("items", "items")):
            written, named = getattr(self.data, f"{key}_sha256"), getattr(self.data, key)
            if written is not None and (named is None or table not in self.model_fields_set):
                yield f"data.{key}_sha256: leave it out; it is written when the file data.{key} is read"

    def _wrong_clock(self) -> Iterator[str]:
        """A clock that would reveal sealed bids, and a tick outside its bounds."""
        if self.clock != "turns":
            yield f"clock = {self.clock}: bids and offers are sealed; the clock must be 'turns'"
        if not 1 <= self.tick_cents <= 10_000:
            yield f"tick = {self.tick}: allowed is 0.01 to 100"

    def _wrong_catalogue(self) -> Iterator[str]:
        """Items that cannot be traded as they stand, or seats that could buy none of them."""
        if len({item.id for item in self.items}) < len(self.items):
            yield "items: every id once"
        for item in self.items:
            # In cents: as text "9" would be above "10".
            if not self.tick_cents <= item.base_cents <= 100_000_000:
                yield f"items.{item.id}: base = {item.base}: allowed is one tick to 1000000"
            elif item.base_cents % self.tick_cents:
                yield f"items.{item.id}: base = {item.base} is no multiple of the tick {self.tick}"
        if self.initial_funds_cents < 100:
            yield f"funds_factor = {self.funds_factor}: the seats would start without money"
        if self.buyers < len(self.items):
            yield f"buyers = {self.buyers}: at least one per item, {len(self.items)}"

    def _wrong_ranges(self) -> Iterator[str]:
        """Pairs out of order or bounds, a τ outside its range, an embedding that no embedder has."""
        for name, low, high in (("reservation_clip", 1.0, 1_000.0), ("supply_clip", 0.0, 5.0)):
            first, last = getattr(self, name)
            if not low <= first <= last <= high:
                yield f"{name} = {first}, {last}: two numbers in order from {low:g} to {high:g}"
        if isinstance(self.tau, float) and not 0.005 <= self.tau <= 10:
            yield f"tau = {self.tau}: allowed is 0.005 to 10, or 'auto'"
        if self.embedder == "lexical" and self.embedding is not None:
            yield "embedding: the lexical embedder has none"

    def _wrong_attention(self) -> Iterator[str]:
        """Tribes that do not make up all buyers, and a temperature that cannot be calibrated."""
        ids = [tribe.id for tribe in self.tribes]
        if len(set(ids)) < len(ids):
            yield "tribes: every id once"
        if abs(math.fsum(tribe.weight for tribe in self.tribes) - 1) > _MAX_SHARE_ERROR:
            yield "tribes: the weights must sum to 1"
        for tribe in self.rho_by_tribe:
            if tribe not in ids:
                yield f"rho_by_tribe.{tribe}: no such tribe; there are {', '.join(ids)}"
        if self._tau_follows_gap and self.calibration_gap < _SMALLEST_GAP:
            yield f"tau = auto: the calibration gap {self.calibration_gap} is below {_SMALLEST_GAP}; name a number"

    def _wrong_seats(self) -> Iterator[str]:
        """Selectors that are no seat, and occupants that are no policy's name."""
        known = {*seat_ids(self.retailers), ROLE}
        for selector, occupant in self.seats.items():
            if selector not in known:
                first, *_, last = seat_ids(self.retailers)
                yield f"seats.{selector}: no such seat; allowed are {first} to {last}, and {ROLE}"
            try:
                parse_policy(occupant)
            except ScenarioError as error:
                yield f"seats.{selector}: {error}"

    # --- what follows from it ----------------------------------------------------------------------------------------

    @cached_property
    def tick_cents(self) -> int:
        """Smallest price step in cents."""
        return to_minor(self.tick)

    @cached_property
    def item_places(self) -> Mapping[str, int]:
        """Index of each item by id."""
        return {item.id: place for place, item in enumerate(self.items)}

    @cached_property
    def nominal_supply(self) -> int:
        """S: units of all items per round."""
        return sum(item.quantity for item in self.items)

    @cached_property
    def initial_funds_cents(self) -> int:
        """α·V/N in cents, rounded down to whole currency; V is the value of a round's supply at base prices."""
        value = sum(item.quantity * item.base_cents for item in self.items)
        # The factor as its author wrote it: 1.1 is no binary fraction, and a float could lose a whole unit of currency.
        return int(Decimal(repr(self.funds_factor)) * value / self.retailers // 100) * 100

    @cached_property
    def demand(self) -> int:
        """D: units that all buyers want together per round.

        D = r·S, or S/r under `supply_over_demand`, rounded half up: the paper leaves open which way its ratio is read.
        S is the nominal supply, so that a supply shock does not move demand.
        """
        ratio, supply = Decimal(repr(self.demand_ratio)), Decimal(self.nominal_supply)
        wanted = ratio * supply if self.ratio_mode == "demand_over_supply" else supply / ratio
        return int(wanted + Decimal("0.5"))

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of every round, in order."""
        return (*(f"bidding_{number}" for number in range(1, self.bid_passes + 1)), RETAIL)

    @cached_property
    def cheapest_reserve_cents(self) -> int:
        """What the cheapest unit costs at least, in cents; a seat with less and without stock is bankrupt."""
        return min(item.base_cents for item in self.items)

    @cached_property
    def persona_texts(self) -> tuple[str, ...]:
        """All persona texts in tribe order: the columns of every similarity row."""
        return tuple(text for tribe in self.tribes for text in tribe.texts)

    @cached_property
    def text_starts(self) -> tuple[int, ...]:
        """Index of each tribe's first text in `persona_texts`."""
        starts, place = list[int](), 0
        for tribe in self.tribes:
            starts.append(place)
            place += len(tribe.texts)
        return tuple(starts)

    @cached_property
    def persona_digest(self) -> str:
        """SHA-256 of the canonical table of tribes, as hex."""
        # Not of the file: the same tribes written in another layout are the same tribes.
        return hashlib.sha256(canonical([tribe.model_dump(mode="json") for tribe in self.tribes])).hexdigest()

    def considered(self, tribe: int, active: int) -> int:
        """K_j: how many of `active` seats a buyer of the tribe with this index notices, at least 1 (6.4)."""
        rho = self.rho_by_tribe.get(self.tribes[tribe].id, self.rho)
        return min(active, max(1, math.ceil(rho * self.k_max - _SET_SLACK)))

    @cached_property
    def smallest_set(self) -> int:
        """K with all seats active, the smallest over tribes: what `view_rules` may promise."""
        return min(self.considered(place, self.retailers) for place in range(len(self.tribes)))

    @property
    def gate_inert(self) -> bool:
        """Whether every buyer considers every seat, so that slogans cannot matter.

        This is so in the paper's own setting (ρ = 1, K = N); the default scenario has K = 5 of 20.
        """
        return self.smallest_set >= self.retailers

    @property
    def _tau_follows_gap(self) -> bool:
        """Whether τ is made of the calibration gap, and the gap is known by now."""
        by_gap = self.tau == "auto" or (self.tau is None and self.embedder not in _TEMPERATURES)
        return by_gap and (self.embedder == "lexical" or self.embedding is not None)

    @cached_property
    def calibration_gap(self) -> float:
        """How well the embedder tells calibration slogans apart (6.5).

        Raises ScenarioError for an outside embedder that has not been asked yet.
        """
        if self.embedding is not None:
            return self.embedding.calibration_gap
        if self.embedder != "lexical":
            raise ScenarioError(f"embedder = {self.embedder}: play it with tradefair, which asks the embedder first")
        return lexical.calibration_gap({tribe.id: tribe.texts for tribe in self.tribes})

    @cached_property
    def temperature(self) -> float:
        """τ as it is used: the given number, the embedder's constant, or 0.2 times the calibration gap."""
        if isinstance(self.tau, float | int):
            return float(self.tau)
        if self.tau is None and self.embedder in _TEMPERATURES:
            return _TEMPERATURES[self.embedder]
        return lexical.temperature_of_gap(self.calibration_gap)

    @cached_property
    def embedder_id(self) -> str:
        """Identity of what the similarities come from; empty for an outside embedder that has not been asked yet."""
        return lexical.EMBEDDER_ID if self.embedder == "lexical" else self.embedding.id if self.embedding else ""


class Line(NamedTuple):
    """One line of a bid vector: index of the item, units, price per unit in cents."""

    item: int
    quantity: int
    price: int

    @property
    def cost(self) -> int:
        """Cents if it is filled in full."""
        return self.quantity * self.price


class Offer(NamedTuple):
    """A standing offer: prices in cents by item index (None: not for sale), the slogan, and its similarity row.

    `row` holds the slogan's similarity to every persona text, in the order of `persona_texts`; it is hidden from all
    seats.
    """

    prices: tuple[int | None, ...]
    slogan: str | None
    row: tuple[float, ...] | None

    @property
    def posts(self) -> bool:
        """Whether anything is for sale."""
        return any(price is not None for price in self.prices)


# --- facts ----------------------------------------------------------------------------------------------------------


class PassFacts(Result):
    """The record `pass_settled`, or `procurement_settled` for the last pass of a round.

    Lists are by item index. `lines` holds (item, units, price in cents, units filled) by seat, of seats with a vector;
    `forfeited` the vectors that were above funds (`bids_forfeited`), as (item, units, price in cents).
    """

    bid_pass: int
    lines: dict[SeatId, list[tuple[int, int, int, int]]]
    forfeited: dict[SeatId, list[tuple[int, int, int]]]
    marginal: list[int]
    sold_out: list[bool]
    requested: list[int]
    won: list[int]


class SeatFacts(Result):
    """One seat's round; lists by item index, money in cents.

    `opening` is stock before procurement, `available` at the start of the market step, `units` and `book` after the
    close. `slogan` is the number of the slogan in the episode, `similarity` its row over all persona texts. `holding`
    is the charge, `holding_paid` what funds could pay of it; `bankrupt` says that it happened in this round.
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
    """The record `market_resolved`: every buyer of the round, column by column, by buyer index.

    `noticed` holds seat indices in the order of the draw, None where it is every active seat. A visit is (seat index,
    units wanted on arrival, units bought); `limit` is in cents per unit.
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

    `stems` and `cues` are counts. `cosines` holds (number of an earlier slogan, lexical cosine) where the cosine is
    above 0.
    """

    number: int
    text: str
    stems: int
    cues: int
    groups: list[str]
    cosines: list[tuple[int, float]]


class RoundFacts(Result):
    """The truth of a closed round, as the trace holds it."""

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
    """Totals in cents by seat, and what stayed hidden: tribes, embedder, temperature.

    `stock` is stock at cost. `gate` says whether slogans could matter.
    """

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
