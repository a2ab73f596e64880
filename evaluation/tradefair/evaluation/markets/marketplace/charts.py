"""Charts of a marketplace: from search to choice, welfare next to its baselines, where it was lost, what was paid.

Each is made of the study alone and drawn only where the trace holds what it shows. Money is in currency units.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import accumulate

from tradefair.contract.money import currency
from tradefair.evaluation.charts.chart import Axis, BarChart, Bars, Chart, IntervalChart, Line, XYChart
from tradefair.evaluation.markets.marketplace.customers import funnel
from tradefair.evaluation.markets.marketplace.play import MarketPlay
from tradefair.evaluation.markets.marketplace.references import references
from tradefair.evaluation.markets.marketplace.study import Study, study_of
from tradefair.tracestore import Trace

_MONEY = "currency"
# More bars than this cannot be read; the note says what was left out.
_MOST = 30
_TERMS = {
    "query": "best never shown",
    "outreach": "shown, not asked",
    "offer": "no offer as good",
    "impatience": "came too late",
    "misjudgement": "not taken",
    "execution": "refused, doubled",
}


def charts(trace: Trace) -> list[Chart]:
    """The charts that the trace allows; none where it does not say which seats were in the market."""
    study = study_of(trace)
    # Without the truth there is no optimum to draw anything against.
    if isinstance(study, MarketPlay) or not study.customers:
        return []
    drawn: list[Chart] = [_funnel(study), _welfare(study), _losses(study)]
    if study.play.rounds:
        drawn.append(_rounds(study))
    drawn.append(_customers(study))
    # Without a search there are no positions, and the chart would be one bar "not listed".
    if any(customer.positions for customer in study.customers):
        drawn.append(_positions(study))
    if study.trades:
        drawn.append(_bargains(study))
    return drawn


def _funnel(study: Study) -> BarChart:
    steps = funnel(study.customers)
    return BarChart(
        id="funnel",
        title="From the market to the payment",
        note="Customers who got as far with a business that fits; the mark counts those who got there with any.",
        x=Axis(label="customers"),
        y=Axis(label="step"),
        names=[step.name for step in steps],
        bars=Bars(name="with a fit", values=[float(step.fitting) for step in steps]),
        marks=Bars(name="with any", values=[float(step.customers) for step in steps]),
    )


def _welfare(study: Study) -> BarChart:
    rows = references(sum(customer.record.utility for customer in study.customers), study.yardsticks)
    words = {"played": "", "expectation": " (mean)", "maximum": " (maximum)"}
    return BarChart(
        id="welfare",
        title="Welfare and exact baselines",
        note=(
            "Means and maxima are at list prices; sellers who go below list can beat them. Means: at random among "
            "those who qualify. Search: one query, first page, best choice from it. The mark is what was played."
        ),
        x=Axis(label="welfare of all customers", unit=_MONEY),
        y=Axis(label="who chooses how"),
        names=[row.name + words[row.kind] for row in rows],
        bars=Bars(name="welfare", values=[row.welfare for row in rows]),
        marks=Bars(name="played", values=[rows[0].welfare] * len(rows)),
    )


def _losses(study: Study) -> BarChart:
    cents = {name: sum(getattr(customer.loss, name) for customer in study.customers) for name in _TERMS}
    return BarChart(
        id="losses",
        title="Where welfare was lost",
        note=(
            "From the optimum at list prices down to what customers got, exactly. Query: the best was never shown. "
            "Outreach: shown, not asked. Offer: asked, and no offer as good; below 0 where offers go below list. "
            "Impatience: it came after the decision. Misjudgement: in hand, not taken. Execution: refused or doubled."
        ),
        x=Axis(label="loss of all customers", unit=_MONEY),
        y=Axis(label="term"),
        names=[f"{name}: {words}" for name, words in _TERMS.items()],
        bars=Bars(name="loss", values=[currency(cents[name]) for name in _TERMS]),
    )


def _rounds(study: Study) -> XYChart:
    """Inquiries, proposals and payments up to each closed round."""
    # From the facts of the closures, except inquiries: under the free clock these arrive within their calls.
    play = study.play
    numbers = [closed.facts.round for closed in play.rounds]
    inquiries = [contact.round for contacts in play.contacts.values() for contact in contacts]
    arrived = Counter(
        closed.facts.round
        for closed in play.rounds
        for delivery in closed.facts.deliveries
        if delivery.kind == "proposal"
    )
    payments = [
        closed.facts.round
        for closed in play.rounds
        for settlement in closed.facts.settlements
        if settlement.kind == "payment"
    ]
    counted = {"messages to businesses": Counter(inquiries), "proposals": arrived, "payments": Counter(payments)}
    return XYChart(
        id="rounds",
        title="How the market went",
        note="Delivered messages of customers, delivered proposals and payments, up to each round.",
        x=Axis(label="round"),
        y=Axis(label="so far"),
        lines=[
            Line(name=name, x=[0.0, *map(float, numbers)], y=[0.0, *_running(numbers, counts)])
            for name, counts in counted.items()
        ],
    )


def _running(numbers: Iterable[int], counts: Counter[int]) -> list[float | None]:
    return [float(total) for total in accumulate(counts[number] for number in numbers)]


def _customers(study: Study) -> BarChart:
    """The customers that lost most, in the order of the data."""
    # Chosen by loss, drawn in the order of the data: a reader looks a customer up by its name.
    costliest = sorted(range(len(study.customers)), key=lambda index: -study.customers[index].loss.total)[:_MOST]
    shown = [study.customers[index] for index in sorted(costliest)]
    more = f" The {_MOST} of {len(study.customers)} who lost most." if len(study.customers) > _MOST else ""
    return BarChart(
        id="customers",
        title="What each customer got",
        note=f"The mark is the most that it could get at list prices.{more}",
        x=Axis(label="utility", unit=_MONEY),
        y=Axis(label="customer"),
        names=[customer.seat for customer in shown],
        bars=Bars(name="utility", values=[currency(customer.record.utility) for customer in shown]),
        marks=Bars(name="optimum", values=[currency(customer.loss.optimum) for customer in shown]),
    )


def _bargains(study: Study) -> IntervalChart:
    trades = study.trades[:_MOST]
    more = f" The first {_MOST} of {len(study.trades)}." if len(study.trades) > _MOST else ""
    return IntervalChart(
        id="bargains",
        title="What was paid, between floor and value",
        note=(
            "From the seller's floor to the customer's value: further left, the customer gained more. A dot alone does "
            f"not fit: it is worth nothing.{more}"
        ),
        x=Axis(label="total", unit=_MONEY),
        y=Axis(label="customer"),
        # Numbered, since a customer with two purchases would have two bars of one name.
        names=[f"{number}. {study.truth.customers[trade.customer]}" for number, trade in enumerate(trades, 1)],
        values=[currency(trade.price) for trade in trades],
        lows=[currency(trade.floor) if trade.fits else None for trade in trades],
        highs=[currency(trade.value) if trade.fits else None for trade in trades],
    )


def _positions(study: Study) -> BarChart:
    """Positions on the result lists of what was bought, and of what would have been best."""
    bought = Counter[int]()
    best = Counter[int]()
    for customer in study.customers:
        listed, options = customer.positions, customer.record.options
        worths = {business: worth for business, worth in options.items() if business in listed and worth > 0}
        if worths:
            # Of two equally good ones the one that stood higher.
            best[listed[max(worths, key=lambda business: (worths[business], -listed[business]))]] += 1
        if customer.bought:
            # Position 0 counts what no list has shown: a business that wrote first, or a profile.
            bought[listed.get(customer.record.offers[customer.bought[0]].business, 0)] += 1
    # The 1 keeps the chart from being empty where nothing was listed.
    last = min(_MOST, max([*bought, *best, 1]))
    shown = range(1, last + 1)
    further = sum(count for position, count in bought.items() if position > last)
    unlisted = [("further down", further, 0)] if further else []
    unlisted += [("not listed", bought[0], 0)] if bought[0] else []
    rows = [*((f"position {position}", bought[position], best[position]) for position in shown), *unlisted]
    return BarChart(
        id="positions",
        title="Where the result lists had it",
        note="First purchases by the position at which a search first showed the business; the mark: the best shown.",
        x=Axis(label="customers"),
        y=Axis(label="position"),
        names=[name for name, _, _ in rows],
        bars=Bars(name="bought first", values=[float(count) for _, count, _ in rows]),
        marks=Bars(name="best shown", values=[float(count) for _, _, count in rows]),
    )
