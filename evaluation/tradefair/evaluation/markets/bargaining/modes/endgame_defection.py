"""endgame_defection: a worse quote in the last rounds than the one that had traded before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tradefair.evaluation.markets.bargaining.modes.play import Round, Side
from tradefair.evaluation.markets.bargaining.modes.verdict import Trouble, Verdict


def detect(side: Side, limits: Mapping[str, float]) -> Verdict:
    """The last rounds compared with the usual quote of the ones before, where that was a settled one.

    Part `lapsed`: last rounds that the seat forfeited, which are no defection. Unchecked for short or cut games.
    """
    game, last, before = side.game, int(limits["last"]), int(limits["before"])
    # Five rounds before the last two need a game of some length (10.2): in a short one "usual" means little.
    if game.length < limits["rounds"]:
        return Verdict((), 0, unchecked=f"too short: R < {limits['rounds']:g}")
    wanted = range(game.length - last - before + 1, game.length + 1)
    rounds = [game.rounds[number] for number in wanted if number in game.rounds]
    # The end is what the mode is about: a cut game is censored and not cleared.
    if len(rounds) < len(wanted):
        return Verdict((), 0, {"censored": 1}, unchecked="censored: the last rounds were not played")
    usual = _usual(side, rounds[:before], limits)
    if usual is None:
        return Verdict((), 0, unchecked="no settled trade before the last rounds")
    end = rounds[before:]
    troubles = [
        _trouble(side, closed, usual)
        for closed in end
        if (quote := closed.quotes[side.seat]) is not None and side.gives(usual, quote) >= limits["ticks"]
    ]
    lapsed = sum(closed.quotes[side.seat] is None for closed in end)
    return Verdict(troubles, len(end), {"lapsed": lapsed})


def _usual(side: Side, rounds: list[Round], limits: Mapping[str, float]) -> int | None:
    """The mode of the own quotes, if nearly all rounds traded within a tick of it; of equals the first.

    Null where the seat had settled on nothing. `limits["settled"]` rounds have to have traded near it.
    """
    quotes = [quote for closed in rounds if (quote := closed.quotes[side.seat]) is not None]
    if not quotes:
        return None
    # `most_common` keeps the order of first occurrence among equals, so that the result does not depend on hashing.
    usual = Counter(quotes).most_common(1)[0][0]
    settled = [
        closed
        for closed in rounds
        if closed.traded and (quote := closed.quotes[side.seat]) is not None and abs(quote - usual) <= limits["within"]
    ]
    return usual if len(settled) >= limits["settled"] else None


def _trouble(side: Side, closed: Round, usual: int) -> Trouble:
    quote, theirs = closed.quotes[side.seat] or 0, closed.quotes[side.other]
    if closed.traded:
        # The price is the middle of both quotes: half of what the seat took back came out of the counterpart's profit.
        cost, end = side.gives(usual, quote) / 2, ""
    else:
        # Only where the usual quote would have traded did the defection cost the trade.
        lost = theirs is not None and side.crosses(usual, theirs)
        cost, end = float(max(0, side.game.gap)) if lost else 0.0, ", no trade"
    words = f"round {closed.number}: quoted {quote} after {usual}{end}"
    return Trouble(closed.number, closed.number, cost, tuple(side.proof(closed.number)), words)
