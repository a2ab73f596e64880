"""Conditional surplus alpha: keys, fallbacks, the table that it rests on, and the public logs' own figures.

Also here:
- The source's table of CSα: read strictly, and what `csa_source` makes of it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from benchmarks.csa_fill import filled
from benchmarks.references_tables import build_file, build_table, check_tables, main
from benchmarks.surplus_reference import BUNDLED_SHAPES, file_of, play_truthful, table_of
from tests.sample import sample_logs

from tradefair.catalog import market_type
from tradefair.contract import ScenarioError, TraceError
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.double_auction import source_table as module
from tradefair.evaluation.markets.double_auction.source_table import (
    Key,
    SourceRow,
    SourceScore,
    csa_source,
    published_keys,
    read_source_table,
    source_table,
)
from tradefair.evaluation.markets.double_auction.surplus_alpha import (
    ReferenceTable,
    Row,
    SeatResult,
    Shape,
    bundled_references,
    cached_path,
    csa,
    csa_clean,
    reference_table,
    share_of,
    spread_bucket,
    value_bucket,
)
from tradefair.tracestore import jsonl_lines, open_trace
from tradefair.trading.clearing import clear, residual_spread
from tradefair.trading.game_log import GameLog, read_game

SMALL = Shape(2, 2, 3, 100, "uniform")

TABLE = ReferenceTable(
    **Shape(4, 4, 10, 100, "uniform")._asdict(),
    episodes=1_000,
    slice_digest="",
    source={
        "buyer": {"60": {"20": Row(0.5, 0.1, 200), "all": Row(0.4, 0.1, 900)}, "all": {"all": Row(0.2, 0.25, 4000)}},
        "seller": {"22.5": {"all": Row(0.4, 0.01, 199)}, "all": {"all": Row(0.2, 0.01, 4000)}},
    },
    clean={"buyer": {"60": Row(0.5, 0.1, 200), "all": Row(0.2, 0.2, 4000)}, "seller": {"all": Row(0.1, 0.2, 4000)}},
)


def test_values_and_spreads_fall_into_the_buckets_of_the_source() -> None:
    buyers = [value_bucket("source", "buyer", value) for value in (0, 2, 3, 52, 53, 100)]
    assert buyers == ["0", "0", "5", "50", "55", "100"]
    assert [value_bucket("source", "seller", cost) for cost in (1, 2, 21, 22, 49)] == ["0", "2.5", "20", "22.5", "50"]
    assert [value_bucket("clean", "seller", cost) for cost in (0, 38, 100)] == ["100", "60", "0"]
    assert [spread_bucket(spread) for spread in (None, 1, 3, 88)] == ["none", "0", "5", "90"]
    assert value_bucket("source", "buyer", 530, price_max=1_000) == "550"


def test_a_share_is_of_what_was_possible_and_only_the_source_forgives_losses() -> None:
    loser = SeatResult("buyer", 60, -30, 20, None)
    assert (share_of("source", loser, 10), share_of("clean", loser, 10)) == (0, -0.15)
    hopeless = SeatResult("seller", 99, -10, 0, None)
    assert (share_of("source", hopeless, 10), share_of("clean", hopeless, 10)) == (0, -1)


@pytest.mark.parametrize(
    ("seat", "score"),
    [
        (SeatResult("buyer", 60, 120, 20, 21), 1.0),  # its own key: (.6 − .5)/.1
        (SeatResult("buyer", 60, 120, 20, 33), 2.0),  # no such spread: the value's key
        (SeatResult("buyer", 60, 120, 20, None), 2.0),
        (SeatResult("buyer", 35, 120, 20, 21), 1.6),  # no such value: the role's key
        (SeatResult("seller", 22, 80, 40, None), 0.0),  # 199 seats are too few
        (SeatResult("seller", 22, 90, 40, None), 0.5),  # sigma is .05 at least: (.225 − .2)/.05
        (SeatResult("seller", 22, 400, 40, None), 5.0),  # clipped
    ],
)
def test_the_source_form_falls_back_to_coarser_keys(seat: SeatResult, score: float) -> None:
    assert csa(TABLE, seat) == pytest.approx(score)


def test_the_clean_form_counts_losses_and_takes_sellers_in_buyer_terms() -> None:
    assert csa_clean(TABLE, SeatResult("buyer", 60, 120, 20, 21)) == pytest.approx(1)
    assert csa_clean(TABLE, SeatResult("buyer", 60, -20, 20, 21)) == -5
    assert csa_clean(TABLE, SeatResult("seller", 40, 60, 20, 21)) == pytest.approx(1)


def test_an_episode_whose_values_came_otherwise_has_no_shape() -> None:
    usual: dict[str, Any] = {"n_buyers": 4, "n_sellers": 4, "rounds": 30, "price_max": 100, "acceptance": "vector"}
    usual |= {"min_buyer_value": 1, "max_seller_cost": None, "min_gap": 3}
    assert Shape.of(usual, "uniform") == Shape(4, 4, 30, 100, "uniform")
    assert Shape.of(usual | {"max_seller_cost": 99}, "uniform") == Shape(4, 4, 30, 100, "uniform")
    for odd in ({"min_gap": 4}, {"acceptance": "none"}, {"rounds": "30"}, {"n_buyers": True}, {"price_max": 150}):
        assert Shape.of(usual | odd, "uniform") is None


# --- the tables -----------------------------------------------------------------------------------------------------


CLEAN_TABLE = {
    "uniform": {20: (0.009, 0.055), 40: (0.087, 0.159), 60: (0.240, 0.202), 80: (0.397, 0.147), 100: (0.494, 0.031)},
    "correlated_source": {
        20: (0.008, 0.052), 40: (0.084, 0.156), 60: (0.240, 0.199), 80: (0.396, 0.146), 100: (0.492, 0.034),
    },
    "heavy_tailed": {
        20: (0.001, 0.014), 40: (0.029, 0.096), 60: (0.297, 0.186), 80: (0.449, 0.096), 100: (0.492, 0.027),
    },
    "semi_bimodal": {80: (0.257, 0.229), 100: (0.486, 0.062)},
}  # fmt: skip
"""Double_auction page, 9.4: mean and deviation by value bucket, 4+4 seats and 30 rounds."""


@pytest.mark.parametrize("law", CLEAN_TABLE)
def test_the_clean_table_has_the_values_of_the_specification(law: str) -> None:
    """Over both roles: keyed values are rounded down, so that a cost and a value of the same law differ by a point."""
    table = reference_table(Shape(4, 4, 30, 100, law))
    assert table is not None
    assert table.episodes == 60_000
    for bucket, (mean, sd) in CLEAN_TABLE[law].items():
        rows = [rows[str(bucket)] for rows in table.clean.values()]
        seats = sum(row.seats for row in rows)
        pooled = sum(row.mean * row.seats for row in rows) / seats
        square = sum(row.seats * (row.sd**2 + (row.mean - pooled) ** 2) for row in rows) / seats
        assert (pooled, square**0.5) == (pytest.approx(mean, abs=0.006), pytest.approx(sd, abs=0.006))


def test_the_bundled_tables_are_whole_and_of_the_rules_as_they_are() -> None:
    file = bundled_references()
    assert file is not None
    assert file_of(file.tables) == file
    assert file.rules_version == market_type("double_auction").version, "build them anew: benchmarks.references_tables"
    assert {table.shape for table in file.tables} == set(BUNDLED_SHAPES)
    for table in file.tables:
        for side in ("buyer", "seller"):
            assert table.source[side]["all"]["all"].seats == 60_000 * table.n_buyers
            assert table.clean[side]["all"].seats == 60_000 * table.n_buyers


@pytest.mark.many
@pytest.mark.parametrize("shape", [Shape(4, 4, 30, 100, "semi_bimodal"), Shape(3, 3, 8, 100, "uniform")])
def test_a_slice_of_the_bundled_tables_is_what_the_engine_plays(shape: Shape) -> None:
    table = reference_table(shape)
    assert table is not None
    assert [one.problem for one in check_tables(file_of([table]))] == [""]


def test_a_truthful_seat_scores_zero_on_average_among_truthful_seats() -> None:
    seats = play_truthful(SMALL, range(1, 301)).seats
    table = table_of(SMALL, seats, 300, "")
    assert not set(table.clean["buyer"]) - {"all"}  # every bucket holds fewer than 200 of the 600 seats
    scores = [csa_clean(table, seat) or 0.0 for seat in seats.elements() if seat.side == "buyer"]
    assert sum(scores) / len(scores) == pytest.approx(0, abs=1e-4)


def test_a_table_does_not_depend_on_how_the_seeds_are_shared_out() -> None:
    whole = play_truthful(SMALL, range(1, 61)).seats
    halves = play_truthful(SMALL, range(31, 61)).seats + play_truthful(SMALL, range(1, 31)).seats
    assert table_of(SMALL, whole, 60, "") == table_of(SMALL, halves, 60, "")
    assert build_table(SMALL, 60, processes=2) == build_table(SMALL, 60)


@pytest.mark.parametrize("law", ["uniform", "semi_bimodal"])
def test_an_episode_that_is_cleared_once_ends_as_the_engine_ends_it_round_by_round(law: str) -> None:
    shape = Shape(3, 3, 4, 100, law)
    assert play_truthful(shape, range(1, 61)) == play_truthful(shape, range(1, 61), round_by_round=True)


def test_a_stopped_build_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "tables.json"
    other = SMALL._replace(distribution="heavy_tailed")
    first = build_file(path, [SMALL], 40)
    altered = first.tables[0].model_copy(update={"slice_digest": "kept"})
    path.write_text(path.read_text().replace(first.tables[0].slice_digest, "kept"))
    assert [table.shape for table in build_file(path, [SMALL, other], 40).tables] == [SMALL, other]
    assert build_file(path, [SMALL, other], 40).tables[0] == altered
    assert build_file(path, [SMALL], 41).tables[0].episodes == 41


def test_a_check_finds_tables_that_the_rules_do_not_give(tmp_path: Path) -> None:
    file = build_file(tmp_path / "tables.json", [SMALL], 40)
    assert [one.problem for one in check_tables(file)] == [""]
    with pytest.raises(TraceError, match="digest"):
        check_tables(file.model_copy(update={"tables": [TABLE]}))
    (tmp_path / "notes.json").write_text("{}")
    with pytest.raises(ScenarioError, match="no file of reference tables"):
        build_file(tmp_path / "notes.json", [SMALL], 40)


def test_a_shape_without_a_table_has_no_csa_until_one_is_built(
    play: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path / "cache"))
    path = play("double_auction/smoke", "truthful", distribution="uniform", values=None)
    before = evaluate_file(path).outcome
    assert before is not None
    assert (before.market_outcome.csa_episodes, before.market_outcome.csa_missing) == (None, "no table")
    assert {seat.csa for seat in before.seats.values()} == {None}
    assert main(["--shape", "2+2x3", "--episodes", "20"]) == 0
    assert main(["--shape", "2+2x3", "--check"]) == 0
    assert str(cached_path(SMALL)) in capsys.readouterr().out
    after = evaluate_file(path).outcome
    assert after is not None
    assert (after.market_outcome.csa_episodes, after.market_outcome.csa_missing) == (20, None)
    table, seat = reference_table(SMALL), after.seats["B1"]
    assert table is not None
    result = SeatResult("buyer", seat.value, seat.payoff, seat.potential, None)
    assert seat.csa_clean == csa_clean(table, result) is not None
    assert reference_table(SMALL._replace(rounds=4)) is None


def test_given_values_have_no_csa(play: Any) -> None:
    outcome = evaluate_file(play("double_auction/smoke", "truthful")).outcome
    assert outcome is not None
    assert outcome.market_outcome.csa_missing == "unusual values"


def test_a_game_that_was_cut_short_has_no_csa(play: Any, tmp_path: Path) -> None:
    with open_trace(play("double_auction/duel", "truthful", rounds=4, distribution="uniform")) as trace:
        lines = list(jsonl_lines(trace))
    closed = [at for at, line in enumerate(lines) if b'"event":"round_closed"' in line]
    cut = tmp_path / "cut.trace.jsonl"
    cut.write_bytes(b"\n".join(lines[: closed[2] + 1]) + b"\n")
    outcome = evaluate_file(cut).outcome
    assert outcome is not None
    assert outcome.market_outcome.csa_missing == "cut short"
    assert outcome.seats["B1"].csa is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "say what to do"),
        (["--shape", "4x4"], "write BUYERS+SELLERSxROUNDS"),
        (["--shape", "4+4x30", "--out", "x.json"], "leave one out"),
        (["--shape", "1+1x2", "--check"], "build them first"),
    ],
)
def test_a_wrong_order_says_what_to_write(
    arguments: list[str], says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path))
    assert main(arguments) == 2
    assert says in capsys.readouterr().err


# --- the public logs ------------------------------------------------------------------------------------------------


def _games() -> list[GameLog]:
    return [read_game(path.read_bytes().splitlines(keepends=True), path.name) for path in sample_logs("bazaar")]


def _last_spread(game: GameLog) -> int | None:
    last, seats = game.rounds[-1], game.init.roster if game.init else None
    assert seats is not None
    quotes = {row.agent_id: row.price for row in last.quotes}
    bids = {seat: quotes[seat] for seat in seats.buyers}
    asks = {seat: quotes[seat] for seat in seats.sellers}
    return residual_spread(bids, asks, clear(bids, asks, last.quote_order, lambda pair: True))


def test_the_logs_own_csa_is_a_score_of_our_share_under_our_keys() -> None:
    """Our key and share are theirs: within a key more share is more csa, by a deviation that is nowhere below .05."""
    keys: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    seats = 0
    for game in _games():
        assert game.init is not None
        assert game.final is not None
        init, final = game.init.data, game.final.data
        spread = spread_bucket(_last_spread(game))
        for seat, agent in init.agents.items():
            role: Any = agent.role
            value = game.init.values[seat]
            result = SeatResult(
                role, value, int(final.final_payoff_map[seat]), int(final.seat_max_potential_surplus_map[seat]), None
            )
            share = share_of("source", result, init.num_rounds)
            assert share == pytest.approx(final.seat_surplus_share_map[seat], abs=1e-12)
            keys[init.distribution, role, value_bucket("source", role, value), spread].append(
                (share, final.seat_csa_map[seat])
            )
            seats += 1
    assert seats == 128
    sigmas = [
        (more[0] - less[0]) / (more[1] - less[1])
        for scores in keys.values()
        for less, more in zip(sorted(scores), sorted(scores)[1:], strict=False)
        if more[0] > less[0]
    ]
    assert len(sigmas) == 4
    assert min(sigmas) >= 0.05


SHAPE = Shape(4, 4, 30, 100, "correlated_source")
HEAD = "# Where it comes from.\nlaw,role,value_bucket,spread_bucket,mean_share,sd_share,seats,basis,error\n"
FIRST = "correlated,buyer,60,15,0.4,0.1,12,solved,0\n"


def test_the_package_has_the_keys_that_the_public_logs_determine_and_fills_the_others() -> None:
    table = source_table()
    solved = {key: row for key, row in table.items() if row.basis == "solved"}
    assert (len(solved), len(table)) == (1_691, 1_691 + 3_629)
    assert solved[Key("correlated", "buyer", "10", "35")] == SourceRow(0.002055234, 0.05, 12, "solved", 0)
    path = Path(os.environ.get("TRADEFAIR_DATA", "."), "bazaar", "csa_source_table.csv")
    if path.is_file():
        told = {line for line in path.read_text(encoding="utf-8").splitlines() if line[:1] not in "#l"}
        assert told == {",".join(map(str, (*key, *row[:3]))) for key, row in solved.items()}
    # What `python -m benchmarks.csa_fill` writes.
    assert filled(solved)[0] == {key: row for key, row in table.items() if row.basis == "filled"}


def test_a_key_is_filled_from_solved_keys_near_it_and_from_those_of_no_other_law_role_or_kind_of_spread() -> None:
    def row(mean: float) -> SourceRow:
        return SourceRow(mean, 0.1, 16, "solved", 0)

    solved = {Key("uniform", "buyer", str(value), "10"): row(value / 200) for value in range(40, 65, 5)}
    rows, left = filled(solved)
    found = rows[Key("uniform", "buyer", "50", "15")]
    assert found.mean == pytest.approx(0.25, abs=0.01)
    assert found[1:4] == (0.1, 0, "filled")
    assert [key for key, _ in left] == [*solved]
    # Of a straight line the inner keys are predicted well, and the outer ones are drawn to the others.
    errors = [error or 0.0 for _, error in left]
    assert max(errors[1:-1]) < 0.05 < min(errors[0], errors[-1])
    assert errors[2] <= found.error <= max(errors)
    assert {key[:2] for key in rows} == {("uniform", "buyer")}
    # Too far in value or in spread, or without one.
    assert not {"0", "100"} & {key.value_bucket for key in rows if key.spread_bucket == "60"}
    assert "none" not in {key.spread_bucket for key in rows}
    # One that is off its level moves those of its spread more.
    key = Key("uniform", "buyer", "50", "30")
    near, far = Key("uniform", "buyer", "55", "30"), Key("uniform", "buyer", "55", "5")
    moved, _ = filled({**solved, key: row(0.75)})
    assert moved[near].mean - rows[near].mean > moved[far].mean - rows[far].mean


@pytest.mark.parametrize(
    ("row", "line", "field"),
    [
        ("correlated_source,buyer,60,20,0.4,0.1,12,solved,0", 4, "law"),
        ("correlated,trader,60,20,0.4,0.1,12,solved,0", 4, "role"),
        ("correlated,buyer,62.5,20,0.4,0.1,12,solved,0", 4, "value_bucket"),
        ("correlated,seller,105,20,0.4,0.1,12,solved,0", 4, "value_bucket"),
        ("correlated,buyer,60,22.5,0.4,0.1,12,solved,0", 4, "spread_bucket"),
        ("correlated,buyer,60,20,x.4,0.1,12,solved,0", 4, "mean_share"),
        ("correlated,buyer,60,20,nan,0.1,12,solved,0", 4, "mean_share"),
        ("correlated,buyer,60,20,-0.4,0.1,12,solved,0", 4, "mean_share"),
        ("correlated,buyer,60,20,0.4,0.04,12,solved,0", 4, "sd_share"),
        ("correlated,buyer,60,20,0.4,,12,solved,0", 4, "sd_share"),
        ("correlated,buyer,60,20,0.4,0.1", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1,1,solved,0", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1,12,filled,0.1", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1,1,filled,0.1", 4, "seats"),
        ("correlated,buyer,60,20,0.4,0.1,12,9", 4, "basis"),
        ("correlated,buyer,60,20,0.4,0.1,12,solved,0.1", 4, "error"),
        ("correlated,buyer,60,20,0.4,0.1,0,filled,-1", 4, "error"),
        ("correlated,buyer,60,20,0.4,0.1,12,solved,0,9", 4, "error"),
        ("correlated,buyer,60,15,0.5,0.1,12,solved,0", 4, "law"),
        ("", 4, "law"),
        ("# a remark between rows", 4, "law"),
    ],
)
def test_a_damaged_row_is_refused_with_file_line_and_field(row: str, line: int, field: str) -> None:
    with pytest.raises(ScenarioError, match=rf"^mine\.csv, line {line}, {field}: "):
        read_source_table(f"{HEAD}{FIRST}{row}\n{FIRST.replace('60', '65')}".encode(), "mine.csv")


@pytest.mark.parametrize("content", [b"", b"# only a remark\n", HEAD.encode(), b"\xff\xfe\x00", b"law,role\n"])
def test_a_file_of_something_else_is_refused(content: bytes) -> None:
    with pytest.raises(ScenarioError, match=r"^mine\.csv, line \d, law: "):
        read_source_table(content, "mine.csv")


def test_a_changed_digit_in_the_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_DIGEST", "0" * 64)
    with pytest.raises(ScenarioError, match=r"csa_source_table\.csv: the rows are not those of this release"):
        source_table.__wrapped__()


def test_a_score_is_by_the_row_of_the_seats_own_key_and_of_no_coarser_one() -> None:
    # Floored, since losses count as nothing: (0 − .002055234)/.05.
    found = csa_source(SHAPE, SeatResult("buyer", 11, -300, 20, 34))
    assert found is not None
    assert found == SourceScore(found.score, "solved", 0)
    assert found.score == pytest.approx(-0.04110468)
    most = csa_source(SHAPE, SeatResult("buyer", 11, 600, 20, 34))
    assert most is not None
    assert most.score == 5
    other = csa_source(SHAPE, SeatResult("buyer", 11, 0, 20, 38))
    assert other is not None
    assert other[1:] == source_table()[Key("correlated", "buyer", "10", "40")][3:]
    # Of low costs no solved key is without a spread.
    assert csa_source(SHAPE, SeatResult("seller", 5, 0, 20, None)) is None
    assert not published_keys(SHAPE._replace(rounds=10))
    assert csa_source(SHAPE._replace(rounds=10), SeatResult("buyer", 11, 0, 20, 34)) is None
    assert csa_source(SHAPE._replace(distribution="correlated_common"), SeatResult("buyer", 11, 0, 20, 34)) is None
