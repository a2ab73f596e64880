"""The leaderboard of episodes that rank all their labels at once: TrueSkill, and mean scores over seeds."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

import numpy as np

from tradefair.contract import Chance
from tradefair.evaluation.figures import heading_of
from tradefair.evaluation.outcome import RatingRules
from tradefair.evaluation.ratings.duels import LEAST_BLOCKS, RESAMPLES
from tradefair.evaluation.ratings.rating import BoardHead, FieldBoard, FieldRow, Reasons, too_few
from tradefair.evaluation.ratings.results import GameResult, SeatResult, block_of, seat_fields
from tradefair.evaluation.ratings.shuffles import Floats, bounds, resampled_sums
from tradefair.evaluation.ratings.trueskill import Constants, rate_episodes
from tradefair.evaluation.read.arithmetic import mean

# So many shuffled orders: enough for medians that hold still.
PASSES = 200


def field_board(
    head: BoardHead,
    rules: RatingRules,
    games: Sequence[GameResult],
    left_out: Reasons,
    chance: Chance,
    score: str | None,
) -> FieldBoard:
    """Rate usable games of one group by `score`, or by the first of the rules' scores that any of them knows."""
    by = score or first_known(rules, games)
    place = seat_fields(rules).index(by)
    # Where one label is known, a game ranks nothing and still enters its mean score.
    counted = known_games(games, place, heading_of(head.market, by), left_out)
    ranked = [by_label(game, place) for game in counted]
    figures = figures_by_label(rules, counted)
    blocks = [block_of(game) for game in counted]
    means = means_of(ranked, blocks, chance)
    covered = coverage(rules, counted, by) if by in rules.errors else {}
    for label, known in covered.items():
        if label in means:
            means[label] = means[label].widened(known.error)
    # In one game is enough: hidden knowledge there moves the mean over all.
    privileged = {seat.label for game in counted for seat in game.seats if seat.privileged}
    rows = [
        FieldRow(
            label=rating.label,
            rating=rating.mean,
            deviation=rating.deviation,
            low=rating.low,
            high=rating.high,
            episodes=rating.episodes,
            scored=covered[rating.label].scored if covered else None,
            exact=covered[rating.label].exact if covered else None,
            error=covered[rating.label].error if covered else None,
            score=means[rating.label].value,
            score_low=means[rating.label].low,
            score_high=means[rating.label].high,
            figures=figures[rating.label],
            privileged=rating.label in privileged,
        )
        for rating in rate_episodes(ranked, chance, blocks=blocks, passes=PASSES)
    ]
    return FieldBoard(
        **head._asdict(),
        games=len(counted),
        method=_method(head.market, by, rules, chosen=score is not None),
        cautions=_cautions(head.market, by, rules, rows, counted),
        left_out=left_out.listed(),
        score=by,
        passes=PASSES,
        rows=rows,
    )


def first_known(rules: RatingRules, games: Sequence[GameResult]) -> str:
    """The first of the rules' scores that some seat has; the default where none has any."""
    # Scores are the first fields of a seat's numbers (`seat_fields`), so both have the same index.
    for place, name in enumerate(rules.scores):
        if any(seat.numbers[place] is not None for game in games for seat in game.seats):
            return name
    return rules.scores[0]


def known_games(games: Sequence[GameResult], place: int, score: str, left_out: Reasons) -> list[GameResult]:
    """Games in which some seat has number `place`, which is called `score`; the others go into `left_out`."""
    known: list[GameResult] = []
    for game in games:
        if by_label(game, place):
            known.append(game)
        else:
            left_out.add(f"{score} is not known", game.path)
    return known


def by_label(game: GameResult, place: int) -> dict[str, float]:
    """The mean over a label's seats; labels of which nothing is known are absent.

    `place` is the index of the number among those of a seat.
    """
    values: dict[str, list[float]] = defaultdict(list)
    for seat in game.seats:
        number = seat.numbers[place]
        if number is not None:
            values[seat.label].append(number)
    return {label: found for label, numbers in values.items() if (found := mean(numbers)) is not None}


def figures_by_label(rules: RatingRules, games: Sequence[GameResult]) -> dict[str, dict[str, float | None]]:
    """By label, means over its games; of the market's figures those of the games in which it played."""
    fields = seat_fields(rules)
    places = [(name, fields.index(name)) for name in rules.seat_figures]
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    labels: dict[str, None] = {}
    for game in games:
        # A label on several seats of a game counts the market's figures once.
        seated = dict.fromkeys(seat.label for seat in game.seats)
        labels |= seated
        for name, place in places:
            for label, number in by_label(game, place).items():
                values[label][name].append(number)
        for name, number in zip(rules.market_figures, game.figures, strict=True):
            if number is not None:
                for label in seated:
                    values[label][name].append(number)
    names = (*rules.seat_figures, *rules.market_figures)
    return {label: {name: mean(values[label][name]) for name in names} for label in labels}


class Mean(NamedTuple):
    """A mean score and the ends of its 95 % interval, None where there is one block."""

    value: float
    low: float | None
    high: float | None

    def widened(self, error: float) -> Mean:
        """With an interval that is longer on both sides, where there is one."""
        if self.low is None or self.high is None:
            return self
        return self._replace(low=self.low - error, high=self.high + error)


class Coverage(NamedTuple):
    """How many of so many seats have a score, how many an exact one, and the expected errors of the others' scores."""

    seats: int
    known: int
    errors: list[float]

    @property
    def scored(self) -> float:
        """Share of the seats with a score."""
        return self.known / self.seats

    @property
    def exact(self) -> float:
        """Share of the seats with an exact score."""
        return (self.known - len(self.errors)) / self.seats

    @property
    def error(self) -> float:
        """Mean expected error of a seat with a score; those of a label may all have one sign."""
        return math.fsum(self.errors) / max(1, self.known)


def coverage(rules: RatingRules, games: Sequence[GameResult], score: str) -> dict[str, Coverage]:
    """By label, what its seats have of a score that is estimated for some."""
    fields = seat_fields(rules)
    place, beside = fields.index(score), fields.index(rules.errors[score])
    seats: dict[str, list[SeatResult]] = defaultdict(list)
    for game in games:
        for seat in game.seats:
            seats[seat.label].append(seat)
    errors = {
        label: [seat.numbers[beside] for seat in of if seat.numbers[place] is not None] for label, of in seats.items()
    }
    return {
        label: Coverage(len(seats[label]), len(known), [error for error in known if error])
        for label, known in errors.items()
    }


def means_of(ranked: Sequence[Mapping[str, float]], blocks: Sequence[int | str], chance: Chance) -> dict[str, Mean]:
    """Mean score of each label over its episodes, and its 95 % interval over resamples of blocks, such as seeds.

    `ranked` has the scores of one game by label, `blocks` what it shares its luck with.
    """
    labels = {label: place for place, label in enumerate(dict.fromkeys(key for scores in ranked for key in scores))}
    if not labels:
        return {}
    known = {block: place for place, block in enumerate(dict.fromkeys(blocks))}
    # Scores and counts: one product per resample sums both.
    table: Floats = np.zeros((len(known), 2, len(labels)))
    for scores, block in zip(ranked, blocks, strict=True):
        for label, score in scores.items():
            table[known[block], :, labels[label]] += score, 1.0
    # One set of resamples for all labels, so that they are compared over the same games.
    sums = resampled_sums(chance, "tournament", table.reshape(len(known), -1), RESAMPLES, "games")
    totals, counts = sums[:, : len(labels)], sums[:, len(labels) :]
    # A resample may miss a label altogether; it says nothing of it.
    means = totals / np.where(counts > 0, counts, np.nan)
    found: dict[str, Mean] = {}
    for label, place in labels.items():
        several = int((table[:, 1, place] > 0).sum())
        # One block resampled is always itself: an interval without width would look like certainty.
        ends = bounds(means[1:, place], several).tolist() if several > 1 else (None, None)
        # Row 0 is the games as they were played.
        found[label] = Mean(float(means[0, place]), *ends)
    return found


def _cautions(
    market: str, by: str, rules: RatingRules, rows: Sequence[FieldRow], games: Sequence[GameResult]
) -> list[str]:
    """What must be read with the numbers: too few episodes, and what holds for the fields that are shown."""
    few = [row.label for row in rows if row.episodes < LEAST_BLOCKS]
    found = [too_few(few, len(rows), f"{LEAST_BLOCKS} episodes")] if few else []
    shown = [by, *(name for name in rules.seat_figures if any(row.figures[name] is not None for row in rows))]
    names: dict[str, list[str]] = defaultdict(list)
    # Fields with the same caution share one line.
    seats = sum(len(game.seats) for game in games)
    for name in dict.fromkeys(shown):
        title = heading_of(market, name)
        if name in rules.cautions:
            names[rules.cautions[name]].append(title)
        if name in rules.errors:
            names[_covered([*coverage(rules, games, name).values()])].append(title)
        elif name in rules.scores and (unknown := _unknown(rules, games, name)):
            names[f"not known of {unknown} of {seats} seats"].append(title)
    return [*found, *(f"{', '.join(known)}: {caution}" for caution, known in names.items())]


def _covered(labels: Sequence[Coverage]) -> str:
    """How many seats have a score, on what it rests, and what is to be expected of those that are filled."""
    errors = sorted(error for label in labels for error in label.errors)
    whole = Coverage(sum(label.seats for label in labels), sum(label.known for label in labels), errors)
    low, high = (bound(label.exact for label in labels) for bound in (min, max))
    by_label = f"by label {100 * low:.0f}–{100 * high:.0f} %"
    text = f"seats scored {100 * whole.scored:.0f} % ({100 * whole.exact:.0f} % by solved keys, {by_label})"
    if not errors:
        return text
    return f"{text}, error of a filled seat {median(errors):.2f} median, {errors[int(0.9 * len(errors))]:.2f} at 90 %"


def _unknown(rules: RatingRules, games: Sequence[GameResult], field: str) -> int:
    """Seats of rated games without this number: no mean counts them."""
    place = seat_fields(rules).index(field)
    return sum(seat.numbers[place] is None for game in games for seat in game.seats)


def _method(market: str, by: str, rules: RatingRules, *, chosen: bool) -> list[str]:
    """How the numbers were made, as sentences; a score that nobody has chosen took the place of an unknown one."""
    constants = Constants()
    title, usual = (heading_of(market, name) for name in (by, rules.scores[0]))
    instead = f" ({usual} is not known here)" if by != rules.scores[0] and not chosen else ""
    return [
        f"TrueSkill: each episode ranks its labels by {title}{instead}; one on several seats enters once with the mean",
        f"{PASSES} passes in shuffled orders from fresh ratings (mean {constants.mean:g}, deviation "
        f"{constants.deviation:.3g}, performance {constants.performance:.3g}); rating and deviation are medians over "
        f"passes; 95 %: {PASSES} resamples of seeds, each in four orders and at least .98 deviations to each side "
        f"(below {LEAST_BLOCKS} seeds 1.96)",
        f"score: mean {title} over episodes, 95 % interval of {RESAMPLES:,} resamples of seeds"
        f"{', longer by the mean error of its filled seats to each side' * (by in rules.errors)}",
    ]
