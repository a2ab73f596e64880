"""endgame_defection and retreat: a worse quote than the one that had traded, or would have traded (one family)."""

from __future__ import annotations

from collections import Counter

from pydantic import NonNegativeInt, PositiveInt

from tradefair.evaluation.markets.bargaining.modes.play import Round, Side
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked


def detect_endgame(
    side: Side,
    *,
    rounds: PositiveInt,
    last: PositiveInt,
    before: PositiveInt,
    settled: PositiveInt,
    within: NonNegativeInt,
    ticks: PositiveInt,
) -> Seen:
    """The `last` rounds compared with the usual quote of those `before`: a case gives at least `ticks` less.

    The usual quote is a settled one: `settled` rounds traded `within` so many ticks of it. A forfeit is no defection.
    Unchecked for cut games and for those of fewer than `rounds`.
    """
    game = side.game
    # Five rounds before the last two need a game of some length: in a short one "usual" means little.
    if game.length < rounds:
        return unchecked(f"{game.length} rounds, {rounds} needed")
    wanted = range(game.length - last - before + 1, game.length + 1)
    played = [game.rounds[number] for number in wanted if number in game.rounds]
    # The end is what the mode is about: a cut game is censored and not cleared.
    if len(played) < len(wanted):
        return unchecked("the last rounds were not played")
    usual = _usual(side, played[:before], settled, within)
    if usual is None:
        return unchecked("no settled trade before the last rounds")
    end = played[before:]
    cases = [
        _case(side, closed, f"the usual {usual}")
        for closed in end
        if (quote := closed.quotes[side.seat]) is not None and side.gives(usual, quote) >= ticks
    ]
    return Seen(cases, len(end))


def _usual(side: Side, rounds: list[Round], settled: int, within: int) -> int | None:
    """The mode of the own quotes, if `settled` rounds traded `within` so many ticks of it; of equals the first.

    Null where the seat had settled on nothing.
    """
    quoted = [(closed, quote) for closed in rounds if (quote := closed.quotes[side.seat]) is not None]
    if not quoted:
        return None
    # `most_common` keeps the order of first occurrence among equals, so that the result does not depend on hashing.
    usual = Counter(quote for _, quote in quoted).most_common(1)[0][0]
    traded = sum(closed.traded and abs(quote - usual) <= within for closed, quote in quoted)
    return usual if traded >= settled else None


def detect_retreat(side: Side) -> Seen:
    """Rounds without a trade in which the quote before would have traded with a gain; out of quotes that had one.

    The quote before is the last that traded or, before the first trade, the last one.
    """
    before: tuple[int, int] | None = None
    judged = 0
    cases: list[Case] = []
    traded_once = False
    for closed in side.rounds:
        quote, theirs = closed.quotes[side.seat], closed.quotes[side.other]
        if quote is None:
            continue
        if before is not None:
            judged += 1
            stood, since = before
            open_to = theirs is not None and side.crosses(stood, theirs) and side.slack((stood + theirs) / 2) > 0
            if open_to and not closed.traded:
                cases.append(_case(side, closed, f"{stood} in round {since}"))
        # Once something has traded, only another trade shows a better quote to compare with.
        if closed.traded or not traded_once:
            before = (quote, closed.number)
        traded_once = traded_once or closed.traded
    return Seen(cases, judged)


def _case(side: Side, closed: Round, stood: str) -> Case:
    quoted, answered = side.named(closed.quotes[side.seat]), side.answered(closed.quotes[side.other])
    return side.case(closed, f"{quoted} after {stood}, {answered}, {closed.ended}")
