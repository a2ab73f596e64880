"""Outcomes of the marketplace from the facts and calls of a trace. Money in currency units.

Totals of cents are shown with two decimals and so are exact; what is a fraction of a cent, or a share, stands in
`exact` as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tradefair.contract import SeatId
from tradefair.contract.money import currency
from tradefair.evaluation.arithmetic import mean, ratio, rounded
from tradefair.evaluation.markets.marketplace.businesses import Business
from tradefair.evaluation.markets.marketplace.customers import Customer, funnel
from tradefair.evaluation.markets.marketplace.play import MarketPlay
from tradefair.evaluation.markets.marketplace.references import Reference, in_currency, references, share
from tradefair.evaluation.markets.marketplace.study import Study, study_of
from tradefair.evaluation.outcome import MarketOutcome, Outcome, SeatOutcome, common_seat
from tradefair.evaluation.table import Table, number_text
from tradefair.marketplace.analysis import baselines
from tradefair.tracestore import Trace

_MAX_ROWS = 40
"""Rows of a table at most."""
TERMS = ("query", "outreach", "offer", "impatience", "misjudgement", "execution")
"""The terms of the loss; offer, impatience and misjudgement together are the loss of selection."""


class MarketplaceSeat(SeatOutcome):
    """One customer or one business; what belongs to the other role is null."""

    utility: float | None = None
    value: float | None = None
    list_price_optimum: float | None = None
    achieved: float | None = None
    loss: float | None = None
    loss_query: float | None = None
    loss_outreach: float | None = None
    loss_selection: float | None = None
    loss_offer: float | None = None
    loss_impatience: float | None = None
    loss_misjudgement: float | None = None
    loss_execution: float | None = None
    random_items: float | None = None
    cheapest: float | None = None
    random_fits: float | None = None
    need_met: bool | None = None
    purchases: int | None = None
    spend: float | None = None
    wasted: float | None = None
    searches: int | None = None
    shown: int | None = None
    asked: int | None = None
    offered: int | None = None
    tries: int | None = None
    refused_payments: dict[str, int] = Field(default_factory=dict[str, int])
    choice: SeatId | None = None
    choice_arrival: int | None = None
    choice_rank: int | None = None
    choice_position: int | None = None
    unfinished: bool | None = None
    revenue: float | None = None
    orders: int | None = None
    surplus: float | None = None
    proposals: int | None = None
    misstated: int | None = None
    inquiries: int | None = None
    answered: int | None = None
    answer_rate: float | None = None
    rounds_to_answer: float | None = None


class FunnelStep(BaseModel):
    """How many customers reached a step from the market to the payment, and what was still possible there."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    customers: int
    fitting: int
    possible: float


class MarketplaceMarket(MarketOutcome):
    """All customers and businesses together: welfare, where it was lost, and what it is compared with.

    Without the hidden facts only what needs none of them is there.
    """

    customers: int = 0
    businesses: int = 0
    welfare: float = 0.0
    optimal: float | None = None
    share_of_optimal: float | None = None
    optimal_or_nothing: float | None = None
    needs_met: int = 0
    purchases: int = 0
    spend: float = 0.0
    wasted: float = 0.0
    mean_utility: float | None = None
    mean_utility_buyers: float | None = None
    unfinished: int = 0
    loss: float = 0.0
    loss_query: float = 0.0
    loss_outreach: float = 0.0
    loss_selection: float = 0.0
    loss_offer: float = 0.0
    loss_impatience: float = 0.0
    loss_misjudgement: float = 0.0
    loss_execution: float = 0.0
    recall: float | None = None
    random_items: float | None = None
    cheapest: float | None = None
    random_fits: float | None = None
    ceiling_item_names: float | None = None
    ceiling_request_text: float | None = None
    ceiling_filters: float | None = None
    assignment: float | None = None
    congestion: float | None = None
    no_match: int | None = None
    no_fit: int | None = None
    revenue: float = 0.0
    in_escrow: float = 0.0
    answer_rate: float | None = None
    rounds_to_answer: float | None = None
    buyer_share: float | None = None
    seller_share: float | None = None
    seller_surplus: float = 0.0
    first_best: float | None = None
    bargaining_efficiency: float | None = None
    privileged_search: bool = False
    price_rule: str | None = None
    refused_payments: dict[str, int] = Field(default_factory=dict[str, int])
    funnel: list[FunnelStep] = Field(default_factory=list[FunnelStep])
    references: list[Reference] = Field(default_factory=list[Reference])
    exact: dict[str, str] = Field(default_factory=dict[str, str])


MarketplaceOutcome = Outcome[MarketplaceSeat, MarketplaceMarket]


def marketplace_outcome(trace: Trace, version: str) -> MarketplaceOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it."""
    study = study_of(trace)
    play = study if isinstance(study, MarketPlay) else study.play
    # Conduct comes first: it is known even of a trace that hides who was customer and who business.
    seats = {seat: MarketplaceSeat(**common_seat(play.reading, seat)) for seat in play.reading.conduct}
    if isinstance(study, Study):
        for index, customer in enumerate(study.customers):
            seats[customer.seat] = _customer(study, index, seats[customer.seat])
        for business in study.businesses:
            seats[business.seat] = seats[business.seat].model_copy(update=_business(business))
    market = _market(study) if isinstance(study, Study) else MarketplaceMarket()
    return MarketplaceOutcome.of(play.reading, version, seats, market)


def relative_to_references(
    seat: SeatId, outcomes: Mapping[str, MarketplaceOutcome]
) -> dict[str, dict[str, float | None]]:
    """Per label, a customer's normalised regret and utility over the mean of random matches."""
    known = {label: outcome.seats[seat] for label, outcome in outcomes.items()}
    passive, oracle = known.get("policy:passive"), known.get("policy:oracle")
    # A business has no utility; its runs are compared by revenue alone.
    if all(result.utility is None for result in known.values()):
        return {label: {} for label in known}
    return {
        label: {"normalised_regret": _regret(result.utility, passive, oracle), "over_random": _over_random(result)}
        for label, result in known.items()
    }


def _over_random(seat: MarketplaceSeat) -> float | None:
    return None if seat.utility is None or seat.random_items is None else rounded(seat.utility - seat.random_items)


def _regret(utility: float | None, passive: MarketplaceSeat | None, oracle: MarketplaceSeat | None) -> float | None:
    """(reference − agent)/(reference − passive), null unless the policy oracle earned more; it buys at list prices."""
    if passive is None or oracle is None or utility is None or passive.utility is None or oracle.utility is None:
        return None
    return (
        ratio(oracle.utility - utility, oracle.utility - passive.utility) if oracle.utility > passive.utility else None
    )


# --- seats ------------------------------------------------------------------------------------------------------------


def _customer(study: Study, index: int, common: MarketplaceSeat) -> MarketplaceSeat:
    customer = study.customers[index]
    # The market's formulas on a market of one: the customers' baselines then sum to those of the market.
    own = baselines([study.truth.matches[index]])
    return common.model_copy(
        update={
            **_results(customer),
            "random_items": in_currency(own.random_items.mean),
            "cheapest": in_currency(own.cheapest.mean),
            "random_fits": in_currency(own.random_fits.mean),
            **_conduct(customer),
            **_choice(study, customer),
        }
    )


def _results(customer: Customer) -> dict[str, Any]:
    record, loss = customer.record, customer.loss
    return {
        # Cents become currency units only where figures are shown: sums stay exact until then.
        "utility": currency(record.utility),
        "value": currency(record.value),
        "list_price_optimum": currency(loss.optimum),
        # Null where nothing could be gained: 0 would read as a failure.
        "achieved": share(record.utility, loss.optimum),
        "loss": currency(loss.total),
        **_terms([customer]),
        "need_met": customer.met,
        "purchases": len(record.paid),
        "spend": currency(customer.spend),
        "wasted": currency(customer.wasted),
    }


def _conduct(customer: Customer) -> dict[str, Any]:
    return {
        "searches": customer.searches,
        "shown": len(customer.shown),
        "asked": len(customer.asked),
        "offered": len(customer.record.offers),
        "tries": len(customer.record.tries),
        "refused_payments": dict(sorted(customer.refused.items())),
        "unfinished": customer.censored,
    }


def _choice(study: Study, customer: Customer) -> dict[str, Any]:
    """The first paid proposal and how its business came into sight; all null for a customer who paid nothing."""
    names = ("choice", "choice_arrival", "choice_rank", "choice_position")
    if not customer.bought:
        return dict.fromkeys(names)
    # The first payment is the choice; later ones are another failure (`double_purchase`).
    first = study.play.proposals[customer.bought[0]]
    chosen = study.truth.indices[first.facts.business]
    # The position is null where no search of the customer showed the business.
    figures = (first.facts.business, first.arrival, first.rank, customer.positions.get(chosen))
    return dict(zip(names, figures, strict=True))


def _terms(customers: Sequence[Customer]) -> dict[str, Any]:
    """The terms of the loss summed over customers, with that of selection, which three of them make."""
    return {
        f"loss_{name}": currency(sum(getattr(customer.loss, name) for customer in customers))
        for name in (*TERMS, "selection")
    }


def _business(business: Business) -> dict[str, Any]:
    return {
        "revenue": currency(business.revenue),
        "orders": business.orders,
        "surplus": currency(business.surplus),
        "proposals": business.proposals,
        "misstated": business.misstated,
        "inquiries": business.inquiries,
        # One wait per answered message, so that their number counts the answers.
        "answered": len(business.waits),
        "answer_rate": ratio(len(business.waits), business.inquiries),
        "rounds_to_answer": mean(business.waits),
    }


# --- the market -------------------------------------------------------------------------------------------------------


def _market(study: Study) -> MarketplaceMarket:
    customers, known, scenario = study.customers, study.yardsticks, study.play.scenario
    welfare = sum(customer.record.utility for customer in customers)
    # Exact here: the reference rows and the rounded figure are made of the same fraction.
    recall = _recall(customers)
    return MarketplaceMarket(
        **_welfare(study, welfare),
        **_spending(customers),
        **_terms(customers),
        **_baselines(study),
        **_sales(study.businesses),
        **_bargains(study),
        in_escrow=currency(study.in_escrow),
        recall=_number(recall),
        privileged_search=scenario is not None and scenario.search_algorithm == "optimal",
        price_rule=scenario.price_rule if scenario is not None else None,
        funnel=[
            FunnelStep(step=step.name, customers=step.customers, fitting=step.fitting, possible=currency(step.possible))
            for step in funnel(customers)
        ],
        references=references(welfare, known, recall),
        exact=_exact(study, welfare),
    )


def _recall(customers: Sequence[Customer]) -> Fraction | None:
    """Share of all fits that their customers were shown; null where no business fits anyone."""
    # Over all customers together: a mean of rates would let a customer with one fit weigh as much as one with ten.
    fits = sum(len(customer.fits) for customer in customers)
    return Fraction(sum(len(customer.fits & customer.shown) for customer in customers), fits) if fits else None


def _welfare(study: Study, welfare: int) -> dict[str, Any]:
    customers, base = study.customers, study.yardsticks.baselines
    # Refunded purchases are none: their customers got their money back.
    buyers = [customer.record.utility for customer in customers if customer.record.paid]
    return {
        "customers": len(customers),
        "businesses": len(study.businesses),
        "welfare": currency(welfare),
        "optimal": currency(base.optimal),
        "share_of_optimal": share(welfare, base.optimal),
        "optimal_or_nothing": currency(base.optimal_or_nothing),
        "loss": currency(base.optimal_or_nothing - welfare),
        "mean_utility": _mean_cents(welfare, len(customers)),
        "mean_utility_buyers": _mean_cents(sum(buyers), len(buyers)),
    }


def _spending(customers: Sequence[Customer]) -> dict[str, Any]:
    refused = sum((customer.refused for customer in customers), Counter[str]())
    return {
        "needs_met": sum(customer.met for customer in customers),
        "purchases": sum(len(customer.record.paid) for customer in customers),
        "spend": currency(sum(customer.spend for customer in customers)),
        "wasted": currency(sum(customer.wasted for customer in customers)),
        "unfinished": sum(customer.censored for customer in customers),
        "refused_payments": dict(sorted(refused.items())),
    }


def _baselines(study: Study) -> dict[str, Any]:
    """What simple choices would have earned at list prices, and the most under search and capacity."""
    known, base = study.yardsticks, study.yardsticks.baselines
    assigned = known.assignment
    return {
        "random_items": in_currency(base.random_items.mean),
        "cheapest": in_currency(base.cheapest.mean),
        "random_fits": in_currency(base.random_fits.mean),
        **{f"ceiling_{name}": currency(ceiling.welfare) for name, ceiling in known.ceilings.items()},
        # Only a scenario with capacity has an assignment: without one every customer can have the best business.
        "assignment": None if assigned is None else currency(assigned),
        "congestion": None if assigned is None else currency(base.optimal_or_nothing - assigned),
        "no_match": base.no_match,
        "no_fit": base.no_fit,
    }


def _sales(businesses: Sequence[Business]) -> dict[str, Any]:
    waits = [wait for business in businesses for wait in business.waits]
    return {
        "revenue": currency(sum(business.revenue for business in businesses)),
        "answer_rate": ratio(len(waits), sum(business.inquiries for business in businesses)),
        "rounds_to_answer": mean(waits),
    }


def _mean_cents(cents: int, count: int) -> float | None:
    return in_currency(Fraction(cents, count)) if count else None


def _bargains(study: Study) -> dict[str, Any]:
    found = study.bargains
    return {
        "buyer_share": _number(found.buyer_share),
        "seller_share": _number(found.seller_share),
        "seller_surplus": currency(found.seller_surplus),
        "first_best": currency(study.yardsticks.baselines.first_best),
        "bargaining_efficiency": _number(found.efficiency),
    }


def _exact(study: Study, welfare: int) -> dict[str, str]:
    """Fractions: totals in cents, shares as they are."""
    base, found = study.yardsticks.baselines, study.bargains
    numbers: dict[str, Fraction | int | None] = {
        "random_items": base.random_items.mean,
        "random_items_variance": base.random_items.variance,
        "cheapest": base.cheapest.mean,
        "random_fits": base.random_fits.mean,
        "random_fits_variance": base.random_fits.variance,
        # As in `share`: a part of a loss is no share.
        "share_of_optimal": Fraction(welfare, base.optimal) if base.optimal > 0 else None,
        "buyer_share": found.buyer_share,
        "seller_share": found.seller_share,
        "bargaining_efficiency": found.efficiency,
    }
    return {name: str(number) for name, number in numbers.items() if number is not None}


def _number(share_of: Fraction | None) -> float | None:
    return None if share_of is None else share(share_of, 1)


# --- tables -----------------------------------------------------------------------------------------------------------


def marketplace_tables(outcome: MarketplaceOutcome) -> list[Table]:
    """Baselines, the way from the market to the payment, the terms of the loss; tables without rows are left out."""
    market = outcome.market_outcome
    found = [_references_table(market), _funnel_table(market), _losses_table(outcome)]
    return [table for table in found if table.rows]


def _references_table(market: MarketplaceMarket) -> Table:
    rows = [
        (
            reference.name,
            reference.kind,
            number_text(reference.welfare),
            number_text(reference.deviation or None),
            number_text(reference.share),
            number_text(reference.recall),
        )
        for reference in market.references
    ]
    title = "welfare compared with baselines at list prices: exact expectations with their deviations, and maxima"
    return Table(title, ("choice", "what it is", "welfare", "deviation", "share of optimal", "fits shown"), rows)


def _funnel_table(market: MarketplaceMarket) -> Table:
    rows = [(step.step, str(step.customers), str(step.fitting), number_text(step.possible)) for step in market.funnel]
    title = "customers on the way to a purchase: with any business, with one that fits, and what was still possible"
    return Table(title, ("step", "customers", "with a fit", "still possible"), rows)


def _losses_table(outcome: MarketplaceOutcome) -> Table:
    """The customers who lost most."""
    # Only customers that lost something; those at their optimum would fill the table with zeros.
    losers = sorted(
        ((seat, result) for seat, result in outcome.seats.items() if result.loss), key=lambda row: -(row[1].loss or 0.0)
    )
    rows = [
        (seat, *(number_text(getattr(result, name)) for name in ("loss", *(f"loss_{term}" for term in TERMS))))
        for seat, result in losers[:_MAX_ROWS]
    ]
    more = f", the {_MAX_ROWS} costliest of {len(losers)}" if len(losers) > _MAX_ROWS else ""
    return Table(f"what customers lost, and to what{more}", ("customer", "all", *TERMS), rows, ["loss"])
