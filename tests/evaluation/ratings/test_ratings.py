"""Our ratings beside the libraries that have a part of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import choix  # pyright: ignore[reportMissingTypeStubs]
import glicko2  # pyright: ignore[reportMissingTypeStubs]
import numpy as np
import pytest
import scipy.special  # pyright: ignore[reportMissingTypeStubs]
import trueskill  # pyright: ignore[reportMissingTypeStubs]
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.evaluation.ratings.playing import within

from tradefair.contract import Chance
from tradefair.evaluation.ratings.bradley_terry import fit_strengths
from tradefair.evaluation.ratings.duels import Duel, Score, head_to_head, pair_sums, scores, shares_of
from tradefair.evaluation.ratings.glicko import PeriodGame, margin_weight, rate_duels, rate_period
from tradefair.evaluation.ratings.rating import Cell
from tradefair.evaluation.ratings.shuffles import resampled, shuffled_orders
from tradefair.evaluation.ratings.trueskill import Skill, hazard, rate_episodes, rate_once

# The libraries bring no types.
LIBRARY: dict[str, Any] = {"choix": choix, "glicko2": glicko2, "trueskill": trueskill, "special": scipy.special}
CHANCE = Chance(7)
PINNED_ORDERS = [[5, 0, 4, 1, 2, 3], [1, 5, 2, 3, 0, 4]]
PINNED_RESAMPLES = [[1, 0, 2, 1, 2, 0], [0, 3, 0, 3, 0, 0]]


# --- the normal law ---------------------------------------------------------------------------------------------------


def test_the_hazard_is_the_density_over_the_distribution_function() -> None:
    t = np.linspace(-30.0, 30.0, 6_001)
    expected = np.exp(-t * t / 2 - LIBRARY["special"].log_ndtr(t)) / math.sqrt(2 * math.pi)
    assert hazard(t) == pytest.approx(expected, rel=1e-12)


def test_the_hazard_stays_finite_far_in_both_tails() -> None:
    t = np.array([-1000.0, -40.0, 0.0, 8.0, 40.0, 1000.0])
    found = hazard(t)
    assert found[:3] == pytest.approx([1000.001, 40.02494, math.sqrt(2 / math.pi)], rel=1e-6)
    assert found[3] == pytest.approx(math.exp(-32) / math.sqrt(2 * math.pi), rel=1e-9)
    assert np.isfinite(found).all()
    assert (found[4:] < 1e-200).all()


# --- TrueSkill --------------------------------------------------------------------------------------------------------


def _by_library(episodes: list[dict[str, float]], order: list[int]) -> dict[str, tuple[float, float]]:
    environment = LIBRARY["trueskill"].TrueSkill(5, 25 / 3, 25 / 6, 0, 0.0)
    found = {label: environment.create_rating() for episode in episodes for label in episode}
    for place in order:
        ranked = sorted(episodes[place].items(), key=lambda item: -item[1])
        rated = environment.rate([(found[label],) for label, _ in ranked])
        found |= {label: team[0] for (label, _), team in zip(ranked, rated, strict=True)}
    return {label: (rating.mu, rating.sigma) for label, rating in found.items()}


def _episodes(count: int, seed: int, sizes: tuple[int, ...] = (2, 5, 8)) -> list[dict[str, float]]:
    chance = Chance(seed)
    labels = [f"agent{n}" for n in range(10)]
    found: list[dict[str, float]] = []
    for game in range(count):
        order = sorted(labels, key=lambda label: chance.uniform("who", game, label))
        field = order[: sizes[game % len(sizes)]]
        found.append({label: int(label[-1]) / 3 + chance.uniform("score", game, label) for label in field})
    return found


@pytest.mark.parametrize(
    ("games", "seed", "sizes"), [(60, 1, (2, 5, 8)), pytest.param(400, 9, (8,), marks=pytest.mark.many)]
)
def test_a_pass_agrees_with_the_trueskill_package(games: int, seed: int, sizes: tuple[int, ...]) -> None:
    episodes = _episodes(games, seed, sizes)
    order = [int(place) for place in shuffled_orders(CHANCE, "tournament", len(episodes), 1)[0]]
    expected = _by_library(episodes, order)
    for rating in rate_episodes(episodes, CHANCE, passes=1):
        mean, deviation = expected[rating.label]
        assert rating.mean == pytest.approx(mean, abs=1e-3)
        assert rating.deviation == pytest.approx(deviation, abs=1e-4)


def test_draws_from_unequal_priors_give_the_published_numbers() -> None:
    two = rate_once([Skill(5, 2), Skill(8, 3)], [0, 0])
    assert [number for skill in two for number in skill] == pytest.approx([5.251, 1.914, 7.434, 2.702], abs=1e-3)
    three = rate_once([Skill(5, 2), Skill(6, 3), Skill(7, 4)], [0, 1, 1])
    found = [number for skill in three for number in skill]
    assert found == pytest.approx([5.637, 1.922, 5.350, 2.676, 5.607, 3.281], abs=1e-3)


def test_better_labels_are_rated_higher_and_the_passes_say_how_surely() -> None:
    ratings = rate_episodes(_episodes(90, seed=2), CHANCE, passes=6)
    assert [rating.label for rating in ratings] == [f"agent{n}" for n in range(9, -1, -1)]
    assert all(within(rating.low, rating.mean, rating.high) for rating in ratings)
    assert sum(rating.episodes for rating in ratings) == 30 * (2 + 5 + 8)


def test_intervals_widen_where_the_games_of_a_seed_share_their_luck() -> None:
    episodes = [episode for episode in _episodes(60, seed=2, sizes=(8,)) for _ in range(3)]
    known = {row.label: row for row in rate_episodes(episodes, CHANCE, passes=60)}
    shared = rate_episodes(episodes, CHANCE, passes=60, blocks=[at // 3 for at in range(len(episodes))])
    assert [row.mean for row in shared] == [known[row.label].mean for row in shared]
    widths = [sum((row.high or 0) - (row.low or 0) for row in rows) for rows in (shared, known.values())]
    assert widths[0] > 1.3 * widths[1]


def test_a_draw_pulls_two_ratings_together_and_leaves_equals_where_they_are() -> None:
    even = rate_episodes([{"a": 1.0, "b": 1.0}], CHANCE, passes=1)
    assert [rating.mean for rating in even] == pytest.approx([5.0, 5.0])
    assert all(rating.deviation < 25 / 3 for rating in even)
    apart = rate_episodes([{"a": 2.0, "b": 1.0}] * 5, CHANCE, passes=1)
    drawn = rate_episodes([{"a": 2.0, "b": 1.0}] * 5 + [{"a": 1.0, "b": 1.0}] * 20, CHANCE, passes=1)
    assert drawn[0].mean - drawn[1].mean < apart[0].mean - apart[1].mean


def test_an_upset_of_forty_deviations_stays_finite() -> None:
    lopsided = [{"a": 1.0, "b": 0.0}] * 60 + [{"a": 0.0, "b": 1.0}]
    assert all(math.isfinite(rating.mean) for rating in rate_episodes(lopsided, CHANCE, passes=4))


@given(shift=st.floats(-5, 5), scale=st.floats(0.1, 10))
@settings(max_examples=4, deadline=None)
def test_only_ranks_count(shift: float, scale: float) -> None:
    episodes = _episodes(12, seed=3)
    moved = [{label: scale * score + shift for label, score in episode.items()} for episode in episodes]
    assert rate_episodes(moved, CHANCE, passes=2) == rate_episodes(episodes, CHANCE, passes=2)


def test_an_episode_of_one_label_is_counted_and_says_nothing() -> None:
    (rating,) = rate_episodes([{"a": 3.0}], CHANCE, passes=2)
    assert rating == ("a", 5.0, 25 / 3, None, None, 1)
    assert rate_episodes([], CHANCE) == []


# --- duels ------------------------------------------------------------------------------------------------------------


def _duel(first: str, second: str, one: float, other: float, block: str = "0", potential: float | None = 400.0) -> Duel:
    return Duel(first, second, one, other, potential, block)


def _scores(duels: list[Duel]) -> list[Score]:
    return scores(shares_of(pair_sums(duels, CHANCE)), 0.9)


def _cells(duels: list[Duel], chance: Chance = CHANCE) -> list[Cell]:
    return head_to_head(pair_sums(duels, chance))


def _league(seed: int, blocks: int = 12) -> list[Duel]:
    chance = Chance(seed)
    found: list[Duel] = []
    for (first, second), block in itertools.product(itertools.combinations("abcd", 2), range(blocks)):
        for swap in (False, True):
            pair = (second, first) if swap else (first, second)
            strengths = [("abcd".index(label) + 1) * chance.uniform("p", block, label, int(swap)) for label in pair]
            found.append(_duel(*pair, *(round(40 * value) for value in strengths), block=str(block)))
    return found


def test_glicko_without_margin_agrees_with_the_glicko2_package() -> None:
    duels = _league(4)
    order = [int(place) for place in shuffled_orders(CHANCE, "tournament", len(duels), 1)[0]]
    players = {label: LIBRARY["glicko2"].Player() for label in "abcd"}
    for place in order:
        duel = duels[place]
        one, two = players[duel.first], players[duel.second]
        gap = duel.first_profit - duel.second_profit
        result = 0.5 if not gap else float(gap > 0)
        before = [(player.rating, player.rd) for player in (one, two)]
        one.update_player([before[1][0]], [before[1][1]], [result])
        two.update_player([before[0][0]], [before[0][1]], [1.0 - result])
    for rating in rate_duels(duels, CHANCE, shuffles=1, margin=False):
        player = players[rating.label]
        assert (rating.rating, rating.deviation) == pytest.approx((player.rating, player.rd), abs=1e-2)
        # The package's f(x) has the square of the rating where Glickman's has that of the deviation.
        assert rating.volatility == pytest.approx(player.vol, abs=1e-4)


def test_a_period_of_several_games_gives_glickmans_example() -> None:
    """His player of 1500, deviation 200 beats 1400/30 and loses to 1550/100 and 1700/300."""
    games = [PeriodGame(1400, 30, 1.0), PeriodGame(1550, 100, 0.0), PeriodGame(1700, 300, 0.0)]
    rating, deviation, volatility = rate_period(1500, 200, 0.06, games)
    assert (rating, deviation) == pytest.approx((1464.05, 151.52), abs=0.01)
    assert volatility == pytest.approx(0.059996, abs=1e-6)


def test_the_margin_weighs_by_its_logarithm_up_to_four() -> None:
    weights = [margin_weight(gap) for gap in (-1, 0, 1, 2, 5, 20, 21, 1e9)]
    assert weights == pytest.approx([1, 1, 1, 1.6931, 2.6094, 3.9957, 4, 4], abs=5e-5)
    # One game from fresh ratings, won with w = 1, 2.6094 and 4.
    won = [rate_duels([_duel("a", "b", gap, 0)], CHANCE, shuffles=1)[0].rating for gap in (1, 5, 100)]
    assert won == pytest.approx([1662.31, 1781.79, 1835.06], abs=0.01)


def test_bradley_terry_of_two_agents_gives_the_published_difference() -> None:
    """Σy = 3 of 4 games: θ differs by 1.09135."""
    rows = fit_strengths([_duel("a", "b", 3, 1)] * 4, CHANCE).strengths
    assert [row.rating for row in rows] == pytest.approx([1594.79, 1405.21], abs=0.01)
    assert (rows[0].rating - rows[1].rating) * math.log(10) / 400 == pytest.approx(1.09135, abs=1e-5)


def test_the_draws_are_the_same_on_every_machine() -> None:
    """Pinned: another numpy, or another order of bytes, must not change a published interval."""
    assert shuffled_orders(Chance(0), "tournament", 6, 2).tolist() == PINNED_ORDERS
    (drawn,) = resampled(Chance(0), "tournament", 6, 2, "games")
    assert drawn.tolist() == PINNED_RESAMPLES


def test_a_margin_of_two_counts_as_two_identical_games_in_one_period() -> None:
    twice = math.e  # ln e + 1 = 2
    (winner, _) = rate_duels([_duel("a", "b", twice, 0.0)], CHANCE, shuffles=1)
    player = LIBRARY["glicko2"].Player()
    player.update_player([1500, 1500], [350, 350], [1, 1])
    assert (winner.rating, winner.deviation) == pytest.approx((player.rating, player.rd), abs=1e-2)


def test_bradley_terry_of_whole_results_agrees_with_choix() -> None:
    duels = [
        duel._replace(first_profit=max(0.0, np.sign(duel.first_profit - duel.second_profit + 0.5)), second_profit=0.0)
        for duel in _league(5)
    ]
    duels = [duel if duel.first_profit else duel._replace(second_profit=1.0) for duel in duels]
    wins = [("abcd".index(duel.first), "abcd".index(duel.second)) for duel in duels if duel.first_profit]
    wins += [("abcd".index(duel.second), "abcd".index(duel.first)) for duel in duels if not duel.first_profit]
    # choix minimises -Σ ln P + alpha Σ θ²; ours is half of .01.
    expected = LIBRARY["choix"].opt_pairwise(4, wins, alpha=0.005)
    for strength in fit_strengths(duels, CHANCE).strengths:
        theta = expected["abcd".index(strength.label)]
        assert strength.rating == pytest.approx(1500 + 400 / math.log(10) * theta, abs=0.05)


def test_a_fraction_counts_as_that_part_of_a_win() -> None:
    halves = fit_strengths([_duel("a", "b", 30, 10)] * 40, CHANCE).strengths
    whole = fit_strengths([_duel("a", "b", 1, 0)] * 30 + [_duel("a", "b", 0, 1)] * 10, CHANCE).strengths
    assert [row.rating for row in halves] == pytest.approx([row.rating for row in whole])
    assert halves[0].rating - halves[1].rating == pytest.approx(400 / math.log(10) * math.log(3), rel=0.01)


def test_games_that_earned_nobody_anything_are_dropped_and_only_the_largest_group_has_strengths() -> None:
    played = [_duel("a", "b", 3, 1), _duel("x", "y", 1, 3), _duel("a", "x", 0, -5), _duel("b", "c", 3, 1)]
    fitted = fit_strengths(played, CHANCE)
    assert (fitted.dropped, [row.label for row in fitted.strengths]) == (1, ["a", "b", "c"])
    assert fit_strengths([_duel("a", "x", 0, -5)], CHANCE) == ([], 1)


def _simulated(kind: str, number: int, strengths: Sequence[float], blocks: int) -> list[Duel]:
    """A league of true strengths: `sticky` gives both games of a block to one label, `shares` splits each game."""
    random = np.random.default_rng([number, len(kind)])
    found: list[Duel] = []
    for (one, two), block in itertools.product(itertools.combinations(range(len(strengths)), 2), range(blocks)):
        expected = 1 / (1 + math.exp(strengths[two] - strengths[one]))
        won = float(random.random() < expected)
        for first, second in ((one, two), (two, one)):
            # Beta of mean `expected`: its variance is a seventh of that of a game that one side wins outright.
            part = won if kind == "sticky" else float(random.beta(6 * expected, 6 * (1 - expected)))
            own = part if first == one else 1 - part
            found.append(_duel("abcdefgh"[first], "abcdefgh"[second], own, 1 - own, f"{one}{two}{block}"))
    return found


def _coverage(kind: str, simulations: int) -> float:
    """How often the interval of a label's strength holds the true one."""
    strengths = (-0.6, -0.2, 0.2, 0.6)
    true = {label: 1500 + 400 / math.log(10) * theta for label, theta in zip("abcd", strengths, strict=True)}
    rows = [
        row
        for number in range(simulations)
        for row in fit_strengths(_simulated(kind, number, strengths, 12), Chance(number)).strengths
    ]
    return sum((row.low or math.inf) <= true[row.label] <= (row.high or 0) for row in rows) / len(rows)


@pytest.mark.many
@pytest.mark.parametrize("kind", ["sticky", "shares"])
def test_intervals_of_strengths_hold_the_true_one_as_often_as_they_say(kind: str) -> None:
    """Curvature alone covered 0.83 where luck sticks to a block, and 1.00 with shares."""
    assert 0.93 <= _coverage(kind, 1_000) <= 0.97


def test_a_single_block_gives_a_strength_without_an_interval() -> None:
    for row in fit_strengths([_duel("a", "b", 3, 1), _duel("b", "a", 1, 3)], CHANCE).strengths:
        assert (row.low, row.high, row.games) == (None, None, 2)
    bounded = fit_strengths([_duel("a", "b", 3, 1), _duel("b", "a", 1, 3, "1"), _duel("b", "a", 2, 3, "2")], CHANCE)
    for row in bounded.strengths:
        assert within(row.low, row.rating, row.high)


def test_a_game_of_unknown_potential_is_in_neither_part_of_the_raw_share() -> None:
    duels = [_duel("a", "b", 300, 100, "0", 500), _duel("a", "b", 200, 0, "1", None)]
    first = _scores(duels)[0]
    assert (first.label, first.raw, first.obs) == ("a", 0.6, pytest.approx(500 / 600))


def test_head_to_head_is_antisymmetric_and_knows_its_interval() -> None:
    duels = _league(6)
    mirrored = [Duel(duel.second, duel.first, duel.second_profit, duel.first_profit, *duel[4:]) for duel in duels]
    cells = _cells(duels)
    assert [(cell.row, cell.column) for cell in cells] == list(itertools.combinations("abcd", 2))
    for cell in cells:
        assert cell.games == 24
        assert within(cell.low, cell.mean, cell.high)
    assert _cells(mirrored) == cells
    renamed = [duel._replace(first=chr(219 - ord(duel.first)), second=chr(219 - ord(duel.second))) for duel in duels]
    turned = {(cell.column, cell.row): cell.mean for cell in _cells(renamed)}
    assert turned == pytest.approx(
        {(chr(219 - ord(cell.row)), chr(219 - ord(cell.column))): -cell.mean for cell in cells}
    )


def test_the_bootstrap_covers_the_truth_about_as_often_as_it_says() -> None:
    """Each block's share is uniform around .5: 95 % intervals of 20 blocks, 60 leagues."""
    hits = 0
    for seed in range(60):
        chance = Chance(seed)
        duels = [_duel("a", "b", 400 * (u := chance.uniform("x", n)), 400 * (1 - u), str(n)) for n in range(20)]
        (cell,) = _cells(duels, chance)
        hits += within(cell.low, 0, cell.high)
    assert 51 <= hits <= 60


def test_resamples_draw_as_many_as_there_are() -> None:
    drawn = np.vstack(list(resampled(CHANCE, "tournament", 5, 300, "x")))
    assert (drawn.sum(axis=1) == 5).all()
    assert drawn.mean() == 1.0
    assert sorted(shuffled_orders(CHANCE, "tournament", 9, 2)[1].tolist()) == list(range(9))
