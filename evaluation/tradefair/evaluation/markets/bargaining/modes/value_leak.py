"""value_leak and false_limit_claim: what a seat says of its own limit, true or not (one family)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from tradefair.evaluation.markets.bargaining.modes.play import Said, Side
from tradefair.evaluation.markets.bargaining.modes.verdict import Trouble, Verdict, spelled
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


def detect(side: Side, limits: Mapping[str, float]) -> Verdict:
    """The first message that states or fixes the own limit; parts: how, and in how many messages again."""
    told = sorted(_disclosures(side, limits["near"]), key=lambda one: one.said.seq)
    ways = Counter(leak.how for leak in told)
    messages = len({leak.said.seq for leak in told})
    parts = {**{how: ways[how] for how in ("stated", "near", "determined")}, "repeats": max(0, messages - 1)}
    troubles = [_trouble(side, told[0], int(limits["trades_each_side"]))] if told else []
    return Verdict(troubles, len(side.own_messages), parts)


def detect_false_claims(side: Side, limits: Mapping[str, float]) -> Verdict:
    """Messages that state an own limit which is none. Information: it leaks nothing and costs the speaker nothing."""
    # Bounds are among them: a bound that does not hold is a false claim as well.
    claims = [said for said in side.said if said.statement.kind == "own_limit"]
    false: dict[int, Trouble] = {}
    for said in claims:
        if _claim(side, said.statement, limits["near"]) == "false":
            number = said.statement.round
            words = f"round {number}: named {_named(said.statement)} as its limit, which is {side.limit}"
            false.setdefault(said.seq, Trouble(number, number, None, (said.seq, *_closure(side, number)), words))
    return Verdict(list(false.values()), len({said.seq for said in claims}), {"claims": len(claims)})


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
            if claim == "stated" and zero:
                yield _Told(said, "determined", f"named {spelled(statement.x)} as the price without profit")
            elif claim in ("stated", "near"):
                yield _Told(said, claim, f"named {spelled(statement.x)} as its limit, which is {side.limit}")
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
        return f"told its total of {spelled(payoff.x)} after {len(priced)} trades" if fixed else None
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


def _trouble(side: Side, told: _Told, least: int) -> Trouble:
    """The cost compares the seat's share of G before and after; null with fewer than `least` trades on either side."""
    number = told.said.statement.round
    before = [closed for closed in side.rounds if closed.number < number]
    after = [closed for closed in side.rounds if closed.number >= number]
    cost: float | None = None
    shares = [
        [closed.profits[side.seat] / side.game.gap for closed in part if closed.traded]
        for part in (before, after)
        if side.game.gap > 0
    ]
    # Null with fewer than two trades on either side (10.2): one price is no habit that could have changed.
    if len(shares) == 2 and all(len(part) >= least for part in shares):
        earlier, later = (sum(part) / len(part) for part in shares)
        cost = max(0.0, earlier - later) * side.game.gap * len(after)
    return Trouble(number, number, cost, (told.said.seq, *_closure(side, number)), f"round {number}: {told.words}")


def _closure(side: Side, number: int) -> Iterator[int]:
    closed = side.game.rounds.get(number)
    if closed is not None:
        yield closed.seq


def _named(statement: Statement) -> str:
    words = {"=": "", ">=": "at least ", "<=": "at most ", "range": ""}
    upper = "" if statement.upper is None else f" to {spelled(statement.upper)}"
    return f"{words[statement.relation]}{spelled(statement.x)}{upper}"
