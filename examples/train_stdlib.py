"""Make episodes, play seats and get scores from `tradefair env serve`, with the standard library alone.

Start the server, and set TRADEFAIR_CONTROL_URL and TRADEFAIR_CONTROL_TOKEN from the line that it prints. Then run it:
python -I -S examples/train_stdlib.py [task or scenario …]
"""

# The client: copy it into a trainer of yours. ------------------------------------------------------------------------
import itertools
import json
import os
from typing import Any, NamedTuple
from urllib import error, request

OPEN = request.build_opener(request.ProxyHandler({})).open  # no proxy: what is sent holds tokens
IDS, REVISION, META = itertools.count(1), "2026-07-28", "io.modelcontextprotocol/"
WHO = {"protocolVersion": REVISION, "clientCapabilities": {}, "clientInfo": {"name": "train", "version": "1"}}


class Seat(NamedTuple):
    url: str
    token: str
    episode: str
    seat: str


class Refused(Exception):
    """HTTP status, and the answer's text: {"error": {"code", "message", "hint", "retryable"}}."""


def http(url: str, token: str, body: Any = None, method: str | None = None, **headers: str) -> Any:
    sent = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
    content = None if body is None else json.dumps(body).encode()
    asked = request.Request(url, content, {**sent, "Accept": "application/json, text/event-stream"}, method=method)
    try:
        with OPEN(asked, timeout=60) as answer:
            text = answer.read().decode()
    except error.HTTPError as refusal:
        raise Refused(refusal.code, refusal.read().decode()) from None
    events = [line[5:] for line in text.splitlines() if line.startswith("data:")]  # the last event is the result
    return json.loads(events[-1] if events else text)


def control(path: str, body: Any = None, method: str | None = None) -> Any:
    return http(os.environ["TRADEFAIR_CONTROL_URL"] + path, os.environ["TRADEFAIR_CONTROL_TOKEN"], body, method)


def create(**order: Any) -> list[Seat]:
    made = control("/episodes", order)
    return [Seat(made["url"], found["token"], found["episode"], found["seat"]) for found in made["invitations"]]


def mcp(seat: Seat, method: str, **params: Any) -> Any:  # stateless: no handshake and no session
    about = {"MCP-Protocol-Version": REVISION, "Mcp-Method": method, "Mcp-Name": params.get("name", "")}
    params["_meta"] = {META + name: value for name, value in WHO.items()}
    body = {"jsonrpc": "2.0", "id": next(IDS), "method": method, "params": params}
    return http(seat.url, seat.token, body, **{name: text for name, text in about.items() if text})["result"]


def call(seat: Seat, tool: str, **arguments: Any) -> dict[str, Any]:  # of a refused call its code, message and hint
    return mcp(seat, "tools/call", name=tool, arguments=arguments)["structuredContent"]


# An agent of no skill: it shows how turns go. Yours calls what your model chose. --------------------------------------
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
    import sys

    for task in sys.argv[1:] or ["train/0"]:
        (seat,) = create(task=task)
        play(seat, control(f"/tasks/{task}")["market"])
        outcome = control(f"/episodes/{seat.episode}/outcome")
        control(f"/episodes/{seat.episode}", method="DELETE")  # its place is free; the trace stays
        print(json.dumps({"task": task, "episode": seat.episode, "seat": seat.seat, **outcome["seats"][seat.seat]}))
