"""What the commands print for people: rich tables.

Texts from traces are always printed through `_plain`: rich would take `[red]` in a label for markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from tradefair.cli.tables import Cell, figures, names, show_pairs, show_table, words
from tradefair.cli.terminal import Console
from tradefair.contract import SeatId
from tradefair.evaluation.evaluate import Evaluation, relative_numbers, tables_of
from tradefair.evaluation.evaluator import evaluator_of, fields_for
from tradefair.evaluation.findings_text import findings_text
from tradefair.evaluation.importers.report import ImportReport, merged
from tradefair.evaluation.modes.diagnosis import Diagnosis, Figure
from tradefair.evaluation.outcome import Outcome, SeatOutcome
from tradefair.evaluation.table import FOOTNOTES, number_text
from tradefair.evaluation.verify import OUTCOMES_OF_VERIFY, SOUND, Check

# Findings of an import; a log with a systematic flaw has one per line. `--json` has all.
_MAX_FINDINGS = 20
# Event numbers per finding, findings per failure mode (and in `brief`), seats named in a line, seats in
# a table. These keep the evaluation of one episode with hundreds of seats to a screen or two.
_MAX_CITED = 12
_MAX_ALIKE, _MAX_ALIKE_BRIEF = 3, 2
_MAX_SEATS = 8
_MAX_ROWS = 40
_ALL = "tradefair evaluate --all shows them"


def show_verdicts(verdicts: Sequence[Check]) -> None:
    """Print one row per trace, then what is wrong with those that are not sound, then what each verdict means."""
    console = Console()
    rows: list[list[Cell]] = []
    for verdict in verdicts:
        name = Text(verdict.verdict, style="green" if verdict.sound else "red")
        # 64 bits of a hash are enough to compare two lines by eye; `--json` has it whole.
        digests = [(verdict.head_hash or "")[:16], (verdict.seal or "–")[:16], (verdict.signed_by or "–")[:18]]
        rows.append([verdict.path, name, str(verdict.events), "yes" if verdict.sealed else "no", *digests])
    titles = [*names("trace", "verdict"), *figures("events", "sealed", "head", "seal", "signed")]
    show_table(console, titles, rows)
    for verdict in verdicts:
        # Of one trace, or of one that is not sound; a thousand sound ones are a table.
        if not verdict.sound or len(verdicts) == 1:
            said = verdict.sentence if verdict.sound else f"{verdict.path}: {verdict.sentence}"
            console.print(said, style=None if verdict.sound else "red", soft_wrap=True)
        for finding in verdict.findings:
            console.print(f"{verdict.path}: {finding.message}", soft_wrap=True)
    # What a verdict means is explained once, below, however many traces have it.
    met = {verdict.verdict for verdict in verdicts} - SOUND
    for conclusion, meaning in OUTCOMES_OF_VERIFY.items():
        if conclusion in met:
            console.print(f"{conclusion}: {meaning}", style="dim")


def show_signed(rows: Sequence[Mapping[str, str]]) -> None:
    """Print path, seal and fingerprint of each trace that was signed; the fingerprint whole, as ssh-keygen -l does."""
    cells: list[list[Cell]] = [[row["path"], row["seal"][:16], row["signed_by"]] for row in rows]
    show_table(Console(), names("trace", "seal", "signed"), cells)


def show_evaluations(evaluations: Iterable[Evaluation], *, brief: bool = False, whole: bool = False) -> None:
    """Per trace: how it ended, a row per seat, the market, the diagnosis; `brief`: of the last only what was found.

    Of many seats, and of many findings of a failure mode, the first are shown; `whole`: all.
    """
    console = Console()
    for evaluation in evaluations:
        # A file that cannot be scored is a line among the others; the exit code is the command's affair.
        if evaluation.outcome is None:
            console.print(evaluation.problem or evaluation.path, style="red", soft_wrap=True)
            continue
        _show_outcome(console, evaluation.path, evaluation.outcome, whole)
        _show_tables(console, evaluation.outcome, evaluation.population, brief)
        if evaluation.diagnosis is not None:
            _show_diagnosis(console, evaluation.diagnosis, brief, whole)


def show_comparison(seat: SeatId, outcomes: Mapping[str, Outcome[Any, Any]]) -> None:
    """Print the same seat under several labels: one row per label, the seat's numbers, then the market's efficiency.

    `outcomes` maps labels to outcomes of the same scenario.
    """
    console = Console()
    evaluator = evaluator_of(next(iter(outcomes.values())).market)
    roles = {outcome.seats[seat].role for outcome in outcomes.values()}
    columns = fields_for(evaluator, roles, evaluator.compared_columns)
    relative = relative_numbers(seat, outcomes)
    efficient = any(hasattr(outcome.market_outcome, "efficiency") for outcome in outcomes.values())
    more = [name for numbers in list(relative.values())[:1] for name in numbers]
    more += ["market_efficiency"] if efficient else []
    rows: list[list[Cell]] = []
    for label, outcome in outcomes.items():
        result = outcome.seats[seat]
        cells = [number_text(getattr(result, name, None)) for name in columns]
        compared = [number_text(value) for value in relative.get(label, {}).values()]
        compared += [number_text(getattr(outcome.market_outcome, "efficiency", None))] if efficient else []
        rows.append([label, *cells, str(sum(result.lapses.values())), *compared])
    show_table(console, [*names(f"{seat} played by"), *figures(*columns, "lapses", *more)], rows)
    _show_footnotes(console, (*columns, *more))


def show_series(
    evaluations: Sequence[Evaluation],
    seats: Sequence[Sequence[SeatId]],
    beside: Sequence[Mapping[str, float | None]] = (),
) -> None:
    """Print some seats of each episode, `seats[episode]`: a row per episode and seat, then means.

    Means are of each seat where all episodes have the same ones, else of all rows. `beside` has one row of further
    figures per episode that could be scored, where there are references; it is indexed as the scored episodes are.
    """
    console = Console()
    scored = [(item.path, item.outcome, own) for item, own in zip(evaluations, seats, strict=True) if item.outcome]
    roles = {outcome.seats[seat].role for _, outcome, own in scored for seat in own}
    evaluator = evaluator_of(scored[0][1].market) if scored else None
    columns = fields_for(evaluator, roles, evaluator.compared_columns) if evaluator else ()
    # Without references for every episode the columns are left out: means over part of the episodes would mislead.
    more = list(beside[0]) if len(beside) == len(scored) and scored else []
    rows: list[list[Cell]] = []
    fixed = len({tuple(own) for _, _, own in scored}) <= 1
    for group in scored[0][2] if fixed and scored else ["all"]:
        numbers: list[list[object]] = []
        for place, (path, outcome, own) in enumerate(scored):
            for seat in [group] if fixed else own:
                result = outcome.seats[seat]
                figures_of = [*(getattr(result, name, None) for name in columns), sum(result.lapses.values())]
                numbers.append([*figures_of, *(beside[place][name] for name in more)])
                # An episode that its rules ended is the normal case and gets no note.
                reason = outcome.end_reason or "unfinished"
                ended = "" if reason.startswith("terminated:") else reason
                rows.append([Path(path).name, seat, ended, str(outcome.seed), *map(number_text, numbers[-1])])
        means = [number_text(_mean(column)) for column in zip(*numbers, strict=True)]
        rows.append([Text(cell, style="bold") for cell in ("mean", group, "", "", *means)])
    # Where there is one seat, and where every episode ran its course, a column would say nothing.
    idle = {1: fixed and all(len(own) == 1 for own in seats), 2: not any(str(row[2]) for row in rows)}
    shown = [place for place in range(len(rows[0]) if rows else 0) if not idle.get(place)]
    titles = [*names("trace", "seat", "end"), *figures("seed", *columns, "lapses", *more)]
    show_table(console, [titles[place] for place in shown], [[row[place] for place in shown] for row in rows])
    for item in evaluations:
        if item.outcome is None:
            console.print(item.problem or item.path, style="red", soft_wrap=True)
    _show_footnotes(console, (*columns, *more))
    _show_populations(console, evaluations)


def _show_populations(console: Console, evaluations: Sequence[Evaluation]) -> None:
    """The market over several episodes, and over the same episodes played by its reference population."""
    # Both columns are means over the same episodes; an episode without a population is in neither.
    pairs = [(item.outcome, item.population) for item in evaluations if item.outcome and item.population]
    if not pairs:
        return
    evaluator = evaluator_of(pairs[0][0].market)
    markets = [[outcome.market_outcome for outcome in side] for side in zip(*pairs, strict=True)]
    rows = [
        [name.replace("_", " "), *(number_text(_mean([getattr(market, name) for market in side])) for side in markets)]
        for name in evaluator.market_columns
    ]
    console.print(f"\nthe market, means over {len(pairs)} episodes", style="bold")
    show_table(console, [*names("figure"), *figures("value", f"{evaluator.population} population")], rows)


def show_import(report: ImportReport) -> None:
    """Print how many games were imported, tallies by kind of check, then the first findings.

    A tally with anything unmatched is red: the log says something else than re-execution.
    """
    console = Console()
    imported = [game for game in report.games if game.trace is not None]
    rounds = sum(game.rounds for game in imported)
    console.print(f"{len(imported)} of {len(report.games)} games imported, {rounds} rounds")
    rows: list[list[Cell]] = []
    for kind, tally in merged(report.games).items():
        style = "" if tally.matched == tally.total else "red"
        cells = (kind.replace("_", " "), str(tally.matched), str(tally.total))
        rows.append([Text(cell, style=style) for cell in cells])
    show_table(console, [*names("checked"), *figures("matched", "total")], rows)
    for finding in report.findings[:_MAX_FINDINGS]:
        # A finding about a whole file has no line and no field.
        place = f"{finding.file}:{finding.line}: {finding.field}".rstrip(": ")
        console.print(f"{place}: {finding.message}", style="red", soft_wrap=True)
    if len(report.findings) > _MAX_FINDINGS:
        console.print(f"… and {len(report.findings) - _MAX_FINDINGS} more findings (--json has them)", style="red")


def _show_outcome(console: Console, path: str, outcome: Outcome[Any, Any], whole: bool) -> None:
    """How one episode ended, a table of seats per set of columns, the market's figures, and findings."""
    ended = outcome.end_reason or "unfinished"
    censored = ", censored: sums run over the closed rounds only" if outcome.censored else ""
    seed = "no seed" if outcome.seed is None else f"seed {outcome.seed}"
    head = f"{outcome.scenario} · {seed} · {outcome.rounds_closed} rounds · {ended}{censored}"
    console.print(f"{path}\n{head}", soft_wrap=True)
    for columns, seats in _seats_by_columns(outcome).items():
        shown = seats if whole else seats[:_MAX_ROWS]
        _show_seats(console, {seat: outcome.seats[seat] for seat in shown}, columns)
        if len(seats) > len(shown):
            console.print(f"… and {len(seats) - len(shown)} more seats; {_ALL}", style="dim")
    columns = evaluator_of(outcome.market).seat_columns
    # Footnotes only for figures that the tables above really show.
    known = {name for name in columns for seat in outcome.seats.values() if getattr(seat, name, None) is not None}
    _show_footnotes(console, [name for name in columns if name in known])
    # Lists and mappings of a market's outcome have tables of their own.
    shown = [(name, value) for name, value in outcome.market_outcome if not isinstance(value, (list, dict))]
    if shown:
        show_pairs(console, [(name.replace("_", " "), number_text(value)) for name, value in shown])
    for finding in outcome.findings:
        text = f"event {finding.seq}: {finding.message}" if finding.seq else finding.message
        console.print(text, soft_wrap=True)


def _seats_by_columns(outcome: Outcome[Any, Any]) -> dict[tuple[str, ...], list[SeatId]]:
    """Seats with roles of the same figures stand in one table: from the columns to the seats."""
    evaluator = evaluator_of(outcome.market)
    found: dict[tuple[str, ...], list[SeatId]] = {}
    for seat, result in outcome.seats.items():
        found.setdefault(fields_for(evaluator, {result.role}, evaluator.seat_columns), []).append(seat)
    return found


def _show_seats(console: Console, results: Mapping[SeatId, SeatOutcome], columns: Sequence[str]) -> None:
    """One table of seats with the same columns, in the order of the manifest.

    `refused` and `lapses` are columns only where a seat has any.
    """
    conduct = any(result.refused or result.lapses for result in results.values())
    rows: list[list[Cell]] = []
    for seat, result in results.items():
        lapses = ", ".join(f"{reason} {count}" for reason, count in result.lapses.items())
        cells = [number_text(getattr(result, name, None)) for name in columns]
        cells += [str(result.refused), lapses] if conduct else []
        rows.append([seat, result.label or "", *cells])
    titles = (*columns, *(("refused", "lapses") if conduct else ()))
    show_table(console, [*names("seat", "label"), *figures(*titles)], rows)


def _show_tables(
    console: Console, outcome: Outcome[Any, Any], population: Outcome[Any, Any] | None, brief: bool
) -> None:
    """The tables that the market's evaluator adds, with their footnotes."""
    for shown in tables_of(outcome, population, brief=brief):
        console.print(f"\n{shown.title}", style="bold")
        show_table(console, [*names(*shown.columns[:1]), *figures(*shown.columns[1:])], shown.rows)
        # The first cell of a row is a figure's name, made readable; footnotes are listed under the field's name.
        _show_footnotes(console, [row[0].replace(" ", "_") for row in shown.rows if row])


def _show_diagnosis(console: Console, diagnosis: Diagnosis, brief: bool, whole: bool) -> None:
    """The figures by stage (not where `brief`), then the failure modes."""
    if not brief:
        for stage in diagnosis.stages:
            console.print(f"\n{stage.name}", style="bold")
            rows = [
                (_short(diagnosis, figure), number_text(figure.value), _counts(figure), _aside(figure))
                for figure in stage.figures
            ]
            show_table(console, [*names("figure"), *figures("value", "of"), *words("")], rows)
    _show_findings(console, diagnosis, brief, whole)


def _show_findings(console: Console, diagnosis: Diagnosis, brief: bool, whole: bool) -> None:
    console.print()
    styles = {"head": "bold", "finding": "yellow", "detail": "", "aside": "dim"}
    for line in findings_text(diagnosis, brief=brief, whole=whole):
        console.print(line.text, style=styles[line.kind], soft_wrap=True)


def _mean(values: Sequence[object]) -> float | None:
    """The mean of those values that are numbers; None when there are none."""
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return sum(numbers) / len(numbers) if numbers else None


def _short(diagnosis: Diagnosis, figure: Figure) -> str:
    """The id of a figure without the market's name, which the heading has."""
    return figure.id.removeprefix(f"{diagnosis.market}.")


def _counts(figure: Figure) -> str:
    """Numerator and denominator of a figure, as they are printed: `3/12`, or `3` without a denominator."""
    if figure.denominator is None:
        return number_text(figure.numerator)
    return f"{number_text(figure.numerator)}/{number_text(figure.denominator)}"


def _aside(figure: Figure) -> str:
    """The parts of a figure and its note in one line; "" where it has neither."""
    parts = [f"{name} {number_text(value)}" for name, value in figure.parts.items()]
    return "; ".join([*([", ".join(parts)] if parts else []), *([figure.note] if figure.note else [])])


def _show_footnotes(console: Console, shown: Iterable[str]) -> None:
    """What a reader of these figures could get wrong: a line per figure that has a footnote."""
    for name in shown:
        if name in FOOTNOTES:
            console.print(f"{name.replace('_', ' ')}: {FOOTNOTES[name]}", style="dim")
