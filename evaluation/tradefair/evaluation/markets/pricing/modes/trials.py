"""Experiments with prices, and analyses against which the firm acted."""

from __future__ import annotations

from tradefair.contract.money import cents_text
from tradefair.evaluation.markets.pricing.modes.play import Firm, Rows
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen, unchecked


def no_experiment(firm: Firm, *, prices: int, rounds: int) -> Seen:
    """Whether an unknown demand was never tried: fewer than `prices` distinct ones in the first quarter.

    Unchecked in episodes of fewer than `rounds`.
    """
    rules = firm.game.world.scenario if firm.game.world else None
    if rules is None or rules.demand_known:
        return unchecked("demand is known")
    if rules.rounds < rounds:
        return unchecked(f"too short: {rules.rounds} rounds of {rounds}")
    if rules.price_max + 1 < prices:
        return unchecked(f"the grid has fewer than {prices} prices")
    quarter = firm.prices[: rules.rounds // 4]
    tried = {price for price in quarter if price is not None}
    if len(tried) >= prices or len(quarter) < rules.rounds // 4:
        return Seen((), 1)
    distinct = f"{len(tried)} distinct price{'s' * (len(tried) != 1)}"
    said = f"{distinct} in the first {len(quarter)} rounds; three are needed to tell how demand reacts"
    return Seen([firm.case(0, said)], 1)


def endless_experiment(firm: Firm, *, moved: Part, share: Part) -> Seen:
    """Rounds of the second half that jump by `moved` of the price or more and earn less than `share` of the best."""
    half = len(firm.periods) // 2
    cases: list[Case] = []
    for at in range(max(1, half), len(firm.periods)):
        before, price = firm.prices[at - 1], firm.prices[at]
        if before is None or price is None or abs(price - before) < moved * max(before, 1):
            continue
        if firm.profits[at] < share * firm.best[at].profit:
            cases.append(firm.case(at, f"moved from {cents_text(before)} to {cents_text(price)}; {firm.reply(at)}"))
    return Seen(cases, len(firm.periods) - half)


def contradicted_analysis(firm: Firm, *, share: Part) -> Seen:
    """Prices to which the firm's own analysis of the round gave less than `share` of the profit of its best."""
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
        told, rows = max(answers, key=lambda answer: answer[0])
        if told >= share or firm.profits[at] >= firm.best[at].profit:
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
