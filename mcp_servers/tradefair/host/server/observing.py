"""What an observer, who has no seat, may read: the tools that a market declares public, and nothing that a seat owns.

An observer's call is no event. It changes nothing and belongs to no seat, and the hash of a trace must not depend on
whether an observer watched. It sees what is committed (docs/explanation/why/host.md).
"""

from __future__ import annotations

from tradefair.contract import ErrorInfo, MarketType, Scenario, Tool
from tradefair.contract.kernel.core import Core, TurnMark
from tradefair.host.episode.looking import CallResult, look
from tradefair.host.server.opening import Opening
from tradefair.host.server.seat_auth import OBSERVER


def public_reads(market_type: MarketType, scenario: Scenario) -> dict[str, Tool]:
    """The tools of a market that an observer is offered, by name.

    A tool that needs an outside service is left out: an observer's call is not recorded, and so its answer is not
    either.
    """
    return {
        name: tool
        for name, tool in market_type.tools.items()
        if tool.observer and tool.read_only and tool.needs is None and (tool.when is None or tool.when(scenario))
    }


def observer_opening(kind: MarketType) -> Opening:
    """The opening of an observer's server."""
    words = (
        f"You watch {kind.title} without a seat: the tools show what is public once a round has closed. "
        "Nothing here can act. Follow a resource (market://…) to hear of each closure."
    )
    return Opening(f"tradefair-{kind.name}", kind.title, words, {})


def observe(core: Core, name: str, arguments: object) -> CallResult:
    """Carry out one public read, as `look` does."""
    # An observer is never awaited, so its turn is always over.
    turn = TurnMark(*core.market.clock[:2], turn_over=True, over=core.ended is not None)
    tools = public_reads(core.market_type, core.scenario)
    tool = tools.get(name)
    if tool is None:
        offered = f"tools are {', '.join(tools)}"
        error = ErrorInfo("tool_unavailable", "an observer is offered no such tool", offered, False)
        return CallResult(None, None, "denied", None, error, turn)
    return look(core, OBSERVER, tool, arguments, turn)
