"""Outcomes of the marketplace from the facts and calls of a trace (marketplace page, 9). Money in currency units.

Totals of cents are shown with two decimals and so are exact; what is a fraction of a cent, or a share, stands in
`exact` as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from tradefair.contract.money import currency
from tradefair.contract.seats import SeatId
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
TERMS = ("query", "outreach", "offer", "impatience", "misjudgement", "execution")
"""The terms of the loss; offer, impatience and misjudgement together are the loss of selection."""


class MarketplaceSeat(SeatOutcome):
    """One customer or one business; what belongs to the other role is null. Formulas: section 9.

    Of a customer: `utility` U_i, `value` V_i, `optimum` O_i (the most at list prices), `loss` O − U and its terms,
    which sum to it; `loss_offer` is below 0 where sellers went below list. `achieved` = U/O, null where O is 0.
    `random_items`, `cheapest` and `random_fits` are the customer's own baselines. `shown`, `asked` and `offered` count
    businesses, businesses and proposals; `refused_payments` are by code. `choice` is the business of the first paid
    proposal, `choice_arrival` that proposal's place among all delivered, `choice_rank` the arrival rank of the business
    (0 first), `choice_position` where a search first showed it (1 first). `unfinished`: neither left nor paid before an
    end that the rules did not make.

    Of a business: `revenue` and `orders` of paid and not refunded proposals, `surplus` above floors, `answered` of
    `inquiries` (customers' messages that reached it), `rounds_to_answer` their mean, `misstated` proposals with a
    false claim.
    """

    utility: float | None = None
    value: float | None = None
    optimum: float | None = None
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
    """How many customers reached a step with anybody and with somebody who fits, and the sum of what was the best
    that was left to them there, in currency units: it begins at the optimum and ends at the welfare."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: str
    customers: int
    fitting: int
    possible: float


class MarketplaceMarket(MarketOutcome):
    """All customers and businesses together.

    `welfare` W = Σ U_i; `optimal` and the other baselines are at list prices, so that sellers who go below list can
    beat them; `share_of_optimal` is null where `optimal` is not positive. `loss` = `optimal_or_nothing` − W, and its
    terms. `recall` is the share of all fits that their customers were shown. `ceiling_*`: the most for whoever searches
    once so, K results; `ceiling_filters` is null where search takes none. `assignment` (with capacity) is the most
    under it, `congestion` what of the optimum it leaves out of reach. Bargaining: `buyer_share` and `seller_share` of
    V − floor over the fitting trades, `first_best` Σ max(0, V·F − floor), `bargaining_efficiency` the realised share
    of it.
    `unfinished` customers neither left nor paid before an end that the rules did not make. `revenue` is of paid and not
    refunded proposals, `in_escrow` what of it no business has got yet.
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
    seats = {seat: MarketplaceSeat(**common_seat(play.reading, seat)) for seat in play.reading.conduct}
    if isinstance(study, Study):
        for place, customer in enumerate(study.customers):
            seats[customer.seat] = _customer(study, place, seats[customer.seat])
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
    if all(result.utility is None for result in known.values()):
        return {label: {} for label in known}
    return {
        label: {"normalised_regret": _regret(result.utility, passive, oracle), "over_random": _over_random(result)}
        for label, result in known.items()
    }


def _over_random(one: MarketplaceSeat) -> float | None:
    return None if one.utility is None or one.random_items is None else rounded(one.utility - one.random_items)


def _regret(utility: float | None, passive: MarketplaceSeat | None, oracle: MarketplaceSeat | None) -> float | None:
    """(oracle − agent)/(oracle − passive), null unless the oracle earned more; the oracle buys at list prices."""
    if passive is None or oracle is None or utility is None or passive.utility is None or oracle.utility is None:
        return None
    return (
        ratio(oracle.utility - utility, oracle.utility - passive.utility) if oracle.utility > passive.utility else None
    )


# --- seats ------------------------------------------------------------------------------------------------------------


def _customer(study: Study, place: int, common: MarketplaceSeat) -> MarketplaceSeat:
    one = study.customers[place]
    record, loss = one.record, one.loss
    own = baselines([study.truth.matches[place]])
    first = study.play.proposals[one.bought[0]] if one.bought else None
    chosen = None if first is None else study.truth.indices[first.facts.business]
    return common.model_copy(
        update={
            "utility": currency(record.utility),
            "value": currency(record.value),
            "optimum": currency(loss.optimum),
            "achieved": share(record.utility, loss.optimum),
            "loss": currency(loss.total),
            **_terms([one]),
            "random_items": in_currency(own.random_items.mean),
            "cheapest": in_currency(own.cheapest.mean),
            "random_fits": in_currency(own.random_fits.mean),
            "need_met": one.met,
            "purchases": len(record.paid),
            "spend": currency(one.spend),
            "wasted": currency(one.wasted),
            "searches": one.searches,
            "shown": len(one.shown),
            "asked": len(one.asked),
            "offered": len(record.offers),
            "tries": len(record.tries),
            "refused_payments": dict(sorted(one.refused.items())),
            "choice": None if first is None else first.facts.business,
            "choice_arrival": None if first is None else first.arrival,
            "choice_rank": None if first is None else first.rank,
            "choice_position": None if chosen is None else one.positions.get(chosen),
            "unfinished": one.censored,
        }
    )


def _terms(customers: Sequence[Customer]) -> dict[str, float]:
    """The terms of the loss summed over customers, with that of selection, which three of them make."""
    return {
        f"loss_{name}": currency(sum(getattr(one.loss, name) for one in customers)) for name in (*TERMS, "selection")
    }


def _business(one: Business) -> dict[str, Any]:
    return {
        "revenue": currency(one.revenue),
        "orders": one.orders,
        "surplus": currency(one.surplus),
        "proposals": one.proposals,
        "misstated": one.misstated,
        "inquiries": one.inquiries,
        "answered": len(one.waits),
        "answer_rate": ratio(len(one.waits), one.inquiries),
        "rounds_to_answer": mean(one.waits),
    }


# --- the market -------------------------------------------------------------------------------------------------------


def _market(study: Study) -> MarketplaceMarket:
    customers, known, base = study.customers, study.yardsticks, study.yardsticks.baselines
    welfare = sum(one.record.utility for one in customers)
    buyers = [one.record.utility for one in customers if one.record.paid]
    waits = [wait for one in study.businesses for wait in one.waits]
    refused = sum((one.refused for one in customers), Counter[str]())
    fits = sum(len(one.fits) for one in customers)
    recall = Fraction(sum(len(one.fits & one.shown) for one in customers), fits) if fits else None
    ceilings = {f"ceiling_{name}": currency(each.welfare) for name, each in known.ceilings.items()}
    assigned, scenario = known.assignment, study.play.scenario
    return MarketplaceMarket(
        customers=len(customers),
        businesses=len(study.businesses),
        welfare=currency(welfare),
        optimal=currency(base.optimal),
        share_of_optimal=share(welfare, base.optimal),
        optimal_or_nothing=currency(base.optimal_or_nothing),
        needs_met=sum(one.met for one in customers),
        purchases=sum(len(one.record.paid) for one in customers),
        spend=currency(sum(one.spend for one in customers)),
        wasted=currency(sum(one.wasted for one in customers)),
        mean_utility=_mean_cents(welfare, len(customers)),
        mean_utility_buyers=_mean_cents(sum(buyers), len(buyers)),
        unfinished=sum(one.censored for one in customers),
        loss=currency(base.optimal_or_nothing - welfare),
        **_terms(customers),
        recall=_number(recall),
        random_items=in_currency(base.random_items.mean),
        cheapest=in_currency(base.cheapest.mean),
        random_fits=in_currency(base.random_fits.mean),
        **ceilings,
        assignment=None if assigned is None else currency(assigned),
        congestion=None if assigned is None else currency(base.optimal_or_nothing - assigned),
        no_match=base.no_match,
        no_fit=base.no_fit,
        revenue=currency(sum(one.revenue for one in study.businesses)),
        in_escrow=currency(study.in_escrow),
        answer_rate=ratio(len(waits), sum(one.inquiries for one in study.businesses)),
        rounds_to_answer=mean(waits),
        **_bargains(study),
        privileged_search=scenario is not None and scenario.search_algorithm == "optimal",
        price_rule=scenario.price_rule if scenario is not None else None,
        refused_payments=dict(sorted(refused.items())),
        funnel=[
            FunnelStep(step=step.name, customers=step.customers, fitting=step.fitting, possible=currency(step.possible))
            for step in funnel(customers)
        ],
        references=references(welfare, known, recall),
        exact=_exact(study, welfare),
    )


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
            one.name,
            one.kind,
            number_text(one.welfare),
            number_text(one.deviation or None),
            number_text(one.share),
            number_text(one.recall),
        )
        for one in market.references
    ]
    title = "welfare beside baselines at list prices: exact expectations with their deviations, and maxima"
    return Table(title, ("choice", "what it is", "welfare", "deviation", "share of optimal", "fits shown"), rows)


def _funnel_table(market: MarketplaceMarket) -> Table:
    rows = [(one.step, str(one.customers), str(one.fitting), number_text(one.possible)) for one in market.funnel]
    title = "customers on the way to a purchase: with any business, with one that fits, and what was still possible"
    return Table(title, ("step", "customers", "with a fit", "still possible"), rows)


def _losses_table(outcome: MarketplaceOutcome) -> Table:
    """The customers who lost most."""
    losers = sorted(
        ((seat, one) for seat, one in outcome.seats.items() if one.loss),
        key=lambda row: -(row[1].loss or 0.0),
    )
    rows = [
        (seat, *(number_text(getattr(one, name)) for name in ("loss", *(f"loss_{term}" for term in TERMS))))
        for seat, one in losers[:_MAX_ROWS]
    ]
    more = f", the {_MAX_ROWS} dearest of {len(losers)}" if len(losers) > _MAX_ROWS else ""
    return Table(f"what customers lost, and to what{more}", ("customer", "loss", *TERMS), rows)
