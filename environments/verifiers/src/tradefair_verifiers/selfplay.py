"""Two agents in two seats of one episode, each with a trace and a reward of its own."""

from asyncio import TaskGroup, to_thread
from typing import Literal

import verifiers.v1 as vf
from tradefair_client import control

from tradefair_verifiers.taskset import PROMPT, MarketTask, order, record


class SelfPlayConfig(vf.EnvConfig):
    """Who sits where, the market's own agents in all other seats; and whose trace is not for training."""

    first: vf.AgentConfig = vf.AgentConfig(runtime={"type": "subprocess"})
    second: vf.AgentConfig = vf.AgentConfig(runtime={"type": "subprocess"})
    seats: tuple[str, str] = ("B1", "S1")
    frozen: Literal["first", "second"] | None = None
    max_concurrent_agents: int | None = 2  # both at once: a market waits for each of its seats


class SelfPlayEnv(vf.Env[SelfPlayConfig]):
    """The scenario and the luck of a task, with two agents in it."""

    async def setup(self, agents: vf.Agents) -> None:
        """Take the frozen agent out of training."""
        if self.config.frozen is not None:
            getattr(agents, self.config.frozen).trainable = False

    async def run(self, task: MarketTask, agents: vf.Agents) -> None:
        """Order an episode and play both seats. Raises ValueError for a sealed task, whose seed nobody is told."""
        row = await to_thread(control, f"/tasks/{task.data.task}")
        if row["seed"] is None:
            raise ValueError(f"{task.data.task} is sealed: play it alone, without the env tradefair-selfplay")
        named = {name: row[name] for name in ("market", "scenario", "seed")} | {"seats": self.config.seats}
        episode = await to_thread(order, **named, others="stand_in")

        async def sit(agent: vf.Agent, seat: str) -> None:
            prompt = PROMPT.format(seat=seat, brief="Another agent plays too.")
            data = task.data.model_copy(update={"seat": seat, "episode": episode, "prompt": prompt})
            await agent.run(MarketTask(data, task.config).defer_scoring())
            # Nobody else can play the seat of one that leaves: the other would wait for ever.
            await to_thread(control, f"/episodes/{episode}/outcome?end=true")

        async with TaskGroup() as both:
            both.create_task(sit(agents.first, self.config.seats[0]))
            both.create_task(sit(agents.second, self.config.seats[1]))
        await to_thread(control, f"/episodes/{episode}", method="DELETE")

    async def finalize(self, task: MarketTask, episode: vf.Episode) -> None:
        """Each trace gets the reward of its own seat, now that both are over."""
        for trace in episode.traces:
            trace.record_reward("market", await record(trace, task.config.measure))
