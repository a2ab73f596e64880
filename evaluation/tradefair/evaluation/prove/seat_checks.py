"""Were scripted seats played by the policies that their trace names? Each is played again, and every call compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tradefair.contract import ScenarioError, SeatId, ToolCall
from tradefair.contract.errors import Divergence, ErrorInfo
from tradefair.contract.kernel.core import Answer, Core
from tradefair.contract.kernel.following import FORKED_FROM, Follower, ForkedPast, Strayed
from tradefair.contract.kernel.players import Player, Seating, policy_spec, seat_policy
from tradefair.contract.policy import parse_policy
from tradefair.contract.tool import may_deny
from tradefair.tracestore import WRITTEN_BY

SeatState = Literal["reproduced", "differs", "cannot be replayed"]
OUTSIDE = "played from outside"
# Seats that a sentence names; a market can have hundreds.
_MAX_NAMED = 4
_UNTIL = "until event"


class SeatCheck(NamedTuple):
    """What playing a seat again has shown; `why` it could not be played again, or what is different."""

    label: str
    state: SeatState
    why: str | None = None


class SeatChecks(Follower):
    """The scripted seats of a trace while it is re-executed. `states` says of every seat what was found so far.

    Raises Strayed where a seat makes another call than its policy, or has an answer that only hosts give to players
    outside; unless another release wrote the trace, whose policy may have been another one. A seat that could not be
    played again for a while is not `reproduced` later.
    """

    def __init__(self, seatings: Sequence[tuple[int, Seating]]) -> None:
        self.states: dict[SeatId, SeatCheck] = {}
        self._seating: Seating | None = None
        past = ForkedPast(seatings)
        # Whoever played a seat before is followed as well.
        past.starts.clear()
        super().__init__({}, past=past)

    def follow(self, core: Core, event: Mapping[str, Any]) -> None:
        """As `Follower.follow`; policies run in process, so that no host refuses their calls or lapses them."""
        super().follow(core, event)
        seat = event.get("seat")
        if (
            isinstance(seat, str)
            and seat in self._policies
            and _comes_from_outside(core, event, seat in self.privileged)
        ):
            self._stray(core, seat, event, None)

    def followed(self, core: Core, event: Mapping[str, Any], answer: Answer | None) -> None:
        """As `Follower.followed`; players sit down where an event seats them."""
        seat = event.get("seat")
        # Its answer may stand for a call that the rules would have carried out.
        if event.get("status") == "failed" and isinstance(seat, str) and seat in self._policies:
            self._policies.pop(seat)
            self._close(seat)
            why = f"event {event['seq']} is a fault of the host"
            self.states[seat] = SeatCheck(self.states[seat].label, "cannot be replayed", why)
        super().followed(core, event, answer)
        # Re-executed by now, so that what it says of seats is in order.
        if event["event"] in ("episode_started", "seated"):
            self._take_seats(core, Seating.model_validate(event["seating"]), event["seq"])

    def _take_seats(self, core: Core, change: Seating, seq: int) -> None:
        before = self._seating
        self._seating = change if before is None else before.later(change)
        self.privileged = self._seating.privileged
        forked = FORKED_FROM in (change.origin or {})
        for seat, player in change.players.items():
            same = before is not None and before.players[seat].policy == player.policy and not forked
            if same and seat in self.states:
                self.states[seat] = self.states[seat]._replace(label=player.label)
                continue
            self._close(seat)
            self._policies.pop(seat, None)
            why = self._cannot(player) or self._make(core, seat, player, seq)
            past = self.states.get(seat)
            if why is None and past is not None and past.why is not None:
                why = past.why if past.why.startswith(_UNTIL) else f"{_UNTIL} {seq}: {past.why}"
            state = "reproduced" if why is None else "cannot be replayed"
            self.states[seat] = SeatCheck(player.label, state, why)

    def _cannot(self, player: Player) -> str | None:
        origin = (self._seating and self._seating.origin) or {}
        if player.policy is None:
            return OUTSIDE
        return "imported" if {"imported_from", "recorded_from"} & origin.keys() else None

    def _make(self, core: Core, seat: SeatId, player: Player, seq: int) -> str | None:
        """Seat a fresh policy; why there is none, else None. Divergence for one that this release would not seat."""
        assert self._past is not None
        assert self._seating is not None
        try:
            role = core.market.seats[seat].role
            draw = self._past.draw(core.manifest.seed, seat)
            self._policies[seat] = seat_policy(core.market_type, str(player.policy), role, draw)
            # In this scenario: a policy may have to be told what one scenario hides and another publishes.
            if policy_spec(core.market_type, str(player.policy), role).knows_hidden(core.scenario) != player.privileged:
                raise ScenarioError(f"privileged is {str(player.privileged).lower()}")
        except ScenarioError as error:
            self._policies.pop(seat, None)
            # A policy that is not here may be a plugin of the writer; one that is here must take what is said of it.
            if self._seating.written_by == WRITTEN_BY and _is_here(core, str(player.policy)):
                raise Divergence(seq, f"{seat} cannot be played so: {error}"[:300]) from None
            return f"its policy is not installed: {error}"[:300]
        # Parameters are the trace's own and may be anything.
        except Exception as fault:
            return f"its policy cannot be made: {fault!r}"[:300]
        return None

    def _stray(self, core: Core, seat: SeatId, event: Mapping[str, Any], wanted: ToolCall | None) -> None:
        assert self._seating is not None
        label, writer = self._seating.players[seat].label, self._seating.written_by
        try:
            super()._stray(core, seat, event, wanted)
            self.states[seat] = SeatCheck(label, "cannot be replayed", "an event was withheld from its past")
        except Strayed:
            other = f"event {event['seq']} is another call, and {writer or 'another release'} wrote the trace"
            if writer != WRITTEN_BY:
                self._policies.pop(seat, None)
                self.states[seat] = SeatCheck(label, "cannot be replayed", other)
                return
            self.states[seat] = SeatCheck(label, "differs", f"event {event['seq']} is another call")
            raise


def _is_here(core: Core, policy: str) -> bool:
    try:
        return parse_policy(policy)[0] in core.market_type.policies
    except ScenarioError:
        return True  # no release writes a policy like that


def _comes_from_outside(core: Core, event: Mapping[str, Any], privileged: bool) -> bool:
    """Whether a scripted seat has what only hosts give: a lapse for its silence, a refusal of theirs, a program."""
    if event["event"] == "seat_lapsed":
        # Privileged seats wait for all others, and a deadline may pass meanwhile.
        return event.get("reason") != "agent_limit" and not privileged
    if event["event"] != "tool_called":
        return False
    refused = event.get("status") == "denied" and may_deny(
        ErrorInfo(**event["error"]), core.tools(event["seat"]).get(event["tool"])
    )
    return refused or event.get("parent") is not None


def seats_text(states: Mapping[SeatId, SeatCheck]) -> str:
    """What was found, in one sentence: how many scripted seats are reproduced, which are not, who played outside."""
    scripted = {seat: check for seat, check in states.items() if check.why != OUTSIDE}
    fine = sum(check.state == "reproduced" for check in scripted.values())
    parts = [f"{fine} of {len(scripted)} scripted seats reproduced"] if scripted else []
    failed = [f"{seat} ({check.why})" for seat, check in scripted.items() if check.state != "reproduced"]
    outside = [f"{seat} played from outside ({check.label})" for seat, check in states.items() if check.why == OUTSIDE]
    parts += [f"not replayed: {_some(failed)}"] if failed else []
    parts += [_some(outside)] if outside else []
    return "; ".join(parts)


def call_of(wanted: ToolCall | None) -> dict[str, Any] | None:
    """A call as plain data, to be compared with that of an event; None where the policy wants none."""
    return None if wanted is None else {"tool": wanted.tool, "arguments": dict(wanted.arguments)}


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return ", ".join(texts[:_MAX_NAMED]) + more
