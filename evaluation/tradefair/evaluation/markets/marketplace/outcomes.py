"""Outcomes of the marketplace from the facts and calls of a trace. Money in currency units.

Totals of cents are shown with two decimals and so are exact; what is a fraction of a cent, or a share, stands in
`exact` as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pydantic import BaseModel

from tradefair.contract import SeatId
from tradefair.contract.money import currency
from tradefair.evaluation.figure import figure
from tradefair.evaluation.markets.marketplace.businesses import Business
from tradefair.evaluation.markets.marketplace.customers import Customer, funnel
from tradefair.evaluation.markets.marketplace.play import MarketPlay
from tradefair.evaluation.markets.marketplace.references import Reference, in_currency, references, share
from tradefair.evaluation.markets.marketplace.study import Study, study_of
from tradefair.evaluation.outcome import MarketOutcome, Outcome, SeatOutcome, common_seat, nothing
from tradefair.evaluation.read.arithmetic import mean, ratio, rounded
from tradefair.evaluation.record import Record
from tradefair.evaluation.table import Table, number_text
from tradefair.marketplace.analysis import baselines
from tradefair.tracestore import Trace

_MAX_ROWS = 40
"""Rows of a table at most."""
TERMS = ("query", "outreach", "offer", "impatience", "misjudgement", "execution")
"""The terms of the loss; offer, impatience and misjudgement together are the loss of selection."""


class MarketplaceSeat(SeatOutcome):
    """One customer or one business; what belongs to the other role is null.

    Letters: Of a customer, V is its value, F whether a business or proposal fits (1 or 0), u = V · F − total. Baselines
    and maxima are at list prices: where sellers go below list, customers can beat them.
    """

    utility: float | None = figure(
        "utility", "currency units", "higher", over="total", on="table compare primary", role="customer"
    )
    """U = V if some paid proposal fits, − Σ totals paid; refunded ones are left out

    Null: of a business
    Source: Magentic Marketplace (Microsoft, MIT)
    """
    value: float | None = figure("value", "currency units")
    """V: what a purchase that fits is worth, once

    Null: of a business
    """
    list_price_optimum: float | None = figure(
        "most at list prices",
        "currency units",
        short="most at list",
        caution="the most at list prices, whatever others buy; a share above 1 is a purchase below list",
        on="table",
        role="customer",
    )
    """O = max(0, best of V · F − list price over businesses that have all items)

    Null: of a business
    """
    achieved: float | None = figure("achieved", "share", "higher")
    """U / O; above 1 for who bought below list prices

    Null: of a business, or O is 0
    """
    loss: float | None = figure(
        "lost beside the most at list prices",
        "currency units",
        "lower",
        short="lost",
        caution="list-price optimum less utility: below 0 where sellers went below list",
        on="table compare",
        role="customer",
    )
    """O − U, the sum of loss_query, loss_outreach, loss_selection and loss_execution; below 0 where sellers went below
    list

    Null: of a business
    """
    loss_query: float | None = figure("lost by searching", "currency units", "lower")
    """O − Q, Q the best of the businesses that were shown, wrote or were asked

    Null: of a business
    """
    loss_outreach: float | None = figure("lost by not asking", "currency units", "lower")
    """Q − C, C the best of the businesses asked or with a delivered proposal

    Null: of a business
    """
    loss_selection: float | None = figure("lost by choosing", "currency units", "lower")
    """C − D = loss_offer + loss_impatience + loss_misjudgement

    Null: of a business
    """
    loss_offer: float | None = figure("lost by offers", "currency units", "lower")
    """C − A, A the best delivered proposal: dearer than list, or none; below 0 where sellers went below list

    Null: of a business
    """
    loss_impatience: float | None = figure("lost by impatience", "currency units", "lower")
    """A − H, H the best proposal delivered before the decision

    Null: of a business
    """
    loss_misjudgement: float | None = figure("lost by misjudgement", "currency units", "lower")
    """H − D, D the best that the customer tried to pay

    Null: of a business
    """
    loss_execution: float | None = figure("lost in payment", "currency units", "lower")
    """D − U: payments that failed, or more than one

    Null: of a business
    """
    random_items: float | None = figure("random business with all items", "currency units")
    """mean of u over the businesses that have all items, at list prices; 0 without one

    Null: of a business
    """
    cheapest: float | None = figure("cheapest with all items", "currency units")
    """mean of u over the cheapest of them, whatever the amenities; 0 without one

    Null: of a business
    """
    random_fits: float | None = figure("random business that fits", "currency units")
    """mean of u over the businesses that fit; 0 without one

    Null: of a business
    """
    need_met: bool | None = figure("need met", "yes or no", "higher")
    """whether a paid proposal fits

    Null: of a business
    """
    purchases: int | None = figure("purchases", "proposals")
    """proposals paid and not refunded

    Null: of a business
    """
    spend: float | None = figure("spent", "currency units", on="table compare", role="customer")
    """Σ totals of purchases

    Null: of a business
    """
    wasted: float | None = figure("wasted", "currency units", "lower")
    """spend − the cheapest total of a purchase that fits; all of it where none fits

    Null: of a business
    """
    searches: int | None = figure("searches", "calls")
    """search_businesses carried out

    Null: of a business
    """
    shown: int | None = figure("businesses shown", "businesses", short="shown", on="table", role="customer")
    """businesses that a search or profile showed, that wrote or proposed, or that were asked

    Null: of a business
    """
    asked: int | None = figure("businesses asked", "businesses", short="asked", on="table compare", role="customer")
    """businesses that the customer wrote to or got a proposal of

    Null: of a business
    """
    offered: int | None = figure(
        "proposals received", "proposals", short="proposals", on="table compare", role="customer"
    )
    """proposals delivered

    Null: of a business
    """
    tries: int | None = figure("tries to pay", "calls")
    """calls that tried to pay a delivered proposal, refused ones too

    Null: of a business
    """
    refused_payments: dict[str, int] = figure("refused payments", "payments", "lower")
    """by code, tries that were refused, and payments declined at the close

    Null: never; empty for a business
    """
    choice: SeatId | None = figure("choice", "name")
    """the business of the first paid proposal, refunded or not

    Null: of a business, or nothing was paid
    """
    choice_arrival: int | None = figure("arrival of the choice", "place")
    """place of that proposal among all delivered to the customer, 1 first

    Null: of a business, or nothing was paid
    """
    choice_rank: int | None = figure("rank of the chosen business", "rank")
    """arrival rank of the business for this customer, 0 first

    Null: of a business, or nothing was paid
    """
    choice_position: int | None = figure("position of the choice", "position")
    """where a search first showed the business, over pages, 1 first

    Null: of a business, nothing was paid, or no search showed it
    """
    unfinished: bool | None = figure("unfinished", "yes or no")
    """neither left nor paid before an end that the rules did not make

    Null: of a business
    """
    revenue: float | None = figure(
        "revenue", "currency units", "higher", over="total", on="table compare primary", role="business"
    )
    """Σ totals of paid and not refunded proposals, in escrow too

    Null: of a customer
    """
    orders: int | None = figure("orders", "orders", "higher", on="table compare", role="business")
    """proposals paid and not refunded

    Null: of a customer
    """
    surplus: float | None = figure("surplus above floors", "currency units", "higher")
    """Σ over orders of total − floor

    Null: of a customer
    """
    proposals: int | None = figure("proposals", "proposals")
    """proposals sent

    Null: of a customer
    """
    misstated: int | None = figure("misstated proposals", "proposals", "lower")
    """proposals with a false claim

    Null: of a customer
    """
    inquiries: int | None = figure("inquiries", "messages")
    """customers' messages that reached the business

    Null: of a customer
    """
    answered: int | None = figure("answered", "messages", "higher", on="table", role="business")
    """inquiries after which a text or proposal went to their customer

    Null: of a customer
    """
    answer_rate: float | None = figure("answer rate", "share", "higher")
    """answered / inquiries

    Null: of a customer, or without an inquiry
    """
    rounds_to_answer: float | None = figure("rounds to an answer", "rounds", "lower")
    """mean over answered inquiries of the rounds until the answer

    Null: of a customer, or nothing was answered
    """


class FunnelStep(Record):
    """How many customers reached a step from the market to the payment, and what was still possible there."""

    step: str = figure("step", "name")
    """in the market, shown, asked, offered, tried to pay, paid"""
    customers: int = figure("customers", "customers")
    """customers that got there with any business"""
    fitting: int = figure("customers with a fit", "customers")
    """customers that got there with a business or proposal that fits"""
    possible: float = figure("still possible", "currency units")
    """Σ of the best that was left to each customer: O first, W last"""


class MarketplaceMarket(MarketOutcome):
    """All customers and businesses together: welfare, where it was lost, and what it is compared with.

    Without the hidden facts only what needs none of them is there.
    """

    customers: int = figure("customers", "customers")
    """number of customers"""
    businesses: int = figure("businesses", "businesses")
    """number of businesses"""
    welfare: float = figure("welfare", "currency units", "higher", on="compare")
    """W = Σ over customers of U

    Source: Magentic Marketplace (Microsoft, MIT)
    """
    optimal: float | None = figure("best purchases", "currency units")
    """Σ of the best u of each customer at list prices, even at a loss

    Null: hidden facts are missing
    """
    share_of_optimal: float | None = figure(
        "share of the best purchases", "share", "higher", short="share of best", on="compare"
    )
    """W / optimal

    Null: optimal is missing or not positive
    """
    optimal_or_nothing: float | None = figure("most at list prices of all", "currency units")
    """Σ of O: nobody has to buy

    Null: hidden facts are missing
    """
    needs_met: int = figure("needs met", "customers", "higher", on="compare")
    """customers with a purchase that fits"""
    purchases: int = figure("purchases", "proposals")
    """Σ over customers"""
    spend: float = figure("spent", "currency units")
    """Σ over customers"""
    wasted: float = figure("wasted", "currency units", "lower", on="compare")
    """Σ over customers"""
    mean_utility: float | None = figure("mean utility", "currency units", "higher")
    """W / customers

    Null: without customers
    """
    mean_utility_buyers: float | None = figure("mean utility of buyers", "currency units", "higher")
    """mean of U over customers with a purchase

    Null: nobody bought
    """
    unfinished: int = figure("unfinished customers", "customers")
    """customers that neither left nor paid before an end that the rules did not make"""
    loss: float = figure("lost beside the most at list prices", "currency units", "lower")
    """optimal_or_nothing − W, the sum of its terms below"""
    loss_query: float = figure("lost by searching", "currency units", "lower")
    """Σ over customers"""
    loss_outreach: float = figure("lost by not asking", "currency units", "lower")
    """Σ over customers"""
    loss_selection: float = figure("lost by choosing", "currency units", "lower")
    """Σ over customers"""
    loss_offer: float = figure("lost by offers", "currency units", "lower")
    """Σ over customers"""
    loss_impatience: float = figure("lost by impatience", "currency units", "lower")
    """Σ over customers"""
    loss_misjudgement: float = figure("lost by misjudgement", "currency units", "lower")
    """Σ over customers"""
    loss_execution: float = figure("lost in payment", "currency units", "lower")
    """Σ over customers"""
    recall: float | None = figure("fits shown", "share", "higher")
    """pairs of a customer and a business that fits it and was shown to it / all pairs that fit

    Null: no business fits anyone
    """
    random_items: float | None = figure("random business with all items", "currency units")
    """Σ over customers

    Null: hidden facts are missing
    """
    cheapest: float | None = figure("cheapest with all items", "currency units")
    """Σ over customers

    Null: hidden facts are missing
    """
    random_fits: float | None = figure("random business that fits", "currency units")
    """Σ over customers

    Null: hidden facts are missing
    """
    ceiling_item_names: float | None = figure("most by item names", "currency units")
    """the most at list prices for who searches once by item names and sees the first page

    Null: search cannot be repeated
    """
    ceiling_request_text: float | None = figure("most by the request", "currency units")
    """the same by the text of the request

    Null: search cannot be repeated
    """
    ceiling_filters: float | None = figure("most by filters", "currency units")
    """the same without words, by filters on items and amenities

    Null: search cannot be repeated, or takes no filters
    """
    assignment: float | None = figure("most under capacity", "currency units")
    """the most at list prices where businesses take so many orders

    Null: the scenario has no capacity
    """
    congestion: float | None = figure("congestion", "currency units")
    """optimal_or_nothing − assignment

    Null: the scenario has no capacity
    """
    no_match: int | None = figure("without a match", "customers")
    """customers for whom no business has all items

    Null: hidden facts are missing
    """
    no_fit: int | None = figure("without a fit", "customers")
    """customers whom no business fits

    Null: hidden facts are missing
    """
    revenue: float = figure("revenue", "currency units")
    """Σ totals of purchases"""
    in_escrow: float = figure("in escrow", "currency units")
    """what of the revenue neither reached a business nor came back"""
    answer_rate: float | None = figure("answer rate", "share", "higher")
    """answered / inquiries, over all businesses

    Null: without an inquiry
    """
    rounds_to_answer: float | None = figure("rounds to an answer", "rounds", "lower")
    """mean over all answered inquiries

    Null: nothing was answered
    """
    buyer_share: float | None = figure("buyers' share", "share")
    """Σ (V − total) / Σ (V − floor) over purchases that fit with V above floor

    Null: there is none
    """
    seller_share: float | None = figure("sellers' share", "share")
    """Σ (total − floor) / Σ (V − floor) over the same purchases

    Null: there is none
    """
    seller_surplus: float = figure("sellers' surplus", "currency units")
    """Σ over purchases of total − floor"""
    first_best: float | None = figure("first best", "currency units")
    """Σ over customers of max(0, best of V · F − floor)

    Null: hidden facts are missing
    """
    bargaining_efficiency: float | None = figure("bargaining efficiency", "share", "higher")
    """(Σ of V over customers with a purchase that fits − Σ of floors of purchases) / first_best

    Null: first_best is missing or 0
    """
    privileged_search: bool = figure("privileged search", "yes or no")
    """whether search ranks by what it cannot know (the scenario's algorithm is optimal)"""
    price_rule: str | None = figure("price rule", "name")
    """the scenario's rule for prices

    Null: the scenario cannot be read
    """
    refused_payments: dict[str, int] = figure("refused payments", "payments", "lower")
    """by code, Σ over customers

    Null: never; empty without one
    """
    funnel: list[FunnelStep] = figure("from market to payment", "record")
    """by step, the fields below

    Null: never; empty where hidden facts are missing
    """
    references: list[Reference] = figure("references", "record")
    """the played welfare and what it is compared with, the fields below

    Null: never; empty where hidden facts are missing
    """
    exact: dict[str, str] = figure("exact figures", "text")
    """by name, baselines in cents and shares, as fractions; what is not defined is left out

    Null: never; empty where hidden facts are missing
    """


class MarketplaceBeside(BaseModel):
    """What a seat has beside references, on the same scenario and seed."""

    normalised_regret: float | None = figure(
        "regret between passive and the reference",
        "share",
        "lower",
        short="normalised regret",
        caution="0 is a reference that knows hidden facts, but is no bound, 1 passive; it can fall below 0",
    )
    """(reference − agent) / (reference − passive), utilities on the same market; the reference is the policy oracle,
    which knows hidden facts, buys at list prices and is no maximum: below 0 is possible

    Null: of a business, a reference was not played, or it earned no more than passive
    """
    over_random: float | None = figure(
        "utility over buying at random",
        "currency units",
        "higher",
        short="over random",
        caution="utility over the exact mean of buying at random, at list prices, from those who have all items",
    )
    """utility − random_items

    Null: of a business
    """


MarketplaceOutcome = Outcome[MarketplaceSeat, MarketplaceMarket]


def marketplace_outcome(trace: Trace, version: str) -> MarketplaceOutcome:
    """Outcome of an opened trace; `version` is that of these formulas. What cannot be used is listed in it."""
    study = study_of(trace)
    play = study if isinstance(study, MarketPlay) else study.play
    # Conduct comes first: it is known even of a trace that hides who was customer and who business.
    seats = {
        seat: MarketplaceSeat(**common_seat(play.reading, seat), **nothing(MarketplaceSeat))
        for seat in play.reading.conduct
    }
    if isinstance(study, Study):
        for index, customer in enumerate(study.customers):
            seats[customer.seat] = _customer(study, index, seats[customer.seat])
        for business in study.businesses:
            seats[business.seat] = seats[business.seat].model_copy(update=_business(business))
    market = _market(study) if isinstance(study, Study) else MarketplaceMarket(**nothing(MarketplaceMarket))
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
    found: dict[str, Any] = dict(
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
    return MarketplaceMarket(**{**nothing(MarketplaceMarket), **found})


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
