"""What a seat may see: its own limit and profits, what was said, and what is public. Nothing else enters any answer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Literal

from tradefair.bargaining.model import (
    BUYER,
    PRICE_MAX,
    ROSTER,
    BargainingScenario,
    ConcessionPath,
    History,
    HistoryRow,
    Message,
    MessageRow,
    Messages,
    MyValue,
    NumberRow,
    OfferRow,
    Offers,
    RoundRecord,
    RulesView,
    SidePath,
    SurplusIf,
    other,
    role_of,
)
from tradefair.bargaining.state import State
from tradefair.contract import Brief, SeatId
from tradefair.trading.answers import rows_fitting
from tradefair.trading.statements import Statement, read_statements

# Rows of an answer without `limit`; fewer where 8 kB are full (section 5).
_DEFAULT_ROWS = 20
# Of the one quotient in an answer: the last digits of a double say nothing and take bytes.
_DECIMALS = 6


def rules(scenario: BargainingScenario) -> RulesView:
    """The public rules; the law of the limits only if the scenario announces it."""
    talk = scenario.chat
    return RulesView(
        rounds=scenario.rounds,
        phases=list(scenario.phases),
        price_min=0,
        price_max=PRICE_MAX,
        tick=1,
        trade="One unit is traded if both have quoted and the bid is at least the ask; equal quotes trade.",
        pricing=f"The price is the midpoint of bid and ask; {_half_tick(scenario)}.",
        payoff="Buyer: value - price. Seller: price - cost. No trade: 0. Nothing stops a quote that loses.",
        lapse=_lapse(scenario),
        messages=_messages_rule(scenario) if talk else None,
        max_words=scenario.max_words if talk else None,
        max_chars=scenario.max_chars if talk else None,
        limits_law=_law(scenario) if scenario.announce_distribution else None,
    )


def _half_tick(scenario: BargainingScenario) -> str:
    return {
        "coin": "a fair coin settles a half tick",
        "down": "a half tick goes down, in the buyer's favour",
        "up": "a half tick goes up, in the seller's favour",
    }[scenario.half_tick]


def _lapse(scenario: BargainingScenario) -> str:
    if scenario.lapse_quote == "forfeit":
        return "A seat that stays silent says nothing; one that does not quote forfeits the round: no trade, profit 0."
    return "A seat that stays silent says nothing; one that does not quote has its own limit quoted for it."


def _messages_rule(scenario: BargainingScenario) -> str:
    order = {
        "shuffled": "in an order drawn afresh each round",
        "alternating": "the buyer first in odd rounds",
        "buyer_first": "the buyer first",
        "seller_first": "the seller first",
    }[scenario.speaking_order]
    return f"Before the quotes each seat may send one message, {order}; the second speaker has read the first message."


def _law(scenario: BargainingScenario) -> str:
    if scenario.distribution == "fixed":
        return "fixed by the scenario"
    kept = f", redrawn until v - c >= {scenario.min_gap}" if scenario.acceptance == "pact" else ""
    return f"{scenario.distribution}{kept}"


def brief(scenario: BargainingScenario, seat: SeatId) -> Brief:
    """Role, objective and round semantics."""
    buys = seat == BUYER
    limit, gain = ("value", "value minus price") if buys else ("cost", "price minus cost")
    talk = "First each of you may send one short message. Then both" if scenario.chat else "Both"
    return Brief(
        role=(
            f"You are {seat}, the {role_of(seat)}. You bargain with one {role_of(other(seat))} over one unit per round "
            f"and have a private {limit} per unit, the same in every round."
        ),
        objective=f"Maximise your own cumulative profit: {gain} in each round that trades.",
        round_semantics=(
            f"There are {scenario.rounds} rounds. {talk} of you quote a price of 0 to {PRICE_MAX}, sealed; "
            f"yours is {'a bid' if buys else 'an ask'}. If the bid is at least the ask, one unit is traded at the "
            f"midpoint; {_half_tick(scenario)}. Both quotes are revealed when the round closes."
        ),
    )


def my_value(state: State, seat: SeatId) -> MyValue:
    """The seat's own private data."""
    return MyValue(
        role=role_of(seat),
        limit=state.private.of(seat),
        limit_kind="value" if seat == BUYER else "cost",
        profit_total=state.profit[seat],
        price_min=0,
        price_max=PRICE_MAX,
    )


def history(state: State, seat: SeatId, from_round: int, limit: int | None, cursor: int | None) -> History:
    """Closed rounds from `from_round` on, oldest first.

    Quotes, midpoints and profits in ticks; the counterpart's profit is left out, because with the price it gives away
    its limit. IllegalAction: too_many_rows.
    """
    # A cursor before the asked round would show rows that the question excludes.
    start = max(from_round, cursor or 1)
    # `or` is safe: a limit is at least 1.
    asked = state.rounds[start - 1 :][: limit or _DEFAULT_ROWS]
    rows = rows_fitting((_history_row(record, seat) for record in asked), limit, "lower limit")
    following = start + len(rows)
    return History(
        rounds=rows,
        total=max(0, len(state.rounds) - from_round + 1),
        next_cursor=f"round-{following}" if following <= len(state.rounds) else None,
    )


def _history_row(record: RoundRecord, seat: SeatId) -> HistoryRow:
    return HistoryRow(
        round=record.round,
        speaking_order=None if record.speaking_order is None else list(record.speaking_order),
        bid=record.bid,
        ask=record.ask,
        forfeited=[trader for trader in ROSTER.seats if record.quote_of(trader) is None],
        traded=record.price is not None,
        midpoint=None if record.midpoint_x2 is None else record.midpoint_x2 / 2,
        price=record.price,
        my_profit=record.profit_of(seat),
    )


def messages(
    state: State, seat: SeatId, read_mark: int, from_round: int | None, limit: int | None, after: int | None
) -> Messages:
    """Messages of both seats from a round, or after a number; with neither, those after the seat's read mark.

    At most `limit` rows, without it 20 or what fits into 8 kB; `total` counts all that fit the question. IllegalAction:
    too_many_rows.
    """
    # A number or a round asks for the past; only a bare call begins at the read mark.
    start = after if after is not None else (read_mark if from_round is None else 0)
    # Message number n stands at n - 1, so a number is also the index behind it.
    chosen = [message for message in state.messages[start:] if from_round is None or message.round >= from_round]
    asked = chosen[: limit or _DEFAULT_ROWS]
    rows = rows_fitting(
        (MessageRow(**message._asdict(), silent=not message.text, untrusted=message.seat != seat) for message in asked),
        limit,
        "lower limit",
    )
    more = len(chosen) > len(rows)
    return Messages(messages=rows, total=len(chosen), next_cursor=rows[-1].number if more and rows else None)


def surplus_if(state: State, seat: SeatId, my_quote: int, their_quote: int) -> SurplusIf:
    """What a pair of quotes would earn the seat.

    In ticks. The low and high price differ by the rounding of a half tick, which the scenario may fix. Arithmetic of
    the seat's own limit only: no advice.
    """
    buys = seat == BUYER
    bid, ask = (my_quote, their_quote) if buys else (their_quote, my_quote)
    limit = state.private.of(seat)
    # Said without a trade too: through the limit is through the limit, whatever the quote meets.
    through = my_quote > limit if buys else my_quote < limit
    if bid < ask:
        return SurplusIf(
            traded=False,
            midpoint=None,
            price_low=0,
            price_high=0,
            my_profit_low=0,
            my_profit_high=0,
            my_profit_mean=0.0,
            through_my_limit=through,
        )
    # Both roundings of a half tick; equal for an even sum.
    low, high = (bid + ask) // 2, -(-(bid + ask) // 2)
    if state.scenario.half_tick != "coin":
        # A fixed direction leaves one price.
        low = high = low if state.scenario.half_tick == "down" else high
    # Sorted, because the higher price is the seller's better one and the buyer's worse one.
    profits = sorted(state.private.profit(seat, price) for price in (low, high))
    return SurplusIf(
        traded=True,
        midpoint=(bid + ask) / 2,
        price_low=low,
        price_high=high,
        my_profit_low=profits[0],
        my_profit_high=profits[1],
        my_profit_mean=sum(profits) / 2,
        through_my_limit=through,
    )


# --- concessions ------------------------------------------------------------------------------------------------------


def concession_path(state: State, window: int) -> ConcessionPath:
    """How both sides' quotes moved over the last `window` closed rounds and the whole game.

    `gap_now` is ask minus bid of the last of these rounds with both quotes, negative where they crossed. Figures are
    null where too few quotes are known.
    """
    recent = state.rounds[-window:]
    sides = [_side_path(state.rounds, recent, seat) for seat in ROSTER.seats]
    # A gap needs two quotes: rounds with a forfeit say nothing about it.
    both = [record for record in recent if record.bid is not None and record.ask is not None]
    gap = closing = None
    if both:
        last = both[-1]
        assert last.bid is not None
        assert last.ask is not None
        gap = last.ask - last.bid
        if len(both) > 1:
            first = both[0]
            assert first.bid is not None
            assert first.ask is not None
            # Per round of the clock, not per pair of quotes: forfeited rounds in between count as time.
            closing = ((first.ask - first.bid) - gap) / (last.round - first.round)
    return ConcessionPath(
        window=window,
        rounds=len(recent),
        sides=sides,
        gap_now=gap,
        closing_per_round=None if closing is None else round(closing, _DECIMALS),
        rounds_to_meet=_rounds_to_meet(gap, closing),
    )


def _rounds_to_meet(gap: int | None, closing: float | None) -> int | None:
    if gap is None:
        return None
    if gap <= 0:
        return 0
    # Null where the sides do not approach each other.
    return math.ceil(gap / closing) if closing is not None and closing > 0 else None


def _side_path(rounds: Sequence[RoundRecord], recent: Sequence[RoundRecord], seat: SeatId) -> SidePath:
    """How one side moved; `rounds` is the whole game and `recent` the window, both oldest first.

    The two concessions are last minus first quote in ticks, positive towards the counterpart.
    """
    # A concession moves towards the counterpart: up for the buyer, down for the seller.
    sign = 1 if seat == BUYER else -1
    game, window = _quotes(rounds, seat), _quotes(recent, seat)
    moved = [later for (_, before), (later, now) in pairwise(game) if now != before]
    # A side that has never moved stands since its first quote.
    since = moved[-1] if moved else (game[0][0] if game else None)
    best: Callable[[Iterable[int]], int] = max if seat == BUYER else min
    return SidePath(
        seat=seat,
        first=game[0][1] if game else None,
        last=game[-1][1] if game else None,
        best=best(quote for _, quote in game) if game else None,
        concession_window=sign * (window[-1][1] - window[0][1]) if window else None,
        concession_game=sign * (game[-1][1] - game[0][1]) if game else None,
        rounds_since_move=None if since is None else rounds[-1].round - since,
    )


def _quotes(rounds: Sequence[RoundRecord], seat: SeatId) -> list[tuple[int, int]]:
    """(round, quote) of the rounds that the seat quoted in."""
    return [(record.round, quote) for record in rounds if (quote := record.quote_of(seat)) is not None]


# --- numbers named in chat --------------------------------------------------------------------------------------------


def offers(state: State, from_round: int, limit: int | None, cursor: tuple[int, SeatId] | None) -> Offers:
    """Per closed round and seat: the numbers named in chat by kind, the quote and the price.

    Rows in the order of rounds, B1 before S1; `cursor` is the (round, seat) to go on from. Numbers are read
    mechanically (`trading.statements`) and may be misread. IllegalAction: too_many_rows.
    """
    # B1 before S1 in each round, which is also the order of the cursor's text.
    places = [(record, seat) for record in state.rounds[from_round - 1 :] for seat in ROSTER.seats]
    start = 0
    if cursor is not None:
        # The first row not before the cursor: its own row may lie before the asked round.
        start = next((at for at, (record, seat) in enumerate(places) if (record.round, seat) >= cursor), len(places))
    said = {(message.round, message.seat): message for message in state.messages}
    asked = places[start:][: limit or _DEFAULT_ROWS]
    rows = rows_fitting(
        (_offer_row(state, record, seat, said.get((record.round, seat))) for record, seat in asked),
        limit,
        "lower limit or raise from_round",
    )
    following = places[start + len(rows) :][:1]
    return Offers(
        rows=rows,
        total=len(places),
        next_cursor=f"round-{following[0][0].round}-{following[0][1]}" if following else None,
    )


def _offer_row(state: State, record: RoundRecord, seat: SeatId, message: Message | None) -> OfferRow:
    found: Sequence[Statement] = ()
    if message is not None and message.text:
        role: Literal["buyer", "seller"] = role_of(seat)
        # Read again at each call, from public text only: nothing of it is state.
        found = read_statements(message.text, role, record.round, state.scenario.rounds)
    return OfferRow(
        round=record.round,
        seat=seat,
        numbers=[
            NumberRow(
                kind=statement.kind,
                relation=statement.relation,
                x=statement.x,
                strength=statement.strength,
                from_round=statement.horizon[0],
                to_round=statement.horizon[1],
            )
            for statement in found
        ],
        quote=record.quote_of(seat),
        price=record.price,
    )
