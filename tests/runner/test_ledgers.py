"""The ledgers of an evaluation: names of turns, ranks of findings, policies that are left out."""

from __future__ import annotations

import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.runner.test_ledger import adds_up

import tradefair.api as tf
from tradefair.contract import TurnView
from tradefair.contract.policy import Turns
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.ledger import Extent
from tradefair.evaluation.verdict.findings_text import asides_text
from tradefair.runner.ledger.ledger import SERIES_BUDGET, ledger_of, with_ledgers
from tradefair.runner.ledger.replays import NotReplayed, Replays

# Each ledger plays its episode again for every turn and policy.
pytestmark = pytest.mark.many


def played(folder: Path, preset: str, policy: str, **more: Any) -> Path:
    market = preset.partition("/")[0]
    asked: dict[str, Any] = {"seed": 5, "agent": f"policy:{policy}", **more}
    return tf.play(market, scenario=preset, folder=folder, **asked).path


def test_a_trace_that_cannot_be_replayed_says_why_in_its_evaluation(tmp_path: Path) -> None:
    path = played(tmp_path, "teaching/pie", "half", seat="P1")
    bad = tmp_path / "bad.trace"
    shutil.copy(path, bad)
    bad.write_bytes(bad.read_bytes()[:-4_000])
    told = with_ledgers(bad, evaluate_file(path))
    assert told.no_ledger
    assert not told.ledgers


def test_an_evaluation_with_ledgers_names_turns_and_ranks_findings_by_what_they_lost(tmp_path: Path) -> None:
    path = played(tmp_path, "retail/smoke", "bare_shelf", seat="manager")
    told = with_ledgers(path, evaluate_file(path), extent=Extent.FULL)
    assert told.diagnosis is not None
    ledger = told.ledgers["manager"]
    for finding in told.diagnosis.raised:
        turns = [turn for turn in ledger.turns if turn.turn in finding.turns]
        assert finding.lost == pytest.approx(math.fsum(turn.lost for turn in turns))
        assert all(finding.id in turn.names for turn in turns)
    ordered = [finding.lost or 0.0 for finding in told.diagnosis.raised if not finding.protocol]
    assert ordered == sorted(ordered, reverse=True)


def test_what_known_policies_do_too_is_not_held_against_the_agent_where_no_base_rates_are_shipped(
    tmp_path: Path,
) -> None:
    path = played(tmp_path, "supply_chain/duel", "floor_bidder", seed=1, settings={"rounds": 8})
    before = evaluate_file(path)
    after = with_ledgers(path, before).diagnosis
    assert before.diagnosis is not None
    assert after is not None
    common, own = "supply_chain.ignored_feedback", ["supply_chain.reorder_glut", "supply_chain.stale_offer"]
    parts = (before.diagnosis.raised, after.raised, after.conditions)
    assert [[finding.id for finding in part] for part in parts] == [[common, *own], own, [common]]
    assert [(rate.raised, rate.of) for row in after.conditions if (rate := row.base_rate)] == [(1, 2)]
    assert next(said for said in asides_text(after)) == (
        "no base rates for this scenario: cost_plus and floor_bidder were played on the same seed; "
        "what they do too is not held against the agent"
    )
    # A control has its flaw on purpose: what it does too excuses nobody.
    path = played(tmp_path, "retail/smoke", "sealed_ears", seed=1, seat="manager", settings={"horizon_days": 13})
    blamed = with_ledgers(path, evaluate_file(path)).diagnosis
    assert blamed is not None
    assert "retail.news_unread" in [finding.id for finding in blamed.raised]
    assert blamed.played == ["careful_reader"]


def test_policies_to_compare_with_earn_half_of_the_best_and_only_where_nothing_is_shipped(tmp_path: Path) -> None:
    pie = played(tmp_path, "teaching/pie", "passive", seat="P1", settings={"rounds": 4})
    told = with_ledgers(pie, evaluate_file(pie), against=["passive"]).diagnosis
    assert told is not None
    assert told.played == ["half"]
    # In an episode that is too long for a ledger, too, if whole plays fit: idleness, and two or more policies.
    events = len(Replays(pie).events)
    for plays, names in ((4, ["half"]), (2, [])):
        long = with_ledgers(pie, evaluate_file(pie), episodes=SERIES_BUDGET // (plays * events))
        assert (long.ledgers, long.diagnosis and long.diagnosis.played) == ({}, names)
    known = played(tmp_path, "bargaining/smoke", "passive")
    shipped = with_ledgers(known, evaluate_file(known)).diagnosis
    assert shipped is not None
    assert (shipped.rates, shipped.played) == (True, [])


def test_the_ledger_of_a_shipped_preset_knows_noise_and_gap_of_competent_seats(tmp_path: Path) -> None:
    path = played(tmp_path, "bargaining/smoke", "passive")
    seat = Replays(path).agents[0]
    usual = Replays(path).usual(seat)
    assert usual is not None
    ledger = ledger_of(path, seat)
    assert (ledger.median_gap, ledger.noise) == (usual.median_gap, usual.noise)
    # Against another policy nothing is known of what is usual, nor in another scenario.
    assert ledger_of(path, seat, against=["truthful"]).noise is None
    other = played(tmp_path, "bargaining/smoke", "passive", settings={"rounds": 4})
    assert ledger_of(other, Replays(other).agents[0]).noise is None


def test_a_policy_that_cannot_watch_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = played(tmp_path, "pricing/duel", "jumpy", seat="F1", settings={"rounds": 12})
    first = ledger_of(path, "F1").of[0]

    class Fails:
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def turn(self, now: TurnView) -> Turns:
            if now.round == 3:
                raise KeyError("price")
            return self.inner.turn(now)

    usual = Replays.shadow

    def shadow(self: Replays, seat: str, name: str) -> Any:
        made = usual(self, seat, name)
        made.policy = Fails(made.policy) if name == first else made.policy
        return made

    monkeypatch.setattr(Replays, "shadow", shadow)
    ledger = ledger_of(path, "F1")
    adds_up(ledger)
    assert first not in ledger.of
    with pytest.raises(NotReplayed, match="cannot watch"):
        ledger_of(path, "F1", against=[first])
