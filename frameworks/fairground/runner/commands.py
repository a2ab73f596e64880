"""`fairground play`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fairground.catalog import load_scenario, market_type, scenario_ids
from fairground.contract.errors import HarnessFailure, ScenarioError
from fairground.contract.market import MarketType
from fairground.contract.scenario import Scenario, parse_override
from fairground.frameworks.base import Limits
from fairground.host.episode import Episode
from fairground.host.setup import default_folder, new_seed, plan_seats
from fairground.runner.episode_runner import OUTSIDE, AgentSpec, PlaySpec, play_episode, resume_episode
from fairground.runner.outside import open_door
from fairground.runner.references import play_references, reference_policies
from fairground.runner.summary import Summary, show_progress, summarise

__all__ = ["play"]

_DEFAULT_CALLS = 60
_Count = Annotated[
    int | None,
    typer.Option(min=1, max=10_000, help="Tool calls per round of an agent; default: the scenario's limit, else 60."),
]


def play(
    market: Annotated[str, typer.Argument(help="The market, such as double_auction; not with --resume.")] = "",
    scenario: Annotated[str, typer.Option(help="Scenario id or .toml file; default: the market's first.")] = "",
    agent: Annotated[str, typer.Option(help="Plays the agent's seat: react (default), policy or external.")] = "",
    model: Annotated[str, typer.Option(help="policy:<name> or openai:<model>; default: the market's stand-in.")] = "",
    base_url: Annotated[str, typer.Option(help="OpenAI-compatible endpoint for openai:<model>.")] = "",
    seat: Annotated[list[str] | None, typer.Option(help="Seat of the agent; may be repeated.")] = None,
    others: Annotated[str, typer.Option(help="Policy of every other seat; default: the scenario's.")] = "",
    seed: Annotated[int | None, typer.Option(help="Fixes all chance; default: a fresh one, printed.")] = None,
    overrides: Annotated[list[str] | None, typer.Option("--set", help="Scenario value to change: key=value.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the trace; default ./runs/<time>-<market>.")] = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with this trace where a run stopped.")] = None,
    max_calls_per_round: _Count = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens per round of an agent.")] = None,
    policy_key: Annotated[int, typer.Option(help="Other draws of scripted policies, same market luck.")] = 0,
    references: Annotated[bool, typer.Option(help="Also play the market's references in the agent's seat.")] = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> int:
    """Play one episode in process over MCP; print a scored summary, verify the trace.

    A killed run goes on with --resume TRACE. Exit code 1 when the trace does not verify, 3 when a provider failed.
    """
    if resume is not None:
        limits = Limits(max_calls_per_round or _DEFAULT_CALLS, max_tokens)
        given = AgentSpec(agent, model or None, base_url or None, limits) if agent else None
        return asyncio.run(_resume(resume, given, as_json)).show(json=as_json)
    kind = market_type(market)
    chosen = load_scenario(market, scenario or _first_scenario(market), dict(map(parse_override, overrides or ())))
    framework = agent or "react"
    limits = Limits(max_calls_per_round or _calls_allowed(chosen), max_tokens)
    spec = PlaySpec(
        market=market,
        scenario=chosen,
        seed=new_seed() if seed is None else seed,
        plan=plan_seats(kind, chosen, agents=seat or None, others=others or None),
        agent=AgentSpec(framework, model or _stand_in(kind, framework), base_url or None, limits),
        folder=out or default_folder(market),
        policy_key=policy_key,
    )
    return asyncio.run(_play(spec, references, as_json)).show(json=as_json)


async def _play(spec: PlaySpec, references: bool, quiet: bool) -> Summary:
    played = await play_episode(spec, opened=partial(_around, quiet=quiet))
    beside: dict[str, Path] = {}
    if references and len(played.agents) == 1:
        role = spec.kind.create(spec.scenario, 0).seats[played.agents[0]].role
        beside = await play_references(spec, played.agents, reference_policies(spec.kind, role))
    return summarise(played, beside)


async def _resume(path: Path, agent: AgentSpec | None, quiet: bool) -> Summary:
    return summarise(await resume_episode(path, agent, opened=partial(_around, quiet=quiet)), {})


@asynccontextmanager
async def _around(episode: Episode, agent: AgentSpec, *, quiet: bool) -> AsyncGenerator[None]:
    """Progress and, for an outside agent, a door; a failed provider leaves a word on how to go on."""
    async with AsyncExitStack() as stack:
        if agent.framework == OUTSIDE:
            seats = [seat for seat in episode.core.market.seats if seat not in episode.scripted]
            await stack.enter_async_context(open_door(episode, seats))
        await stack.enter_async_context(show_progress(episode, episode.core.scenario, quiet=quiet))
        try:
            yield
        except HarnessFailure as failure:
            raise HarnessFailure(f"{failure} (go on with: fairground play --resume {episode.path})") from failure


def _calls_allowed(scenario: Scenario) -> int:
    """As many calls as the scenario grants a seat in a round; an agent that makes more is only refused."""
    granted = [limit.max for limit in scenario.limits if limit.per == "round" and "read" in limit.counts]
    return min(granted, default=_DEFAULT_CALLS)


def _first_scenario(market: str) -> str:
    found = scenario_ids(market)
    if not found:
        raise ScenarioError(f"{market} brings no scenario: name a .toml file with --scenario")
    return found[0]


def _stand_in(kind: MarketType, framework: str) -> str | None:
    named = [spec.name for spec in kind.policies.values() if spec.stand_in]
    return f"policy:{named[0]}" if named and framework != OUTSIDE else None
