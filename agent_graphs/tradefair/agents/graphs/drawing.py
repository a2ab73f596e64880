"""Pictures of compiled graphs: mermaid text, and DOT for a local graphviz. Nothing leaves the machine."""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

from tradefair.contract import HarnessFailure

# Seconds for graphviz; our graphs take far less.
_PATIENCE_S = 60
# langgraph's names of the two ends, and ours.
_ENDS = {"__start__": "start", "__end__": "end"}


def to_mermaid(graph: Any) -> str:
    """A compiled graph as mermaid text; dotted lines are taken under a condition. Any: langgraph types it so."""
    # `strip`: the docs hold this text, and the space around it is no part of the graph.
    return str(_drawable(graph).draw_mermaid()).strip() + "\n"


def to_dot(graph: Any) -> str:
    """The same as DOT, the language of graphviz."""
    drawn = _drawable(graph)
    lines = ["digraph agent {", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    for name in drawn.nodes:
        shape = " shape=oval" if name in _ENDS else ""
        lines.append(f'  "{name}" [label="{_ENDS.get(name, name)}"{shape}];')
    for edge in drawn.edges:
        style = " [style=dashed]" if edge.conditional else ""
        lines.append(f'  "{edge.source}" -> "{edge.target}"{style};')
    return "\n".join([*lines, "}"]) + "\n"


def _drawable(graph: Any) -> Any:
    """langgraph's drawing of a compiled graph, with plain lines where a node has one way on only."""
    drawn = graph.get_graph()
    # langgraph takes every way that a node chooses for a condition.
    ways = Counter(edge.source for edge in drawn.edges)
    drawn.edges = [edge._replace(conditional=ways[edge.source] > 1) for edge in drawn.edges]
    return drawn


def write_png(graph: Any, path: Path) -> None:
    """Draw a compiled graph into a PNG file with the `dot` of this machine. Raises HarnessFailure without one."""
    program = shutil.which("dot")
    # Not drawn over the network: langgraph's own PNG asks a public server.
    if program is None:
        raise HarnessFailure("a PNG needs graphviz's dot on this machine; without it, print the mermaid text instead")
    command = [program, "-Tpng", "-o", str(path)]
    done = subprocess.run(command, input=to_dot(graph).encode(), capture_output=True, timeout=_PATIENCE_S, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()[:300]
        raise HarnessFailure(f"dot could not write {path.name}: {said}")
