"""What a model is offered per reply: every tool (`all`), or `useful(reads=3)`, what can still do something in its turn.

That is: the open actions that were not refused in it, and until it had three looks the rest, but no look twice that
takes no arguments. Only what is shown changes: the market takes a call of any tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tradefair.contract import ScenarioError, TurnView

# For type checkers only: command lines read offers, and these load langchain.
if TYPE_CHECKING:
    from langchain_core.tools import BaseTool
    from mcp.types import Tool

    from tradefair.agents.asking import ChatRunnable
    from tradefair.agents.bridge import Act


@dataclass(frozen=True)
class Offer:
    """How many looks a turn has before only actions are offered; None: every tool, always. `label` is its text."""

    label: str
    reads: int | None


ALL = Offer("all", None)


def parse_offer(text: str) -> Offer:
    """An offer from its text; ScenarioError says what is allowed."""
    if text.strip() == ALL.label:
        return ALL
    found = re.fullmatch(r"useful\(\s*reads\s*=\s*([0-9]{1,4})\s*\)", text.strip())
    if found is None:
        raise ScenarioError(f"{text[:80]!r} is no offer: write all or useful(reads=3), with 0 to 9999 looks")
    return Offer(f"useful(reads={int(found[1])})", int(found[1]))


class Offers:
    """The model of a seat with the tools of a reply bound to it, made once per set of tools."""

    def __init__(self, model: Any, tools: Sequence[BaseTool], listed: Mapping[str, Tool], offer: Offer) -> None:
        self._model = model  # a chat model; Any, because langchain types its tools with unknowns
        self._reads = offer.reads
        self._tools = {tool.name: tool for tool in tools}
        self._listed = {name: listed[name] for name in self._tools}
        self._actors: dict[tuple[str, ...], ChatRunnable] = {}

    def actor(self, view: TurnView, acts: Sequence[Act]) -> ChatRunnable:
        """The model with what it is offered in the turn of `view`, in which `acts` were made."""
        offered = tuple(self._tools if self._reads is None else useful(self._listed, view, acts, self._reads))
        if offered not in self._actors:
            self._actors[offered] = self._model.bind_tools([self._tools[name] for name in offered])
        return self._actors[offered]


def useful(tools: Mapping[str, Tool], view: TurnView, acts: Sequence[Act], reads: int) -> list[str]:
    """Names of the tools that can still do something, in the server's order. Never none where there are actions."""
    actions = [name for name, tool in tools.items() if _acts(tool)]
    # A turn that names no open action (a stranger's server) leaves the choice to the rules.
    opened = [name for name in actions if name in view.actions] or actions
    refused = {act.tool for act in acts if act.outcome.is_error}
    offered = {name for name in opened if name not in refused} or {*opened}
    looked = [act.tool for act in acts if act.tool in tools and act.tool not in actions]
    if len(looked) < reads:
        spent = refused | {name for name in looked if not tools[name].input_schema.get("properties")}
        offered |= tools.keys() - spent - {*actions}
    return [name for name in tools if name in offered]


def _acts(tool: Tool) -> bool:
    """Whether a tool is an action of the market; of a stranger's server, whether it is more than a look."""
    kind = (tool.meta or {}).get("tradefair/kind")
    return kind == "action" if kind else not (tool.annotations and tool.annotations.read_only_hint)
