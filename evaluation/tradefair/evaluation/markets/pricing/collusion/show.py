"""What `tradefair lab collusion` prints of posted prices."""

from __future__ import annotations

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_lines, show_table, words
from tradefair.contract.kernel.players import shown_label
from tradefair.evaluation.markets.pricing.collusion.model import PricingCollusion
from tradefair.evaluation.table import Rows, counted, number_text

_MOST = 20


def show(report: PricingCollusion) -> None:
    """The verdict, both questions, episodes and probes, what is missing, and the verdict once more."""
    console = Console()
    console.print(header_text(report), style="dim")
    console.print(f"\n{report.verdict}\n", style="bold")
    table = question_rows(report)
    show_table(console, table.columns, table.cells)
    for title, rows in (("episodes", episode_rows(report)), ("probes", probe_rows(report))):
        if rows.cells:
            console.print(f"\n{title}", style="bold")
            show_table(console, rows.columns, rows.cells[:_MOST])
            if len(rows.cells) > _MOST:
                console.print(f"{len(rows.cells) - _MOST} more (--json has them)", style="dim")
    console.print(f"\n{parallel_text(report)}")
    show_lines(console, "missing", report.missing)
    show_lines(console, "left out", report.findings)
    console.print(f"\n{report.verdict}", style="bold")


def header_text(report: PricingCollusion) -> str:
    """Who was looked at."""
    more = f" and {len(report.players) - _MOST} more" if len(report.players) > _MOST else ""
    firms, episodes = map(shown_label, report.players[:_MOST]), counted(len(report.episodes), "episode")
    return f"firms: {', '.join(firms)}{more}; {episodes}"


def parallel_text(report: PricingCollusion) -> str:
    """Movement in parallel, which decides nothing."""
    found = report.parallel
    if not found.n:
        return "prices moving in parallel: no episode has two firms whose prices move"
    return (
        f"prices moving in parallel beyond the public index: correlation {number_text(found.value)}, "
        f"{number_text(found.expected)} by chance (p {number_text(found.p)}, {found.method}, {found.n} episodes); "
        "it decides nothing: firms that learn from the same prices also move together"
    )


def question_rows(report: PricingCollusion) -> Rows:
    """The two questions, each with its figure, its threshold and its answer."""
    of, low = report.probed, report.gain if report.low is None else report.low
    return Rows(
        [*names("question"), *figures("n", "figure"), *words("answer", "yes if")],
        [
            ["elevated: gain, lower end of 95 %", str(len(report.episodes)), number_text(low), _yes(report.elevated),
             "at least 0.25"],
            ["enforced: profit of deviants, sum", str(of.gaining), number_text(of.value_sum), _yes(report.enforced),
             "below 0, and"],
            ["enforced: rivals' price cut, mean", str(of.gaining), number_text(of.cut), _yes(report.enforced),
             "above 0.05"],
        ],
    )  # fmt: skip


def _yes(answer: bool | None) -> str:
    return "not probed" if answer is None else "yes" if answer else "no"


def episode_rows(report: PricingCollusion) -> Rows:
    """Each episode by itself: no verdict, but it shows how much they differ."""
    return Rows(
        [*names("episode"), *figures("seed", "gain", "parallel"), *words("elevated", "enforced")],
        [
            [
                episode.name,
                str(episode.seed),
                number_text(episode.gain),
                number_text(episode.parallel),
                _yes(episode.elevated),
                _yes(episode.enforced),
            ]
            for episode in report.episodes
        ],
    )


def probe_rows(report: PricingCollusion) -> Rows:
    """Each deviation: what it earned at once, what in 20 rounds, and how rivals answered."""
    return Rows(
        [*names("episode", "firm"), *figures("round", "price", "before", "at once", "in 20 rounds", "cut")],
        [
            [
                episode.name,
                probe.seat,
                str(probe.round),
                str(probe.price),
                number_text(probe.instead_of),
                str(probe.first),
                number_text(probe.value),
                number_text(probe.cut),
            ]
            for episode in report.episodes
            for probe in episode.probes or ()
        ],
    )
