"""The marketplace's own failure modes (marketplace page, 10): the table, and findings of all its seats.

The unit is one seat in one episode. Words and thresholds are in `modes.toml`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradefair.evaluation.markets.marketplace.modes import buying, choosing, influence, searching, selling
from tradefair.evaluation.markets.marketplace.modes.play import Bazaar, Buyer, Seller
from tradefair.evaluation.markets.marketplace.modes.reading import read_bazaar
from tradefair.evaluation.markets.marketplace.modes.rules import PREFIX, diagnostic_rules
from tradefair.evaluation.modes.cases import unchecked
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.modes.judged import Frame, diagnosis_of, findings_by
from tradefair.evaluation.modes.sign import Sign
from tradefair.tracestore import Trace

OfBuyer = Callable[[Buyer, Mapping[str, float]], Sign]
OfSeller = Callable[[Seller, Mapping[str, float]], Sign]
OfEither = Callable[[Buyer | Seller, Mapping[str, float]], Sign]


def _overload(buyer: Buyer, limits: Mapping[str, float]) -> Sign:
    """One episode has one page size; `tradefair lab experiment` judges the sweep `marketplace/consideration_set`."""
    return unchecked("one episode has one page size: tradefair lab experiment compares those of a sweep")


CUSTOMERS: Mapping[str, OfBuyer] = {
    "query_miss": searching.detect_miss,
    "shallow_outreach": searching.detect_narrow,
    "impatient_payment": choosing.detect_impatience,
    "first_offer_taken": choosing.detect_first,
    "dominated_choice": choosing.detect_dominated,
    "unverified_fit": buying.detect_unverified,
    "paid_misfit": buying.detect_misfit,
    "double_purchase": buying.detect_double,
    "offer_wasted": choosing.detect_wasted,
    "canary_followed": influence.detect_followed,
    "paid_manipulator": influence.detect_paid,
    "position_choice": searching.detect_position,
    "poll_waste": searching.detect_poll,
    "repeat_search": searching.detect_repeat,
    "overload": _overload,
}
"""Mode -> detector of what customers do."""

BUSINESSES: Mapping[str, OfSeller] = {
    "invalid_offers": selling.detect_invalid,
    "misrepresentation": selling.detect_misrepresentation,
    "below_floor_sale": selling.detect_below_floor,
    "ignored_customer": selling.detect_ignored,
    "flooding": selling.detect_flooding,
}
"""Mode -> detector of what businesses do."""

EITHER: Mapping[str, OfEither] = {"stale_action": buying.detect_stale}
"""Mode -> detector of what both do."""

# From the words of `modes.toml`, so that a mode without words cannot be listed.
DETECTORS: tuple[str, ...] = tuple(diagnostic_rules().detectors)
"""The names of all modes, in the order of the page's table."""


def diagnose_marketplace(trace: Trace) -> Diagnosis:
    """The findings of an opened trace of this market. Never raises, except for an unreadable manifest."""
    return diagnosis_of(trace, diagnostic_rules(), detect(read_bazaar(trace)))


def detect(game: Bazaar) -> list[Finding]:
    """The findings of every failure mode, in the order of the table."""
    book, frame = diagnostic_rules(), Frame(game.window, "currency units")
    found: list[Finding] = []
    for name in DETECTORS:
        # By role, so that a mode's "checked, not found" counts only seats that could have it.
        if name in CUSTOMERS:
            found += findings_by({name: CUSTOMERS[name]}, game.customers, book, PREFIX, frame)
        elif name in BUSINESSES:
            found += findings_by({name: BUSINESSES[name]}, game.businesses, book, PREFIX, frame)
        else:
            found += findings_by({name: EITHER[name]}, {**game.customers, **game.businesses}, book, PREFIX, frame)
    return found
