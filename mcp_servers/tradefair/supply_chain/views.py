"""What a seat may see: the rules, its own books, and what is public. Nothing about buyers, nothing of others' books."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from tradefair.contract.errors import IllegalAction
from tradefair.contract.market import Brief
from tradefair.contract.money import currency, from_minor
from tradefair.contract.seats import SeatId
from tradefair.contract.tool import Result
from tradefair.supply_chain.answers.results import (
    Account,
    AccountRound,
    BidCost,
    BidCostLine,
    BidReceipt,
    BidResults,
    BidRound,
    HistoryRound,
    MarketHistory,
    OfferPrice,
    OfferReceipt,
    OfferView,
    OwnLine,
    OwnPass,
    RulesView,
    Stock,
    SupplierOffer,
    SupplierOffers,
    TurnPart,
)
from tradefair.supply_chain.engine import lexical
from tradefair.supply_chain.model import RETAIL, Line, Offer, SupplyChainScenario
from tradefair.supply_chain.records import (
    ItemDisclosure,
    PassRecord,
    PublicPass,
    PublicRound,
    PublicRow,
    RoundRecord,
    SeatPass,
)
from tradefair.trading.answers import json_bytes

if TYPE_CHECKING:
    from tradefair.supply_chain.rules import SupplyChain

_DEFAULT_BYTES = 8_000
_R = TypeVar("_R", bound=Result)

_SUPPLIER = "list_supplier_offers"


class Asked(NamedTuple):
    """A bid line as a client sent it: item id, units, price in cents."""

    item: str
    quantity: int
    price: int


class Checked(NamedTuple):
    """A bid line after its checks: the line, or the code and the words of what is wrong."""

    line: Line | None
    code: str = ""
    message: str = ""


# --- rules ----------------------------------------------------------------------------------------------------------


def brief(scenario: SupplyChainScenario, seat: SeatId) -> Brief:
    """Role, objective and round semantics."""
    return Brief(
        role=(
            f"You are {seat}, one of {scenario.retailers} retailers. Each round you bid for stock against the others, "
            "then post retail prices and one short slogan."
        ),
        objective="Earn the largest cumulative profit while staying solvent.",
        round_semantics=(
            f"There are {scenario.rounds} rounds. Each has {scenario.bid_passes} sealed bid passes, of which the last "
            "settles, then a retail phase; then buyers shop and the books are closed."
        ),
    )


def rules(scenario: SupplyChainScenario) -> RulesView:
    """The public rules."""
    return RulesView(
        aim=(
            "The aim is cumulative profit while staying solvent. Buyers have personas that are never shown; "
            "what they care about must be inferred from what sold."
        ),
        gate="inert" if scenario.gate_inert else "active",
        gate_rule=_gate_rule(scenario),
        rounds=scenario.rounds,
        phases=list(scenario.phases),
        retailers=scenario.retailers,
        buyers=scenario.buyers,
        considered=scenario.smallest_set,
        procurement=(
            "A bid line is an item, units and a price per unit. In the last pass each item goes to the highest bids "
            "at or above its reserve price until it is gone, and each winner pays its own price; ties are drawn by "
            "lot. A vector replaces the whole earlier one."
        ),
        overspending=_overspending(scenario),
        disclosure=_disclosure(scenario),
        offers=(
            "Prices and slogans are sealed until everybody has posted. Items that are left out are not for sale; "
            "items without stock may be posted, and lose the buyers that come for them."
        ),
        market=(
            "Each buyer wants some units of one item and goes to the noticed retailers from the cheapest up, "
            "whatever they have in stock, until it has enough."
        ),
        reservation=(
            "Buyers refuse prices far above the supplier's base price; how far differs by buyer."
            if scenario.reservation
            else None
        ),
        costs=_costs(scenario),
        bankruptcy=(
            "A retailer that cannot pay its holding charge, or that has no stock and less money than the cheapest "
            "reserve price, is out."
        ),
        silence=(
            "Silence in the first pass is no bid, in a later one the last vector stands; in the retail phase "
            + ("the last offer stands." if scenario.silent_offer == "persist" else "nothing is offered.")
        ),
        tick=currency(scenario.tick_cents),
        slogan_words=scenario.slogan_words,
        slogan_chars=scenario.slogan_chars,
        embedder=lexical.CAVEAT if scenario.embedder == "lexical" else f"{scenario.embedder} embedder",
    )


def _gate_rule(scenario: SupplyChainScenario) -> str:
    if scenario.gate_inert:
        return (
            "In this scenario every buyer considers every retailer. Slogans are recorded but have no effect on sales."
        )
    return (
        f"Each buyer notices only {scenario.smallest_set} of the {scenario.retailers} retailers. A slogan whose "
        "meaning is close to what a buyer cares about is noticed more often."
    )


def _overspending(scenario: SupplyChainScenario) -> str:
    if scenario.overspend == "error":
        return "A vector that would cost more than your funds if it were filled in full is refused; send another one."
    return "A vector that would cost more than your funds if it were filled in full is forfeited: you win nothing."


def _disclosure(scenario: SupplyChainScenario) -> str:
    return {
        "none": "You learn what you have won when the last pass has settled, and nothing else.",
        "own": "After each pass you learn what you would win; it binds nobody before the last one.",
        "summary": "After each pass all learn, per item, the marginal price, whether it sold out and units asked for.",
        "book": "After each pass all learn, per item, the marginal price and all bids without their names.",
    }[scenario.reveal]


def _costs(scenario: SupplyChainScenario) -> str:
    cost = "Sold units cost their moving average; unsold stock stays at cost and is worth nothing more at the end."
    if not scenario.holding_rate:
        return cost
    return f"{cost} Each round charges {scenario.holding_rate:.2%} of the stock at cost."


# --- own books ------------------------------------------------------------------------------------------------------


def turn_part(market: SupplyChain, seat: SeatId) -> TurnPart:
    """Money, stock and two useful next calls."""
    own = market.of(seat)
    bidding = market.clock.phase != RETAIL
    return TurnPart.model_construct(
        rounds=market.scenario.rounds,
        retailers=market.scenario.retailers,
        funds=currency(own.funds),
        overspent=own.overspent,
        units=sum(own.units),
        book_value=currency(own.book_value),
        active=own.active,
        gate="inert" if market.scenario.gate_inert else "active",
        next_calls=[_SUPPLIER, "submit_bids"] if bidding else ["view_account", "submit_offer"],
    )


def supplier_offers(market: SupplyChain) -> SupplierOffers:
    """This round's supply."""
    scenario = market.scenario
    return SupplierOffers(
        round=market.clock.round,
        tick=currency(scenario.tick_cents),
        offers=[
            SupplierOffer(
                item=item.id,
                label=item.label,
                category=item.category,
                quantity=quantity,
                reserve=currency(item.base_cents),
                ceiling=currency(item.base_cents * scenario.ceiling),
            )
            for item, quantity in zip(scenario.items, market.supply, strict=True)
        ],
    )


def account(market: SupplyChain, seat: SeatId) -> Account:
    """The seat's own books."""
    own, items = market.of(seat), market.scenario.items
    return Account.model_construct(
        funds=currency(own.funds),
        stock=[
            Stock.model_construct(
                item=item.id,
                units=units,
                avg_cost=round(book / units / 100, 4) if units else None,
                book_value=currency(book),
            )
            for item, units, book in zip(items, own.units, own.book, strict=True)
        ],
        book_value=currency(own.book_value),
        profit_total=currency(sum(own.profits)),
        rounds=[
            AccountRound.model_construct(round=number, revenue=currency(revenue), profit=currency(profit))
            for number, (revenue, profit) in enumerate(zip(own.revenues, own.profits, strict=True), 1)
        ],
        offer=offer_view(market.scenario, own.offer),
    )


def offer_view(scenario: SupplyChainScenario, offer: Offer | None) -> OfferView | None:
    """A standing offer as its owner sees it."""
    return None if offer is None else OfferView(prices=_offer_prices(scenario, offer), slogan=offer.slogan)


def _offer_prices(scenario: SupplyChainScenario, offer: Offer) -> list[OfferPrice]:
    return [
        OfferPrice.model_construct(item=item.id, price=currency(price))
        for item, price in zip(scenario.items, offer.prices, strict=True)
        if price is not None
    ]


def bid_results(market: SupplyChain, seat: SeatId, last: int | None) -> BidResults:
    """Own passes of the newest rounds; the open round counts once one of its passes is closed."""
    place = market.places[seat]
    recent = [(record.round, record.passes) for record in reversed(market.history[-(last or 1) :])]
    if market.passes:
        recent.insert(0, (market.clock.round, tuple(market.passes)))
    return BidResults(
        rounds=[
            BidRound(round=number, passes=[_own_pass(market.scenario, record, place) for record in passes])
            for number, passes in recent[: last or 1]
        ]
    )


def _own_pass(scenario: SupplyChainScenario, record: PassRecord, place: int) -> OwnPass:
    own = record.seats[place]
    settled = record.number == scenario.bid_passes
    return OwnPass(
        bid_pass=record.number,
        settled=settled,
        lines=_own_lines(scenario, own, told=settled or scenario.reveal != "none"),
        overspent=bool(own.forfeited) and (settled or scenario.reveal != "none"),
        market=disclosed(scenario, record),
    )


def _own_lines(scenario: SupplyChainScenario, own: SeatPass, *, told: bool) -> list[OwnLine]:
    return [
        OwnLine(
            item=scenario.items[line.item].id,
            quantity=line.quantity,
            price=currency(line.price),
            filled=filled if told else None,
            paid=currency(filled * line.price) if told else None,
        )
        for line, filled in zip(own.lines, own.filled, strict=True)
    ]


def bid_receipt(market: SupplyChain, lines: Sequence[Line], total: int, funds: int) -> BidReceipt:
    """What was sealed."""
    return BidReceipt(
        round=market.clock.round,
        bid_pass=market.bid_pass,
        status="accepted" if total <= funds else "forfeited",
        lines=len(lines),
        total=currency(total),
        remaining=currency(funds - total),
    )


def offer_receipt(market: SupplyChain, offer: Offer) -> OfferReceipt:
    """The offer as it will be posted."""
    return OfferReceipt(
        round=market.clock.round,
        prices=_offer_prices(market.scenario, offer),
        slogan=offer.slogan,
        words=len((offer.slogan or "").split()),
    )


# --- checks of what was asked ---------------------------------------------------------------------------------------


def checked(market: SupplyChain, asked: Sequence[Asked]) -> list[Checked]:
    """Each bid line, or what is wrong with it."""
    return [_checked(market, one) for one in asked]


def _checked(market: SupplyChain, asked: Asked) -> Checked:
    scenario = market.scenario
    place = scenario.item_places.get(asked.item)
    if place is None:
        return Checked(None, "unknown_id", f"there is no item {asked.item[:40]!r}")
    item, offered = scenario.items[place], market.supply[place]
    highest = item.base_cents * scenario.ceiling
    if not 0 <= asked.quantity <= offered:
        return Checked(None, "quantity_out_of_range", f"{item.id}: {asked.quantity} units; 0 to {offered} are offered")
    if asked.price < item.base_cents:
        reserve = from_minor(item.base_cents)
        return Checked(None, "price_below_reserve", f"{item.id}: {from_minor(asked.price)} is below {reserve}")
    if asked.price > highest:
        return Checked(
            None, "price_out_of_range", f"{item.id}: {from_minor(asked.price)} is above {from_minor(highest)}"
        )
    if asked.price % scenario.tick_cents:
        return Checked(None, "price_off_tick", f"{item.id}: {from_minor(asked.price)} is off the tick {scenario.tick}")
    return Checked(Line(place, asked.quantity, asked.price))


def bid_cost(market: SupplyChain, seat: SeatId, asked: Sequence[Asked]) -> BidCost:
    """What a vector would cost the seat."""
    lines = checked(market, asked)
    funds, total = market.of(seat).funds, sum(one.quantity * one.price for one in asked)
    answers: list[BidCostLine] = []
    for one, result in zip(asked, lines, strict=True):
        cost = one.quantity * one.price
        place = market.scenario.item_places.get(one.item)
        offered = 0 if place is None else market.supply[place]
        room = (funds - total + cost) // one.price if one.price else 0
        answers.append(
            BidCostLine(
                item=one.item,
                cost=currency(cost),
                error=result.code or None,
                max_quantity=max(0, min(offered, room)) if result.code in ("", "quantity_out_of_range") else 0,
            )
        )
    return BidCost(
        total=currency(total),
        funds=currency(funds),
        remaining=currency(funds - total),
        affordable=total <= funds and not any(result.code for result in lines),
        lines=answers,
    )


def posted_prices(scenario: SupplyChainScenario, asked: Sequence[tuple[str, int]]) -> tuple[int | None, ...]:
    """Prices in cents by item place. IllegalAction naming every wrong price."""
    prices: list[int | None] = [None] * len(scenario.items)
    wrong: list[tuple[str, str]] = []
    for name, price in asked:
        place = scenario.item_places.get(name)
        if place is None:
            wrong.append(("unknown_id", f"there is no item {name[:40]!r}"))
            continue
        highest = scenario.items[place].base_cents * scenario.ceiling
        if not scenario.tick_cents <= price <= highest:
            allowed = f"{scenario.tick} to {from_minor(highest)}"
            wrong.append(("price_out_of_range", f"{name}: {from_minor(price)}; allowed is {allowed}"))
        elif price % scenario.tick_cents:
            wrong.append(("price_off_tick", f"{name}: {from_minor(price)} is off the tick {scenario.tick}"))
        prices[place] = price
    refuse(wrong)
    return tuple(prices)


def refuse(wrong: Sequence[tuple[str, str]]) -> None:
    """IllegalAction of the first code, naming everything that is wrong; nothing when nothing is."""
    if wrong:
        message = "; ".join(text for _, text in wrong)
        raise IllegalAction(wrong[0][0], message, hint=f"{_SUPPLIER} shows items, units and price limits")


def require_short(scenario: SupplyChainScenario, slogan: str) -> int:
    """The number of words of a slogan. IllegalAction message_too_long."""
    words = len(slogan.split())
    if words <= scenario.slogan_words and len(slogan) <= scenario.slogan_chars:
        return words
    size = f"{words} words; at most {scenario.slogan_words}"
    if words <= scenario.slogan_words:
        size = f"{len(slogan)} characters; at most {scenario.slogan_chars}"
    raise IllegalAction("message_too_long", f"the slogan has {size}", hint="score_slogan counts the words of a draft")


# --- what is public -------------------------------------------------------------------------------------------------


def disclosed(scenario: SupplyChainScenario, record: PassRecord) -> list[ItemDisclosure] | None:
    """A pass as all are told of it; null under reveal = none or own."""
    if scenario.reveal in ("none", "own"):
        return None
    return [
        ItemDisclosure(
            item=item.id,
            marginal=currency(result.marginal),
            sold_out=result.sold_out,
            requested=result.requested,
            book=[(currency(price), units) for price, units in result.book] if scenario.reveal == "book" else None,
        )
        for item, result in zip(scenario.items, record.items, strict=True)
    ]


def public_pass(scenario: SupplyChainScenario, number: int, record: PassRecord) -> PublicPass:
    """What a pass tells everybody."""
    return PublicPass(round=number, bid_pass=record.number, items=disclosed(scenario, record))


def public_round(market: SupplyChain, record: RoundRecord) -> PublicRound:
    """What a closed round tells everybody."""
    return PublicRound.model_construct(
        round=record.round,
        items=[item.id for item in market.scenario.items],
        rows=[_row(market, record, place, range(len(market.scenario.items))) for place in range(len(market.ids))],
    )


def _row(market: SupplyChain, record: RoundRecord, place: int, items: Iterable[int]) -> PublicRow:
    offer = record.offers[place]
    return PublicRow.model_construct(
        seat=market.ids[place],
        slogan=None if offer is None else offer.slogan,
        prices=[None if offer is None or (price := offer.prices[item]) is None else currency(price) for item in items],
        sold=[record.sold[place][item] for item in items],
        status="active" if record.active[place] else "bankrupt",
    )


def history(market: SupplyChain, window: int) -> list[RoundRecord]:
    """The newest closed rounds, oldest first."""
    return market.history[-window:]


def item_places(scenario: SupplyChainScenario, items: Sequence[str] | None) -> list[int]:
    """Places of the named items, all without names. IllegalAction unknown_id."""
    if items is None:
        return list(range(len(scenario.items)))
    refuse([("unknown_id", f"there is no item {one[:40]!r}") for one in items if one not in scenario.item_places])
    return [scenario.item_places[one] for one in items]


def market_history(
    market: SupplyChain,
    from_round: int | None,
    to_round: int | None,
    retailers: Sequence[str] | None,
    items: Sequence[str] | None,
) -> MarketHistory:
    """Offers and sales of at most three closed rounds; by default of the last one."""
    closed = len(market.history)
    if not closed:
        raise IllegalAction("round_out_of_range", "no round is closed yet", hint="view_turn")
    last = to_round if to_round is not None else max(closed, from_round or 0)
    first = from_round if from_round is not None else last
    if not 1 <= first <= last <= closed:
        told = f"rounds {first} to {last}; rounds 1 to {closed} are closed"
        raise IllegalAction("round_out_of_range", told, hint="view_turn")
    if last - first > 2:
        raise IllegalAction("round_out_of_range", f"rounds {first} to {last}; at most 3 at once", hint="view_turn")
    unknown = [one for one in retailers or () if one not in market.places]
    refuse([("unknown_id", f"there is no retailer {one[:40]!r}") for one in unknown])
    columns = item_places(market.scenario, items)
    rows = range(len(market.ids)) if retailers is None else sorted({market.places[one] for one in retailers})
    return MarketHistory.model_construct(
        rounds=[
            HistoryRound.model_construct(
                round=record.round,
                items=[market.scenario.items[place].id for place in columns],
                rows=[_row(market, record, place, columns) for place in rows],
            )
            for record in market.history[first - 1 : last]
        ]
    )


def fitting(answer: _R, *, default: bool, narrower: Callable[[], str]) -> _R:
    """The answer, unless it is one to default arguments and above 8 kB: then IllegalAction too_many_rows."""
    if default and (size := json_bytes(answer)) > _DEFAULT_BYTES:
        raise IllegalAction(
            "too_many_rows",
            f"the answer to default arguments would take {size} bytes; 8 kB are allowed",
            hint=narrower(),
        )
    return answer
