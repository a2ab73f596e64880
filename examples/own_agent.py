"""An agent of your own in one seat: everything between looking and acting is yours.

Run it: .venv/bin/python examples/own_agent.py [folder for the trace]
"""

from __future__ import annotations

import asyncio
import sys
from functools import partial
from pathlib import Path

from mcp import Client

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.market import Brief
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.frameworks.base import Limits, SeatConnection, SeatReport
from tradefair.frameworks.models import ModelEndpoint
from tradefair.frameworks.seat_clock import SeatClock, open_bridge
from tradefair.host.binding import build_server
from tradefair.host.setup import new_episode, plan_seats

SEED, SEAT = 7, "B1"


class Bold:
    """Asks for a third of its value at first; each round that ends without a trade makes it more modest."""

    name = "bold"

    async def play(self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits) -> SeatReport:
        """Play to the end. `brief.objective` says in words what counts; a model would be told."""
        bridge = await open_bridge(seat)
        clock = SeatClock(seat, bridge)
        wanted, earned = 0.33, 0
        try:
            view = await clock.next_turn()
            while not view.over:
                own = (await bridge.call("view_my_value", {})).answer().data
                wanted = wanted if own["payoff_so_far"] > earned else wanted * 0.8
                earned = own["payoff_so_far"]
                await bridge.call("submit_quote", {"price": round(own["value"] * (1 - wanted))})
                view = await clock.next_turn()
        finally:
            await clock.close()
        return SeatReport(self.name, end_reason=view.end_reason, turns=clock.turns)


async def play(folder: Path) -> Path:
    """One episode in process; for a seat somewhere else, `Client(url)` is all that changes."""
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "duel")
    episode = await new_episode(kind, scenario, SEED, plan_seats(kind, scenario, agents=[SEAT]), folder)
    async with Client(build_server(episode, SEAT)) as client:
        seat = SeatConnection(client, SEAT, lapse=partial(episode.lapse, SEAT), note=partial(episode.note, SEAT))
        report = await Bold().play(seat, None, kind.brief(scenario, SEAT), Limits())
    await episode.close()
    print("over:", report.end_reason)
    return episode.path


def main(folder: str) -> None:
    outcome = evaluate_file(asyncio.run(play(Path(folder)))).outcome
    assert outcome is not None
    for seat, result in outcome.seats.items():
        print(seat, "payoff", result.payoff)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "runs/own_agent")
