"""Calls of a market's tools without a kernel around them, for tests of markets."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from tradefair.contract import ErrorInfo, IllegalAction, Market, Policy, ToolAnswer, ToolCall, ToolTable, TurnView
from tradefair.contract.kernel.players import Player, Seating
from tradefair.contract.kernel.turns import closed, open_actions
from tradefair.tracestore import open_trace


def seating(
    seats: Iterable[str],
    policies: Mapping[str, str] | str = "",
    *,
    labels: Mapping[str, str] | None = None,
    late: Collection[str] = (),
    privileged: Collection[str] = (),
    **more: Any,
) -> Seating:
    """Who plays: a policy on all seats, or one by seat; seats without one are played from outside."""
    players: dict[str, Player] = {}
    for seat in seats:
        policy = policies if isinstance(policies, str) else policies.get(seat, "")
        label = (labels or {}).get(seat, f"policy:{policy}" if policy else "agent")
        players[seat] = Player(label=label, policy=policy or None, late=seat in late, privileged=seat in privileged)
    return Seating(players=players, **more)


def moves(path: Path) -> list[bytes]:
    """The events from 2 on: what was played, whatever those who played are called."""
    with open_trace(path) as trace:
        return [stored.body for stored in trace.events(after=1)]


def steps_of(work: Callable[[], object]) -> int:
    """How many functions some work calls, those of C too: its cost as a number that no other load changes."""
    count = 0

    def note(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


class Caller:
    """Calls tools of one market's table."""

    def __init__(self, tools: ToolTable) -> None:
        self._tools = tools

    def ask(self, market: Market, seat: str, tool: str, /, **arguments: Any) -> BaseModel:
        """One call as the kernel makes it: strict validation of encoded arguments, the phase, the tool's function."""
        declared = self._tools[tool]
        given = declared.parameters.model_validate_json(json.dumps(arguments), strict=True)
        values = {name: getattr(given, name) for name in type(given).model_fields}
        if declared.open is not None and not declared.open(market, seat):
            acts = [other for other in self._tools.values() if other.kind == "action"]
            raise closed(tool, market.clock, open_actions(acts, market, seat))
        return declared.function(market, seat, **values, **({"inputs": {}} if declared.needs else {}))

    def answer(self, market: Market, seat: str, tool: str, arguments: Mapping[str, Any]) -> ToolAnswer:
        """The same for a policy."""
        body: bytes | None = None
        error: ErrorInfo | None = None
        # The one tool of the kernel that a policy asks; the rules in it are the market's own.
        if tool == "view_rules":
            rules = market.rules_view(seat).model_dump(mode="json")
            return ToolAnswer(json.dumps({"rules": rules}).encode(), None, seat not in market.awaited())
        try:
            body = self.ask(market, seat, tool, **arguments).model_dump_json().encode()
        except IllegalAction as refusal:
            error = refusal.info
        return ToolAnswer(body, error, seat not in market.awaited())

    def turn(self, market: Market, seat: str, policy: Policy) -> Iterator[tuple[ToolCall, ToolAnswer]]:
        """One turn of a policy, call by call, until it or the market says that it is over."""
        calls = policy.turn(turn_view(market, seat))
        call = next(calls, None)
        while call is not None:
            answer = self.answer(market, seat, call.tool, call.arguments)
            yield call, answer
            if answer.turn_over:
                calls.close()
                return
            try:
                call = calls.send(answer)
            except StopIteration:
                return

    def refused(self, market: Market, seat: str, tool: str, /, **arguments: Any) -> ErrorInfo:
        """As `ask`, for calls that must be refused: the refusal; the state digest must not move."""
        before = market.digest()
        with pytest.raises(IllegalAction) as caught:
            self.ask(market, seat, tool, **arguments)
        assert market.digest() == before
        assert caught.value.info.hint
        return caught.value.info


def obtainable(
    tools: ToolTable, questions: Iterable[tuple[str, Mapping[str, Any]]], market: Market, seat: str
) -> list[str]:
    """Every byte that a seat can get now: what it is shown, and answers and refusals to these calls."""
    caller = Caller(tools)
    seen = [
        market.rules_view(seat).model_dump_json(),
        market.turn_view(seat).model_dump_json(),
        repr(market.code_constants(seat)),
        repr((market.clock, market.news_mark(seat), seat in market.awaited())),
        repr(open_actions([tool for tool in tools.values() if tool.kind == "action"], market, seat)),
    ]
    for tool, arguments in questions:
        try:
            seen.append(caller.ask(market, seat, tool, **arguments).model_dump_json())
        except IllegalAction as refusal:
            seen.append(repr(refusal.info))
    return seen


def turn_view(market: Market, seat: str) -> TurnView:
    """What a seat is shown when it is asked."""
    return TurnView(
        seat=seat,
        role=market.seats[seat].role,
        round=market.clock.round,
        phase=market.clock.phase,
        revision=market.clock.revision,
        awaited=seat in market.awaited(),
        actions=[],
        over=market.terminated is not None,
        end_reason=market.terminated,
        still_open=False,
        limits=[],
        market=market.turn_view(seat).model_dump(mode="json"),
    )


def blank_view(**told: Any) -> TurnView:
    """What a seat is shown in some turn: that of a buyer in the first round, but for what is told."""
    usual: dict[str, Any] = {"seat": "B1", "role": "buyer", "round": 1, "phase": "quote", "revision": 0, "market": {}}
    ends: dict[str, Any] = {"over": False, "end_reason": None, "still_open": False, "limits": []}
    open_to: dict[str, Any] = {"awaited": True, "actions": []}
    return TurnView(**usual | ends | open_to | told)
