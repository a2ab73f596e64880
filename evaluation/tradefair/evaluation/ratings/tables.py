"""Leaderboards as tables of ready text, for the terminal and for pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from tradefair.evaluation.figures import figure_of, heading_of
from tradefair.evaluation.ratings.charts import belief
from tradefair.evaluation.ratings.leader import places
from tradefair.evaluation.ratings.ranking import placed_of
from tradefair.evaluation.ratings.rating import Board, DuelBoard, FieldBoard, SoloBoard
from tradefair.evaluation.table import Table, number_text
from tradefair.evaluation.verdict.amounts import count

_INTERVAL = "95 %"


def board_name(board: Board) -> str:
    """What a leaderboard is about, in a line: scenario, shape, numbers of games and labels, and the ranked score."""
    parts = [board.scenario, board.shape, count(board.games, "game"), count(len(board.rows), "label")]
    if isinstance(board, FieldBoard | SoloBoard):
        parts.append(f"ranked by {_title(board.market, board.score)}")
    return " · ".join(part for part in parts if part)


def board_tables(board: Board, *, folded: bool = True) -> Iterator[Table]:
    """The ranking first, then the figures that explain it; none for a leaderboard without rows.

    `folded`: labels with one game are one line of the ranking, where others have more.
    """
    if not board.rows:
        return
    if isinstance(board, FieldBoard):
        yield _ranked(board, _ranking(board), folded)
        yield from _coverage(board)
    elif isinstance(board, SoloBoard):
        yield _ranked(board, _means(board), folded)
    else:
        yield _ranked(board, _scores(board), folded)
        yield _ratings(board)
    yield from _figures(board.market, [(row.label, row.figures) for row in board.rows])
    if isinstance(board, DuelBoard) and board.head_to_head:
        yield _meetings(board)
    if isinstance(board, SoloBoard) and board.best:
        yield _best(board)


def _ranked(board: Board, table: Table, folded: bool) -> Table:
    """The ranking with places, which equal numbers share."""
    placed = placed_of(board)
    rows = [(name, place, *cells) for (name, *cells), place in zip(table.rows, places(placed), strict=True)]
    kept = [row for row, known in zip(rows, placed, strict=True) if known.games > 1]
    if folded and 0 < len(kept) < len(rows):
        few = f"{count(len(rows) - len(kept), 'label')} with too few games"
        rows = [*kept, (few, *["–"] * len(table.columns))]
    return table._replace(columns=("label", "place", *table.columns[1:]), rows=rows)


def _ranking(board: FieldBoard) -> Table:
    """The table of a field: TrueSkill, episodes, mean score."""
    led = tuple(_title(board.market, name) for name in board.leading)
    columns = ("label", "rating", "rating 95 %", "episodes", "mean score", _INTERVAL, *led)
    rows = [
        (
            _label(row.label, row.privileged),
            f"{row.rating:.2f}",
            _interval(row.low, row.high, ".2f"),
            str(row.episodes),
            _short(row.score),
            _interval(row.score_low, row.score_high),
            *(_short(row.figures[name]) for name in board.leading),
        )
        for row in board.rows
    ]
    return Table("TrueSkill", columns, rows)


def _coverage(board: FieldBoard) -> Iterator[Table]:
    """On what the mean scores rest, where some seats' scores are estimates."""
    rows = [
        (row.label, f"{100 * row.scored:.0f} %", f"{100 * row.exact:.0f} %", _short(row.error))
        for row in board.rows
        if row.scored is not None and row.exact is not None
    ]
    if rows:
        title = f"Coverage of {_title(board.market, board.score)}"
        yield Table(title, ("label", "seats scored", "by solved keys", "mean error"), rows)


def _means(board: SoloBoard) -> Table:
    """The table of labels that play alone: mean score and headline."""
    score = _title(board.market, board.score)
    # Of another scenario than the headline's there would be two columns of dashes.
    known = bool(board.headline)
    columns = ("label", score, _INTERVAL, *(("headline", "headline 95 %") if known else ()), "seeds", "episodes")
    rows: list[tuple[str, ...]] = []
    for row in board.rows:
        headline = (_short(row.headline), _interval(row.headline_low, row.headline_high)) if known else ()
        mean = _hundredths(row.score), _interval(row.low, row.high, ".2f")
        rows.append((_label(row.label, row.privileged), *mean, *headline, str(row.seeds), str(row.episodes)))
    return Table(f"Mean {score}{', and headline' * known}", columns, rows)


def _best(board: SoloBoard) -> Table:
    """One row per model, as the source reports it: the framework with which it did best."""
    by_label = {row.label: row for row in board.rows}
    titles = [_title(board.market, name) for name in board.picked_by]
    columns = ("model", "best framework", "frameworks", *titles, _title(board.market, board.score), "headline")
    rows: list[tuple[str, ...]] = []
    for best in board.best:
        row = by_label[best.label]
        shown = map(_hundredths, (*(row.figures[name] for name in board.picked_by), row.score))
        rows.append((best.model, row.framework, str(best.frameworks), *shown, _short(row.headline)))
    return Table(f"Best framework per model, by {', then '.join(titles)}", columns, rows)


def _scores(board: DuelBoard) -> Table:
    """The table of duels by shares and score."""
    led = tuple(_title(board.market, name) for name in board.leading)
    columns = ("label", "score", _INTERVAL, *led, "games", "OBS", "raw", "blocks", "dead pairs")
    rows = [
        (
            _label(row.label, row.privileged),
            f"{row.score:.1f}",
            _interval(row.low, row.high, ".1f"),
            *(_short(row.figures[name]) for name in board.leading),
            str(row.games),
            _short(row.obs),
            _short(row.raw),
            str(row.blocks),
            str(row.dead_pairs),
        )
        for row in board.rows
    ]
    return Table("CMS-style score", columns, rows)


def _ratings(board: DuelBoard) -> Table:
    """The table of duels by Glicko-2 and Bradley–Terry."""
    columns = ("label", "Glicko-2", "Glicko-2 95 %", "Bradley–Terry", _INTERVAL)
    rows: list[tuple[str, ...]] = []
    # By its own rating: the first table has the order of scores already.
    for row in sorted(board.rows, key=lambda known: (-known.rating, known.label)):
        cells = [f"{row.rating:.0f}", _interval(*belief(row)[1:], ".0f")]
        cells.append("–" if row.strength is None else f"{row.strength:.0f}")
        cells.append(_interval(row.strength_low, row.strength_high, ".0f"))
        rows.append((row.label, *cells))
    return Table("Glicko-2 with margin, and Bradley–Terry", columns, rows)


def _figures(market: str, rows: Sequence[tuple[str, Mapping[str, float | None]]]) -> Iterator[Table]:
    """Means over games of the market's figures; nothing where no label has any."""
    # A figure that no label has would be a column of dashes.
    fields = [name for name in rows[0][1] if any(known[name] is not None for _, known in rows)]
    if fields:
        cells = [(label, *(_short(known[name]) for name in fields)) for label, known in rows]
        yield Table("Means over games", ("label", *(_title(market, name) for name in fields)), cells)


def _title(market: str, field: str) -> str:
    """The words above a column: of a seat's field, else of one of the market."""
    return heading_of(market, field, "seat" if figure_of(market, field) else "market")


def _meetings(board: DuelBoard) -> Table:
    """Every pair once, as it stands in the head-to-head matrix, with its games by the first one's role."""
    met = {(known.label, known.opponent): known.games for known in board.meetings}
    # Pairs with many games first: their differences say most.
    cells = sorted(board.head_to_head, key=lambda cell: (-cell.games, cell.row, cell.column))
    rows = [
        (
            f"{cell.row} – {cell.column}",
            f"{cell.mean:+.3f}",
            _interval(cell.low, cell.high, "+.3f"),
            " / ".join(str(count) for count in met[cell.row, cell.column].values()),
        )
        for cell in cells
    ]
    roles = " / ".join(board.meetings[0].games)
    return Table("Head to head", ("label – against", "difference", _INTERVAL, f"games as {roles}"), rows)


def _label(label: str, privileged: bool) -> str:
    """The label, marked where it knew what was private to others."""
    return f"{label} (privileged)" if privileged else label


def _interval(low: float | None, high: float | None, form: str = ".3f") -> str:
    """An interval as "low to high"; a dash where there is none."""
    return "–" if low is None or high is None else f"{_even(low):{form}} to {_even(high):{form}}"


def _hundredths(number: float | None) -> str:
    """A number to two decimals, whole ones without any; a dash where there is none."""
    return number_text(None if number is None else round(number, 2))


def _short(number: float | None) -> str:
    """A number to three decimals; a dash where there is none."""
    return "–" if number is None else f"{_even(number):.3f}"


def _even(number: float) -> float:
    """Never "-0.000"."""
    # Adding 0.0 turns −0.0, which rounding leaves of a small negative number, into 0.0.
    return round(number, 3) + 0.0
