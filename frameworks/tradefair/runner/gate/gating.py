"""What the commands, the Python face and the plugin of the gate do: record a baseline, hold an agent against one."""

from __future__ import annotations

import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tradefair.contract import ScenarioError
from tradefair.runner.gate.baseline import Baseline, Said, read_baseline, record, write_baseline
from tradefair.runner.gate.gate_file import BASELINE, GATE_FILE, SEALED, Place
from tradefair.runner.gate.judging import GateResult, judge
from tradefair.runner.gate.sides import Player, own_player, player_of
from tradefair.runner.gate.telling import verdict_text


def judged_player(place: Place, agent: object = None) -> Player:
    """Who is judged: the file's agent, another text, or code of the caller's own. Raises ScenarioError."""
    gate = place.gate
    if agent is not None and not isinstance(agent, str):
        return own_player(agent, str(getattr(agent, "__name__", type(agent).__name__)), gate.game_timeout_s)
    return player_of(agent or gate.agent, gate, place.folder, gate.game_timeout_s)


async def record_baseline(
    place: Place, agent: object = None, *, new_seeds: bool = False, out: Path | None = None, say: Said = lambda _: None
) -> Baseline:
    """Play and write the baseline of a gate. Raises ScenarioError, HarnessFailure."""
    player = judged_player(place, agent)
    before = read_baseline(place.baseline) if place.baseline.is_file() else None
    made = await record(place, player, (out or place.runs) / "baseline", before=before, new_seeds=new_seeds, say=say)
    write_baseline(made, place.baseline)
    return made


async def run_gate(
    place: Place,
    agent: object = None,
    *,
    against: object = None,
    ref: str = "",
    whole: bool = False,
    out: Path | None = None,
    say: Said = lambda _: None,
) -> GateResult:
    """Hold the agent against the baseline's file, against another player (`against`) or an earlier commit (`ref`).

    Raises ScenarioError before anything is played, HarnessFailure where nothing can be.
    """
    runs, player = out or place.runs, judged_player(place, agent)
    if against is not None and ref:
        raise ScenarioError("--against and --against-ref are two baselines: leave one out")
    others = runs / ("baseline" if against is None else "against")
    if against is not None:
        # Recorded whole and first: the scale that losses are a share of is that of all its seeds.
        baseline = await record(place, judged_player(place, against), others, replicas=1, say=say)
    else:
        baseline = read_baseline(place.baseline if not ref else recorded_at(place, ref, runs))
    result = await judge(place, player, baseline, runs / "agent", others=others, whole=whole, say=say)
    return replace(result, verdict=verdict_text(result))


def recorded_at(place: Place, ref: str, runs: Path) -> Path:
    """The baseline of an earlier commit, recorded by its own code in a work tree of its own. Raises ScenarioError."""
    top = Path(_git(place.folder, "rev-parse", "--show-toplevel"))
    try:
        commit = _git(place.folder, "rev-parse", "--verify", "--end-of-options", f"{ref}^{{commit}}")
    except ScenarioError:
        problem = (
            f"--against-ref {ref:.80}: there is no such commit here; a shallow clone needs `git fetch --unshallow`"
        )
        raise ScenarioError(problem) from None
    kept = runs.resolve() / f"{commit[:12]}-{place.key[:12]}.json"
    if kept.is_file():
        return kept
    with TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        _git(top, "worktree", "add", "--detach", str(tree), commit)
        try:
            there = tree / place.folder.resolve().relative_to(top.resolve())
            there.mkdir(parents=True, exist_ok=True)
            # The question is today's, the agent is that of the commit; a baseline that lies there has other seeds.
            shutil.copyfile(place.folder / GATE_FILE, there / GATE_FILE)
            (there / BASELINE).unlink(missing_ok=True)
            if isinstance(secret := place.gate.seeds, str) and not Path(secret.removeprefix(SEALED)).is_absolute():
                shutil.copy(place.folder / secret.removeprefix(SEALED), there / secret.removeprefix(SEALED))
            command = [sys.executable, "-m", "tradefair.cli", "gate", "record", GATE_FILE]
            done = subprocess.run(command, cwd=there, capture_output=True, text=True, check=False)
            if done.returncode:
                said = " ".join(done.stderr.split())[-300:]
                raise ScenarioError(f"--against-ref {ref}: its baseline could not be recorded: {said}")
            kept.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(there / BASELINE, kept)
        finally:
            _git(top, "worktree", "remove", "--force", str(tree))
    return kept


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=False)
    except OSError as fault:
        raise ScenarioError(f"--against-ref needs git: {fault.strerror}") from None
    if done.returncode:
        raise ScenarioError(f"--against-ref: git {arguments[0]} says: {' '.join(done.stderr.split())[:200]}")
    return done.stdout.strip()
