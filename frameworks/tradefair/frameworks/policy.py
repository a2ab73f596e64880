"""The `policy` framework: a scripted policy in a seat, over whatever transport the client has. No model."""

from __future__ import annotations

from tradefair.agents.bridge import Bridge
from tradefair.contract import Brief, HarnessFailure, Policy, TurnView
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.seat_clock import SeatClock, open_bridge


class PolicyAgent:
    """Drives the policy that the model endpoint carries (`ModelEndpoint.with_policy`)."""

    name = "policy"

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end; raises HarnessFailure."""
        if model is None or model.policy is None:
            raise HarnessFailure("the policy framework needs a policy: ModelEndpoint.with_policy(…)")
        bridge = await open_bridge(seat)
        clock = SeatClock(seat, bridge)
        report = SeatReport(self.name, model.label)
        try:
            await _play(bridge, clock, model.policy, limits, report)
        finally:
            await clock.close()
        report.turns = clock.turns
        report.tool_errors, report.timeouts = bridge.counts.errors, bridge.counts.timeouts
        report.retries = bridge.counts.retries
        return report


async def _play(bridge: Bridge, clock: SeatClock, policy: Policy, limits: Limits, report: SeatReport) -> None:
    view = await clock.next_turn()
    # Calls of the open round so far: the limit is the round's, and a round may have several phases.
    spent = 0
    while not view.over:
        made, stop = await _turn(bridge, policy, view, limits.calls_per_round - spent)
        report.tool_calls += made
        if stop is not None:
            report.given_up[stop] = report.given_up.get(stop, 0) + 1
        following = await _leave(clock, view, stop)
        if following is None:
            # A remote connection cannot lapse: the seat stops here.
            report.stop = "gave_up"
            return
        # The end also ends the round.
        same_round = following.round == view.round and not following.over
        spent = spent + made if same_round else 0
        report.rounds += not same_round
        view = following
    report.end_reason = view.end_reason


async def _leave(clock: SeatClock, view: TurnView, stop: str | None) -> TurnView | None:
    if stop is None:
        return await clock.next_turn()
    # As in driver.py: a policy that asks for nothing passes one phase over; only a limit ends its round.
    return await (clock.lapse(view) if stop == "no_call" else clock.give_up(view))


async def _turn(bridge: Bridge, policy: Policy, view: TurnView, budget: int) -> tuple[int, str | None]:
    """Play one phase; the number of calls made, and why it was given up if the turn is not over."""
    turns = policy.turn(view)
    made = 0
    try:
        # A generator's first `next` runs up to the first call; one that yields nothing declines the turn.
        call = next(turns)
        while made < budget:
            outcome = await bridge.call(call.tool, call.arguments)
            made += 1
            # A turn that is over needs no further call, and the policy must not see an answer beyond it.
            if outcome.ends(view):
                return made, None
            call = turns.send(outcome.answer())
        return made, "call_limit"
    except StopIteration:
        return made, "no_call"
    # A turn may be over before its generator is; the generator's own `finally` clauses run now.
    finally:
        turns.close()
