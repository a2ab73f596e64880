"""The leaderboard of games between two: balanced shares, Glicko-2 with margin, Bradley–Terry, head to head."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tradefair.contract import Chance
from tradefair.evaluation.outcome import RatingRules
from tradefair.evaluation.ratings.bradley_terry import RESAMPLES as STRENGTH_RESAMPLES
from tradefair.evaluation.ratings.bradley_terry import BradleyTerry, fit_strengths
from tradefair.evaluation.ratings.composite import Weight, found_weight
from tradefair.evaluation.ratings.duels import (
    LEAST_BLOCKS,
    MOST_UNEVEN,
    RESAMPLES,
    Duel,
    Score,
    head_to_head,
    pair_sums,
    scores,
    shares_of,
)
from tradefair.evaluation.ratings.field_board import figures_by_label
from tradefair.evaluation.ratings.glicko import GlickoRating, rate_duels
from tradefair.evaluation.ratings.rating import BoardHead, DuelBoard, DuelRow, Meeting, Reasons, too_few
from tradefair.evaluation.ratings.results import GameResult, block_of, seat_fields
from tradefair.evaluation.verdict.amounts import count

# Passes of Glicko-2, whose result depends on the order of games.
SHUFFLES = 50
_METHOD = [
    "CMS-style score (own definition): 100·({alpha:g} OBS + {rest:g} raw); OBS is the mean over opponents of the share "
    "of all gains, raw is profit, within 0 and R·G, over R·G, what both could have earned",
    f"intervals: 95 % of {RESAMPLES:,} resamples of blocks (all games of one seed; of a foreign log: one game), the "
    f"same for all; fewer than {LEAST_BLOCKS} blocks: too few games to say",
    f"Glicko-2 with margin: who beats whom, not profit; one game a period, weight min(4, ln|difference| + 1), means "
    f"over {SHUFFLES} shuffles, spread over them",
    "Bradley–Terry of the shares of each game's gains; games in which no seat earned anything are dropped; intervals: "
    f"95 % of {STRENGTH_RESAMPLES} resamples of blocks",
    "head to head: mean difference of shares of R·G, row minus column",
]


class _Played(NamedTuple):
    """A usable game as a duel, with the result that it was made of."""

    game: GameResult
    duel: Duel


def duel_board(
    head: BoardHead,
    rules: RatingRules,
    games: Sequence[GameResult],
    left_out: Reasons,
    chance: Chance,
    weight: Weight | None,
) -> DuelBoard:
    """Rate usable games of one group.

    What cannot be a duel, or lacks its other seating, is added to `left_out`. `chance` fixes shuffles and resamples.
    `weight` is that of OBS in the score, None to find it; ScenarioError where there are too few labels for that.
    """
    played = _whole_blocks(_duels(rules, games, left_out), left_out)
    duels = [item.duel for item in played]
    # One set of resamples for scores and head to head: both tables rest on the same draws.
    pairs = pair_sums(duels, chance)
    shares = shares_of(pairs)
    weight = weight or found_weight(shares, pairs)
    ranked = scores(shares, weight.alpha)
    glicko = {rating.label: rating for rating in rate_duels(duels, chance, shuffles=SHUFFLES)}
    fitted = fit_strengths(duels, chance)
    figures = figures_by_label(rules, [item.game for item in played])
    # Once privileged, always marked: a single game with hidden knowledge is enough to mislead.
    privileged = {seat.label for item in played for seat in item.game.seats if seat.privileged}
    return DuelBoard(
        **head._asdict(),
        games=len(duels),
        method=_method(weight),
        alpha=weight.alpha,
        alpha_low=weight.low,
        alpha_high=weight.high,
        cautions=_cautions(ranked, fitted),
        left_out=left_out.listed(),
        shuffles=SHUFFLES,
        resamples=RESAMPLES,
        rows=[
            _row(score, glicko[score.label], fitted, figures[score.label], score.label in privileged)
            for score in ranked
        ],
        head_to_head=head_to_head(pairs),
        meetings=_meetings(played),
        unearned=fitted.dropped,
    )


def _method(weight: Weight) -> list[str]:
    first, *rest = _METHOD
    found = f"the weight of OBS by stability and agreement: any from {weight.low} to {weight.high} is as good"
    said = [] if weight.low is None else [found]
    return [first.format(alpha=weight.alpha, rest=1 - weight.alpha), *said, *rest]


def _duels(rules: RatingRules, games: Sequence[GameResult], left_out: Reasons) -> list[_Played]:
    """Games that can be duels, of two labels with known profits; the others go into `left_out` with a reason."""
    # A duel has one score, its profit (`RatingRules`).
    place = seat_fields(rules).index(rules.scores[0])
    found: list[_Played] = []
    for game in games:
        if len(game.seats) != 2:
            left_out.add("not two seats", game.path)
            continue
        one, two = game.seats
        profits = one.numbers[place], two.numbers[place]
        # A label against itself would be its own opponent in every share.
        if one.label == two.label:
            left_out.add("a label against itself: no duel", game.path)
        elif profits[0] is None or profits[1] is None:
            left_out.add(f"{rules.scores[0]} is not known", game.path)
        else:
            # Head to head and `raw` leave a game of unknown potential out.
            potential = None if game.potential is None else max(0.0, game.potential)
            duel = Duel(one.label, two.label, profits[0], profits[1], potential, "")
            found.append(_Played(game, duel))
    return found


def _whole_blocks(played: Sequence[_Played], left_out: Reasons) -> list[_Played]:
    """Duels with their block, named after the first chain in it: free of labels.

    Where a pair swapped seats on some seed, a seed of which one seating is missing is left out.
    """
    blocks: dict[tuple[tuple[str, str], str], list[_Played]] = defaultdict(list)
    names: dict[str, str] = {}
    for item in played:
        # A log from elsewhere has no second seating to wait for: each game is a block of its own.
        block = block_of(item.game)
        blocks[item.duel.pair, block].append(item)
        names[block] = min(item.game.head, names.get(block, item.game.head))
    # Whole: each of the two labels sat first in a game of the block.
    both = {key: len({item.duel.first for item in items}) == 2 for key, items in blocks.items()}
    # Only pairs that swapped seats somewhere must do so on every seed: one with fixed seats would lose all games.
    swapping = {pair for (pair, _), whole in both.items() if whole}
    found: list[_Played] = []
    for key, items in blocks.items():
        if key[0] in swapping and not both[key] and not items[0].game.foreign:
            for item in items:
                left_out.add("the other seating of its block is missing", item.game.path)
        else:
            found += [item._replace(duel=item.duel._replace(block=names[key[1]])) for item in items]
    # Back in the order of seed and chain, by which shuffles and resamples are keyed.
    return sorted(found, key=lambda item: (item.game.seed, item.game.head))


def _row(
    score: Score, glicko: GlickoRating, fitted: BradleyTerry, figures: Mapping[str, float | None], privileged: bool
) -> DuelRow:
    """One line of the board, from all three ratings of a label."""
    strength = next((row for row in fitted.strengths if row.label == score.label), None)
    return DuelRow(
        label=score.label,
        score=score.score,
        low=score.low,
        high=score.high,
        obs=score.obs,
        raw=score.raw,
        rating=glicko.rating,
        deviation=glicko.deviation,
        spread=glicko.spread,
        strength=strength and strength.rating,
        strength_low=strength and strength.low,
        strength_high=strength and strength.high,
        games=score.of.games,
        blocks=score.of.blocks,
        dead_pairs=score.of.dead_pairs,
        unbalanced=score.of.unbalanced,
        exploratory=score.of.exploratory,
        figures=dict(figures),
        privileged=privileged,
    )


def _meetings(played: Sequence[_Played]) -> list[Meeting]:
    """How often each label met each opponent, by the label's role."""
    # Every entry names all roles in one order, which the heading of the table takes from the first entry.
    roles = list(dict.fromkeys(seat.role for item in played for seat in item.game.seats))
    counts: dict[tuple[str, str], dict[str, int]] = defaultdict(lambda: dict.fromkeys(roles, 0))
    for game, _ in played:
        for own, other in (game.seats, game.seats[::-1]):
            counts[own.label, other.label][own.role] += 1
    return [Meeting(label=label, opponent=opponent, games=games) for (label, opponent), games in sorted(counts.items())]


def _cautions(ranked: Sequence[Score], fitted: BradleyTerry) -> list[str]:
    """How the numbers of this board may be misread, as sentences."""
    uneven = [score.label for score in ranked if score.of.unbalanced]
    # A dead pair is counted at both of its labels.
    dead = sum(score.of.dead_pairs for score in ranked) // 2
    few = [score.label for score in ranked if score.of.exploratory]
    apart = len(ranked) - len(fitted.strengths)
    found = [
        (few, too_few(few, len(ranked), f"{LEAST_BLOCKS} blocks")),
        (uneven, f"{len(uneven)} labels met opponents or roles unevenly (more than {MOST_UNEVEN:g} to 1)"),
        (dead, f"{dead} pairs never earned anything together: their share counts as 0"),
        (fitted.dropped, f"{fitted.dropped} games earned no seat anything"),
        (apart, f"Bradley–Terry: no games with gains link {count(apart, 'label')} to the others"),
    ]
    return [text for met, text in found if met]
