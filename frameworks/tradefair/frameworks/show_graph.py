"""Our agent graphs as they are compiled, for `tradefair show agents`."""

from __future__ import annotations

from pathlib import Path

from tradefair.cli.terminal import tell
from tradefair.contract import ScenarioError
from tradefair.frameworks import find
from tradefair.frameworks.langgraph import GRAPHS


def show_graph(name: str, png: Path | None, approve: bool) -> None:
    """The names of all graphs without a `name`; else the graph as mermaid text, or as a PNG file.

    `approve` draws it as it is when a person is asked before actions. ScenarioError for an unknown name, HarnessFailure
    where graphviz is missing or cannot write.
    """
    if not name:
        if png is not None or approve:
            raise ScenarioError(f"name the graph: {', '.join(GRAPHS)}")
        tell("\n".join(GRAPHS))
        return

    from langgraph.checkpoint.memory import InMemorySaver

    from tradefair.agents.graphs.drawing import to_mermaid, write_png

    graph = find(GRAPHS, name, "graph").build_graph(InMemorySaver() if approve else None)
    if png is None:
        tell(to_mermaid(graph), end="")
    else:
        write_png(graph, png)
        tell(f"written: {png}")
