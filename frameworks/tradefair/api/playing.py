"""Play episodes: one, a whole plan, a fork, or one seat by hand. Thin: the runner does the work."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import asynccontextmanager, suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast

from pydantic import JsonValue

from tradefair.api.seats import OwnFunction, OwnPolicy, Seat, Stage
from tradefair.api.traces import LedgerExtent, Trace, Traces, load
from tradefair.catalog import market_type
from tradefair.contract import HarnessFailure, MarketType, Policy, Scenario, ScenarioError, SeatId
from tradefair.contract.kernel.players import PERSON, Limits, seat_roles
from tradefair.host.episode.episode import Episode
from tradefair.host.seats.plans import default_folder, left_alone, new_seed, plan_seats
from tradefair.runner.fork import fork as forking
from tradefair.runner.plans.episodes import workload_of
from tradefair.runner.plans.plan import load_plan
from tradefair.runner.play.agent_flags import AgentFlags
from tradefair.runner.play.agent_spec import NATIVE, OUTSIDE, OWN, AgentSpec, ReadyAgent, ready
from tradefair.runner.play.episode_runner import Played, PlaySpec, play_episode
from tradefair.runner.play.references import references_of
from tradefair.runner.play.setup import calls_per_round, chosen_scenario, with_stand_in
from tradefair.runner.sweep import sweep as sweeping

Agent: TypeAlias = Callable[[Seat], Awaitable[object]]
"""An async function that plays one seat. With several seats it is called once for each, at the same time."""
PolicyMaker: TypeAlias = Callable[[], Policy]
"""A class with the method `turn`, made without arguments, once for each seat and episode."""

T = TypeVar("T")

_HEARS_S = 0.2
"""How often a call that waits for a thread looks whether it is to stop."""
_FORMS = (
    'give text, such as "react" or "policy:zip"; an async function that is given a Seat; '
    "or a class with the method turn that is made without arguments"
)


class Forked(NamedTuple):
    """The arms of a fork, one trace per future in each.

    `control` is the original (later futures: the original played on from the event under other draws), `kept` has the
    event as it was and then the new agent, `fork` the new agent from before the event. An arm that could not be played
    is empty; `remarks` say why.
    """

    control: Traces
    kept: Traces
    fork: Traces
    remarks: Sequence[str]


class _Asked(NamedTuple):
    """The arguments of `play`, as they were given."""

    market: str
    scenario: str | Path | Scenario | None
    seed: int | None
    agent: str | Agent | PolicyMaker | None
    model: str | None
    seat: SeatId | Sequence[SeatId] | None
    others: str | None
    settings: Mapping[str, JsonValue] | None
    folder: str | Path | None
    policy_key: int = 0
    api: str | None = None
    limits: Mapping[str, JsonValue] | None = None


def play(
    market: str,
    *,
    scenario: str | Path | Scenario | None = None,
    seed: int | None = None,
    agent: str | Agent | PolicyMaker | None = None,
    model: str | None = None,
    seat: SeatId | Sequence[SeatId] | None = None,
    others: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    folder: str | Path | None = None,
    policy_key: int = 0,
    references: bool = False,
    ledger: LedgerExtent | None = None,
    api: str | None = None,
    limits: Mapping[str, JsonValue] | None = None,
) -> Trace:
    """Play one episode to its end in this process and return its trace.

    `scenario` is an id, the path of a TOML file, or a Scenario (default: the market's). `agent` decides for `seat`
    (default: the scenario's agent seats): an agent string of the command line ("react", "policy:zip"), an async
    function that is given a `Seat`, or a class with the method `turn` (a scripted policy); None is the market's
    stand-in. `model` is a string such as "openai:gpt-5"; `others` one policy for all other seats. `settings` replaces
    scenario values by dotted key. `seed` is 0 to 2**63 - 1, drawn afresh when None. `folder` defaults to
    ./runs/<time>-<market>. `policy_key` gives scripted policies other draws; the market's luck stays. `references=True`
    also plays the market's reference policies on the same luck, into `references/` of the folder. `ledger` is how far
    it is replayed what turns lost, once the trace's verdict is asked for: see `Trace`. `api` is how `openai:` models
    are asked ("auto", "chat", "responses"); `limits` are those of `--limit`, by name: {"cost": 0.5, "idle_rounds": 0}.

    Where an event loop runs already (a notebook), the episode is played in a thread of its own, and this waits.

    Raises ScenarioError before anything is written; HarnessFailure when a provider or the agent's code fails, with the
    path of the trace, which can be resumed.
    """
    asked = _Asked(market, scenario, seed, agent, model, seat, others, settings, folder, policy_key, api, limits)
    stage = Stage()
    try:
        return Trace(wait_for(partial(_played, asked, references, stage)), ledger=ledger)
    except KeyboardInterrupt as stop:
        if stage.place is not None:
            # The trace is whole up to the last command, and Python prints the note below the traceback.
            stop.add_note(f"go on with: tradefair play --resume {stage.place}")
        raise


async def play_async(
    market: str,
    *,
    scenario: str | Path | Scenario | None = None,
    seed: int | None = None,
    agent: str | Agent | PolicyMaker | None = None,
    model: str | None = None,
    seat: SeatId | Sequence[SeatId] | None = None,
    others: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    folder: str | Path | None = None,
    policy_key: int = 0,
    references: bool = False,
    ledger: LedgerExtent | None = None,
    api: str | None = None,
    limits: Mapping[str, JsonValue] | None = None,
) -> Trace:
    """As `play`, for code that is asynchronous itself. Cancelled, it leaves an unfinished trace."""
    asked = _Asked(market, scenario, seed, agent, model, seat, others, settings, folder, policy_key, api, limits)
    return Trace(await _played(asked, references, Stage()), ledger=ledger)


@asynccontextmanager
async def seat(
    market: str,
    seat: SeatId | None = None,
    *,
    scenario: str | Path | Scenario | None = None,
    seed: int | None = None,
    others: str | None = None,
    settings: Mapping[str, JsonValue] | None = None,
    folder: str | Path | None = None,
) -> AsyncGenerator[Seat]:
    """Take a seat of a fresh episode in this process: `async with tf.seat("bargaining") as seat`.

    `seat` defaults to the scenario's first agent seat; other agent seats are played by the market's stand-in. The
    remaining arguments are those of `play`. Leaving before the end leaves an unfinished trace that can be resumed
    (`tradefair play --resume TRACE --agent …`). Raises ScenarioError before anything is written.
    """
    handed: Future[Seat] = Future()
    left = asyncio.Event()

    async def by_hand(taken: Seat) -> None:
        handed.set_result(taken)
        # The runner plays a seat for as long as its function runs, so it runs until the caller leaves.
        await left.wait()

    stage = Stage()
    # The function that hands the seat over is the agent of the run.
    asked = _Asked(market, scenario, seed, by_hand, None, seat, others, settings, folder)
    # A task of its own: the episode goes on while the caller holds the seat.
    playing = asyncio.create_task(_played(asked, False, stage, alone=True))
    # Whichever comes first: the seat, or an error from before there was one.
    taken = asyncio.ensure_future(asyncio.wrap_future(handed))
    await asyncio.wait({playing, taken}, return_when=asyncio.FIRST_COMPLETED)
    try:
        if playing.done():
            taken.cancel()
            playing.result()
        yield await taken
    finally:
        # Cancelled, the runner closes the log and seals nothing; let go, it would lapse the turns that are left.
        if stage.over:
            left.set()
        else:
            playing.cancel()
        await asyncio.wait({playing})
        if not playing.cancelled():
            playing.result()


def sweep(
    plan: str | Path,
    folder: str | Path,
    *,
    seeds: int | None = None,
    processes: int | None = None,
    concurrency: int | None = None,
) -> Traces:
    """Play what `folder` lacks of a plan (the name of a bundled one, or a TOML file), then load the folder.

    `seeds` replaces the plan's number of seeds. `processes` workers (default: as many as help) play `concurrency`
    episodes each at a time. Calling it again goes on where it was stopped.

    Raises ScenarioError for an unknown plan and for another plan's folder, HarnessFailure when an episode failed.
    """
    sourced = load_plan(str(plan), seeds=seeds)
    spec = sweeping.SweepSpec(
        workload_of(sourced),
        Path(folder),
        processes,
        concurrency,
        budget=sourced.plan.budget,
        providers=sourced.plan.provider,
    )
    done = _apart(lambda run: sweeping.sweep(spec, run=run))
    if done.failures:
        path, problem, _ = done.failures[0]
        count = f"{len(done.failures)} of {done.counts.total} episodes"
        raise HarnessFailure(f"{count} failed, the first in {spec.folder / path}: {problem}")
    return load(folder)


def fork(
    trace: str | Path | Trace, at: int, *, agent: str, folder: str | Path, model: str | None = None, futures: int = 1
) -> Forked:
    """Play on from before event `at` with another agent, on the same luck; the arms control, kept and fork are traces.

    `agent` and `model` are texts as in `play`; the agent takes the seat of the event. `futures` is 1 to 1,000
    continuations, in which scripted policies draw differently. fork - kept is what that one decision was worth,
    kept - control what everything after it was.

    Raises TraceError where the trace does not re-execute or the event is none to fork at, ScenarioError for an agent
    that does not fit and a folder that holds arms already, HarnessFailure when a provider fails.
    """
    original = trace if isinstance(trace, Trace) else Trace(trace)
    spec = forking.ForkSpec(original.path, Path(folder), at, _named(agent, model, Limits()), futures=futures)
    done = wait_for(partial(forking.fork_episode, spec))
    futures_of = done.futures
    return Forked(
        _arm(future.control for future in futures_of),
        _arm(future.kept for future in futures_of),
        _arm(future.fork for future in futures_of),
        done.remarks,
    )


def _arm(paths: Iterable[Path | None]) -> Traces:
    return Traces([Trace(path) for path in paths if path is not None])


async def _played(asked: _Asked, references: bool, stage: Stage, *, alone: bool = False) -> Path:
    """The path of the trace of what was asked for. `alone`: stand-ins play all agent seats but the named or first."""
    spec = _spec(asked, stage, alone)
    played: Played = await play_episode(spec, opened=partial(_around, stage))
    if references:
        # Several episodes may share the folder: their references are told apart by seed.
        await references_of(spec, played.agents, by_seed=True)
    return played.path


def _spec(asked: _Asked, stage: Stage, alone: bool) -> PlaySpec:
    kind = market_type(asked.market)
    given = asked.scenario
    scenario = chosen_scenario(kind, str(given) if isinstance(given, Path) else given, asked.settings)
    named = [asked.seat] if isinstance(asked.seat, str) else list(asked.seat or ())
    plan = plan_seats(kind, scenario, agents=named or None, others=asked.others)
    if asked.agent is not None and not plan.agents:
        raise ScenarioError(f"{scenario.id} has no seat for an agent: name one with seat= ({', '.join(plan.seats)})")
    # One seat is in the caller's hands; stand-ins play all others that were meant for agents.
    if alone:
        plan = left_alone(kind, scenario, plan, plan.agents[:1])
    # By exact type: True is an int to isinstance, and would be seed 1.
    if asked.seed is not None and type(asked.seed) is not int:
        raise ScenarioError(f"the seed is {asked.seed!r:.80}; it must be an int from 0 to 2^63 - 1")
    return PlaySpec(
        market=asked.market,
        scenario=scenario,
        seed=new_seed() if asked.seed is None else asked.seed,
        plan=plan,
        agent=_agent(kind, scenario, seat_roles(kind, scenario, plan.agents), asked, stage),
        folder=default_folder(asked.market) if asked.folder is None else Path(asked.folder),
        policy_key=asked.policy_key,
    )


def _agent(
    kind: MarketType, scenario: Scenario, roles: Mapping[SeatId, str], asked: _Asked, stage: Stage
) -> ReadyAgent:
    agent, limits = asked.agent, Limits(calls_per_round(scenario))
    if agent is None or isinstance(agent, str):
        named = [f"{name}={value}" for name, value in (asked.limits or {}).items()]
        flags = AgentFlags(api=asked.api or "", limit=named)
        spec = with_stand_in(kind, scenario, flags.over(_named(agent, asked.model, limits)), set(roles.values()))
        return ready(kind, spec, roles, scenario=scenario)
    if asked.api is not None or asked.limits:
        raise ScenarioError("api= and limits= are for agents that are named by a text: leave them out")
    made = own_agent(agent, stage, limits)
    if asked.model is not None:
        raise ScenarioError(f"model= is for agents that are named by a text; {made.spec.label} asks its model itself")
    return made


def own_agent(agent: object, stage: Stage, limits: Limits) -> ReadyAgent:
    """Code of a caller's own as an agent: an async function or a policy class. ScenarioError for anything else."""
    # The prefix keeps a function that is called `react` from being resumed as the framework of that name.
    name = f"{OWN}{getattr(agent, '__name__', type(agent).__name__)}"[:80]
    spec, code = AgentSpec(name, limits=limits), cast("Any", agent)
    # Before the functions: a class with an async __call__ would pass for one of them.
    if isinstance(agent, type) and callable(getattr(agent, "turn", None)):
        _check_policy(code)
        return ReadyAgent(spec, lambda _: OwnPolicy(name, code, stage))
    # An object with an async __call__ is as good as a function.
    if inspect.iscoroutinefunction(agent) or inspect.iscoroutinefunction(getattr(agent, "__call__", None)):  # noqa: B004
        return ReadyAgent(spec, lambda _: OwnFunction(name, code, stage))
    raise ScenarioError(f"agent= is a {type(agent).__name__}: {_FORMS}")


def _named(agent: str | None, model: str | None, limits: Limits) -> AgentSpec:
    """The agent of a text. Raises ScenarioError for one that comes from outside."""
    # Nothing would open a door here, and the episode would wait for its client without end.
    if agent in (OUTSIDE, PERSON):
        raise ScenarioError(f"a player from outside needs a server: tradefair play --agent {agent}")
    if agent is None:
        return AgentSpec(NATIVE if model is None else "react", model, limits=limits)
    # `policy:zip` names both at once: the framework and, as its model, the policy.
    if not agent.startswith(f"{NATIVE}:"):
        return AgentSpec(agent, model, limits=limits)
    if model is not None:
        raise ScenarioError(f"{agent} asks no model: leave model= out")
    return AgentSpec(NATIVE, agent, limits=limits)


def _check_policy(made: Callable[[], Any]) -> None:
    # Made once for nothing: a class that needs arguments would fail only after the trace was begun.
    try:
        policy = made()
    except TypeError as error:
        raise ScenarioError(f"the policy class must be made without arguments: {error}") from None
    # Hidden truth is for scripted seats of the market's own, which the manifest marks (contract/policy.py).
    if hasattr(policy, "see"):
        raise ScenarioError("a policy that sees hidden truth (method see) plays as a policy of its market only")


@asynccontextmanager
async def _around(stage: Stage, episode: Episode, player: ReadyAgent) -> AsyncGenerator[None]:
    """Tell own code where it plays, and say in a failure where the trace is."""
    stage.episode = episode
    try:
        yield
    except HarnessFailure as failure:
        own = player.spec.framework.startswith(OWN)
        named = f"tradefair play --resume {episode.path}{' --agent …' if own else ''}"
        # With the error of the own code as the cause, so that the traceback leads to its line.
        raise HarnessFailure(f"{failure} (go on with: {named})") from stage.fault or failure


def wait_for(make: Callable[[], Coroutine[Any, Any, T]]) -> T:
    """The result of a coroutine, for code that is not asynchronous."""
    return _apart(lambda run: run(make()))


def _apart(work: Callable[[Callable[[Coroutine[Any, Any, Any]], Any]], T]) -> T:
    """Do `work`, which is given a function that runs a coroutine; in a thread of its own where a loop runs already.

    Ctrl-C cancels the coroutine and waits for it, so that its trace is left as it should be.
    """
    try:
        caller = asyncio.current_task()
    except RuntimeError:
        # No loop runs in this thread, so one can be run here.
        return work(asyncio.run)
    begun: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any] | None]] = []

    async def noted(coroutine: Coroutine[Any, Any, Any]) -> Any:
        begun.append((asyncio.get_running_loop(), asyncio.current_task()))
        return await coroutine

    with ThreadPoolExecutor(1) as pool:
        # With the caller's context variables, as if it had not left its thread.
        done = pool.submit(copy_context().run, work, lambda coroutine: asyncio.run(noted(coroutine)))
        try:
            # Only the main thread hears of Ctrl-C, and `asyncio.run` there makes a cancelled task of it.
            while not wait([done], timeout=_HEARS_S).done and not (caller and caller.cancelling()):
                pass
            if done.done():
                return done.result()
            raise asyncio.CancelledError
        except (KeyboardInterrupt, asyncio.CancelledError):
            with suppress(RuntimeError):  # a loop that has ended needs no cancelling
                for loop, task in begun:
                    loop.call_soon_threadsafe(task.cancel if task else loop.stop)
            raise
