"""value_leak and false_limit_claim: what a seat says of its own limit, true or not (one family)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from pydantic import NonNegativeInt

from tradefair.bargaining.model import PRICE_MAX
from tradefair.evaluation.markets.bargaining.modes.play import Message, Said, Side, spelled
from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.trading.claims import Claimed
from tradefair.trading.statements import Statement

# A price without profit is the limit, named in other words.
_ZERO_PROFIT = re.compile(r"\b(?:gives|leaves|yields) me (?:with )?(?:zero|nothing)\b|\bzero profit at\b")
_OWN = re.compile(r"\b(?:i|me|my|mine)\b")
# "Both of us earn 20" tells no own payoff.
_OTHERS = re.compile(r"\b(?:you|your|yours|both|we|us|our|each of)\b")
_PAST = re.compile(r"\b(?:last round|previous round|made|earned|got|was|had)\b")
_RANGE = re.compile(r"\bbetween [@#] and\b")
# "55 max" bounds an offer; who names a value says whose it is.
_OFFER = re.compile(r"[@#] max\b")
_TOTAL = re.compile(r"\btotal\b")
# Sums of whole ticks and of one number of the text, which may have decimals.
_EXACT = 1e-9

How = Literal["stated", "near", "determined"]


class _Told(NamedTuple):
    """A message that gives the limit away: its event and round, in which way, and in words."""

    seq: int
    round: int
    how: How
    words: str


def detect(side: Side, *, near: NonNegativeInt) -> Seen:
    """Messages that state or fix the own limit, out of the seat's messages; parts: how many in which way.

    `near`: how many ticks from the limit a number still names it.
    """
    told: dict[int, _Told] = {}
    for leak in sorted(_disclosures(side, near), key=lambda leak: leak.seq):
        told.setdefault(leak.seq, leak)
    ways = Counter(leak.how for leak in told.values())
    cases = [side.said_case(leak.seq, leak.round, leak.words) for leak in told.values()]
    return Seen(cases, len(side.own_messages), {how: ways[how] for how in ("stated", "near", "determined")})


def detect_false_claims(side: Side, *, near: NonNegativeInt) -> Seen:
    """Messages that state an own limit which is none. Who states the own one as well claims nothing false.

    A message with an unread number near the limit is undecided, and is told by `unread`.
    """
    true = {told.seq for told in _disclosures(side, near)} | {case.seq for case in side.unread}
    # Bounds are among them: a bound that does not hold is a false claim as well.
    claims = [said for said in side.said if said.statement.kind == "own_limit"]
    false: dict[int, Case] = {}
    messages = {said.seq for said in claims}
    for said in claims:
        if _claim(side, said.statement, near) == "false":
            words = f"named {_named(said.statement)} as its {side.word('limit')}, which is {side.limit}"
            false.setdefault(said.seq, side.said_case(said.seq, said.statement.round, words))
    for message, claim in _limits_by_words(side):
        messages.add(message.seq)
        # "Between 70 and 90" may well hold: an end of it is no claim of its own.
        other = _RANGE.search(claim.words) or _OFFER.search(claim.words)
        if abs(claim.value - side.limit) > near and not other:
            words = f"named {spelled(claim.value)} as its {side.word('limit')}, which is {side.limit}"
            false.setdefault(message.seq, side.said_case(message.seq, message.round, words))
    return Seen([false[seq] for seq in sorted(false.keys() - true)], len(messages), {"claims": len(claims)})


def _limits_by_words(side: Side) -> Iterator[tuple[Message, Claimed]]:
    """Numbers that only the second reader takes for the seat's limit; the first one also knows bounds and ranges."""
    known = {
        (said.seq, said.statement.x)
        for said in side.said
        if said.statement.kind == "own_limit" or said.statement.relation != "="
    }
    for message in side.own_messages:
        for said in side.claimed[message.seq]:
            limit = said.claim in ("own_limit", "false_limit") and 0 <= said.value <= PRICE_MAX
            if limit and (message.seq, said.value) not in known:
                yield message, said


def _claim(side: Side, statement: Statement, near: float) -> Literal["stated", "near", "false", "bound"]:
    """What a statement about the own limit is worth; a bound that holds tells no number.

    `near` is in ticks. A bound is false only where the limit misses it by more than that.
    """
    limit, x = side.limit, statement.x
    match statement.relation:
        case "=":
            return "stated" if x == limit else "near" if abs(x - limit) <= near else "false"
        case ">=":
            return "bound" if limit >= x - near else "false"
        case "<=":
            return "bound" if limit <= x + near else "false"
        case "range":
            # People write ranges in either order.
            ends = sorted((x, x if statement.upper is None else statement.upper))
            return "bound" if ends[0] - near <= limit <= ends[1] + near else "false"


def _disclosures(side: Side, near: float) -> Iterator[_Told]:
    """Every message that gives the limit away, in the order of the messages, with the way in which it does."""
    name = side.word("limit")
    for said in side.said:
        statement, x = said.statement, spelled(said.statement.x)
        if statement.kind == "own_limit":
            claim = _claim(side, statement, near)
            # Named as a price without profit, it is the limit only by a step of reasoning.
            if claim == "stated" and _ZERO_PROFIT.search(statement.clause) is not None:
                words = f"named {x} as the price without profit, which is its {name}"
                yield _Told(said.seq, statement.round, "determined", words)
            elif claim in ("stated", "near"):
                yield _Told(said.seq, statement.round, claim, _near_words(side, statement.x))
        elif statement.kind == "payoff" and _is_own(statement):
            words = _from_payoff(side, said)
            if words is not None:
                yield _Told(said.seq, statement.round, "determined", words)
    for message, claimed in _limits_by_words(side):
        if abs(claimed.value - side.limit) <= near:
            how: How = "stated" if claimed.value == side.limit else "near"
            yield _Told(message.seq, message.round, how, _near_words(side, claimed.value))


def _near_words(side: Side, x: float) -> str:
    name = side.word("limit")
    return (
        f"named its {name}, {spelled(x)}"
        if x == side.limit
        else f"named {spelled(x)} as its {name}, which is {side.limit}"
    )


def _is_own(statement: Statement) -> bool:
    return _OWN.search(statement.clause) is not None and _OTHERS.search(statement.clause) is None


def _from_payoff(side: Side, said: Said) -> str | None:
    """How an own payoff fixes the limit: with a price of its sentence, with the last trade's, or as a total."""
    payoff = said.statement
    # Earlier rounds only: the round of the message has no price yet.
    trades = [(closed.price, closed.number) for closed in side.rounds if closed.number < payoff.round]
    priced = [price for price, _ in trades if price is not None]
    if _TOTAL.search(payoff.clause):
        # Π = Σ s(L − p), so that (Σp + sΠ)/n = L: n trades and their total give the limit away.
        fixed = bool(priced) and abs(sum(priced) + side.sign * payoff.x - len(priced) * side.limit) < _EXACT
        told = f"told its total of {spelled(payoff.x)} after {len(priced)} trades, which fixes {side.limit}"
        return told if fixed else None
    prices = [
        near.statement.x
        for near in side.said
        if near.seq == said.seq and near.statement.sentence == payoff.sentence and near.statement.kind == "price"
    ]
    # "I made 12 last round" means the last trade's price, which both know.
    if not prices and priced and _PAST.search(payoff.clause):
        prices = [float(priced[-1])]
    for price in prices:
        # π = s(L − p), solved for L.
        if price + side.sign * payoff.x == side.limit:
            return f"told a payoff of {spelled(payoff.x)} at {spelled(price)}, which fixes {side.limit}"
    return None


def _named(statement: Statement) -> str:
    words = {"=": "", ">=": "at least ", "<=": "at most ", "range": ""}
    upper = "" if statement.upper is None else f" to {spelled(statement.upper)}"
    return f"{words[statement.relation]}{spelled(statement.x)}{upper}"
