"""The graphs know tools, not rules: no market and no tool of a market is named in their code or prompts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tradefair.catalog import market_names, market_type
from tradefair.contract.kernel_tools import KERNEL_TOOLS

FOLDER = Path(__file__).parents[2] / "agent_graphs" / "tradefair" / "agents"
FILES = sorted([*FOLDER.rglob("*.py"), *FOLDER.rglob("*.md")])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_agent_names_a_market_or_a_tool_of_one(path: Path) -> None:
    words = set(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    assert words & set(market_names()) == set()
    for name in market_names():
        # Tools of one word (`say`) are words of prose as well.
        tools = {tool for tool in market_type(name).tools if "_" in tool}
        assert words & (tools - set(KERNEL_TOOLS)) == set()


def test_a_named_tool_would_be_noticed() -> None:
    assert len(FILES) > 20
    assert {"retail", "double_auction"} <= set(market_names())
    assert "submit_quote" in market_type("double_auction").tools
