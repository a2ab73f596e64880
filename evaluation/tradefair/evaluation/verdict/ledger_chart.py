"""The course of a ledger as a chart: what the seat's position was worth, turn by turn."""

from __future__ import annotations

from itertools import pairwise

from tradefair.evaluation.charts.chart import Axis, Line, XYChart
from tradefair.evaluation.ledger import Ledger
from tradefair.evaluation.verdict.ledger_text import amount_text, place_text

VALUE = "value"
_LABELLED = 3


def ledger_chart(ledger: Ledger, *, word: str = "round") -> XYChart:
    """The value as a step line that ends at what the seat earned, the policies' band behind it, losses as bars below.

    `word` is what the market calls a round. A turn's step and its bar stand at the turn, those of a stretch at its last
    one; a bar below 0 is what a turn gained, and `turns` of the ledger and bars are as many. The three turns that lost
    most carry their place and amount.
    """
    ledger = ledger.in_money()
    turns = ledger.turns
    # No two of them share a round: then the position is the round itself.
    by_round = all(before.last_round < turn.round for before, turn in pairwise(turns))
    at = [float(turn.last_round if by_round else turn.until) for turn in turns]
    course = [(turns[0].round if by_round else turns[0].turn) - 1.0, *at]
    lines = [Line(name=VALUE, x=course, y=[*(turn.value for turn in turns), ledger.own], mark="step")]
    lines += _band(ledger, course)
    # Of turns that lost as much as one without a label none has one.
    costliest = ledger.lost[: _LABELLED + 1]
    least = costliest[_LABELLED].lost if len(costliest) > _LABELLED else 0
    labelled = {turn.turn for turn in costliest if turn.lost > least}
    losses = Line(
        name="lost",
        x=at,
        y=[turn.lost or None for turn in turns],
        mark="bars",
        labels=[
            f"{place_text(ledger, turn, word=word)}: {amount_text(turn.lost)}" if turn.turn in labelled else ""
            for turn in turns
        ],
    )
    who = ledger.of[0] if len(ledger.of) == 1 else "the best known policies"
    way = "down" if ledger.higher_is_better else "up"
    return XYChart(
        id=f"ledger_{ledger.seat}",
        title=f"Value of the position of {ledger.seat}",
        note=f"After each turn: what {ledger.seat} would have earned with {who} playing from there to the end, on the "
        f"same luck; it ends at what {ledger.seat} earned. A step {way} is what a turn lost, the bar below it; a bar "
        "below 0 is what a turn gained.",
        accent=VALUE,
        x=Axis(label=word if by_round else "turn"),
        y=Axis(label="value", unit=ledger.unit),
        lines=[*lines, losses] if any(losses.y) else lines,
    )


def _band(ledger: Ledger, course: list[float]) -> list[Line]:
    """The least and the most of the policies' values; nothing where they never differ."""
    name = "{} of the policies".format
    least: list[float | None] = [*(min(turn.values.values()) for turn in ledger.turns), ledger.own]
    most: list[float | None] = [*(max(turn.values.values()) for turn in ledger.turns), ledger.own]
    if least == most:
        return []
    return [
        Line(name=name("least"), x=course, y=least, mark="step", faint=True, shade_to=name("most")),
        Line(name=name("most"), x=course, y=most, mark="step", faint=True),
    ]
