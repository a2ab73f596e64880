"""What a seat may see: the rules, its own books, and what is public. Nothing about buyers, nothing of rivals' books.

Every function reads the state and changes nothing. Amounts in answers are in currency units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from tradefair.contract import Brief, IllegalAction, Result, SeatId
from tradefair.contract.money import currency
from tradefair.supply_chain.answers.results import (
    Account,
    AccountRound,
    BidCost,
    BidCostLine,
    BidReceipt,
    BidResults,
    BidRound,
    HistoryRound,
    ItemDisclosure,
    MarketHistory,
    OfferPrice,
    OfferReceipt,
    OfferView,
    OwnLine,
    OwnPass,
    PublicPass,
    PublicRound,
    PublicRow,
    RulesView,
    Stock,
    SupplierOffer,
    SupplierOffers,
    TurnPart,
)
from tradefair.supply_chain.engine import lexical
from tradefair.supply_chain.engine.checks import SUPPLIER_TOOL, Asked, checked, item_places, refuse
from tradefair.supply_chain.model import RETAIL, Line, Offer, SupplyChainScenario
from tradefair.supply_chain.state import PassRecord, RoundRecord, SeatPass, State
from tradefair.trading.answers import json_bytes

_DEFAULT_BYTES = 8_000
"""The kernel's bound for an answer to default arguments: asking without thought must not flood a context."""
_R = TypeVar("_R", bound=Result)


# --- rules ----------------------------------------------------------------------------------------------------------


def brief(scenario: SupplyChainScenario, seat: SeatId) -> Brief:
    """Role, objective and round semantics, as a seat is told before it plays."""
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
    """The public rules. They hold no number about buyers except how many there are and how many seats each notices."""
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
    """The sentence on slogans; its words are fixed by the specification (2)."""
    if scenario.gate_inert:
        return (
            "In this scenario every buyer considers every retailer. Slogans are recorded but have no effect on sales."
        )
    return (
        f"Each buyer notices only {scenario.smallest_set} of the {scenario.retailers} retailers. A slogan whose "
        "meaning is close to what a buyer cares about is noticed more often."
    )


def _overspending(scenario: SupplyChainScenario) -> str:
    """What happens to a vector above funds in this scenario."""
    if scenario.overspend == "error":
        return "A vector that would cost more than your funds if it were filled in full is refused; send another one."
    return "A vector that would cost more than your funds if it were filled in full is forfeited: you win nothing."


def _disclosure(scenario: SupplyChainScenario) -> str:
    """What a seat learns after a pass in this scenario."""
    return {
        "none": "You learn what you have won when the last pass has settled, and nothing else.",
        "own": "After each pass you learn what you would win; it binds nobody before the last one.",
        "summary": "After each pass all learn, per item, the marginal price, whether it sold out and units asked for.",
        "book": "After each pass all learn, per item, the marginal price and all bids without their names.",
    }[scenario.reveal]


def _costs(scenario: SupplyChainScenario) -> str:
    """What sold and unsold units cost in this scenario."""
    cost = "Sold units cost their moving average; unsold stock stays at cost and is worth nothing more at the end."
    if not scenario.holding_rate:
        return cost
    return f"{cost} Each round charges {scenario.holding_rate:.2%} of the stock at cost."


# --- own books ------------------------------------------------------------------------------------------------------


def turn_part(state: State, seat: SeatId) -> TurnPart:
    """Money, stock and two useful next calls; no public history, so that reading it takes a call that can be seen."""
    own = state.of(seat)
    bidding = state.clock.phase != RETAIL
    # Not validated, as all answers that are asked for in every phase: the values come from the state.
    return TurnPart.model_construct(
        rounds=state.scenario.rounds,
        retailers=state.scenario.retailers,
        funds=currency(own.funds),
        overspent=own.overspent,
        units=sum(own.units),
        book_value=currency(own.book_value),
        active=own.active,
        gate="inert" if state.scenario.gate_inert else "active",
        next_calls=[SUPPLIER_TOOL, "submit_bids"] if bidding else ["view_account", "submit_offer"],
    )


def supplier_offers(state: State) -> SupplierOffers:
    """This round's supply: units on offer, reserve and ceiling of a bid, and the price tick."""
    scenario = state.scenario
    return SupplierOffers(
        round=state.clock.round,
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
            for item, quantity in zip(scenario.items, state.supply, strict=True)
        ],
    )


def account(state: State, seat: SeatId) -> Account:
    """The seat's own books; average cost in four decimals, because it need not be a whole cent."""
    own, items = state.of(seat), state.scenario.items
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
        offer=offer_view(state.scenario, own.offer),
    )


def offer_view(scenario: SupplyChainScenario, offer: Offer | None) -> OfferView | None:
    """A standing offer as its owner sees it."""
    return None if offer is None else OfferView(prices=_offer_prices(scenario, offer), slogan=offer.slogan)


def _offer_prices(scenario: SupplyChainScenario, offer: Offer) -> list[OfferPrice]:
    """The prices of an offer; items that are not for sale are left out."""
    return [
        OfferPrice.model_construct(item=item.id, price=currency(price))
        for item, price in zip(scenario.items, offer.prices, strict=True)
        if price is not None
    ]


def bid_results(state: State, seat: SeatId, last: int | None) -> BidResults:
    """Own passes of the newest `last` rounds (None: one), newest first.

    The open round counts once one of its passes is closed.
    """
    place = state.places[seat]
    # One round more than may be shown: the open round takes the first place once it has a closed pass.
    recent = [(record.round, record.passes) for record in reversed(state.history[-(last or 1) :])]
    # Passes of the open round are not in the history yet.
    if state.passes:
        recent.insert(0, (state.clock.round, tuple(state.passes)))
    return BidResults(
        rounds=[
            BidRound(round=number, passes=[_own_pass(state.scenario, record, place) for record in passes])
            for number, passes in recent[: last or 1]
        ]
    )


def _own_pass(scenario: SupplyChainScenario, record: PassRecord, place: int) -> OwnPass:
    """An own pass as far as the scenario tells of it: a provisional result stays hidden under reveal = none."""
    own = record.seats[place]
    settled = record.number == scenario.bid_passes
    return OwnPass(
        bid_pass=record.number,
        settled=settled,
        lines=_own_lines(scenario, own, told=settled or scenario.reveal != "none"),
        # A forfeit is a result of the pass too: under reveal = none it would tell a provisional one.
        overspent=bool(own.forfeited) and (settled or scenario.reveal != "none"),
        market=disclosed(scenario, record),
    )


def _own_lines(scenario: SupplyChainScenario, own: SeatPass, *, told: bool) -> list[OwnLine]:
    """The lines of an own pass; what they won only where it may be told."""
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


def bid_receipt(state: State, lines: Sequence[Line], total: int, funds: int) -> BidReceipt:
    """What was sealed; `total` and `funds` in cents."""
    return BidReceipt(
        round=state.clock.round,
        bid_pass=state.bid_pass,
        status="accepted" if total <= funds else "forfeited",
        lines=len(lines),
        total=currency(total),
        remaining=currency(funds - total),
    )


def offer_receipt(state: State, offer: Offer) -> OfferReceipt:
    """The offer as it will be posted."""
    return OfferReceipt(
        round=state.clock.round,
        prices=_offer_prices(state.scenario, offer),
        slogan=offer.slogan,
        words=len((offer.slogan or "").split()),
    )


# --- what a bid would cost ------------------------------------------------------------------------------------------


def bid_cost(state: State, seat: SeatId, asked: Sequence[Asked]) -> BidCost:
    """What a vector would cost the seat if it were filled in full, line by line.

    `max_quantity` is the largest quantity at the line's price that fits next to the other lines, within supply and
    funds; 0 where the line is wrong in another way.
    """
    lines = checked(state, asked)
    funds, total = state.of(seat).funds, sum(line.quantity * line.price for line in asked)
    answers: list[BidCostLine] = []
    for line, result in zip(asked, lines, strict=True):
        cost = line.quantity * line.price
        place = state.scenario.item_places.get(line.item)
        offered = 0 if place is None else state.supply[place]
        # What the other lines leave. It may be below 0 when they alone are above funds.
        # A price of 0 is refused by the checks and must not end in a division here.
        room = (funds - total + cost) // line.price if line.price else 0
        answers.append(
            BidCostLine(
                item=line.item,
                cost=currency(cost),
                error=result.code or None,
                # A line that is wrong in another way has no largest quantity.
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


# --- what is public -------------------------------------------------------------------------------------------------


def disclosed(scenario: SupplyChainScenario, record: PassRecord) -> list[ItemDisclosure] | None:
    """A pass as all seats are told of it, by item; None under reveal = none or own."""
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
    """What a closed pass tells all seats."""
    return PublicPass(round=number, bid_pass=record.number, items=disclosed(scenario, record))


def public_round(state: State, record: RoundRecord) -> PublicRound:
    """What a closed round tells all seats: offers, slogans and units sold, never stock or costs."""
    return PublicRound.model_construct(
        round=record.round,
        items=[item.id for item in state.scenario.items],
        rows=[_row(state, record, place, range(len(state.scenario.items))) for place in range(len(state.ids))],
    )


def _row(state: State, record: RoundRecord, place: int, items: Iterable[int]) -> PublicRow:
    """A seat's offer and sales of a round, for the given item indices."""
    offer = record.offers[place]
    return PublicRow.model_construct(
        seat=state.ids[place],
        slogan=None if offer is None else offer.slogan,
        prices=[None if offer is None or (price := offer.prices[item]) is None else currency(price) for item in items],
        sold=[record.sold[place][item] for item in items],
        status="active" if record.active[place] else "bankrupt",
    )


def market_history(
    state: State,
    from_round: int | None,
    to_round: int | None,
    retailers: Sequence[str] | None,
    items: Sequence[str] | None,
) -> MarketHistory:
    """Offers and sales of at most three closed rounds, by default of the last one.

    `retailers` and `items` narrow rows and columns; None means all. Raises IllegalAction: round_out_of_range,
    unknown_id.
    """
    closed = len(state.history)
    if not closed:
        raise IllegalAction("round_out_of_range", "no round is closed yet", hint="view_turn")
    # `from_round` alone reaches up to the last closed round. One beyond it is refused below, it must not slip back.
    last = to_round if to_round is not None else max(closed, from_round or 0)
    first = from_round if from_round is not None else last
    if not 1 <= first <= last <= closed:
        told = f"rounds {first} to {last}; rounds 1 to {closed} are closed"
        raise IllegalAction("round_out_of_range", told, hint="view_turn")
    if last - first > 2:
        raise IllegalAction("round_out_of_range", f"rounds {first} to {last}; at most 3 at once", hint="view_turn")
    unknown = [name for name in retailers or () if name not in state.places]
    refuse([("unknown_id", f"there is no retailer {name[:40]!r}") for name in unknown])
    columns = item_places(state.scenario, items)
    # Always in the order of seats, so that the order of the asking cannot make two answers to the same question.
    rows = range(len(state.ids)) if retailers is None else sorted({state.places[name] for name in retailers})
    # Not validated: every value comes from the state.
    return MarketHistory.model_construct(
        rounds=[
            HistoryRound.model_construct(
                round=record.round,
                items=[state.scenario.items[place].id for place in columns],
                rows=[_row(state, record, place, columns) for place in rows],
            )
            for record in state.history[first - 1 : last]
        ]
    )


def fitting(answer: _R, *, default: bool, narrower: Callable[[], str]) -> _R:
    """The answer, unless it is one to default arguments and above 8 kB: then IllegalAction too_many_rows.

    `narrower` gives the hint that names a smaller request.
    """
    if default and (size := json_bytes(answer)) > _DEFAULT_BYTES:
        raise IllegalAction(
            "too_many_rows",
            f"the answer to default arguments would take {size} bytes; 8 kB are allowed",
            hint=narrower(),
        )
    return answer
