"""Plays episodes on consecutive seeds, one after another, into one folder: `compare` pairs such folders by seed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.host.setup import MAX_SEED
from tradefair.runner.episode_runner import PlaySpec
from tradefair.runner.summary import Summary

PlayOne = Callable[[PlaySpec, int], Awaitable[Summary]]
"""Plays and scores one episode; the number is its index in the series, from 0."""


class Series(NamedTuple):
    """Finished runs of one agent on consecutive seeds."""

    spec: PlaySpec
    summaries: Sequence[Summary]

    @property
    def exit_code(self) -> int:
        """1 when one of the traces does not verify or could not be scored.

        0 otherwise, also for a series without an episode.
        """
        return max((summary.exit_code for summary in self.summaries), default=0)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the folder and what `play --json` prints of each episode."""
        return {"folder": str(self.spec.folder), "episodes": [summary.to_json() for summary in self.summaries]}

    def print_tables(self) -> None:
        """A row per episode and seat."""
        from rich.console import Console

        from tradefair.evaluation.terminal import show_series

        console = Console(highlight=False, soft_wrap=True)
        spec, seats = self.spec, self.spec.plan.agents
        last = spec.seed + len(self.summaries) - 1
        title = (
            f"{spec.scenario.id} · {', '.join(seats)} played by {spec.agent.spec.label} · seeds {spec.seed} to {last}"
        )
        console.print(title, markup=False, style="bold")
        with_references = [summary for summary in self.summaries if summary.references]
        beside = [summary.own_relative(seat) for seat in seats[:1] for summary in with_references]
        show_series([summary.evaluation for summary in self.summaries], seats, beside)
        verified = sum(summary.verdict.sound for summary in self.summaries)
        console.print(f"\n{verified} of {len(self.summaries)} verified; traces in {self.spec.folder}", markup=False)
        console.print(f"compare it with another agent's: tradefair compare {self.spec.folder} OTHER", markup=False)


async def play_series(spec: PlaySpec, count: int, play: PlayOne) -> Series:
    """Play `count` episodes, the first on the spec's seed. A provider's failure ends the series: HarnessFailure.

    Seeds are consecutive. ScenarioError where the last one would be too large, before anything is played.
    """
    # Before the first episode: the last seed would otherwise be refused after all others were played.
    if spec.seed + count - 1 > MAX_SEED:
        raise ScenarioError(f"{count} seeds from {spec.seed} on go beyond 2^63 - 1")
    summaries: list[Summary] = []
    for number in range(count):
        seed = spec.seed + number
        try:
            summaries.append(await play(replace(spec, seed=seed), number))
        except HarnessFailure as failure:
            # Said in the error, because a later command has to begin with these seeds.
            left = f"; seeds {seed + 1} to {spec.seed + count - 1} were not played" if number + 1 < count else ""
            raise HarnessFailure(f"seed {seed}: {failure}{left}") from failure
    return Series(spec, summaries)
