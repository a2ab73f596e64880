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
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.evaluation.ledger import Extent
from tradefair.runner.ledger import ledger_of, with_ledgers
from tradefair.runner.replays import NotReplayed, Replays

# Each ledger plays its episode again for every turn and policy.
pytestmark = pytest.mark.many


def test_a_trace_that_cannot_be_replayed_says_why_in_its_evaluation(tmp_path: Path) -> None:
    path = tf.play("teaching", scenario="teaching/pie", seed=5, agent="policy:half", seat="P1", folder=tmp_path).path
    bad = tmp_path / "bad.trace"
    shutil.copy(path, bad)
    bad.write_bytes(bad.read_bytes()[:-4_000])
    told = with_ledgers(bad, evaluate_file(path))
    assert told.no_ledger
    assert not told.ledgers


def test_an_evaluation_with_ledgers_names_turns_and_ranks_findings_by_what_they_lost(tmp_path: Path) -> None:
    path = tf.play(
        "retail", scenario="retail/smoke", seed=5, agent="policy:bare_shelf", seat="manager", folder=tmp_path
    ).path
    told = with_ledgers(path, evaluate_file(path), extent=Extent.FULL)
    assert told.diagnosis is not None
    ledger = told.ledgers["manager"]
    for finding in told.diagnosis.raised:
        turns = [turn for turn in ledger.turns if turn.turn in finding.turns]
        assert finding.lost == pytest.approx(math.fsum(turn.lost for turn in turns))
        assert all(finding.id in turn.names for turn in turns)
    ordered = [finding.lost or 0.0 for finding in told.diagnosis.raised if not finding.protocol]
    assert ordered == sorted(ordered, reverse=True)


def test_a_policy_that_cannot_watch_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tf.play(
        "pricing",
        scenario="pricing/duel",
        seed=5,
        agent="policy:jumpy",
        seat="F1",
        settings={"rounds": 12},
        folder=tmp_path,
    ).path
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
