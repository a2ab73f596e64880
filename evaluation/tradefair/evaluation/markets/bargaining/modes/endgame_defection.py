"""endgame_defection: a worse quote in the last rounds than the one that had traded before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tradefair.evaluation.markets.bargaining.modes.play import Round, Side
from tradefair.evaluation.markets.bargaining.modes.verdict import Trouble, Verdict


def detect(side: Side, limits: Mapping[str, float]) -> Verdict:
    """The last rounds beside the usual quote of the ones before, where that was a settled one."""
    game, last, before = side.game, int(limits["last"]), int(limits["before"])
    if game.length < limits["rounds"]:
        return Verdict((), 0, unchecked=f"too short: R < {limits['rounds']:g}")
    wanted = range(game.length - last - before + 1, game.length + 1)
    rounds = [game.rounds[number] for number in wanted if number in game.rounds]
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
    """The mode of the own quotes, if nearly all rounds traded within a tick of it; of equals the first."""
    quotes = [quote for closed in rounds if (quote := closed.quotes[side.seat]) is not None]
    if not quotes:
        return None
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
        cost, end = side.gives(usual, quote) / 2, ""
    else:
        lost = theirs is not None and side.crosses(usual, theirs)
        cost, end = float(max(0, side.game.gap)) if lost else 0.0, ", no trade"
    words = f"round {closed.number}: quoted {quote} after {usual}{end}"
    return Trouble(closed.number, closed.number, cost, tuple(side.proof(closed.number)), words)
