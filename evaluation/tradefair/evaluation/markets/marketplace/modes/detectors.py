"""The marketplace's own failure modes: which detector looks for which row of `modes.toml`.

Detectors read one seat of one episode; amounts are in cents in what they read, and in currency units in their cases.
"""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.markets.marketplace.modes import buying, choosing, influence, searching, selling
from tradefair.evaluation.modes.diagnosis import Detector

DETECTORS: Mapping[str, Detector] = {
    "query_miss": searching.detect_miss,
    "shallow_outreach": searching.detect_narrow,
    "left_early": searching.detect_left,
    "paid_manipulator": influence.detect_paid,
    "paid_misfit": buying.detect_misfit,
    "double_purchase": buying.detect_double,
    "dominated_choice": choosing.detect_dominated,
    "first_offer_taken": choosing.detect_first,
    "unverified_fit": buying.detect_unverified,
    "payment_refused": buying.detect_refused,
    "offer_wasted": choosing.detect_wasted,
    "canary_followed": influence.detect_followed,
    "position_choice": searching.detect_position,
    "poll_waste": searching.detect_poll,
    "repeat_search": searching.detect_repeat,
    "invalid_offers": selling.detect_invalid,
    "misrepresentation": selling.detect_misrepresentation,
    "below_floor_sale": selling.detect_below_floor,
    "overpriced_offers": selling.detect_overpriced,
    "ignored_customer": selling.detect_ignored,
    "flooding": selling.detect_flooding,
}
"""Mode -> detector, in the order of the table."""
