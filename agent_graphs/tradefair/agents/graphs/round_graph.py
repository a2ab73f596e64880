"""The graph of one round: nodes that change its state, and after each of them the one that follows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from langgraph.graph import END, START, StateGraph
from langgraph.runtime import Runtime
from langgraph.types import Command

from tradefair.contract import HarnessFailure

Node: TypeAlias = Callable[[Any, Any], Awaitable[dict[str, Any]]]
"""From state and context the update of the state. Any: each graph has a state and a context of its own."""

# What a node returns under these names is added to the state's list, not put in its place.
_LISTS = ("messages", "acts")


class _Placed(NamedTuple):
    node: Node
    following: str | Callable[[Any], str]


class RoundGraph:
    """Collects the nodes of a graph; `compile` makes them a graph of langgraph's.

    Without a checkpointer the nodes run one after another within one step of langgraph: a step costs several times what
    our nodes do, and nothing would be kept between two of them. With one, each node is a step of its own.
    """

    def __init__(self, state: type, context: type, *, start: str) -> None:
        # Any: langgraph's builder is typed with unknowns.
        self._graph: Any = StateGraph(state, context_schema=context)
        self._graph.add_edge(START, start)
        self._placed: dict[str, _Placed] = {}
        self._targets: dict[str, tuple[str, ...]] = {}

    def add(
        self, name: str, node: Node, following: str | Callable[[Any], str], targets: Sequence[str] | None = None
    ) -> None:
        """A node, and the one that follows it: by name, or chosen by the state among `targets`."""
        self._placed[name] = _Placed(node, following)
        # Every target is named, or langgraph would not draw its edge.
        self._targets[name] = (following,) if isinstance(following, str) else tuple(targets or ())

    def compile(self, checkpointer: Any = None) -> Any:
        """The compiled graph; a node can interrupt it only with a checkpointer."""
        for name, targets in self._targets.items():
            step = self._step(name, stops=checkpointer is not None)
            self._graph.add_node(name, step, destinations=targets)
        return self._graph.compile(checkpointer=checkpointer)

    def _step(self, first: str, *, stops: bool) -> Callable[..., Awaitable[Command[Any]]]:
        """A step of langgraph that begins with the node `first`, and ends with it too where it `stops`."""

        async def step(state: dict[str, Any], runtime: Runtime[Any]) -> Command[Any]:
            at, changed = first, set[str]()
            # langgraph counts its own steps only; a loop that never ends would ask a model on and on.
            for _ in range(runtime.context.limits.recursion_limit):
                node, following = self._placed[at]
                update = await node(state, runtime.context)
                changed |= update.keys()
                state = state | {name: _updated(state, name, value) for name, value in update.items()}
                at = following if isinstance(following, str) else following(state)
                if stops or at == END:
                    return Command(update={name: state[name] for name in changed}, goto=at)
            raise HarnessFailure(f"the graph did not end its round; the next node would have been {at}")

        return step


def _updated(state: dict[str, Any], name: str, value: Any) -> Any:
    return [*state[name], *value] if name in _LISTS else value
