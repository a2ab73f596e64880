"""Units of a schedule: traded at a loss, passed by, quoted against advice. Money in ticks."""

from __future__ import annotations

from tradefair.evaluation.markets.order_book.modes.play import Advice, Step, Trader
from tradefair.evaluation.modes.diagnosis import Case, Part, Seen


def value_breach(trader: Trader) -> Seen:
    """Orders through the own value, traded or not; for the general mode."""
    orders = [(s, s.value, s.price) for s in trader.steps if s.value is not None and s.price is not None]
    cases = [
        trader.case(step.seq, step.period, f"ordered at {price} with a value of {value}", fact="order")
        for step, value, price in orders
        if trader.slack(value, price) < 0
    ]
    return Seen(cases, len(orders))


def idle_periods(trader: Trader) -> Seen:
    """Periods without an order of the seat although a quote inside its value stood; for the general mode."""
    cases: list[Case] = []
    for period in trader.game.periods:
        steps = [step for step in trader.steps if step.period == period.number]
        step = max(steps, key=trader.inside, default=None)
        if step is not None and trader.inside(step) > 0 and all(step.act != "order" for step in steps):
            said = f"no order, although {trader.opposite(step)} stood with a value of {step.value}"
            cases.append(trader.case(step.seq, period.number, said))
    return Seen(cases, len(trader.game.periods))


def loss_trade(trader: Trader) -> Seen:
    """Own units that traded through their value."""
    units = [(fill, value) for fill in trader.fills for value in fill.values.get(trader.seat, ())]
    cases = [
        trader.filled(fill, f"traded at {fill.price} with a value of {value}")._replace(amount=1.0)
        for fill, value in units
        if trader.slack(value, fill.price) < 0
    ]
    return Seen(cases, len(units))


def missed_take(trader: Trader, *, share: Part) -> Seen:
    """Steps that left a quote with a gain of at least `share` of the value for a unit that was then never traded."""
    cases: list[Case] = []
    for step in trader.steps:
        good = step.value is not None and trader.inside(step) >= share * step.value
        if good and not step.fills and not trader.traded(step):
            said = f"left {trader.opposite(step)} untaken with a value of {step.value}; the unit was never traded"
            # A step with an order judged that order: its fact is the order's.
            fact = "order" if step.act == "order" else None
            cases.append(trader.case(step.seq, step.period, f"step {step.step} {said}", fact=fact))
    return Seen(cases, len(trader.steps))


def unit_lost_late(trader: Trader, *, share: Part) -> Seen:
    """Units that were never traded and whose last quote missed a trade by at most `share` of its price."""
    last = {step.period: step for step in trader.steps if step.act == "order" and step.value is not None}
    cases: list[Case] = []
    for step in last.values():
        later = [f.price for f in trader.game.fills if f.period == step.period and f.step >= step.step]
        if trader.traded(step) or not later or step.value is None or step.price is None:
            continue
        best = min(later) if trader.sign > 0 else max(later)
        if 0 < trader.slack(best, step.price) <= share * best and trader.slack(step.value, best) > 0:
            said = f"quoted {step.price} to the end while others traded at {best}, with a value of {step.value}"
            cases.append(trader.case(step.seq, step.period, said))
    return Seen(cases, len(last))


def contradicted_analysis(trader: Trader, *, part: Part, worth: Part) -> Seen:
    """Orders with less than `part` of the best expected gain that the seat's own estimate of the step told it.

    Judged is a best gain above `worth`, a share of the value.
    """
    cases: list[Case] = []
    of = 0
    for step in trader.steps:
        # A later answer replaces an earlier one.
        rows = {row.price: row for row in step.advice if (row.side == "buy") == (trader.sign > 0)}
        if step.value is None or step.price not in rows:
            continue
        of += 1
        gains = {price: _expected(trader, step, row) for price, row in rows.items()}
        told, best = gains[step.price], max(gains, key=gains.__getitem__)
        if gains[best] > worth * step.value and told < part * gains[best]:
            said = (
                f"ordered at {step.price}, where its own estimate expected {told:.1f}, and {gains[best]:.1f} at {best}"
            )
            cases.append(trader.case(step.seq, step.period, said)._replace(shown_by=rows[best].seq))
    return Seen(cases, of)


def _expected(trader: Trader, step: Step, row: Advice) -> float:
    """A row's probability of a trade times what the unit would earn at its price.

    What meets the best quote of the other side trades for certain, at that quote.
    """
    value, quote = step.value or 0, trader.opposite(step)
    if quote is not None and trader.sign * (row.price - quote) >= 0:
        return trader.slack(value, quote)
    return row.probability * trader.slack(value, row.price)
