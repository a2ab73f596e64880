"""Units of a schedule: traded at a loss, passed by, left over. Money in ticks."""

from __future__ import annotations

from tradefair.evaluation.markets.order_book.modes.play import Step, Trader
from tradefair.evaluation.modes.diagnosis import Case, Record, Seen, unchecked


def value_breach(trader: Trader) -> Seen:
    """Orders through the own value, traded or not, for the general mode; a case costs what its trades lost."""
    lost: dict[int | None, float] = {}
    for fill in trader.fills:
        seq = trader.event_of(fill)
        lost[seq] = lost.get(seq, 0.0) + sum(
            max(0.0, -trader.slack(value, fill.price)) for value in fill.values.get(trader.seat, ())
        )
    cases: list[Case] = []
    orders = [step for step in trader.steps if step.price is not None and step.value is not None]
    for step in orders:
        if step.price is not None and step.value is not None and trader.slack(step.value, step.price) < 0:
            cost = lost.get(step.seq, 0.0)
            ends = f"its trades lost {cost:g}" if cost else "nothing was lost by it"
            said = f"ordered at {step.price} with a value of {step.value}; {ends}"
            cases.append(trader.case(step.seq, step.period, said, cost or None, fact="order"))
    return Seen(cases, len(orders))


def idle_periods(trader: Trader) -> Seen:
    """Periods without an order of the seat in which one would have traded with a gain; for the general mode."""
    cases: list[Case] = []
    periods = trader.game.periods
    for period in periods:
        steps = [step for step in trader.steps if step.period == period.number]
        open_quotes = [
            (trader.slack(step.value, quote), quote, step)
            for step in steps
            if step.value is not None and (quote := trader.opposite(step)) is not None
        ]
        gain, quote, step = max(open_quotes, key=lambda found: found[0], default=(0.0, 0, None))
        if step is None or gain <= 0 or any(step.act == "order" for step in steps):
            continue
        said = f"no order, although {quote} stood with a value of {step.value}"
        cases.append(trader.case(step.seq, period.number, said, float(gain)))
    return Seen(cases, len(periods))


def loss_trade(trader: Trader) -> Seen:
    """Own units that traded through their value."""
    cases: list[Case] = []
    units = 0
    for fill in trader.fills:
        for value in fill.values.get(trader.seat, ()):
            units += 1
            lost = -trader.slack(value, fill.price)
            if lost > 0:
                said = f"traded at {fill.price} with a value of {value}, a loss of {lost:g}"
                cases.append(trader.case(trader.event_of(fill), fill.period, said, float(lost)))
    return Seen(cases, units)


class Share(Record):
    """A part of a price."""

    share: float


def missed_take(trader: Trader, params: Share) -> Seen:
    """Steps that left a good quote for a unit that was then never traded in the period."""
    cases: list[Case] = []
    for step in trader.steps:
        quote = trader.opposite(step)
        if step.value is None or quote is None or step.fills:
            continue
        gain = trader.slack(step.value, quote)
        if gain >= params.share * step.value and step.unit >= trader.traded_units.get(step.period, 0):
            said = f"step {step.step} left {quote} untaken with a value of {step.value}; the unit was never traded"
            # A step with an order judged that order: its fact is the order's.
            fact = "order" if step.act == "order" else None
            cases.append(trader.case(step.seq, step.period, said, float(gain), fact=fact))
    return Seen(cases, len(trader.steps))


def idle_steps(trader: Trader, params: Share) -> Seen:
    """Passed steps with a profit for the taking, for a unit that was not traded afterwards."""
    cases: list[Case] = []
    for step in trader.steps:
        quote = trader.opposite(step)
        if step.act != "pass" or step.value is None or quote is None:
            continue
        gain = trader.slack(step.value, quote)
        if gain >= params.share * step.value and step.unit >= trader.traded_units.get(step.period, 0):
            said = f"step {step.step} was passed with {quote} standing and a value of {step.value}"
            cases.append(trader.case(step.seq, step.period, said, float(gain)))
    return Seen(cases, len(trader.steps))


def left_units(trader: Trader) -> Seen:
    """Units inside the competitive price that were not traded when the period closed."""
    game = trader.game
    if game.p_star is None or game.opening is None:
        return unchecked("no units can gain")
    values = game.opening.values.get(trader.seat, [])
    cases: list[Case] = []
    of = 0
    for period in game.periods:
        inside = [at for at, unit in enumerate(values) if trader.slack(unit, game.p_star) > 0]
        of += len(inside)
        prices = [fill.price for fill in game.fills if fill.period == period.number]
        fair = sum(prices) / len(prices) if prices else game.p_star
        for at in inside:
            if at >= trader.traded_units.get(period.number, 0):
                last = next((step for step in reversed(trader.steps) if step.period == period.number), None)
                gain = max(0.0, trader.slack(values[at], fair))
                said = f"a unit of {values[at]} was left, although trades were at {fair:g}"
                if not prices:
                    said = f"a unit of {values[at]} was left, and nobody traded at the competitive {fair:g}"
                idle = "action" if last is None or last.act == "pass" else None
                cases.append(trader.case(last and last.seq, period.number, said, gain, fact=idle))
    return Seen(cases, of)


class Near(Record):
    """How near to a trade a quote was, as a share of its price."""

    share: float


def unit_lost_late(trader: Trader, params: Near) -> Seen:
    """Units whose last quote missed a trade by little and that were never traded."""
    cases: list[Case] = []
    of = 0
    for period in trader.game.periods:
        orders = [s for s in trader.steps if s.period == period.number and s.act == "order" and s.value is not None]
        if not orders:
            continue
        of += 1
        last: Step = orders[-1]
        missed = last.unit >= trader.traded_units.get(period.number, 0)
        prices = [f.price for f in trader.game.fills if f.period == period.number and f.step >= last.step]
        value, price = last.value, last.price
        if not missed or not prices or value is None or price is None:
            continue
        best = min(prices) if trader.sign > 0 else max(prices)
        short = trader.sign * (best - price)
        if 0 < short <= params.share * best and trader.slack(value, best) > 0:
            said = f"quoted {price} to the end while others traded at {best}, with a value of {value}"
            cases.append(trader.case(last.seq, period.number, said, float(trader.slack(value, best))))
    return Seen(cases, of)


class Contradiction(Record):
    """When an order speaks against an analysis: less than `part` of the best expected gain, which is above `worth`.

    Its row is the nearest one within `near`; `near` and `worth` are shares of the value.
    """

    near: float
    part: float
    worth: float


def contradicted_analysis(trader: Trader, params: Contradiction) -> Seen:
    """Orders with less than a part of the best expected gain that the seat's own estimate of the step told it.

    A row's expected gain is its probability of a trade times what the unit would earn at its price; what meets the
    best quote of the other side trades for certain, at that quote. A unit that earned what it could is no case.
    """
    cases: list[Case] = []
    of = 0
    side = "buy" if trader.sign > 0 else "sell"
    for step in trader.steps:
        value, price = step.value, step.price
        if value is None or price is None:
            continue
        # A later answer replaces an earlier one.
        rows = {row.price: row for row in step.advice if row.side == side}
        gains = {row.price: _expected(trader, step, row.price, row.probability) for row in rows.values()}
        near = {asked: abs(asked - price) for asked in gains if abs(asked - price) <= params.near * value}
        if not near:
            continue
        of += 1
        # Of two rows at equal distance the better one counts: the doubt is the seat's.
        own = min(near, key=lambda asked: (near[asked], -gains[asked]))
        best = max(gains, key=lambda asked: gains[asked])
        told, given_up = _expected(trader, step, price, rows[own].probability), _given_up(trader, step)
        if gains[best] > params.worth * value and told < params.part * gains[best] and given_up > 0:
            said = f"ordered at {price}, where its own estimate expected {told:.1f}, and {gains[best]:.1f} at {best}"
            cases.append(trader.case(step.seq, step.period, said, given_up)._replace(shown_by=rows[best].seq))
    return Seen(cases, of)


def _expected(trader: Trader, step: Step, price: int, probability: float) -> float:
    """What an order at a price is expected to earn with the step's unit."""
    value, quote = step.value or 0, trader.opposite(step)
    if quote is not None and trader.sign * (price - quote) >= 0:
        return trader.slack(value, quote)
    return probability * trader.slack(value, price)


def _given_up(trader: Trader, step: Step) -> float:
    """What the unit could have earned at the best price from the step on, less what it earned."""
    value = step.value or 0
    fills = [fill for fill in trader.game.fills if fill.period == step.period]
    quote = trader.opposite(step)
    prices = [fill.price for fill in fills if fill.step >= step.step] + ([] if quote is None else [quote])
    sold = [fill.price for fill in fills if trader.seat in (fill.buyer, fill.seller) for _ in range(fill.quantity)]
    earned = trader.slack(value, sold[step.unit]) if step.unit < len(sold) else 0.0
    return max(0.0, max((trader.slack(value, price) for price in prices), default=0.0) - earned)
