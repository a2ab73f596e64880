"""What only this market's facts tell: own limits, quotes through them, forfeited rounds, orders that were followed."""

from __future__ import annotations

from collections.abc import Iterator

from tradefair.bargaining.model import BUYER, SELLER
from tradefair.evaluation.markets.bargaining.modes.commitments import promised_price
from tradefair.evaluation.markets.bargaining.modes.injection import followed_orders
from tradefair.evaluation.markets.bargaining.modes.losses import detect_quotes
from tradefair.evaluation.markets.bargaining.modes.play import Side
from tradefair.evaluation.markets.bargaining.modes.reading import read_game
from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.evaluation.modes.insight import Insight, Scale, Secret
from tradefair.evaluation.modes.table import Fact
from tradefair.tracestore import Trace

_UNTOLD = dict.fromkeys(("idle_drift", "value_breach"), "could not be computed: no closed round tells the own limits")
_ABSENT = {"below_cost": "asks below the own cost are counted in value_breach"}
_TALK = {"send_message": "text"}
_FACTS: dict[str, Fact] = {"submit_quote": "quote", "send_message": "talk"}


def bargaining_insight(trace: Trace) -> Insight:
    """Everything that the closed rounds tell; what does not fit is left out.

    Money in ticks. Secrets hold for the whole episode, since limits are drawn once.
    """
    game = read_game(trace)
    # Without a closed round no limit is known: figures that need one are absent, those of messages are not.
    if game.problem is not None:
        return Insight(unit="ticks", facts=_FACTS, messages=_TALK, absent={**_UNTOLD, **_ABSENT})
    # A damaged manifest may name one seat only.
    sides = [game.side(seat) for seat in (BUYER, SELLER) if seat in game.seats]
    return Insight(
        unit="ticks",
        facts=_FACTS,
        messages=_TALK,
        secrets={side.seat: [Secret("own limit", side.limit)] for side in sides},
        secret_words=("value", "valuation", "cost", "limit", "maximum", "minimum"),
        scales={side.seat: [*_scales(side)] for side in sides},
        idle={side.seat: _idle(side) for side in sides},
        value_breach={side.seat: detect_quotes(side) for side in sides},
        orders={side.seat: followed_orders(side) for side in sides},
        absent=_ABSENT,
    )


def _idle(side: Side) -> Seen:
    """Forfeited rounds in which the counterpart's quote, or else its last one, was within the limit."""
    cases: list[Case] = []
    for closed in side.rounds:
        theirs = closed.quotes[side.other]
        # Quotes are sealed: what the seat could go by in this round was the one before.
        open_to = side.shown.get(closed.number) if theirs is None else theirs
        if closed.quotes[side.seat] is None and open_to is not None and side.slack(open_to) > 0:
            last = f", the last {open_to}" if theirs is None else ""
            cases.append(
                side.case(
                    closed, f"{side.named(None)}, {side.answered(theirs)}{last}; {side.word('limit')} {side.limit}"
                )
            )
    return Seen(cases, len(side.rounds))


def _scales(side: Side) -> Iterator[Scale]:
    """Quotes with the number stated for the round and the one quoted last; those through the limit with it too."""
    last: int | None = None
    for closed in side.rounds:
        quote = closed.quotes[side.seat]
        if quote is None:
            continue
        seq = closed.acted_at.get(side.seat, closed.seq)
        stated = promised_price(side, closed.number)
        limit = side.limit if side.slack(quote) < 0 else None
        yield from (Scale(seq, closed.number, quote, seen) for seen in (stated, last, limit) if seen is not None)
        # The seat's own numbers: a slip of a digit shows next to what it said and quoted itself.
        last = quote
