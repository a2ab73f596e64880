"""What spans are to a run (`Piece`), traces put together from spans in any order, and what lies above a span."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from tradefair.evaluation.foreign.interchange.identity import plain
from tradefair.evaluation.foreign.interchange.messages import error_in
from tradefair.evaluation.foreign.interchange.shapes import parsed, text
from tradefair.evaluation.foreign.interchange.spans import Span, unwrapped
from tradefair.evaluation.read.objects import mapping

HELD = 8_000_000
"""Characters of spans that wait for the rest of their traces; beyond, a trace is taken as complete."""

_MOST_ABOVE = 100

MISSING: Any = object()
"""The result of a tool's span that holds none."""

Moment = Literal["begins", "ends"]


class Piece(NamedTuple):
    """What a span is. `name` is that of the tool or agent; `asked`, `replied` are messages, or their JSON as text.

    `conversation` names the run and `key` the call where the source does; `error` is None where it did not fail;
    `marks` are our own extras, by which an export of ours comes back exactly. `again` repeats what others have said.
    """

    span: Span
    kind: Literal["tool", "model", "agent", "said", ""]
    conversation: str = ""
    name: str = ""
    agent: str = ""
    key: str = ""
    arguments: Any = None
    result: Any = MISSING
    error: Any = None
    asked: Any = None
    replied: Any = None
    facts: tuple[tuple[str, Any], ...] = ()
    marks: Mapping[str, Any] = {}
    mcp: bool = False

    @property
    def size(self) -> int:
        """Characters, roughly."""
        texts = (self.asked, self.replied, self.arguments, self.result)
        return 500 + sum(len(value) if isinstance(value, str) else 200 for value in texts)

    @property
    def mark(self) -> tuple[Any, ...]:
        """What tells it from the others of its trace, also where a stranger gives an id twice."""
        return self.span.id, self.span.start, self.key

    @property
    def place(self) -> tuple[int, int]:
        """When it begins, and our own number, where it has one."""
        seq = self.marks.get("seq")
        return (self.span.start or 0, seq if isinstance(seq, int) else 0)


def tool_piece(
    span: Span, conversation: str, given: Any, answer: Any, name: str = "", agent: str = "", key: str = ""
) -> Piece:
    """The piece of a tool's span, whose answer may be a message of LangChain's: then it says of which call it is."""
    said: Any = unwrapped(parsed(answer))
    message, error = mapping(said), None
    if "tool_call_id" in message:
        key, said, error = key or text(message["tool_call_id"]), message.get("content"), error_in(message)
    error = error if span.error is None else span.error or True
    # A tool of one argument often has only its value here; the reply that asked for it has its name.
    arguments = mapping(given) if isinstance(given, dict) or given is None else {"input": given}
    return Piece(span, "tool", conversation, name or span.name, agent, key, arguments, said, error)


class Traces:
    """Pieces that wait for the rest of their traces, within `HELD` characters.

    Spans end, and so arrive, before those above them, but no order is promised: a trace is handed out when room is
    needed, first one whose root has come, else the oldest; the others at the end.
    """

    def __init__(self) -> None:
        self._held: dict[str, list[Piece]] = {}
        self._sizes: dict[str, int] = {}
        self._rooted: dict[str, None] = {}
        self._size = 0

    def take(self, piece: Piece) -> Iterator[list[Piece]]:
        """Take a piece; gives the traces that have to make room."""
        trace = piece.span.trace
        self._held.setdefault(trace, []).append(piece)
        self._sizes[trace] = self._sizes.get(trace, 0) + piece.size
        self._size += piece.size
        if not piece.span.parent:
            self._rooted[trace] = None
        while self._size > HELD:
            yield self._out(next(iter(self._rooted or self._held)))

    def rest(self) -> Iterator[list[Piece]]:
        """What is left, by the time of each trace's first span: a conversation goes on from trace to trace."""
        first = {trace: min(piece.place for piece in pieces) for trace, pieces in self._held.items()}
        for trace in sorted(first, key=lambda trace: first[trace]):
            yield self._out(trace)

    def _out(self, trace: str) -> list[Piece]:
        self._rooted.pop(trace, None)
        self._size -= self._sizes.pop(trace)
        return self._held.pop(trace)


class Tree:
    """The pieces of one trace, sorted by time, and what lies above each."""

    def __init__(self, pieces: list[Piece]) -> None:
        pieces.sort(key=lambda piece: piece.place)
        self._pieces = [piece for piece in pieces if piece.kind]
        self._by_id = {piece.span.id: piece for piece in pieces}
        self.keys = {piece.key for piece in self._pieces if piece.kind == "tool" and piece.key}
        """Ids of calls that spans of tools name."""
        self._parents = _parents(pieces)
        self._first = next((piece.conversation for piece in self._pieces if piece.conversation), "")
        # Only where no model's span holds the messages are those of agents' spans read.
        self._models_speak = any(piece.kind == "model" and (piece.asked or piece.replied) for piece in self._pieces)
        self.main = next((name for piece in self._pieces if (name := self.agent(piece))), "")

    def moments(self) -> Iterator[tuple[Moment, Piece]]:
        """Beginnings and ends in the order of time; of equal times by our own number, then as they came."""
        found: list[tuple[tuple[int, int, int, int], Moment, Piece]] = []
        for number, piece in enumerate(self._pieces):
            start, seq = piece.place
            found.append(((start, seq, number, 0), "begins", piece))
            found.append(((max(start, piece.span.end or start), seq, number, 1), "ends", piece))
        found.sort(key=lambda moment: moment[0])
        return ((moment, piece) for _, moment, piece in found)

    def conversation(self, piece: Piece) -> str:
        """The run: the outermost conversation above it, else the trace's first, else the trace."""
        found = piece.conversation
        for above in self.above(piece):
            found = above.conversation or found
        return found or self._first or piece.span.trace

    def agent(self, piece: Piece) -> str:
        """The name of the agent that did it; empty where none is named."""
        if piece.kind == "agent" and piece.name:
            return piece.name
        agents = (above.name for above in self.above(piece) if above.kind == "agent" and above.name)
        return next(agents, piece.agent)

    def inner(self, piece: Piece) -> bool:
        """Whether it lies below an agent."""
        return any(above.kind == "agent" for above in self.above(piece))

    def above(self, piece: Piece) -> Iterator[Piece]:
        """Its ancestors, the nearest first, at most `_MOST_ABOVE` of them: a stranger's lie ten thousand deep."""
        name = piece.span.id
        for _ in range(_MOST_ABOVE):
            name = self._parents.get(name, "")
            if name not in self._by_id:
                return
            yield self._by_id[name]

    def speaks(self, piece: Piece) -> bool:
        """Whether its messages are to be read: those of agents' spans only repeat what models' spans say."""
        return piece.kind in ("model", "said") or (piece.kind == "agent" and not self._models_speak)

    def outer(self, piece: Piece) -> Piece | None:
        """The piece above that is the same thing: a model's call in its wrapper, a tool's of MCP in the agent's."""
        if piece.marks:
            return None
        for above in self.above(piece):
            if above.kind == piece.kind == "model":
                return above if above.replied else None
            if above.kind == piece.kind == "tool":
                apart = piece.key and above.key and piece.key != above.key
                alike = piece.mcp or above.mcp or (not apart and _said(piece) == _said(above))
                return above if alike and above.name == piece.name else None
            if above.kind:
                return None
        return None


def _parents(pieces: list[Piece]) -> dict[str, str]:
    """What each span lies below, by id. Of spans in a circle, which damage makes, the first in time lies below none."""
    parents = {piece.span.id: piece.span.parent for piece in pieces}
    places = {name: number for number, name in enumerate(parents)}
    rooted: set[str] = set()
    for name in places:
        path: dict[str, None] = {}
        while name in parents and name not in rooted and name not in path:
            path[name] = None
            name = parents[name]
        if name in path:
            circle = list(path)[list(path).index(name) :]
            parents[min(circle, key=places.__getitem__)] = ""
        rooted.update(path)
    return parents


def once(pieces: list[Piece], left_out: Counter[str]) -> list[Piece]:
    """The pieces without those that came again: who exports once more what nobody has confirmed sends a span twice."""
    met: dict[str, Piece] = {}

    def again(piece: Piece) -> bool:
        known = met.setdefault(piece.span.id, piece) if piece.span.id else piece
        return known is not piece and piece._replace(span=piece.span._replace(line=known.span.line)) == known

    kept = [piece for piece in pieces if not again(piece)]
    left_out.update({"repeated spans": len(pieces) - len(kept)} if len(kept) < len(pieces) else {})
    return kept


def _said(piece: Piece) -> bytes | str:
    return plain(parsed(piece.arguments))
