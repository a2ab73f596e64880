"""Charts of a supply chain: money by seat, bid ladders, the Lorenz curve, the tribe that each slogan is closest to."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

from tradefair.contract.money import currency
from tradefair.evaluation.charts.chart import Axis, Chart, HeatChart, Line, XYChart
from tradefair.evaluation.markets.supply_chain.play import SupplyPlay, read_supply_chain
from tradefair.evaluation.read.arithmetic import rounded
from tradefair.supply_chain.model import RoundFacts, SupplyChainScenario
from tradefair.tracestore import Trace

_ROUND = Axis(label="round")
_FEW = 6
"""As many lines can be told apart in one frame; where there are more seats, each has a frame of its own."""
# More small frames than this cannot be compared at one look.
_FRAMES = 24
# A trace from elsewhere may hold any number of bids; a chart of all of them could not be opened.
_MAX_BIDS = 5_000


def charts(trace: Trace) -> list[Chart]:
    """The charts that the closed rounds allow; none before the first round is closed."""
    play = read_supply_chain(trace)
    if not play.rounds or play.scenario is None:
        return []
    drawn: list[Chart] = [_money(play)]
    if len(play.seats) <= _FEW:
        drawn.append(_profits(play))
    drawn += [_ladders(play.rounds[-1], play.scenario), _lorenz(play)]
    # Before the first slogan there is no map to draw.
    if any(own.similarity for facts in play.rounds for own in facts.seats.values()):
        drawn.append(_slogan_map(play, play.scenario))
    return drawn


def _wealth(facts: RoundFacts, seat: str) -> float:
    """Funds and stock at cost of a seat after a round, in currency units."""
    own = facts.seats[seat]
    return currency(own.funds + sum(own.book))


def _lines(play: SupplyPlay, values: Sequence[Sequence[float]]) -> list[Line]:
    """One line per seat over the rounds; `values` is `[seat][round]`.

    Of many seats each has a frame, those that end with most first; of very many only the top and the bottom half of the
    frames are shown.
    """
    at = [float(facts.round) for facts in play.rounds]
    if len(play.seats) <= _FEW:
        return [Line(name=seat, x=at, y=list(values[place])) for place, seat in enumerate(play.seats)]
    ranked = sorted(range(len(play.seats)), key=lambda place: (-values[place][-1], place))
    shown = ranked if len(ranked) <= _FRAMES else [*ranked[: _FRAMES // 2], *ranked[-_FRAMES // 2 :]]
    return [Line(name="wealth", x=at, y=list(values[place]), panel=play.seats[place]) for place in shown]


def _money(play: SupplyPlay) -> XYChart:
    """Wealth of every seat after each round, in currency units."""
    note = "What a seat is worth after each round; stock left over at the end earns nothing."
    if len(play.seats) > _FRAMES:
        note += f" Of {len(play.seats)} seats the {_FRAMES // 2} that end with most and the {_FRAMES // 2} with least."
    return XYChart(
        id="money",
        title="Money and stock at cost, by seat",
        note=note,
        x=_ROUND,
        y=Axis(label="wealth", unit="currency"),
        lines=_lines(play, [[_wealth(facts, seat) for facts in play.rounds] for seat in play.seats]),
    )


def _profits(play: SupplyPlay) -> XYChart:
    """Cumulative profit of every seat, in currency units."""
    # Summed in cents and converted once, so that the sums are exact.
    cents = [list(accumulate(row.own.profit for row in play.of(seat))) for seat in play.seats]
    return XYChart(
        id="profits",
        title="Cumulative profit, by seat",
        x=_ROUND,
        y=Axis(label="profit", unit="currency"),
        lines=_lines(play, [[currency(amount) for amount in row] for row in cents]),
    )


def _ladders(facts: RoundFacts, scenario: SupplyChainScenario) -> XYChart:
    """Bids of the last settled pass, highest first, in shares of supply and reserve.

    Not in units and money: items differ fortyfold in price.
    """
    lines: list[Line] = []
    for place, item in enumerate(scenario.items):
        bids = sorted(
            ((line[2], line[1]) for vector in facts.passes[-1].lines.values() for line in vector if line[0] == place),
            reverse=True,
        )[:_MAX_BIDS]
        # An item that had no supply cannot be drawn as a share of it.
        supply = facts.supply[place]
        if bids and supply:
            # A step chart needs where each bid begins and ends, so there is one point more than bids.
            units = accumulate((quantity for _, quantity in bids), initial=0)
            over: list[float | None] = [rounded(100 * price / item.base_cents - 100) for price, _ in bids]
            at = [rounded(cumulated / supply) for cumulated in units]
            lines.append(Line(name="bids", x=at, y=[*over, over[-1]], mark="step", panel=item.id))
    return XYChart(
        id="bid_ladders",
        title=f"Bid ladders of round {facts.round}",
        note=(
            "Bids of the settling pass from the highest down: per cent above the reserve, over units asked for as a "
            "share of supply. What lies right of 1 won nothing."
        ),
        x=Axis(label="units asked for, cumulative", unit="share of supply"),
        y=Axis(label="price above reserve", unit="%"),
        lines=lines,
    )


def _lorenz(play: SupplyPlay) -> XYChart:
    """Share of the whole by share of seats, poorest first, for wealth and for revenue after the last round."""
    wealth = [_wealth(play.rounds[-1], seat) for seat in play.seats]
    revenue = [float(sum(sum(row.own.revenue) for row in play.of(seat))) for seat in play.seats]
    count = len(play.seats)
    at = [place / count for place in range(count + 1)]
    lines = [Line(name="equal split", x=[0.0, 1.0], y=[0.0, 1.0], faint=True)]
    for name, values in (("wealth", wealth), ("revenue", revenue)):
        total = sum(values)
        # Without any revenue there is nothing to share, and no curve.
        if total > 0:
            lines.append(Line(name=name, x=at, y=[value / total for value in accumulate(sorted(values), initial=0.0)]))
    return XYChart(
        id="lorenz",
        title="Lorenz curves after the last round",
        note="The share of the poorest seats together; the further below the diagonal, the more unequal.",
        x=Axis(label="share of seats"),
        y=Axis(label="share of the whole"),
        lines=lines,
    )


def _slogan_map(play: SupplyPlay, scenario: SupplyChainScenario) -> HeatChart:
    """By seat and round, the tribe that the standing slogan is closest to, on average over its texts."""
    bounds = [*scenario.text_starts, len(scenario.persona_texts)]
    cells: list[tuple[int, int, float]] = []
    for facts in play.rounds:
        for place, seat in enumerate(play.seats):
            row = facts.seats[seat].similarity
            # Similarity 0 to every text, such as a slogan of unknown words: it is close to no tribe.
            if not row or not any(row):
                continue
            means = [sum(row[first:last]) / (last - first) for first, last in pairwise(bounds)]
            # 1 is the first level; ties go to the tribe that is listed first.
            cells.append((place, facts.round, float(means.index(max(means)) + 1)))
    return HeatChart(
        id="slogan_map",
        title="Which tribe each slogan is closest to",
        note=f"Closeness by {scenario.embedder_id}; empty where there is no slogan, or one that is like nobody.",
        x=_ROUND,
        y=Axis(label="seat"),
        rows=list(play.seats),
        first_column=play.rounds[0].round,
        last_column=play.rounds[-1].round,
        cells=cells,
        levels=[tribe.id for tribe in scenario.tribes],
        ordered=False,
    )
