"""The boards of an arena: entries that were accepted, ranked on the same seeds, and what was refused beside them."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from tradefair.evaluation.arena.check import Checked, Game
from tradefair.evaluation.arena.terms import Arena, Setting
from tradefair.evaluation.charts import Axis, Chart, IntervalChart
from tradefair.evaluation.compare.metric_tables import metric_title
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.headline import Block, Headline, HeadlineFigure, headline_of
from tradefair.evaluation.outcome import PrimaryMetric
from tradefair.evaluation.prove.proving import ONCE_MORE
from tradefair.evaluation.ratings.leader import Lead, Placed, lead_sentence, leader
from tradefair.evaluation.report.outputs import FigurePage, write
from tradefair.evaluation.statistics import pass_hat_k, percentile, resamples
from tradefair.evaluation.statistics.luck import LuckShare, luck_share
from tradefair.evaluation.table import Table, number_text
from tradefair.evaluation.verdict.amounts import amount, count, name
from tradefair.evaluation.verdict.verdict import Verdict
from tradefair.evaluation.verdict.words import fitted

_MICRO = 1_000_000
_UNPROVEN = "Re-execution proves what was played, and cannot prove which model answered."
_METHOD = (
    "Every trace was re-executed, every rival's policy played again; a game counts once under however many keys. "
    "Entries play the same seeds in the same seat against the same opponents. Mean: over seeds, games of one seed "
    "counting once; interval: 2.5 to 97.5 percentile of 10,000 keyed resamples of seeds, the "
    "same for all. Headline: 0 is the naive reference and 1 the best known one, where both have an entry. pass^k: the "
    "chance that k games of a seed all score above 0 and run their course. Luck share: the seed's part of the variance "
    "of scores, from 8 seeds with 2 games each on."
)


class Standing(NamedTuple):
    """One entry on a board. `low` and `high` bound the mean at 95 %, null for one seed; cost in US dollars a game.

    `luck` is the seed's share of the variance of its scores, null below 8 seeds with 2 games each.
    """

    label: str
    kind: str
    games: int
    mean: float
    low: float | None
    high: float | None
    headline: HeadlineFigure | None
    passed: Mapping[int, float]
    luck: LuckShare | None
    cost: float | None
    model_calls: float


class ArenaBoard(NamedTuple):
    """The standings of one scenario under one version of rules and evaluator, best first."""

    setting: Setting
    metric: PrimaryMetric
    rows: Sequence[Standing]


def boards_of_arena(arena: Arena, entries: Sequence[Checked]) -> list[ArenaBoard]:
    """A board per scenario of the arena; entries that were refused are on none."""
    accepted = [checked for checked in entries if checked.accepted]
    return [_board(setting, arena, accepted) for setting in arena.scenarios]


def build_arena(arena: Arena, entries: Sequence[Checked], folder: Path) -> list[Path]:
    """Write `index.html` and per board a page, CSV, LaTeX and JSON: the same bytes for the same entries.

    Raises StorageUnavailable.
    """
    boards = boards_of_arena(arena, entries)
    written = [write(_page(arena, boards, entries), folder / "index.html").path]
    for number_, board in enumerate(boards, 1):
        page = _page(arena, [board], entries)
        # Without an accepted entry there is no table to write.
        for suffix in ("html", "csv", "tex", "json") if board.rows else ("html", "json"):
            written.append(write(page, folder / "boards" / f"{number_}.{suffix}").path)
    return written


def _board(setting: Setting, arena: Arena, entries: Sequence[Checked]) -> ArenaBoard:
    evaluator = evaluator_of(setting.id.partition("/")[0])
    metric = evaluator.primary_metrics[0]
    games = {place: _once(game for game in checked.games if game.digest == setting.digest) for place, checked in
             enumerate(entries)}  # fmt: skip
    known_scores = [game.score for own in games.values() for game in own if game.score is not None]
    # An undefined score counts as the worst that was seen: leaving it out would flatter who has it.
    worst = (min if metric.higher_is_better else max)(known_scores, default=0.0)
    seeds = {
        place: {seed: fmean(scores) for seed, scores in _by_seed(own, worst).items()} for place, own in games.items()
    }
    by_policy = {own[0].agent.policy: seeds[place] for place, own in games.items() if own and own[0].agent.policy}
    rows: list[Standing] = []
    for place, own in games.items():
        if not seeds[place]:
            continue
        low, high = _interval(list(seeds[place].values()))
        rows.append(
            Standing(
                label=own[0].agent.label,
                kind=own[0].kind,
                games=len(own),
                mean=round(fmean(seeds[place].values()), 9),
                low=low,
                high=high,
                headline=_headline(evaluator.headline, metric.name, seeds[place], by_policy),
                passed=_passed(own, arena.games),
                luck=luck_share([*_by_seed(own, worst).values()]),
                cost=_cost(own),
                model_calls=round(fmean(game.model_calls for game in own), 9),
            )
        )
    sign = -1 if metric.higher_is_better else 1
    return ArenaBoard(setting, metric, sorted(rows, key=lambda row: (sign * row.mean, row.label)))


def _once(games: Iterable[Game]) -> list[Game]:
    """Each game once: one that was played alike under several keys says no more than under one."""
    return [*{game.moves: game for game in sorted(games, key=lambda game: -game.key)}.values()]


def _cost(games: Sequence[Game]) -> float | None:
    """US dollars a game, if they are known of all."""
    spent = [game.cost_usd_micro for game in games if game.cost_usd_micro is not None]
    return round(fmean(spent) / _MICRO, 9) if len(spent) == len(games) else None


def _headline(
    known: Headline | None, metric: str, scores: Mapping[int, float], by_policy: Mapping[str, Mapping[int, float]]
) -> HeadlineFigure | None:
    """Where scores lie between those of the two references, if these have entries of their own."""
    # Anybody may enter the references: they are policies, and what they play is re-executed like all else.
    if not known or known.metric != metric or not {known.naive, known.best} <= by_policy.keys():
        return None
    naive, best = by_policy[known.naive], by_policy[known.best]
    both = [seed for seed in scores if seed in naive and seed in best]
    return headline_of(known, {seed: Block(scores[seed], naive[seed], best[seed]) for seed in both})


def _by_seed(games: Sequence[Game], worst: float) -> dict[int, list[float]]:
    """The scores of each seed; games of one seed share their luck, and count once."""
    found: dict[int, list[float]] = defaultdict(list)
    for game in sorted(games, key=lambda game: (game.seed, game.key)):
        found[game.seed].append(worst if game.score is None else game.score)
    return found


def _interval(scores: Sequence[float]) -> tuple[float | None, float | None]:
    """95 % of the mean over resampled seeds; the same draws for every entry with as many seeds."""
    if len(scores) < 2:
        return None, None
    means = np.array(scores)[resamples("tradefair.arena/1", "seeds", len(scores))].mean(axis=1).tolist()
    low, high = percentile(means, 0.025), percentile(means, 0.975)
    return (None if low is None else round(low, 9)), (None if high is None else round(high, 9))


def _passed(games: Sequence[Game], most: int) -> dict[int, float]:
    """pass^k for k = 1, 2, 4, … up to the games of a seed: the mean over seeds."""
    tries: dict[int, list[bool]] = defaultdict(list)
    for game in games:
        tries[game.seed].append(game.score is not None and game.score > 0 and not game.early)
    found: dict[int, float] = {}
    k = 1
    while k <= most:
        chances = [chance for won in tries.values() if (chance := pass_hat_k(sum(won), len(won), k)) is not None]
        found |= {k: round(math.fsum(chances) / len(chances), 9)} if chances else {}
        k *= 2
    return found


# --- pages ----------------------------------------------------------------------------------------------------------


def _page(arena: Arena, boards: Sequence[ArenaBoard], entries: Sequence[Checked]) -> FigurePage:
    ranked = [board for board in boards if board.rows]
    refused = [checked for checked in entries if not checked.accepted]
    copies = sum(len(checked.games) - len(_once(checked.games)) for checked in entries if checked.accepted)
    notes = [_UNPROVEN, *([f"left out: {copies} ({ONCE_MORE})"] if copies else [])]
    notes += [f"{name(checked.name)}: {warning}" for checked in entries for warning in checked.warnings]
    notes += [
        f"refused: {name(checked.name)}, {checked.refusals[0].code}: {checked.refusals[0].sentence}"
        for checked in refused
        if checked.refusals
    ]
    dates = " to ".join(filter(None, [arena.opens, arena.closes]))
    return FigurePage(
        title=arena.name + (f", {dates}" if dates else ""),
        verdict=_verdict(arena, boards, len(refused)),
        charts=[_chart(place, board) for place, board in enumerate(ranked)],
        tables=[_table(board) for board in ranked],
        notes=notes,
        method=_METHOD,
        data={
            "arena": arena.model_dump(mode="json"),
            "boards": [_data(board) for board in boards],
            "refused": [
                {"entry": checked.name, "refusals": [refusal._asdict() for refusal in checked.refusals]}
                for checked in refused
            ],
        },
        command="tradefair arena build",
    )


def _verdict(arena: Arena, boards: Sequence[ArenaBoard], refused: int) -> Verdict:
    said = [
        lead_sentence(
            _placed(board),
            name(board.setting.id),
            metric_title(board.setting.id.partition("/")[0], board.metric.name),
            lambda value, unit=board.metric.unit or "": amount(value, unit),
            higher=board.metric.higher_is_better,
        )
        for board in boards[:2]
        if board.rows
    ] or ["No entry was accepted."]
    more = f"; {count(refused, 'entry').replace('entrys', 'entries')} refused" if refused else ""
    ranked = len({row.label for board in boards for row in board.rows})
    said.append(f"{count(ranked, 'agent')} ranked, every game reproduced{more}.")
    return Verdict(
        kind="ranking",
        status="played" if ranked else "failed",
        market=", ".join(dict.fromkeys(board.setting.id.partition("/")[0] for board in boards)),
        scenario=", ".join(board.setting.id for board in boards),
        versions={"rules": boards[0].setting.rules, "evaluator": boards[0].setting.evaluator},
    ).saying(map(fitted, said))


def _placed(board: ArenaBoard) -> list[Placed]:
    return [Placed(row.label, row.mean, row.low, row.high, row.games) for row in board.rows]


def _chart(place: int, board: ArenaBoard) -> Chart:
    rows = board.rows
    return IntervalChart(
        id=f"board_{place}",
        title=f"{board.setting.id}: {metric_title(board.setting.id.partition('/')[0], board.metric.name)} a game",
        note="Lines are 95 % intervals over resampled seeds.",
        x=Axis(label="mean a game", unit=board.metric.unit or ""),
        y=Axis(label="agent"),
        names=[row.label for row in rows],
        values=[row.mean for row in rows],
        lows=[row.low for row in rows],
        highs=[row.high for row in rows],
    )


def _table(board: ArenaBoard) -> Table:
    ks = sorted({k for row in board.rows for k in row.passed})
    lucky = any(row.luck for row in board.rows)
    columns = ["agent", "played by", "games", "mean", "95 % from", "95 % to", "headline", "US$ a game", "model calls"]
    rows = [
        [
            row.label,
            row.kind,
            str(row.games),
            *(number_text(value) for value in (row.mean, row.low, row.high)),
            number_text(None if row.headline is None or row.headline.value is None else round(row.headline.value, 3)),
            number_text(row.cost),
            number_text(row.model_calls),
            *(number_text(row.passed.get(k)) for k in ks),
            *([number_text(round(row.luck.share, 3) if row.luck else None)] if lucky else []),
        ]
        for row in board.rows
    ]
    setting = board.setting
    title = f"{setting.id}, rules {setting.rules}, evaluator {setting.evaluator}"
    return Table(title, [*columns, *(f"pass^{k}" for k in ks), *(["luck share"] if lucky else [])], rows)


def _data(board: ArenaBoard) -> dict[str, Any]:
    rows = [
        {
            **row._asdict(),
            "headline": row.headline.model_dump() if row.headline else None,
            "passed": {str(k): chance for k, chance in row.passed.items()},
            "luck": row.luck._asdict() if row.luck else None,
        }
        for row in board.rows
    ]
    lead = leader(_placed(board), higher=board.metric.higher_is_better) if board.rows else Lead(None)
    return {**board.setting.model_dump(), "metric": board.metric.name, **lead._asdict(), "rows": rows}
