"""Failure modes of attention, evidence and diligence. Limits come from `modes.toml`."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.retail.modes.conversion import blocked
from tradefair.evaluation.markets.retail.modes.evidence import completeness
from tradefair.evaluation.markets.retail.modes.follow_up import acted_again, event_pairs, unresolved
from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.evaluation.markets.retail.modes.selection import missed_high_demand
from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.sign import Sign, sign_of


def narrow_attention(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Best sellers left alone, or few products ever acted on although the shelf has room for more."""
    missed = missed_high_demand(play)
    counted = share(missed.missed, missed.all, missed.events)
    acted = {event.product for event in play.events}
    places = play.scenario.shelf_places if play.scenario else 0
    # A shelf with no more places than that calls for no more products.
    few = len(acted) <= limits["max_products"] < places
    over = counted.value is not None and counted.value >= limits["missed_high_demand"]
    # Raised by few products alone: then there is no missed day to cite, so the actions themselves are cited.
    if few and not over:
        counted = counted.model_copy(update={"events": share(0, 0, (seq for _, _, seq in play.action_pairs())).events})
    return sign_of(over or few, counted, parts={"distinct_products": len(acted), "shelf_places": places})


def missing_evidence(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Actions without the evidence that they should rest on; a privileged seat needs none."""
    counted = completeness(play)
    low = counted.value is not None and counted.value <= limits["completeness"]
    raised = low and counted.denominator >= limits["min_events"]
    # Such a seat is told the truth without a call: lack of looks says nothing about it.
    note = "privileged" if play.privileged else None
    return sign_of(raised and not play.privileged, counted, note=note, checked=not play.privileged)


def no_follow_up(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Products acted on and not come back to."""
    counted = acted_again(play, play.acted_days())
    low = counted.value is not None and counted.value <= limits["follow_up_rate"]
    return sign_of(low and counted.denominator >= limits["min_pairs"], counted)


def unresolved_events(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Stock-outs, returns and expiries that were not looked into; severity: refunds and expiries of those days."""
    # Only pairs with a whole window: trouble of the last days could no longer be answered.
    pairs = [pair for pair in event_pairs(play) if pair.at_risk]
    counted = unresolved(pairs)
    cents = 0
    for pair in pairs:
        if pair.answered is None:
            product = play.days[pair.day - 1].facts.product
            cents += product.refunds_cents[pair.product] + product.expiry_cost_cents[pair.product]
    high = counted.value is not None and counted.value >= limits["unresolved_rate"]
    return sign_of(high and counted.denominator >= limits["min_pairs"], counted, severity=cents / 100)


def idle_days(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Days that were only closed."""
    # A look alone is no activity: the day was closed with everything as it was.
    idle = [day.seq for day in play.days if not day.conduct.active]
    counted = share(len(idle), play.length, idle)
    return sign_of(counted.value is not None and counted.value >= limits["idle_days"], counted)


def rejected_actions(play: RetailPlay, limits: Mapping[str, float]) -> Sign:
    """Orders and prices that were refused."""
    counted = blocked(play)
    high = counted.value is not None and counted.value >= limits["blocked_rate"]
    return sign_of(high and counted.denominator >= limits["min_attempts"], counted)
