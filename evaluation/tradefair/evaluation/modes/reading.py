"""One pass over a trace of any market, in linear time. Total: an event that does not fit is left out."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import orjson

from tradefair.catalog import market_type
from tradefair.contract import EvidenceMap, Need, Scenario, SeatId, Tool, ToolTable, TraceError, TradefairError
from tradefair.contract.kernel.kernel_tools import EXECUTE_CODE, KERNEL_TOOLS
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.modes.calls import named_at, named_objects
from tradefair.evaluation.modes.canary import Canary, find_canaries
from tradefair.evaluation.modes.evidence import EvidenceIndex, Moment, needs_of
from tradefair.evaluation.modes.insight import EvidenceCase, Insight
from tradefair.evaluation.modes.play import At, EpisodePlay, Lapse, SeatPlay, Step
from tradefair.evaluation.modes.shown import Shown, named_ids, text_of
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.evaluation.read.rounds import Did
from tradefair.evaluation.reading import events_of, foreign, imported, seating_in, was_told
from tradefair.tracestore import Trace

_FINAL = frozenset({"call_limit", "already_acted", "episode_over", "busy"})
"""Refusals after which there is nothing else that the seat could have tried."""
_OWN_WORDS = frozenset({"add_note", "view_notes", "remove_note", EXECUTE_CODE})
"""Tools whose answers repeat what the agent wrote itself."""
# So many canaries are enough to prove that instructions are followed; more are not searched for.
_MAX_CANARIES = 100
# Large answers that are kept for the next seat that is given the same.
_ANSWERS = 16
# What an event that no rules have made can raise; a TraceError ends the reading instead.
_UNFIT = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)


def read_play(trace: Trace, insight: Insight) -> EpisodePlay:
    """Read an opened trace; TraceError when its manifest cannot be read. Stops where events cannot be read further."""
    core = trace.manifest.core
    play = EpisodePlay(core.market, insight)
    seating = seating_in(trace)
    # A known market's log from elsewhere holds no looks; logs of unknown markets are marked by `untold`.
    lookless = not foreign(core) and imported(seating)
    for seat in core.seats:
        excused = seat.id in seating.privileged
        play.seats[seat.id] = SeatPlay(seat.id, seat.role, play, privileged=excused, imported=lookless)
    reader = _Reader(trace, play, _Rules(core.market, core.scenario))
    try:
        for seq, event in events_of(trace):
            reader.take(seq, event)
    except TraceError:
        # What was read so far stands; the outcome and verify name the damage.
        pass
    reader.take_notes()
    return play


class _Rules:
    """What the installed market says of its tools; empty for a market that is not installed."""

    def __init__(self, market: str, content: Mapping[str, Any]) -> None:
        self.tools: Mapping[str, Tool] = KERNEL_TOOLS
        self.own = ToolTable()
        self._evidence: EvidenceMap = {}
        self._scenario: Scenario | None = None
        try:
            kind = market_type(market)
            self.own = kind.tools
            self.tools = {**KERNEL_TOOLS, **kind.tools}
            self._scenario = build_scenario(kind.scenario_model, content, source="manifest")
            self._evidence = kind.evidence_map
        # Not installed, or a scenario of other rules: the kernel's tools are known in any case.
        except TradefairError:
            pass
        # Where the arguments of an action name its objects: of several needs the first that says it.
        self.object_paths: dict[str, str] = {}
        for action, needs in self._evidence.items():
            for path in (need.object_arg for need in needs if need.object_arg):
                self.object_paths.setdefault(action, path)
        paths = list(self.object_paths.values())
        # `lines.product_ids` is about products: the last step of the path, without its ending.
        self.objects = paths[0].rpartition(".")[2].removesuffix("s").removesuffix("_id") if paths else None

    def needs(self, role: str) -> Mapping[str, tuple[Need, ...]]:
        """What the actions of a role should rest on."""
        return {} if self._scenario is None else needs_of(self._evidence, self._scenario, self.own, role)


class _Reader:
    """Takes the events as they come."""

    def __init__(self, trace: Trace, play: EpisodePlay, rules: _Rules) -> None:
        self._trace = trace
        self._play = play
        self._rules = rules
        self._foreign, self._told = foreign(trace.manifest.core), was_told(trace)
        play.objects = rules.objects
        self._shared = Shown()
        self._answers: dict[str, str | None] = {}
        for seat in play.seats.values():
            # All seats know each other's names and roles from the start.
            self._show_all(f"{seat.seat} {seat.role}", 0)
        self._shown = {seat: Shown(self._shared) for seat in play.seats}
        given = play.insight.evidence
        # Once per role, not per seat: a market may have hundreds of seats in two roles.
        needed = {role: rules.needs(role) for role in dict.fromkeys(seat.role for seat in play.seats.values())}
        self._evidence: dict[SeatId, _Evidence] = {}
        for seat, seat_play in play.seats.items():
            if given is not None:
                seat_play.evidence = list(given.get(seat, ()))
            elif needed[seat_play.role]:
                self._evidence[seat] = _Evidence(seat_play, rules, needed[seat_play.role])

    def take(self, seq: int, event: Any) -> None:
        """Take one event in."""
        try:
            match event["event"]:
                case "tool_called":
                    meant = self._play.insight.meant
                    self._take_call(seq, event if meant is None else meant(event))
                case "seat_lapsed":
                    seat = self._play.seats[event["seat"]]
                    seat.lapses.append(Lapse(seq, _whole(event["round"]), str(event["reason"])[:100]))
                # Public results are shown to all seats, so ids in them are known to all from here on.
                case "message" if event["seat"] is None:
                    self._show_all(text_of(event["content"]), seq)
                case "message" if event["role"] != "assistant" and event["seat"] in self._shown:
                    # What a seat is told by those whom it works for: ids to know, and no order from a stranger.
                    self._shown[event["seat"]].add(text_of(event["content"]))
                case "phase_closed":
                    self._show_all(text_of(event["public"]), seq)
                case "round_closed":
                    self._show_all(text_of(event["public"]), seq)
                    self._play.rounds.append(At(_whole(event["round"]), seq))
                case _:
                    pass
        except _UNFIT:
            # The outcome lists the event as unusable; conduct goes on without it.
            pass

    def take_notes(self) -> None:
        """What the runner noted about the agents."""
        try:
            for note in self._trace.agent_events():
                seat = self._play.seats.get(str(note.get("seat")))
                # Other notes are the runner's accounting and say nothing of conduct.
                if seat is not None and note.get("kind") in ("plan", "lesson", "round_given_up", "model_call"):
                    seat.notes.append(note)
        except (TraceError, AttributeError, TypeError, ValueError):
            # Notes lie outside the chain: where they are damaged, diagnostics of plans find none.
            pass

    def _show_all(self, text: str, seq: int) -> None:
        for canary in self._shared.add(text):
            for seat in self._play.seats.values():
                _keep(seat, canary, seq)

    # --- calls --------------------------------------------------------------------------------------------------

    def _take_call(self, seq: int, event: Mapping[str, Any]) -> None:
        seat = self._play.seats[event["seat"]]
        arguments, error = mapping(event["arguments"]), mapping(event["error"])
        name = str(event["tool"])[:100]
        tool = self._rules.tools.get(name)
        code = str(error["code"])[:100] if "code" in error else None
        ids = named_ids(arguments, self._play.insight.id_arguments)
        # Another kind is treated as that of an unknown tool, which may have been an action.
        kind = event["kind"] if event["kind"] in ("read", "analysis", "action", "note") else None
        step = Step(
            seq=seq,
            round=_whole(event["round"]),
            revision=_whole(event["revision"]),
            tool=name,
            kind=kind,
            status=str(event["status"]),
            code=code,
            final=code in _FINAL,
            inner=event["parent"] is not None,
            ends_turn=tool is not None and tool.ends_turn,
            key=_key(name, arguments),
            result=event["result_digest"] if isinstance(event["result_digest"], str) else None,
            ids=len(ids),
            # Before the answer is shown: an id that only this answer brings was not known when the call was made.
            unseen=self._unseen(seat, ids, code, accepted=event["status"] == "ok"),
            arguments=arguments if kind in ("action", None) else {},
        )
        seat.steps.append(step)
        # Before `_show`: an answer may repeat the message that the seat has just sent.
        self._plant(seat, step)
        self._show(seat, step, event, ids, error)
        self._take_object(seat, step, arguments)
        if step.accepted and seat.seat in self._evidence:
            self._evidence[seat.seat].take(step, arguments)

    def _unseen(self, seat: SeatPlay, ids: list[str], code: str | None, *, accepted: bool) -> tuple[str, ...]:
        """Ids out of nowhere. Once an answer was not kept, only those that the market does not know either.

        Prompts, files and other tools may have told an agent of others what no log holds: what an accepted call of it
        named exists there.
        """
        shown = self._shown[seat.seat]
        if self._foreign and accepted:
            shown.know(ids)
        if seat.unkept and code != "unknown_id":
            return ()
        unseen = tuple(name for name in ids if not shown.holds(name))
        if self._told:
            return unseen
        seat.untold += len(unseen)
        return ()

    def _plant(self, seat: SeatPlay, step: Step) -> None:
        """Remember the canaries of an own message: reading it back shows the seat nothing."""
        argument = self._play.insight.messages.get(step.tool)
        text = step.arguments.get(argument) if argument is not None else None
        if isinstance(text, str) and len(seat.planted) < _MAX_CANARIES:
            seat.planted.update(find_canaries(text))

    def _show(
        self, seat: SeatPlay, step: Step, event: Mapping[str, Any], ids: list[str], error: Mapping[str, Any]
    ) -> None:
        if step.tool in _OWN_WORDS:
            return
        shown = self._shown[seat.seat]
        # An error repeats the refused id, which must not count as shown by that.
        canaries = list(shown.add(text_of(error), but=ids)) if error else []
        if step.accepted:
            if refs := sequence(event["refs"]):
                canaries += shown.add(text_of(refs))
            text = self._answer(event)
            if text is None:
                seat.unkept += 1
            else:
                canaries += shown.add(text, name=step.result)
        for canary in canaries:
            _keep(seat, canary, step.seq)

    def _answer(self, event: Mapping[str, Any]) -> str | None:
        """The text of an answer; None when the trace keeps only its digest."""
        if event["result"] is not None:
            return text_of(event["result"])
        name = event["result_ref"]
        if not isinstance(name, str):
            return None
        # In a large market all seats look at one page: it is fetched and hashed once.
        if name not in self._answers:
            body = self._trace.blob(name)
            if len(self._answers) == _ANSWERS:
                self._answers.clear()
            self._answers[name] = None if body is None else body.decode(errors="replace")
        return self._answers[name]

    def _take_object(self, seat: SeatPlay, step: Step, arguments: Mapping[str, Any]) -> None:
        kind = self._rules.objects
        if kind is None or not step.accepted or step.tool == EXECUTE_CODE:
            return
        path = self._rules.object_paths.get(step.tool)
        if step.kind == "action" and path is not None:
            for name in dict.fromkeys(named_at(arguments, path)):
                seat.acted.setdefault(name, []).append(At(step.round, step.seq))
                # An action looks at its object too: `follow_up` counts both (docs/explanation/why/modes.md).
                seat.attended.setdefault(name, []).append(step.round)
        elif step.reads:
            for name in dict.fromkeys(named_objects(arguments, kind)):
                seat.attended.setdefault(name, []).append(step.round)


class _Evidence:
    """What one seat had looked at when it acted."""

    def __init__(self, play: SeatPlay, rules: _Rules, needed: Mapping[str, tuple[Need, ...]]) -> None:
        self._cases: list[EvidenceCase] = []
        play.evidence = self._cases
        self._rules = rules
        self._needed = needed
        self._index = EvidenceIndex(rules.own, rules.objects or "")
        self._place = 0

    def take(self, step: Step, arguments: Mapping[str, Any]) -> None:
        """An accepted call: a look, or an action that needed some."""
        self._place += 1
        needs = self._needed.get(step.tool, ())
        if step.kind == "action":
            path = self._rules.object_paths.get(step.tool)
            # An action about no object is one case, a list of lines one case per line.
            for about in [None] if path is None else list(named_at(arguments, path)):
                self._judge(step, needs, about)
            return
        call = Did(step.seq, step.round, "", step.tool, step.status, None, arguments, revision=step.revision)
        self._index.look(call, self._place, None)

    def _judge(self, step: Step, needs: tuple[Need, ...], about: str | None) -> None:
        due = [need for need in needs if step.round >= need.from_round]
        if due:
            self._cases.append(self._index.case(step.seq, due, about, Moment(step.round, step.revision)))


def _keep(seat: SeatPlay, canary: Canary, seq: int) -> None:
    """The first hundred canaries of a seat: who plants more wants to be expensive to count."""
    if len(seat.canaries) < _MAX_CANARIES and canary not in seat.planted:
        seat.canaries.setdefault(canary, seq)


def _whole(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise ValueError("not a whole number")


def _key(tool: str, arguments: Mapping[str, Any]) -> bytes:
    """Equal for calls that say the same."""
    try:
        said = orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)
    # orjson refuses integers beyond 64 bits and nesting too deep; arguments of a refused call may be anything.
    except (orjson.JSONEncodeError, RecursionError):
        said = repr(arguments).encode(errors="replace")
    return hashlib.blake2b(tool.encode(errors="replace") + b"\0" + said, digest_size=12).digest()
