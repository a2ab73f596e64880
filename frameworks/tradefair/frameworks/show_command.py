"""The command `show agents`: our agent graphs, as they are compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tradefair.cli.options import PLAIN
from tradefair.cli.terminal import tell
from tradefair.frameworks import find

show = typer.Typer(no_args_is_help=True, **PLAIN)


@show.callback()
def _group() -> None:  # pyright: ignore[reportUnusedFunction]
    """What is installed, looked at closely."""
    # Without it the parser would take the only command for the group itself.


@show.command()
def agents(
    name: Annotated[str, typer.Argument(help="react, reflection or plan_and_act; without: their names.")] = "",
    png: Annotated[Path | None, typer.Option(help="Write a PNG file instead, with a local graphviz.")] = None,
    approve: Annotated[bool, typer.Option("--approve", help="As it is when a person is asked before actions.")] = False,
) -> int:
    """Print one of our agent graphs, as it is compiled, as mermaid text."""
    from tradefair.frameworks.langgraph import GRAPHS

    if not name:
        if png is not None or approve:
            raise typer.BadParameter(f"name the graph: {', '.join(GRAPHS)}", param_hint="NAME")
        tell("\n".join(GRAPHS))
        return 0

    from langgraph.checkpoint.memory import InMemorySaver

    from tradefair.agents.drawing import to_mermaid, write_png

    graph = find(GRAPHS, name, "graph").build_graph(InMemorySaver() if approve else None)
    if png is None:
        tell(to_mermaid(graph), end="")
    else:
        write_png(graph, png)
        tell(f"written: {png}")
    return 0
