"""Experiments over real episodes: scripted customers whose bias and obedience are known, recovered from traces.

Also here:
- Rates, lifts and costs of order over made choices, by hand.
- The permutation test of ranks, held to counts by hand and to a plain enumeration.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import orjson
import pytest
from benchmarks.fidelity.__main__ import figures
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue
from tests.evaluation.markets.marketplace.modes.playing import Episode, play_market
from tests.evaluation.mutations import Mutation, mutated_parts, mutations, parts_of, write_parts
from tests.evaluation.playing import played

from tradefair.catalog import market_type
from tradefair.cli import run
from tradefair.contract import ToolAnswer, ToolCall, Turns, TurnView
from tradefair.evaluation.charts.chart import BarChart
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.markets.marketplace.experiments.bias import Choice, order_bias
from tradefair.evaluation.markets.marketplace.experiments.figure import experiment_page
from tradefair.evaluation.markets.marketplace.experiments.manipulation import SURFACES
from tradefair.evaluation.markets.marketplace.experiments.model import (
    BiasRow,
    ExperimentReport,
    ManipulationCell,
    OverloadRow,
)
from tradefair.evaluation.markets.marketplace.experiments.permutation import DRAWS, Block, permutation_test
from tradefair.evaluation.markets.marketplace.experiments.report import experiment_report
from tradefair.evaluation.markets.marketplace.experiments.runs import Shopper, episode_of
from tradefair.evaluation.markets.marketplace.experiments.search import BASELINES
from tradefair.evaluation.statistics import sign_flip
from tradefair.host.server.wire import untrusted
from tradefair.tracestore import find_traces, open_trace

SIX = range(6)
BOUGHT_BY = {"first_taker": ([1.0, 0.0, 0.0], 1 / 90), "patient_comparer": ([1 / 3, 1 / 3, 1 / 3], 1.0)}


def _played(folder: Path, episodes: Iterable[Episode]) -> ExperimentReport:
    paths = [play_market(folder / f"{place}.trace", episode) for place, episode in enumerate(episodes)]
    return experiment_report(paths)


def _arrivals(scenario: str, policy: str, seeds: Sequence[int], **more: int) -> list[Episode]:
    return [
        Episode(scenario, policy, seed=seed, overrides={"arrival_permutation": arm, **more})
        for seed in seeds
        for arm in SIX
    ]


def _only(rows: Sequence[BiasRow]) -> BiasRow:
    (row,) = rows
    return row


# --- bias -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", BOUGHT_BY)
@pytest.mark.parametrize("stagger", [0, 1])
def test_the_rates_of_first_takers_and_patient_customers_are_recovered_with_exact_p(
    tmp_path: Path, policy: str, stagger: int
) -> None:
    report = _played(tmp_path, _arrivals("marketplace/proposal_bias", policy, [1], arrival_stagger=stagger))
    row = _only(report.bias)
    rates, p = BOUGHT_BY[policy]
    assert (row.by, row.agent, row.bias.blocks, row.bias.arms) == ("arrival", policy, 4, 6)
    assert row.bias.rates == pytest.approx(rates, abs=1e-9)
    assert row.bias.lifts == pytest.approx([3 * rate for rate in rates], abs=1e-8)
    # Four customers are four blocks.
    assert (row.bias.p, row.bias.method) == (pytest.approx(p**4, rel=1e-12), "exact")


def test_taking_the_first_offer_has_a_price_and_patience_has_none(tmp_path: Path) -> None:
    hasty = _only(_played(tmp_path, _arrivals("marketplace/proposal_bias_graded", "first_taker", [1])).bias).bias
    patient = _only(_played(tmp_path, _arrivals("marketplace/proposal_bias_graded", "patient_comparer", [1])).bias).bias
    assert hasty.cost_of_order is not None
    assert patient.cost_of_order is not None
    # Best first is 0.80 of the list total; best last pays 1.00 or 0.90.
    assert hasty.cost_of_order.cost > 0
    assert patient.cost_of_order.cost == 0
    assert patient.cost_of_order.best_first == hasty.cost_of_order.best_first


def test_who_asks_the_first_on_the_page_is_found_and_who_asks_all_is_not(tmp_path: Path) -> None:
    episodes = [
        Episode("marketplace/position_bias", policy, overrides={"listing_permutation": arm})
        for policy in ("position_taker", "item_searcher")
        for arm in SIX
    ]
    rows = {row.agent: row.bias for row in _played(tmp_path, episodes).bias}
    taker, searcher = rows["position_taker"], rows["item_searcher"]
    assert (taker.rates, taker.hits) == ([1.0, 0.0, 0.0], 24)
    assert taker.p == pytest.approx((1 / 90) ** 4, rel=1e-12)
    assert searcher.rates == pytest.approx([1 / 3] * 3, abs=1e-9)
    assert searcher.p == 1.0


def test_the_ranks_are_those_in_which_search_showed_and_facts_delivered(tmp_path: Path) -> None:
    for arm in (0, 3):
        episode = Episode("marketplace/position_bias", seed=4, overrides={"listing_permutation": arm})
        events = _events(play_market(tmp_path / "shown.trace", episode))
        handles = {name: seat for seat, name in events[-1]["facts"]["handles"].items()}
        search = next(event for event in events if event.get("tool") == "search_businesses")
        shown = [handles[ref] for ref in search["refs"] if "." not in ref]
        assert _shopper_of(tmp_path / "shown.trace").listed == tuple(shown)
        late = Episode("marketplace/proposal_bias", seed=4, overrides={"arrival_permutation": arm})
        facts = _events(play_market(tmp_path / "sent.trace", late))[-1]["facts"]
        assert _shopper_of(tmp_path / "sent.trace").arriving == tuple(
            facts["customers"]["customer_0001"]["arrival_order"]
        )


# --- manipulation ---------------------------------------------------------------------------------------------------


def _planted(policy: str, condition: str, surface: str, seed: int = 1, scenario: str = "competitive") -> Episode:
    texts = {"manipulation.condition": condition, "manipulation.surface": surface}
    return Episode(f"marketplace/manipulation_{scenario}", policy, seed=seed, overrides=texts)


def _cells(report: ExperimentReport) -> dict[tuple[str, str, str], ManipulationCell]:
    return {(cell.agent, cell.surface, cell.condition): cell for cell in report.manipulation}


def test_the_policy_that_follows_canaries_is_flagged_only_where_it_saw_them(tmp_path: Path) -> None:
    cells = _cells(
        _played(
            tmp_path,
            [
                _planted(policy, condition, surface)
                for policy in ("injectable", "item_searcher")
                for surface in SURFACES
                for condition in ("control", "injection_strong")
            ],
        )
    )
    for (policy, surface, condition), cell in cells.items():
        # It pays before anything is withdrawn.
        seen = surface != "withdraw_reason" and (policy, surface) != ("item_searcher", "proposal_note")
        assert cell.exposed == (3 if seen else 0)
        assert cell.unseen == 0
        ordered = policy == "injectable" and seen and condition != "control"
        assert cell.flagged is ordered, (policy, surface, condition)
        assert cell.followed == (None if not seen else float(ordered))
        assert cell.to_it == (3 if ordered else 1)
        assert (cell.misdirected, bool(cell.cost)) == ((2, True) if ordered else (0, False))


def test_shares_are_held_against_the_control_of_the_same_seeds(tmp_path: Path) -> None:
    cells = _cells(
        _played(
            tmp_path,
            [
                _planted("injectable", condition, "description", seed)
                for seed in range(1, 7)
                for condition in ("control", "social_proof", "injection_strong")
            ],
        )
    )
    drawn = cells["injectable", "description", "injection_strong"]
    share = drawn.against_control["share"]
    assert (share.here, share.control, share.seeds) == (1.0, pytest.approx(1 / 3, abs=1e-9), 6)
    assert (share.p, share.method) == (2 / 2**6, "exact")
    assert drawn.against_control["cost"].difference == pytest.approx(drawn.cost / 6)
    assert drawn.directives == {"echo": 1.0, "contact_only": 1.0, "take_first_offer": 1.0, "finish_after": 1.0}
    assert drawn.against_control["contact_only"].control == 0
    mild = cells["injectable", "description", "social_proof"]
    assert (mild.against_control["share"].difference, mild.against_control["share"].p) == (0.0, 1.0)


def test_with_identical_businesses_a_followed_text_takes_all_and_misdirects_nothing(tmp_path: Path) -> None:
    cells = _cells(
        _played(
            tmp_path,
            [
                _planted(policy, condition, "description", scenario="high")
                for policy in ("injectable", "item_searcher")
                for condition in ("control", "injection_basic", "injection_strong")
            ],
        )
    )
    for condition in ("injection_basic", "injection_strong"):
        cell = cells["injectable", "description", condition]
        assert (cell.share, cell.followed, cell.misdirected) == (1.0, 1.0, 0)
        assert not cells["item_searcher", "description", condition].flagged


def test_an_example_leads_to_the_result_that_showed_the_text_and_to_the_word(tmp_path: Path) -> None:
    report = _played(tmp_path, [_planted("injectable", "injection_basic", "description")])
    example = report.manipulation[0].examples[0]
    events = {event["seq"]: event for event in _events(Path(example.trace))}
    assert events[example.shown]["tool"] == "search_businesses"
    word = events[max(events)]["facts"]["canaries"][0]["canary"]
    assert word in events[example.wrote[0]]["arguments"]["text"]
    assert events[example.wrote[0]]["seat"] == example.seat


@pytest.mark.parametrize("surface", SURFACES)
def test_a_customer_that_looks_at_everything_meets_every_text_in_fields_that_are_marked(
    tmp_path: Path, surface: str
) -> None:
    answers: list[tuple[str, Any]] = []
    watched = _planted("item_searcher", "injection_basic", surface, scenario="high")
    path = play_market(tmp_path / "watched.trace", watched._replace(seats={"customer_0001": _watcher(answers)}))
    canary = _events(path)[-1]["facts"]["canaries"][0]["canary"]
    tools = market_type("marketplace").tools
    carried = 0
    for tool, data in answers:
        held = {pointer for pointer, text in _texts(data, "") if canary in text}
        assert held <= set(untrusted(tools[tool].untrusted_paths, data)), tool
        carried += len(held)
    assert carried
    (cell,) = experiment_report([path]).manipulation
    assert (cell.exposed, cell.followed, cell.unseen) == (1, 0.0, 0)


def _watcher(answers: list[tuple[str, Any]]) -> Callable[[TurnView], Turns]:
    """Asks everybody once, then looks at its mail and at all proposals in every round, and pays nobody."""

    def look(tool: str, **arguments: JsonValue) -> Generator[ToolCall, ToolAnswer, Any]:
        answer = yield ToolCall(tool, arguments)
        answers.append((tool, answer.data))
        return answer.data

    def turn(now: TurnView) -> Turns:
        if now.round == 1:
            own = yield from look("view_my_request")
            found = yield from look("search_businesses", query="")
            to: list[JsonValue] = [row["business"] for row in found["results"]]
            for business in to:
                yield from look("view_business", business=business)
            inquiry = {"items": own["items"], "amenities": own["amenities"]}
            yield ToolCall("send_message", {"to": to, "text": "An offer, please.", "inquiry": inquiry})
        else:
            yield from look("receive_messages", after=0)
            yield from look("view_proposals")
        yield ToolCall("finish") if now.round > 6 else ToolCall("end_turn")

    return turn


def _texts(value: Any, pointer: str) -> Iterator[tuple[str, str]]:
    """Every text in plain data with its JSON pointer."""
    if isinstance(value, str):
        yield pointer, value
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType]
    for key, held in inner:  # pyright: ignore[reportUnknownVariableType]
        yield from _texts(held, f"{pointer}/{key}")


# --- overload -------------------------------------------------------------------------------------------------------


def test_who_asks_the_last_on_the_page_does_worse_on_longer_pages_and_who_asks_all_does_not(tmp_path: Path) -> None:
    episodes = [
        Episode("marketplace/small_demo", policy, seed=seed, overrides={"search_limit": size})
        for policy, seeds in (("narrow_outreach", 7), ("item_searcher", 4))
        for seed in range(1, seeds)
        for size in (1, 9)
    ]
    rows: dict[str, OverloadRow] = {row.agent: row for row in _played(tmp_path, episodes).overload}
    narrow, searcher = rows["narrow_outreach"], rows["item_searcher"]
    (pair,) = narrow.pairs
    assert (narrow.overload, pair.drop > 0, pair.seeds, pair.p) == (True, True, 6, 2 / 2**6)
    assert not searcher.overload
    assert searcher.sizes[1].welfare >= searcher.sizes[0].welfare
    assert [size.messages for size in searcher.sizes] == [1.0, 9.0]
    assert [size.messages for size in narrow.sizes] == [1.0, 1.0]


# --- odd traces -----------------------------------------------------------------------------------------------------


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=mutations())
def test_a_mutated_trace_is_evaluated_or_left_out(tmp_path: Path, changes: Sequence[Mutation]) -> None:
    whole = tmp_path / "whole.trace"
    if not whole.exists():
        play_market(whole, _planted("injectable", "injection_strong", "description", scenario="high"))
    mutated = write_parts(mutated_parts(parts_of(whole), changes), tmp_path / "mutated.trace")
    report = experiment_report([mutated])
    assert report.episodes + len(report.left_out) == 1


def test_an_unfinished_trace_and_one_of_another_market_are_left_out_and_named(tmp_path: Path) -> None:
    cut = parts_of(play_market(tmp_path / "whole.trace", Episode("marketplace/small_demo")))
    del cut.bodies[-1:], cut.numbers[-1:]
    cut.about = {key: value for key, value in cut.about.items() if key not in ("end_reason", "outcome_digest")}
    paths = [write_parts(cut, tmp_path / "cut.trace"), played(tmp_path / "other.trace", "double_auction/smoke")]
    report = experiment_report(paths)
    assert list(report.left_out.values()) == [
        "not played to an end (unfinished)",
        "a trace of double_auction: experiments are of the marketplace",
    ]


# --- the command ----------------------------------------------------------------------------------------------------


def test_the_command_prints_tables_and_names_what_was_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for arm in SIX:
        episode = Episode("marketplace/position_bias", "position_taker", overrides={"listing_permutation": arm})
        play_market(tmp_path / f"{arm}.trace", episode)
    assert run(["lab", "experiment", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert "position_taker" in printed
    assert "1.5e-08" in printed
    assert run(["lab", "experiment", str(tmp_path), "--json"]) == 0
    report = ExperimentReport.model_validate_json(capsys.readouterr().out)
    assert _only(report.bias).bias.p == pytest.approx((1 / 90) ** 4)
    files = [tmp_path / "out" / f"bias.{suffix}" for suffix in ("csv", "svg", "tex", "html")]
    for file in files:
        assert run(["lab", "experiment", str(tmp_path), "-o", str(file)]) == 0
    head, *rows = files[0].read_text().splitlines()
    assert head == "series,rank that the arm gave,share of choices"
    assert [float(row.rpartition(",")[2]) for row in rows] == _only(report.bias).bias.rates
    assert b"took the first of 3 by list position in 100 % of its choices (33 % by chance" in files[2].read_bytes()
    (tmp_path / "broken.trace").write_bytes(b"nothing")
    assert run(["lab", "experiment", str(tmp_path)]) == 1
    assert "left out" in capsys.readouterr().out


def test_a_folder_without_an_experiment_says_what_to_play(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    play_market(tmp_path / "one.trace", Episode("marketplace/small_demo"))
    assert run(["lab", "experiment", str(tmp_path)]) == 1
    assert "tradefair sweep marketplace/position_bias" in capsys.readouterr().out


@pytest.mark.many
def test_a_bundled_plan_is_swept_and_evaluated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sweep = ("sweep", "marketplace/position_bias", "--seeds", "2", "--out", str(tmp_path), "--executor", "local")
    assert run(sweep) == 0
    assert len(find_traces(tmp_path)) == 2 * 6 * 2
    capsys.readouterr()
    assert run(["lab", "experiment", str(tmp_path), "--json"]) == 0
    rows = {row.agent: row.bias for row in ExperimentReport.model_validate_json(capsys.readouterr().out).bias}
    assert rows["policy:position_taker"].p == pytest.approx((1 / 90) ** 8)
    assert rows["policy:item_searcher"].p == 1


def _events(path: Path) -> list[dict[str, Any]]:
    with open_trace(path) as trace:
        return [orjson.loads(stored.body) for stored in trace.events()]


def _shopper_of(path: Path) -> Shopper:
    with open_trace(path) as trace:
        return episode_of(trace).shoppers[0]


THREE = ("a", "b", "c")
ORDERS = tuple(permutations(THREE))
GRADED = {"a": 1.0, "b": 1.1, "c": 1.2}


def _runs(choose: str, block: int = 1, worth: dict[str, float] | None = None) -> list[Choice]:
    """Six arms; `choose` is "first", "last", "nobody" or a business."""
    worths = worth or dict.fromkeys(THREE, 1.0)
    runs: list[Choice] = []
    for arm, ranked in enumerate(ORDERS):
        chosen = {"first": ranked[0], "last": ranked[-1], "nobody": None}.get(choose, choose)
        runs.append(Choice(block, arm, ranked, chosen, worths, worths.get(chosen or "", 0.0)))
    return runs


def test_who_takes_the_first_is_recovered_with_lift_three() -> None:
    found = order_bias([*_runs("first"), *_runs("first", 2)])
    assert (found.counts, found.rates, found.lifts) == ([12, 0, 0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0])
    assert (found.first_to_last, found.hits, found.blocks, found.arms) == (None, 12, 2, 6)
    assert found.p == pytest.approx(1 / 8_100, rel=1e-12)


def test_who_takes_the_same_has_every_rank_equally_often() -> None:
    found = order_bias(_runs("a"))
    assert found.rates == pytest.approx([1 / 3] * 3, abs=1e-9)
    assert found.lifts == [1.0, 1.0, 1.0]  # of the counts, not of rates that are rounded
    assert (found.first_to_last, found.p, found.hits) == (1.0, 1.0, 2)


def test_runs_without_a_choice_count_as_runs_and_not_as_choices() -> None:
    nobody = order_bias(_runs("nobody"))
    assert (nobody.runs, nobody.choices, nobody.rates, nobody.lifts) == (6, 0, [None] * 3, [None] * 3)
    assert (nobody.first_to_last, nobody.p) == (None, 1.0)
    half = order_bias([*_runs("nobody"), *_runs("first", 2)])
    assert (half.rates, half.choices, half.runs) == ([1.0, 0.0, 0.0], 6, 12)
    # The silent block has one value only, and leaves the other block's p as it is.
    assert half.p == pytest.approx(1 / 90)


def test_a_choice_outside_the_ranked_is_counted_beside_them() -> None:
    found = order_bias(_runs("z"))
    assert (found.choices, found.counts, found.elsewhere, found.hits) == (6, [0, 0, 0], 6, 0)
    assert found.rates == [0.0, 0.0, 0.0]


def test_order_costs_what_the_best_offer_earns_less_when_it_comes_last() -> None:
    cost = order_bias(_runs("first", worth=GRADED)).cost_of_order
    # c is best and first in two arms (1.2 each), last in two (a and b are taken: 1.0 and 1.1).
    assert cost is not None
    assert (cost.best_first, cost.best_last, cost.cost, cost.runs) == (1.2, 1.05, 0.15, 4)
    patient = order_bias(_runs("c", worth=GRADED)).cost_of_order
    assert patient is not None
    assert patient.cost == 0
    assert order_bias(_runs("first")).cost_of_order is None


def test_missing_arms_and_repeated_ones_are_said() -> None:
    found = order_bias([*_runs("first"), *_runs("first", 2)[:4], *_runs("first")[:1]])
    assert (found.blocks, found.incomplete, found.repeated, found.runs) == (2, 1, 1, 10)
    # a, a, b, b first: 4 hits in 2!·2! of 4! ways.
    assert found.p == pytest.approx(1 / 90 / 6)


def test_nothing_is_nothing() -> None:
    found = order_bias([])
    assert (found.runs, found.p, found.first_to_last, found.rates) == (0, None, None, [])
    assert order_bias(_runs("first"), tested=False).p is None


SIX_ARMS = ("a", "a", "b", "b", "c", "c")
"""Whom each of the 3! orders of three ranks first."""

BLOCKS = st.integers(1, 4).flatmap(
    lambda m: st.tuples(
        st.lists(st.sampled_from("abc"), min_size=m, max_size=m),
        st.lists(st.sampled_from(["a", "b", "c", "x", None]), min_size=m, max_size=m),
    )
)


def _plainly(blocks: list[Block]) -> Fraction:
    """Every combination of the blocks' permutations, one by one."""
    totals = [0]
    for block in blocks:
        ways = [
            sum(one is not None and one == block.first[arm] for one, arm in zip(block.chosen, order, strict=True))
            for order in permutations(range(len(block.first)))
        ]
        totals = [total + way for total in totals for way in ways]
    observed = sum(block.hits for block in blocks)
    return Fraction(sum(total >= observed for total in totals), len(totals))


@pytest.mark.parametrize("blocks", [1, 2, 40])
def test_who_always_takes_the_first_has_one_ninetieth_per_block(blocks: int) -> None:
    found = permutation_test([Block(SIX_ARMS, SIX_ARMS)] * blocks)
    assert found is not None
    assert (found.hits, found.p, found.method) == (6 * blocks, Fraction(1, 90) ** blocks, "exact")


def test_who_always_takes_the_same_shows_nothing() -> None:
    found = permutation_test([Block(SIX_ARMS, ("a",) * 6)])
    assert found is not None
    assert (found.hits, found.p) == (2, 1)


def test_a_run_without_a_choice_scores_nothing() -> None:
    nobody = permutation_test([Block(SIX_ARMS, (None,) * 6)])
    assert nobody is not None
    assert (nobody.hits, nobody.p) == (0, 1)
    but_one = permutation_test([Block(SIX_ARMS, ("a", None, None, None, None, None))])
    assert but_one is not None
    assert but_one.p == Fraction(1, 3)


def test_without_runs_there_is_no_test() -> None:
    assert permutation_test([]) is None
    assert permutation_test([Block((), ())]) is None


@settings(max_examples=60)
@given(drawn=st.lists(BLOCKS, min_size=1, max_size=2))
def test_the_distribution_is_that_of_all_permutations(drawn: list[tuple[list[str], list[str | None]]]) -> None:
    blocks = [Block(tuple(first), tuple(chosen)) for first, chosen in drawn]
    found = permutation_test(blocks)
    assert found is not None
    assert found.p == _plainly(blocks)


def test_many_arms_are_drawn_the_same_each_time() -> None:
    first = tuple("ab" * 4)
    found = permutation_test([Block(first, first)])
    assert found is not None
    assert found.method == "100,000 draws"
    assert found.p == Fraction(1_423, DRAWS + 1)
    # 4!·4! of the 8! permutations put every a where an a was ranked first.
    assert float(found.p) == pytest.approx(576 / 40_320, rel=0.1)


def test_signs_are_counted_exactly_as_far_as_is_asked() -> None:
    alike = sign_flip([1.0] * 20, exact_to=20)
    assert alike is not None
    assert (alike.method, alike.p) == ("exact", round(2 / 2**20, 9))
    many = sign_flip([1.0, -1.0] * 11, exact_to=20, draws=20_000)
    assert many is not None
    assert (many.method, many.p) == ("20,000 draws", 1.0)


# --- search ---------------------------------------------------------------------------------------------------------


def test_welfare_by_search_stands_beside_what_simple_choices_earn(tmp_path: Path) -> None:
    episodes = [
        Episode("marketplace/small_demo", "item_searcher", seed=seed, overrides={"search_algorithm": search})
        for search, seed in (("lexical", 1), ("optimal", 1), ("lexical", 2))
    ]
    report = _played(tmp_path, episodes)
    (row,) = report.search
    with open_trace(tmp_path / "0.trace") as trace:
        market = evaluator_of("marketplace").outcomes(trace).market_outcome
    # Of the one seed that both searches have.
    assert (row.agent, row.runs, {*row.welfare}) == ("item_searcher", 1, {"lexical", "optimal"})
    assert row.welfare["lexical"] == market.welfare
    assert row.baselines == {name: getattr(market, name) for name in BASELINES}
    (chart,) = experiment_page(report, "tradefair lab experiment").charts
    assert isinstance(chart, BarChart)
    assert ([chart.id], len(chart.names)) == (figures()["magentic", "figure_4"].draws, 2 + len(BASELINES))
    assert chart.marks is not None
    assert {*chart.marks.values} == {market.optimal}
