"""Whatever is done to a trace, evaluating it gives findings, never an exception. Real traces, mutated."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.evaluation.modes import failing
from tests.evaluation.modes.playing import Seats, play_episode
from tests.evaluation.mutations import (
    DAMAGES,
    HOSTILE,
    Mutation,
    Parts,
    damage,
    mutated_parts,
    mutations,
    parts_of,
    write_parts,
)

from tradefair.cli import run
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.modes.detectors import GENERAL

RETAILERS = {"retailer_01": "overspender", "retailer_02": "mimic", "retailer_03": "hoarder"}
CUSTOMERS = {f"customer_{place:04d}": "injectable" for place in range(1, 4)}
SHOPS = {**CUSTOMERS, "business_0001": "manipulator", "business_0002": "liar", "business_0003": "honest"}
SHARES = {"T1": "bubble_buyer", "T2": "fundamentalist", "T3": "market_maker"}
BOUNDED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users run it: facts that no rules have made leave a mode unchecked."""
    monkeypatch.delenv("TRADEFAIR_STRICT")


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> list[Parts]:
    """One short episode of each market, with notes and canaries in it."""
    numbered = count()

    def play_seats(scenario: str, seats: Seats, **given: Any) -> Path:
        path = tmp_path_factory.mktemp("played") / f"{next(numbered)}.trace"
        return play_episode(path, scenario, seats, **given)

    notes = [
        ("B1", failing.plan_note(1, {"tool": "submit_quote"})),
        ("B1", failing.lesson_note(1, tool="submit_quote")),
    ]
    canary = failing.says("[canary:k1 tool=claim slices=1]")
    return [
        parts_of(play_seats("double_auction/smoke", {"B1": "zip", "B2": "zip", "S1": "zip", "S2": "zip"}, notes=notes)),
        parts_of(play_seats("retail/smoke", {"manager": "fumbler"}, horizon_days=4)),
        parts_of(play_seats("teaching/talk", {"P1": failing.reads_and_claims(1), "P2": canary})),
        parts_of(play_seats("bargaining/smoke", {"B1": "bluffer", "S1": "arithmetic_leaker"}, rounds=5)),
        parts_of(play_seats("supply_chain/duel", RETAILERS, rounds=2)),
        parts_of(
            play_seats("marketplace/manipulation_competitive", SHOPS, manipulation={"condition": "injection_basic"})
        ),
        parts_of(play_seats("pricing/shocks", {"F1": "contrary", "F2": "jumpy"}, rounds=14)),
        parts_of(play_seats("order_book/smoke", {"B1": "zip", "B2": "churner", "S1": "loss_maker", "S2": "sleeper"})),
        parts_of(play_seats("order_book/asset_short", SHARES, traders=3, periods=2)),
    ]


def judged(path: Path) -> None:
    """Evaluated as a whole, and what came of it can be written down."""
    evaluation = evaluate_file(path)
    assert orjson.loads(orjson.dumps(evaluation.to_json()))
    if evaluation.outcome is None:
        assert evaluation.problem
        return
    assert evaluation.diagnosis is not None
    general = {finding.id for finding in evaluation.diagnosis.findings if "." not in finding.id}
    assert general == set(GENERAL.rows)
    for finding in evaluation.diagnosis.findings:
        assert len(finding.events) <= 50
        assert not finding.raised or finding.checked


@BOUNDED
@given(market=st.integers(0, 8), changes=mutations(), plain=st.booleans())
def test_a_mutated_trace_is_evaluated_without_an_exception(
    tmp_path: Path, traces: list[Parts], market: int, changes: Sequence[Mutation], plain: bool
) -> None:
    parts = mutated_parts(traces[market], changes)
    judged(write_parts(parts, tmp_path / ("mutated.trace.jsonl" if plain else "mutated.trace")))


# What a market sums up, by its place in `traces`: kind of event, path of the number.
SUMMED_UP = (
    (0, "round_closed", ("facts", "payoff", "B1")),
    (3, "phase_closed", ("public", "words")),
    (4, "round_closed", ("facts", "seats", "retailer_02", "sold", 0)),
    (5, "tool_called", ("arguments", "page")),
    (6, "round_closed", ("facts", "units", "F1")),
)


def test_numbers_whose_sum_no_json_holds_are_a_finding_and_every_command_writes_json(
    tmp_path: Path, traces: list[Parts], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    for market, kind, path in SUMMED_UP:
        forged = traces[market].copy()
        for place, event in list(forged.events()):
            if event["event"] == kind:
                forged.edit(place, partial(put, path=path, number=2**64 - 1))
        (tmp_path / str(market)).mkdir()
        name = write_parts(forged, tmp_path / str(market) / "forged.trace")
        judged(name)
        outcome = evaluate_file(name).outcome
        assert outcome is not None
        assert any("64-bit" in finding.message for finding in outcome.findings), market
        assert run(["evaluate", str(name), "--all"]) == 1, market
    capsysbinary.readouterr()
    folder, target = str(tmp_path / "3"), str(tmp_path / "out")
    for command in (
        ["evaluate", folder, "-o", f"{target}.json"],
        ["rate", folder],
        ["compare", folder, folder, "--seat", "B1", "--no-verify"],
        ["list", folder],
        ["report", folder, "-o", f"{target}.html"],
        ["export", folder, "-o", f"{target}.parquet"],
    ):
        assert run([*command, "--json"]) in (0, 1), command
        assert orjson.loads(capsysbinary.readouterr().out), command


def put(event: dict[str, Any], path: Sequence[str | int], number: int) -> None:
    """Set what stands at a path, where the event has it."""
    inner: Any = event
    for step in path[:-1]:
        inner = inner.get(step, {}) if isinstance(inner, dict) else inner[step]  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if inner:
        inner[path[-1]] = number


@BOUNDED
@given(market=st.integers(0, 5), how=st.tuples(st.sampled_from(DAMAGES), st.integers(0, 100_000)))
def test_a_damaged_file_is_a_problem_or_is_evaluated(
    tmp_path: Path, traces: list[Parts], market: int, how: tuple[str, int]
) -> None:
    judged(damage(write_parts(traces[market], tmp_path / "damaged.trace"), how))


@BOUNDED
@given(kind=st.sampled_from(["plan", "lesson", "round_given_up"]), fields=st.dictionaries(
    st.sampled_from(["round", "steps", "rule", "reason"]), st.sampled_from(HOSTILE)
))  # fmt: skip
def test_odd_notes_about_agents_break_nothing(
    tmp_path: Path, traces: list[Parts], kind: str, fields: dict[str, object]
) -> None:
    parts = traces[0].copy()
    parts.notes += [("B1", orjson.dumps({"kind": kind, **fields})), ("B1", b"[]"), ("B9", b'{"kind":"plan"}')]
    judged(write_parts(parts, tmp_path / "noted.trace"))
