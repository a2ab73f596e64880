"""What `import` prints for people."""

from __future__ import annotations

from rich.text import Text

from tradefair.cli.console import Console
from tradefair.cli.tables import Cell, figures, names, show_table, show_text
from tradefair.evaluation.foreign.importers.report import BASIS, ImportReport, merged, warnings
from tradefair.evaluation.foreign.importers.run_report import FileReport, Imported
from tradefair.evaluation.table import counted

# A log with a systematic flaw has a finding per line. `--json` has more.
_MAX_FINDINGS, _MAX_FOUND = 20, 100


def show_import(report: ImportReport) -> None:
    """Print how many games were imported, tallies by kind of check, a line per warning, then the first findings.

    A tally of a rule with anything unmatched is red: the log says something else than re-execution.
    """
    console = Console()
    imported = [game for game in report.games if game.trace is not None]
    rounds = sum(game.rounds for game in imported)
    console.print(f"{len(imported)} of {len(report.games)} games imported, {rounds} rounds")
    rows: list[list[Cell]] = []
    for kind, tally in merged(game.checks for game in report.games).items():
        style = "" if tally.first is None else "red" if BASIS[kind] == "rule" else "yellow"
        cells = (kind.replace("_", " "), str(tally.matched), str(tally.total))
        rows.append([Text(cell, style=style) for cell in cells])
    show_table(console, [*names("checked"), *figures("matched", "total")], rows)
    for warning in warnings(report.games):
        show_text(console, warning, style="yellow")
    for finding in report.findings[:_MAX_FINDINGS]:
        # A finding about a whole file has no line and no field.
        place = f"{finding.file}:{finding.line}: {finding.field}".rstrip(": ")
        show_text(console, f"{place}: {finding.message}", style="red")
    if len(report.findings) > _MAX_FINDINGS:
        console.print(f"… and {len(report.findings) - _MAX_FINDINGS} more findings (--json has them)", style="red")


def show_imported(imported: Imported) -> None:
    """Print what became of each file, and below it what could not be used, the first hundred of it."""
    console = Console()
    rows = [_imported_row(file) for file in imported.files]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row, file in zip(rows, imported.files, strict=True):
        show_text(console, "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
        for warning in file.warnings:
            show_text(console, f"  {warning}", style="yellow")
        for odd in file.found[:_MAX_FOUND]:
            place = f"{file.file}:{odd.line}" if odd.line else ""
            show_text(console, f"  {': '.join(filter(None, (place, odd.field, odd.message)))}", style="red")
        if (more := file.faults + file.waiting - min(len(file.found), _MAX_FOUND)) > 0:
            console.print(f"  … and {more:,} more", style="red")
        if file.left_out:
            told = ", ".join(f"{name} {count:,}" for name, count in file.left_out.most_common(8))
            show_text(console, f"  left out: {told}")


def _imported_row(file: FileReport) -> list[str]:
    if file.game is not None or file.trace is not None:
        return [file.file, file.format or "", "1 trace" if file.trace else "no trace"]
    if file.no_log:
        return [file.file, "no log", ""]
    records, calls, errors = f"{file.understood:,} of {file.records:,} {file.unit}", file.total("calls"), ""
    if file.parts and not file.runs:
        told = "more of a run" if file.parts == 1 else f"more of {file.parts:,} runs"
        return [file.file, file.format or "", f"{told}, counted there; {records}"]
    if failed := file.total("errors"):
        errors = f"{counted(failed, 'error')}, "
    held = "" if file.held is None else f"of {file.held:,} "
    told = f"{counted(len(file.runs), 'run')}, {calls:,} {held}calls, {file.total('answered'):,} answered, {errors}"
    return [file.file, file.format or "not known", f"{told}{counted(file.total('messages'), 'message')}; {records}"]
