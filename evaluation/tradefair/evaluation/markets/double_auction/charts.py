"""Charts of a double auction: supply and demand, prices, offsets, who gained, efficiency.

And of many: the published ones by label.
"""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.contract import SeatId
from tradefair.double_auction.model import EndingFacts, OpeningFacts, RoundFacts
from tradefair.evaluation.charts.by_label import ByLabel, Words, average, number, rounds, spaced, with_values
from tradefair.evaluation.charts.chart import Axis, Band, BarChart, Bars, Chart, HeatChart, Line, XYChart
from tradefair.evaluation.charts.schedules import competitive, supply_and_demand
from tradefair.evaluation.figures import heading_of
from tradefair.evaluation.outcome import PlayedSeat
from tradefair.evaluation.read.arithmetic import middle
from tradefair.evaluation.reading import TraceReading, agent_seats, read_trace
from tradefair.tracestore import Trace

_ROUND = Axis(label="round")
_POINTS = Axis(label="price", unit="points")
_OFFSET = Axis(label="value − bid, ask − cost", unit="points")
_GAIN = Axis(label="value − price, price − cost", unit="points")
# Trades of one side in the chart of prices against values.
_MOST_TRADES = 800
# The source's charts leave the sign of buyers as it is; one axis for both roles needs it turned.
_SIGN = "turned by role so that above 0 is inside its own value"
_SOURCE = "After BAZAAR's charts (Lech Mazur)."
_QUOTED = f"Offset: quote less own value or cost, {_SIGN}. {_SOURCE}"
_DEALT = f"Offset: price less own value or cost, {_SIGN}: what the trade earned. {_SOURCE}"


def board_charts(seats: Sequence[PlayedSeat], labels: Sequence[str], score: str) -> list[Chart]:
    """How labels scored, quoted and traded in all games: the charts that BAZAAR publishes (Lech Mazur).

    By round medians over seats; prices in points.
    """
    by, named = ByLabel(seats, labels), heading_of("double_auction", score)
    dot = "One dot per seat and game."
    return [
        *with_values(
            [
                by.strip(Words("score_strip", f"{named} of every seat", dot, Axis(label=named)), number(score)),
                by.means(Words("average_offset", "Mean offset of quotes", _QUOTED, _OFFSET), average("offsets")),
                by.strip(
                    Words("game_offset_strip", "Mean offset, by game", f"{dot} {_QUOTED}", _OFFSET), average("offsets")
                ),
                by.by_round(
                    Words("offset_by_round", "Median offset by round", f"Median over seats. {_QUOTED}", _OFFSET),
                    "offsets",
                    middle,
                ),
                by.strip(
                    Words(
                        "all_trade_offsets", "Trade prices against own values", f"One dot per trade. {_DEALT}", _GAIN
                    ),
                    rounds("trade_offsets"),
                ),
                by.means(
                    Words("trade_frequency", "Trade frequency", "", Axis(label="share of rounds with a trade")),
                    average("traded"),
                    share=True,
                ),
            ]
        ),
        *_prices_by_value(seats),
    ]


def _prices_by_value(seats: Sequence[PlayedSeat]) -> list[Chart]:
    """A dot per trade and side at its own value and the price that it got, both in points."""
    lines: list[Line] = []
    counts: list[str] = []
    for role, sign in (("buyer", 1), ("seller", -1)):
        trades = [
            (price + sign * offset, price)
            for seat in seats
            if seat.role == role
            for price, offset in zip(seat.series["trade_prices"], seat.series["trade_offsets"], strict=True)
            if price is not None and offset is not None
        ]
        places = spaced(sorted(trades), _MOST_TRADES)
        counts.append(f"{len(places):,} of {len(trades):,} trades of {role}s")
        lines.append(Line(name=f"{role}s", x=[at for at, _ in places], y=[price for _, price in places], mark="dots"))
    if not any(line.x for line in lines):
        return []
    ends = [min(at for line in lines for at in line.x), max(at for line in lines for at in line.x)]
    chart = XYChart(
        id="price_against_value",
        title="Price against value",
        note=f"Below the line a buyer gains, above it a seller. {' and '.join(counts)}, evenly spaced by value.",
        x=Axis(label="own value or cost", unit="points"),
        y=_POINTS,
        lines=[*lines, Line(name="price = value", x=ends, y=[*ends], faint=True)],
    )
    return [chart]


def charts(trace: Trace) -> list[Chart]:
    """The charts that the closed rounds allow; none before the first."""
    reading = read_trace(trace)
    typed = (reading.typed(facts, RoundFacts) for facts in reading.rounds)
    rounds = [closed for closed in typed if closed is not None]
    opening = _opening(reading, rounds)
    if opening is None or not rounds:
        return []
    # In the manifest's order, which every chart keeps: a reader compares rows across charts.
    roles = {seat.id: seat.role for seat in reading.core.seats} if reading.core else {}
    # Facts may lack a seat of a damaged trace; a row of it would only raise a KeyError below.
    seats = [seat for seat in roles if seat in opening.values]
    under_test = agent_seats(reading.seating)
    drawn: list[Chart] = [
        *(_path(opening, roles[seat], seat, rounds) for seat in seats if seat in under_test),
        _supply_and_demand(opening, roles, rounds),
        _prices(opening, rounds),
        *_overcharge(opening, rounds),
        _offsets(opening, roles, seats, rounds),
        _gains(opening, seats, rounds),
        _efficiency(rounds),
        _trading(seats, rounds),
    ]
    return drawn


def _path(opening: OpeningFacts, role: str, seat: SeatId, rounds: Sequence[RoundFacts]) -> XYChart:
    """What one seat did: its quote by round next to its value or cost, its trades, and the mean price of the market."""
    at = [float(closed.round) for closed in rounds]
    trades = [
        (closed.round, match.price)
        for closed in rounds
        for match in closed.matches
        if seat in (match.buyer, match.seller)
    ]
    means = [_mean([match.price for match in closed.matches]) for closed in rounds]
    limit = opening.values[seat]
    return XYChart(
        id=f"path_{seat}",
        title=f"Quotes and trades of {seat}",
        accent=f"quote of {seat}",
        note=f"It gains where it trades {'below its value' if role == 'buyer' else 'above its cost'}; a gap: no quote.",
        x=_ROUND,
        y=_POINTS,
        lines=[
            Line(name=f"quote of {seat}", mark="step", x=at, y=[closed.quotes.get(seat) for closed in rounds]),
            Line(name="value" if role == "buyer" else "cost", x=at, y=[limit for _ in rounds]),
            Line(name="mean price of the round", x=at, y=means, faint=True),
            Line(name=f"trades of {seat}", mark="dots", x=[x for x, _ in trades], y=[price for _, price in trades]),
        ],
    )


def _opening(reading: TraceReading, rounds: Sequence[RoundFacts]) -> OpeningFacts | None:
    ending = reading.typed(reading.ending, EndingFacts) if reading.ending else None
    return next((closed.opening for closed in rounds if closed.opening), ending.opening if ending else None)


def _supply_and_demand(opening: OpeningFacts, roles: dict[SeatId, str], rounds: Sequence[RoundFacts]) -> XYChart:
    """The first `k` units run from k − 1 to k: a step starts where its unit does."""
    values, costs = (
        [value for seat, value in opening.values.items() if roles.get(seat) == role] for role in ("buyer", "seller")
    )
    # At the number of units of the round: a dot left of the crossing shows trades that were missed.
    trades = [(len(closed.matches), match.price) for closed in rounds for match in closed.matches]
    return XYChart(
        id="supply_and_demand",
        title="Supply, demand and the prices that were paid",
        note="Values fall and costs rise with every unit; trades stand at the number of units of their round.",
        x=Axis(label="units per round"),
        y=_POINTS,
        lines=[
            *supply_and_demand(values, costs),
            Line(name="trades", x=[at for at, _ in trades], y=[price for _, price in trades], mark="dots"),
        ],
        bands=competitive(opening.p_lo, opening.p_hi),
    )


def _prices(opening: OpeningFacts, rounds: Sequence[RoundFacts]) -> XYChart:
    """All trades as dots and the mean of each round as a line, in points; the band is [p_lo, p_hi]."""
    trades = [(closed.round, match.price) for closed in rounds for match in closed.matches]
    means = [_mean([match.price for match in closed.matches]) for closed in rounds]
    return XYChart(
        id="prices",
        title="Clearing prices by round",
        note="One dot per trade; the line is the round's mean.",
        x=_ROUND,
        y=_POINTS,
        lines=[
            Line(name="mean price", x=[closed.round for closed in rounds], y=means),
            Line(name="trades", x=[at for at, _ in trades], y=[price for _, price in trades], mark="dots"),
        ],
        bands=competitive(opening.p_lo, opening.p_hi),
    )


def _overcharge(opening: OpeningFacts, rounds: Sequence[RoundFacts]) -> list[XYChart]:
    """How far prices stood from the competitive one; no chart where nothing could be gained."""
    if opening.p_lo is None or opening.p_hi is None:
        return []
    # p* of the outcomes, so that the chart shows the same overcharge as `lab collusion`.
    middle = (opening.p_lo + opening.p_hi) / 2
    gaps = [_mean([match.price - middle for match in closed.matches]) for closed in rounds]
    chart = XYChart(
        id="overcharge",
        title="Overcharge by round",
        note="Mean price less the middle of the equilibrium prices. Above: sellers gain by it; below: buyers.",
        x=_ROUND,
        y=Axis(label="price − p*", unit="points"),
        lines=[Line(name="overcharge", mark="step", x=[closed.round for closed in rounds], y=gaps)],
        bands=[Band(label="equilibrium prices", low=opening.p_lo - middle, high=opening.p_hi - middle)],
    )
    return [chart]


def _offsets(
    opening: OpeningFacts, roles: dict[SeatId, str], seats: Sequence[SeatId], rounds: Sequence[RoundFacts]
) -> XYChart:
    """One panel per seat. Offsets in points by round, null where the seat had no quote."""

    def offset(seat: SeatId, closed: RoundFacts) -> float | None:
        quote = closed.quotes.get(seat)
        gap = None if quote is None else opening.values[seat] - quote
        return gap if gap is None or roles[seat] == "buyer" else -gap

    return XYChart(
        id="offsets",
        title="How far quotes stayed from value or cost",
        note="Value − bid, or ask − cost. Zero is truthful; below zero a trade can lose. A gap: no quote.",
        x=_ROUND,
        y=Axis(label="offset", unit="points"),
        lines=[
            Line(
                name="offset",
                panel=f"{seat} · {'value' if roles[seat] == 'buyer' else 'cost'} {opening.values[seat]}",
                x=[closed.round for closed in rounds],
                y=[offset(seat, closed) for closed in rounds],
                mark="step",
            )
            for seat in seats
        ],
        bands=[Band(label="truthful", low=0, high=0)],
    )


def _gains(opening: OpeningFacts, seats: Sequence[SeatId], rounds: Sequence[RoundFacts]) -> BarChart:
    """Payoffs of all rounds in points by seat; the marks are R·potential."""
    earned = heading_of("double_auction", "payoff")
    return BarChart(
        id="gains",
        title="Who gained",
        note="Over all rounds, next to the most that trades without loss to the partner could have given it.",
        x=Axis(label=earned, unit="points"),
        y=Axis(label="seat"),
        names=list(seats),
        bars=Bars(name=earned, values=[sum(closed.payoff.get(seat, 0) for closed in rounds) for seat in seats]),
        marks=Bars(name="potential", values=[opening.potentials.get(seat, 0) * len(rounds) for seat in seats]),
    )


def _efficiency(rounds: Sequence[RoundFacts]) -> XYChart:
    # A gap where nothing could be gained: 0 would read as a failed round.
    shares = [100 * closed.surplus / closed.max_surplus if closed.max_surplus else None for closed in rounds]
    return XYChart(
        id="efficiency",
        title="Share of the possible surplus that was realised",
        x=_ROUND,
        y=Axis(label="efficiency", unit="%"),
        lines=[Line(name="efficiency", mark="step", x=[closed.round for closed in rounds], y=shares)],
    )


def _trading(seats: Sequence[SeatId], rounds: Sequence[RoundFacts]) -> HeatChart:
    """One row per seat and one column per closed round; levels from 1 to 3 as listed."""
    cells: list[tuple[int, int, float]] = []
    for closed in rounds:
        traded = {seat for match in closed.matches for seat in (match.buyer, match.seller)}
        for row, seat in enumerate(seats):
            # A forfeited seat cannot trade, so that these levels never compete for a cell.
            level = 3 if seat in closed.forfeited else 1 if seat in traded else 2
            cells.append((row, closed.round, level))
    return HeatChart(
        id="trading",
        title="Who traded when",
        x=_ROUND,
        y=Axis(label="seat"),
        rows=list(seats),
        first_column=rounds[0].round,
        last_column=rounds[-1].round,
        cells=cells,
        levels=["traded", "quoted, no trade", "no quote"],
    )


def _mean(prices: Sequence[float]) -> float | None:
    return sum(prices) / len(prices) if prices else None
