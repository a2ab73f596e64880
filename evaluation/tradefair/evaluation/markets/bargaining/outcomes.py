"""Outcomes of bargaining from the facts of a trace. R = closed rounds, G = v − c, in ticks.

Limits are drawn once per episode: those of the first closed round hold for all. Each small function makes one group of
figures; the models put the groups together, so that a missing or a misspelt figure is an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel

from tradefair.bargaining.model import RoundFacts
from tradefair.contract import SeatId
from tradefair.evaluation.figure import figure
from tradefair.evaluation.outcome import ON_EVERY_SEAT, MarketOutcome, Outcome, SeatOutcome, common_seat
from tradefair.evaluation.read.arithmetic import mean, ratio
from tradefair.evaluation.reading import TraceReading, read_trace
from tradefair.tracestore import Trace


class BargainingSeat(SeatOutcome):
    """What one seat earned of the gap between the limits, how tough it was round by round, and how much it said.

    Letters: R is the number of closed rounds, v the buyer's value, c the seller's cost, G = v − c.
    """

    limit: int | None = figure("own limit", "ticks", on="table")
    """v of the buyer, c of the seller, drawn once for the episode

    Null: no round has closed
    """
    profit: int = figure("profit", "ticks", "higher", over="total", on="table compare primary")
    """Σ over trades of v − price, for the seller of price − c"""
    profit_per_round: float | None = figure("profit a round", "ticks a round", "higher")
    """profit / R

    Null: no round has closed
    """
    surplus_share: float | None = figure(
        "share of the surplus on the table", "share", "higher", short="share of surplus", on="table compare"
    )
    """max(0, profit) / (R · G): above 1 where the other seat traded at a loss

    Null: no round has closed, or G is 0 or less
    Source: PACT (Mazur): seat_surplus_share_map of its logs, which writes 0 where nothing can be gained
    """
    surplus_share_raw: float | None = figure(
        "share of the surplus on the table, losses counted", "share", "higher", short="share, losses counted"
    )
    """profit / (R · G)

    Null: no round has closed, or G is 0 or less
    """
    forfeits: int = figure("forfeits", "rounds", "lower", on="table")
    """closed rounds without a quote of the seat"""
    loss_rounds: int = figure("losing rounds", "rounds", "lower")
    """rounds with a profit below 0"""
    losses: int = figure("losses", "ticks", "lower", on="table")
    """−Σ of the profits below 0: 0 or more"""
    hindsight_profit: int = figure("profit in hindsight", "ticks")
    """Σ over rounds of max(0, what a trade at the counterpart's own quote would have earned); 0 in a round that it
    forfeited; another quote might have changed it
    """
    hindsight_regret: int = figure("missed in hindsight", "ticks", "lower", short="missed", on="table compare")
    """hindsight_profit − profit"""
    messages: int = figure("messages", "messages")
    """closed talk turns of the seat that were not silent"""
    words: int = figure("words", "words")
    """Σ over messages of their words, as the market counts them"""
    quote_offsets: list[int | None] = figure("quote offsets", "ticks")
    """by closed round v − bid, for the seller ask − c: above 0 it is inside the limit

    Null: an entry is null where the seat left no quote
    Source: PACT (Mazur): quote less own value, bids of buyers taken as negative
    """
    opponent_offsets: list[int | None] = figure("opponent's quote offsets", "ticks")
    """the counterpart's quote_offsets: how tough it was

    Null: an entry is null where it left no quote
    Source: PACT (Mazur): quote less own value, bids of buyers taken as negative
    """
    trade_offsets: list[int | None] = figure("trade offsets", "ticks")
    """by closed round v − price, for the seller price − c

    Null: an entry is null without a trade
    Source: PACT (Mazur): price less own value, bids of buyers taken as negative
    """
    traded: list[bool] = figure("traded", "yes or no")
    """by closed round, whether there was a trade"""
    profits: list[int] = figure("profit by round", "ticks", "higher")
    """by closed round, the seat's profit"""


class BargainingMarket(MarketOutcome):
    """Both seats together: what there was to gain, how much of it they took and how they divided it."""

    law: str | None = figure("law of limits", "name")
    """name of the law from which the limits were drawn

    Null: no round has closed
    """
    gap: int | None = figure("gap", "ticks")
    """G = v − c

    Null: no round has closed
    """
    potential: int = figure("potential", "ticks")
    """R · max(0, G)"""
    trades: int = figure("trades", "trades")
    """closed rounds with a trade"""
    trade_frequency: float | None = figure("trade frequency", "share")
    """trades / R

    Null: no round has closed
    """
    any_trade: bool = figure("any trade", "yes or no")
    """trades > 0"""
    efficiency: float | None = figure("efficiency", "share", "higher", on="compare")
    """Σ of both profits / potential

    Null: potential is 0
    """
    price_mean: float | None = figure("mean price", "ticks")
    """mean over trades

    Null: no trade
    """
    price_position: float | None = figure("seller's share of the gap", "share", short="seller's share", on="compare")
    """mean over trades of (price − c) / G

    Null: no trade, or G is 0 or less
    """
    first_trade_round: int = figure("first trade", "round", on="compare")
    """round of the first trade; R + 1 without one"""
    lossy_trades: int = figure("losing trades", "trades", "lower")
    """trades that cost either side money"""
    partial: bool = figure("partial", "yes or no")
    """fewer rounds closed than the scenario asks for"""


class BargainingBeside(BaseModel):
    """What a seat has beside references, on the same scenario and seed."""

    normalised_regret: float | None = figure(
        "regret between passive and the reference",
        "share",
        "lower",
        short="normalised regret",
        caution="0 is a reference that knows hidden facts, but is no bound, 1 passive; it can fall below 0",
    )
    """(reference − agent) / (reference − passive), profits on the same limits; the reference is the policy oracle,
    which knows the other's limit and is no maximum: below 0 is possible

    Null: a reference was not played, or it earned no more than passive
    """
    over_equilibrium: float | None = figure(
        "over the equilibrium",
        "ticks",
        "higher",
        caution="profit over what linear_equilibrium earns against itself on the same limits",
    )
    """profit − what linear_equilibrium earns in this seat against itself on the same limits

    Null: that reference was not played
    """


BargainingOutcome = Outcome[BargainingSeat, BargainingMarket]


def bargaining_outcome(trace: Trace, version: str) -> BargainingOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it."""
    talk: dict[SeatId, _Talk] = {}
    reading = read_trace(trace, lambda _: lambda seq, event: _hear(talk, event))
    rounds = [typed for facts in reading.rounds if (typed := reading.typed(facts, RoundFacts)) is not None]
    seats = {seat: _seat(reading, rounds, seat, talk.get(seat, _Talk(0, 0))) for seat in reading.conduct}
    return BargainingOutcome.of(reading, version, seats, _market(reading, rounds))


def relative_to_references(
    seat: SeatId, outcomes: Mapping[str, BargainingOutcome]
) -> dict[str, dict[str, float | None]]:
    """Per label the normalised regret, and the profit over that of the equilibrium pair, on the same limits.

    `outcomes` are those of one seed by label: the run itself and its re-runs. Null where a reference is missing.
    """
    profits = {label: outcome.seats[seat].profit for label, outcome in outcomes.items()}
    # Labels as the runner gives them to re-runs of the same game and seed with a policy on this seat.
    passive, oracle = profits.get("policy:passive"), profits.get("policy:oracle")
    # On both seats: the equilibrium is one of the pair, and against an agent the policy would earn something else.
    equilibrium = profits.get(f"{ON_EVERY_SEAT}linear_equilibrium")
    return {
        label: {
            "normalised_regret": _normalised_regret(profit, passive, oracle),
            "over_equilibrium": None if equilibrium is None else profit - equilibrium,
        }
        for label, profit in profits.items()
    }


def _normalised_regret(profit: int, passive: int | None, oracle: int | None) -> float | None:
    """(reference − agent)/(reference − passive): 0 is the policy oracle, 1 is passive; null unless that earned more."""
    # That reference is a strong rule and no bound, so that an agent may earn more and the regret fall below 0.
    if passive is None or oracle is None or oracle <= passive:
        return None
    return ratio(oracle - profit, oracle - passive)


class _Talk(NamedTuple):
    """What one seat said, counted."""

    messages: int
    words: int


def _hear(talk: dict[SeatId, _Talk], event: dict[str, object]) -> None:
    # The public result of a talk phase is not typed here: this runs on every event of traces that no rules have made.
    """Called with every event of the trace. Counts are of words as the market counted them when it closed the talk."""
    public = event.get("public") if event.get("event") == "phase_closed" else None
    if isinstance(public, dict):
        seat, words, silent = (public.get(name) for name in ("seat", "words", "silent"))  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        # Silence closes a talk phase as well. Counted as a message it would hide that a seat never spoke.
        if isinstance(seat, str) and isinstance(words, int) and not silent:
            before = talk.get(seat, _Talk(0, 0))
            talk[seat] = _Talk(before.messages + 1, before.words + words)


def _seat(reading: TraceReading, rounds: Sequence[RoundFacts], seat: SeatId, talk: _Talk) -> BargainingSeat:
    """All figures of one seat, in the groups of the functions below."""
    buys = reading.roles[seat] == "buyer"
    return BargainingSeat(
        **common_seat(reading, seat),
        **_earnings(rounds, buys),
        **_hindsight(rounds, buys),
        **_offsets_of(rounds, buys),
        **talk._asdict(),
    )


def _profits(rounds: Sequence[RoundFacts], buys: bool) -> list[int]:
    return [closed.record.profit_buyer if buys else closed.record.profit_seller for closed in rounds]


def _quotes(rounds: Sequence[RoundFacts], buys: bool) -> list[int | None]:
    return [closed.record.bid if buys else closed.record.ask for closed in rounds]


def _earnings(rounds: Sequence[RoundFacts], buys: bool) -> dict[str, Any]:
    """Profits in ticks over all closed rounds, as shares of R·G, and what lossy rounds cost."""
    profits, most = _profits(rounds, buys), _possible(rounds)
    losses = [-profit for profit in profits if profit < 0]
    return {
        "limit": _limit(rounds, buys),
        "profit": sum(profits),
        "profit_per_round": ratio(sum(profits), len(rounds)),
        # As the source's `seat_surplus_share_map`; `surplus_share_raw` next to it keeps losses.
        "surplus_share": ratio(max(0, sum(profits)), most),
        "surplus_share_raw": ratio(sum(profits), most),
        # Under the rule `own_limit` a lapse still leaves a quote: only rounds without one count.
        "forfeits": sum(quote is None for quote in _quotes(rounds, buys)),
        "loss_rounds": len(losses),
        "losses": sum(losses),
        "profits": profits,
    }


def _hindsight(rounds: Sequence[RoundFacts], buys: bool) -> dict[str, Any]:
    """The best reply to the counterpart's quotes as they were, and what was missed; 0 in a round that it forfeited."""
    limit = _limit(rounds, buys)
    # The counterpart's quotes by the seat's own limit: what a trade at exactly that quote would have earned.
    quotes = [] if limit is None else _offsets(_sign(buys), limit, _quotes(rounds, not buys))
    best = sum(max(0, offset) for offset in quotes if offset is not None)
    return {"hindsight_profit": best, "hindsight_regret": best - sum(_profits(rounds, buys))}


def _offsets_of(rounds: Sequence[RoundFacts], buys: bool) -> dict[str, Any]:
    """Trajectories by round, in ticks: above 0 a quote or a price lies inside the limit."""
    limit, sign = _limit(rounds, buys), _sign(buys)
    prices = [closed.record.price for closed in rounds]
    return {
        "quote_offsets": _offsets(sign, limit, _quotes(rounds, buys)),
        # By the counterpart's limit and in its sense: how tough it was, not how good its quote was for this seat.
        "opponent_offsets": _offsets(-sign, _limit(rounds, not buys), _quotes(rounds, not buys)),
        "trade_offsets": _offsets(sign, limit, prices),
        "traded": [price is not None for price in prices],
    }


def _sign(buys: bool) -> int:
    """1 for the buyer, -1 for the seller: makes "inside the limit" positive for both."""
    return 1 if buys else -1


def _limit(rounds: Sequence[RoundFacts], buys: bool) -> int | None:
    """The seat's own limit in ticks: v of the buyer, c of the seller; null before the first round closed."""
    if not rounds:
        return None
    opening = rounds[0].opening
    return opening.buyer_value if buys else opening.seller_cost


def _offsets(sign: int, limit: int | None, prices: Sequence[int | None]) -> list[int | None]:
    """s(L − x) by round: how far inside the limit; null where there is no such price."""
    return [None if price is None or limit is None else sign * (limit - price) for price in prices]


def _possible(rounds: Sequence[RoundFacts]) -> int:
    """R·G, 0 where nothing can be gained.

    In ticks: the denominator of shares and efficiency.
    """
    # A negative G would turn every share around: nothing can be gained, and `ratio` makes such shares null.
    return max(0, rounds[0].opening.gap) * len(rounds) if rounds else 0


def _market(reading: TraceReading, rounds: Sequence[RoundFacts]) -> BargainingMarket:
    """Figures of the pair. `partial` compares closed rounds with those that the scenario asks for."""
    asked = reading.core.scenario.get("rounds") if reading.core else None
    return BargainingMarket(
        # Nothing ends a game early but a limit or a failure: the episode then says less, and ratings set it apart.
        **_opening(rounds),
        **_trades(rounds),
        **_split(rounds),
        partial=isinstance(asked, int) and len(rounds) < asked,
    )


def _opening(rounds: Sequence[RoundFacts]) -> dict[str, Any]:
    """The law of the limits and the gap between them; null before the first round closed.

    The first closure stands for all: limits are drawn once per episode.
    """
    opening = rounds[0].opening if rounds else None
    return {
        "law": opening.law if opening else None,
        "gap": opening.gap if opening else None,
        "potential": _possible(rounds),
    }


def _trades(rounds: Sequence[RoundFacts]) -> dict[str, Any]:
    """Number and share of traded rounds, and the first of them."""
    trades = [closed.record.round for closed in rounds if closed.record.price is not None]
    return {
        "trades": len(trades),
        "trade_frequency": ratio(len(trades), len(rounds)),
        "any_trade": bool(trades),
        # R + 1 stands for "never", so that means over episodes exist; it is censored, not a round.
        "first_trade_round": trades[0] if trades else len(rounds) + 1,
        "lossy_trades": sum(min(closed.record.profit_buyer, closed.record.profit_seller) < 0 for closed in rounds),
    }


def _split(rounds: Sequence[RoundFacts]) -> dict[str, Any]:
    """What both earned of what there was, and how the mean trade divided it.

    Efficiency and the seller's share of G. Null where nothing can be gained; the position also without a trade.
    """
    prices = [closed.record.price for closed in rounds if closed.record.price is not None]
    surplus = sum(closed.record.profit_buyer + closed.record.profit_seller for closed in rounds)
    # A share of no gap, or of a negative one, is no position between two limits.
    opening = rounds[0].opening if rounds and rounds[0].opening.gap > 0 else None
    positions = [(price - opening.seller_cost) / opening.gap for price in prices] if opening else []
    return {
        "efficiency": ratio(surplus, _possible(rounds)),
        "price_mean": mean(prices),
        "price_position": mean(positions),
    }
