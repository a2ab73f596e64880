"""The tasks of a tradefair server for verifiers: data, score and harness of one seat.

Traces hold a task's data, so there is no token in it: the episode is ordered when a rollout is set up, and the tool
server of that rollout (`tools.py`) asks for its seat's token. Needs TRADEFAIR_CONTROL_URL and TRADEFAIR_CONTROL_TOKEN.
"""

from asyncio import to_thread
from collections.abc import Iterator
from typing import Any, Literal

import verifiers.v1 as vf
from tradefair_client import control
from verifiers.v1.harnesses.null import NullHarness

from tradefair_verifiers.tools import MarketState, MarketTools

PROMPT = """You hold seat {seat} of a market and act through its tools only.
{brief}
Read view_rules, then play on until await_turn says that the episode is over. A reply without a call ends your game."""


class MarketData(vf.TaskData):
    """A seat of a task; `episode` only where agents share one."""

    task: str
    seat: str
    episode: str | None = None


class MarketTaskConfig(vf.TaskConfig):
    """How a seat is scored: by its `score` in [-1, 1], or its `reward` in the market's own unit."""

    measure: Literal["score", "reward"] = "score"


class MarketTask(vf.Task[MarketData, MarketState, MarketTaskConfig]):
    """An episode on the server, with the market's own agents in all other seats."""

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        """Order the episode, unless agents share one. Raises OSError without a server, `tradefair_client.Refused`."""
        episode = self.data.episode or await to_thread(order, task=self.data.task)
        trace.state = MarketState(episode=episode, seat=self.data.seat)

    @vf.reward
    async def market(self, trace: vf.Trace) -> float:
        """What the seat has earned; an episode that still runs is ended, and its outcome `censored`."""
        await to_thread(control, f"/episodes/{trace.state.episode}", method="DELETE")  # its place is free
        return await record(trace, self.config.measure)

    @classmethod
    def toolsets(cls, config: MarketTaskConfig) -> list[vf.Toolset]:
        """The seat's tools, on this machine: only here is the control plane within reach."""
        return [MarketTools(vf.ToolsetConfig())]


def order(**named: Any) -> str:
    """Make an episode to which nobody is invited yet; its id."""
    return control("/episodes", {**named, "invite": False, "tools": "slim"})["episodes"][0]["episode"]


async def record(trace: vf.Trace, measure: str) -> float:
    """Write a seat's outcome into its trace; what it has earned. Raises ValueError where there is no such number."""
    outcome = await to_thread(control, f"/episodes/{trace.state.episode}/outcome")
    own = outcome["seats"][trace.state.seat]
    trace.info["tradefair"] = outcome
    trace.record_metric("censored", float(outcome["censored"]))
    trace.record_metrics({name: float(value) for name, value in own["components"].items() if value is not None})
    return paid(own, measure)


def paid(own: dict[str, Any], measure: str) -> float:
    """The score or the reward of a seat; score 0, that of doing nothing, where it ended before anything counted."""
    if own[measure] is not None:
        return float(own[measure])
    if measure == "score" and own["score_range"] is not None:
        return 0.0
    raise ValueError(f"this seat has no {measure}: {own}; a scenario without a scale of scores takes measure = reward")


class MarketConfig(vf.TasksetConfig):
    """Which of the server's tasks are loaded, if need be those of one scenario; verifiers' `select` says how many."""

    split: str = "train"
    scenario: str | None = None
    task: MarketTaskConfig = MarketTaskConfig()


class MarketTaskset(vf.Taskset[MarketTask, MarketConfig]):
    """The tasks of a split that have one seat to play, in the server's order."""

    def load(self) -> Iterator[MarketTask]:
        """Ask the server, page by page. Raises OSError without one, `tradefair_client.Refused` for an unknown split."""
        briefs: dict[tuple[str, str], str] = {}
        for start in range(0, control(f"/tasks/{self.config.split}?limit=1")["tasks"], 1000):
            for row in control(f"/tasks/{self.config.split}?start={start}&limit=1000")["items"]:
                kind = (row["scenario"], *row["seats"])
                if len(row["seats"]) > 1 or self.config.scenario not in (None, row["scenario"]):
                    continue
                if kind not in briefs:  # the same for all seeds
                    told = control(f"/tasks/{row['task']}")["brief"][kind[1]]
                    briefs[kind] = PROMPT.format(seat=kind[1], brief="\n".join(told.values()))
                data = MarketData(id=row["task"], task=row["task"], seat=kind[1], prompt=briefs[kind])
                yield MarketTask(data, self.config.task)


class MarketHarness(NullHarness):
    """A chat with the market's tools and nothing else: no shell, which could read the control plane's token."""
