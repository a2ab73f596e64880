"""Plays the same episode several times with a reflection agent that carries its notes from one trial to the next.

The outer loop of the Reflexion paper (Shinn et al. 2023, algorithm 1). An agent that has played a seed before must not
be compared with one that has not: the agent's label says `trials`, and no comparison mixes the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.cli.console import Console
from tradefair.contract import HarnessFailure, ScenarioError, SeatId
from tradefair.contract.kernel.players import seat_roles
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.runner.play.agent_spec import ready
from tradefair.runner.play.episode_runner import PlaySpec
from tradefair.runner.play.series import PlayOne
from tradefair.runner.play.summary import Summary
from tradefair.tracestore import open_trace

FRAMEWORK = "reflection"
"""The framework that has trials."""

# The kind of note in which a reflection agent keeps what it wrote after an episode.
_KIND = "trial_reflection"


class Trials(NamedTuple):
    """Finished trials in their order, and what was written after each; "" where an episode was left before its end."""

    spec: PlaySpec
    summaries: Sequence[Summary]
    written: Sequence[str]

    @property
    def exit_code(self) -> int:
        """1 when one of the traces does not verify or could not be scored."""
        return max((summary.exit_code for summary in self.summaries), default=0)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the verdict on all, per trial what `play --json` prints, and what was written after it."""
        pairs = zip(self.summaries, self.written, strict=True)
        trials = [{**summary.to_json(), "written": text} for summary, text in pairs]
        verdict = verdict_of_series([summary.verdict for summary in self.summaries])
        return {"verdict": verdict.to_json(), "folder": str(self.spec.folder), "trials": trials}

    def print_tables(self, *, whole: bool) -> None:
        """A row per trial and what was written."""
        from tradefair.evaluation.verdict.terminal import show_series

        console = Console(soft_wrap=True)
        title = f"{self.spec.scenario.id} · {self.spec.agent.spec.label} · seed {self.spec.seed}"
        console.print(f"{title}, {len(self.summaries)} trials", style="bold")
        show_series(
            [summary.evaluation for summary in self.summaries], [summary.played.agents for summary in self.summaries]
        )
        for number, text in enumerate(self.written, start=1):
            console.print(f"after trial {number}: {text or '(nothing)'}")


async def play_trials(spec: PlaySpec, count: int, play: PlayOne) -> Trials:
    """Play the spec's episode `count` times on its one seed and return the trials in order.

    Each trial begins with what the agent wrote after the earlier ones.

    Raises ScenarioError before anything is played; a provider's failure ends the trials: HarnessFailure.
    """
    seats = spec.plan.agents
    agent = spec.agent.spec
    if agent.framework != FRAMEWORK:
        raise ScenarioError(f"trials are for --agent {FRAMEWORK}, not for {agent.framework}")
    if len(seats) != 1:
        raise ScenarioError(f"trials are for one agent's seat, and here are {len(seats)}: name one with --seat")
    before = agent.trials or ()
    roles = seat_roles(spec.kind, spec.scenario, seats)

    def remembering(trials: tuple[str, ...]) -> PlaySpec:
        # Made again for each trial: what it carries over is an option of the agent, recorded in its trace.
        made = ready(spec.kind, replace(agent, trials=trials), roles, scenario=spec.scenario, ask=spec.agent.ask)
        return replace(spec, agent=made)

    summaries: list[Summary] = []
    written: list[str] = []
    for number in range(count):
        # An episode that was left before its end wrote nothing; an empty note would open the next one.
        carried = (*before, *filter(None, written))
        try:
            summary = await play(remembering(carried), number)
        except HarnessFailure as failure:
            raise HarnessFailure(f"trial {number + 1} of {count}: {failure}") from failure
        summaries.append(summary)
        written.append(written_after(summary.played.path, seats[0]))
        if summary.played.stopped:
            break
    return Trials(remembering(before), summaries, written)


def written_after(path: Path, seat: SeatId) -> str:
    """What the agent of a seat wrote when its episode had ended; "" where it wrote nothing. Raises TraceError."""
    with open_trace(path) as trace:
        notes = [note for note in trace.agent_events() if (note.get("seat"), note.get("kind")) == (seat, _KIND)]
    return str(notes[-1].get("text", "")) if notes else ""
