"""Waits for each turn and makes the plainest move of the market, through the same server as an agent."""

import os

from tradefair_client import Seat, call, mcp

PASSING = ("end_today", "skip_phase", "end_turn", "pass_turn")  # retail, supply_chain, marketplace, order_book
SEAT = Seat(os.environ.get("TRADEFAIR_SEAT", "http://market:8000") + "/mcp", "none", "", "")


def play() -> None:
    """Until the episode is over."""
    listed = {tool["name"] for tool in mcp(SEAT, "tools/list")["tools"]}
    passing = next((name for name in PASSING if name in listed), None)
    while not (turn := call(SEAT, "await_turn"))["over"]:
        if not turn["awaited"]:
            continue
        if passing:
            call(SEAT, passing)
        elif "set_price" in listed:
            call(SEAT, "set_price", price=call(SEAT, "view_my_firm")["cost_now"] * 3 // 2)
        elif turn["phase"].startswith("speak"):
            call(SEAT, "send_message", text="Hello.")
        else:
            known = call(SEAT, "view_my_value")
            call(SEAT, "submit_quote", price=known["value"] if "value" in known else known["limit"])


if __name__ == "__main__":
    play()
