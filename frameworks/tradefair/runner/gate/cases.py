"""Failures that became cases: a recorded game, played again by the agent from one event on, without statistics."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from tradefair.catalog import market_type
from tradefair.contract import HarnessFailure, ScenarioError, SeatId, TraceError
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.judge.evaluate import diagnose, evaluate
from tradefair.evaluation.judge.reward import reward_of
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.prove.verify import verify
from tradefair.evaluation.reading import agent_seats
from tradefair.files.folders import write_whole
from tradefair.runner.fork.fork import ForkSpec, fork_episode
from tradefair.runner.gate.gate_file import CaseEntry, Place
from tradefair.runner.gate.sides import Player, on_stage, raised_in
from tradefair.runner.ledger.ledger import ledger_of
from tradefair.runner.ledger.replays import NotReplayed
from tradefair.runner.plans.episodes import Variant
from tradefair.tracestore import open_trace


class CaseResult(NamedTuple):
    """A case: broken with what was found, or a `problem` that kept it from being played."""

    name: str
    broken: bool
    found: str
    problem: str = ""


async def play_cases(place: Place, player: Player, folder: Path) -> list[CaseResult]:
    """All cases of a gate, in their order. Raises ScenarioError for a trace that cannot be a case."""
    shutil.rmtree(folder, ignore_errors=True)
    return [await _played(place, player, case, folder / str(number)) for number, case in enumerate(place.gate.case)]


async def _played(place: Place, player: Player, case: CaseEntry, folder: Path) -> CaseResult:
    path = place.folder / case.trace
    variant, seat = _seat_of(path)
    for number in range(case.plays):
        agent, stage = player.ready(variant, {seat: variant.roles[seat]})

        spec = ForkSpec(
            path, folder / str(number), case.at or 2, agent.spec, seat, isolate=False, alone=True, made=agent
        )
        try:
            forked = await fork_episode(spec, opened=on_stage(stage))
        except HarnessFailure as failure:
            return CaseResult(case.trace, False, "", str(failure)[:200])
        except TraceError as fault:
            raise ScenarioError(f"case {case.trace}: {fault}; `tradefair gate add` it again") from None
        found = _broken(forked.futures[0].fork, seat, case)
        if found:
            return CaseResult(case.trace, True, found)
    return CaseResult(case.trace, False, "")


def _broken(path: Path, seat: SeatId, case: CaseEntry) -> str:
    """What the case forbids and the agent did; empty where it passed."""
    with open_trace(path) as trace:
        trace.hold()
        if not verify(trace).sound:
            return f"{path} is not reproduced"
        # What the recorded opening shows is not the agent's.
        for mode, seq in raised_in(trace, [seat], since=case.at or 2):
            if {mode, mode.rpartition(".")[2]} & {*case.forbid}:
                return f"{mode} again, event {seq} ({path})"
        reward = reward_of(evaluate(trace), seat)
    if case.at_least is None:
        return ""
    if reward.value is None:
        return f"it has no {reward.metric or 'figure to judge by'} ({path})"
    sign = 1 if reward.higher_is_better else -1
    short = sign * reward.value < sign * case.at_least
    return f"{reward.value:g} {reward.unit} where {case.at_least:g} were asked for ({path})" if short else ""


def _seat_of(path: Path) -> tuple[Variant, SeatId]:
    """The game of a case, and the one seat under test. Raises ScenarioError, with what to do next."""
    try:
        with open_trace(path) as trace:
            core, seats = trace.manifest.core, agent_seats(trace.seating())
            if is_foreign(core):
                raise ScenarioError(f"{path.name} was made by no rules of ours, so nobody can play on from it")
    except TraceError as fault:
        raise ScenarioError(f"case {path}: {fault}; `tradefair gate add` a trace") from None
    kind = market_type(core.market)
    if core.rules_version != kind.version:
        was = f"rules {core.rules_version} of {core.market}, these are rules {kind.version}"
        raise ScenarioError(f"case {path.name} was played under {was}: play it and `tradefair gate add` it again")
    if len(seats) != 1:
        raise ScenarioError(f"case {path.name} has {len(seats)} seats under test; a case is of one")
    return Variant(core.market, build_scenario(kind.scenario_model, core.scenario, source=path.name)), seats[0]


def add_case(place: Place, file: Path, trace: Path, at: int | None, name: str) -> CaseEntry:
    """Copy a trace beside the gate and append its case to the file: by default from before the turn that lost most.

    Forbidden is the mistake of that turn; without one, what was earned and half of what the turn lost is asked for.
    Raises ScenarioError.
    """
    _, seat = _seat_of(trace)
    entry = _case_of(trace, seat, at, f"gate_cases/{name or trace.name.partition('.')[0]}.trace")
    target = place.folder / entry.trace
    if target.exists():
        raise ScenarioError(f"{target} is there already: name the case with --as")
    said = [f'trace = "{entry.trace}"', f"at = {entry.at}"]
    said += [f'forbid = ["{entry.forbid[0]}"]'] if entry.forbid else [f"at_least = {entry.at_least}"]
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(trace, target)
    text = file.read_text(encoding="utf-8").rstrip("\n")
    write_whole(file, ("\n".join([text, "", "[[case]]", *said]) + "\n").encode())
    return entry


def _case_of(trace: Path, seat: SeatId, at: int | None, name: str) -> CaseEntry:
    try:
        with open_trace(trace) as opened:
            opened.hold()
            ledger = ledger_of(opened, seat, diagnosis=diagnose(opened))
    except (NotReplayed, TraceError) as why:
        raise ScenarioError(
            f"{trace.name}: what its turns lost is not known ({why}); nothing can be asked for"
        ) from None
    turns = ledger.turns_of([at]) if at is not None else ledger.lost[:1]
    if not turns:
        what = "no turn lost anything" if at is None else f"event {at} is in no turn of {seat}"
        raise ScenarioError(f"{trace.name}: {what}; name an event of {seat} with --at")
    turn = turns[0]
    start = at or turn.seqs[0]
    if turn.names:
        return CaseEntry(trace=name, at=start, forbid=[turn.names[0]])
    gained = turn.lost / 2 if ledger.higher_is_better else -turn.lost / 2
    return CaseEntry(trace=name, at=start, at_least=round(ledger.own + gained, 6))
