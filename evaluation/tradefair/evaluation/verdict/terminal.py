"""What the commands print for people: a verdict with one table; under `--all` every figure.

Heads of columns are titles of `figure(...)`. Colour says how it stands and nothing else: red trouble, green reproduced.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from rich.text import Text

from tradefair.cli.console import Console
from tradefair.cli.tables import Cell, Column, figures, lines_of, names, show_pairs, show_table, show_text, words
from tradefair.contract import SeatId
from tradefair.contract.text import clean_line
from tradefair.evaluation.evaluator import evaluator_of, fields_for
from tradefair.evaluation.figures import Group, figure_of, heading_of
from tradefair.evaluation.judge.evaluate import Evaluation, relative_numbers, tables_of
from tradefair.evaluation.judge.reward import reward_metric
from tradefair.evaluation.ledger import MAJOR, MINOR, major
from tradefair.evaluation.modes.diagnosis import Diagnosis, Figure
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.outcome import Outcome, PrimaryMetric, SeatOutcome, refused_note
from tradefair.evaluation.prove.verify import OUTCOMES_OF_VERIFY, SOUND, Check
from tradefair.evaluation.read.arithmetic import mean
from tradefair.evaluation.table import number_text
from tradefair.evaluation.verdict.amounts import number
from tradefair.evaluation.verdict.findings_text import findings_text
from tradefair.evaluation.verdict.ledger_text import show_ledgers
from tradefair.evaluation.verdict.verdict import ForeignRun, NextStep, Verdict
from tradefair.evaluation.verdict.words import INSTEAD, RESULTS, told_at

# Seats in one line.
_MAX_NAMED = 4
# Rows of the table below a verdict: text, table and next steps stay within twenty lines.
_MAX_STANDINGS = 8
_MORE = "--all or --json"
_NEXT, _GAP = "next   ", "   "
# Where the further lines of a finding begin.
_HANG = 6
_EVERY = "all"
_MEAN = "mean of seats"


class Run(NamedTuple):
    """An episode, the seats in it whose score is shown, and what others got in their place, by label."""

    evaluation: Evaluation
    seats: Sequence[SeatId]
    references: Mapping[str, Evaluation] = {}


def show_verdict(verdict: Verdict, runs: Sequence[Run], *, whole: bool = False) -> None:
    """Print the text, then one table: the seats under test beside their references, as means over several episodes.

    Of many rows the first are shown; `whole`: all.
    """
    console = Console()
    for sentence in verdict.sentences:
        _show_sentence(console, sentence, verdict)
    show_ledgers(console, verdict.tables(whole=whole), frozen=verdict.frozen, whole=whole)
    knowing = {row.name for seat in verdict.seats for row in seat.beside if row.privileged}
    _show_standings(console, runs, whole, knowing)


def show_next(steps: Sequence[NextStep]) -> None:
    """Print commands that go on from here, next to what they are for where the line has room for both."""
    console = Console()
    room = console.width - len(_NEXT)
    commands, reasons = [clean_line(step.command) for step in steps], [clean_line(step.why) for step in steps]
    wide, beside = max(map(len, commands), default=0), max(map(len, reasons), default=0)
    roomy = wide + len(_GAP) + beside <= room
    if steps:
        console.print()
    for place, (command, why) in enumerate(zip(commands, reasons, strict=True)):
        lines = [f"{command:{wide}}{_GAP}{why}"] if roomy else lines_of(command or why, room - len(" \\"))
        for line, text in enumerate(lines):
            head = " " * len(_NEXT) if place or line else _NEXT
            # A command that is broken stays one that can be copied.
            console.print(f"{head}{text}{' ' + chr(92) if command and line < len(lines) - 1 else ''}", soft_wrap=True)


def _show_sentence(console: Console, sentence: str, verdict: Verdict) -> None:
    """One sentence, wrapped: red where it tells of trouble, with the word "reproduced" in green where that holds."""
    text = Text("\n".join(lines_of(clean_line(sentence), console.width)))
    # The first sentence is the trouble, or the trouble is added to it in one of its own.
    first = verdict.trouble and verdict.trouble.kind in (*INSTEAD, "unread")
    if verdict.trouble and (sentence is verdict.sentences[0] if first else verdict.trouble.text in sentence):
        text.stylize("red")
    if verdict.reproduced.state == "reproduced":
        text.highlight_words(["reproduced"], "green")
    console.print(text, soft_wrap=True)


def show_runs(runs: Sequence[ForeignRun], *, whole: bool = False) -> None:
    """Of one foreign run its cases by step, of several a row each, those with most findings first."""
    console = Console()
    if len(runs) == 1:
        cells: list[list[Cell]] = [
            ["–" if found.step is None else str(found.step), found.rule, f"#{found.seq} {found.because}"]
            for found in runs[0].found
        ]
        columns = [*figures("step"), *names("rule"), *words("what happened")]
    else:
        ranked = sorted(runs, key=lambda run: (-run.raised, run.passed is True, run.run))
        cells = [
            [run.run, RESULTS[run.passed], str(run.raised), str(run.calls), told_at(run.found[0]) if run.found else ""]
            for run in ranked
        ]
        columns = [*names("run", "result"), *figures("mistakes", "calls"), *words("first mistake")]
    if not cells:
        return
    console.print()
    most = len(cells) if whole else _MAX_STANDINGS
    show_table(console, columns, cells[:most], whole=whole, more=_MORE)
    if cells[most:]:
        show_text(console, f"… {len(cells) - most} more rows: {_MORE}", style="dim")


class _Standing(NamedTuple):
    """A row below a verdict: who played `seat` in so many episodes, and means: the scores, lapses, failure modes."""

    seat: str
    player: str
    episodes: int
    numbers: Sequence[float | None]


def _show_standings(console: Console, runs: Sequence[Run], whole: bool, knowing: Collection[str]) -> None:
    """A blank line, a row per seat, or one for all where seats differ, then one per reference, the best first."""
    runs = [run for run in runs if run.evaluation.outcome is not None and run.seats]
    if not runs:
        return
    outcomes = [run.evaluation.outcome for run in runs if run.evaluation.outcome is not None]
    evaluator = evaluator_of(outcomes[0].market)
    roles = {outcome.seats[seat].role for run, outcome in zip(runs, outcomes, strict=True) for seat in run.seats}
    # One score per role, the first.
    of_roles = [reward_metric(evaluator.market, {role}) for role in sorted(roles)]
    metrics = [metric for metric in evaluator.primary_metrics if metric in of_roles]
    standings = _standings(runs, metrics)
    rows = standings if whole else standings[:_MAX_STANDINGS]
    lone, several = len({row.seat for row in standings}) == 1, len(runs) > 1
    heads = [*_scores(evaluator.market, metrics), "turns let pass", "kinds of mistake"]
    who = f"{rows[0].seat} played by" if lone and rows[0].seat != _EVERY else "played by"
    columns = [*names("seat", who), *figures("means of episodes" if several else "episodes", *heads)]
    idle = {0: lone, 2: not several}
    cells = [_cells_of(row, knowing) for row in rows]
    console.print()
    show_table(console, *_without(idle, columns, cells), whole=whole, more=_MORE)
    if len(standings) > len(rows):
        show_text(console, f"… {len(standings) - len(rows)} more rows: {_MORE}", style="dim")


def _without(
    idle: Mapping[int, bool], columns: Sequence[Column], rows: Sequence[Sequence[Cell]]
) -> tuple[list[Column], list[list[Cell]]]:
    """A table without the columns that say nothing."""
    shown = [place for place in range(len(rows[0]) if rows else 0) if not idle.get(place)]
    return [columns[place] for place in shown], [[row[place] for place in shown] for row in rows]


def _scores(market: str, metrics: Sequence[PrimaryMetric]) -> Iterator[str]:
    """Heads of the scores, with their unit unless the head has it; money as people read it."""
    for metric in metrics:
        head, unit = heading_of(market, metric.name), MAJOR if metric.unit in MINOR else metric.unit
        yield head if unit in head else f"{head}, {unit}"


def _cells_of(row: _Standing, knowing: Collection[str]) -> list[Cell]:
    # By the rule of the text above: the same figure must not stand there with other digits.
    numbers = ["–" if value is None else number(value) for value in row.numbers]
    player = f"{row.player} (knows hidden facts)" if row.player in knowing else row.player
    return [row.seat, player, str(row.episodes), *numbers]


def _standings(runs: Sequence[Run], metrics: Sequence[PrimaryMetric]) -> list[_Standing]:
    """The seats under test, then the references. Every run has an outcome and a seat."""
    same = len({tuple(run.seats) for run in runs}) == 1
    found: list[_Standing] = []
    for seats in [[seat] for seat in runs[0].seats] if same else [[]]:
        of = [(run.evaluation, seat) for run in runs for seat in seats or run.seats]
        found.append(_standing(seats[0] if seats else _EVERY, "", of, metrics))
    # A reference sat in all seats under test: of several it is shown by its mean, and so is what was tested.
    alone = all(len(run.seats) == 1 for run in runs)
    beside = _of_references(runs, metrics, found[0].seat if alone else _MEAN)
    if alone or not beside:
        return found + beside
    of = [(run.evaluation, seat) for run in runs for seat in run.seats]
    # First of all: a long list of seats is cut.
    return [_standing(_MEAN, "", of, metrics)._replace(episodes=len(runs)), *beside, *found]


def _of_references(runs: Sequence[Run], metrics: Sequence[PrimaryMetric], seat: str) -> list[_Standing]:
    """A row for each reference, the best first."""
    rows: list[_Standing] = []
    for name in dict.fromkeys(name for run in runs for name in run.references):
        having = [run for run in runs if name in run.references]
        of = [(run.references[name], seat) for run in having for seat in run.seats]
        rows.append(_standing(seat, name, of, metrics)._replace(episodes=len(having)))
    sign = -1 if metrics and metrics[0].higher_is_better else 1
    return sorted(rows, key=lambda row: (row.numbers[0] is None, sign * (row.numbers[0] or 0)))


def _standing(
    seat: str, player: str, of: Sequence[tuple[Evaluation, SeatId]], metrics: Sequence[PrimaryMetric]
) -> _Standing:
    """Means over these seats of these episodes, those without an outcome left out; "" for `player`: their labels."""
    known = [(item, item.outcome.seats[own], own) for item, own in of if item.outcome is not None]
    scores = [
        [
            (major(value) or 0.0) if metric.unit in MINOR else value
            for _, result, _ in known
            if (value := getattr(result, metric.name, None)) is not None
        ]
        for metric in metrics
    ]
    lapses = [sum(result.lapses.values()) for _, result, _ in known]
    # A mode that was found several times counts once.
    modes = [
        len({finding.id for finding in item.diagnosis.raised if own in finding.seats})
        for item, _, own in known
        if item.diagnosis is not None
    ]
    label = player or ", ".join(dict.fromkeys(result.label or "agent" for _, result, _ in known))
    return _Standing(seat, label, len(known), [mean(numbers) for numbers in (*scores, lapses, modes)])


def show_checks(checks: Sequence[Check]) -> None:
    """Print what is said of one trace, or a row per trace; then what is wrong, and what each conclusion means."""
    console = Console()
    if len(checks) > 1:
        _show_checked(console, checks)
    for check in checks:
        # Of one trace, or of one that is not sound; a thousand sound ones are a table.
        if not check.sound or len(checks) == 1:
            show_text(console, f"{check.path}: {check.sentence}", style="green" if check.sound else "red")
        for finding in (*check.findings, *check.proof.odd):
            show_text(console, f"{check.path}: {finding.message}")
    if len(checks) == 1 and checks[0].head_hash:
        head, seal, signed = _digests(checks[0])
        show_text(console, f"head {head}, {f'seal {seal}' if checks[0].sealed else 'not sealed'}, signed by {signed}")
    # What a conclusion means is explained once, below, however many traces have it.
    met = {check.verdict for check in checks} - SOUND
    for conclusion, meaning in OUTCOMES_OF_VERIFY.items():
        if conclusion in met:
            show_text(console, f"{_words(conclusion)}: {meaning}", style="dim")


def _show_checked(console: Console, checks: Sequence[Check]) -> None:
    # Names below the folder that all lie in: long ones would leave no room for what was found.
    folder = checks[0].path.rpartition("/")[0]
    while folder and not all(check.path.startswith(f"{folder}/") for check in checks):
        folder = folder.rpartition("/")[0]
    if folder:
        show_text(console, f"traces in {folder}")
    rows: list[list[Cell]] = []
    for check in checks:
        name = Text(_words(check.verdict), style="green" if check.sound else "red")
        path = check.path.removeprefix(f"{folder}/") if folder else check.path
        # Only where there is a signature: a column of dashes would take the room of one that says something.
        digests = _digests(check)[: None if any(check.signed_by for check in checks) else 2]
        rows.append([path, name, str(check.events), "yes" if check.sealed else "no", *digests])
    titles = ("events", "sealed", "head", "seal", "signed by")[: len(rows[0]) - 2]
    show_table(console, [*names("trace", "check"), *figures(*titles)], rows)


def _digests(check: Check) -> tuple[str, str, str]:
    # 64 bits of a hash are enough to compare two lines by eye; `--json` has it whole.
    return (check.head_hash or "")[:16], (check.seal or "–")[:16], (check.signed_by or "–")[:18]


def show_signed(rows: Sequence[Mapping[str, str]]) -> None:
    """Print path, seal and fingerprint of each trace that was signed; the fingerprint whole, as ssh-keygen -l does."""
    cells: list[list[Cell]] = [[row["path"], row["seal"][:16], row["signed_by"]] for row in rows]
    show_table(Console(), names("trace", "seal", "signed"), cells)


def show_evaluations(evaluations: Iterable[Evaluation]) -> None:
    """Every figure per trace: how it ended, a row per seat, the market, its tables, the diagnosis with all cases."""
    console = Console()
    for evaluation in evaluations:
        # A file that cannot be scored is a line among the others; the exit code is the command's affair.
        if evaluation.outcome is None:
            show_text(console, evaluation.problem or evaluation.path, style="red")
            continue
        if is_foreign(evaluation.outcome):
            show_text(console, evaluation.path)
        else:
            _show_outcome(console, evaluation.path, evaluation.outcome)
        _show_tables(console, evaluation.outcome, evaluation.population)
        if evaluation.diagnosis is not None:
            _show_diagnosis(console, evaluation.diagnosis)


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
    heads = [*_heads(evaluator.market, columns), heading_of(evaluator.market, "lapses")]
    heads += [*_heads(evaluator.market, more, "relative"), *(["market's efficiency"] if efficient else [])]
    rows: list[list[Cell]] = []
    for label, outcome in outcomes.items():
        result = outcome.seats[seat]
        cells = [number_text(getattr(result, name, None)) for name in columns]
        compared = [number_text(value) for value in relative.get(label, {}).values()]
        compared += [number_text(getattr(outcome.market_outcome, "efficiency", None))] if efficient else []
        rows.append([label, *cells, str(sum(result.lapses.values())), *compared])
    show_table(console, [*names(f"{seat} played by"), *figures(*heads)], rows, whole=True)
    _show_cautions(console, evaluator.market, columns)
    _show_cautions(console, evaluator.market, more, "relative")


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
    nothing: Mapping[str, float | None] = {}
    further = beside if len(beside) == len(scored) else [nothing] * len(scored)
    more = list(further[0]) if further else []
    fixed = len({tuple(own) for _, _, own in scored}) <= 1
    rows = _series_rows(scored, columns, further, fixed)
    # Where there is one seat, and where every episode ran its course, a column would say nothing.
    idle = {1: fixed and all(len(own) == 1 for own in seats), 2: not any(str(row[2]) for row in rows)}
    market = evaluator.market if evaluator else ""
    heads = [*_heads(market, columns), heading_of(market, "lapses"), *_heads(market, more, "relative")]
    titles = [*names("trace", "seat", "end"), *figures("seed", *heads)]
    show_table(console, *_without(idle, titles, rows), whole=True)
    for item in evaluations:
        if item.outcome is None:
            show_text(console, item.problem or item.path, style="red")
    _show_cautions(console, market, columns)
    _show_cautions(console, market, more, "relative")
    _show_populations(console, evaluations)


def _series_rows(
    scored: Sequence[tuple[str, Outcome[Any, Any], Sequence[SeatId]]],
    columns: Sequence[str],
    further: Sequence[Mapping[str, float | None]],
    fixed: bool,
) -> list[list[Cell]]:
    """A row per episode and seat with a row of means below: by seat where all have the same ones (`fixed`)."""
    rows: list[list[Cell]] = []
    for group in scored[0][2] if fixed and scored else ["all"]:
        numbers: list[list[object]] = []
        for (path, outcome, own), more in zip(scored, further, strict=True):
            for seat in [group] if fixed else own:
                result = outcome.seats[seat]
                figures_of = [getattr(result, name, None) for name in columns]
                beside = [more[name] for name in further[0]]
                numbers.append([*figures_of, sum(result.lapses.values()), *beside])
                # An episode that its rules ended is the normal case and gets no note.
                reason = outcome.end_reason or "unfinished"
                ended = "" if reason.startswith("terminated:") else reason
                rows.append([Path(path).name, seat, ended, str(outcome.seed), *map(number_text, numbers[-1])])
        means = [number_text(_mean(column)) for column in zip(*numbers, strict=True)]
        rows.append([Text(cell, style="bold") for cell in ("mean", group, "", "", *means)])
    return rows


def _show_populations(console: Console, evaluations: Sequence[Evaluation]) -> None:
    """The market over several episodes, and over the same episodes played by its reference population."""
    # Both columns are means over the same episodes; an episode without a population is in neither.
    pairs = [(item.outcome, item.population) for item in evaluations if item.outcome and item.population]
    if not pairs:
        return
    evaluator = evaluator_of(pairs[0][0].market)
    markets = [[outcome.market_outcome for outcome in side] for side in zip(*pairs, strict=True)]
    rows = [
        [
            heading_of(evaluator.market, name, "market"),
            *(number_text(_mean([getattr(market, name) for market in side])) for side in markets),
        ]
        for name in evaluator.market_columns
    ]
    console.print(f"\nthe market, means over {len(pairs)} episodes", style="bold")
    show_table(console, [*names("figure"), *figures("value", f"{evaluator.population} population")], rows)


def _show_outcome(console: Console, path: str, outcome: Outcome[Any, Any]) -> None:
    """How one episode ended, a table of seats per set of columns, the market's figures, and what could not be used."""
    ended = outcome.end_reason or "unfinished"
    censored = ", cut short: sums run over the closed rounds only" if outcome.censored else ""
    show_text(console, path)
    seed = "no seed" if outcome.seed is None else f"seed {outcome.seed}"
    show_text(console, f"{outcome.scenario} · {seed} · {outcome.rounds_closed} rounds · {ended}{censored}")
    for columns, seats in _seats_by_columns(outcome).items():
        _show_seats(console, outcome.market, {seat: outcome.seats[seat] for seat in seats}, columns)
    columns = evaluator_of(outcome.market).seat_columns
    # Cautions only for figures that the tables above really show.
    known = {name for name in columns for seat in outcome.seats.values() if getattr(seat, name, None) is not None}
    _show_cautions(console, outcome.market, [name for name in columns if name in known])
    # Lists and mappings of a market's outcome have tables of their own.
    shown = [(name, value) for name, value in outcome.market_outcome if not isinstance(value, (list, dict))]
    if shown:
        pairs = [(heading_of(outcome.market, name, "market"), number_text(value)) for name, value in shown]
        show_pairs(console, pairs)
    for finding in outcome.findings:
        show_text(console, f"event {finding.seq}: {finding.message}" if finding.seq else finding.message)


def _seats_by_columns(outcome: Outcome[Any, Any]) -> dict[tuple[str, ...], list[SeatId]]:
    """Seats with roles of the same figures stand in one table: from the columns to the seats."""
    evaluator = evaluator_of(outcome.market)
    found: dict[tuple[str, ...], list[SeatId]] = {}
    for seat, result in outcome.seats.items():
        found.setdefault(fields_for(evaluator, {result.role}, evaluator.seat_columns), []).append(seat)
    return found


def _show_seats(console: Console, market: str, results: Mapping[SeatId, SeatOutcome], columns: Sequence[str]) -> None:
    """One table of seats with the same columns, in the order of the manifest.

    `refused` and `lapses` are columns only where a seat has any. Below stands which clients sent the refused calls.
    """
    conduct = any(result.refused or result.lapses for result in results.values())
    rows: list[list[Cell]] = []
    for seat, result in results.items():
        lapses = ", ".join(f"{reason} {count}" for reason, count in result.lapses.items())
        cells = [number_text(getattr(result, name, None)) for name in columns]
        cells += [str(result.refused), lapses] if conduct else []
        rows.append([seat, result.label or "", *cells])
    titles = _heads(market, (*columns, *(("refused", "lapses") if conduct else ())))
    show_table(console, [*names("seat", "played by"), *figures(*titles)], rows, whole=True)
    senders: dict[tuple[str, ...], list[SeatId]] = {}
    for seat, result in results.items():
        senders.setdefault(tuple(result.refused_by), []).append(seat)
    for clients, seats in senders.items():
        more = f" and {len(seats) - _MAX_NAMED} more" if len(seats) > _MAX_NAMED else ""
        if note := refused_note(f"of {', '.join(seats[:_MAX_NAMED])}{more}", clients):
            show_text(console, note, style="dim")


def _show_tables(console: Console, outcome: Outcome[Any, Any], population: Outcome[Any, Any] | None) -> None:
    """The tables that the market's evaluator adds, with their cautions."""
    for shown in tables_of(outcome, population):
        console.print()
        show_text(console, shown.title, style="bold")
        columns = [*names(*shown.columns[:1]), *figures(*shown.columns[1:])]
        show_table(console, columns, shown.rows, whole=True)
        _show_cautions(console, outcome.market, shown.fields)


def _show_diagnosis(console: Console, diagnosis: Diagnosis) -> None:
    """The figures by stage, then the failure modes."""
    for stage in diagnosis.stages:
        console.print()
        show_text(console, stage.name, style="bold")
        rows = [
            (_short(diagnosis, figure), number_text(figure.value), _counts(figure), _aside(figure))
            for figure in stage.figures
        ]
        show_table(console, [*names("figure"), *figures("value", "of"), *words("")], rows, whole=True)
    console.print()
    styles = {"head": "bold", "finding": "bold", "detail": "", "aside": "dim"}
    for line in findings_text(diagnosis):
        text = line.text.lstrip()
        indent = " " * (len(line.text) - len(text))
        show_text(console, text, style=styles[line.kind], indent=indent, hang=" " * max(len(indent), _HANG))


def _mean(values: Sequence[object]) -> float | None:
    """The mean of those values that are numbers; None when there are none."""
    numbers = [float(value) for value in values if isinstance(value, int | float)]
    return sum(numbers) / len(numbers) if numbers else None


def _short(diagnosis: Diagnosis, figure: Figure) -> str:
    """The id of a figure in words, without the market's name, which the heading has."""
    return _words(figure.id.removeprefix(f"{diagnosis.market}."))


def _counts(figure: Figure) -> str:
    """Numerator and denominator of a figure, as they are printed: `3/12`, or `3` without a denominator."""
    if figure.denominator is None:
        return number_text(figure.numerator)
    return f"{number_text(figure.numerator)}/{number_text(figure.denominator)}"


def _aside(figure: Figure) -> str:
    """The parts of a figure and its note in one line; "" where it has neither."""
    parts = [f"{name} {number_text(value)}" for name, value in figure.parts.items()]
    return "; ".join([*([", ".join(parts)] if parts else []), *([figure.note] if figure.note else [])])


def _heads(market: str, fields: Iterable[str], group: Group = "seat") -> list[str]:
    """The words above the columns of these fields."""
    return [heading_of(market, name, group) for name in fields]


def _show_cautions(console: Console, market: str, fields: Iterable[str], group: Group = "seat") -> None:
    """What a reader of these figures could get wrong: a line per figure that has a caution."""
    for row in (figure_of(market, name, group) for name in fields):
        if row is not None and row.caution:
            show_text(console, f"{row.heading}: {row.caution}", style="dim")


def _words(name: str) -> str:
    """A name of ours as words."""
    return name.replace("_", " ")
