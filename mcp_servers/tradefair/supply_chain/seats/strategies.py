"""Scripted retailers that see tool answers only (supply-chain page, 8). Each control provokes one failure mode.

Prices are computed in whole cents and shares in whole millionths, so that a policy asks for the same amounts on every
machine.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, Field

from tradefair.contract import Draw, ToolAnswer, ToolCall, Turns, TurnView, policy
from tradefair.contract.money import from_minor
from tradefair.supply_chain.data.bundled import GENERIC, bundled_slogans
from tradefair.supply_chain.model import RETAIL

_MILLION = 10**6

Asking = Generator[ToolCall, ToolAnswer, ToolAnswer]
"""A part of a turn that makes calls and gives the last answer."""


class Supply(NamedTuple):
    """What the supplier offers of an item: units, reserve and tick in cents."""

    item: str
    quantity: int
    reserve: int
    tick: int


class Wish(NamedTuple):
    """A bid line that a policy would like, in cents, and how good it is."""

    item: str
    quantity: int
    price: int
    merit: float


def slogan_pool(*, generic: bool = True) -> list[str]:
    """The bundled slogans in file order; without the generic ones, the twelve that speak to a tribe."""
    return [text for group, texts in bundled_slogans().items() if generic or group != GENERIC for text in texts]


def ceil_tick(numerator: int, denominator: int, tick: int) -> int:
    """numerator/denominator cents, rounded up to the tick, at least one tick."""
    return max(1, -(-numerator // (denominator * tick))) * tick


def millionths(share: float) -> int:
    """A share as a whole number of millionths, so that products with cents are exact."""
    return round(share * _MILLION)


def raised(cents: int, share: float, tick: int) -> int:
    """cents·(1 + share) rounded up to the tick."""
    return ceil_tick(cents * (_MILLION + millionths(share)), _MILLION, tick)


def spread(supply: Sequence[Supply], funds: int, commitment: float, premium: float) -> list[Wish]:
    """spread(c, e): money in proportion to the value of what is offered, at a premium over the reserve.

    c is the share of the funds to commit, e the premium over the reserve; `funds` in cents. Items of which not one unit
    is affordable are left out.
    """
    value = sum(offer.quantity * offer.reserve for offer in supply)
    wishes: list[Wish] = []
    for offer in supply:
        price = raised(offer.reserve, premium, offer.tick)
        share = millionths(commitment) * funds * offer.quantity * offer.reserve
        # c·F·Q·P/(V·p), rounded down: the vector never costs more than c of the funds.
        quantity = min(offer.quantity, share // (_MILLION * value * price)) if value else 0
        if quantity:
            wishes.append(Wish(offer.item, quantity, price, 0.0))
    return wishes


def lines_within(wishes: Iterable[Wish], funds: int) -> list[Wish]:
    """The wishes by merit, best first, each cut to what the money left buys."""
    kept: list[Wish] = []
    # Stable: equal merits keep their order.
    for wish in sorted(wishes, key=lambda one: -one.merit):
        quantity = min(wish.quantity, funds // wish.price)
        if quantity > 0:
            kept.append(wish._replace(quantity=quantity))
            funds -= quantity * wish.price
    return kept


def bids_call(wishes: Iterable[Wish]) -> ToolCall:
    """`submit_bids` with these lines."""
    return ToolCall(
        "submit_bids",
        {"bids": [{"item": wish.item, "quantity": wish.quantity, "price": _money(wish.price)} for wish in wishes]},
    )


def offer_call(prices: Mapping[str, int], slogan: str | None = None) -> ToolCall:
    """`submit_offer` with prices in cents."""
    arguments: dict[str, Any] = {"prices": [{"item": item, "price": _money(cents)} for item, cents in prices.items()]}
    return ToolCall("submit_offer", arguments if slogan is None else {**arguments, "slogan": slogan})


def _cents(money: float) -> int:
    """Money that a tool has shown; it has at most two decimals."""
    return round(money * 100)


def _money(cents: int) -> int | float:
    return cents // 100 if cents % 100 == 0 else float(from_minor(cents))


def _supply(answer: ToolAnswer) -> list[Supply]:
    """The offers of list_supplier_offers; none after a refusal."""
    # After a call limit the policy goes on with what it knows: nothing is offered, so nothing is bid.
    if answer.error is not None:
        return []
    tick = _cents(answer.data["tick"])
    return [Supply(row["item"], row["quantity"], _cents(row["reserve"]), tick) for row in answer.data["offers"]]


class _Stock(NamedTuple):
    """Units of an item and their book value in cents."""

    units: int
    book: int


def _stock(answer: ToolAnswer) -> dict[str, _Stock]:
    """Stock by item of view_account; empty after a refusal."""
    rows = answer.data.get("stock", ())
    return {row["item"]: _Stock(row["units"], _cents(row["book_value"])) for row in rows}


def _marked_up(stock: Mapping[str, _Stock], markup: Mapping[str, float] | float, tick: int) -> dict[str, int]:
    """markup(k): items in stock at average cost times 1 + k, in cents by item id."""
    prices: dict[str, int] = {}
    for item, (units, book) in stock.items():
        if units:
            share = markup if isinstance(markup, float | int) else markup[item]
            prices[item] = ceil_tick(book * (_MILLION + millionths(share)), units * _MILLION, tick)
    return prices


def worded(slogan: str) -> str:
    """A slogan as it is said: `group.number`, such as thrifty.1, is a bundled one; quotes around it may be left out."""
    group, dot, number = slogan.partition(".")
    if dot and group in bundled_slogans() and number in ("1", "2", "3"):
        return bundled_slogans()[group][int(number) - 1]
    return slogan.strip('"')


# Down to the last millionth above -1: a share of -1 would give goods away.
Share = Annotated[float, Field(ge=-0.999_999, le=1_000)]
Slogan = Annotated[str, Field(max_length=2_000), AfterValidator(worded)] | None

# One of the three that suit no tribe: a control should not sell by its words.
_GENERIC_SLOGAN = "Good things for every home."


class Passive(policy.Passive):
    """Skips every phase."""

    call = ToolCall("skip_phase")


class Seller:
    """spread in pass 1, which then stands; markup on average cost; one slogan that never changes."""

    commitment: float = 0.8
    premium: float = 0.02
    markup: float = 0.25
    slogan: str | None = _GENERIC_SLOGAN
    _begun = _said = False
    _tick = 0

    def begin(self) -> None:
        """Draw what is drawn once; by default nothing."""

    def turn(self, now: TurnView) -> Turns:
        """One phase."""
        if not self._begun:
            self._begun = True
            self.begin()
        if now.phase == RETAIL:
            yield from self.retail(now)
        elif now.phase == "bidding_1":
            yield from self.bidding(now)
        else:
            yield ToolCall("skip_phase")

    def bidding(self, now: TurnView) -> Turns:
        """Look at the supply and bid."""
        answer = yield ToolCall("list_supplier_offers")
        supply = _supply(answer)
        wishes = spread(supply, _cents(_number(now, "funds")), self.commitment, self.premium)
        yield bids_call(wishes)

    def retail(self, now: TurnView) -> Turns:
        """Look at the stock and post it."""
        # The tick does not change during an episode: one look is enough.
        if not self._tick:
            answer = yield ToolCall("list_supplier_offers")
            self._tick = _cents(answer.data["tick"])
        answer = yield ToolCall("view_account")
        yield self.offer(self.prices(_stock(answer)))

    def prices(self, stock: Mapping[str, _Stock]) -> dict[str, int]:
        """Cents by item."""
        return _marked_up(stock, self.markup, self._tick)

    def offer(self, prices: Mapping[str, int]) -> ToolCall:
        """The offer, with the slogan the first time only: it stays until it is replaced."""
        slogan, self._said = None if self._said else self.slogan, True
        return offer_call(prices, slogan)


def _number(now: TurnView, name: str) -> float:
    """A number of the market's part of `view_turn`."""
    value = now.market[name]
    assert isinstance(value, int | float)
    return value


@dataclass
class CostPlus(Seller):
    """Bids in proportion, marks up its cost, says one thing."""

    commitment: Share = 0.8
    premium: Share = 0.02
    markup: Share = 0.25
    slogan: Slogan = _GENERIC_SLOGAN


@dataclass
class FloorBidder(CostPlus):
    """Bids the reserve, whatever happens."""

    commitment: Share = 1.0
    premium: Share = 0.0


@dataclass
class Overpayer(CostPlus):
    """Control: pays far more than it must."""

    commitment: Share = 1.0
    premium: Share = 0.30
    markup: Share = 0.10


@dataclass
class Timid(CostPlus):
    """Control: leaves its money idle."""

    commitment: Share = 0.10
    markup: Share = 0.05


@dataclass
class KeywordStuffer(CostPlus):
    """Control: a slogan of the cue words of all four groups and nothing else."""

    slogan: Slogan = "green fair exclusive limited quality craft cheap deal"


@dataclass
class BelowCost(CostPlus):
    """Control: sells below cost."""

    markup: Share = -0.10


def _drawn_slogan(draw: Draw) -> str:
    slogans = slogan_pool()
    return slogans[int(draw.uniform("slogan") * len(slogans))]


class Independent(Seller):
    """Cost-plus with every number from a draw of its own."""

    draw: Draw

    def begin(self) -> None:
        """All four."""
        self.commitment = 0.15 + 0.85 * self.draw.uniform("commitment")
        self.premium = 0.12 * self.draw.uniform("premium")
        self.markup = 0.05 + 0.45 * self.draw.uniform("markup")
        self.slogan = _drawn_slogan(self.draw)


class Habits(NamedTuple):
    """What the reference population does; money, supply, premiums and markups as shares.

    Of a skill from 0 to 1, a seat below `idle` only speaks, one above `able` is able. `python -m
    benchmarks.calibrate_supply` found them.
    """

    idle: float = 0.05
    able: float = 0.85
    # The able: money in the first round, more in each later one; premium over the reserve, half to once and a half.
    commitment: float = 0.728
    growth: float = 0.055
    premium: float = 0.02
    markup: float = 0.296
    # The crowd: popularity of an item over that of the one before it; how many each wants, for how many rounds.
    focus: float = 0.503
    wanted: int = 2
    lasting: int = 56
    # Its money; most of an item's supply; chance of the best of it to bid 1 % more; largest markup, luck of a round.
    crowd_commitment: float = 0.602
    ask: float = 0.338
    raising: float = 0.469
    crowd_markup: float = 0.268
    luck: float = 0.046


class Skill(Seller):
    """One retailer of the reference population, by its skill from 0 to 1; calibrated on what the paper found.

    The idle only speak. The able bid for all items above the reserve and mark up a quarter. The crowd between them
    wants the same few popular items, at the reserve or near it, and marks up by luck. All but the idle post every item,
    in stock or not: who asks finds an empty shelf.
    """

    draw: Draw
    habits = Habits()

    def begin(self) -> None:
        """The skill, what follows from it, and a slogan from a draw of its own."""
        habits, skill = self.habits, self.draw.uniform("skill")
        self._idle, self._able = skill < habits.idle, skill > habits.able
        # From 0 to 1 in the crowd; of the able, from 0 to 1 too.
        low, high = (habits.able, 1.0) if self._able else (habits.idle, habits.able)
        self._rank = (skill - low) / (high - low)
        self.slogan = _drawn_slogan(self.draw)

    def bidding(self, now: TurnView) -> Turns:
        """Look at the supply and bid for all of it, for what everyone wants, or for nothing."""
        if self._idle:
            yield ToolCall("skip_phase")
            return
        supply, funds = _supply((yield ToolCall("list_supplier_offers"))), _cents(_number(now, "funds"))
        habits = self.habits
        if self._able:
            commitment = min(1.0, habits.commitment + habits.growth * (now.round - 1))
            yield bids_call(spread(supply, funds, commitment, habits.premium * (0.5 + self._rank)))
        else:
            yield bids_call(self._popular(now.round, supply, funds))

    def _popular(self, number: int, supply: Sequence[Supply], funds: int) -> Iterator[Wish]:
        """The crowd's bids: equal money for each of its items."""
        habits = self.habits
        # The largest ln(u)/weight are a draw without replacement (Efraimidis & Spirakis 2006).
        taste = (number - 1) // habits.lasting
        drawn = [
            (math.log(self.draw.uniform(taste, offer.item, "taste")) / habits.focus**place, offer)
            for place, offer in enumerate(supply)
        ]
        premium = 0.01 if self.draw.uniform(number, "raise") < habits.raising * self._rank else 0.0
        money = millionths(habits.crowd_commitment) * funds // (_MILLION * habits.wanted)
        for _, offer in sorted(drawn, reverse=True)[: habits.wanted]:
            price = raised(offer.reserve, premium, offer.tick)
            quantity = min(millionths(habits.ask) * offer.quantity // _MILLION, money // price)
            if quantity:
                yield Wish(offer.item, quantity, price, 0.0)

    def retail(self, now: TurnView) -> Turns:
        """Post every item, in stock or not; the idle none."""
        if self._idle:
            yield self.offer({})
            return
        supply, stock = _supply((yield ToolCall("list_supplier_offers"))), _stock((yield ToolCall("view_account")))
        markup = self.habits.markup
        if not self._able:
            luck = 2 * self.draw.uniform(now.round, "markup") - 1
            markup = self.habits.crowd_markup * self.draw.uniform("markup") + self.habits.luck * luck
        prices = {offer.item: raised(offer.reserve, markup, offer.tick) for offer in supply}
        yield self.offer(prices | _marked_up(stock, markup, supply[0].tick if supply else 1))


@dataclass
class Overspender(CostPlus):
    """Control: counts on 1.4 times its money in every pass; after a rejection it skips."""

    commitment: Share = 1.0

    def turn(self, now: TurnView) -> Turns:
        """Bid in every pass; the skip that follows ends the phase when the bid was refused."""
        if now.phase == RETAIL:
            yield from self.retail(now)
            return
        answer = yield ToolCall("list_supplier_offers")
        funds = _cents(_number(now, "funds")) * 14 // 10
        yield bids_call(spread(_supply(answer), funds, self.commitment, self.premium))
        yield ToolCall("skip_phase")


@dataclass
class Gouger(Seller):
    """Control: posts its stock at a hundred times the base price."""

    slogan: Slogan = _GENERIC_SLOGAN
    _bases: dict[str, int] = field(default_factory=dict[str, int], init=False)

    def retail(self, now: TurnView) -> Turns:
        """Look up base prices and stock, and post a hundred times base."""
        answer = yield ToolCall("list_supplier_offers")
        # The reserve of an item is its base price.
        self._bases = {offer.item: offer.reserve for offer in _supply(answer)}
        answer = yield ToolCall("view_account")
        yield self.offer(self.prices(_stock(answer)))

    def prices(self, stock: Mapping[str, _Stock]) -> dict[str, int]:
        """100 times base."""
        return {item: 100 * self._bases[item] for item, own in stock.items() if own.units}


@dataclass
class Hoarder(CostPlus):
    """Control: buys and never sells."""

    commitment: Share = 0.4
    markup: Share = 0.0

    def retail(self, now: TurnView) -> Turns:
        """Post nothing."""
        yield ToolCall("skip_phase")


class StaleSeller(CostPlus):
    """Control: posts in its first round and never again."""

    def retail(self, now: TurnView) -> Turns:
        """Post once; the first offer stands from then on."""
        if self._said:
            yield ToolCall("skip_phase")
        else:
            yield from super().retail(now)


class Mimic(CostPlus):
    """Control: says what the best seller of the last round said, verbatim."""

    def retail(self, now: TurnView) -> Turns:
        """Copy the best seller's slogan of the last round, then post as usual."""
        if now.round > 1:
            answer = yield ToolCall("view_market_history", {"from_round": now.round - 1, "to_round": now.round - 1})
            best = _best_seller(answer)
            if best is not None:
                self.slogan, self._said = best, False
        yield from super().retail(now)


def _best_seller(answer: ToolAnswer) -> str | None:
    """The slogan of the seat that sold most units; ties to the smaller id."""
    rows: Sequence[Mapping[str, Any]] = answer.data["rounds"][-1]["rows"] if answer.error is None else ()
    ranked = sorted(rows, key=lambda row: (-sum(row["sold"]), row["seat"]))
    return ranked[0]["slogan"] if ranked else None


@dataclass
class EmptyShelf:
    """Control: never bids and posts everything at 1.25 times base."""

    slogan: Slogan = _GENERIC_SLOGAN

    def turn(self, now: TurnView) -> Turns:
        """Post all items, whatever is in stock."""
        if now.phase != RETAIL:
            yield ToolCall("skip_phase")
            return
        answer = yield ToolCall("list_supplier_offers")
        yield offer_call({row.item: raised(row.reserve, 0.25, row.tick) for row in _supply(answer)}, self.slogan)


class Clone(EmptyShelf):
    """Bids its equal share at the reserve, posts everything at 1.25 times base: all clones differ by slogan only."""

    def turn(self, now: TurnView) -> Turns:
        """Bid an equal share in pass 1, then post all items."""
        if now.phase == RETAIL or now.phase != "bidding_1":
            yield from super().turn(now)
            return
        answer = yield ToolCall("list_supplier_offers")
        seats = int(_number(now, "retailers"))
        # Rounded down, so that all clones together never ask for more than there is.
        wishes = [Wish(offer.item, offer.quantity // seats, offer.reserve, 0.0) for offer in _supply(answer)]
        yield bids_call(lines_within(wishes, _cents(_number(now, "funds"))))


class RandomLegal:
    """Whatever is allowed: half of the items, anything up to a quarter of the supply, any bundled slogan."""

    draw: Draw

    def turn(self, now: TurnView) -> Turns:
        """Draw a bid vector or an offer within the rules."""
        answer = yield ToolCall("list_supplier_offers")
        supply = _supply(answer)
        if now.phase == RETAIL:
            yield self._offer(now, supply)
        else:
            yield self._bids(now, supply)

    def _bids(self, now: TurnView, supply: Sequence[Supply]) -> ToolCall:
        wishes: list[Wish] = []
        for offer in supply:
            # Keyed by round, phase and item: what other items do shifts no draw.
            luck = [self.draw.uniform(now.round, now.phase, offer.item, what) for what in ("take", "units", "price")]
            if luck[0] < 0.5 and offer.quantity:
                quantity = 1 + int(luck[1] * max(1, offer.quantity // 4))
                price = raised(offer.reserve, 0.3 * luck[2], offer.tick)
                wishes.append(Wish(offer.item, min(quantity, offer.quantity), price, 0.0))
        funds, total = _cents(_number(now, "funds")), sum(wish.quantity * wish.price for wish in wishes)
        # All lines are scaled alike, so that the budget does not prefer items that come first.
        if total > funds:
            wishes = [wish._replace(quantity=wish.quantity * funds // total) for wish in wishes]
        return bids_call(wish for wish in wishes if wish.quantity)

    def _offer(self, now: TurnView, supply: Sequence[Supply]) -> ToolCall:
        luck = {offer.item: self.draw.uniform(now.round, now.phase, offer.item, "price") for offer in supply}
        prices = {offer.item: raised(offer.reserve, luck[offer.item], offer.tick) for offer in supply}
        slogans = slogan_pool()
        return offer_call(prices, slogans[int(self.draw.uniform(now.round, "slogan") * len(slogans))])


class Adaptive:
    """Learns marginal prices, stock, markups and slogans from what is public and from its own books.

    It reads only what any seat may read.
    """

    draw: Draw

    def __init__(self) -> None:
        self._slogan: str | None = None
        self._markup: dict[str, float] = {}
        self._available: dict[str, int] = {}
        self._seen_round = 0
        self._sold: dict[str, int] = {}
        self._resale: dict[str, int] = {}
        self._tick = 0

    def turn(self, now: TurnView) -> Turns:
        """Bid or post, with what was learned from the round before."""
        if now.phase == RETAIL:
            yield from self._retail(now)
        else:
            yield from self._bidding(now)

    def _bidding(self, now: TurnView) -> Turns:
        """Learn once a round, then bid what is needed where resale pays."""
        supply = _supply((yield ToolCall("list_supplier_offers")))
        stock = _stock((yield ToolCall("view_account")))
        # Once a round: in a second pass the same sales would move the markups twice.
        if self._seen_round != now.round:
            self._seen_round = now.round
            self._learn(stock)
            yield from self._ask_resale(now, supply)
        prices = yield from self._bid_prices(now, supply)
        seats = int(_number(now, "retailers"))
        wishes = [self._wish(offer, prices[offer.item], stock[offer.item].units, seats) for offer in supply]
        yield bids_call(lines_within((wish for wish in wishes if wish), _cents(_number(now, "funds"))))

    def _learn(self, stock: Mapping[str, _Stock]) -> None:
        """What sold in the round that has just closed, and what follows for the markups."""
        self._sold = {item: had - stock[item].units for item, had in self._available.items()}
        for item, had in self._available.items():
            markup, sold = self._markup.get(item, 0.25), self._sold[item]
            # Sold out, or nearly: the price was too low. Below six tenths it was too high.
            if had and sold >= 0.95 * had:
                markup += 0.05
            elif had and sold < 0.6 * had:
                markup = max(0.03, markup - 0.08)
            self._markup[item] = markup

    def _ask_resale(self, now: TurnView, supply: Sequence[Supply]) -> Turns:
        """r: the volume-weighted price of each item in the last round, else 1.25 times base."""
        self._resale = {offer.item: offer.reserve * 5 // 4 for offer in supply}
        if now.round == 1:
            return
        answer = yield ToolCall("summarize_item_sales", {"window": 1})
        for row in answer.data.get("items", ()):
            sold = row["rounds"][-1]["sold"]
            if sold is not None:
                self._resale[row["item"]] = round(sold["mean"] * 100)

    def _bid_prices(self, now: TurnView, supply: Sequence[Supply]) -> Generator[ToolCall, ToolAnswer, dict[str, int]]:
        """Just above the last marginal price of what sold out, else the reserve."""
        if now.round == 1 and now.phase == "bidding_1":
            return {offer.item: offer.reserve + offer.tick for offer in supply}
        answer = yield ToolCall("view_bid_results", {"last": 1})
        rounds = answer.data.get("rounds", ())
        market = rounds[0]["passes"][-1]["market"] if rounds else None
        if market is None:
            answer = yield ToolCall("estimate_clearing_prices", {})
            # Nothing is disclosed to all: the estimate rests on own fills.
            told = {row["item"]: _cents(row["suggestion"]) for row in answer.data.get("items", ())}
            return {offer.item: told.get(offer.item, offer.reserve) for offer in supply}
        last = {row["item"]: row for row in market}
        return {
            row.item: _cents(last[row.item]["marginal"]) + row.tick if last[row.item]["sold_out"] else row.reserve
            for row in supply
        }

    def _wish(self, offer: Supply, price: int, units: int, seats: int) -> Wish | None:
        """What it wants of one item at a price, None where resale would not pay 7 % more or nothing is needed."""
        resale = self._resale[offer.item]
        if price * 107 > resale * 100:
            # A margin below 7 % does not pay for what will not sell.
            return None
        # Nothing has sold yet: twice an equal share. Later, half as much again of what sold out, else what sold and one
        # unit to notice growing demand.
        target = -(-2 * offer.quantity // seats)
        if self._available:
            had, sold = self._available.get(offer.item, 0), self._sold.get(offer.item, 0)
            target = -(-3 * had // 2) if had and sold >= 0.95 * had else sold + 1
        target = min(max(target, 2), -(-5 * offer.quantity // seats))
        need = min(target - units, offer.quantity)
        return Wish(offer.item, need, price, (resale - price) / price) if need > 0 else None

    def _retail(self, now: TurnView) -> Turns:
        """Post what is in stock at its markup; the slogan is sent only when it changes."""
        if not self._tick:
            answer = yield ToolCall("list_supplier_offers")
            self._tick = _cents(answer.data["tick"])
        stock = _stock((yield ToolCall("view_account")))
        # What is there before the shop opens: the next round's learning needs it to know what sold.
        self._available = {item: own.units for item, own in stock.items()}
        slogan = yield from self._choose_slogan(now)
        changed = slogan if slogan != self._slogan else None
        self._slogan = slogan
        markup = {item: self._markup.get(item, 0.25) for item in stock}
        yield offer_call(_marked_up(stock, markup, self._tick), changed)

    def _choose_slogan(self, now: TurnView) -> Generator[ToolCall, ToolAnswer, str]:
        """Random in its first round and with probability 0.2; else the slogan with the best sales of similar ones.

        Slogans with an effective sample below 1.5 are not considered: one lucky sale would decide.
        """
        pool = slogan_pool(generic=False)
        drawn = pool[int(self.draw.uniform(now.round, "slogan") * len(pool))]
        # With an inert gate no slogan matters, and asking for scores would waste calls.
        if self._slogan is None or now.market["gate"] == "inert":
            return self._slogan or drawn
        if self.draw.uniform(now.round, "explore") < 0.2:
            return drawn
        best, best_index = self._slogan, -1.0
        # The current slogan first: a tie keeps it.
        for slogan in dict.fromkeys((self._slogan, *slogan_pool())):
            answer = yield ToolCall("score_slogan", {"slogan": slogan})
            if answer.error is not None:
                # Mostly the call limit: the best so far is taken.
                break
            index, n_eff = answer.data["index"], answer.data["n_eff"]
            if index is not None and n_eff >= 1.5 and index > best_index:
                best, best_index = slogan, index
        return best
