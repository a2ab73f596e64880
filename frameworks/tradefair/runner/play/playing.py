"""What `tradefair play` does with its options: plays one episode or several, or goes on with one that was stopped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tradefair.catalog import market_names, market_type
from tradefair.cli.options import EpisodeFlags
from tradefair.cli.terminal import say
from tradefair.contract import HarnessFailure, MarketType, Scenario, ScenarioError
from tradefair.contract.kernel.players import PERSON, seat_roles
from tradefair.contract.scenario import parse_override
from tradefair.evaluation.ledger import Extent
from tradefair.frameworks.models.access import IDLE_ROUNDS, Stopped
from tradefair.frameworks.models.recording import NotRecorded
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.progress import Progress
from tradefair.host.seats.plans import default_folder, left_alone, new_seed, plan_seats, plan_turn
from tradefair.runner.play.agent_flags import AgentFlags, refuse
from tradefair.runner.play.agent_spec import OUTSIDE, AgentSpec, ReadyAgent, ready
from tradefair.runner.play.approval import TerminalApproval
from tradefair.runner.play.episode_runner import PlaySpec, play_episode, ready_again, recorded_agent, resume_episode
from tradefair.runner.play.outside import open_door, open_report
from tradefair.runner.play.play_flags import Often, Played
from tradefair.runner.play.references import references_of
from tradefair.runner.play.series import Seated, play_series
from tradefair.runner.play.setup import chosen_scenario
from tradefair.runner.play.summary import Shown, Summary, summarise, until_stopped
from tradefair.runner.play.trials import play_trials

_FIRST, _FIRST_SEED = "double_auction", 7
"""The market that is played where none is named, so that `tradefair play` plays."""
# What takes time, where it is no model.
_AWAITED = {OUTSIDE: "a client", PERSON: "you"}
# Names of options where they differ from the field's.
_NAMES = {"--market": "MARKET", "--overrides": "--set"}
# Ignored with --resume and not refused: what is resumed gets no references.
_OF_RESUMED = ("references",)


class Manner(NamedTuple):
    """How the command goes about it, whatever is played."""

    ledger: Extent | None
    """How far what turns lost is replayed; None where nothing was said."""
    quiet: bool
    browser: bool | None
    """Whether the page of a person who plays is opened; None where nothing was said."""
    slim: bool = False
    """Whether a client from outside is listed the tools without their output schemas."""


def play_new(episode: Played, agent: AgentFlags, often: Often, manner: Manner) -> Shown:
    """Play what the options say, with progress on a terminal. Raises ScenarioError, HarnessFailure."""
    if not (episode.market or episode.scenario):
        # A first game on luck that has something to win: on some seeds nobody can earn anything in the agent's seat.
        seed = _FIRST_SEED if episode.seed is None else episode.seed
        say(f"no market was named: {_FIRST}, seed {seed}. All: tradefair show markets")
        episode = replace(episode, market=_FIRST, seed=seed)
    kind, setting = _setting(episode)
    policy_key, agent_key = episode.keys
    seed, others = new_seed() if episode.seed is None else episode.seed, episode.others or None
    seated: Seated | None = None
    if often.seeds and not episode.seat:
        # Over many seeds each seat in its turn, where seats differ; one episode is played where the scenario says.
        seated = partial(plan_turn, kind, setting, others=others)
    plan = seated(seed) if seated else plan_seats(kind, setting, agents=episode.seat or None, others=others)
    # A person plays one seat at a time, unless --seat names more.
    if agent.framework == PERSON and plan.agents and not (episode.seat or seated):
        plan = left_alone(kind, setting, plan, plan.agents[:1])
    # All roles that the agent will meet: one that cannot play some of them is refused before the first episode.
    roles = seat_roles(kind, setting, None if seated and setting.by_turns else plan.agents)
    played_by = agent.spec(kind, setting, set(roles.values()))
    ask = TerminalApproval() if agent.approve else None
    spec = PlaySpec(
        market=episode.market,
        scenario=setting,
        seed=seed,
        plan=plan,
        agent=ready(kind, played_by, roles, scenario=setting, ask=ask),
        folder=episode.out or default_folder(episode.market),
        policy_key=policy_key,
        agent_key=agent_key,
    )
    return asyncio.run(_episodes(spec, _stage(played_by, manner), often, seated, manner.ledger))


def go_on(path: Path, episode: Played, agent: AgentFlags, often: Often, manner: Manner) -> Summary:
    """Go on with a trace, with its own agent or the one that was named; scored and checked.

    Raises ScenarioError for options of a new episode, and where there is no trace.
    """
    # An option of a new episode would be ignored in silence, so it is refused.
    new = {f"--{name}": value for name, value in (vars(episode) | vars(often)).items() if name not in _OF_RESUMED}
    refuse({_NAMES.get(name, name): value for name, value in new.items()}, "--resume goes on with a trace as it is")
    return asyncio.run(_resume(path, agent, manner))


class _Stage(NamedTuple):
    """What goes on around the episodes of this command."""

    ledger: Extent
    """How far what turns lost is replayed, in all `episodes` together."""
    quiet: bool
    asks: bool
    """Whether a person is asked on the terminal."""
    browser: bool = True
    """Whether the page of a person who plays is opened."""
    slim: bool = False
    series: bool = False
    """Whether the episodes are a series, which says by itself how it is gone on with."""
    episodes: int = 1

    async def play(self, spec: PlaySpec, references: bool, title: str = "", *, two: bool = False) -> Summary:
        """One episode and its references, or `two` of them; a title where it is one of several."""
        played = await until_stopped(play_episode(spec, opened=partial(self.around, title=title)))
        # Several episodes share one folder of references: their names need the seed.
        wanted = references and not played.stopped
        beside = await references_of(spec, played.agents, by_seed=bool(title), two=two) if wanted else {}
        return self.told(summarise(played, beside, ledger=self.ledger, episodes=self.episodes), spec.agent.spec)

    def told(self, summary: Summary, agent: AgentSpec) -> Summary:
        """The summary; to a person it is shown in the browser too what each turn lost."""
        if agent.framework == PERSON and self.ledger is not Extent.OFF:
            open_report(summary.played.path, summary.evaluation, browser=self.browser)
        return summary

    @asynccontextmanager
    async def around(self, episode: Episode, player: ReadyAgent, *, title: str = "") -> AsyncGenerator[None]:
        """Progress and, for an outside agent, a door; what stops the run says how to resume it."""
        agent, go_on = player.spec, partial(_how_to_go_on, episode, player)
        async with AsyncExitStack() as stack:
            if agent.outside:
                seats = [seat for seat in episode.core.market.seats if seat not in episode.scripted]
                person = agent.framework == PERSON
                # Inside the stack, so that the server stops before the episode is closed.
                door = open_door(episode, seats, person=person, browser=self.browser, slim=self.slim)
                await stack.enter_async_context(door)
            # Questions and a moving line do not share a terminal.
            awaited, quiet = _AWAITED.get(agent.framework, "the model"), self.quiet or self.asks
            shown = Progress(episode, title, awaited=awaited, taken=player.budget.words, quiet=quiet)
            await stack.enter_async_context(shown)
            try:
                yield
            except NotRecorded:
                raise  # the same request would be missing again
            except Stopped as stop:
                raise Stopped(stop.limit, f"{_in_full(stop, shown.round)}; {go_on(stop.limit)}") from stop
            except HarnessFailure as failure:
                raise HarnessFailure(f"{failure} ({go_on()})") from failure
            except asyncio.CancelledError:
                if not self.series:
                    say(f"stopped; {go_on()}")
                raise


def _in_full(stop: Stopped, at: str) -> str:
    return str(stop) if stop.limit == IDLE_ROUNDS else f"stopped before the next request: {stop} ({at})"


def _how_to_go_on(episode: Episode, player: ReadyAgent, reached: str = "") -> str:
    """The command that goes on; a trace names neither files nor limits of the whole, so these are in it."""
    files = {"--record": player.spec.record, "--replay": player.spec.replay}
    again = [word for name, file in files.items() if file for word in (name, file)]
    words = ["--resume", str(episode.path), *again, player.budget.again(reached)]
    return f"go on with: tradefair play {' '.join(filter(None, words))}"


async def _episodes(spec: PlaySpec, stage: _Stage, often: Often, seated: Seated | None, ledger: Extent | None) -> Shown:
    """One episode, by default with all references; a series, by default with two of them; trials, without."""
    asked = [count for count in (often.seeds, often.trials) if count is not None]
    if not asked:
        return await stage.play(spec, often.references is not False)
    (count, *others) = asked
    stage = stage._replace(ledger=Extent.of(ledger, count), episodes=count)
    if others:
        raise ScenarioError("trials repeat one seed, --seeds takes several: leave one out")

    async def one(single: PlaySpec, number: int) -> Summary:
        title, asked_for = f"seed {single.seed}, {number + 1} of {count}", often.references
        # None means the default: a series is read by two references, trials by the first of them.
        played = not often.trials if asked_for is None else asked_for
        return await stage.play(single, played, title, two=asked_for is None)

    if often.trials:
        return await play_trials(spec, count, one)
    stage = stage._replace(series=True)
    return await play_series(spec, range(spec.seed, spec.seed + count), one, seated)


def _stage(agent: AgentSpec, manner: Manner) -> _Stage:
    """What goes on around episodes of this agent. ScenarioError for a page or a list that nobody would look at."""
    if agent.framework != PERSON:
        refuse({"open": manner.browser}, f"a browser is for --agent {PERSON}")
    if agent.framework != OUTSIDE:
        refuse(
            {"slim-tools": manner.slim or None}, f"our own agents have such lists anyway; it is for --agent {OUTSIDE}"
        )
    extent = Extent.of(manner.ledger, 1)
    return _Stage(extent, manner.quiet, agent.approve, manner.browser is not False, manner.slim)


async def _resume(path: Path, agent: AgentFlags, manner: Manner) -> Summary:
    if not path.is_file():
        what = "a folder: name the trace in it" if path.is_dir() else "there is no such file"
        raise ScenarioError(f"--resume {path}: {what}")
    # A named framework is another agent, so what the trace recorded of the old one does not matter.
    replay = None if agent.replay is None else str(agent.replay)
    spec = agent.over(None if agent.framework else recorded_agent(path, replay=replay))
    ask = TerminalApproval() if spec.approve else None
    stage = _stage(spec, manner)
    played = await until_stopped(resume_episode(path, ready_again(path, spec, ask=ask), opened=stage.around))
    return stage.told(summarise(played, None, ledger=stage.ledger), spec)


def _setting(episode: EpisodeFlags) -> tuple[MarketType, Scenario]:
    """The market and the scenario that the options mean. Raises ScenarioError."""
    market, overrides = episode.market, dict(map(parse_override, episode.overrides or ()))
    if not market:
        raise ScenarioError(f"name a market: {', '.join(market_names())} (or go on with a trace: --resume TRACE)")
    kind = market_type(market)
    return kind, chosen_scenario(kind, episode.scenario, overrides)
