"""Fork an episode: rebuild it before an event and go on with another player, on the same luck.

Three arms, each a trace of its own that verifies:

    control   the original as it was
    kept      the decision as it was, then the new player: what comes after the decision is played as in `fork`
    fork      the new player from before the decision on

fork − kept is what that decision was worth under the new player, kept − control what everything after it was.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import JsonValue

from tradefair.contract import ScenarioError, SeatError, SeatId, TraceError
from tradefair.contract.errors import unknown
from tradefair.contract.kernel.core import Record
from tradefair.contract.kernel.following import FORKED_FROM
from tradefair.contract.kernel.players import Player, Seating
from tradefair.evaluation.reading import imported
from tradefair.host.episode.prefix import write_prefix
from tradefair.host.episode.setup import SOFTWARE, new_episode_id, plan_of, seating_of
from tradefair.runner.fork.past import Command, Original, read_original, rebuild_without
from tradefair.runner.play.agent_spec import NATIVE, OUTSIDE, AgentSpec, ReadyAgent, ready
from tradefair.runner.play.episode_runner import Opened, recorded_agent, resume_episode
from tradefair.tracestore import WRITTEN_BY, Trace, open_trace

Arm = Literal["control", "kept", "fork"]

# As of `--seeds`; checked here too, because a caller in Python comes without the command's parser.
_MAX_FUTURES = 1_000


@dataclass(frozen=True)
class ForkSpec:
    """What to fork, where, and who goes on.

    `at` is the event before which the past ends; with `withhold` it may be left out: then it is the first decision of
    the phase after. `seat` (default: that of event `at`) is played by `agent` from there on; without an agent all
    seats go on as before. `futures` is how many continuations are played: their policies draw under the original's
    policy key, that key plus one, and so on; the market's luck is the same in all. `isolate` plays the arm `kept` too,
    `alone` the arm `fork` and no other. `made` is the agent where it is made already: code of a caller's own.
    """

    path: Path
    folder: Path
    at: int | None = None
    agent: AgentSpec | None = None
    seat: SeatId | None = None
    withhold: int | None = None
    futures: int = 1
    isolate: bool = True
    alone: bool = False
    made: ReadyAgent | None = None


@dataclass(frozen=True)
class Future:
    """The arms of one continuation. `control` is null where the original's agent cannot be asked again."""

    policy_key: int
    control: Path | None
    kept: Path | None
    fork: Path


@dataclass(frozen=True)
class Forked:
    """What was played. `decision` is the command that the fork leaves out or decides again, as stored.

    `head` is the original's; `at` the number, in the original, of the first event that the fork does not share.
    """

    original: Path
    head: str
    at: int
    seat: SeatId | None
    decision: Mapping[str, Any]
    before: str
    after: str
    withheld: bool
    futures: Sequence[Future]
    remarks: Sequence[str]


async def fork_episode(spec: ForkSpec, *, opened: Opened | None = None) -> Forked:
    """Play all arms into `spec.folder` (control/, kept/, fork/), one trace per future.

    Raises TraceError where the original does not re-execute or the event is none to fork at; ScenarioError, SeatError
    for a player or seat that does not fit and a folder with arms in it; HarnessFailure when a provider fails.
    """
    with open_trace(spec.path) as trace:
        original = read_original(trace)
        forking = _Forking(spec, original, trace)
        return await forking.run(opened)


class _Forking:
    def __init__(self, spec: ForkSpec, original: Original, trace: Trace) -> None:
        if not 1 <= spec.futures <= _MAX_FUTURES:
            raise ScenarioError(f"--seeds is {spec.futures}; allowed is 1 to {_MAX_FUTURES}")
        if spec.agent is None and spec.withhold is None:
            raise ScenarioError("name who goes on (--agent, --model), or what is withheld (--withhold)")
        # A second fork into one folder would mix futures of two specs.
        if any((spec.folder / arm).exists() for arm in get_args(Arm)):
            raise ScenarioError(f"{spec.folder}: holds the arms of a fork already; name another folder with --out")
        self.spec = spec
        self.original = original
        self.head = str(trace.manifest.about.get("head_hash") or "")
        self.seating = trace.seating()
        if imported(self.seating) or not self.seating.bound:
            raise TraceError(f"{spec.path.name} does not say who sat where: only runs of tradefair can be forked")
        # These five in this order: each of them reads those above it.
        self.withheld = None if spec.withhold is None else self._decision(spec.withhold)
        self.cut = self._cut()
        self.decision = self.withheld or self.cut
        self.seat = self._seat()
        self.ready = self._ready()

    async def run(self, opened: Opened | None) -> Forked:
        spec, remarks = self.spec, list[str]()
        (spec.folder / "fork").mkdir(parents=True, exist_ok=True)
        # With nothing withheld the past is copied, not carried out again.
        rebuilt = self.original.records(self.cut.first)
        if self.withheld is not None:
            past = rebuild_without(self.original, self.withheld.seq, self.cut.first)
            rebuilt, remarks = past.records, past.remarks
        futures: list[Future] = []
        for number in range(spec.futures):
            # The same key in all arms of a future: they differ in the decision, not in the policies' draws.
            # One arm after another: the progress of all of them is shown on one line.
            fork = await self._continue("fork", number, self.cut.first, self.seat, opened, rebuilt)
            kept = None if spec.alone else await self._kept(number, opened)
            control = None if spec.alone else await self._control(number, remarks, opened)
            futures.append(Future(self.seating.policy_key + number, control, kept, fork))
        return Forked(
            original=spec.path,
            head=self.head,
            at=self.decision.first,
            seat=self.seat,
            decision=self.decision.event,
            # A fork that only withholds has no seat of its own: the label is that of the withheld event's.
            before=self._label(self.seat or self.decision.event.get("seat")),
            after=spec.agent.label if spec.agent else self._label(self.decision.event.get("seat")),
            withheld=self.withheld is not None,
            futures=futures,
            remarks=remarks,
        )

    # --- where and who ----------------------------------------------------------------------------------------------

    def _decision(self, seq: int) -> Command:
        """The command of event `seq`. Raises TraceError for the start of the episode."""
        command = self.original.command_at(seq)
        if command.event["event"] == "episode_started":
            raise TraceError("the episode starts with event 1: the first event that can be forked at comes after it")
        return command

    def _cut(self) -> Command:
        """The first command that is not repeated."""
        spec, withheld = self.spec, self.withheld
        if spec.at is not None:
            cut = self._decision(spec.at)
            # Consequences of a withheld event cannot be the fork point: they do not happen in this past.
            if withheld is None or cut.first >= withheld.next:
                return cut
            raise ScenarioError(f"--withhold {withheld.seq} must come before --at {spec.at}")
        if withheld is None:
            raise ScenarioError("name the event to fork at: --at SEQ")
        # A policy that is asked again in the phase of the withheld event would only repeat the decision that was left
        # out, so the fork begins with the phase after it.
        for command in self.original.commands:
            if command.first >= withheld.next and command.event["revision"] > withheld.event["revision"]:
                return command
        raise TraceError(f"no seat decides anything after the phase of event {withheld.seq}")

    def _seat(self) -> SeatId | None:
        """The seat that the new player takes; None where all go on as before. Raises SeatError."""
        if self.spec.agent is None:
            return None
        seats = self.original.core.market.seats
        seat = self.spec.seat or self.cut.event.get("seat")
        if seat is None:
            raise SeatError(f"event {self.cut.seq} is of no seat: name one with --seat ({', '.join(seats)})")
        if seat not in seats:
            raise SeatError(unknown("seat", seat, seats))
        return seat

    def _ready(self) -> ReadyAgent | None:
        """The new player, made once for all arms; None where all seats go on as before."""
        agent, seat = self.spec.agent, self.seat
        if agent is None or seat is None:
            return None
        core = self.original.core
        made = self.spec.made or ready(core.market_type, agent, {seat: core.market.seats[seat].role})
        # `resume_episode` seats one agent in all outside seats, so a second kind cannot be kept apart.
        others = [name for name in self.seating.agents if name != seat]
        if others and agent.framework != NATIVE:
            raise ScenarioError(
                f"{', '.join(others)} is played by an agent from outside too, and a fork seats one kind of them: "
                "continue with --agent policy"
            )
        return made

    def _label(self, seat: SeatId | None) -> str:
        """What a seat's player is called in the report."""
        return self.seating.labels[seat][:120] if seat else "everybody"

    # --- arms -------------------------------------------------------------------------------------------------------

    async def _continue(
        self,
        arm: Arm,
        number: int,
        until: int,
        seat: SeatId | None,
        opened: Opened | None,
        rebuilt: Sequence[Record] | None = None,
    ) -> Path:
        """Write the original's past before event `until`, as it was or as it was rebuilt, and play on from it."""
        path = self._path(arm, number)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        about = {"episode": new_episode_id(), "created": now, "software": SOFTWARE}
        records = self.original.records(until) if rebuilt is None else rebuilt
        await write_prefix(path, self.original.trace.manifest.core_bytes, about, records)
        # A policy sits inside from now on: outside seats that are left are those of the original's agent.
        outside = self.ready if seat is not None and self.ready and self.ready.spec.framework != NATIVE else None
        played = await resume_episode(path, outside, change=self._change(arm, number, until, seat), opened=opened)
        return played.path

    async def _kept(self, number: int, opened: Opened | None) -> Path | None:
        """The decision (or the withheld event) as it was, then the new player."""
        # Without a new player the decision stays as it was, and this arm would only repeat the control.
        if self.seat is None or not self.spec.isolate:
            return None
        if self.withheld is None and self.cut.event.get("seat") != self.seat:
            return None  # the event is another seat's: it happens in all arms
        # The cut lies after a withheld event, so the past that is copied up to it holds that event.
        after = self.cut if self.withheld is not None else self._after(self.cut)
        if after is None:
            return None
        return await self._continue("kept", number, after.first, self.seat, opened)

    def _after(self, command: Command) -> Command | None:
        """The next command after all consequences of this one; None at the end of the original."""
        return next((other for other in self.original.commands if other.first >= command.next), None)

    async def _control(self, number: int, remarks: list[str], opened: Opened | None) -> Path | None:
        """The original as it was; in later futures, and where it broke off, the same players going on."""
        ended = self.original.core.ended is not None
        # The first future has the original's own key: its continuation is the original itself.
        if number == 0 and ended:
            path = self._path("control", number)
            path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(self.spec.path, path)
            return path
        try:
            again = recorded_agent(self.spec.path) if self.seating.agents else None
        # The trace names no agent: as after a client from outside, no agent of ours can go on with it.
        except TraceError:
            again = AgentSpec(OUTSIDE)
        if again is not None and again.outside:
            # Said once: the reason is the same in every future.
            if number == 0 or self._first_time(remarks):
                remarks.append("the original was played from outside and cannot be continued: no control arm for that")
            return None
        # An original that broke off is played on from its end; later futures begin where the fork does.
        until = self.cut.first if ended or number else self.original.last + 1
        return await self._continue("control", number, until, None, opened)

    def _first_time(self, remarks: Sequence[str]) -> bool:
        return not any(remark.startswith("the original was played from outside") for remark in remarks)

    def _path(self, arm: Arm, number: int) -> Path:
        # A copied `.trace.jsonl` keeps both suffixes, by which readers know its format.
        whole = "".join(self.spec.path.suffixes[-2:]) if self.spec.path.suffix == ".jsonl" else ".trace"
        copied = arm == "control" and number == 0 and self.original.core.ended is not None
        return self.spec.folder / arm / f"{number:03}{whole if copied else '.trace'}"

    def _under_test(self, before: Seating) -> tuple[SeatId, ...]:
        """The new player's seat, else those of the original, else the seat whose decision is withheld."""
        seat = self.seat or (None if before.compared else self.cut.event.get("seat"))
        return before.compared if seat is None else (seat,)

    def _change(self, arm: Arm, number: int, until: int, seat: SeatId | None) -> Seating:
        """What the arm's first own event says: the new player of `seat`, other draws, and where the past comes from."""
        trace, core, agent = self.original.trace, self.original.core, self.spec.agent
        # As of the cut: whoever took a seat later in the original is no part of this past.
        before, players = trace.seating(until - 1), dict[SeatId, Player]()
        if seat is not None and agent is not None:
            plan = plan_of(before)
            # A policy in an agent's place is asked after the scripted seats, as the agent was
            # (docs/explanation/why/runner.md).
            native = agent.framework == NATIVE
            taken = plan.with_policy(seat, str(agent.model)) if native else plan.with_agent(seat)
            named, record = {seat: agent.label}, {seat: agent.recorded()}
            whole = seating_of(core.market_type, core.scenario, taken, labels=named, agents=record)
            players[seat] = whole.players[seat]
        withheld = self.withheld.seq if self.withheld is not None and arm == "fork" else None
        # Whether policies need not want what is recorded before (docs/explanation/why/runner.md): an event is withheld
        # here, or was in an original that is cut before it says so.
        loose = withheld is not None or any(seq >= until and _is_loose(change) for seq, change in trace.seatings())
        past: dict[str, JsonValue] = {
            "head": self.head,
            "seq": self.decision.first if arm != "control" else self.cut.first,
            "withheld": withheld,
            "arm": arm,
            "loose": loose,
        }
        return Seating(
            players=players,
            policy_key=before.policy_key + number,
            agent_key=before.agent_key + number,
            written_by=WRITTEN_BY,
            compared=self._under_test(before),
            origin={FORKED_FROM: past},
        )


def _is_loose(change: Seating) -> bool:
    forked = (change.origin or {}).get(FORKED_FROM)
    return isinstance(forked, dict) and forked.get("loose") is True
