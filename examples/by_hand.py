"""Take a seat and play it by hand, as in a notebook: any code may stand between a turn and its calls.

Run it: .venv/bin/python examples/by_hand.py
"""

import asyncio

import tradefair.api as tf


async def play_my_turn(seat: tf.Seat, turn: tf.TurnView) -> None:
    own = await seat.call("view_my_value")
    if turn.phase == "quote":
        await seat.call("submit_quote", price=own["limit"] * 8 // 10)
    else:
        await seat.call("send_message", text=f"Round {turn.round}: let us meet in the middle.")


async def main() -> None:
    async with tf.seat("bargaining", seed=7) as seat:
        print(seat.brief.objective, [tool["name"] for tool in seat.tools])
        async for turn in seat:
            await play_my_turn(seat, turn)
    print(seat.trace.messages())  # in a notebook: seat.trace.messages().to_polars()


asyncio.run(main())
