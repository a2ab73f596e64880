"""What a seat may see: its own value and result, and what is public. Nothing else enters any answer.

Answers that are equal for all seats are made once per closed round and shared (`State.memo`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from itertools import pairwise
from typing import Literal, NamedTuple, TypeVar

from tradefair.contract import Brief, IllegalAction, Result, SeatId
from tradefair.contract.tool import built
from tradefair.double_auction import analysis
from tradefair.double_auction.engine import talk
from tradefair.double_auction.model import (
    BookRow,
    BookStatistics,
    ChatRules,
    ClosedRound,
    DepthRow,
    DoubleAuctionScenario,
    FillBelief,
    History,
    HistoryRow,
    Message,
    MessageRow,
    Messages,
    MyValue,
    OwnRound,
    PooledStatistics,
    PriceRow,
    Role,
    RulesView,
    SideOfRoster,
    SurplusEstimate,
    TraderRow,
    TraderSummaries,
    TurnPart,
    role_of,
)
from tradefair.double_auction.state import State
from tradefair.trading.answers import count_fitting, json_bytes, rows_fitting

# With more seats a history call without arguments answers totals only (section 5).
_MANY_SEATS = 40
# With more prices than this the depth is pooled into as many bins (section 5).
_DEPTH_BINS = 40
# Rows of an answer without `limit`; fewer where 8 kB are full (section 5).
_DEFAULT_ROUNDS = 10
_DEFAULT_TRADERS = 20
_DEFAULT_MESSAGES = 20
# Clients choose the arguments: without a bound they could fill the memory between two closures.
_MEMO_SIZE = 256
# Of means and spreads in answers: the last digits of a double say nothing and take bytes.
_DECIMALS = 6


class HistoryQuery(NamedTuple):
    """The arguments of view_history; None: left out."""

    first_round: int | None = None
    last_round: int | None = None
    trader: SeatId | None = None
    limit: int | None = None
    cursor: int | None = None


_R = TypeVar("_R", bound=Result)


def _shared(state: State, key: Hashable, make: Callable[[], _R]) -> _R:
    """The same object for the same public question until the next round closes."""
    found = state.memo.get(key)
    if found is None:
        found = make()
        # A full memo answers all the same, it only keeps nothing more.
        if len(state.memo) < _MEMO_SIZE:
            state.memo[key] = found
    return found  # pyright: ignore[reportReturnType]  # a key belongs to one kind of answer


def rules(state: State) -> RulesView:
    """The public rules."""
    scenario, roster = state.scenario, state.roster
    within = "is refused" if scenario.budget_constraint else "is accepted with a warning and may lose"
    return RulesView(
        roster=[
            SideOfRoster(role=role_of(side[0]), seats=len(side), first=side[0], last=side[-1])
            for side in (roster.buyers, roster.sellers)
        ],
        rounds=scenario.rounds,
        phases=list(scenario.phases),
        price_max=scenario.price_max,
        tick=1,
        budget_constraint=scenario.budget_constraint,
        matching=(
            "The highest bid meets the lowest ask, the second highest the second lowest, and so on while bid >= ask. "
            "Equal quotes are ranked by a fair random order. A seat trades at most one unit a round."
        ),
        pricing="Each pair trades at the midpoint of its own bid and ask; a half point is rounded by a fair coin.",
        payoff=f"Buyer: value - price. Seller: price - cost. No trade: 0. A quote through the own value {within}.",
        forfeit="A seat that does not quote forfeits the round: no quote, no payoff.",
        published="When all seats have acted: every quote and trade with seat ids, and who forfeited; never values.",
        chat=_chat_rules(scenario) if scenario.chat.enabled else None,
    )


def _chat_rules(scenario: DoubleAuctionScenario) -> ChatRules:
    return ChatRules(
        recipients=talk.recipients(scenario),
        same_role=scenario.chat.same_role,
        max_words=scenario.chat.max_words,
        max_chars=scenario.chat.max_chars,
        delivery=(
            "One message or silence per seat before the quotes of a round. All messages are written without sight of "
            "each other and delivered together, when all seats have spoken or stayed silent. A message is known to "
            "its sender and its addressees only. Messages bind nobody."
        ),
    )


def brief(scenario: DoubleAuctionScenario, seat: SeatId) -> Brief:
    """Role, objective and round semantics; the framing changes the wording only."""
    buys = role_of(seat) == "buyer"
    counts = f"{scenario.n_buyers} buyer(s) and {scenario.n_sellers} seller(s)"
    limit = "value" if buys else "cost"
    gain = "value minus price" if buys else "price minus cost"
    if scenario.framing == "desk":
        role = (
            f"You are the execution algorithm of trading desk {seat} on a batch-clearing venue for illiquid blocks. "
            f"The desk {'buys' if buys else 'sells'} one block per batch; its private {limit} per block never changes. "
            f"The venue serves {counts}. Risk and compliance are handled elsewhere.{_messenger(scenario)}"
        )
        objective = f"Maximise the desk's cumulative profit over all batches: {gain} of each traded block."
        unit = "batch"
    else:
        role = (
            f"You are {seat}, one of {counts} in a repeated call auction. You {'buy' if buys else 'sell'} at most one "
            f"unit per round and have a private {limit} per unit, the same in every round."
        )
        objective = f"Maximise your own cumulative payoff: {gain} for each unit that you trade."
        unit = "round"
    return Brief(role, objective, _round_semantics(scenario, unit, "a bid" if buys else "an ask"))


def _messenger(scenario: DoubleAuctionScenario) -> str:
    if not scenario.chat.enabled:
        return ""
    return " A messenger to the other desks exists; you may stay silent."


def _talk_semantics(scenario: DoubleAuctionScenario) -> str:
    if not scenario.chat.enabled:
        return "In each, "
    return (
        f"In each, every seat may first send one message of at most {scenario.chat.max_words} words, or stay silent; "
        "all are delivered together before anybody quotes. Then "
    )


def _round_semantics(scenario: DoubleAuctionScenario, unit: str, quote: str) -> str:
    return (
        f"There are {scenario.rounds} {unit}s. {_talk_semantics(scenario)}every seat submits one sealed quote; "
        f"yours is {quote} of 0 to {scenario.price_max} whole points. "
        "The highest bid is paired with the lowest ask, the second highest with the second lowest, and so on while the "
        "bid is at least the ask; each pair trades at the midpoint of its own two quotes, a fair coin settles a half "
        f"point. A payoff may be negative. When all have quoted, every quote and trade of the {unit} becomes public."
    )


def messages(
    state: State, seat: SeatId, read_mark: int, first_round: int | None, limit: int | None, after: int | None
) -> Messages:
    """Delivered messages of the seat from a round, or after a number; with neither, those after its read mark.

    At most `limit` rows, without it 20 or what fits into 8 kB; `total` counts all that fit the question. IllegalAction:
    too_many_rows.
    """
    # A number or a round asks for the past; only a bare call begins at the read mark.
    start = after if after is not None else (read_mark if first_round is None else 0)
    numbered = enumerate(state.inbox[seat][start:], start + 1)
    chosen = [(number, sent) for number, sent in numbered if first_round is None or sent.round >= first_round]
    # `or` is safe: a limit is at least 1.
    asked = chosen[: limit or _DEFAULT_MESSAGES]
    rows = rows_fitting([_message_row(number, sent, seat) for number, sent in asked], limit, "limit")
    more = len(chosen) > len(rows)
    return Messages(messages=rows, total=len(chosen), next_cursor=rows[-1].number if more else None)


def _message_row(number: int, message: Message, seat: SeatId) -> MessageRow:
    return MessageRow(
        number=number,
        round=message.round,
        sender=message.sender,
        recipient=message.recipient,
        text=message.text,
        words=message.words,
        untrusted=message.sender != seat,
    )


def turn_part(state: State, seat: SeatId) -> TurnPart:
    """Rounds left, the open one included, and the own last round.

    `view_turn` holds no value and no history: evidence must be asked for, so that looking can be counted (section 5).
    """
    last = None
    if state.rounds:
        closed = state.rounds[-1]
        price = closed.fills.get(seat)
        forfeited = seat in closed.forfeited
        last = built(OwnRound, round=closed.round, traded=price is not None, price=price, forfeited=forfeited)
    return built(TurnPart, rounds_left=_rounds_left(state), last_round=last)


def _rounds_left(state: State) -> int:
    return state.scenario.rounds - len(state.rounds)


def my_value(state: State, seat: SeatId) -> MyValue:
    """The seat's own private data."""
    return MyValue(
        role=role_of(seat),
        value=state.private.by_seat[seat],
        price_max=state.scenario.price_max,
        round=state.round,
        rounds_left=_rounds_left(state),
        payoff_so_far=state.payoff[seat],
        rounds_traded=state.rounds_traded[seat],
        rounds_forfeited=state.rounds_forfeited[seat],
    )


def history(state: State, query: HistoryQuery) -> History:
    """Closed rounds. IllegalAction: bad_round_range, unknown_id, too_many_rows."""
    return _shared(state, ("history", query), lambda: _history(state, query))


def _history(state: State, query: HistoryQuery) -> History:
    newest, oldest = _round_range(state, query)
    start = newest if query.cursor is None else query.cursor
    # A cursor goes on with the same question: of another range it would skip or repeat rounds.
    if query.cursor is not None and not oldest <= start <= newest:
        raise _bad_range(state, f"cursor round-{start} is not in the rounds asked for")
    chosen = state.rounds[oldest - 1 : start][::-1][: query.limit or _DEFAULT_ROUNDS]
    if query.trader is not None:
        _require_trader(state, query.trader)
        rows = [_row_of(closed, query.trader) for closed in chosen]
        sizes = [json_bytes(row) for row in rows]
    # Without the cursor, the fifth field: the next page is a call without arguments too.
    elif query[:4] == (None, None, None, None) and len(state.roster.seats) > _MANY_SEATS:
        rows = [_totals_row(closed) for closed in chosen]
        sizes = [json_bytes(row) for row in rows]
    else:
        rows = [closed.row for closed in chosen]
        # Made once per round: full rows are equal for all seats.
        sizes = [closed.row_bytes for closed in chosen]
    count = count_fitting(
        sizes, explicit=query.limit is not None, narrower="limit, first_round and last_round, or trader"
    )
    # Newest first: the list goes on downwards.
    following = start - count
    return History(
        rounds=rows[:count],
        total=max(0, newest - oldest + 1),
        next_cursor=f"round-{following}" if following >= oldest else None,
    )


def _round_range(state: State, query: HistoryQuery) -> tuple[int, int]:
    """Newest and oldest round asked for; (0, 1) while nothing is closed and nothing in particular is asked for."""
    closed = len(state.rounds)
    oldest = 1 if query.first_round is None else query.first_round
    newest = closed if query.last_round is None else query.last_round
    # Without a range an empty history is an answer; a range that is not closed is a mistake.
    ranged = query.first_round is not None or query.last_round is not None
    if newest > closed or (ranged and oldest > newest):
        raise _bad_range(state, f"rounds {oldest}..{newest} are not closed rounds in rising order")
    return newest, oldest


def _bad_range(state: State, message: str) -> IllegalAction:
    closed = len(state.rounds)
    hint = (
        f"rounds 1..{closed} are closed; ask for a range within" if closed else "no round is closed yet; submit_quote"
    )
    return IllegalAction("bad_round_range", message, hint=hint)


def _require_trader(state: State, trader: SeatId) -> None:
    if trader not in state.payoff:
        roster = state.roster
        raise IllegalAction(
            "unknown_id",
            "there is no such trader",
            hint=f"traders are {roster.buyers[0]}..{roster.buyers[-1]} and {roster.sellers[0]}..{roster.sellers[-1]}",
        )


def _row_of(closed: ClosedRound, trader: SeatId) -> HistoryRow:
    full = closed.row
    return HistoryRow(
        round=closed.round,
        # Only the lists are narrowed; the totals stay those of the whole round.
        quotes=[quote for quote in full.quotes or () if quote.trader == trader],
        trades=[trade for trade in full.trades or () if trader in (trade.buyer, trade.seller)],
        forfeited=[seat for seat in closed.forfeited if seat == trader],
        totals=closed.totals,
    )


def _totals_row(closed: ClosedRound) -> HistoryRow:
    return HistoryRow(round=closed.round, quotes=None, trades=None, forfeited=None, totals=closed.totals)


def _window(state: State, rounds: int) -> list[ClosedRound]:
    """The last `rounds` closed rounds, oldest first."""
    return state.rounds[-rounds:]


def _mean(numbers: Sequence[int]) -> float | None:
    return round(sum(numbers) / len(numbers), _DECIMALS) if numbers else None


def _spread(numbers: Sequence[int]) -> float | None:
    """Population standard deviation, from integer sums."""
    count = len(numbers)
    if not count:
        return None
    # In integers until the root: the difference of two large float sums could fall below 0.
    squares = count * sum(number * number for number in numbers) - sum(numbers) ** 2
    return round(math.sqrt(squares) / count, _DECIMALS)


def book_statistics(state: State, window: int) -> BookStatistics:
    """Figures of the last `window` closed rounds; empty before the first one closes.

    Prices in points, means and deviations to six decimals. Nothing of the open round enters.
    """
    return _shared(state, ("book", window), lambda: _book_statistics(state, window))


def _book_statistics(state: State, window: int) -> BookStatistics:
    chosen = _window(state, window)
    prices = [match.price for closed in chosen for match in closed.matches]
    step = 1
    depth: list[DepthRow] = []
    if chosen:
        step, depth = _depth(chosen[-1], state.scenario.price_max)
    return BookStatistics(
        rounds=[_book_row(closed) for closed in reversed(chosen)],
        pooled=PooledStatistics(
            rounds=len(chosen), trades=len(prices), price_mean=_mean(prices), price_sd=_spread(prices)
        ),
        depth=depth,
        depth_step=step,
    )


def _book_row(closed: ClosedRound) -> BookRow:
    prices = [match.price for match in closed.matches]
    # Trades are in rank order, so the last pair is the marginal one.
    last = closed.matches[-1] if closed.matches else None
    return BookRow(
        round=closed.round,
        bids=len(closed.bids),
        asks=len(closed.asks),
        best_bid=max(closed.bids.values(), default=None),
        best_ask=min(closed.asks.values(), default=None),
        trades=len(prices),
        price_min=min(prices, default=None),
        price_mean=_mean(prices),
        price_max=max(prices, default=None),
        marginal_bid=last.bid if last else None,
        marginal_ask=last.ask if last else None,
        residual_spread=closed.residual_spread,
    )


def _depth(closed: ClosedRound, price_max: int) -> tuple[int, list[DepthRow]]:
    """Quotes per price; beyond 40 prices, per bin of equal width over the whole grid."""
    bids, asks = list(closed.bids.values()), list(closed.asks.values())
    prices = {*bids, *asks}
    # Rounded up, so that the bins cover the whole grid 0..P.
    step = 1 if len(prices) <= _DEPTH_BINS else -(-(price_max + 1) // _DEPTH_BINS)
    starts = sorted({price - price % step for price in prices})
    return step, [
        DepthRow(
            price=start,
            bids=sum(start <= bid < start + step for bid in bids),
            asks=sum(start <= ask < start + step for ask in asks),
        )
        for start in starts
    ]


def _require_history(state: State) -> None:
    if not state.rounds:
        raise IllegalAction(
            "no_history",
            "no round is closed yet, so there are no quotes to analyse",
            hint="view_my_value, then submit_quote",
        )


def _require_price(state: State, prices: Sequence[int]) -> None:
    top = state.scenario.price_max
    if any(price > top for price in prices):
        raise IllegalAction(
            "price_out_of_range", f"prices are whole points from 0 to {top}", hint=f"ask for prices of 0..{top}"
        )


def fill_belief(state: State, seat: SeatId, price: int, window: int) -> FillBelief:
    """GD counts at `price` from the seat's side (8.2). IllegalAction: no_history, price_out_of_range.

    `price` is in the seat's own terms; `probability` is null where nothing was counted (0/0).
    """
    _require_history(state)
    _require_price(state, [price])
    # By role: own-side counts hold the seat's own quotes too, so the belief is equal for a whole side.
    return _shared(
        state, ("fill", role_of(seat), price, window), lambda: _fill_belief(state, role_of(seat), price, window)
    )


def _fill_belief(state: State, role: Role, price: int, window: int) -> FillBelief:
    chosen = _window(state, window)
    top = state.scenario.price_max
    counts = analysis.gd_counts(analysis.flip(price, top, role), [_gd_round(closed, role, top) for closed in chosen])
    belief = counts.belief
    return FillBelief(
        price=price,
        probability=None if belief is None else round(belief, _DECIMALS),
        supporting=counts.supporting,
        opposing=counts.opposing,
        rounds_used=len(chosen),
    )


def _gd_round(closed: ClosedRound, role: Role, top: int) -> analysis.GdRound:
    own, opposite = (closed.bids, closed.asks) if role == "buyer" else (closed.asks, closed.bids)
    split: tuple[list[int], list[int]] = ([], [])
    for seat, price in own.items():
        # False is 0: quotes that traded go into the first list.
        split[seat not in closed.fills].append(analysis.flip(price, top, role))
    return analysis.GdRound(*split, [analysis.flip(price, top, role) for price in opposite.values()])


def surplus_estimate(state: State, seat: SeatId, prices: Sequence[int] | None, window: int) -> SurplusEstimate:
    """Counterfactual replay for the seat (section 5). IllegalAction: no_history, price_out_of_range.

    Prices in the seat's own terms; without `prices` the 25 of `analysis.useful_prices`. Rivals are held fixed, which
    the answer says.
    """
    _require_history(state)
    _require_price(state, prices or ())
    role, top = role_of(seat), state.scenario.price_max
    value = analysis.flip(state.private.by_seat[seat], top, role)
    rounds = [_rivals(closed, seat, role, top) for closed in _window(state, window)]
    asked = (
        analysis.useful_prices(value, top) if prices is None else [analysis.flip(price, top, role) for price in prices]
    )
    # Not shared: these rows rest on the seat's private value.
    rows = [analysis.outlook(price, value, rounds) for price in asked]
    # Of equal means the higher price in buyer terms, the least shaded (section 5).
    best = max(rows, key=lambda row: (row.mean_surplus, row.price))
    return SurplusEstimate(
        rows=[_price_row(row, role, top) for row in rows],
        best_price=analysis.flip(best.price, top, role),
        rounds_used=len(rounds),
        rivals="held fixed at their published quotes",
    )


def _price_row(row: analysis.PriceOutlook, role: Role, top: int) -> PriceRow:
    met = row.mean_price_if_filled
    return PriceRow(
        price=analysis.flip(row.price, top, role),
        fill_share=row.fill_share,
        mean_price_if_filled=met if met is None or role == "buyer" else round(top - met, _DECIMALS),
        mean_surplus=row.mean_surplus,
    )


def _rivals(closed: ClosedRound, seat: SeatId, role: Role, top: int) -> analysis.Rivals:
    own, opposite = (closed.bids, closed.asks) if role == "buyer" else (closed.asks, closed.bids)
    return analysis.Rivals(
        sorted(analysis.flip(price, top, role) for other, price in own.items() if other != seat),
        sorted(analysis.flip(price, top, role) for price in opposite.values()),
    )


def summaries(
    state: State, role: Literal["buyer", "seller", "any"], window: int, limit: int | None, cursor: SeatId | None
) -> TraderSummaries:
    """Published behaviour per trader, in seat order. IllegalAction: no_history, unknown_id, too_many_rows.

    Statistics of published quotes and trades only, in points: neither payoffs nor values.
    """
    _require_history(state)
    key = ("traders", role, window, limit, cursor)
    return _shared(state, key, lambda: _summaries(state, role, window, limit, cursor))


def _summaries(
    state: State, role: Literal["buyer", "seller", "any"], window: int, limit: int | None, cursor: SeatId | None
) -> TraderSummaries:
    chosen = _window(state, window)
    traders = [seat for seat in state.roster.seats if role in ("any", role_of(seat))]
    start = 0
    if cursor is not None:
        _require_trader(state, cursor)
        # The cursor of another role has no place in this list.
        if cursor not in traders:
            raise IllegalAction(
                "unknown_id", f"{cursor} is no {role}", hint="use the cursor with the role it came from"
            )
        start = traders.index(cursor)
    page = traders[start : start + (limit or _DEFAULT_TRADERS)]
    rows = [_trader_row(seat, chosen) for seat in page]
    count = count_fitting([json_bytes(row) for row in rows], explicit=limit is not None, narrower="limit or role")
    following = start + count
    return TraderSummaries(
        traders=rows[:count],
        rounds_used=len(chosen),
        total=len(traders),
        next_cursor=traders[following] if following < len(traders) else None,
    )


def _trader_row(seat: SeatId, rounds: Sequence[ClosedRound]) -> TraderRow:
    role = role_of(seat)
    books = [closed.bids if role == "buyer" else closed.asks for closed in rounds]
    quotes = [book[seat] for book in books if seat in book]
    paid = [closed.fills[seat] for closed in rounds if seat in closed.fills]
    # From one quote to the next, over rounds without one.
    changes = [abs(later - earlier) for earlier, later in pairwise(quotes)]
    return TraderRow(
        trader=seat,
        role=role,
        quotes=len(quotes),
        last=quotes[-1] if quotes else None,
        mean=_mean(quotes),
        min=min(quotes, default=None),
        max=max(quotes, default=None),
        sd=_spread(quotes),
        mean_abs_change=_mean(changes),
        trades=len(paid),
        mean_trade_price=_mean(paid),
    )
