"""Leaderboards of results made by hand: what is counted, what is left out, what may not matter."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.evaluation.ratings.playing import auction, bargain, within

from tradefair.contract import Chance, ScenarioError
from tradefair.evaluation.charts.chart import IntervalChart, MatrixChart
from tradefair.evaluation.ratings.charts import leaderboard_charts
from tradefair.evaluation.ratings.leader import Placed, joined, lead_sentence, leader, places
from tradefair.evaluation.ratings.leaderboards import leaderboards
from tradefair.evaluation.ratings.ranking import ranking_verdict
from tradefair.evaluation.ratings.rating import DuelBoard, FieldBoard, LeftOut
from tradefair.evaluation.ratings.results import GameResult, Results, Unread, rules_of, seat_fields
from tradefair.evaluation.ratings.show import show_leaderboards
from tradefair.evaluation.ratings.tables import board_name, board_tables
from tradefair.evaluation.report.boards import boards_of, figure_of_boards

SHARES = (0.6, 0.4, 0.2, 0.1)


def _field(games: Sequence[GameResult], **options: str) -> FieldBoard:
    (board,) = leaderboards(Results(list(games), []), score=options.get("score")).boards
    assert isinstance(board, FieldBoard)
    return board


def _duels(games: Sequence[GameResult]) -> DuelBoard:
    (board,) = leaderboards(Results(list(games), [])).boards
    assert isinstance(board, DuelBoard)
    return board


def _auctions(names: str = "abcd") -> list[GameResult]:
    """Ten games; the four labels take turns on the seats, the first does best."""
    chance = Chance(5)
    found: list[GameResult] = []
    for seed in range(10):
        order = [(place + seed) % 4 for place in range(4)]
        shares = tuple(round(SHARES[who] + 0.05 * chance.uniform("x", seed, who), 3) for who in order)
        found.append(auction("".join(names[who] for who in order), shares, seed))
    return found


def _league(names: str = "abc", seeds: int = 9) -> list[GameResult]:
    """Round robin with seat swap; the later a name, the more it earns."""
    chance = Chance(6)
    found: list[GameResult] = []
    for seed in range(seeds):
        for one in range(3):
            for two in range(3):
                if one != two:
                    earned = [round(50 * (who + 1) * chance.uniform("p", seed, one, two, who)) for who in (one, two)]
                    game = bargain(names[one], names[two], (earned[0], earned[1]), seed)
                    found.append(game._replace(head=f"{seed}{one}{two}"))
    return found


def _reasons(left_out: Sequence[LeftOut]) -> dict[str, int]:
    return {left.reason: left.count for left in left_out}


# --- fields -----------------------------------------------------------------------------------------------------------


def test_the_better_label_leads_with_its_mean_score_and_interval() -> None:
    board = _field(_auctions())
    assert [row.label for row in board.rows] == list("abcd")
    assert (board.games, board.score, board.passes) == (10, "surplus_share", 200)
    first = board.rows[0]
    assert within(first.score_low, first.score, first.score_high)
    assert within(0.6, first.score_low, 0.65)
    assert within(0.6, first.score_high, 0.65)
    assert within(first.low, first.rating, first.high)
    assert (first.episodes, first.figures["efficiency"], first.figures["csa_clean"]) == (10, 0.9, None)


def test_a_label_on_several_seats_enters_once_with_its_mean() -> None:
    board = _field([auction("aab", (0.1, 0.5, 0.2), 1)])
    rows = {row.label: row for row in board.rows}
    assert (rows["a"].score, rows["a"].episodes) == (pytest.approx(0.3), 1)
    assert rows["a"].rating > rows["b"].rating
    assert (rows["a"].score_low, rows["a"].score_high) == (None, None)


def test_the_first_known_score_ranks_and_the_table_says_so() -> None:
    board = _field(_auctions())
    assert "share of possible (CSα is not known here)" in board.method[0]
    assert not any("zero is what" in caution for caution in board.cautions)
    known = [game._replace(seats=tuple(seat._replace(numbers=(1.0, *seat.numbers[1:])) for seat in game.seats))
             for game in _auctions()]  # fmt: skip
    ranked = _field(known)
    assert ranked.score == "csa_clean"
    assert any("zero is what a truthful seat earns" in caution for caution in ranked.cautions)
    assert _field(known, score="payoff").score == "payoff"
    # Who chose the score is not told that another one was not there.
    assert "ranks its labels by points earned;" in _field(known, score="payoff").method[0]
    assert "ranks its labels by points earned;" in _field(_auctions(), score="payoff").method[0]


def test_seats_without_the_score_are_counted() -> None:
    games = [auction("abc", (0.5, None, 0.25), seed) for seed in range(4)]
    board = _field(games)
    assert [row.label for row in board.rows] == ["a", "c"]
    assert "share of possible: not known of 4 of 12 seats" in board.cautions


def test_a_score_that_no_market_here_has_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(ScenarioError, match=r"'profits'.*csa_clean, csa, surplus_share, payoff, csa_source"):
        leaderboards(Results(_auctions(), []), score="profits")


def test_a_score_that_is_estimated_shows_its_coverage_and_its_error_by_label() -> None:
    rules = rules_of("double_auction")
    assert rules is not None
    fields = seat_fields(rules)

    def game(seed: int, error: float) -> GameResult:
        made = auction("abc", (0.5, 0.25, 0.1), seed)
        known = {"csa_source": (1.0 + seed / 10, -1.0, None), "csa_source_error": (error, 0.0, None)}
        columns = [known.get(name, (0.5,) * 3) for name in fields]
        seats = zip(made.seats, zip(*columns, strict=True), strict=True)
        return made._replace(seats=tuple(seat._replace(numbers=numbers) for seat, numbers in seats))

    exact, board = (_field([game(seed, error) for seed in range(8)], score="csa_source") for error in (0.0, 0.2))
    shares = {row.label: (row.scored, row.exact, row.error) for row in board.rows}
    assert shares == {"a": (1.0, 0.0, 0.2), "b": (1.0, 1.0, 0.0)}
    # Errors of a label may have one sign: they make its interval longer.
    assert [row.score_low and round(row.score_low + 0.2 * (row.label == "a"), 9) for row in board.rows] == [
        row.score_low for row in exact.rows
    ]
    said = "seats scored 67 % (33 % by solved keys, by label 0–100 %), error of a filled seat 0.20 median, 0.20 at 90 %"
    assert any(said in caution for caution in board.cautions)
    assert any("longer by the mean error" in sentence for sentence in board.method)
    table = next(table for table in board_tables(board) if table.title.startswith("Coverage"))
    assert [*table.rows] == [("a", "100 %", "0 %", "0.200"), ("b", "100 %", "100 %", "0.000")]
    # By another score there is nothing to cover.
    assert {row.error for row in _field([auction("ab", (0.5, 0.2), 1)]).rows} == {None}


def test_other_names_and_another_order_of_files_give_the_same_numbers() -> None:
    numbers = [row.model_dump(exclude={"label"}) for row in _field(_auctions()).rows]
    assert [row.model_dump(exclude={"label"}) for row in _field(_auctions("zyxw")[::-1]).rows] == numbers
    duels = _duels(_league())
    renamed = _duels(_league("zyx")[::-1])
    assert [row.label for row in renamed.rows] == ["zyx"["abc".index(row.label)] for row in duels.rows]
    for one, two in zip(duels.rows, renamed.rows, strict=True):
        assert two.model_dump(exclude={"label"}) == one.model_dump(exclude={"label"})
    there = {(cell.row, cell.column): (cell.mean, cell.low, cell.high) for cell in duels.head_to_head}
    back = {(cell.row, cell.column): (cell.mean, cell.low, cell.high) for cell in renamed.head_to_head}
    mean, low, high = there["a", "b"]
    assert back["y", "z"] == pytest.approx((-mean, -(high or 0), -(low or 0)), abs=1e-6)


def test_another_seed_shuffles_otherwise_and_the_same_one_alike() -> None:
    games = Results(_auctions(), [])
    assert leaderboards(games, seed=3) == leaderboards(games, seed=3)
    assert leaderboards(games, seed=3).boards != leaderboards(games).boards


# --- duels ------------------------------------------------------------------------------------------------------------


def test_the_worked_example_of_the_page_is_on_the_leaderboard() -> None:
    """300 against A's 100 and 50 against C's 150, Σ R·G = 1,000: OBS .5, score 48.5."""
    games = [bargain("i", "A", (300, 100), 1, potential=500), bargain("C", "i", (150, 50), 2, potential=500)]
    rows = {row.label: row for row in _duels(games).rows}
    row = rows["i"]
    assert (row.obs, row.raw, row.score) == (0.5, 0.35, 48.5)
    assert (row.exploratory, row.unbalanced) == (True, True)
    # Resamples of two seeds: 300 of 400 alone, or 50 of 200. Of one seed nothing is known but itself.
    assert (row.low, row.high, rows["A"].low) == (23.5, 73.5, None)


@pytest.mark.parametrize(("score", "alpha"), [(None, 0.9), ("composite", 0.9), ("composite(alpha=.25)", 0.25),
                                              ("composite(alpha=0)", 0), ("composite(alpha=1)", 1)])  # fmt: skip
def test_the_weight_of_the_balanced_share_is_named_and_told(score: str | None, alpha: float) -> None:
    (board,) = leaderboards(Results(_league(), []), score=score).boards
    assert isinstance(board, DuelBoard)
    assert (board.alpha, board.alpha_low, board.alpha_high) == (alpha, None, None)
    assert f"100·({alpha:g} OBS + {1 - alpha:g} raw)" in board.method[0]
    for row in board.rows:
        assert row.score == pytest.approx(100 * (alpha * row.obs + (1 - alpha) * (row.raw or 0)), abs=1e-4)


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (
            "composite(alpha=auto)",
            "needs 8 labels and 10 pairs that differ; here are 3 and 3: name a number from 0 to 1",
        ),
        ("composite(alpha=1.01)", r"composite\(alpha=0..1|auto\), alpha being a number from 0 to 1, or auto"),
        ("composite(alpha=nan)", "a number from 0 to 1"),
        ("composite(alpha=-0)", "a number from 0 to 1"),
        ("composite(beta=1)", "a number from 0 to 1"),
        ("csa", r"known are composite\(alpha=0..1|auto\)"),
    ],
)
def test_a_weight_that_is_none_is_refused_with_what_is_allowed(score: str, told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        leaderboards(Results(_league(), []), score=score)
    with pytest.raises(ScenarioError, match="nothing here is rated by 'composite"):
        leaderboards(Results(_auctions(), []), score="composite")


def _ladder(worth: int) -> list[GameResult]:
    """Eight labels, of which the later one takes 60 of each 100; how much was to be gained grows by `worth`."""
    return [
        bargain(one, two, (40, 60), seed, potential=100 + worth * (place + other) ** 2)
        for seed in range(2)
        for place, one in enumerate("abcdefgh")
        for other, two in enumerate("abcdefgh")
        if place < other
    ]


def test_the_weight_that_duels_bear_out_is_found_with_those_that_are_as_good() -> None:
    """Where the winners' games had more to gain, raw orders labels against their duels: OBS has to weigh."""

    def found(worth: int) -> DuelBoard:
        (board,) = leaderboards(Results(_ladder(worth), []), score="composite(alpha=auto)").boards
        assert isinstance(board, DuelBoard)
        return board

    clear, alike = found(50), found(0)
    assert [row.label for row in clear.rows] == [row.label for row in alike.rows] == list("hgfedcba")
    assert clear.alpha == clear.alpha_high == 1
    assert 0.5 < (clear.alpha_low or 0) < 1
    assert f"any from {clear.alpha_low} to {clear.alpha_high} is as good" in clear.method[1]
    # Where both measures say the same, every weight is as good, and the largest is taken.
    assert (alike.alpha, alike.alpha_low, alike.alpha_high) == (1, 0, 1)


def test_a_league_has_every_rating_and_balanced_meetings() -> None:
    board = _duels(_league())
    assert [row.label for row in board.rows] == list("cba")
    assert {(row.games, row.blocks, row.unbalanced, row.exploratory) for row in board.rows} == {(36, 9, False, False)}
    for row in board.rows:
        assert within(row.low, row.score, row.high)
        assert within(row.strength_low, row.strength, row.strength_high)
    assert board.rows[0].rating > board.rows[-1].rating
    assert {tuple(met.games.items()) for met in board.meetings} == {(("buyer", 9), ("seller", 9))}
    assert (len(board.meetings), board.met, board.cautions) == (6, True, [])


def test_a_block_without_its_other_seating_is_left_out_and_counted() -> None:
    games = _league()
    broken = games[0]._replace(unusable="harness failure: not the agents' doing")
    board = _duels([broken, *games[1:]])
    assert _reasons(board.left_out) == {
        "harness failure: not the agents' doing": 1,
        "the other seating of its block is missing": 1,
    }
    assert board.games == len(games) - 2


def test_foreign_games_are_blocks_of_their_own() -> None:
    games = [bargain("a", "b", (10 * seed, 40), seed, foreign=True) for seed in range(1, 9)]
    board = _duels(games)
    assert (board.games, board.rows[0].blocks, board.left_out) == (8, 8, [])


def test_dead_pairs_self_play_and_games_that_earned_nothing_are_counted() -> None:
    games = [bargain("a", "b", (-50, -10), 1), bargain("a", "c", (30, 10), 2), bargain("c", "c", (10, 10), 3)]
    board = _duels(games)
    rows = {row.label: row for row in board.rows}
    assert (rows["a"].dead_pairs, rows["b"].dead_pairs, rows["c"].dead_pairs) == (1, 1, 0)
    assert (rows["a"].obs, rows["b"].strength, board.unearned) == (0.375, None, 1)
    assert _reasons(board.left_out) == {"a label against itself: no duel": 1}
    assert any("earned no seat" in caution for caution in board.cautions)


# --- what is not mixed, and what is left out --------------------------------------------------------------------------


def test_markets_scenarios_and_shapes_are_rated_apart_and_named() -> None:
    shape = '{"chat":{"enabled":true},"rounds":8}'
    short = [game._replace(shape=shape, head=f"s{game.head}") for game in _auctions()]
    found = leaderboards(Results([*_auctions(), *short, *_league()], []))
    assert [(board.scenario, board.shape, board.games) for board in found.boards] == [
        ("bargaining/pact", "", 54),
        ("double_auction/bazaar", "chat.enabled false, rounds 30", 10),
        ("double_auction/bazaar", "chat.enabled true, rounds 8", 10),
    ]
    assert found.rated == 74


def test_versions_are_never_mixed_and_a_leaderboard_without_rows_is_left_out() -> None:
    older = [game._replace(rules_version="1", head=f"o{game.head}") for game in _auctions()]
    idle = [auction("ab", (None, None), 77)._replace(scenario="double_auction/silent")]
    found = leaderboards(Results([*_auctions(), *older, *idle], []))
    assert [(board.rules_version, board.games) for board in found.boards] == [
        ("1", 10),
        (_auctions()[0].rules_version, 10),
    ]
    assert len({(board.scenario_digest, board.evaluator_version) for board in found.boards}) == 1
    # What the empty leaderboard left out is not lost with it.
    assert _reasons(found.left_out) == {"CSα is not known": 1}
    assert found.rated + 1 == found.traces


def test_labels_with_too_few_games_are_named_in_one_line_and_are_one_row() -> None:
    board = _field([*_auctions(), auction("axyzuvw", (0.1, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6), 77)])
    assert (
        board.cautions[0] == "6 of 10 labels have too few games to say, fewer than 8 episodes: w, v, u, z, y and 1 more"
    )
    *rows, few = next(board_tables(board)).rows
    assert [row[:2] for row in rows] == [("a", "1"), ("b", "2"), ("c", "3"), ("d", "4")]
    assert few[:2] == ("6 labels with too few games", "–")
    assert len(next(board_tables(board, folded=False)).rows) == 10


def test_one_game_and_one_label_are_named_in_the_singular() -> None:
    (board,) = leaderboards(Results([auction("aa", (0.1, 0.2), 7)], [])).boards
    assert "1 game · 1 label · " in board_name(board)


def test_labels_that_share_a_game_are_joined_through_others_too() -> None:
    groups = joined([["a", "b"], ["x"], ["c", "d"], ["e", "c"], ["p", "q"], ["d", "a"], ["q", "p"]])
    assert groups == [{"a", "b", "c", "d", "e"}, {"p", "q"}, {"x"}]


def test_groups_that_never_met_have_boards_of_their_own_and_who_met_nobody_has_no_rating() -> None:
    apart = [auction("xy", (0.5, 0.1), seed) for seed in range(20, 23)]
    alone = [auction("kk", (0.1, 0.3), 30), auction("mm", (0.9, 0.9), 30), auction("nn", (0.2, 0.2), 31)]
    made = leaderboards(Results([*apart, *_auctions(), *alone], []))
    assert [(board.kind, board.shape, board.games, board.met) for board in made.boards] == [
        ("field", "group 1 of 3", 10, True),
        ("field", "group 2 of 3", 3, True),
        ("solo", "group 3 of 3", 3, False),
    ]
    # Numbers of a group are those that it has alone.
    assert made.boards[0].model_copy(update={"shape": ""}) == _field(_auctions())
    assert [row.label for row in made.boards[2].rows] == ["m", "k", "n"]
    (unmet,) = leaderboards(Results(alone, [])).boards
    assert (unmet.leader, unmet.open, unmet.met) == (None, ["m", "k", "n"], False)
    assert ranking_verdict(leaderboards(Results(alone, []))).sentences[0] == (
        "Nobody met in double_auction/bazaar (3 labels, 1 game each): by mean share of possible m 0.9 and k = n 0.2; "
        "one game each, no order can be told."
    )
    # However many games each has: whom nobody met leads nobody.
    often = [auction(label * 2, (share, share), seed) for label, share in (("k", 0.1), ("m", 0.9)) for seed in range(9)]
    assert leaderboards(Results(often, [])).boards[0].leader is None
    assert "; labels that never met have no rating." in ranking_verdict(leaderboards(Results(often, []))).sentences[0]


def test_equal_numbers_share_a_place_and_one_game_has_none() -> None:
    rows = [Placed(label, value, 0, 1, games) for label, value, games in
            (("a", 5, 2), ("b", 4, 3), ("c", 4, 2), ("d", 4, 2), ("e", 3, 1), ("f", 2, 2))]  # fmt: skip
    assert places(rows) == ["1", "2–4", "2–4", "2–4", "–", "5"]
    said = lead_sentence([Placed("z", 9, 8, 10, 3), *(row._replace(low=3, high=4) for row in rows[1:4])], "x", "y", str)
    assert said == "z 9 (8 to 10) leads x by y, before b = c = d 4; 3 games."


def test_a_ranking_says_who_leads_and_whether_first_place_is_open() -> None:
    close = [auction("ab" if seed % 2 else "ba", (0.3, 0.35), seed) for seed in range(12)]
    open_ = ranking_verdict(leaderboards(Results(close, [Unread("x.trace", "not a trace")])))
    assert open_.sentences[0].startswith(
        "First place is open in double_auction/bazaar by rating by share of possible: "
    )
    assert open_.sentences[0].endswith(" overlap.")
    assert open_.sentences[1] == "12 of 13 traces rated; left out: 1 cannot be read: not a trace."
    games = [
        bargain(one, two, (90, 10) if one == "a" else (10, 90), seed)._replace(head=f"{seed}{one}")
        for seed in range(30)
        for one, two in (("a", "b"), ("b", "a"))
    ]
    made = leaderboards(Results(games, []))
    assert (made.boards[0].leader, made.boards[0].open) == ("a", [])
    assert " leads bargaining/pact by score, before b 9.25 (" in ranking_verdict(made).sentences[0]
    assert leaderboards(Results(close, [])).boards[0].open == ["a", "b"]
    # One game shows no order, however far apart its labels are, and whatever interval is claimed for it.
    leads = [leader([Placed("a", 9, 8, 10, games), Placed("b", 1, 0, 2, 5)]).label for games in (1, 2)]
    assert leads == [None, "a"]
    assert leader([Placed("a", 9, 8, 10, 2), Placed("b", 1, None, None, 1)]) == (None, ("a", "b"))
    assert leaderboards(Results([auction("ab", (0.9, 0.1), 1)], [])).boards[0].leader is None
    assert ranking_verdict(leaderboards(Results([], []))).status == "failed"


def test_a_long_label_leaves_room_for_the_figures(capsys: pytest.CaptureFixture[str]) -> None:
    games = _auctions("abcd")
    long = [game._replace(seats=tuple(seat._replace(label=seat.label * 120) for seat in game.seats)) for game in games]
    show_leaderboards(leaderboards(Results(long, [])))
    (row,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("a" * 29 + "…" + "a" * 20)]
    assert row.split()[1:]


def test_a_figure_of_several_leaderboards_names_each_in_its_charts() -> None:
    page = figure_of_boards(leaderboards(Results([*_auctions(), *_league()], [])))
    assert [chart.title.partition(" · ")[0] for chart in page.charts] == ["bargaining/pact"] * 3 + [
        "double_auction/bazaar"
    ] * 2
    assert len({chart.id for chart in page.charts}) == len(page.charts)
    assert next(iter(page.to_json())) == "verdict"


def test_the_same_play_counts_once_wherever_its_file_lies_but_not_by_another_player() -> None:
    games = _auctions()
    again = games[0]._replace(path="copy/0.trace")
    other = games[1]._replace(seats=tuple(seat._replace(label=f"{seat.label}2") for seat in games[1].seats))
    found = leaderboards(Results([*games, again, other], []))
    # The other labels met nobody of the first: a group of their own.
    assert [board.games for board in found.boards] == [10, 1]
    assert [(left.count, left.examples) for left in found.left_out] == [(1, ["copy/0.trace"])]
    assert "once more" in found.left_out[0].reason


def test_markets_without_ratings_and_unreadable_files_are_named() -> None:
    log = auction("a", (None,), 1, market="mcp", unusable="mcp has no ratings: …")
    found = leaderboards(Results([log], [Unread("x.trace", "not a trace")]))
    assert (found.boards, found.rated, found.traces, found.unreadable) == ([], 0, 2, 1)
    assert _reasons(found.left_out) == {"cannot be read: not a trace": 1, "mcp has no ratings: …": 1}


def test_games_in_which_nobody_has_the_score_are_left_out() -> None:
    board = _field([*_auctions(), auction("ab", (None, None), 77)])
    assert _reasons(board.left_out) == {"share of possible is not known": 1}


def test_pictures_show_intervals_and_the_matrix_both_ways() -> None:
    shown = leaderboard_charts(_duels(_league()))
    assert [chart.id for chart in shown] == ["score", "glicko", "head_to_head"]
    matrix = shown[-1]
    assert isinstance(matrix, MatrixChart)
    values = {(cell.row, cell.column): cell.value for cell in matrix.cells}
    assert len(values) == 6
    assert all(values[column, row] == -value for (row, column), value in values.items())
    rating = leaderboard_charts(_field(_auctions()))[0]
    assert isinstance(rating, IntervalChart)
    assert rating.names == list("abcd")


def test_a_score_of_duels_stays_a_share_however_much_the_other_side_loses() -> None:
    # R·G of 20: the seller took 20 and, from the buyer's own pocket, 100 more.
    games = [bargain(*pair, profits, seed, potential=20) for seed in range(9)
             for pair, profits in ((("fool", "fox"), (-100, 120)), (("fox", "fool"), (120, -100)))]  # fmt: skip
    board = _duels(games)
    assert {row.label: (row.score, row.raw) for row in board.rows} == {"fox": (100, 1), "fool": (0, 0)}
    assert [cell.mean for cell in board.head_to_head] == [-1]
    assert all(0 <= bound <= 100 for row in board.rows for bound in (row.low, row.high) if bound is not None)


def test_the_ranking_of_duels_shows_profit_a_round_and_games() -> None:
    table = next(iter(board_tables(_duels(_league()))))
    assert table.columns[4:6] == ("profit a round", "games")
    # Of 20 rounds each, by the helper.
    board = _duels([bargain("i", "A", (300, 100), 1), bargain("i", "A", (100, 100), 2)])
    rows = {row[0]: row[4:6] for row in next(iter(board_tables(board))).rows}
    assert rows == {"i": ("10.000", "2"), "A": ("5.000", "2")}


def test_a_page_names_files_without_their_folders() -> None:
    hidden = _auctions()[0]._replace(path="/secret/place/0.trace", unusable="unfinished")
    boards = boards_of(leaderboards(Results([*_auctions()[1:], hidden], [])))
    assert boards.pages[0].left_out == ["1 (unfinished): 0.trace"]
