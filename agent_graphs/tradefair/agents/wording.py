"""What a harness says to a model: the same words in every graph and framework, so that only the agent differs."""

from __future__ import annotations

from tradefair.agents.rounds import show_view
from tradefair.contract.policy import TurnView

NUDGE = "Call a tool now. Another reply without a call gives this round up."


def opening(view: TurnView, carried: str = "") -> str:
    """The message that opens a round: clock, what was carried over from earlier rounds, and the turn."""
    parts = (f"Round {view.round}, phase {view.phase}. It is your turn.", carried, show_view(view))
    return "\n\n".join(filter(None, parts))


def goes_on(view: TurnView) -> str:
    """The message that opens a later phase of the same round."""
    return f"Round {view.round} goes on with phase {view.phase}. It is your turn.\n\n{show_view(view)}"
