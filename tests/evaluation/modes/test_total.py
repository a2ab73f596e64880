"""Whatever is done to a trace, evaluating it gives findings, never an exception. Real traces, mutated."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.evaluation.modes import failing
from tests.evaluation.modes.playing import PlaySeats
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

from tradefair.evaluation.evaluate import evaluate_file
from tradefair.evaluation.modes.detectors import GENERAL

RETAILERS = {"retailer_01": "overspender", "retailer_02": "mimic", "retailer_03": "hoarder"}
CUSTOMERS = {f"customer_{place:04d}": "injectable" for place in range(1, 4)}
SHOPS = {**CUSTOMERS, "business_0001": "manipulator", "business_0002": "liar", "business_0003": "honest"}
BOUNDED = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture(autouse=True)
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users run it: facts that no rules have made leave a mode unchecked."""
    monkeypatch.delenv("TRADEFAIR_STRICT")


@pytest.fixture
def traces(play_seats: PlaySeats) -> list[Parts]:
    """One short episode of each market, with notes and canaries in it."""
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
@given(market=st.integers(0, 5), changes=mutations(), plain=st.booleans())
def test_a_mutated_trace_is_evaluated_without_an_exception(
    tmp_path: Path, traces: list[Parts], market: int, changes: Sequence[Mutation], plain: bool
) -> None:
    parts = mutated_parts(traces[market], changes)
    judged(write_parts(parts, tmp_path / ("mutated.trace.jsonl" if plain else "mutated.trace")))


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
