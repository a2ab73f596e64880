"""The react graph: agent <-> tools until the turn is over."""

from __future__ import annotations

from typing import Any, ClassVar

from tradefair.agents.graphs.acting import ActContext, ActLoop, ActState, add_act_loop
from tradefair.agents.graphs.player import GraphPlayer
from tradefair.agents.graphs.round_graph import RoundGraph


def build_graph(checkpointer: Any = None) -> Any:
    """The compiled graph; state `ActState`, context `ActContext`. With a checkpointer a person is asked first."""
    graph = RoundGraph(ActState, ActContext, start="agent")
    add_act_loop(graph, ActLoop(), approve=checkpointer is not None)
    return graph.compile(checkpointer)


class React(GraphPlayer):
    """The react graph in one seat.

    The simplest of the three, and the one that other frameworks are compared with.
    """

    prompts: ClassVar[tuple[str, ...]] = ("react",)
    build_graph = staticmethod(build_graph)
