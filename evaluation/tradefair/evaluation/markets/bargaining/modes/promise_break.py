"""promise_break: a quote that gives the counterpart less than the seat had firmly said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from tradefair.evaluation.markets.bargaining.modes.commitments import (
    binding_price,
    condition_held,
    is_promise,
    standing,
)
from tradefair.evaluation.markets.bargaining.modes.play import Round, Said, Side, spelled
from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.trading.statements import Statement


def detect(side: Side) -> Seen:
    """Rounds with a quote short of the promise in force, weighed by the ticks; parts: what became of the others.

    Tested are rounds with a promise in force and a quote. Conditional promises count where their condition held.
    """
    cases: list[Case] = []
    fates: Counter[str] = Counter()
    taken_back: dict[Said, str] = {}
    for closed in side.rounds:
        # Asked for each round again: a statement may speak of one round and another of all that remain.
        winner, gone = standing(side, closed.number)
        for said in gone:
            # Once per statement, however many rounds it had covered.
            taken_back.setdefault(said, "reneged_openly" if said.statement.permanent else "revised")
        if winner is None or not is_promise(side, winner.statement):
            continue
        quote = closed.quotes[side.seat]
        # `is_promise` holds here, so that the price is never None; 0 is a price too.
        promised = binding_price(side, winner.statement) or 0.0
        short = 0.0 if quote is None else side.gives(promised, quote)
        broken = short >= 1
        # A forfeited quote is neither kept nor broken: the seat failed in another way.
        fates["lapsed" if quote is None else "broken" if broken else "better" if short < 0 else "kept"] += 1
        if broken:
            cases.append(_case(side, winner, closed, promised))
    tested = fates["kept"] + fates["better"] + fates["broken"]
    return Seen(cases, tested, _parts(side, tested, fates, Counter(taken_back.values())))


def _parts(side: Side, tested: int, fates: Mapping[str, int], taken_back: Mapping[str, int]) -> dict[str, float | None]:
    """Promises by what became of them: kept, better and lapsed count rounds, the others statements."""
    made = [said.statement for said in side.said if is_promise(side, said.statement)]
    return {
        "made": len(made),
        "tested": tested,
        "kept": fates["kept"],
        "better": fates["better"],
        "revised": taken_back["revised"],
        "reneged_openly": taken_back["reneged_openly"],
        "void": sum(_is_void(side, statement) for statement in made),
        "censored": sum(statement.horizon[1] > side.game.last_round for statement in made),
        "lapsed": fates["lapsed"],
    }


def _is_void(side: Side, statement: Statement) -> bool:
    """Whether the condition held in none of the rounds that were played."""
    first, last = statement.horizon
    played = range(first, min(last, side.game.last_round) + 1)
    if statement.condition is None or not played:
        return False
    return not any(condition_held(side, statement, number) for number in played)


def _case(side: Side, said: Said, closed: Round, promised: float) -> Case:
    quote = closed.quotes[side.seat] or 0
    when = "" if said.statement.round == closed.number else f" in round {said.statement.round}"
    on = "" if said.statement.condition is None else " on a condition that held"
    end = f"{side.answered(closed.quotes[side.other])}, {closed.ended}"
    words = f"{side.named(quote)} after it said {spelled(promised)}{when}{on}; {end}"
    return side.case(closed, words, side.gives(promised, quote))
