"""The command `luck`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from tradefair.cli.options import PlayerFlags, grouped
from tradefair.runner.sweep_flags import AsJson, How


@dataclass(frozen=True)
class _Agent(PlayerFlags):
    framework: Annotated[str, typer.Option("--agent", help="Plays the seat: policy:<name>, react, …")] = ""
    model: Annotated[str, typer.Option(help="policy:<name>, openai:<model>, … of the agent.")] = ""


@dataclass(frozen=True)
class _Often(How):
    # Below twenty seeds an interval says nothing; a thousand by 64 are episodes enough.
    seeds: Annotated[int, typer.Option(min=20, max=1_000, help="Seeds from 1 on.")] = 100


@grouped
def luck(
    scenario: Annotated[str, typer.Argument(help="Scenario id, such as double_auction/bazaar, or a .toml file.")],
    player: _Agent,
    how: _Often,
    seat: Annotated[
        str | None, typer.Option(help="Seat of the agent; default: the first agent's seat that it can play.")
    ] = None,
    group: Annotated[int, typer.Option(min=2, max=64, help="Episodes on each seed, by other draws of the agent.")] = 4,
    as_json: AsJson = False,
) -> int:
    """How much of a reward's variance the seed explains, and how large a group of rollouts on one seed pays.

    Plays seeds x group episodes as a sweep does: stopped or killed, the same command goes on. Episodes of one seed
    differ in the agent's own draws alone; a model is sent them as seed. The figure belongs to the scenario, the agent
    and the seat. Failed episodes are left out; above 5 % of them the exit code is 3.
    """
    if not (player.framework or player.model):
        raise typer.BadParameter("name the agent: --agent policy:<name>, or --model openai:<model>")
    # Imported here: what plays takes long to import.
    from tradefair.contract.scenario import checked_content
    from tradefair.runner.agent_spec import agent_of
    from tradefair.runner.luck import LuckSpec, play_luck
    from tradefair.runner.plan import AgentEntry
    from tradefair.runner.summary import show

    agent = agent_of(player)
    named = {"framework": agent.framework, "model": agent.model, "base_url": agent.base_url}
    entry = checked_content(AgentEntry, named, source="--agent")
    return show(play_luck(LuckSpec(scenario, entry, seat, how.seeds, group), how), json=as_json)
