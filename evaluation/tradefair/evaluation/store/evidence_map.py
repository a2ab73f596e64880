"""What a market's tools give and its actions need, as rows of the tables `gives` and `needs`.

SQL cannot run a market's code, so the evidence map is written out once per trace, under the trace's own scenario.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import product

from tradefair.catalog import market_names, market_type
from tradefair.contract import MarketType, Need, Tool
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.modes.evidence import needs_of
from tradefair.evaluation.store.source import OddTrace
from tradefair.evaluation.store.tables import Row

# Values of `reach` that are no number of rounds; `queries/evidence.sql` knows the same two.
WHOLE_EPISODE, SINCE_CLOSE = 0, -1
# Rounds. The query makes a row per round of the widest window, and a stranger's market may state any number.
_MAX_REACH = 10_000


def installed_market(name: str, odd: OddTrace) -> MarketType | None:
    """The market, None where it is not installed or cannot be loaded."""
    if name not in market_names():
        return None
    try:
        return market_type(name)
    except Exception as fault:
        # A stranger's package may fail in any way when it is loaded; its trace can be counted all the same.
        odd(0, f"the market {name[:80]} cannot be loaded: {fault!r}"[:300])
        return None


def tools_of(market: MarketType | None) -> Mapping[str, Tool]:
    """The market's tools by name, and the kernel's, which every market has; nothing without a market."""
    # The kernel's tools last: a market cannot give one of their names another meaning.
    return {} if market is None else {**market.tools, **KERNEL_TOOLS}


def object_paths(market: MarketType | None) -> Collection[str]:
    """Dotted paths (`lines.product_id`) where a market's actions name the objects that their evidence is about."""
    needs = () if market is None else (need for some in market.evidence_map.values() for need in some)
    return frozenset(need.object_arg for need in needs if need.object_arg)


def given_rows(market: MarketType | None) -> Iterator[Row]:
    """Rows of `gives`: market, tool, category. Only reads and analyses give evidence."""
    for tool in tools_of(market).values():
        if market is not None and tool.read_only:
            # A category that a tool names twice would count its looks twice.
            for category in dict.fromkeys(tool.evidence):
                yield market.name, tool.name, category


def needed_rows(market: MarketType | None, core: ManifestCore, episode: str, odd: OddTrace) -> Iterator[Row]:
    """Rows of `needs` that exist under the trace's scenario; none where nothing can be known of them.

    `number` tells the needs of an action apart: categories that share it are alternatives.
    """
    if market is None:
        return
    # Another version may ask for other evidence: a share by today's map would judge actions by rules
    # that were not theirs.
    if core.rules_version != market.version:
        said = f"{core.rules_version[:40]} of {market.name}, {market.version} is installed"
        return odd(0, f"the rules are version {said}: nothing is known of the evidence that actions needed")
    try:
        scenario = build_scenario(market.scenario_model, core.scenario, source="core")
        needs = {
            role: needs_of(market.evidence_map, scenario, market.tools, role)
            for role in dict.fromkeys(seat.role for seat in core.seats)
        }
    except Exception as fault:
        # Content that no scenario of this market has can break any validator.
        odd(0, f"the scenario is not one of {market.name}, so that nothing is known of evidence: {fault!r}"[:300])
        return
    for action, (role, of_role) in product(market.evidence_map, needs.items()):
        for number, need in enumerate(of_role[action]):
            for category in dict.fromkeys(need.any_of):
                yield episode, action, role, number, category, _reach(need), need.from_round, need.object_arg or ""


def _reach(need: Need) -> int:
    """The window of a need in rounds, the open round included; 0 is the whole episode, −1 since the last closure."""
    match need.window:
        case "round":
            return 1
        case "episode":
            return WHOLE_EPISODE
        case "since_close":
            return SINCE_CLOSE
        case rounds:
            return max(1, min(rounds, _MAX_REACH))
