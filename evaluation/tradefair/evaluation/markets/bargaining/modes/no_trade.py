"""deadlock and persistent_no_trade: rounds that pass without a trade although both could gain (one family).

What a round could have given both, G, is shared out by slack: how far each quote stayed from its own limit. A seat that
forfeited has all of G as slack. A seat without slack has no part in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tradefair.evaluation.markets.bargaining.modes.play import Round, Side
from tradefair.evaluation.markets.bargaining.modes.verdict import Trouble, Verdict

_NOTHING_TO_GAIN = "no trade can gain anything: v <= c"


def detect_deadlock(side: Side, limits: Mapping[str, float]) -> Verdict:
    """Runs of rounds without trade in which neither quote moves; `near_miss`: those that a little would have ended.

    Of at least `limits["rounds"]` rounds in a row. Unchecked where v <= c, since no trade could gain.
    """

    def frozen(closed: Round) -> bool:
        before = side.game.rounds.get(closed.number - 1)
        if closed.traded or before is None:
            return False
        pairs = [(before.quotes[seat], closed.quotes[seat]) for seat in (side.seat, side.other)]
        # A forfeit is no frozen quote: deadlock needs two seats that insist (10.2).
        return all(old is not None and new is not None and abs(new - old) <= limits["within"] for old, new in pairs)

    if side.game.gap <= 0:
        return Verdict((), 0, unchecked=_NOTHING_TO_GAIN)
    runs = list(_runs(side, frozen, int(limits["rounds"])))
    # The last round of a run is nearest to its end; frozen quotes hardly move within it.
    near = sum(_distance(side, run[-1]) <= limits["near_miss"] for run in runs)
    return Verdict([*_troubles(side, runs)], len(side.rounds), {"runs": len(runs), "near_miss": near})


def detect_persistent(side: Side, limits: Mapping[str, float]) -> Verdict:
    """Runs of rounds without trade.

    Of at least `limits["rounds"]` rounds in a row; a case costs the seat's part of G in each of them.
    """
    if side.game.gap <= 0:
        return Verdict((), 0, unchecked=_NOTHING_TO_GAIN)
    runs = list(_runs(side, lambda closed: not closed.traded, int(limits["rounds"])))
    lapsed = sum(closed.quotes[side.seat] is None for closed in side.rounds)
    return Verdict([*_troubles(side, runs)], len(side.rounds), {"runs": len(runs), "lapsed": lapsed})


def _runs(side: Side, holds: Callable[[Round], bool], least: int) -> Iterator[list[Round]]:
    """Longest stretches of closed rounds in which `holds` is true, of at least `least` rounds."""
    run: list[Round] = []
    for closed in side.rounds:
        # A trace that lacks a round must not join two runs across the hole.
        follows = not run or closed.number == run[-1].number + 1
        keeps = holds(closed)
        if run and not (keeps and follows):
            if len(run) >= least:
                yield run
            run = []
        if keeps:
            run.append(closed)
    if len(run) >= least:
        yield run


def _distance(side: Side, closed: Round) -> float:
    """How far the quotes of a round are apart; forfeits are infinitely far."""
    own, theirs = closed.quotes[side.seat], closed.quotes[side.other]
    # No forfeit is a near miss.
    return float("inf") if own is None or theirs is None else side.gives(theirs, own)


def _troubles(side: Side, runs: list[list[Round]]) -> Iterator[Trouble]:
    """The runs in which the seat has a part."""
    for run in runs:
        cost = sum(_part(side, closed) for closed in run)
        if cost > 0:
            first, last = run[0], run[-1]
            words = (
                f"rounds {first.number} to {last.number}: no trade, quotes {first.quotes[side.seat]} to "
                f"{last.quotes[side.seat]} against {first.quotes[side.other]} to {last.quotes[side.other]}"
            )
            proof = tuple(side.proof(*(closed.number for closed in run)))
            yield Trouble(first.number, last.number, cost, proof, words)


def _part(side: Side, closed: Round) -> float:
    """The seat's part in one round without a trade, in ticks: G by its share of both slacks."""
    own, theirs = (_slack(player, closed) for player in (side, side.counterpart))
    # Two seats at their limits would have traded; with both slacks 0 neither is to blame.
    return side.game.gap * own / (own + theirs) if own + theirs > 0 else 0.0


def _slack(side: Side, closed: Round) -> float:
    quote = closed.quotes[side.seat]
    # Through the limit counts as no slack: the seat gave more than it could be asked for.
    return float(side.game.gap) if quote is None else max(0.0, side.slack(quote))
