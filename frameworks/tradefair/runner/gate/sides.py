"""Who plays a gate, and one game of it: played, proven and read. What cannot be used is missing, with the reason."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import sys
from collections.abc import AsyncGenerator, Collection, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from hashlib import blake2b
from importlib import import_module, util
from pathlib import Path
from secrets import token_hex
from statistics import fmean
from typing import Any, NamedTuple

from tradefair.catalog import market_type
from tradefair.cli.table import load_named
from tradefair.contract import Brief, HarnessFailure, ScenarioError, SeatId, TraceError
from tradefair.contract.chain import canonical
from tradefair.contract.kernel.players import Limits
from tradefair.evaluation.compare.divergence import decisions
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import diagnose, evaluate
from tradefair.evaluation.judge.reward import reward_of
from tradefair.evaluation.ledger import Action
from tradefair.evaluation.prove.proving import refusal_of
from tradefair.evaluation.reading import agent_seats
from tradefair.files.folders import move_onto
from tradefair.frameworks.base import BROKE_OFF, COMMAND, SeatAgent, SeatConnection, SeatReport
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.seat_clock import SeatClock, open_bridge, pass_the_rest
from tradefair.host.episode.episode import Episode
from tradefair.runner.gate.gate_file import seated
from tradefair.runner.plans.episodes import Variant
from tradefair.runner.plans.plan import AgentOptions
from tradefair.runner.plans.play import Spent, spent_in
from tradefair.runner.play.agent_spec import NATIVE, POLICY, AgentSpec, ReadyAgent, ready
from tradefair.runner.play.episode_runner import Opened, PlaySpec, play_episode
from tradefair.runner.play.setup import with_stand_in
from tradefair.tracestore import Trace, open_trace

_OWN = re.compile(r"(?!policy:|command:)(?P<module>[\w.\-/\\:]+?):(?P<name>[A-Za-z_]\w*)")
_TRIES = 2


class Missing(Exception):
    """A game that cannot be used; the text says why."""


class Turn(NamedTuple):
    """What a seat did in one phase: its accepted actions, and its first event there."""

    round: int
    phase: str
    seat: SeatId
    seq: int
    did: tuple[Action, ...]

    @property
    def place(self) -> tuple[int, str, SeatId]:
        """Round, phase and seat."""
        return self.round, self.phase, self.seat

    @property
    def digest(self) -> str:
        """Four hex digits of who did what where."""
        return blake2b(canonical([*self.place, self.did]), digest_size=2).hexdigest()


class Game(NamedTuple):
    """One game that proves what it says. `reward` is the mean of the agent's seats, in the market's unit.

    `raised` has the failure modes that were raised in these seats, each with the first event that it cites.
    """

    seed: int
    seats: tuple[SeatId, ...]
    reward: float
    path: Path
    head: str
    turns: str
    calls: int
    refused: int
    acted: bool
    broke_off: bool
    raised: Mapping[str, int]
    spent: Spent


class Player(NamedTuple):
    """Who plays, as text names it, or code of the caller's own; `code` is a digest of its files.

    A program is started in `folder`, for a game of `timeout_s` seconds.
    """

    label: str
    spec: AgentSpec | None
    own: object = None
    code: str = ""
    timeout_s: float = 600.0
    folder: Path | None = None

    @property
    def draws(self) -> bool:
        """Whether it may play otherwise when it plays again: everything but a policy."""
        return self.spec is None or self.spec.framework != NATIVE

    def ready(self, variant: Variant, roles: Mapping[SeatId, str]) -> tuple[ReadyAgent, Any]:
        """The agent of one game, and the stage that its own code plays on. Raises ScenarioError, HarnessFailure."""
        kind, stage = market_type(variant.market), load_named("api.seats:Stage")()
        if self.spec is None:
            # By name: the Python face, which has the seats of a caller's code, stands above the runner.
            made: ReadyAgent = load_named("api.playing:own_agent")(self.own, stage, Limits())
        else:
            spec = with_stand_in(kind, variant.scenario, self.spec, set(roles.values()))
            made = ready(kind, spec, roles, scenario=variant.scenario, folder=self.folder)
        # A program keeps its own time, and what it leaves passes.
        if self.draws and not made.spec.command:
            inner = made.make

            def guarded(seat: SeatId) -> SeatAgent:
                return _Guarded(inner(seat), stage, self.timeout_s)

            made = replace(made, make=guarded)
        return made, stage


def player_of(text: str, options: AgentOptions, folder: Path, timeout_s: float) -> Player:
    """The player of `agent` or `--against`. Raises ScenarioError for what does not exist or cannot be loaded."""
    text = text.strip()
    if text.startswith(POLICY):
        return Player(text, options.playing(NATIVE, text), timeout_s=timeout_s)
    if text.startswith(COMMAND):
        spec = replace(options.playing(text, options.model), timeout_s=timeout_s)
        # Its code may lie anywhere, so games of an earlier run are never taken for its own.
        return Player(spec.label, spec, None, token_hex(), timeout_s, folder)
    named = _OWN.fullmatch(text)
    if named is None:
        spec = options.playing(text, options.model)
        return Player(spec.label, spec, timeout_s=timeout_s)
    own = _loaded(named["module"], named["name"], folder)
    return own_player(own, text, timeout_s)._replace(code=_digest(_loaded_below(folder)))


def own_player(own: object, label: str, timeout_s: float) -> Player:
    """Code of the caller's own as a player. Raises ScenarioError for what is no agent."""
    load_named("api.playing:own_agent")(own, load_named("api.seats:Stage")(), Limits())
    return Player(label, None, own, "", timeout_s)


def _loaded(module: str, name: str, folder: Path) -> object:
    where = str(folder.resolve())
    sys.path[:0] = [] if where in sys.path else [where]
    try:
        if module.endswith(".py"):
            found = util.spec_from_file_location(Path(module).stem, folder / module)
            assert found is not None
            assert found.loader is not None
            made = util.module_from_spec(found)
            sys.modules[found.name] = made
            found.loader.exec_module(made)
        else:
            made = import_module(module)
        return getattr(made, name)
    # Code of the caller's own may fail in any way, and exit too.
    except (Exception, SystemExit) as fault:
        raise ScenarioError(f"agent {module}:{name} cannot be loaded from {folder}: {fault!r}"[:300]) from fault


def _loaded_below(folder: Path) -> list[Path]:
    """The files below the folder that modules were made of."""
    files = [Path(file) for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))]
    return [file for file in files if file.is_relative_to(folder.resolve()) and "site-packages" not in file.parts]


def _digest(files: Any) -> str:
    seen = blake2b(digest_size=16)
    for file in sorted(files):
        seen.update(file.read_bytes() if file.is_file() else b"")
    return seen.hexdigest()


class _Guarded:
    """An agent whose failure ends its game and nothing else: the rounds that are left pass, and a note says why."""

    def __init__(self, inner: SeatAgent, stage: Any, timeout_s: float) -> None:
        self.name = inner.name
        self._inner, self._stage, self._timeout_s = inner, stage, timeout_s

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end. Raises HarnessFailure where a provider or the connection failed, not the agent."""
        try:
            async with asyncio.timeout(self._timeout_s):
                return await self._inner.play(seat, model, brief, limits)
        except TimeoutError:
            why = f"it took longer than {self._timeout_s:g} seconds"
        except HarnessFailure as failure:
            if self._stage.fault is None:
                raise
            why = str(failure)
        # Call keys of its own: those of the agent would return its own answers.
        rest, report = replace(seat, key_prefix=f"{seat.key_prefix}.rest"), SeatReport(self.name)
        clock = SeatClock(rest, await open_bridge(rest))
        try:
            await pass_the_rest(rest, clock, report, why[:300])
        finally:
            await clock.close()
        return report


async def game_of(
    player: Player, variant: Variant, seed: int, path: Path, *, key: int | None = None, modes: Collection[str] = ()
) -> Game:
    """The game of a player on a seed: as it lies at `path`, else played, and once more where that failed.

    `key` gives the agent other draws. Raises Missing; ScenarioError and HarnessFailure where nothing can be played.
    """
    problem = ""
    for left in range(_TRIES, -1, -1):
        try:
            if path.is_file():
                return read_game(path, player, variant, seed, modes)
        except Missing as missing:
            problem = str(missing)
            path.unlink(missing_ok=True)
        if left:
            try:
                await _played(player, variant, seed, path, key)
            except Missing as missing:
                problem = str(missing)
    raise Missing(problem)


async def _played(player: Player, variant: Variant, seed: int, path: Path, key: int | None) -> None:
    plan, roles = seated(variant, seed)
    agent, stage = player.ready(variant, roles)
    spec = PlaySpec(
        market=variant.market,
        scenario=variant.scenario,
        seed=seed,
        plan=plan,
        agent=agent,
        folder=path.parent,
        agent_key=key,
    )

    try:
        played = await play_episode(spec, opened=on_stage(stage))
    except (HarnessFailure, ScenarioError) as failure:
        if stage.place is not None:
            stage.place.unlink(missing_ok=True)
        # A program that never called is a wrong word in the file.
        if isinstance(failure, ScenarioError):
            raise
        raise Missing(str(failure)[:200]) from failure
    move_onto(played.path, path)


def on_stage(stage: Any) -> Opened:
    """What tells the stage of a caller's own code, once it is open, which episode it is in."""

    @asynccontextmanager
    async def opened(episode: Episode, _: ReadyAgent) -> AsyncGenerator[None]:
        stage.episode = episode
        yield

    return opened


def read_game(path: Path, player: Player | None, variant: Variant, seed: int, modes: Collection[str] = ()) -> Game:
    """What a trace proves of the game that it should be. Raises Missing."""
    try:
        with open_trace(path) as trace:
            trace.hold()
            return _read(trace, path, player, variant, seed, modes)
    except (TraceError, LookupError, TypeError, ValueError, AttributeError) as fault:
        raise Missing(f"{path.name} cannot be read: {fault}"[:200]) from fault


def _read(trace: Trace, path: Path, player: Player | None, variant: Variant, seed: int, modes: Collection[str]) -> Game:
    core, about, seating = trace.manifest.core, trace.manifest.about, trace.seating()
    seats = tuple(agent_seats(seating))
    meant = (variant.market, seed, variant.scenario.model_dump(mode="json"), market_type(variant.market).version)
    if (core.market, core.seed, core.scenario, core.rules_version) != meant:
        raise Missing(f"{path.name} is another game than seed {seed} of {variant.scenario.id}")
    if set(seats) != set(seated(variant, seed)[1]):
        raise Missing(f"{path.name} was played in other seats")
    _check_proven(trace, path, seats)
    outcome = evaluate(trace)
    rewards = [reward_of(outcome, seat).value for seat in seats]
    known = [reward for reward in rewards if reward is not None]
    if len(known) < len(seats) or not seats:
        raise Missing(f"{path.name} has no figure of {', '.join(seats) or 'any seat'} to judge by")
    turns = turns_of(trace, seats)
    own = [outcome.seats[seat] for seat in seats]
    return Game(
        seed=seed,
        seats=seats,
        reward=fmean(known),
        path=path,
        head=str(about.get("head_hash") or ""),
        turns="".join(turn.digest for turn in turns),
        calls=sum(seat.calls for seat in own),
        refused=sum(seat.refused for seat in own),
        acted=any(turn.did for turn in turns),
        broke_off=any(note.get("kind") == BROKE_OFF for note in trace.agent_events()),
        raised=_raised(trace, seats) if modes else {},
        spent=spent_in(note for note in trace.agent_events() if note["seat"] in seats),
    )


def _check_proven(trace: Trace, path: Path, seats: Sequence[SeatId]) -> None:
    """Raises Missing where re-execution does not give this game, or where it did not run its course."""
    refusal = refusal_of(trace, seats)
    if refusal is not None:
        raise Missing(f"{path.name} proves nothing, {refusal.text}"[:200])
    reason = str(trace.manifest.about.get("end_reason"))
    if not evaluator_of(trace.manifest.core.market).ran_its_course(reason):
        raise Missing(f"{path.name} ended early: {reason}")


def _raised(trace: Trace, seats: Sequence[SeatId]) -> dict[str, int]:
    """The modes that were raised in these seats, with and without the market's prefix, and where."""
    found: dict[str, int] = {}
    for name, seq in raised_in(trace, seats):
        found.setdefault(name, seq)
        found.setdefault(name.rpartition(".")[2], seq)
    return found


def raised_in(trace: Trace, seats: Collection[SeatId], since: int = 1) -> Iterator[tuple[str, int]]:
    """Failure modes that are raised in these seats by events from `since` on, each with the first of them."""
    for finding in diagnose(trace).findings:
        seq = next((seq for seq in finding.seqs or (1,) if seq >= since), None)
        if seq is not None and finding.status in ("raised", "condition") and not set(seats).isdisjoint(finding.seats):
            yield finding.id, seq


def turns_of(trace: Trace, seats: Collection[SeatId]) -> list[Turn]:
    """What the seats did, phase by phase in the order of the trace. Raises TraceError."""
    turns: dict[tuple[int, str, SeatId], Turn] = {}
    for decision in decisions(trace):
        if decision.seat not in seats:
            continue
        place = (decision.round, decision.phase, decision.seat)
        turn = turns.setdefault(place, Turn(*place, decision.seq, ()))
        if decision.status == "ok" and decision.tool is not None:
            turns[place] = turn._replace(did=(*turn.did, (decision.tool, decision.arguments)))
    return list(turns.values())


def games_folder(folder: Path, question: str) -> Path:
    """The folder for the games of one question; those of another one, or of one that was answered, go.

    Raises ScenarioError where something else lies there.
    """
    mark = folder / "question"
    if not mark.is_file() and folder.exists() and any(folder.iterdir()):
        raise ScenarioError(f"{folder} holds something else than the games of a gate: name another folder with --out")
    if not mark.is_file() or mark.read_text() != question:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        mark.write_text(question)
    return folder


def answered(folder: Path) -> None:
    """The games stay to be looked at; the same question begins anew."""
    (folder / "question").write_text("")
