"""A scripted policy of your own in one seat, in this process: its margin shrinks as the rounds run out.

Run it: .venv/bin/python examples/own_policy.py [folder for the trace]
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.policy import Draw, ToolCall, Turns, TurnView
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.evaluation.verify import verify_file
from tradefair.host.episode import Episode
from tradefair.host.scripted import Scripted
from tradefair.host.setup import seat_policy

SEED, SEAT = 7, "B1"


class ShrinkingMargin:
    """For a buyer: wants 30 % of its value in the first round and nothing in the last."""

    def turn(self, now: TurnView) -> Turns:
        """One round: look, then quote. Calls are yielded, answers come back, as for any other client."""
        own = yield ToolCall("view_my_value")
        left, value = own.data["rounds_left"], own.data["value"]
        margin = value * 3 * (left - 1) // (10 * (left + now.round - 2 or 1))
        yield ToolCall("submit_quote", {"price": value - margin})


async def play(folder: Path) -> Path:
    """One episode of the benchmark's preset, ZIP on every other seat; the path of its trace."""
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "bazaar")
    seats = kind.create(scenario, SEED).seats
    policies = {seat: partial(seat_policy, kind, "zip", seats[seat].role, Draw.of(SEED, seat)) for seat in seats}
    scripted = Scripted({**policies, SEAT: ShrinkingMargin})
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "own_policy.trace"
    path.unlink(missing_ok=True)
    labels = dict.fromkeys(seats, "policy:zip") | {SEAT: "ShrinkingMargin"}
    episode = await Episode.create(
        path, kind, scenario, SEED, episode_id="own_policy", scripted=scripted, about={"labels": labels}
    )
    print("over:", await episode.wait_ended())
    await episode.close()
    return path


def main(folder: str) -> None:
    trace = asyncio.run(play(Path(folder)))
    outcome = evaluate_file(trace).outcome
    assert outcome is not None
    for seat, result in outcome.seats.items():
        print(f"{seat} {result.label}: payoff {result.payoff}")
    print("trace:", trace)
    print("verify:", verify_file(trace).verdict)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/own_policy")
