"""Experiments with prices, and analyses against which the firm acted."""

from __future__ import annotations

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.pricing.modes.play import Firm, Rows
from tradefair.evaluation.markets.pricing.modes.prices import Share
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen, unchecked


class Trial(Record):
    """Distinct prices that an experiment takes, and the episodes that are long enough for one."""

    prices: int
    rounds: int


def no_experiment(firm: Firm, params: Trial) -> Seen:
    """Whether an unknown demand was never tried: too few distinct prices in the first quarter."""
    world = firm.game.world
    if world is None or world.demand_known:
        return unchecked("demand is known")
    if world.rounds < params.rounds:
        return unchecked(f"too short: {world.rounds} rounds of {params.rounds}")
    if world.price_max + 1 < params.prices:
        return unchecked(f"the grid has fewer than {params.prices} prices")
    quarter = firm.prices[: world.rounds // 4]
    tried = {price for price in quarter if price is not None}
    if len(tried) >= params.prices or len(quarter) < world.rounds // 4:
        return Seen((), 1)
    prices = f"{len(tried)} distinct price{'s' * (len(tried) != 1)}"
    said = f"{prices} in the first {len(quarter)} rounds; three are needed to tell how demand reacts"
    return Seen([firm.case(0, said)], 1)


class Jump(Record):
    """A price move as a share of the price, and the share of the best profit below which it did not pay."""

    moved: float
    share: float


def endless_experiment(firm: Firm, params: Jump) -> Seen:
    """Rounds of the second half that jump to another price and earn too little by it."""
    half = len(firm.periods) // 2
    cases: list[Case] = []
    for at in range(max(1, half), len(firm.periods)):
        before, price = firm.prices[at - 1], firm.prices[at]
        if before is None or price is None or abs(price - before) < params.moved * max(before, 1):
            continue
        if firm.profits[at] < params.share * firm.best[at].profit:
            cases.append(firm.case(at, f"moved from {cents_text(before)} to {cents_text(price)}; {firm.reply(at)}"))
    return Seen(cases, len(firm.periods) - half)


def contradicted_analysis(firm: Firm, params: Share) -> Seen:
    """Prices that the firm's own analysis of the round had called much worse than another."""
    cases: list[Case] = []
    tested = 0
    for at, period in enumerate(firm.periods):
        price = firm.prices[at]
        if price is None or firm.seat not in period.posted:
            continue
        answers = [(_of_most(rows, price), rows) for rows in period.asked.get(firm.seat, ()) if price in rows]
        if not answers:
            continue
        tested += 1
        # Of several ideas of what rivals do, the doubt is the firm's.
        share, rows = max(answers, key=lambda answer: answer[0])
        if share >= params.share or firm.profits[at] >= firm.best[at].profit:
            continue
        profit, (most, best) = rows[price][1], _most(rows)
        said = f"posted {cents_text(price)}, whose profit_if was {cents_text(profit)}"
        said += f"; the same round's analysis put {cents_text(best)} at {cents_text(most)}"
        cases.append(firm.case(at, said)._replace(shown_by=rows[best][0], about=str(best)))
    return Seen(cases, tested)


def _most(rows: Rows) -> tuple[int, int]:
    """The highest profit of an analysis and its price, of equals the lowest one."""
    profit, price = max((row[1], -tried) for tried, row in rows.items())
    return profit, -price


def _of_most(rows: Rows, price: int) -> float:
    """The price's profit as a share of the highest one; 1 where no price earns."""
    most, _ = _most(rows)
    return rows[price][1] / most if most > 0 else 1.0
