"""Charts of a bargaining game: how the quotes met, and who gained; and of many games, the published ones by label."""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.bargaining.model import BUYER, SELLER, RoundFacts
from tradefair.evaluation.charts.by_label import ByLabel, Words, average, number, rounds, with_values
from tradefair.evaluation.charts.chart import Axis, Band, BarChart, Bars, Chart, Line, XYChart
from tradefair.evaluation.markets.bargaining.modes.commitments import promised_price
from tradefair.evaluation.markets.bargaining.modes.reading import read_game
from tradefair.evaluation.outcome import PlayedSeat
from tradefair.evaluation.reading import read_trace
from tradefair.tracestore import Trace

_ROUND = Axis(label="round")
_PROFIT = Axis(label="profit a round", unit="ticks")
_OFFSET = Axis(label="value − bid, ask − cost", unit="ticks")
_GAIN = Axis(label="value − price, price − cost", unit="ticks")
_TRADED = Axis(label="share of rounds with a trade")
_SIGN = "turned by role so that above 0 is inside the seat's own limit"
# The README of the source: "offset = quote − valuation, with buyer bids treated as negative".
_QUOTED = f"Offset: quote less own value or cost, {_SIGN}. As in PACT's charts (Lech Mazur)."
_DEALT = f"Offset: price less own value or cost, {_SIGN}. As in PACT's charts (Lech Mazur)."
_THEIRS = f"The other seat's quote less its own value or cost, {_SIGN}. As in PACT's charts (Lech Mazur)."


def board_charts(seats: Sequence[PlayedSeat], labels: Sequence[str]) -> list[Chart]:
    """What labels earned, asked and got in all games: the charts that PACT publishes (Lech Mazur), without its ranking.

    By round means over seats; money in ticks.
    """
    by = ByLabel(seats, labels)
    strip, lines = "One dot per seat and game.", "Mean over seats."
    return with_values(
        [
            by.strip(Words("profit_strip", "Profit a round, by game", strip, _PROFIT), number("profit_per_round")),
            by.by_round(Words("profit_by_round", "Profit by round", f"{lines} 0 without a trade.", _PROFIT), "profits"),
            by.by_round(Words("bid_offset_by_round", "Quote offset by round", _QUOTED, _OFFSET), "quote_offsets"),
            by.by_round(Words("trade_offset_by_round", "Trade offset by round", _DEALT, _GAIN), "trade_offsets"),
            by.means(Words("average_offset", "Average quote offset", _QUOTED, _OFFSET), average("quote_offsets")),
            by.by_round(
                Words("opponent_offset_by_round", "Opponent's quote offset by round", _THEIRS, _OFFSET),
                "opponent_offsets",
            ),
            by.strip(
                Words("game_offset_strip", "Mean quote offset, by game", f"{strip} {_QUOTED}", _OFFSET),
                average("quote_offsets"),
            ),
            by.strip(
                Words("all_bid_offsets", "Offsets of all quotes", f"One dot per quote. {_QUOTED}", _OFFSET),
                rounds("quote_offsets"),
            ),
            by.strip(
                Words("all_trade_offsets", "Offsets of all trades", f"One dot per trade. {_DEALT}", _GAIN),
                rounds("trade_offsets"),
            ),
            by.means(Words("trade_frequency", "Trade frequency", "", _TRADED), average("traded"), share=True),
            by.means(
                Words("games_with_a_trade", "Games with a trade", "", Axis(label="share of games with a trade")),
                lambda seat: [float(any(seat.series["traded"]))],
                share=True,
            ),
            by.by_round(Words("trade_frequency_by_round", "Trade frequency by round", lines, _TRADED), "traded"),
        ]
    )


def charts(trace: Trace) -> list[Chart]:
    """The charts that the closed rounds allow; none before the first."""
    reading = read_trace(trace)
    # Facts that do not fit are left out: a chart of a damaged trace shows what can be read.
    rounds = [typed for facts in reading.rounds if (typed := reading.typed(facts, RoundFacts)) is not None]
    if not rounds:
        return []
    drawn: list[Chart] = [_quotes(rounds, _promised(trace)), _profits(rounds), _gains(rounds)]
    return drawn


def _promised(trace: Trace) -> list[Line]:
    """The own quote that each seat's words bound it to, by round; nothing for a seat that promised none."""
    game = read_game(trace)
    lines: list[Line] = []
    for side in map(game.side, game.seats):
        bound = {closed.number: promised_price(side, closed.number) for closed in side.rounds}
        # A line of gaps only would take a place in the legend.
        if any(price is not None for price in bound.values()):
            at = [float(number) for number in bound]
            lines.append(Line(name=f"promised by {side.seat}", x=at, y=[*bound.values()], mark="dots", faint=True))
    return lines


def _quotes(rounds: list[RoundFacts], promised: list[Line]) -> XYChart:
    """Bids, asks and prices by round in ticks, with both limits as bands and promised quotes as faint dots."""
    at = [float(closed.record.round) for closed in rounds]
    opening = rounds[0].opening
    return XYChart(
        id="quotes",
        title="Quotes and prices by round",
        note="A round trades where the bid reaches the ask; the limits are known to their own seat only."
        + (" Promised: what firm words bound a seat to, read mechanically." if promised else ""),
        x=_ROUND,
        y=Axis(label="price", unit="ticks"),
        lines=[
            Line(name=f"bid of {BUYER}", x=at, y=[closed.record.bid for closed in rounds]),
            Line(name=f"ask of {SELLER}", x=at, y=[closed.record.ask for closed in rounds]),
            Line(name="price", x=at, y=[closed.record.price for closed in rounds], mark="dots"),
            *promised,
        ],
        bands=[
            Band(label="value", low=opening.buyer_value, high=opening.buyer_value),
            Band(label="cost", low=opening.seller_cost, high=opening.seller_cost),
        ],
    )


def _profits(rounds: list[RoundFacts]) -> XYChart:
    at = [float(closed.record.round) for closed in rounds]
    return XYChart(
        id="profits",
        title="Cumulative profit",
        x=_ROUND,
        y=Axis(label="profit", unit="ticks"),
        lines=[Line(name=seat, x=at, y=[closed.profit.get(seat) for closed in rounds]) for seat in (BUYER, SELLER)],
    )


def _gains(rounds: list[RoundFacts]) -> BarChart:
    # `profit` of a closure is cumulative, so that the last one holds the totals.
    profit, most = rounds[-1].profit, rounds[0].opening.gap * len(rounds)
    return BarChart(
        id="gains",
        title="Who gained",
        note="The mark is half of what both could have earned together.",
        x=Axis(label="profit", unit="ticks"),
        y=Axis(label="seat"),
        names=[BUYER, SELLER],
        bars=Bars(name="profit", values=[profit.get(BUYER), profit.get(SELLER)]),
        # Without a gap there is nothing to halve, and a mark at or below 0 would look like a target.
        marks=Bars(name="half of R·G", values=[most / 2, most / 2]) if most > 0 else None,
    )
