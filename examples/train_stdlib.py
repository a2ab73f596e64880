"""An agent of no skill plays tasks of `tradefair host --tasks`, with the standard library and the client's one file.

Start the server, and set TRADEFAIR_CONTROL_URL and TRADEFAIR_CONTROL_TOKEN from the line that it prints. Then run it:
PYTHONPATH=environments/client/src python examples/train_stdlib.py [task or scenario …]
"""

import json
import sys

from tradefair_client import Seat, call, control, create

# It shows how turns go. Your agent calls what your model chose.
PASSING = {"retail": "end_today", "supply_chain": "skip_phase", "marketplace": "end_turn", "order_book": "pass_turn"}


def act(seat: Seat, market: str, phase: str) -> None:
    if market in PASSING:
        call(seat, PASSING[market])
    elif market == "pricing":
        call(seat, "set_price", price=call(seat, "view_my_firm")["cost_now"] * 3 // 2)
    elif phase.startswith("speak"):
        call(seat, "send_message", text="Hello.")
    else:
        known = call(seat, "view_my_value")
        call(seat, "submit_quote", price=known["value"] if "value" in known else known["limit"])


def play(seat: Seat, market: str) -> None:
    while not (turn := call(seat, "await_turn"))["over"]:
        if turn["awaited"]:
            act(seat, market, turn["phase"])


if __name__ == "__main__":
    for task in sys.argv[1:] or ["train/0"]:
        (seat,) = create(task=task)
        play(seat, control(f"/tasks/{task}")["market"])
        outcome = control(f"/episodes/{seat.episode}/outcome")
        control(f"/episodes/{seat.episode}", method="DELETE")  # its place is free; the trace stays
        print(json.dumps({"task": task, "episode": seat.episode, "seat": seat.seat, **outcome["seats"][seat.seat]}))
