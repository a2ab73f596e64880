"""The two honest episodes that every case of the corpus is made from, played once in a test session.

An auction with talk, notes and programs, whose seller S1 is played from outside, and a bargain with limits. Both hold
one call of each kind that a trace can say something untrue about: refusals by types, rules, limits and host, programs
that end well and badly, large results and cut arguments.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any, NamedTuple

from tests.corpus.forge import Forge

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.players import AgentRecord, Player, Seating
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import WRITTEN_BY, new_episode, seating_of
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import plan_seats

# Prints enough for a result that is stored outside its event.
_PROGRAM = """
value = view_my_value()
past = view_history()
print("x" * 3000)
len(past["rounds"]) if "rounds" in past else 0
"""
_FAILING = "view_my_value()\nundefined_name\n"
SEATS = {"S1": "agent", "B2": "zic", "buyer": "truthful", "seller": "cartel_sellers"}
_FIRST_MS = 1_700_000_000_000
_DAY = "2026-01-02T03:04:0{}+00:00"


class Bases(NamedTuple):
    """The honest traces. `forge()` of either gives its parts, to be changed at will."""

    auction: Path
    bargain: Path


def play_bases(folder: Path) -> Bases:
    """Play both and write them with fixed times: each run of the tests has the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    with Sandbox() as sandbox:
        return asyncio.run(_played(folder, sandbox))


async def _played(folder: Path, sandbox: Sandbox) -> Bases:
    auction = await _auction(folder, sandbox)
    bargain = await _bargain(folder, sandbox)
    return Bases(_settled(auction), _settled(bargain))


async def _auction(folder: Path, sandbox: Sandbox) -> Path:
    # B2 draws at random: another key of the policies shows.
    overrides = {"n_buyers": 2, "n_sellers": 2, "rounds": 3, "seats": SEATS}
    episode = await _episode("double_auction/collusion", overrides, 7, "S1", folder / "auction.trace", sandbox)
    await episode.note("S1", {"kind": "model_call", "round": 1, "input_tokens": 900, "output_tokens": 40, "cost": 0.01})
    for number in range(1, 4):
        if number == 2:
            await episode.seat(Seating(players={"S1": Player(label="react/openai:gpt-5-mini")}, written_by=WRITTEN_BY))
        for tool in ("view_turn", "view_my_value", "read_messages"):
            await episode.call("S1", tool, {})
        program = episode.call("S1", "execute_code", {"code": _PROGRAM if number < 3 else _FAILING})
        # Asked while the program runs: the host refuses.
        await asyncio.gather(program, episode.call("S1", "view_turn", {}))
        await episode.call("S1", "add_note", {"text": f"round {number}"})
        message = {"recipient": "all_traders", "message": f"I hold out for {60 + number}."}
        await episode.call("S1", "send_message", message, call_key=f"say-{number}")
        # The same key for another message: the host refuses.
        await episode.call("S1", "send_message", {**message, "message": "No."}, call_key=f"say-{number}")
        await episode.call("S1", "submit_quote", {"price": "a lot"})
        await episode.call("S1", "submit_quote", {"price": "9" * 3_000})
        await episode.call("S1", "no_such_tool", {})
        await episode.call("S1", "submit_quote", {"price": 60 + number}, call_key=f"quote-{number}")
    await episode.note("S1", {"kind": "stop", "reason": "episode_over"})
    await episode.close()
    assert episode.core.ended == "terminated:rounds_completed", episode.core.ended
    return episode.path


async def _bargain(folder: Path, sandbox: Sandbox) -> Path:
    limits = [
        {"counts": ["read", "analysis"], "max": 3, "per": "round", "then": "refuse"},
        {"counts": ["inner"], "max": 2, "per": "round", "then": "refuse"},
    ]
    overrides = {"limits": limits, "acceptance": "none"}
    episode = await _episode("bargaining/smoke", overrides, 11, "B1", folder / "bargain.trace", sandbox)
    for number in range(1, 4):
        for _ in range(4):
            await episode.call("B1", "view_my_value", {})
        await episode.call("B1", "send_message", {"text": f"{20 + number}?"})
        await episode.call("B1", "submit_quote", {"price": 20 + number}, call_key=f"quote-{number}")
    await episode.close()
    assert episode.core.ended == "terminated:rounds_completed", episode.core.ended
    return episode.path


async def _episode(
    name: str, overrides: dict[str, Any], seed: int, agent: str, path: Path, sandbox: Sandbox
) -> Episode:
    kind = market_type(name.partition("/")[0])
    scenario = load_scenario(kind.name, name, overrides)
    plan = plan_seats(kind, scenario, agents=[agent])
    labels = {agent: "react/openai:gpt-5"}
    agents = {agent: AgentRecord(framework="langgraph", model="openai:gpt-5", endpoint="https://api.openai.com/v1")}
    seating = seating_of(kind, scenario, plan, labels=labels, agents=agents, compared=[agent])
    return await new_episode(kind, scenario, seed, seating, path.parent, episode_id=path.stem, sandbox=sandbox)


def _settled(path: Path) -> Path:
    """The same trace with times that are the same in each run."""
    forge = Forge.load(path)
    for number, row in enumerate(forge.side):
        row["at_ms"] = _FIRST_MS + number
        if row["latency_us"] is not None:
            row["latency_us"] = 100 + number
    forge.about |= {"created": _DAY.format(1), "finished": _DAY.format(9)}
    forge.about["software"] = {"python": "3.11.0", "platform": "Linux"}
    return forge.save(path)
