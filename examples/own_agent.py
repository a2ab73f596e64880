"""An agent of your own in one seat of a market: an async function that is given a `Seat`.

Run it: .venv/bin/python examples/own_agent.py
"""

import tradefair.api as tf


async def bold(seat: tf.Seat) -> None:
    async for _ in seat:
        own = await seat.call("view_my_value")
        await seat.call("submit_quote", price=own["value"] * 9 // 10)


trace = tf.play("double_auction", scenario="double_auction/duel", seed=3, agent=bold)
print(trace.outcome.seats["B1"].payoff, trace.verify().sound)
