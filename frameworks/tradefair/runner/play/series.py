"""Plays episodes on several seeds, one after another, into one folder: `compare` pairs such folders by seed."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from tradefair.cli.terminal import say, tell
from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.contract.bounds import MAX_SEED
from tradefair.evaluation.verdict.series import verdict_of_series
from tradefair.evaluation.verdict.terminal import show_next, show_series, show_verdict
from tradefair.evaluation.verdict.verdict import NextStep, Verdict
from tradefair.host.seats.plans import SeatPlan
from tradefair.runner.play.agent_spec import NATIVE
from tradefair.runner.play.episode_runner import PlaySpec
from tradefair.runner.play.summary import Summary

T = TypeVar("T")
PlayOne = Callable[[PlaySpec, int], Awaitable[Summary]]
"""Plays and scores one episode; the number is its index in the series, from 0."""
Seated = Callable[[int], SeatPlan]
"""Who sits where on a seed."""


class Series(NamedTuple):
    """Runs of one agent, one on each of `seeds`, up to the first that a limit stopped."""

    spec: PlaySpec
    seeds: Sequence[int]
    summaries: Sequence[Summary]

    @property
    def verdict(self) -> Verdict:
        """The verdict on all episodes."""
        return verdict_of_series([summary.verdict for summary in self.summaries])

    @property
    def exit_code(self) -> int:
        """The worst of the episodes; 0 for a series without one."""
        return max((summary.exit_code for summary in self.summaries), default=0)

    def to_json(self) -> dict[str, Any]:
        """Plain data: the verdict, the folder and what `play --json` prints of each episode."""
        episodes = [summary.to_json() for summary in self.summaries]
        return {"verdict": self.verdict.to_json(), "folder": str(self.spec.folder), "episodes": episodes}

    def print_tables(self, *, whole: bool) -> None:
        """The verdict and rows of means; `whole`: also a row per episode and seat."""
        verdict = self.verdict
        show_verdict(verdict, [summary.run for summary in self.summaries], whole=whole)
        if whole:
            tell()
            with_references = [summary for summary in self.summaries if summary.references]
            beside = [summary.own_relative(seat) for summary in with_references for seat in summary.played.agents[:1]]
            sat = [summary.played.agents for summary in self.summaries]
            show_series([summary.evaluation for summary in self.summaries], sat, beside)
        show_next([_comparison(self.spec.folder), *(self._as_played(step) for step in verdict.next)])

    def _as_played(self, step: NextStep) -> NextStep:
        """A command that plays anew, with the agent and the model of this series."""
        if not step.command.startswith("tradefair play ") or "--resume" in step.command:
            return step
        spec = self.spec.agent.spec
        framework = "policy" if spec.framework == NATIVE else spec.framework
        who = [f"--agent {shlex.quote(framework)}", *([f"--model {shlex.quote(spec.model)}"] if spec.model else [])]
        url = [f"--base-url {shlex.quote(spec.base_url)}"] if spec.base_url else []
        return step.model_copy(update={"command": " ".join([step.command, *who, *url])})


def _comparison(folder: Path) -> NextStep:
    return NextStep(
        command=f"tradefair compare {shlex.quote(str(folder))} OTHER", why="the same seeds by another agent"
    )


async def play_series(spec: PlaySpec, seeds: Sequence[int], play: PlayOne, seated: Seated | None = None) -> Series:
    """Play an episode on each seed; a limit of an episode ends the series, a provider's failure too: HarnessFailure.

    `seated` gives the seats of a seed, where they differ from one to the next. An interrupt says how the rest is
    played. ScenarioError where a seed is too large, before anything is played.
    """
    # Before the first episode: the last seed would otherwise be refused after all others were played.
    if max(seeds) > MAX_SEED:
        raise ScenarioError(f"{len(seeds)} seeds from {seeds[0]} on go beyond 2^63 - 1")

    async def one(number: int) -> Summary:
        seed = seeds[number]
        plan = seated(seed) if seated else spec.plan
        try:
            # Ctrl-C while the last episode was scored is met here, before the next one has a trace.
            await asyncio.sleep(0)
            return await play(replace(spec, seed=seed, plan=plan), number)
        except HarnessFailure as failure:
            raise HarnessFailure(f"seed {seed}: {failure}{_left(seeds, number)}") from failure
        except asyncio.CancelledError:
            rest = f"--seed {seed} --seeds {len(seeds) - number} --out {shlex.quote(str(spec.folder))}"
            done = f"stopped: {number} of {len(seeds)} episodes are finished"
            say(f"{done}; the rest: the same command with {rest}")
            raise

    summaries = await in_turn(one, len(seeds), enough=lambda done: done[-1].played.stopped)
    if summaries and summaries[-1].played.stopped:
        say(f"seed {seeds[len(summaries) - 1]} was stopped{_left(seeds, len(summaries) - 1)}")
    return Series(spec, seeds, summaries)


def _left(seeds: Sequence[int], number: int) -> str:
    """Which seeds were not played after that one: a later command has to begin with these."""
    return f"; seeds {seeds[number + 1]} to {seeds[-1]} were not played" if seeds[number + 1 :] else ""


async def in_turn(
    play: Callable[[int], Awaitable[T]],
    count: int,
    *,
    at_a_time: int = 1,
    enough: Callable[[Sequence[T]], bool] | None = None,
) -> list[T]:
    """What `play` gives for the numbers from 0 to `count` − 1, in their order, `at_a_time` of them at once.

    After each block `enough`, which is given all so far, may say that no more are needed.
    """
    done: list[T] = []
    while len(done) < count:
        block = range(len(done), min(len(done) + at_a_time, count))
        # One alone is no task of its own: Ctrl-C meets it where it is.
        done += await asyncio.gather(*map(play, block)) if len(block) > 1 else [await play(block[0])]
        if enough is not None and enough(done):
            break
    return done
