"""The graphs know tools, not rules: no market and no tool of a market is named in their code or prompts."""

from __future__ import annotations

import re
from pathlib import Path

from tradefair.catalog import market_names, market_type
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS

FOLDER = Path(__file__).parents[2] / "agent_graphs" / "tradefair" / "agents"
FILES = sorted([*FOLDER.rglob("*.py"), *FOLDER.rglob("*.md")])


def market_words(text: str) -> set[str]:
    """Names of markets and of their tools in a text."""
    tools = {tool for name in market_names() for tool in market_type(name).tools}
    # Tools of one word (`say`) are words of prose as well.
    named = {tool for tool in tools if "_" in tool} - set(KERNEL_TOOLS) | set(market_names())
    return named & set(re.findall(r"\w+", text))


def test_no_agent_names_a_market_or_a_tool_of_one() -> None:
    planted = "say(call('submit_quote')), retail, await_turn, auction"
    assert market_words(planted) == {"submit_quote", "retail"}
    assert len(FILES) > 20
    found = {path.name: market_words(path.read_text(encoding="utf-8")) for path in FILES}
    assert {name: words for name, words in found.items() if words} == {}
