"""`tradefair play`."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from tradefair.catalog import default_scenario, load_scenario, market_names, market_type, use_data
from tradefair.contract.errors import HarnessFailure, ScenarioError
from tradefair.contract.market import MarketType
from tradefair.contract.scenario import Scenario, parse_override
from tradefair.frameworks import FRAMEWORKS
from tradefair.frameworks.base import Limits
from tradefair.frameworks.models.faults import FAULTS
from tradefair.frameworks.models.recording import NotRecorded
from tradefair.host.episode import Episode
from tradefair.host.setup import default_folder, new_seed, plan_seats, seat_roles
from tradefair.runner.agent_spec import NATIVE, OUTSIDE, AgentSpec, ready
from tradefair.runner.approval import TerminalApproval
from tradefair.runner.episode_runner import PlaySpec, play_episode, ready_again, recorded_agent, resume_episode
from tradefair.runner.outside import open_door
from tradefair.runner.references import (
    play_on_every_seat,
    play_references,
    policies_on_every_seat,
    reference_policies,
)
from tradefair.runner.series import play_series
from tradefair.runner.summary import Shown, Summary, show, show_progress, summarise
from tradefair.runner.trials import play_trials

_DEFAULT_CALLS = 60
_AGENTS = ", ".join(name for name in FRAMEWORKS if name != "langgraph")
_MODELS = "policy:<name>, openai:<model>, <provider>:<model> or replay:<file>; default: the market's stand-in."

_Count = Annotated[
    int | None,
    typer.Option(min=1, max=10_000, help="Tool calls per round of an agent; default: the scenario's limit, else 60."),
]
_Out = Annotated[Path | None, typer.Option(help="Folder of the traces; default ./runs/<time>-<market>.")]
_Overrides = Annotated[list[str] | None, typer.Option("--set", help="Scenario value to change: key=value.")]
_Data = Annotated[Path | None, typer.Option("--data", metavar="DIR", help="Folder of data; default: TRADEFAIR_DATA.")]
_References = Annotated[
    bool | None, typer.Option("--references/--no-references", help="Also play the market's references in its seat.")
]


def play(
    market: Annotated[str, typer.Argument(help="The market, such as double_auction; not with --resume.")] = "",
    scenario: Annotated[str, typer.Option(help="Scenario id or .toml file; default: the market's first.")] = "",
    agent: Annotated[str, typer.Option(help=f"Plays the agent's seat: {_AGENTS}; default react.")] = "",
    model: Annotated[str, typer.Option(help=_MODELS)] = "",
    base_url: Annotated[str, typer.Option(help="OpenAI-compatible endpoint for openai:<model>.")] = "",
    seat: Annotated[list[str] | None, typer.Option(help="Seat of the agent; may be repeated.")] = None,
    others: Annotated[str, typer.Option(help="Policy of every other seat; default: the scenario's.")] = "",
    seed: Annotated[int | None, typer.Option(help="Fixes all chance; default: a fresh one, printed.")] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, max=10_000, help="Play this many episodes, on seeds from --seed on.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="Play it so often; reflection carries over what it wrote.")
    ] = None,
    overrides: _Overrides = None,
    data: _Data = None,
    out: _Out = None,
    resume: Annotated[Path | None, typer.Option(help="Go on with this trace where a run stopped.")] = None,
    record: Annotated[Path | None, typer.Option(help="Append every model call to this file.")] = None,
    replay: Annotated[Path | None, typer.Option(help="Answer model calls from this file; no model is asked.")] = None,
    max_calls_per_round: _Count = None,
    max_tokens: Annotated[int | None, typer.Option(min=1, help="Tokens per round of an agent.")] = None,
    model_timeout: Annotated[
        float | None, typer.Option(min=0.1, max=86_400, help="Seconds that a model's reply may take; default 120.")
    ] = None,
    window: Annotated[
        str,
        typer.Option(
            help="What a graph shows its model of a round: full_round, last_results(k=6), cleared_results(k=6)."
        ),
    ] = "",
    approve: Annotated[
        bool | None, typer.Option("--approve/--no-approve", help="Ask on the terminal before each action (graphs).")
    ] = None,
    faults: Annotated[
        str, typer.Option(help=f"Testing aid: faults of the endpoint, such as 429@3,drop@8 ({', '.join(FAULTS)}).")
    ] = "",
    policy_key: Annotated[int, typer.Option(help="Other draws of scripted policies, same market luck.")] = 0,
    references: _References = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")] = False,
) -> int:
    """Play an episode in process over MCP; print a scored summary, verify the trace.

    A killed run goes on with --resume TRACE. With --seeds N, N episodes on consecutive seeds, and a row for each.
    Exit code 1 when a trace does not verify, 3 when a provider failed.
    """
    given: dict[str, Any] = {
        "framework": agent,
        "model": model,
        "base_url": base_url,
        "record": record and str(record),
        "replay": replay and str(replay),
        "window": window,
        "faults": faults,
        "timeout_s": model_timeout,
        "approve": approve,
    }
    chosen = {name: value for name, value in given.items() if value not in (None, "")}
    limits = _Bounds(max_calls_per_round, max_tokens)
    use_data(data)
    if resume is not None:
        new_game = {"MARKET": market, "--scenario": scenario, "--seed": seed, "--set": overrides, "--out": out}
        more = {"--seat": seat, "--others": others, "--seeds": seeds, "--trials": trials, "--data": data}
        _refuse(new_game | more, "--resume goes on with a trace as it is")
        return show(asyncio.run(_resume(resume, chosen, limits, as_json)), json=as_json)
    kind, setting = _setting(market, scenario, overrides or [])
    plan = plan_seats(kind, setting, agents=seat or None, others=others or None)
    roles = seat_roles(kind, setting, plan.agents)
    played_by = _agent(kind, chosen, limits.of(setting), set(roles.values()))
    limits.check(played_by.framework)
    ask = TerminalApproval() if approve else None
    spec = PlaySpec(
        market=market,
        scenario=setting,
        seed=new_seed() if seed is None else seed,
        plan=plan,
        agent=ready(kind, played_by, roles, ask=ask),
        folder=out or default_folder(market),
        policy_key=policy_key,
    )
    stage = _Stage(as_json, ask is not None)
    return show(asyncio.run(_episodes(spec, stage, seeds, trials, references)), json=as_json)


class _Bounds(NamedTuple):
    """Limits as they were given."""

    calls: int | None
    tokens: int | None

    def of(self, scenario: Scenario | None) -> Limits:
        """As many calls as the scenario grants a seat in a round; an agent that makes more is only refused."""
        limits = scenario.limits if scenario is not None else ()
        granted = [limit.max for limit in limits if limit.per == "round" and "read" in limit.counts]
        return Limits(self.calls or min(granted, default=_DEFAULT_CALLS), self.tokens)

    def check(self, framework: str) -> None:
        """Refuse limits that nothing would keep. Raises ScenarioError."""
        if framework in (NATIVE, OUTSIDE):
            given = {"--max-calls-per-round": self.calls, "--max-tokens": self.tokens}
            _refuse(given, f"limits are for agents that ask a model, and --agent {framework} asks none")

    def over(self, recorded: Limits) -> Limits:
        """The recorded limits, changed by what was given."""
        return Limits(self.calls or recorded.calls_per_round, self.tokens or recorded.tokens_per_round)


class _Stage(NamedTuple):
    """What goes on around the episodes of this command."""

    as_json: bool
    asks: bool
    """Whether a person is asked on the terminal."""

    async def play(self, spec: PlaySpec, references: bool, title: str = "") -> Summary:
        """One episode and its references; a title where it is one of several."""
        played = await play_episode(spec, opened=partial(self.around, title=title))
        beside: dict[str, Path] = {}
        if references:
            roles = seat_roles(spec.kind, spec.scenario)
            if len(played.agents) == 1:
                policies = reference_policies(spec.kind, roles[played.agents[0]])
                beside = await play_references(spec, played.agents, policies, by_seed=bool(title))
            everywhere = policies_on_every_seat(spec.kind, roles.values())
            beside |= await play_on_every_seat(spec, everywhere, by_seed=bool(title))
        return summarise(played, beside)

    @asynccontextmanager
    async def around(self, episode: Episode, agent: AgentSpec, *, title: str = "") -> AsyncGenerator[None]:
        """Progress and, for an outside agent, a door; whatever stops the run leaves a word on how to go on."""
        go_on = f"go on with: tradefair play --resume {episode.path}"
        async with AsyncExitStack() as stack:
            if agent.framework == OUTSIDE:
                seats = [seat for seat in episode.core.market.seats if seat not in episode.scripted]
                await stack.enter_async_context(open_door(episode, seats))
            # Questions and a moving line do not share a terminal.
            await stack.enter_async_context(show_progress(episode, title, quiet=self.as_json or self.asks))
            try:
                yield
            except NotRecorded:
                raise  # the same request would be missing again
            except HarnessFailure as failure:
                raise HarnessFailure(f"{failure} ({go_on})") from failure
            except asyncio.CancelledError:
                if agent.framework != OUTSIDE:
                    print(f"stopped; {go_on}", file=sys.stderr)
                raise


async def _episodes(
    spec: PlaySpec, stage: _Stage, seeds: int | None, trials: int | None, references: bool | None
) -> Shown:
    """One episode, by default with references; or several, by default without."""
    count = seeds or trials
    if count is None:
        return await stage.play(spec, references is not False)
    if seeds and trials:
        raise ScenarioError("--trials repeats one seed, --seeds takes several: leave one out")

    async def one(single: PlaySpec, number: int) -> Summary:
        return await stage.play(single, references is True, f"seed {single.seed}, {number + 1} of {count}")

    return await (play_trials(spec, count, one) if trials else play_series(spec, count, one))


async def _resume(path: Path, given: Mapping[str, Any], limits: _Bounds, as_json: bool) -> Summary:
    if not path.is_file():
        what = "a folder: name the trace in it" if path.is_dir() else "there is no such file"
        raise ScenarioError(f"--resume {path}: {what}")
    if given.get("framework"):
        spec = AgentSpec(**given, limits=limits.of(None))
    else:
        recorded = recorded_agent(path)
        spec = replace(recorded, **given, limits=limits.over(recorded.limits))
    limits.check(spec.framework)
    ask = TerminalApproval() if spec.approve else None
    stage = _Stage(as_json, ask is not None)
    return summarise(await resume_episode(path, ready_again(path, spec, ask=ask), opened=stage.around), {})


def _setting(market: str, scenario: str, overrides: list[str]) -> tuple[MarketType, Scenario]:
    if not market:
        raise ScenarioError(f"name a market: {', '.join(market_names())} (or go on with a trace: --resume TRACE)")
    kind = market_type(market)
    return kind, load_scenario(market, scenario or default_scenario(market), dict(map(parse_override, overrides)))


def _agent(kind: MarketType, given: Mapping[str, Any], limits: Limits, roles: set[str]) -> AgentSpec:
    """The agent as it was asked for; without a model the stand-in for its roles, or whoever was recorded."""
    spec = replace(AgentSpec(limits=limits), **given)
    if spec.model is None and spec.replay is None and spec.framework != OUTSIDE:
        named = [policy.name for policy in kind.policies.values() if policy.stand_in and roles <= policy.roles]
        return replace(spec, model=f"policy:{named[0]}" if named else None)
    return spec


def _refuse(options: Mapping[str, Any], why: str) -> None:
    given = [name for name, value in options.items() if value not in (None, "", [])]
    if given:
        raise ScenarioError(f"{why}: leave {', '.join(given)} out")
