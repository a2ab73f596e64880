"""Following a log: a policy gets the answers that its seat got then, and must want the calls that it made then.

So a scripted seat goes on, when an episode is resumed or forked, as if it had never been stopped; and `verify` tells
whether a seat was played by the policy that the trace names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, cast

from tradefair.contract.arguments import INLINE_BYTES, cut_arguments, storable_arguments
from tradefair.contract.chain import canonical
from tradefair.contract.chance import KeyPart
from tradefair.contract.errors import TraceError
from tradefair.contract.kernel.core import Answer, Core
from tradefair.contract.kernel.players import Seating
from tradefair.contract.policy import Draw, Policy, PrivilegedPolicy, ToolAnswer, ToolCall, Turns
from tradefair.contract.scenario import SeatId

MAX_CALLS_PER_TURN = 1_000
"""A policy that does not end its turn within so many calls lapses as `agent_limit`, like an agent."""

FORKED_FROM = "forked_from"
"""The key of a seating's origin under which a fork says where it came from (docs/explanation/why/runner.md)."""


class Strayed(TraceError):
    """A policy does not play as the log says that it did. `wanted` is its own call, None where it wants none."""

    def __init__(self, seat: SeatId, event: Mapping[str, Any], wanted: ToolCall | None) -> None:
        super().__init__(f"event {event['seq']}: the policy of {seat} does not play as in the trace")
        self.seat = seat
        self.event = event
        self.wanted = wanted


class ForkedPast:
    """The past of a fork, in event numbers; made from `Trace.seatings`.

    A `seated` event with `forked_from` starts its seats' players at its number: others played these seats before. Its
    keys are in force from there on. Before `loose_until` a policy need not want the call that is recorded: an event was
    withheld from it, so it has seen other answers than when it decided. `at` is the next event; `Follower` moves it.
    """

    def __init__(self, seatings: Sequence[tuple[int, Seating]]) -> None:
        self.starts: dict[SeatId, int] = {}
        self.loose_until = 0
        (first, whole), *changes = seatings
        self._whole = [(first, whole)]
        for seq, change in changes:
            whole = whole.later(change)
            self._whole.append((seq, whole))
            forked = (change.origin or {}).get(FORKED_FROM)
            if forked is not None:
                self.starts.update(dict.fromkeys(change.players, seq))
            if isinstance(forked, dict) and forked.get("loose") is True:
                self.loose_until = seq
        # Events are numbered from 1.
        self.at = 1

    def plays(self, seat: SeatId, seq: int) -> bool:
        """Whether event `seq` belongs to the seat's present player."""
        return seq >= self.starts.get(seat, 0)

    def draw(self, seed: int, seat: SeatId) -> Draw:
        """The seat's draws: those of the key that is in force at the next event."""
        # All keys' draws at once: the policy is made before it is known at which event it decides.
        return _PastDraw(self, [(seq, whole.draw(seed, seat)) for seq, whole in self._whole])


class _PastDraw(Draw):
    """Draws of several keys, one after the other."""

    def __init__(self, past: ForkedPast, draws: Sequence[tuple[int, Draw]]) -> None:
        self._past = past
        self._draws = draws

    def uniform(self, *key: KeyPart) -> float:
        """One uniform of the key in force."""
        in_force = next((draw for seq, draw in reversed(self._draws) if seq <= self._past.at), self._draws[0][1])
        return in_force.uniform(*key)


class Opened(NamedTuple):
    """A turn that is being followed: the call that the policy wants next (None: it is done), or how it failed.

    `calls` is how many it has made. `turns` is None where the policy failed before its first call.
    """

    turns: Turns | None
    wanted: ToolCall | None
    fault: Exception | None = None
    calls: int = 0


class Follower:
    """The policies of the seats that are followed, each a fresh one at the start and after `reset`.

    `shadows` are policies that decide from outside, behind a model's interface; a shadow is dropped where the log shows
    that another agent decided. `past` tells a fork which player an event belongs to: events from before a player's
    start are not its own. `Replayed` calls `follow` before each command of the log and `followed` after it.
    """

    def __init__(
        self,
        makers: Mapping[SeatId, Callable[[], Policy]],
        *,
        privileged: frozenset[SeatId] = frozenset(),
        shadows: Mapping[SeatId, Callable[[], Policy]] | None = None,
        past: ForkedPast | None = None,
    ) -> None:
        self._makers = dict(makers)
        self._shadows = dict(shadows or {})
        self.privileged = privileged
        self._past = past
        self._policies: dict[SeatId, Policy] = {}
        self._open: dict[SeatId, Opened] = {}
        # By revision: in its next turn the policy is asked again.
        self._astray: dict[SeatId, int] = {}  # the revision in which a forked policy first decided otherwise
        self.reset()

    def reset(self) -> None:
        """Fresh policies, as before the first round.

        Also forgets turns that are being followed.
        """
        if self._past is not None:
            self._past.at = 1
        self._policies = {seat: make() for seat, make in {**self._makers, **self._shadows}.items()}
        self._open, self._astray = {}, {}

    def shadow(self, seat: SeatId) -> Policy | None:
        """The shadow of a seat, replayed up to here; None where there is none or where another agent decided.

        The caller goes on with it: it stands where the log ends.
        """
        return self._policies.get(seat) if seat in self._shadows else None

    def follow(self, core: Core, event: Mapping[str, Any]) -> None:
        """Check, before a recorded command is re-executed, that the seat's policy wants the same call.

        Raises Strayed when it does not: another version of the policy cannot continue this episode.
        """
        seat = event.get("seat")
        # Of a log that nothing has checked yet a seat may be anything.
        if not isinstance(seat, str) or seat not in self._policies:
            return
        if self._past is not None and not self._past.plays(seat, event["seq"]):
            return
        if event["event"] == "seat_lapsed":
            self._follow_lapse(core, seat, event)
        elif event["event"] == "tool_called" and event.get("parent") is None:
            self._follow_call(core, seat, event)

    def followed(self, core: Core, event: Mapping[str, Any], answer: Answer | None) -> None:
        """Give the policy the answer to its call, once the recorded command was re-executed."""
        if self._past is not None:
            # Before the answer is given: what the policy decides next uses the draws of the next event.
            self._past.at = core.seq + 1
        seat = event.get("seat")
        if event["event"] != "tool_called" or answer is None or event["parent"] is not None or seat not in self._open:
            return
        opened = self._open[seat]
        if answer.turn.turn_over or opened.turns is None:
            self._close(seat)
            return
        reply = ToolAnswer(answer.body, answer.error, answer.turn.turn_over)
        opened = self._open[seat] = _asked(opened.turns, reply)._replace(calls=opened.calls + 1)
        # Under a free clock no lapse ends a turn: the policy is done, or has made too many calls.
        done = opened.wanted is None or opened.calls >= MAX_CALLS_PER_TURN
        if core.scenario.clock == "free" and done and opened.fault is None:
            self._close(seat)

    def _follow_call(self, core: Core, seat: SeatId, event: Mapping[str, Any]) -> None:
        revision = core.market.clock.revision
        if self._astray.get(seat) == revision:
            # What follows in this turn answers a decision that this policy did not make.
            return  # a fork's policy that decided otherwise in this turn: what is recorded stands
        if seat not in self._open:
            self._turn_begins(core, seat)
            # With turns only an awaited seat has one, and the next call would be made in it.
            due = core.scenario.clock == "free" or core.awaits(seat) or seat in self._shadows
            self._open[seat] = self._ask(core, seat) if due else Opened(None, None)
        wanted = self._open[seat].wanted
        if wanted is None or not _is_same(wanted, event):
            self._stray(core, seat, event, wanted)

    def _follow_lapse(self, core: Core, seat: SeatId, event: Mapping[str, Any]) -> None:
        """A lapse ends the turn that the policy had open; unless a deadline passed it had nothing left to do."""
        outside = seat in self._shadows or (seat in self.privileged and event.get("reason") != "agent_limit")
        if not outside and self._astray.get(seat) != core.market.clock.revision:
            # A turn without any call is a turn too: the policy has looked at the clock.
            opened = self._open.get(seat) or self._ask(core, seat)
            # A policy that fails ends its episode.
            if opened.fault is not None or (opened.wanted is not None and opened.calls < MAX_CALLS_PER_TURN):
                self._stray(core, seat, event, opened.wanted)
        self._close(seat)

    def _stray(self, core: Core, seat: SeatId, event: Mapping[str, Any], wanted: ToolCall | None) -> None:
        """The policy decides otherwise. Raises Strayed, unless a shadow or a past that was changed excuses it."""
        self._close(seat)
        if seat in self._shadows:
            del self._policies[seat]
        elif self._past is not None and event["seq"] < self._past.loose_until:
            self._astray[seat] = core.market.clock.revision
        else:
            raise Strayed(seat, event, wanted)

    def _turn_begins(self, core: Core, seat: SeatId) -> None:
        """Called when a followed seat begins a turn."""

    def _begin(self, core: Core, seat: SeatId) -> Turns:
        policy = self._policies[seat]
        # Immediately before its turn, so that it sees the truth of this phase.
        if seat in self.privileged:
            cast(PrivilegedPolicy, policy).see(core.market.privileged())
        return policy.turn(core.turn_view(seat))

    def _ask(self, core: Core, seat: SeatId) -> Opened:
        """The policy's first call in its turn. A failure is kept: it also failed when this was recorded."""
        try:
            return _asked(self._begin(core, seat), None)
        except Exception as fault:
            return Opened(None, None, fault)

    def _close(self, seat: SeatId) -> None:
        opened = self._open.pop(seat, None)
        if opened is not None and opened.turns is not None:
            opened.turns.close()


def _asked(turns: Turns, reply: ToolAnswer | None) -> Opened:
    """The policy's next call; none when it is done. A failure is kept: it also failed when this was recorded."""
    try:
        return Opened(turns, next(turns) if reply is None else turns.send(reply))
    except StopIteration:
        return Opened(turns, None)
    except Exception as fault:
        return Opened(turns, None, fault)


def _is_same(wanted: ToolCall, event: Mapping[str, Any]) -> bool:
    """Whether an event records this call, of whose arguments the log may have kept the beginning only."""
    arguments = dict(wanted.arguments)
    if wanted.tool != event["tool"]:
        return False
    if arguments == event["arguments"]:
        # To Python 44 is 44.0, and 1 is true; in JSON they are other calls.
        return canonical(arguments) == canonical(event["arguments"])
    if event["status"] in ("ok", "rejected"):
        return False
    kept = storable_arguments(arguments)
    if isinstance(kept, bytes):
        return len(kept) > INLINE_BYTES and cut_arguments(kept) == event["arguments"]
    return kept == event["arguments"]
