"""A run under a map: its cases, and what the map tells the failure modes that hold everywhere."""

from __future__ import annotations

from pathlib import Path

from tradefair.evaluation.foreign.audit.confirmation import talk_of
from tradefair.evaluation.foreign.audit.desk import Desk
from tradefair.evaluation.foreign.audit.map_file import Map
from tradefair.evaluation.foreign.audit.rules import CHECKS, CONFIRM, Judged
from tradefair.evaluation.foreign.audit.run import Call, RuleCase, Run, read_run
from tradefair.evaluation.origins import ADDS_NOT_UP

_COUNTED = ("map.once", "map.retries", "map.unrecovered", "map.gave_up")
"""Checks that count calls, or look for what followed a refusal: nothing is said where calls may be missing."""
_NO_USER = "the run holds no word of a user"


def read_with(path: str | Path, of: Map) -> Run:
    """A trace as a run, with kinds of tools and refusals as the map says. Raises TraceError."""
    return read_run(path, of.kind_of, of.failed_answer)


def judge(run: Run, of: Map) -> Judged:
    """All checks of a map over one run, in one pass."""
    desk = Desk(of, run)
    checks = [check(desk) for check in CHECKS]
    talk = {said.seq for said in talk_of(run)}
    found: list[RuleCase] = []
    for turn in run.turns:
        if not isinstance(turn, Call):
            for check in checks if turn.seq in talk else ():
                check.heard(turn)
        elif run.roles.get(turn.seat) != "user":
            for check in checks:
                found += check.took(turn)
            desk.took(turn)
    for check in checks:
        found += check.ended()
    silent = {} if any(said.role == "user" for said in run.said) else {CONFIRM: _NO_USER}
    silent |= {} if run.reconciled else dict.fromkeys(_COUNTED, f"the run {ADDS_NOT_UP}")
    order = {check.id: place for place, check in enumerate(CHECKS)}
    kept = [case for case in found if case.rule not in silent]
    kept.sort(key=lambda case: (case.seq, order[case.rule]))
    return Judged(kept, {check.id: check.of for check in checks}, silent)
