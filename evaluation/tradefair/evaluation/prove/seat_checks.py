"""Were scripted seats played by the policies that their trace names? Each is played again, and every call compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from tradefair.contract import ScenarioError, SeatId, ToolCall
from tradefair.contract.errors import Divergence, ErrorInfo
from tradefair.contract.kernel.core import Answer, Core
from tradefair.contract.kernel.following import FORKED_FROM, Follower, ForkedPast, Strayed
from tradefair.contract.kernel.players import Player, Seating, policy_spec, seat_policy
from tradefair.contract.policy import parse_policy
from tradefair.contract.tool import may_deny
from tradefair.evaluation.hands import Handover, changed_hands
from tradefair.evaluation.prove.proof import SeatState
from tradefair.tracestore import WRITTEN_BY

OUTSIDE = "played from outside"
# Seats that a sentence names; a market can have hundreds.
_MAX_NAMED = 4
_UNTIL = "until event"
# Whoever reads a log in does not vouch for the policies that its source names.
_IMPORTS = frozenset({"imported_from", "recorded_from"})


class SeatCheck(NamedTuple):
    """What playing a seat again has shown; `why` it could not be played again, or what is different."""

    label: str
    state: SeatState
    why: str | None = None


class SeatChecks(Follower):
    """The scripted seats of a trace while it is re-executed. `states` says of every seat what was found so far.

    Every seat that names a policy is played again, from its first event to its last, whatever else the trace says.
    Raises Strayed where a seat makes another call than its policy, or has an answer that only hosts give to players
    outside; of a trace of another release, or of an importer, the seat is `unproven` instead. A seat that was unproven
    for a while is not `replayed` later; `at` says since when. `changes` are the seats that had acted and changed hands,
    `seating` is who plays now.
    """

    def __init__(self, seatings: Sequence[tuple[int, Seating]]) -> None:
        self.states: dict[SeatId, SeatCheck] = {}
        self.changes: list[Handover] = []
        self.faults: dict[SeatId, int] = {}
        self.at: dict[SeatId, int] = {}
        self.origins: set[str] = set()
        self.late: set[SeatId] = set()
        self._acted: set[SeatId] = set()
        # By revision and reason: where somebody outside lapsed, and seats that lapsed before anybody did.
        self._silent: set[tuple[int, str]] = set()
        self._waited: dict[tuple[int, str], dict[SeatId, SeatCheck]] = {}
        self.seating: Seating | None = None
        past = ForkedPast(seatings)
        # Whoever played a seat before is followed as well.
        past.starts.clear()
        super().__init__({}, past=past)

    def follow(self, core: Core, event: Mapping[str, Any]) -> None:
        """As `Follower.follow`; policies run in process, so that no host refuses their calls or lapses them."""
        super().follow(core, event)
        seat = event.get("seat")
        if not isinstance(seat, str):
            return
        self._acted.add(seat)
        if event["event"] == "seat_lapsed" and event.get("reason") != "agent_limit":
            self._follow_deadline(core, seat, event)
        if seat in self._policies and _comes_from_outside(core, event, seat in self.privileged):
            self._stray(core, seat, event, None)

    def followed(self, core: Core, event: Mapping[str, Any], answer: Answer | None) -> None:
        """As `Follower.followed`; players sit down where an event seats them."""
        seat = event.get("seat")
        # Its answer may stand for a call that the rules would have carried out; the policy goes on with it.
        if event.get("status") == "failed" and isinstance(seat, str):
            self.faults.setdefault(seat, event["seq"])
            if seat in self._policies:
                self._unproven(seat, f"event {event['seq']} is a fault of the host", event["seq"])
        super().followed(core, event, answer)
        # Re-executed by now, so that what it says of seats is in order.
        if event["event"] in ("episode_started", "seated"):
            self._take_seats(core, Seating.model_validate(event["seating"]), event["seq"])

    def _take_seats(self, core: Core, change: Seating, seq: int) -> None:
        before = self.seating
        self.seating = now = change if before is None else before.later(change)
        self.privileged = now.privileged
        self.late |= now.late
        self.origins |= set(change.origin or {})
        forked = FORKED_FROM in (change.origin or {})
        # Keys are of all seats, also of those that a change does not name.
        self.changes += changed_hands(before, now, self._acted, seq) if before is not None else ()
        for seat, player in now.players.items():
            last = before.players[seat] if before is not None else None
            if last is not None and not forked and _plays(last) == _plays(player):
                self.states[seat] = self.states[seat]._replace(label=player.label)
                continue
            if last is None or seat in change.players:
                self._seat(core, seat, player, seq, forked=forked)

    def _seat(self, core: Core, seat: SeatId, player: Player, seq: int, *, forked: bool) -> None:
        self._close(seat)
        self._policies.pop(seat, None)
        why = OUTSIDE if player.policy is None else self._make(core, seat, player, seq)
        past = self.states.get(seat)
        # A fork says that others have played its past; who only sits down says that a policy played all of it.
        open_past = past is not None and past.why is not None and seat in self._acted
        if why in (None, OUTSIDE) and past is not None and open_past and not (past.why == OUTSIDE and (forked or why)):
            why = past.why if str(past.why).startswith(_UNTIL) else f"{_UNTIL} {seq}: {past.why}"
        state: SeatState = "replayed" if why is None else "outside" if why == OUTSIDE else "unproven"
        self.states[seat] = SeatCheck(player.label, state, why)
        if state == "unproven":
            self.at.setdefault(seat, seq)

    def _follow_deadline(self, core: Core, seat: SeatId, event: Mapping[str, Any]) -> None:
        """A seat that knows hidden truth waits for those outside: it misses a deadline together with one of them."""
        when = core.market.clock.revision, str(event.get("reason"))
        if self.states[seat].why == OUTSIDE:
            self._silent.add(when)
            self.states.update(self._waited.pop(when, {}))
        elif when not in self._silent and seat in self._policies and seat in self.privileged:
            self._waited.setdefault(when, {})[seat] = self.states[seat]
            self._unproven(seat, f"event {event['seq']} is a deadline that nobody outside missed", event["seq"])

    def _unproven(self, seat: SeatId, why: str, seq: int) -> None:
        self.states[seat] = SeatCheck(self.states[seat].label, "unproven", why)
        self.at.setdefault(seat, seq)

    def _make(self, core: Core, seat: SeatId, player: Player, seq: int) -> str | None:
        """Seat a fresh policy; why there is none, else None. Divergence for one that this release would not seat."""
        assert self._past is not None
        assert self.seating is not None
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
            if self.seating.written_by == WRITTEN_BY and _is_here(core, str(player.policy)):
                raise Divergence(seq, f"{seat} cannot be played so: {error}"[:300]) from None
            return f"its policy is not installed: {error}"[:300]
        # Parameters are the trace's own and may be anything.
        except Exception as fault:
            return f"its policy cannot be made: {fault!r}"[:300]
        return None

    def _stray(self, core: Core, seat: SeatId, event: Mapping[str, Any], wanted: ToolCall | None) -> None:
        assert self.seating is not None
        writer = self.seating.written_by
        try:
            super()._stray(core, seat, event, wanted)
            self._unproven(seat, "an event was withheld from its past", event["seq"])
        except Strayed:
            if writer == WRITTEN_BY and not _IMPORTS & self.origins:
                self._unproven(seat, f"event {event['seq']} is another call", event["seq"])
                raise
            self._policies.pop(seat, None)
            wrote = "an importer" if writer == WRITTEN_BY else writer or "another release"
            self._unproven(seat, f"event {event['seq']} is another call, and {wrote} wrote the trace", event["seq"])


def _plays(player: Player) -> tuple[str | None, bool, bool]:
    return player.policy, player.privileged, player.late


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


def seats_text(states: Mapping[SeatId, SeatCheck], changes: Sequence[Handover]) -> str:
    """What was found, in one sentence: how many scripted seats are reproduced, which are not, who played outside."""
    scripted = {seat: check for seat, check in states.items() if check.state != "outside"}
    fine = sum(check.state == "replayed" for check in scripted.values())
    parts = [f"{fine} of {len(scripted)} scripted seats reproduced"] if scripted else []
    failed = [f"{seat} ({check.why})" for seat, check in scripted.items() if check.state == "unproven"]
    outside = [f"{seat} played from outside ({check.label})" for seat, check in states.items() if check.why == OUTSIDE]
    handed = [f"{item.seat}: {item.before} until event {item.seq}, then {item.after}" for item in changes]
    parts += [f"not replayed: {_some(failed)}"] if failed else []
    parts += [_some(outside)] if outside else []
    parts += [f"changed hands: {_some(handed)}"] if handed else []
    return "; ".join(parts)


def call_of(wanted: ToolCall | None) -> dict[str, Any] | None:
    """A call as plain data, to be compared with that of an event; None where the policy wants none."""
    return None if wanted is None else {"tool": wanted.tool, "arguments": dict(wanted.arguments)}


def _some(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - _MAX_NAMED} more" if len(texts) > _MAX_NAMED else ""
    return ", ".join(texts[:_MAX_NAMED]) + more
