"""Arithmetic on what a seat has seen: clearing prices, slogans, rivals' prices, sales (supply-chain page, 5).

Each function uses own and public records only, and answers in the currency units of the result models. The oracle and
the failure modes use `sure_win_price` too.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tradefair.contract import HarnessFailure, SeatId
from tradefair.contract.money import currency
from tradefair.supply_chain.answers.results import (
    ClearingEstimate,
    ClearingEstimates,
    ItemSales,
    ItemSalesRound,
    NearSlogan,
    PriceComparison,
    PriceComparisons,
    PriceStats,
    SalesSummary,
    SloganScore,
)
from tradefair.supply_chain.engine import lexical
from tradefair.supply_chain.engine.checks import item_places, posted_prices
from tradefair.supply_chain.model import RETAIL
from tradefair.supply_chain.state import PassRecord, RoundRecord, State

_PROVISIONAL_WEIGHT = 2
"""Weight of this round's provisional pass: it is about the prices that are being decided now."""
_CLOSENESS_SCALE = 0.10
"""Cosine distance over which the weight of a slogan's sales falls to 1/e."""
# Slogans that an answer shows; the index rests on all of them.
_NEAREST = 5
_DECIMALS = 6


# --- clearing prices ------------------------------------------------------------------------------------------------


class _Seen(NamedTuple):
    """One observation of an item: bounds in cents on its marginal price, an integer weight, whether to go beyond it."""

    low: int
    high: int
    weight: int
    outbid: bool


def clearing_estimates(state: State, seat: SeatId, items: Sequence[str] | None, window: int) -> ClearingEstimates:
    """Estimates of marginal prices by item, over the last `window` rounds; `items` None means all.

    They rest on what was disclosed to all, or on the seat's own lines where the scenario discloses nothing. Raises
    IllegalAction unknown_id.
    """
    public = state.scenario.reveal in ("summary", "book")
    passes = _observed(state, window)
    place = state.places[seat]
    answers: list[ClearingEstimate] = []
    for item in item_places(state.scenario, items):
        if public:
            seen = [_disclosed(record, item, weight) for record, weight in passes]
        else:
            seen = [observation for record, weight in passes for observation in _own(record, place, item, weight)]
        answers.append(_estimate(state, item, seen, "disclosed" if public else "own_lines"))
    return ClearingEstimates(window=window, items=answers)


def _observed(state: State, window: int) -> list[tuple[PassRecord, int]]:
    """Settled passes of the window, oldest first, then this round's provisional one, each with its weight.

    Weights are 2^window·0.5^age, so that they are whole numbers; the provisional pass weighs twice as much as an age of
    0.
    """
    now, unit = state.clock.round, 2**window
    settled = [(record.round, record.passes[-1]) for record in state.history]
    # In the retail phase the last pass of the open round has settled, but the round is not in the history yet.
    if state.passes and state.clock.phase == RETAIL:
        settled.append((now, state.passes[-1]))
    # A shift instead of a power of one half: the weights stay whole numbers.
    found = [(record, unit >> min(now - number, window)) for number, record in settled[-window:]]
    # Under `none` a seat must not learn its provisional fills by way of an estimate.
    if state.passes and state.clock.phase != RETAIL and state.scenario.reveal != "none":
        found.append((state.passes[-1], _PROVISIONAL_WEIGHT * unit))
    return found


def _disclosed(record: PassRecord, item: int, weight: int) -> _Seen:
    """What a disclosed pass tells of an item: its marginal price, and whether that must be outbid."""
    result = record.items[item]
    return _Seen(result.marginal, result.marginal, weight, result.sold_out)


def _own(record: PassRecord, place: int, item: int, weight: int) -> Iterable[_Seen]:
    """What own lines tell of an item: one bound on the marginal price each.

    Nothing filled: the marginal price is at least the bid. All filled: at most the bid. Some: it is the bid. All three
    are noted as the bid's price, with whether one must go beyond it.
    """
    own = record.seats[place]
    for line, filled in zip(own.lines, own.filled, strict=True):
        if line.item == item:
            # Units that were not won say that this price did not do: one has to go beyond it.
            yield _Seen(line.price, line.price, weight, filled < line.quantity)


def _estimate(state: State, item: int, seen: Sequence[_Seen], basis: str) -> ClearingEstimate:
    """The estimate of one item from its observations, oldest first; the reserve where there are none."""
    reserve, tick = state.scenario.items[item].base_cents, state.scenario.tick_cents
    if not seen:
        low = middle = high = suggestion = reserve
    else:
        low, high = min(entry.low for entry in seen), max(entry.high for entry in seen)
        total, weights = sum(entry.low * entry.weight for entry in seen), sum(entry.weight for entry in seen)
        # The weighted mean, rounded up: only prices on the tick can be bid.
        middle = -(-total // (weights * tick)) * tick
        # The reserve is enough for an item that did not sell out, whatever its winners paid.
        if basis == "disclosed":
            suggestion = high + tick if seen[-1].outbid else reserve
        else:
            suggestion = high + tick if seen[-1].outbid else seen[-1].high
    return ClearingEstimate.model_construct(
        item=state.scenario.items[item].id,
        low=currency(low),
        mid=currency(middle),
        high=currency(high),
        suggestion=currency(suggestion),
        n=len(seen),
        basis=basis if seen else "no_evidence",
    )


# --- slogans --------------------------------------------------------------------------------------------------------


class _Entry(NamedTuple):
    """A slogan that was posted with something for sale, and the seat's sales relative to others' of the same items."""

    round: int
    seat: SeatId
    slogan: str
    sales: float


def _entries(state: State, window: int) -> list[_Entry]:
    """Slogans of the window's rounds with the relative sales of the seats that posted them."""
    found: list[_Entry] = []
    for record in state.history[-window:]:
        # In the order of seats: an outside embedder is asked in this order, and its answer is recorded.
        for place, sales in sorted(relative_sales(record).items()):
            offer = record.offers[place]
            if offer is not None and offer.slogan is not None:
                found.append(_Entry(record.round, state.ids[place], offer.slogan, sales))
    return found


def relative_sales(record: RoundRecord) -> Mapping[int, float]:
    """y by seat index: mean over its posted items of units sold against the mean seller of that item.

    1 is average. Seats that posted nothing, or only items that no seat sold, are left out.
    """
    items = range(len(record.supply))
    means: dict[int, float] = {}
    for item in items:
        posted = [seat for seat, offer in enumerate(record.offers) if offer and offer.prices[item] is not None]
        units = sum(record.sold[seat][item] for seat in posted)
        # An item that no seat sold says nothing about the slogans of its sellers.
        if units:
            means[item] = units / len(posted)
    found: dict[int, float] = {}
    for seat, offer in enumerate(record.offers):
        if offer is None:
            continue
        shares = [record.sold[seat][item] / mean for item, mean in means.items() if offer.prices[item] is not None]
        if shares:
            found[seat] = math.fsum(shares) / len(shares)
    return found


def slogans_in(state: State, window: int) -> list[str]:
    """The slogans that `slogan_score` compares a candidate with, without repeats.

    An outside embedder is asked about these, in this order.
    """
    return list(dict.fromkeys(entry.slogan for entry in _entries(state, window)))


def slogan_score(state: State, candidate: str, window: int, similarity: Sequence[float] | None = None) -> SloganScore:
    """Relative sales of slogans like the candidate, each weighted by exp((closeness − 1)/0.10).

    `similarity` is an outside embedder's answer about `slogans_in`; the built-in embedder needs none. The index is an
    association: seats that said such things may also have been cheaper. Raises HarnessFailure without similarities.
    """
    entries = _entries(state, window)
    against = list(dict.fromkeys(entry.slogan for entry in entries))
    if state.scenario.embedder == "lexical":
        similarity = [lexical.cosine(candidate, other) for other in against]
    # No embedder is asked about an empty slogan.
    elif not candidate:
        similarity = [0.0] * len(against)
    # A kernel that answers another question than `slogans_in` asked would shift all closenesses unnoticed.
    if similarity is None or len(similarity) != len(against):
        raise HarnessFailure("a slogan came without its similarities")
    closeness = dict(zip(against, similarity, strict=True))
    weights = [math.exp((closeness[entry.slogan] - 1) / _CLOSENESS_SCALE) for entry in entries]
    total = math.fsum(weights)
    index = n_eff = None
    if entries:
        weighted = math.fsum(weight * entry.sales for weight, entry in zip(weights, entries, strict=True))
        index = round(weighted / total, _DECIMALS)
        # Kish's effective sample size: many distant slogans count as few near ones.
        n_eff = round(total * total / math.fsum(weight * weight for weight in weights), _DECIMALS)
    # Among equally close slogans the newest first.
    nearest = sorted(entries, key=lambda entry: (-closeness[entry.slogan], -entry.round, entry.seat))[:_NEAREST]
    return SloganScore(
        words=len(candidate.split()),
        index=index,
        n_eff=n_eff,
        nearest=[
            NearSlogan(
                round=entry.round,
                seat=entry.seat,
                slogan=entry.slogan,
                closeness=closeness[entry.slogan],
                sales=round(entry.sales, _DECIMALS),
            )
            for entry in nearest
        ],
        notes=_notes(state),
    )


def _notes(state: State) -> list[str]:
    """What a reader of a score must know: it is an association, and may rest on shared words only."""
    notes = ["association, not cause; prices and stock differ"]
    if state.scenario.gate_inert:
        notes.append("gate inert")
    if state.scenario.embedder == "lexical":
        notes.append(lexical.CAVEAT)
    return notes


# --- prices and sales -----------------------------------------------------------------------------------------------


class _Sold(NamedTuple):
    """A seat's posted price of an item in cents and the units that it sold."""

    seat: int
    price: int
    units: int


def _sellers(record: RoundRecord, item: int) -> list[_Sold]:
    """The seats that posted the item, from the cheapest up; equal prices in the order of seats."""
    found = [
        _Sold(seat, price, record.sold[seat][item])
        for seat, offer in enumerate(record.offers)
        if offer is not None and (price := offer.prices[item]) is not None
    ]
    return sorted(found, key=lambda one: (one.price, one.seat))


def _mean_sold(sellers: Sequence[_Sold]) -> float | None:
    """Volume-weighted price of the units sold, in currency units; None when nothing was sold."""
    units = sum(seller.units for seller in sellers)
    return round(sum(seller.price * seller.units for seller in sellers) / units / 100, 4) if units else None


def price_comparisons(state: State, seat: SeatId, asked: Sequence[tuple[str, int]]) -> PriceComparisons:
    """Own prices compared with own unit cost and with rivals' prices of the last closed round.

    `asked` holds (item id, cents). Fields about rivals are None before a round is closed. Raises IllegalAction as for
    an offer.
    """
    # For its refusals: prices that could not be posted are not compared either.
    posted_prices(state.scenario, asked)
    record = state.history[-1] if state.history else None
    own, place = state.of(seat), state.places[seat]
    rows: list[PriceComparison] = []
    for name, price in asked:
        item = state.scenario.item_places[name]
        units, book = own.units[item], own.book[item]
        cost = book / units if units else None
        sellers = _sellers(record, item) if record else []
        rivals = [seller for seller in sellers if seller.seat != place]
        sold = [seller.price for seller in sellers if seller.units]
        rows.append(
            PriceComparison(
                item=name,
                price=currency(price),
                unit_cost=None if cost is None else round(cost / 100, 4),
                margin=None if cost is None else round((price - cost) / 100, 4),
                # Null without stock: there is no cost to compare with.
                margin_pct=round((price - cost) / cost, 4) if cost else None,
                cheaper_rivals=sum(rival.price < price for rival in rivals) if record else None,
                lowest_rival=currency(rivals[0].price) if rivals else None,
                mean_sold=_mean_sold(sellers),
                top_sold=currency(max(sold)) if sold else None,
            )
        )
    return PriceComparisons(round=record.round if record else None, items=rows)


def item_sales(state: State, items: Sequence[str] | None, window: int) -> SalesSummary:
    """Who posted and sold each item at which prices, by closed round of the window. Raises IllegalAction unknown_id."""
    records = state.history[-window:]
    return SalesSummary(
        window=window,
        items=[
            ItemSales(item=state.scenario.items[item].id, rounds=[_sales_round(record, item) for record in records])
            for item in item_places(state.scenario, items)
        ],
    )


def _sales_round(record: RoundRecord, item: int) -> ItemSalesRound:
    """Posted and sold prices of an item in one round, with units by thirds of the sellers."""
    sellers = _sellers(record, item)
    sold = [seller for seller in sellers if seller.units]
    thirds = [0, 0, 0]
    for rank, seller in enumerate(sellers):
        # Thirds of the sellers by price, not of the price range: one absurd price would leave two thirds empty.
        thirds[3 * rank // len(sellers)] += seller.units
    return ItemSalesRound(
        round=record.round,
        posted_by=len(sellers),
        sold_by=len(sold),
        units=sum(thirds),
        posted=_stats(sellers, round(sum(row.price for row in sellers) / len(sellers) / 100, 4) if sellers else None),
        sold=_stats(sold, _mean_sold(sold)),
        units_by_third=thirds,
    )


def _stats(sellers: Sequence[_Sold], mean: float | None) -> PriceStats | None:
    """Lowest, mean and highest price of sellers in the order of price; None without a mean."""
    if mean is None:
        return None
    return PriceStats(low=currency(sellers[0].price), mean=mean, high=currency(sellers[-1].price))


# --- sure-win prices ------------------------------------------------------------------------------------------------


def sure_win_price(rivals: Sequence[tuple[int, int]], units: int, supply: int, reserve: int, tick: int) -> int:
    """w(a): the smallest price on the tick at which `units` are won whatever the ties (section 9).

    `rivals` are (price, units) of eligible bids; prices are in cents. Above `supply` units no price wins; the answer is
    then one tick above the highest rival. Example (6.9, A's bid): 40 of 75 units against 30@810, 30@810 and 20@800 need
    811.
    """
    # What rivals ask for at or above a price only changes just above one of their prices.
    for price in sorted({reserve, *((bid // tick + 1) * tick for bid, _ in rivals if bid >= reserve)}):
        if sum(quantity for bid, quantity in rivals if bid >= price) <= supply - units:
            return price
    # Beyond the supply no price wins; this one is at least above all rivals.
    return max((bid for bid, _ in rivals), default=reserve - tick) // tick * tick + tick
