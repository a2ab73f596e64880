"""Whole episodes by rules and policies alone: no wire, no events, no limits. For tournaments; tests hold it equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

import orjson
from pydantic import JsonValue

from tradefair.contract import Draw, IllegalAction, Policy, ScenarioError, SeatId, ToolAnswer, ToolCall, TurnView
from tradefair.contract.policy import PrivilegedPolicy, parse_policy
from tradefair.supply_chain.model import RoundFacts, SupplyChainScenario
from tradefair.supply_chain.policies import POLICIES
from tradefair.supply_chain.rules import SupplyChain
from tradefair.supply_chain.tools import MARKET

_MAX_CALLS = 1_000


def play_fast(
    scenario: SupplyChainScenario,
    seed: int,
    policies: str | Mapping[SeatId, str],
    closed: list[RoundFacts] | None = None,
) -> SupplyChain:
    """The finished market of an episode; `policies` is one spelling for all seats, or one per seat.

    `closed` takes the facts of the closed rounds. Privileged seats act last, as everywhere. ScenarioError for a missing
    seat or an unknown policy, and for an embedder that must be asked outside.
    """
    if scenario.embedder != "lexical":
        raise ScenarioError(f"embedder = {scenario.embedder}: the fast path has the lexical one only")
    market = MARKET.create(scenario, seed)
    players: dict[SeatId, Policy] = {}
    privileged: set[SeatId] = set()
    for seat in market.ids:
        spelling = policies if isinstance(policies, str) else policies.get(seat, "")
        name, params = parse_policy(spelling or "nobody")
        if name not in POLICIES:
            raise ScenarioError(f"{seat} = {spelling!r}: no such policy; there are {', '.join(POLICIES)}")
        players[seat] = POLICIES[name].make(params, Draw.of(seed, seat))
        if POLICIES[name].privileged:
            privileged.add(seat)
    while market.terminated is None:
        for seat in sorted(market.awaited(), key=lambda one: (one in privileged, one)):
            if seat in privileged:
                cast(PrivilegedPolicy, players[seat]).see(market.privileged())
            _turn(market, seat, players[seat])
        facts = market.advance().facts
        if closed is not None and isinstance(facts, RoundFacts):
            closed.append(facts)
    return market


def _turn(market: SupplyChain, seat: SeatId, policy: Policy) -> None:
    """One phase of one seat; what it leaves undone is lapsed."""
    turns = policy.turn(_view(market, seat))
    call = next(turns, None)
    for _ in range(_MAX_CALLS):
        if call is None or seat not in market.awaited():
            break
        answer = _answer(market, seat, call)
        if answer.turn_over:
            break
        try:
            call = turns.send(answer)
        except StopIteration:
            call = None
    turns.close()
    if seat in market.awaited():
        market.lapse(seat, "agent_limit")


def _answer(market: SupplyChain, seat: SeatId, call: ToolCall) -> ToolAnswer:
    tool = MARKET.tools[call.tool]
    given = tool.parameters.model_validate(dict(call.arguments))
    extra: dict[str, JsonValue] = {"inputs": {}} if tool.needs else {}
    try:
        result = tool.function(market, seat, **given.__dict__, **extra)
    except IllegalAction as refusal:
        return ToolAnswer(None, refusal.info, False)
    return ToolAnswer(orjson.dumps(result.model_dump(mode="json")), None, seat not in market.awaited())


def _view(market: SupplyChain, seat: SeatId) -> TurnView:
    clock = market.clock
    return TurnView.model_construct(
        seat=seat,
        role=market.seats[seat].role,
        round=clock.round,
        phase=clock.phase,
        revision=clock.revision,
        awaited=True,
        over=False,
        end_reason=None,
        still_open=False,
        limits=[],
        market=market.turn_view(seat).model_dump(mode="json"),
    )
