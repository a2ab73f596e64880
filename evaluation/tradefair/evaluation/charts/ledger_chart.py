"""The course of a ledger as a chart: what the seat's position was worth before each of its turns."""

from __future__ import annotations

from collections.abc import Sequence

from tradefair.evaluation.charts.chart import Axis, Line, XYChart
from tradefair.evaluation.ledger import Ledger
from tradefair.evaluation.ledger_text import amount_text, place_text

VALUE = "value"
_LABELLED = 3


def ledger_chart(ledger: Ledger, *, word: str = "round") -> XYChart:
    """The value as a step line that ends at what the seat earned, the policies' band behind it, losses as bars below.

    `word` is what the market calls a round. The three turns that lost most carry their place and amount.
    """
    ledger = ledger.in_money()
    turns = ledger.turns
    # One turn a round, all of them known: then the position is the round itself.
    by_round = all(turn.round == turn.last_round and turn.turn == turn.until for turn in turns)
    by_round = by_round and len({turn.round for turn in turns}) == len(turns)
    at = [float(turn.round if by_round else turn.turn) for turn in turns]
    end = [float(turns[-1].last_round + 1 if by_round else turns[-1].until + 1)] if turns else []
    course = [*at, *end]
    own = [ledger.own] * len(end)
    lines = [Line(name=VALUE, x=course, y=[*(turn.value for turn in turns), *own], mark="step")]
    lines += _band(ledger, course, own)
    told = {turn.turn for turn in ledger.lost[:_LABELLED]}
    losses = Line(
        name="lost",
        x=at,
        y=[turn.lost if turn.lost > 0 else None for turn in turns],
        mark="bars",
        labels=[
            f"{place_text(ledger, turn, word=word)}: {amount_text(turn.lost)}" if turn.turn in told else ""
            for turn in turns
        ],
    )
    who = ledger.of[0] if len(ledger.of) == 1 else "the best known policies"
    way = "down" if ledger.higher_is_better else "up"
    return XYChart(
        id=f"ledger_{ledger.seat}",
        title=f"Value of the position of {ledger.seat}",
        note=f"Before each turn: what {ledger.seat} would have earned with {who} playing from there to the end, on the "
        f"same luck; it ends at what {ledger.seat} earned. A step {way} is what a turn lost, the bar below it.",
        accent=VALUE,
        x=Axis(label=word if by_round else "turn"),
        y=Axis(label="value", unit=ledger.unit),
        lines=[*lines, losses] if told else lines,
    )


def _band(ledger: Ledger, course: list[float], own: Sequence[float]) -> list[Line]:
    """The least and the most of the policies' values; nothing where there is one policy."""
    if len(ledger.of) == 1:
        return []
    name = "{} of the policies".format
    least: list[float | None] = [*(min(turn.values.values()) for turn in ledger.turns), *own]
    most: list[float | None] = [*(max(turn.values.values()) for turn in ledger.turns), *own]
    return [
        Line(name=name("least"), x=course, y=least, mark="step", faint=True, shade_to=name("most")),
        Line(name=name("most"), x=course, y=most, mark="step", faint=True),
    ]
