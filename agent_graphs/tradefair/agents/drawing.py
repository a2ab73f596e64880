"""Pictures of compiled graphs: mermaid text, and DOT for a local graphviz. Nothing leaves the machine."""

from __future__ import annotations

import shutil
import subprocess
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
    return str(graph.get_graph().draw_mermaid()).strip() + "\n"


def to_dot(graph: Any) -> str:
    """The same as DOT, the language of graphviz."""
    drawn = graph.get_graph()
    lines = ["digraph agent {", '  node [shape=box, style=rounded, fontname="sans-serif"];']
    for name in drawn.nodes:
        shape = " shape=oval" if name in _ENDS else ""
        lines.append(f'  "{name}" [label="{_ENDS.get(name, name)}"{shape}];')
    for edge in drawn.edges:
        style = " [style=dashed]" if edge.conditional else ""
        lines.append(f'  "{edge.source}" -> "{edge.target}"{style};')
    return "\n".join([*lines, "}"]) + "\n"


def write_png(graph: Any, path: Path) -> None:
    """Draw a compiled graph into a PNG file with the `dot` of this machine. Raises HarnessFailure without one."""
    program = shutil.which("dot")
    # Not drawn over the network: langgraph's own PNG asks a public server.
    if program is None:
        raise HarnessFailure("a PNG needs graphviz's dot on this machine; without it, print the mermaid text instead")
    command = [program, "-Tpng", "-o", str(path)]
    done = subprocess.run(
        command, input=to_dot(graph), capture_output=True, text=True, timeout=_PATIENCE_S, check=False
    )
    if done.returncode:
        raise HarnessFailure(f"dot could not write {path.name}: {done.stderr.strip()[:300]}")
