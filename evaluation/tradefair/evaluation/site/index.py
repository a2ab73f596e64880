"""The pages of a site that rank: boards, comparisons of their pairs, the first page, tables as CSV."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from statistics import fmean

import orjson

from tradefair.contract import TradefairError
from tradefair.contract.money import dollars_text
from tradefair.evaluation.charts import draw_svg, table_csv
from tradefair.evaluation.compare.comparing import Options, compare_sides
from tradefair.evaluation.compare.runs import Side, load_files
from tradefair.evaluation.figures import common_figures, figures_of
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.ranking import leader_sentence
from tradefair.evaluation.ratings.rating import Board
from tradefair.evaluation.ratings.results import gathered, read_files
from tradefair.evaluation.ratings.tables import board_name, board_tables
from tradefair.evaluation.report.boards import boards_of
from tradefair.evaluation.report.comparison_figure import figure_of
from tradefair.evaluation.report.outputs import page_of
from tradefair.evaluation.report.page import html_page
from tradefair.evaluation.report.page_data import BoardPage, FigureRecord, PageData, SiteIndex, TablePage
from tradefair.evaluation.statistics.luck import luck_share
from tradefair.evaluation.table import Table
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.viewer.folder import Place
from tradefair.evaluation.viewer.index import Index
from tradefair.evaluation.viewer.listing import listing_of, ordered
from tradefair.evaluation.viewer.row import Row

MAX_ROWS = 800
"""Rows of one page of the list: with their verdicts below 1 MB."""
# Pairs of players of one scenario that get a page: of ten players there are 45.
_MAX_PAIRS = 12
# Series on the first page, and the episodes of one that its verdict is about.
_NEWEST, _MOST_SERIES = 3, 20

Played = Sequence[tuple[Place, Row]]


def ranked_pages(
    known: Index, title: str, played: Played, left_out: Sequence[tuple[str, str]], drawn: bool
) -> Mapping[str, bytes]:
    """Boards, pairs, tables and the first page of a site, as contents by path. `drawn`: charts as SVG files too."""
    boards = list(_boards(played))
    pairs = list(_pairs(played))
    files: dict[str, bytes] = {}
    for slug, board, page in boards:
        files[f"boards/{slug}.html"] = _linked(
            PageData(mode="boards", version=version("tradefair"), boards=[page], folder=board.scenario)
        )
        for number, table in enumerate(board_tables(board), 1):
            files[f"data/{slug}-{number}.csv"] = table_csv(table)
        for chart in page.charts if drawn else ():
            files[f"figures/{slug}-{chart.id}.svg"] = draw_svg(chart)
    files |= {f"pair/{slug}.html": _linked(page) for slug, _, page in pairs}
    files["data/episodes.csv"] = table_csv(_episodes([row for _, row in played]))
    index = SiteIndex(
        title=title,
        newest=_newest(known, played),
        boards=[(board_name(board), leader_sentence(board), f"boards/{slug}.html") for slug, board, _ in boards],
        pairs=[(name, f"pair/{slug}.html") for slug, name, _ in pairs],
        parts=[],
        files=[(path, path) for path in files if path.startswith(("data/", "figures/"))],
        left_out=list(left_out),
    )
    return files | dict(_lists(index, [row for _, row in played]))


def glossary(markets: Sequence[str]) -> PageData:
    """What every figure of these markets is: title, formula, unit, when it is null, which direction is better."""
    tables: list[TablePage] = []
    for name, known in (("every market", common_figures()), *((market, figures_of(market)) for market in markets)):
        for part in ("episode", "market", "seat", "relative"):
            rows = [
                [figure.title, figure.formula, figure.unit, figure.null, figure.better]
                for figure in getattr(known, part).values()
            ]
            if rows:
                columns = ["figure", "formula", "unit", "null when", "better"]
                tables.append(TablePage(title=f"{name.replace('_', ' ')}: {part}", columns=columns, rows=rows))
    record = FigureRecord(title="Figures", verdict=None, charts=[], tables=tables, notes=[], method="")
    return PageData(mode="figure", version=version("tradefair"), figure=record)


def _boards(played: Played) -> Iterator[tuple[str, Board, BoardPage]]:
    """(name of the file, board, page) of each leaderboard with games."""
    # Whoever sorted them out has re-executed each.
    results = gathered(read_files([place.path for place, _ in played]))._replace(proven=True)
    made = leaderboards(results)
    met: dict[str, int] = defaultdict(int)
    for board, page in zip(made.boards, boards_of(made).pages, strict=True):
        if not board.rows:
            continue
        stem = _slug(board.scenario)
        met[stem] += 1
        rows = [row for _, row in played if (row.market, row.scenario) == (board.market, board.scenario)]
        behind = _behind(rows)
        tables = [*page.tables, *([behind] if behind.rows else [])]
        slug = stem if met[stem] == 1 else f"{stem}-{met[stem]}"
        yield slug, board, page.model_copy(update={"tables": tables})


def _behind_player(player: str, games: Sequence[Row], idle: Collection[tuple[int | None, str]]) -> list[str]:
    """The row of one player; `idle` are (seed, seats) with which there was nothing to win."""
    judged = [(game.seed, game.judged) for game in games if game.judged is not None]
    reproduced = sum(known.check == "reproduced" for _, known in judged)
    scores: dict[int | None, list[float]] = defaultdict(list)
    for seed, known in judged:
        if known.score is not None:
            scores[seed].append(known.score)
    luck = luck_share(list(scores.values()))
    played = {(game.seed, ", ".join(game.seats)) for game in games}
    return [
        player,
        f"{reproduced} of {len(games)} reproduced",
        _cost_text([known.cost_usd_micro for _, known in judged]),
        f"{len(played.difference(idle))} of {len(played)}",
        "–" if luck is None else f"{luck.share:.2f} ({luck.low:.2f} to {luck.high:.2f})",
    ]


def _cost_text(costs: Sequence[int | None]) -> str:
    paid = [cost for cost in costs if cost is not None]
    if len(paid) < len(costs):
        return "unknown"
    return dollars_text(fmean(paid), 4) if any(paid) else "none"


def _behind(rows: Sequence[Row]) -> TablePage:
    """What a board's ranks rest on, by player under test: checks, money, luck. Re-execution cannot name the model."""
    of: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.seats:
            of[", ".join(row.players)].append(row)
    seeds: dict[tuple[int | None, str], list[float | None]] = defaultdict(list)
    for row in rows:
        seeds[row.seed, ", ".join(row.seats)].append(row.judged.at_stake if row.judged else None)
    # Where no player could win anything the seed tells none of them apart; unknown counts as something.
    idle = {key for key, stakes in seeds.items() if all(stake == 0 for stake in stakes)}
    cells = [_behind_player(player, games, idle) for player, games in sorted(of.items())]
    columns = ["played by", "check", "cost per game", "seeds with something to win", "luck share"]
    title = "What the ranks rest on (which model answered, re-execution cannot prove)"
    return TablePage(title=title, columns=columns, rows=cells)


def _pairs(played: Played) -> Iterator[tuple[str, str, PageData]]:
    """(name of the file, title, page) of comparisons between players of one scenario on common seeds."""
    groups: dict[tuple[str, str], dict[str, list[tuple[Place, Row]]]] = defaultdict(lambda: defaultdict(list))
    for place, row in played:
        if row.seats and row.sealed:
            groups[row.market, row.scenario][", ".join(row.players)].append((place, row))
    for (_, scenario), players in sorted(groups.items()):
        common = [
            (a, b)
            for a, b in combinations(sorted(players), 2)
            if len({row.seed for _, row in players[a]} & {row.seed for _, row in players[b]}) > 1
        ][:_MAX_PAIRS]
        # Each player's episodes are read once, however many comparisons it is in.
        sides = {
            player: _side([place.path for place, _ in players[player]])
            for player in sorted({player for pair in common for player in pair})
        }
        for a, b in common:
            page = _pair(sides[a], sides[b])
            if page is not None:
                yield f"{_slug(scenario)}--{_slug(a)}~{_slug(b)}", f"{scenario}: {b} against {a}", page


def _side(paths: Sequence[Path]) -> Side:
    return load_files(Path(os.path.commonpath([path.parent for path in paths])), paths)


def _pair(a: Side, b: Side) -> PageData | None:
    try:
        return page_of(figure_of(compare_sides(a, b, Options())))
    # Games that form no pair, such as those of two seats: there is nothing to show, and the boards stand.
    except TradefairError:
        return None


def _lists(index: SiteIndex, rows: Sequence[Row]) -> Mapping[str, bytes]:
    """The first page and those that go on with its list; the same rows as JSON."""
    newest_first = ordered(rows, "when", down=True)
    parts = [newest_first[start : start + MAX_ROWS] for start in range(0, max(1, len(rows)), MAX_ROWS)]
    names = ["index", *(f"index-{number}" for number in range(2, len(parts) + 1))]
    links = [(f"{number}", f"{name}.html") for number, name in enumerate(names, 1)] if len(parts) > 1 else []
    files: dict[str, bytes] = {}
    for name, part in zip(names, parts, strict=True):
        listing = listing_of(part, limit=MAX_ROWS).model_dump(mode="json")
        record = index.model_copy(update={"parts": links})
        data = PageData(mode="list", version=version("tradefair"), listing=listing, site=record, folder=index.title)
        files[f"{name}.html"] = html_page(data, shared="assets/")
        files[f"{name}.json"] = orjson.dumps({"title": index.title, "episodes": listing["rows"]}) + b"\n"
    return files


def _newest(known: Index, played: Played) -> list[tuple[str, str, str]]:
    """(what, verdict, address) of the newest series, one a scenario and player, at most three."""
    found = {_series(row): row for row in sorted((row for _, row in played), key=lambda row: (row.created, row.id))}
    newest = sorted(found.values(), key=lambda row: (row.created, row.id), reverse=True)[:_NEWEST]
    return [_said(known, [pair for pair in played if _series(pair[1]) == _series(row)], row) for row in newest]


def _series(row: Row) -> tuple[str, tuple[str, ...]]:
    return row.scenario, tuple(row.players)


def _said(known: Index, played: Played, newest: Row) -> tuple[str, str, str]:
    """The verdict on the newest episodes of one player in one scenario, and the address of the last of them."""
    places = [place for place, _ in sorted(played, key=lambda pair: (pair[1].created, pair[1].id))[-_MOST_SERIES:]]
    if len(places) == 1:
        text = newest.judged.text if newest.judged else ""
    else:
        text = verdict_of_series([verdict_of_file(place.path, check=known.check(place)) for place in places]).text
    shown = "1 episode" if len(places) == 1 else f"{len(places)} episodes"
    return f"{newest.scenario}, {shown}", text, f"episode/{newest.id}.html"


def _episodes(rows: Sequence[Row]) -> Table:
    """Every episode as a row of text."""
    columns = ("episode", "scenario", "seed", "seat", "played by", "score", "unit", "findings", "calls", "usd", "check")
    return Table("Episodes", columns, [_cells(row) for row in rows])


def _cells(row: Row) -> tuple[str, ...]:
    judged = row.judged
    place = row.id, row.scenario, _text(row.seed), " ".join(row.seats), ", ".join(row.players)
    if judged is None:
        return (*place, "", "", "", "", "", "")
    cost = "" if judged.cost_usd_micro is None else f"{judged.cost_usd_micro / 1e6:.6f}"
    return (*place, _text(judged.score), judged.unit, _text(judged.raised), _text(judged.calls), cost, judged.check)


def _text(value: float | None) -> str:
    return "" if value is None else f"{value:.10g}"


def _linked(data: PageData) -> bytes:
    return html_page(data, shared="../assets/", home="../index.html")


def _slug(text: str) -> str:
    """A name for a file, of letters that every file system and address takes."""
    plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in text.lower())
    return "-".join(part for part in plain.split("-") if part)[:60] or "unnamed"
