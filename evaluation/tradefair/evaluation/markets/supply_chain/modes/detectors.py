"""The supply chain's own failure modes (supply-chain page, 10): the table, and findings of all its seats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradefair.evaluation.markets.supply_chain.modes import (
    conduct,
    offers,
    overspend,
    prices,
    procurement,
    slogans,
    stock,
)
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SupplyGame
from tradefair.evaluation.markets.supply_chain.modes.reading import read_game
from tradefair.evaluation.markets.supply_chain.modes.rules import PREFIX, diagnostic_rules
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.modes.judged import Frame, diagnosis_of, findings_by
from tradefair.evaluation.modes.sign import Sign
from tradefair.tracestore import Trace

Detector = Callable[[Retail, Mapping[str, float]], Sign]

DETECTORS: Mapping[str, Detector] = {
    "overspend": overspend.detect,
    "unchecked_bid": overspend.detect_unchecked,
    "overpay": procurement.detect_overpay,
    "floor_fixation": procurement.detect_floor,
    "ignored_feedback": procurement.detect_ignored,
    "evidence_contradicted": procurement.detect_contradicted,
    "idle_capital": stock.detect_idle,
    "reorder_glut": stock.detect_glut,
    "dead_stock": stock.detect_dead,
    "empty_shelf": stock.detect_empty,
    "underpriced_sellout": prices.detect_underpriced,
    "below_cost": prices.detect_below_cost,
    "unsellable_price": prices.detect_unsellable,
    "gouging": prices.detect_gouging,
    "stale_offer": offers.detect_stale,
    "unread_history": offers.detect_unread,
    "keyword_stuffing": slogans.detect_stuffing,
    "slogan_copying": slogans.detect_copying,
    "language_neglect": slogans.detect_neglect,
    "idle_drift": conduct.detect_drift,
    "bankruptcy": conduct.detect_bankruptcy,
}


def diagnose_supply_chain(trace: Trace) -> Diagnosis:
    """The findings of an opened trace of this market. Never raises, except for an unreadable manifest."""
    return diagnosis_of(trace, diagnostic_rules(), detect(read_game(trace)))


def detect(game: SupplyGame) -> list[Finding]:
    """Every failure mode's findings, in the order of the table."""
    return findings_by(DETECTORS, game.seats, diagnostic_rules(), PREFIX, Frame(game.window, "currency units"))
