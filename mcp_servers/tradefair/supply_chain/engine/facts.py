"""The hidden truth of a round and of an episode, for the trace alone (supply-chain page, 3). No seat ever sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tradefair.supply_chain.engine import lexical
from tradefair.supply_chain.engine.demand import Crowd
from tradefair.supply_chain.engine.sales import Shopping, Tally
from tradefair.supply_chain.model import (
    BuyerFacts,
    EndingFacts,
    Line,
    Offer,
    PassFacts,
    RoundFacts,
    SeatFacts,
    SloganFacts,
    TribeFacts,
)
from tradefair.supply_chain.state import PassRecord, Retailer, RoundRecord, State


class Closing(NamedTuple):
    """One seat's books at the close, in cents; `cost_of_goods` is by item index.

    `active` says whether the seat played the round, `bankrupt` whether it went out of business at its end. `write_off`
    is the book value of stock that a bankrupt seat lost. All fields are 0 or empty for a seat that was out before.
    """

    active: bool
    cost_of_goods: list[int]
    holding: int
    holding_paid: int
    profit: int
    write_off: int
    bankrupt: bool


def round_facts(
    state: State,
    record: RoundRecord,
    crowd: Crowd,
    shopping: Shopping,
    closings: Sequence[Closing],
    stock: Sequence[tuple[int, ...]],
    opening: Sequence[tuple[int, ...]],
    slogans: dict[str, int],
) -> RoundFacts:
    """All facts of a closed round; slogans that are new get a number in `slogans`.

    `stock` are the units before buyers came and `opening` those before procurement, both `[seat][item]`. `closings` has
    one entry per seat index.
    """
    # First of all: the seats' rows refer to slogans by the numbers that are given here.
    fresh = _new_slogans(record, slogans)
    seats = {
        seat: _seat_facts(
            state.retailers[place],
            closings[place],
            shopping.tallies[place],
            record.offers[place],
            spend=_spent(record.passes, place),
            opening=opening[place],
            available=stock[place],
            slogans=slogans,
        )
        for place, seat in enumerate(state.ids)
    }
    # Not validated: every value comes from the engine, and a round may hold 20,000 buyers.
    return RoundFacts.model_construct(
        round=record.round,
        supply=list(record.supply),
        passes=[_pass_facts(closed, state.ids) for closed in record.passes],
        seats=seats,
        buyers=_buyer_facts(crowd, shopping),
        new_slogans=fresh,
    )


def _spent(passes: Sequence[PassRecord], place: int) -> int:
    """What a seat paid in the settling pass, in cents; earlier passes move no money."""
    last = passes[-1].seats[place]
    # Pay as bid: each line at its own price (6.2).
    return sum(units * line.price for line, units in zip(last.lines, last.filled, strict=True))


def _pass_facts(record: PassRecord, ids: Sequence[str]) -> PassFacts:
    """A closed pass as the trace keeps it; lists by item index."""
    return PassFacts.model_construct(
        bid_pass=record.number,
        lines={
            ids[place]: [(*line, filled) for line, filled in zip(seat.lines, seat.filled, strict=True)]
            for place, seat in enumerate(record.seats)
            if seat.lines
        },
        forfeited={ids[place]: _plain(seat.forfeited) for place, seat in enumerate(record.seats) if seat.forfeited},
        marginal=[item.marginal for item in record.items],
        sold_out=[item.sold_out for item in record.items],
        requested=[item.requested for item in record.items],
        won=[item.won for item in record.items],
    )


def _plain(lines: Sequence[Line]) -> list[tuple[int, int, int]]:
    return [(line.item, line.quantity, line.price) for line in lines]


def _seat_facts(
    retailer: Retailer,
    closing: Closing,
    tally: Tally,
    offer: Offer | None,
    *,
    spend: int,
    opening: tuple[int, ...],
    available: tuple[int, ...],
    slogans: Mapping[str, int],
) -> SeatFacts:
    slogan = None if offer is None else offer.slogan
    return SeatFacts.model_construct(
        active=closing.active,
        opening=list(opening),
        spend=spend,
        available=list(available),
        # As long as the catalogue in every round, so that columns can be read by item index.
        prices=[None] * len(available) if offer is None else list(offer.prices),
        slogan=None if slogan is None else slogans[slogan],
        similarity=None if offer is None or offer.row is None else list(offer.row),
        attempts=tally.attempts,
        failed=tally.failed,
        directed=tally.directed,
        sold=tally.sold,
        revenue=tally.revenue,
        cost_of_goods=closing.cost_of_goods,
        holding=closing.holding,
        holding_paid=closing.holding_paid,
        profit=closing.profit,
        write_off=closing.write_off,
        bankrupt=closing.bankrupt,
        funds=retailer.funds,
        units=list(retailer.units),
        book=list(retailer.book),
    )


def _buyer_facts(crowd: Crowd, shopping: Shopping) -> BuyerFacts:
    """The buyers of a round, column by column."""
    # By column: a round of 20,000 buyers is a few long lists instead of 20,000 objects.
    tribes, texts, items, quantities, limits = map(list, zip(*crowd.buyers, strict=True))
    return BuyerFacts.model_construct(
        tribe=tribes,
        text=texts,
        item=items,
        quantity=quantities,
        limit=limits,
        arrival=list(crowd.arrival),
        noticed=list(shopping.noticed),
        visits=[tuple((*visit,) for visit in trail) for trail in shopping.visits],
    )


def _new_slogans(record: RoundRecord, known: dict[str, int]) -> list[SloganFacts]:
    """Slogans that were never posted before, in the order of seats, with cosines to all earlier ones.

    The cosines are lexical whatever embedder the scenario uses, so that copying is judged alike in all traces.
    """
    fresh: list[SloganFacts] = []
    for offer in record.offers:
        if offer is None or offer.slogan is None or offer.slogan in known:
            continue
        text, cues = offer.slogan, lexical.cues(offer.slogan)
        # All earlier ones, the seat's own too: evaluation tells which seat each was of.
        near = [(number, lexical.cosine(text, other)) for other, number in known.items()]
        fresh.append(
            SloganFacts.model_construct(
                number=len(known),
                text=text,
                stems=cues.stems,
                cues=cues.cues,
                groups=list(cues.groups),
                # A pair that is missing has cosine 0.
                cosines=[pair for pair in near if pair[1] > 0],
            )
        )
        # After its own cosines: a slogan is not compared with itself.
        known[text] = len(known)
    return fresh


def ending_facts(state: State) -> EndingFacts:
    """Totals by seat, and what stayed hidden while it was played."""
    scenario, rows = state.scenario, list(zip(state.ids, state.retailers, strict=True))
    return EndingFacts(
        rounds_closed=len(state.history),
        profit={seat: sum(books.profits) for seat, books in rows},
        funds={seat: books.funds for seat, books in rows},
        stock={seat: books.book_value for seat, books in rows},
        bankrupt=[seat for seat, books in rows if not books.active],
        tribes=[
            TribeFacts(
                id=tribe.id,
                weight=tribe.weight,
                sensitivity=tribe.sensitivity,
                reservation_centre=tribe.reservation_centre,
                texts=list(tribe.texts),
            )
            for tribe in scenario.tribes
        ],
        embedder=scenario.embedder_id,
        tau=scenario.temperature,
        calibration_gap=scenario.calibration_gap,
        persona_digest=scenario.persona_digest,
        gate="inert" if scenario.gate_inert else "active",
    )
