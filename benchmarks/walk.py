"""How straight one episode walks through the modules, for whoever reads the code along with it.

Over the first 200 entries of functions of ours, from an agent's options to the first tool calls: the modules entered,
and how often `runner` and `host`, which set an episode up, are come back to after they were left for one another. The
market and the contract are asked like a library, again and again; that is no way back. The plan of seats, which a
server reads before it imports what plays, and the thread of a log are modules of their own.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from benchmarks.figures import Figure
from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.players import seat_roles
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec, ready
from tradefair.runner.play.episode_runner import PlaySpec, play_episode

_ENTRIES = 200
_SETTING_UP = ("tradefair.runner.", "tradefair.host.")
_COMMITS = "tradefair.host.episode.writer"


def measure(*, tiny: bool) -> list[Figure]:
    """Modules and ways back of an episode of `teaching/pie` with an agent over MCP."""
    with TemporaryDirectory() as folder:
        modules = _walked(Path(folder))
    # Up to the first commit: from there on episode, log and writer call each other, which is playing and no setting up.
    begun = modules.index(_COMMITS) if _COMMITS in modules else len(modules)
    steps = [module for module in modules[:begun] if module.startswith(_SETTING_UP)]
    turns = [module for before, module in zip(["", *steps], steps, strict=False) if module != before]
    how = f"first {_ENTRIES} function entries of an episode of teaching"
    return [
        Figure("modules entered", len(set(modules)), "modules", 35, "at most", how),
        Figure("ways back to runner and host", len(turns) - len(set(turns)), "times", 9, "at most", how),
    ]


def _walked(folder: Path) -> list[str]:
    """The module of each function of ours that is entered, in order."""
    modules: list[str] = []
    known: set[FrameType] = set()
    kind, scenario = market_type("teaching"), load_scenario("teaching", "pie")
    plan = plan_seats(kind, scenario)
    roles = seat_roles(kind, scenario, plan.agents)

    def play() -> None:
        agent = ready(kind, AgentSpec("react", "policy:half"), roles)
        asyncio.run(play_episode(PlaySpec("teaching", scenario, 7, plan, agent, folder)))

    def entered(frame: FrameType, event: str, _: object) -> None:
        module = frame.f_globals.get("__name__", "")
        # A coroutine that goes on after a wait is no new entry: its reader is still on the same page.
        if event == "call" and module.startswith("tradefair.") and len(modules) < _ENTRIES and frame not in known:
            known.add(frame)
            modules.append(module)

    play()  # what is imported, or made once and kept, is no part of an episode
    sys.setprofile(entered)
    try:
        play()
    finally:
        sys.setprofile(None)
    return modules
