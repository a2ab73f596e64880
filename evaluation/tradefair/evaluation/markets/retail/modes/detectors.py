"""The failure modes of retail and the figures of its four stages."""

from __future__ import annotations

from tradefair.evaluation.markets.retail.modes import attention, pricing, sourcing, stock
from tradefair.evaluation.markets.retail.modes.conversion import conversion
from tradefair.evaluation.markets.retail.modes.evidence import evidence
from tradefair.evaluation.markets.retail.modes.follow_up import follow_up
from tradefair.evaluation.markets.retail.modes.play import RetailPlay
from tradefair.evaluation.markets.retail.modes.selection import selection
from tradefair.evaluation.modes.diagnosis import Detector, Stage
from tradefair.evaluation.modes.table import ModeTable, load_modes

_DETECTORS: dict[str, Detector] = {
    "price_first_sourcing": sourcing.price_first_sourcing,
    "ignored_returns": sourcing.ignored_returns,
    "stale_quotes": sourcing.stale_quotes,
    "priced_out": pricing.priced_out,
    "overbuying": stock.overbuying,
    "stranded_stock": stock.stranded_stock,
    "illiquid": stock.illiquid,
    "empty_shelf": stock.empty_shelf,
    "idle_days": attention.idle_days,
    "news_unread": attention.news_unread,
}

MODES: ModeTable = load_modes(__package__ or "", _DETECTORS)
"""The market's own modes, in the order of its file: of two that judge one decision the upper one tells it."""


def stages_of(play: RetailPlay) -> list[Stage]:
    """The figures of the four stages; none where the scenario cannot be read, for the store's columns mean nothing."""
    if play.scenario is None:
        return []
    return [stage(play) for stage in (selection, evidence, conversion, follow_up)]
