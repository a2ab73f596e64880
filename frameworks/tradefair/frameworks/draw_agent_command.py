"""`tradefair lab draw-agent`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.terminal import tell
from tradefair.frameworks import find


def draw_agent(
    name: Annotated[str, typer.Argument(help="react, reflection or plan_and_act.")],
    png: Annotated[Path | None, typer.Option(help="Write a PNG file instead, with a local graphviz.")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="As it is when a person is asked before actions.")] = False,
) -> int:
    """Print one of our agent graphs, as it is compiled, as mermaid text."""
    from langgraph.checkpoint.memory import InMemorySaver

    from tradefair.agents.drawing import to_mermaid, write_png
    from tradefair.frameworks.langgraph import GRAPHS

    graph = find(GRAPHS, name, "graph").build_graph(InMemorySaver() if approve else None)
    if png is None:
        tell(to_mermaid(graph), end="")
    else:
        write_png(graph, png)
        tell(f"written: {png}")
    return 0
