"""Hold an agent against its baseline: `tf.gate`, and `tf.gate_record`. Thin: the runner does the work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tradefair.api.playing import Agent, PolicyMaker, wait_for
from tradefair.contract import ScenarioError
from tradefair.contract.scenario import checked_content
from tradefair.runner.gate.baseline import Baseline
from tradefair.runner.gate.gate_file import GATE_FILE, GateFile, Place, place_of, read_gate
from tradefair.runner.gate.gating import record_baseline, run_gate
from tradefair.runner.gate.judging import GateResult


def gate(
    file: str | Path = GATE_FILE,
    *,
    agent: str | Agent | PolicyMaker | None = None,
    against: str | Agent | PolicyMaker | None = None,
    scenarios: Sequence[str] | None = None,
    seeds: int | Sequence[int] = 16,
    margin: str | float = "5 %",
    whole: bool = False,
    folder: str | Path | None = None,
) -> GateResult:
    """Whether an agent is worse than its baseline: `.status` is `not_worse`, `worse` or `unknown`, `.verdict` says why.

    `agent` takes the place of the file's: a text of `gate.toml`, an async function that is given a `Seat`, or a class
    with the method `turn`. `against` is another player in place of the recorded baseline. With `scenarios` no file is
    read: then `agent`, `against`, `seeds` (8 to 1,000) and `margin` say all. `whole` plays on after a scenario is
    worse. `folder` is that of the traces (default: runs/gate beside the file).

    Raises ScenarioError before anything is played, HarnessFailure where nothing can be played.
    """
    if scenarios is None:
        place = read_gate(Path(file))
    elif agent is None or against is None:
        raise ScenarioError("a gate without a file needs agent= and against=: who is judged, and by whose games")
    else:
        named = agent if isinstance(agent, str) else getattr(agent, "__name__", type(agent).__name__)
        listed = seeds if isinstance(seeds, int) else list(seeds)
        content = {"agent": named, "scenarios": list(scenarios), "seeds": listed, "margin": margin}
        place = place_of(checked_content(GateFile, content, source="gate"), Path(), "gate")
    return wait_for(partial(run_gate, place, agent, against=against, whole=whole, out=_folder(folder)))


def gate_record(
    file: str | Path = GATE_FILE,
    *,
    agent: str | Agent | PolicyMaker | None = None,
    new_seeds: bool = False,
    folder: str | Path | None = None,
) -> Baseline:
    """Play the baseline of a gate and write `gate.baseline.json` beside its file. Arguments and errors as of `gate`.

    `new_seeds`: on seeds that the baseline that is there has not had.
    """
    place: Place = read_gate(Path(file))
    return wait_for(partial(record_baseline, place, agent, new_seeds=new_seeds, out=_folder(folder)))


def _folder(folder: str | Path | None) -> Path | None:
    return None if folder is None else Path(folder)
