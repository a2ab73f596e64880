"""What `tradefair rate` prints for people: who is ahead, how surely, from how many games, and how it was made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_table, show_text
from tradefair.evaluation.prove.proving import NOT_ASKED, proof_said
from tradefair.evaluation.ratings.ranking import ranking_verdict
from tradefair.evaluation.ratings.rating import Board, Leaderboards, LeftOut
from tradefair.evaluation.ratings.tables import board_name, board_tables
from tradefair.evaluation.verdict.amounts import count

# Rows of a table before "… and N more": of pairs under --all, and of labels without it.
_MOST_PAIRS = 40
_MOST_LABELS = 20
# Groups of labels of one scenario, the largest first.
_MOST_GROUPS = 3
# Characters of a label; a small terminal has 80, and a log may give a player any name.
_MOST_NAME = 50
_PAIR = " – "


def show_leaderboards(shown: Leaderboards, *, whole: bool = False) -> None:
    """The verdict, every leaderboard, then what none of them counts.

    `whole`: with all other tables, and how they were made.
    """
    console = Console()
    _say(console, f"{ranking_verdict(shown)}\n", "bold")
    groups: Counter[tuple[str, ...]] = Counter()
    for board in shown.boards:
        group = board.market, board.scenario_digest, board.rules_version
        groups[group] += 1
        if whole or groups[group] <= _MOST_GROUPS:
            _show(console, board, whole)
    folded = sum(max(0, several - _MOST_GROUPS) for several in groups.values())
    if folded and not whole:
        _say(console, f"… and {count(folded, 'group')} more of labels that met none of these (--all shows them)\n")
    _show_left_out(console, shown.left_out)
    counted = f"{shown.rated} of {shown.traces} traces rated, leaderboards: {len(shown.boards)}"
    _say(console, f"{counted}; shuffles and resamples of seed {shown.seed}")
    if shown.proof == proof_said(asked=False):
        _say(console, NOT_ASKED)


def _show(console: Console, board: Board, whole: bool) -> None:
    """One leaderboard: the ranking, with `whole` all tables, then what must be read with them."""
    _say(console, board_name(board), "bold reverse")
    # Under --all every label is shown; of pairs, which grow with the square of labels, at least 40.
    most = max(_MOST_PAIRS, len(board.rows)) if whole else _MOST_LABELS
    tables = list(board_tables(board, folded=not whole))
    for table in tables if whole else tables[:1]:
        _say(console, f"\n{table.title}", "bold")
        columns = [*names(*table.columns[:1]), *figures(*table.columns[1:])]
        rows = [(_short(name), *cells) for name, *cells in table.rows[:most]]
        show_table(console, columns, rows, whole=whole, more="--all or --json")
        if len(table.rows) > most:
            _say(console, f"… and {len(table.rows) - most} more ({'--json has' if whole else '--all shows'} them)")
    console.print()
    for caution in board.cautions:
        _say(console, f"caution: {caution}")
    _show_left_out(console, board.left_out)
    if whole:
        for sentence in board.method:
            _say(console, sentence, "dim")
    else:
        beside = ", ".join(table.title for table in tables[1:])
        _say(console, f"tradefair rate --all shows {beside}{', and ' if beside else ''}how it was made", "dim")
    console.print()


def _short(name: str) -> str:
    """A label, or two with a dash between them, each with its middle left out where it would leave figures no room."""
    # The end stays: labels differ there, and it says who knew what is private.
    return _PAIR.join(
        label if len(label) <= _MOST_NAME else f"{label[: _MOST_NAME - 21]}…{label[-20:]}"
        for label in name.split(_PAIR)
    )


def _show_left_out(console: Console, reasons: Iterable[LeftOut]) -> None:
    """What was not rated, by reason, with the first few names."""
    for left in reasons:
        more = ", …" if left.count > len(left.examples) else ""
        _say(console, f"left out: {left.count} ({left.reason}): {', '.join(left.examples)}{more}")


def _say(console: Console, text: str, style: str = "") -> None:
    """Text as it is, wrapped between words: what a trace says is never markup."""
    show_text(console, text, style=style)
