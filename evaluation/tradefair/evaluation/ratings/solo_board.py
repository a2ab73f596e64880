"""The leaderboard of labels that meet nobody: the mean score, the market's headline, the best framework per model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from tradefair.catalog import load_scenario
from tradefair.contract import Chance, ScenarioError
from tradefair.contract.policy import parse_policy
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.headline import Block, Headline, HeadlineFigure, headline_of
from tradefair.evaluation.modes.base_rates import scenario_key
from tradefair.evaluation.outcome import RatingRules
from tradefair.evaluation.ratings.duels import LEAST_BLOCKS, RESAMPLES
from tradefair.evaluation.ratings.field_board import by_label, figures_by_label, first_known, known_games, means_of
from tradefair.evaluation.ratings.rating import BestFramework, BoardHead, Reasons, SoloBoard, SoloRow, too_few
from tradefair.evaluation.ratings.results import GameResult, SeatResult, seat_fields
from tradefair.evaluation.read.arithmetic import closeness

_Scores = Mapping[str, Mapping[int, float]]
"""Mean score by label and seed."""


def solo_board(
    head: BoardHead,
    rules: RatingRules,
    games: Sequence[GameResult],
    left_out: Reasons,
    chance: Chance,
    scenario: Mapping[str, Any],
    score: str | None = None,
) -> SoloBoard:
    """List usable games of one label each, of one group, whose `scenario` is what they share.

    By `score`, or the first of the rules' scores that any game knows; a game with an unknown score is left out.
    """
    by = score or first_known(rules, games)
    place = seat_fields(rules).index(by)
    counted = _with_closeness(rules, known_games(games, place, by, left_out), evaluator_of(head.market).closeness)
    scores = _scores(counted, place)
    alone = rules.kind == "solo"
    headline = _headline(head.market, by, scenario) if alone else None
    known = _headlines(headline, scores, counted) if headline else {}
    rows = _rows(rules, counted, scores, known, chance)
    return SoloBoard(
        **head._asdict(),
        games=len(counted),
        method=_method(by, headline),
        cautions=_cautions(rows, scores, headline),
        left_out=left_out.listed(),
        score=by,
        headline=_words(headline) if headline else "",
        picked_by=list(rules.picked_by),
        rows=rows,
        best=_best(rules, rows) if alone else [],
        met=alone,
    )


def _with_closeness(rules: RatingRules, games: list[GameResult], scaled: Mapping[str, str]) -> list[GameResult]:
    """The games with the figures that need all runs of a leaderboard."""
    fields = seat_fields(rules)
    for name, cost in scaled.items():
        found = closeness([game.seats[0].numbers[fields.index(cost)] for game in games])
        told: list[GameResult] = []
        for game, value in zip(games, found, strict=True):
            (seat,) = game.seats
            numbers = (value if field == name else number for field, number in zip(fields, seat.numbers, strict=True))
            told.append(game._replace(seats=(seat._replace(numbers=tuple(numbers)),)))
        games = told
    return games


def _scores(games: Sequence[GameResult], place: int) -> _Scores:
    """Episodes of one seed share their luck: they count as one."""
    found: dict[str, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for game in games:
        for label, score in by_label(game, place).items():
            found[label][game.seed].append(score)
    return {label: {seed: fmean(same) for seed, same in by_seed.items()} for label, by_seed in found.items()}


def _rows(
    rules: RatingRules,
    games: Sequence[GameResult],
    scores: _Scores,
    headlines: Mapping[str, HeadlineFigure],
    chance: Chance,
) -> list[SoloRow]:
    """A row per label, the highest mean first."""
    seeds = sorted({seed for by_seed in scores.values() for seed in by_seed})
    blocks = [{label: known[seed] for label, known in scores.items() if seed in known} for seed in seeds]
    means = means_of(blocks, seeds, chance)
    figures = figures_by_label(rules, games)
    seats: dict[str, list[SeatResult]] = defaultdict(list)
    for game in games:
        seats[game.seats[0].label].append(game.seats[0])
    rows: list[SoloRow] = []
    for label, own in seats.items():
        figure, mean = headlines.get(label), means[label]
        rows.append(
            SoloRow(
                label=label,
                framework=_only(seat.framework for seat in own),
                model=_only(seat.model for seat in own),
                score=mean.value,
                low=mean.low,
                high=mean.high,
                headline=figure and figure.value,
                headline_low=figure and figure.low,
                headline_high=figure and figure.high,
                headline_seeds=figure.seeds if figure else 0,
                seeds=len(scores[label]),
                episodes=len(own),
                figures=figures[label],
                privileged=any(seat.privileged for seat in own),
            )
        )
    return sorted(rows, key=lambda row: (-row.score, row.label))


def _only(names: Iterable[str]) -> str:
    """The one name that all have; "" where they differ."""
    found = set(names)
    return found.pop() if len(found) == 1 else ""


# --- the headline ---------------------------------------------------------------------------------------------------


def _headline(market: str, by: str, scenario: Mapping[str, Any]) -> Headline | None:
    """The market's headline, where it is of this score and this scenario is its preset, unchanged."""
    known = evaluator_of(market).headline
    if known is None or known.metric != by:
        return None
    preset = load_scenario(market, known.preset).model_dump(mode="json")
    return known if scenario_key(scenario) == scenario_key(preset) else None


def _headlines(headline: Headline, scores: _Scores, games: Sequence[GameResult]) -> dict[str, HeadlineFigure]:
    """The headline of every label, over the seeds on which both references are among the games."""
    played = {game.seats[0].label: _policy(game.seats[0]) for game in games}
    naive, best = (
        {seed: score for label, known in scores.items() if played[label] == name for seed, score in known.items()}
        for name in (headline.naive, headline.best)
    )
    found: dict[str, HeadlineFigure] = {}
    for label, known in scores.items():
        seeds = known.keys() & naive.keys() & best.keys()
        if seeds:
            found[label] = headline_of(headline, {seed: Block(known[seed], naive[seed], best[seed]) for seed in seeds})
    return found


def _policy(seat: SeatResult) -> str:
    """The name of the policy that played, without its arguments; "" for an agent."""
    try:
        return parse_policy(seat.policy)[0] if seat.policy else ""
    # What a manifest says is no mistake of the reader.
    except ScenarioError:
        return ""


def _words(headline: Headline) -> str:
    return (
        f"version {headline.version}: 0 is {headline.naive}, 1 is {headline.best}, {headline.metric} on the same seeds"
    )


# --- the best framework of a model ------------------------------------------------------------------------------------


def _best(rules: RatingRules, rows: Sequence[SoloRow]) -> list[BestFramework]:
    """For every model the label with the best means of `picked_by`; the models in the order of the rows."""
    labels: dict[str, list[SoloRow]] = defaultdict(list)
    for row in rows:
        if row.model and row.framework:
            labels[row.model].append(row)
    found: list[BestFramework] = []
    for model, own in labels.items():
        # `max` keeps the first of equal ones, and rows come by score.
        row = max(own, key=lambda row: [_least(row.figures[name]) for name in rules.picked_by])
        frameworks = len({row.framework for row in own})
        found.append(BestFramework(model=model, label=row.label, frameworks=frameworks))
    return found


def _least(value: float | None) -> float:
    """An unknown figure is worse than any known one."""
    return float("-inf") if value is None else value


# --- what stands below the numbers ------------------------------------------------------------------------------------


def _method(by: str, headline: Headline | None) -> list[str]:
    said = [
        f"score: mean {by} over seeds, episodes of one seed counting as one; 95 % interval of {RESAMPLES:,} "
        "resamples of seeds, the same for all labels"
    ]
    return [*said, f"headline {_words(headline)}; its interval is over seeds"] if headline else said


def _cautions(rows: Sequence[SoloRow], scores: _Scores, headline: Headline | None) -> list[str]:
    few = [row.label for row in rows if row.seeds < LEAST_BLOCKS]
    found = [too_few(few, len(rows), f"{LEAST_BLOCKS} seeds")] if few else []
    if len({frozenset(known) for known in scores.values()}) > 1:
        found.append("labels were played on different seeds: their means differ by luck too")
    if headline and any(row.headline_seeds < row.seeds for row in rows):
        found.append(
            f"headline: {headline.naive} and {headline.best} are not here on every seed; play both into this "
            "folder, or let tradefair rate --by headline replay them"
        )
    return found
