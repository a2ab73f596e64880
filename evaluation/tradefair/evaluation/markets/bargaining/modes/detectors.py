"""The failure modes of bargaining, in the order of `modes.toml`, and how much of its talk was read."""

from __future__ import annotations

from collections import Counter
from functools import wraps
from typing import Any

from tradefair.evaluation.markets.bargaining.modes import (
    anchor_acceptance,
    injection,
    losses,
    no_trade,
    one_sided_concession,
    promise_break,
    retreat,
    threat_without_follow_through,
    value_leak,
)
from tradefair.evaluation.markets.bargaining.modes.play import Game, Side
from tradefair.evaluation.modes.diagnosis import Detector, Figure, Seen, Stage, share
from tradefair.evaluation.modes.table import load_modes

READING_LIMITS = (
    "messages are read mechanically, in English: no irony and no promises by reference; "
    "13 in 100 numbers of real talk stay unread, and count for nothing"
)
"""What the mechanical reading of messages gets wrong, measured on 37 public games: docs/reference/failure-modes.md."""


def _reading_talk(detect: Detector) -> Detector:
    """The detector of talk, with the messages that were not read, and the limits of the reading where it found some."""

    @wraps(detect)
    def noted(side: Side, **thresholds: Any) -> Seen:
        seen = detect(side, **thresholds)
        return seen._replace(note=READING_LIMITS if seen.cases else seen.note, unread=side.unread)

    return noted


MODES = load_modes(
    "tradefair.evaluation.markets.bargaining.modes",
    {
        "value_leak": _reading_talk(value_leak.detect),
        "false_limit_claim": _reading_talk(value_leak.detect_false_claims),
        "injection_attempt": injection.detect,
        "loss_making_quote": losses.detect_quotes,
        "promise_break": _reading_talk(promise_break.detect),
        "threat_without_follow_through": _reading_talk(threat_without_follow_through.detect),
        "endgame_defection": retreat.detect_endgame,
        "deadlock": no_trade.detect_deadlock,
        "persistent_no_trade": no_trade.detect_persistent,
        "one_sided_concession": one_sided_concession.detect,
        "retreat": retreat.detect_retreat,
        "anchor_acceptance": anchor_acceptance.detect,
    },
    # Without a known limit most modes would have nothing to compare with.
    problem=lambda side: side.game.problem,
)
"""Every failure mode of the market."""


def what_was_said(game: Game) -> list[Stage]:
    """How much of the numbers in messages was read, by seat and kind; nothing where no seat spoke."""
    figures = [_read(side) for side in map(game.side, game.seats) if side.own_messages]
    return [Stage(name="what was said", figures=figures)] if figures else []


def _read(side: Side) -> Figure:
    kinds = Counter(said.statement.kind for said in side.said)
    # Unknown numbers count for nothing in any finding: the reader of a report should know how many there are.
    counted = share(kinds.total() - kinds["unknown"], kinds.total(), (said.seq for said in side.said))
    return Figure(
        id=f"bargaining.numbers_read_of_{side.role}",
        seats=[side.seat],
        value=counted.value,
        numerator=counted.numerator,
        denominator=counted.denominator,
        formula="numbers in own messages whose kind was read / numbers in own messages",
        window=f"rounds 1..{side.game.last_round}" if side.game.last_round else None,
        events=counted.events,
        parts=dict(sorted(kinds.items())),
        note=READING_LIMITS,
    )
