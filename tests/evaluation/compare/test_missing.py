"""What pairs cannot tell: missing episodes, pairs with nothing to win, differences that few pairs carry.

Also here:
- What an episode took, counted from its trace.
- The first decision that differs between two traces of the same luck.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.evaluation.compare.conftest import PlayInto, PlaySeeds
from tests.play_specs import play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run as command
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.compare.comparing import Options, compare_folders
from tradefair.evaluation.compare.comparison import Divergence, Missing, Pair, Run
from tradefair.evaluation.compare.divergence import decisions, first_divergence
from tradefair.evaluation.compare.missing import bound_of, shares_of, skew_of
from tradefair.evaluation.outcome import PrimaryMetric
from tradefair.evaluation.read.accounts import Account, account
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import Written, open_trace, write_trace

PAYOFF = PrimaryMetric(name="payoff", unit="points")


def pair(a: float, b: float, stake: float | None = None, seed: int = 0) -> Pair:
    said: dict[str, Any] = {
        **{
            "path": "",
            "label": "",
            "policy_key": 0,
            "head": None,
            "moves": "",
            "outcome_digest": None,
            "rounds_closed": 1,
        },
        **{"moves": "", "end_reason": None, "censored": False, "early": False, "account": Account(), "at_stake": stake},
    }
    first, second = (Run(metrics={"payoff": value}, **said) for value in (a, b))
    made: dict[str, Any] = {"identical": False, "differences": {"payoff": b - a}, "divergence": None}
    return Pair(seed=seed, scenario="", a=[first], b=[second], **made)


def test_an_episode_of_the_other_side_is_missed_and_the_exit_code_says_so(
    play_seeds: PlaySeeds, play_into: PlayInto, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = play_seeds("a", "zip", range(4)), play_seeds("b", "truthful", range(2))
    play_into("b", "truthful", 2, stop_after=3)
    found = compare_folders(a, b)
    assert (found.missing.expected, found.missing.unfinished, found.missing.absent) == (4, 0, 2)
    assert "B lacks 2 of 4 seeds (seeds 2–3)" in found.verdict.sentences[1]
    assert command(["compare", str(a), str(b)]) == 1
    assert "B lacks 2 of 4 seeds" in capsys.readouterr().out
    assert command(["compare", str(a), str(a)]) == 0


def test_the_table_of_a_sweep_registers_what_should_be_there(play_seeds: PlaySeeds, tmp_path: Path) -> None:
    a, b = play_seeds("s/a", "zip", range(2)), play_seeds("s/b", "truthful", range(2))
    with sqlite3.connect(tmp_path / "s" / "sweep.sqlite") as db:
        db.execute("CREATE TABLE episodes (path TEXT, seed INTEGER)")
        db.executemany("INSERT INTO episodes VALUES (?, ?)", [("a/0.trace", 0), ("a/7.trace", 7), ("c/9.trace", 9)])
    found = compare_folders(a, b)
    assert (found.missing.expected, found.missing.absent) == (3, 1)
    # The plan asks side A alone for it, and nothing is known of what B would have scored there.
    (gap,) = found.gaps
    assert (gap.side, gap.seeds) == ("a", [7])
    assert "A lacks 1 of 3 seeds (seed 7)" in found.verdict.text
    assert command(["compare", str(a), str(b)]) == 1


def test_missing_pairs_bound_the_mean_by_the_extremes_seen() -> None:
    pairs = [pair(0, 10), pair(0, 10)]
    bound = bound_of(pairs, PAYOFF, Missing(expected=4, unfinished=1, absent=1))
    assert bound is not None
    # Two known differences of 10, two unknown ones between −10 and +10.
    assert (bound.low, bound.high) == (0.0, 10.0)
    assert bound_of(pairs, PAYOFF, Missing(expected=2, unfinished=0, absent=0)) is None


@pytest.mark.many
def test_what_missing_pairs_could_reverse_is_not_called_better(play_seeds: PlaySeeds, tmp_path: Path) -> None:
    a, b = play_seeds("a", "passive", range(20)), play_seeds("b", "truthful", range(20))
    assert compare_folders(a, b).conclusion == "b_better"
    for trace in sorted(b.iterdir())[:8]:
        trace.unlink()
    found = compare_folders(a, b)
    (bound,) = found.bounds
    assert (found.conclusion == "b_better") is (bound.low > 0)
    assert "B lacks 8 of 20 seeds" in found.verdict.text


@pytest.mark.many
def test_dropping_unfavourable_traces_is_told_in_the_first_three_sentences_with_the_worst_case(
    play_seeds: PlaySeeds,
) -> None:
    a, b = play_seeds("a", "gd", range(12)), play_seeds("b", "zip", range(12))
    whole = compare_folders(a, b)
    assert whole.metrics[0].mean_difference is not None
    assert whole.metrics[0].mean_difference < -30
    for pair in sorted(whole.pairs, key=lambda pair: pair.differences["payoff"] or 0)[:4]:
        Path(pair.b[0].path).unlink()
    found = compare_folders(a, b)
    shown, (gap,) = found.metrics[0], found.gaps
    # What is left looks like a gain: the seeds that are gone held the losses.
    assert shown.mean_difference is not None
    assert shown.mean_difference > 5
    assert gap.worst is not None
    assert gap.worst <= whole.metrics[0].mean_difference
    told = next(sentence for sentence in found.verdict.sentences[:3] if "B lacks 4 of 12 seeds" in sentence)
    assert f"had it scored the worst seen there, it would be {-gap.worst:.4g} points behind A" in told
    # The side that has all its traces is not blamed, and the order of sides does not matter.
    turned = compare_folders(b, a)
    (other,) = turned.gaps
    assert (other.side, other.worst) == ("a", -gap.worst)
    assert "points behind B" in turned.verdict.text


def test_a_seed_of_one_scenario_does_not_stand_in_for_that_of_another(
    play_seeds: PlaySeeds, play_into: PlayInto
) -> None:
    a, b = play_seeds("a", "zip", range(3)), play_seeds("b", "truthful", range(3))
    play_into("a", "zip", 1, scenario="double_auction/smoke", overrides={})
    found = compare_folders(a, b)
    assert (found.missing.expected, found.missing.absent) == (4, 1)
    assert [(gap.side, gap.seeds) for gap in found.gaps] == [("b", [1])]


@pytest.mark.many
def test_both_sides_that_lack_seeds_are_told_in_one_sentence_and_an_unfinished_one_is_resumed(
    play_seeds: PlaySeeds,
) -> None:
    a, b = play_seeds("a", "zip", range(0, 40, 2)), play_seeds("b", "truthful", range(0, 40, 3))
    path = b / "truthful-00-0-duel.trace"
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM events WHERE seq > 40")
        db.execute("DELETE FROM meta WHERE key = 'closed_head'")
        db.execute("UPDATE meta SET value = ? WHERE key = 'about'", (b"{}",))
    found = compare_folders(a, b, Options(seats=["B1"]))
    (told,) = (sentence for sentence in found.verdict.sentences[:3] if "lacks" in sentence)
    assert "A lacks 7 of 27 seeds" in told
    assert "B lacks 14 of 27 seeds (1 unfinished)" in told
    assert len(told) <= 240
    assert any(step.command.endswith(str(path)) and "--resume" in step.command for step in found.verdict.next)


def test_shares_leave_out_pairs_with_nothing_to_win() -> None:
    shares = shares_of([pair(1, 3, 4), pair(2, 2, 8), pair(0, 0, 0)], PAYOFF)
    assert shares is not None
    assert (shares.n, shares.nothing, shares.mean_a, shares.mean_b) == (2, 1, 0.25, 0.5)
    assert (shares.mean_difference, shares.interval) == (0.25, None)
    assert shares_of([pair(1, 3)], PAYOFF) is None


def test_a_seat_with_nothing_to_win_is_told(play_seeds: PlaySeeds) -> None:
    found = compare_folders(play_seeds("a", "zip", range(12)), play_seeds("b", "truthful", range(12)))
    assert found.shares is not None
    assert found.shares.n + found.shares.nothing == 12
    assert ("had nothing to win" in found.verdict.text) is bool(found.shares.nothing)


@pytest.mark.parametrize(
    ("differences", "warned"),
    [
        ([1, 2, 3, 4, 5, 6, 7, 8], False),
        ([0, 0, 0, 0, 0, 0, 0, 100], True),
        ([-1, 1, -1, 1, -1, 1, -1, 40], True),
        ([0, 0, 0, 0, 0, 0, 0], False),
        ([5] * 8, False),
    ],
)
def test_few_pairs_that_carry_the_difference_are_a_warning(differences: list[float], warned: bool) -> None:
    assert (skew_of([pair(0, value) for value in differences], PAYOFF) is not None) is warned


CALL: dict[str, Any] = {
    "kind": "model_call",
    "input_tokens": 100,
    "output_tokens": 20,
    "latency_s": 1.5,
    "finish_reason": "stop",
    "invalid_calls": 1,
    "cost_usd_micro": 700,
}


def counted(path: Path) -> Account:
    with open_trace(path) as trace:
        return account(trace)


def note(path: Path, *bodies: Any, seat: str = "B1") -> None:
    rows = [(seat, body if isinstance(body, bytes) else orjson.dumps(body)) for body in bodies]
    with closing(sqlite3.connect(path)) as database:
        database.executemany("INSERT INTO agent_events (seat, body) VALUES (?, ?)", rows)
        database.commit()


async def test_a_played_episode_is_counted_as_its_agent_counted_itself(tmp_path: Path) -> None:
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "smoke", {})
    agent = AgentSpec("react", "policy:truthful")
    played = await play_episode(
        play_spec("double_auction", scenario, 1, plan_seats(kind, scenario, agents=["B1"]), agent, tmp_path)
    )
    found, report = counted(played.path), played.reports["B1"]
    seat = found.seats["B1"]
    assert (found.rounds_closed, found.end_reason, found.censored) == (3, "terminated:rounds_completed", False)
    assert seat.calls == report.tool_calls
    assert seat.actions == 3
    assert seat.model_calls == report.replies
    assert seat.input_tokens == report.input_tokens
    assert seat.stop == "episode_over"
    assert seat.prompt == report.prompt
    assert found.seats["S1"].model_calls == 0
    assert found.seats["S1"].input_tokens is None
    assert found.wall_seconds is not None
    assert found.findings == []


def test_tokens_are_unknown_as_soon_as_one_call_does_not_say(play_into: PlayInto) -> None:
    path = play_into("a", "zip", 0)
    silent = {**CALL, "input_tokens": None, "output_tokens": None, "cost_usd_micro": None}
    note(path, CALL, silent, CALL)
    seat = counted(path).seats["B1"]
    assert (seat.model_calls, seat.input_tokens, seat.output_tokens, seat.cost_usd_micro) == (3, None, None, None)


def test_cost_is_unknown_as_soon_as_one_call_has_no_price(play_into: PlayInto) -> None:
    path = play_into("a", "zip", 0)
    note(path, CALL, CALL)
    seat = counted(path).seats["B1"]
    assert (seat.model_calls, seat.input_tokens, seat.output_tokens) == (2, 200, 40)
    assert (seat.cost_usd_micro, seat.model_seconds, seat.invalid_calls) == (1400, 3.0, 2)
    assert seat.finish_reasons == {"stop": 2}
    note(path, {**CALL, "cost_usd_micro": None}, CALL)
    assert counted(path).seats["B1"].cost_usd_micro is None
    note(path, {"kind": "round_given_up", "reason": "call_limit"}, {"kind": "plan", "text": "…"})
    assert counted(path).seats["B1"].given_up == {"call_limit": 1}


def test_notes_that_say_nothing_sensible_are_findings_and_the_calls_are_counted(play_into: PlayInto) -> None:
    for body in (b"[", b"7", b'{"kind":"model_call"}'):
        path = play_into("a", "zip", 0)
        note(path, body)
        found = counted(path)
        assert found.seats["B1"].calls > 0
        assert len(found.findings) == 1
        assert found.findings[0].startswith("notes cannot be read")
    path = play_into("a", "zip", 0)
    note(path, CALL, seat="Z9")
    assert counted(path).findings == []


@pytest.mark.parametrize("amount", ["many", -1, 2**53, 1e300, [1], True])
def test_what_is_no_amount_is_a_finding_and_makes_no_sum(play_into: PlayInto, amount: object) -> None:
    path = play_into("a", "zip", 0)
    note(path, CALL, {**CALL, "input_tokens": amount, "latency_s": amount}, CALL)
    found = counted(path)
    seat = found.seats["B1"]
    assert (seat.model_calls, seat.input_tokens, seat.output_tokens) == (3, None, 60)
    assert [finding.partition(" notes ")[2] for finding in found.findings] == [
        "no number of input_tokens, so there is no sum",
        "no number of latency_s, so there is no sum",
    ]


def test_spending_stands_beside_the_outcomes_of_a_comparison(play_seeds: PlaySeeds) -> None:
    a, b = play_seeds("a", "zip", range(2)), play_seeds("b", "truthful", range(2))
    for path in b.glob("*.trace"):
        note(path, CALL)
    # A table that asks for proof leaves out what no model can have cost.
    found = compare_folders(a, b, Options(proven=False))
    assert (found.a.model_calls, found.a.input_tokens, found.a.cost_usd) == (0.0, None, None)
    assert (found.b.model_calls, found.b.input_tokens, found.b.cost_usd) == (1.0, 100.0, 0.0007)
    assert found.a.calls is not None


Acts = Sequence[tuple[str, str, dict[str, object]]]


def talk(path: Path, rounds: Sequence[Acts]) -> Path:
    """The teaching market with talk; a seat that does not act in a phase lapses at its end."""
    core = Core.create(market_type("teaching"), load_scenario("teaching", "talk", {"rounds": len(rounds)}), 1)
    records = list(core.start().records)
    for acts in rounds:
        for phase in ("say", "claim"):
            for seat, tool, arguments in acts:
                if tool == phase:
                    records += core.call(seat, tool, arguments).records
            for seat in ("P1", "P2"):
                if core.awaits(seat) and core.market.clock.phase == ("talk" if phase == "say" else "claim"):
                    records += core.lapse(seat, "agent_limit").records
    write_trace(path, core.manifest, {}, [Written(record) for record in records])
    return path


def compared(a: Path, b: Path) -> Divergence | None:
    with open_trace(a) as one, open_trace(b) as other:
        return first_divergence(one, other)


def half(**changes: dict[str, object]) -> Acts:
    acts: list[tuple[str, str, dict[str, object]]] = []
    for tool, plain in (("say", {"text": "half"}), ("claim", {"slices": 5})):
        acts += [(seat, tool, changes.get(f"{seat}_{tool}", dict[str, object](plain))) for seat in ("P1", "P2")]
    return acts


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    return talk(tmp_path / "plain.trace", [half(), half()])


def test_the_same_decisions_do_not_diverge_in_whatever_order_they_arrived(tmp_path: Path, plain: Path) -> None:
    backwards = talk(tmp_path / "backwards.trace", [list(reversed(half())), half()])
    with open_trace(plain) as one, open_trace(backwards) as other:
        assert [decision.seat for decision in decisions(one)][:2] == ["P1", "P2"]
        assert [decision.seat for decision in decisions(other)][:2] == ["P2", "P1"]
    assert compared(plain, backwards) is None


def test_other_arguments_are_named_with_both_decisions(tmp_path: Path, plain: Path) -> None:
    greedy = talk(tmp_path / "greedy.trace", [half(), half(P2_claim={"slices": 7})])
    found = compared(plain, greedy)
    assert found is not None
    assert (found.round, found.phase, found.seat, found.what) == (2, "claim", "P2", "arguments")
    assert found.a is not None
    assert found.b is not None
    assert (found.a.arguments, found.b.arguments) == ({"slices": 5}, {"slices": 7})
    with open_trace(greedy) as trace:
        event = next(event for event in trace.decoded() if event["seq"] == found.b.seq)
    assert (event["seat"], event["arguments"]) == ("P2", {"slices": 7})


def test_a_refusal_and_a_lapse_are_decisions_too(tmp_path: Path, plain: Path) -> None:
    refused = talk(tmp_path / "refused.trace", [half(P1_claim={"slices": 50}), half()])
    found = compared(plain, refused)
    assert found is not None
    assert found.what == "arguments"
    assert found.b is not None
    assert (found.b.status, found.b.error) == ("rejected", "too_many_slices")
    silent = talk(tmp_path / "silent.trace", [[act for act in half() if act[:2] != ("P1", "say")], half()])
    found = compared(plain, silent)
    assert found is not None
    assert (found.round, found.seat, found.what) == (1, "P1", "tool")
    assert found.b is not None
    assert (found.b.tool, found.b.status) == (None, "lapsed")


def test_a_shorter_trace_diverges_where_it_ends(tmp_path: Path, plain: Path) -> None:
    short = talk(tmp_path / "short.trace", [half()])
    found = compared(short, plain)
    assert found is not None
    assert (found.round, found.seat, found.a) == (2, "P1", None)
    assert found.what == "A did nothing where the other called say"
