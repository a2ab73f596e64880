"""What `tradefair lab collusion` prints for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_table, words
from tradefair.contract.kernel.players import shown_label
from tradefair.evaluation.markets.double_auction.collusion.model import (
    CollusionReport,
    Level,
    PlayerFigure,
    Primary,
    Sample,
    Versus,
    Within,
)
from tradefair.evaluation.table import Rows, number_text

# Smaller p-values are shown as "< 0.001": with 10,000 draws the digits below say little.
_SMALL = 0.001
_MOST = 20
# Characters of a label; those of public logs have up to 27.
_LABEL = 32
VERSUS = {
    "round 1 apart: what is there already does not come from repeated play": "round_1",
    "9 what talk did, on the same seeds (the only causal rows)": "chat_effect",
    "1 to 8 against other arms, on the same seeds": "versus",
}
"""Titles of the tables that compare with other arms, and the fields of the report that they show."""


def show(report: CollusionReport) -> None:
    """The verdict, the primary set, then every figure, what is missing, and the verdict once more."""
    console = Console()
    _say(console, header_text(report), style="dim")
    _say(console, f"\n{report.verdict}\n", style="bold")
    _show_rows(
        console,
        "",
        primary_rows(report.primary),
        "expected: by chance, or (1) in the silent arm; the larger p counts, then Holm",
    )
    _show_rows(console, "\nfigures by themselves, mean over episodes", level_rows(report.levels))
    for title, rows in VERSUS.items():
        found: list[Versus] = getattr(report, rows)
        _show_rows(console, f"\n{title}", versus_rows(found), f"sign flips, two-sided: {_methods(found)}")
    within = report.within
    _show_rows(console, "\n3 to 8 against chance, in the same episodes", within_rows(within), _within_note(within))
    _show_withheld(console, report)
    for of_figure in by_figure(report.players):
        _say(console, f"\n{players_title(of_figure)}", style="bold")
        table = player_rows(of_figure)
        show_table(console, table.columns, table.cells, whole=True)
    for line in players_found(report.players):
        _say(console, f"\n{line}")
    for title, lines in (
        ("missing", report.missing),
        ("without a partner", report.unpaired),
        ("left out", report.findings),
    ):
        _show_list(console, title, lines)
    # Once more at the end: the tables are longer than a screen.
    _say(console, f"\n{report.verdict}", style="bold")


def header_text(report: CollusionReport) -> str:
    """Who was looked at, in which arms, and which side is asked about."""
    arms = [f"{report.sample.episodes} episodes, {report.sample.with_talk} of them with talk"]
    # Only arms that were given: the list of what is missing follows below the tables.
    arms += [f"silent arm: {report.silent.episodes}"] if report.silent else []
    arms += [f"{name}: {count}" for name, count in report.references.items() if count]
    terms = "" if report.side == "sellers" else "; every figure is mirrored: asks are bids, prices stand for P − price"
    return f"{report.side}: {_players(report.sample)}\n{'; '.join(arms)}{terms}"


def _players(sample: Sample) -> str:
    more = f" and {len(sample.players) - _MOST} more" if len(sample.players) > _MOST else ""
    return ", ".join(sample.players[:_MOST]) + more


def primary_rows(rows: Sequence[Primary]) -> Rows:
    """The tests that the verdict rests on, each with its null and p-values."""
    titles = figures("n", "value", "expected", "p of chance", "p beside", "p Holm")
    return Rows(
        [*names("primary set"), *titles, *words("beside")],
        [
            [
                f"{row.measure} {row.name}",
                str(row.n),
                number_text(row.value),
                number_text(row.expected),
                _p(row.p_chance),
                _p(row.p_beside),
                _p(row.p_holm),
                ", ".join(row.beside) or "nothing",
            ]
            for row in rows
        ],
    )


def versus_rows(rows: Sequence[Versus]) -> Rows:
    """Figures against the same seeds in another arm, where that arm was played."""
    holm = any(row.p_holm is not None for row in rows)
    titles = figures("n", "here", "there", "here−there", "p", *(["p Holm"] if holm else []))
    return Rows(
        [*names("figure", "against"), *titles],
        [
            [
                f"{row.measure} {row.name}",
                row.against,
                str(row.n),
                number_text(row.here),
                number_text(row.there),
                number_text(row.difference),
                _p(row.p),
                *([_p(row.p_holm)] if holm else []),
            ]
            for row in rows
            # A table of dashes would hide which arms were played; `missing` names those that were not.
            if row.n
        ],
    )


def level_rows(rows: Sequence[Level]) -> Rows:
    """Figures by themselves: means over episodes and their intervals."""
    return Rows(
        [*names("figure"), *figures("n", "mean", "95 % from", "95 % to")],
        [
            [f"{row.measure} {row.name}", str(row.n), *(number_text(value) for value in (row.mean, row.low, row.high))]
            for row in rows
            if row.n
        ],
    )


def within_rows(rows: Sequence[Within]) -> Rows:
    """Figures beside what chance would give in the same episodes."""
    return Rows(
        [*names("figure"), *figures("n", "value", "expected", "tail", "p"), *words("null")],
        [
            [
                f"{row.measure} {row.name}",
                str(row.n),
                number_text(row.value),
                number_text(row.expected),
                "more" if row.tail == "greater" else "less",
                _p(row.p),
                row.null,
            ]
            for row in rows
            if row.n
        ],
    )


_PLAYERS: Mapping[str, str] = {
    "obedience": "8 obedience by player: share of rounds in which its quote keeps to the number that it heard",
    "first_number": "8 first number by player: its part in the first price that is named to the own side",
    "kept_promises": "8 promises to the own side by player: share of rounds in which they are kept",
    "kept_to_other_side": "8 promises to the other side by player: share of rounds in which they are kept",
    "overcharge": "1 overcharge by player: points above p* (buyers: below it) in its episodes; expected: in all others",
}


def player_text(row: PlayerFigure) -> str:
    """The player's label, which may come from a log of strangers, short enough for a table."""
    label = shown_label(row.player)
    return label if len(label) <= _LABEL else f"{label[: _LABEL - 1]}…"


def by_figure(rows: Sequence[PlayerFigure]) -> list[list[PlayerFigure]]:
    """The rows of each figure that some player has."""
    grouped = [[row for row in rows if row.name == name and row.n] for name in _PLAYERS]
    return [of_figure for of_figure in grouped if of_figure]


def players_title(rows: Sequence[PlayerFigure]) -> str:
    """What the rows of one figure measure."""
    return _PLAYERS[rows[0].name]


def player_rows(rows: Sequence[PlayerFigure]) -> Rows:
    """One figure of each player and role; `kept`, `broken` are rounds."""
    counted = any(row.kept is not None for row in rows)
    titles = figures("n", "mean", "95 % from", "95 % to", "expected", "p Holm", "p")
    return Rows(
        [*names("player", "role"), *titles, *figures(*(["kept", "broken"] if counted else []))],
        [
            [
                player_text(row),
                row.role,
                str(row.n),
                *(number_text(value) for value in (row.mean, row.low, row.high, row.expected)),
                _p(row.p_holm),
                _p(row.p),
                *([number_text(row.kept), number_text(row.broken)] if counted else []),
            ]
            for row in rows
        ],
    )


def players_found(rows: Sequence[PlayerFigure]) -> list[str]:
    """Sentences: per figure the players beyond chance after Holm, and the figures that no player has."""
    if not rows:
        return []
    lines: list[str] = []
    for name in _PLAYERS:
        of_figure = [row for row in rows if row.name == name]
        found = [f"{player_text(row)} as {row.role}" for row in of_figure if row.found]
        tested = sum(row.p is not None for row in of_figure)
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        if not any(row.n for row in of_figure):
            lines.append(f"{name} by player: no episode has it")
        elif not tested:
            lines.append(f"{name} by player: too few episodes to test")
        else:
            beyond = f"{', '.join(found[:_MOST])}{more}" if found else "none"
            than = "unlike the other episodes" if name == "overcharge" else "beyond chance"
            lines.append(f"{name} by player: {than} after Holm over {tested} tests: {beyond}")
    # The figures of players have no arm to compare with.
    return [*lines, "beyond chance is not beyond honest play: only the verdict is held against other arms"]


def _show_rows(console: Console, title: str, table: Rows, note: str = "") -> None:
    if not table.cells:
        return
    if title:
        _say(console, title, style="bold")
    show_table(console, table.columns, table.cells)
    if note:
        _say(console, note, style="dim")


def _within_note(rows: Sequence[Within]) -> str:
    """How the p-values were made, by name: a reader should know which are exact and which are drawn."""
    known = [row for row in rows if row.n]
    exact = [row.name for row in known if row.method == "exact"]
    others = sorted({row.method for row in known if row.method and row.method != "exact"})
    made = [*([f"exact: {', '.join(exact)}"] if exact else []), *others]
    return f"one-sided; {'; '.join(made)}"


def _show_withheld(console: Console, report: CollusionReport) -> None:
    held = report.withheld_by
    if held is not None:
        ours, theirs = ("seller", "buyer") if report.side == "sellers" else ("buyer", "seller")
        parts = f"{ours} {number_text(held.seller)}, {theirs} {number_text(held.buyer)}"
        rest = f"both {number_text(held.both)}, neither {number_text(held.neither)}"
        _say(console, f"\nwithheld pairs per round {number_text(held.total)}, by whose quote: {parts}, {rest}")


def _show_list(console: Console, title: str, lines: Sequence[str]) -> None:
    for line in lines[:_MOST]:
        _say(console, f"{title}: {line}", style="yellow")
    if len(lines) > _MOST:
        _say(console, f"{title}: {len(lines) - _MOST} more (--json has them)", style="yellow")


def _methods(rows: Sequence[Versus]) -> str:
    return ", ".join(sorted({row.method for row in rows if row.method is not None}))


def _p(p: float | None) -> str:
    return f"< {_SMALL}" if p is not None and p < _SMALL else number_text(p)


def _say(console: Console, text: str, *, style: str = "") -> None:
    console.print(text, style=style)
