"""The supply chain's own failure modes: the detector of each row of `modes.toml`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradefair.evaluation.markets.supply_chain.modes import offers, prices, procurement, slogans, stock
from tradefair.evaluation.modes.diagnosis import Seen
from tradefair.evaluation.modes.table import load_modes

DETECTORS: Mapping[str, Callable[..., Seen]] = {
    "overpay": procurement.detect_overpay,
    "floor_fixation": procurement.detect_floor,
    "ignored_feedback": procurement.detect_ignored,
    "evidence_contradicted": procurement.detect_contradicted,
    "reorder_glut": stock.detect_glut,
    "dead_stock": stock.detect_dead,
    "empty_shelf": stock.detect_empty,
    "underpriced_sellout": prices.detect_underpriced,
    "unsellable_price": prices.detect_unsellable,
    "gouging": prices.detect_gouging,
    "stale_offer": offers.detect_stale,
    "unread_history": offers.detect_unread,
    "keyword_stuffing": slogans.detect_stuffing,
    "slogan_copying": slogans.detect_copying,
    "empty_slogan": slogans.detect_empty_slogan,
    "language_neglect": slogans.detect_neglect,
    "bankruptcy": stock.detect_bankruptcy,
}

MODES = load_modes("tradefair.evaluation.markets.supply_chain.modes", DETECTORS)
"""The table with its detectors, as the evaluator declares it."""
