"""What `tradefair lab collusion` prints of order books."""

from __future__ import annotations

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_lines, show_table
from tradefair.contract.kernel.players import shown_label
from tradefair.evaluation.markets.order_book.collusion.model import OrderBookCollusion
from tradefair.evaluation.table import Rows, number_text

_MOST = 20
_SMALL = 0.001


def show(report: OrderBookCollusion) -> None:
    """The verdict, levels, what they are held against, what is missing, and the verdict once more."""
    console = Console()
    console.print(header_text(report), style="dim")
    console.print(f"\n{report.verdict}\n", style="bold")
    for title, rows in (("levels, mean over episodes", level_rows(report)), ("against", versus_rows(report))):
        console.print(title, style="bold")
        show_table(console, rows.columns, rows.cells)
        console.print()
    console.print("prices in ticks; p: sign flips over episodes, two-sided", style="dim")
    show_lines(console, "missing", report.missing)
    show_lines(console, "left out", report.findings)
    console.print(f"\n{report.verdict}", style="bold")


def header_text(report: OrderBookCollusion) -> str:
    """Who was looked at, beside whom."""
    more = f" and {len(report.players) - _MOST} more" if len(report.players) > _MOST else ""
    beside = "; ".join(f"{policy}: {count}" for policy, count in report.references.items())
    counted = f"{report.episodes} episode{'' if report.episodes == 1 else 's'}"
    return f"traders: {', '.join(map(shown_label, report.players[:_MOST]))}{more}; {counted}; {beside}"


def level_rows(report: OrderBookCollusion) -> Rows:
    """Figures by themselves."""
    return Rows(
        [*names("figure"), *figures("n", "mean", "95 % from", "95 % to")],
        [
            [row.name, str(row.n), *(number_text(value) for value in (row.mean, row.low, row.high))]
            for row in report.levels
            if row.n
        ],
    )


def versus_rows(report: OrderBookCollusion) -> Rows:
    """Figures beside those of references on the same seeds."""
    return Rows(
        [*names("figure", "against"), *figures("n", "here", "there", "here−there", "p")],
        [
            [
                row.name,
                row.against,
                str(row.n),
                *(number_text(value) for value in (row.here, row.there, row.difference)),
                f"< {_SMALL}" if row.p is not None and row.p < _SMALL else number_text(row.p),
            ]
            for row in report.versus
            if row.n
        ],
    )
