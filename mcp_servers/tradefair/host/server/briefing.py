"""The texts for a seat: the server's instructions and the prompt `play_<market>`. Neither holds any strategy.

Advice here would be measured as the agent's own skill.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tradefair.contract import MarketType, Scenario, SeatId, Tool

if TYPE_CHECKING:
    from tradefair.contract.kernel.core import Core

DETAILS = ("brief", "full")

# The same for every market: how to wait and how to go on are the kernel's, not the market's.
_LOOP = """\
view_turn shows whether a decision of yours is awaited. When it is, read what you need, take one of the actions that
it lists, and call await_turn; it answers when you are awaited again or the episode is over (still_open = true: call it
again). Go on until over = true. The _meta entry "tradefair/turn" of every result says whether your turn or the
episode is over. A refused call changes nothing; its hint names the next useful call."""

_HEADINGS = {"read": "Reads", "analysis": "Analysis", "action": "Actions", "note": "Notes"}


def instructions(kind: MarketType, scenario: Scenario, seat: SeatId) -> str:
    """The server's instructions: role, objective, how a round goes, how to wait.

    In this order, with an empty line between each two; all texts are the market's, apart from how to wait.
    """
    brief = kind.brief(scenario, seat)
    return "\n\n".join(
        (brief.role, f"Objective: {brief.objective}", f"A round: {brief.round_semantics}", _LOOP.replace("\n", " "))
    )


def prompt_name(core: Core) -> str:
    """`play_<market>`."""
    return f"play_{core.market_type.name}"


def prompt_text(core: Core, seat: SeatId, tools: Mapping[str, Tool], detail: str) -> str:
    """The prompt: take the seat and play to the end. With `detail` = full it lists each tool in a line."""
    told = instructions(core.market_type, core.scenario, seat)
    text = f"Play this market to its end, in seat {seat}.\n\n{told}"
    return text if detail == "brief" else f"{text}\n\n{_tool_lines(tools)}"


def _tool_lines(tools: Mapping[str, Tool]) -> str:
    groups: list[str] = []
    for kind, heading in _HEADINGS.items():
        lines = [_tool_line(tool) for tool in tools.values() if tool.kind == kind]
        if lines:
            groups.append("\n".join((f"{heading}:", *lines)))
    return "\n\n".join(groups)


def _tool_line(tool: Tool) -> str:
    """One tool in a line, with the names of its parameters; schemas are in the tool list already."""
    takes = ", ".join(tool.input_schema.get("properties", {}))
    return f"- {tool.name}({takes}): {' '.join(tool.description.split())}"
