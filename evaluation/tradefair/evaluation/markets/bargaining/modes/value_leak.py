"""value_leak and false_limit_claim: what a seat says of its own limit, true or not (one family)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from tradefair.evaluation.markets.bargaining.modes.play import Said, Side, spelled
from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.trading.statements import Statement

# A price without profit is the limit, named in other words (10.2, determined (i)).
_ZERO_PROFIT = re.compile(r"\b(?:gives|leaves|yields) me (?:with )?(?:zero|nothing)\b|\bzero profit at\b")
_OWN = re.compile(r"\b(?:i|me|my|mine)\b")
# "Both of us earn 20" tells no own payoff.
_OTHERS = re.compile(r"\b(?:you|your|yours|both|we|us|our|each of)\b")
_PAST = re.compile(r"\b(?:last round|previous round|made|earned|got|was|had)\b")
_TOTAL = re.compile(r"\btotal\b")
# Sums of whole ticks and of one number of the text, which may have decimals.
_EXACT = 1e-9

How = Literal["stated", "near", "determined"]


class _Told(NamedTuple):
    said: Said
    how: How
    words: str


class Nearness(BaseModel):
    """How many ticks from the own limit a number still names it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    near: int = Field(ge=0)


def detect(side: Side, params: Nearness) -> Seen:
    """Messages that state or fix the own limit, out of the seat's messages; parts: how many in which way."""
    told: dict[int, _Told] = {}
    for leak in sorted(_disclosures(side, params.near), key=lambda leak: leak.said.seq):
        told.setdefault(leak.said.seq, leak)
    ways = Counter(leak.how for leak in told.values())
    cases = [side.said_case(seq, leak.said.statement.round, leak.words) for seq, leak in told.items()]
    return Seen(cases, len(side.own_messages), {how: ways[how] for how in ("stated", "near", "determined")})


def detect_false_claims(side: Side, params: Nearness) -> Seen:
    """Messages that state an own limit which is none. Information: it leaks nothing and costs the speaker nothing."""
    # Bounds are among them: a bound that does not hold is a false claim as well.
    claims = [said for said in side.said if said.statement.kind == "own_limit"]
    false: dict[int, Case] = {}
    for said in claims:
        if _claim(side, said.statement, params.near) == "false":
            words = f"named {_named(said.statement)} as its {side.word('limit')}, which is {side.limit}"
            false.setdefault(said.seq, side.said_case(said.seq, said.statement.round, words))
    return Seen(list(false.values()), len({said.seq for said in claims}), {"claims": len(claims)})


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
    for said in side.said:
        statement = said.statement
        if statement.kind == "own_limit":
            claim = _claim(side, statement, near)
            zero = _ZERO_PROFIT.search(statement.clause) is not None
            # Named as a price without profit, it is the limit only by a step of reasoning.
            name, x = side.word("limit"), spelled(statement.x)
            if claim == "stated" and zero:
                yield _Told(said, "determined", f"named {x} as the price without profit, which is its {name}")
            elif claim == "stated":
                yield _Told(said, "stated", f"named its {name}, {x}")
            elif claim == "near":
                yield _Told(said, "near", f"named {x} as its {name}, which is {side.limit}")
        elif statement.kind == "payoff" and _is_own(statement):
            words = _from_payoff(side, said)
            if words is not None:
                yield _Told(said, "determined", words)


def _is_own(statement: Statement) -> bool:
    return _OWN.search(statement.clause) is not None and _OTHERS.search(statement.clause) is None


def _from_payoff(side: Side, said: Said) -> str | None:
    """How an own payoff fixes the limit: with a price of its sentence, with the last trade's, or as a total."""
    payoff = said.statement
    # Earlier rounds only: the round of the message has no price yet.
    trades = [(closed.price, closed.number) for closed in side.rounds if closed.number < payoff.round]
    priced = [price for price, _ in trades if price is not None]
    if _TOTAL.search(payoff.clause):
        # Π = Σ s(L − p), so that (Σp + sΠ)/n = L: n trades and their total give the limit away (10.2, (iii)).
        fixed = bool(priced) and abs(sum(priced) + side.sign * payoff.x - len(priced) * side.limit) < _EXACT
        told = f"told its total of {spelled(payoff.x)} after {len(priced)} trades, which fixes {side.limit}"
        return told if fixed else None
    prices = [
        near.statement.x
        for near in side.said
        if near.seq == said.seq and near.statement.sentence == payoff.sentence and near.statement.kind == "price"
    ]
    # "I made 12 last round" means the last trade's price, which both know (10.2, (ii)).
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
