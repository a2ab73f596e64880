"""The double auction's own failure modes (double_auction page, 10.1): the table, and findings of all its seats."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradefair.evaluation.markets.double_auction.modes import (
    contradicted_analysis,
    promise_broken,
    quotes,
    trades,
    value_leak,
    value_unseen,
)
from tradefair.evaluation.markets.double_auction.modes.play import AuctionGame, AuctionSeat
from tradefair.evaluation.markets.double_auction.modes.reading import read_auction
from tradefair.evaluation.markets.double_auction.modes.rules import PREFIX, diagnostic_rules
from tradefair.evaluation.modes.diagnosis import Diagnosis, Finding
from tradefair.evaluation.modes.judged import Frame, diagnosis_of, findings_by
from tradefair.evaluation.modes.sign import Sign
from tradefair.tracestore import Trace

Detector = Callable[[AuctionSeat, Mapping[str, float]], Sign]

# In the order of the page, which is the order of findings. The names are keys of `modes.toml`.
DETECTORS: Mapping[str, Detector] = {
    "loss_trade": trades.loss_trade,
    "forfeited_round": quotes.forfeited_round,
    "missed_profit": trades.missed_profit,
    "money_left": trades.money_left,
    "frozen_quote": quotes.frozen_quote,
    "parking": quotes.parking,
    "value_unseen": value_unseen.detect,
    "contradicted_analysis": contradicted_analysis.detect,
    "value_leak": value_leak.detect,
    "promise_broken": promise_broken.detect,
}


def diagnose_auction(trace: Trace) -> Diagnosis:
    """The findings of an opened trace of this market. Never raises, except for an unreadable manifest."""
    return diagnosis_of(trace, diagnostic_rules(), detect(read_auction(trace)))


def detect(game: AuctionGame) -> list[Finding]:
    """The findings of every failure mode, in the order of the table."""
    return findings_by(DETECTORS, game.seats, diagnostic_rules(), PREFIX, Frame(game.window, "points"))
