"""Traces of spans as runs: who called what and was answered, and what was said, each once.

Spans of models repeat the whole conversation, and one tool call may stand in the reply that asked for it, in a span of
the agent, in one of its MCP client, and in every later prompt. A reader only says what each span is (`Piece`).
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tradefair.evaluation.foreign.interchange.identity import meaning, plain
from tradefair.evaluation.foreign.interchange.items import Answer, Call, Fact, Item, Odd, Said, Tallied
from tradefair.evaluation.foreign.interchange.messages import At, walk
from tradefair.evaluation.foreign.interchange.own import marked, marked_call
from tradefair.evaluation.foreign.interchange.shapes import count, parsed, text
from tradefair.evaluation.foreign.interchange.span_trees import MISSING, Moment, Piece, Traces, Tree, once
from tradefair.evaluation.read.objects import mapping, sequence

# Calls and messages that are remembered of runs that may go on in a later trace; the oldest are forgotten.
_REMEMBERED = 50_000
_EACH_TIME = ("tokens", "usd", "stop")
"""Facts that count each time; others are told once."""


def items_of(pieces: Iterable[Piece | Odd]) -> Iterator[Item]:
    """The items of a file's pieces, trace by trace; traces in which nobody called or said anything are counted."""
    traces, runs = Traces(), _Runs()
    records = odd = 0
    for piece in pieces:
        records += 1
        if isinstance(piece, Odd):
            odd += 1
            yield piece
            continue
        for whole in traces.take(piece):
            yield from runs.trace(whole, early=True)
    for whole in traces.rest():
        yield from runs.trace(whole)
    yield Tallied(records, records - odd, tuple(runs.left_out.items()))


@dataclass
class _Known:
    """A call: what is to be said of it yet, and what was met of it; `recalled`: a prompt told it before its reply.

    `ended` is its answer without the result, where its span has ended and holds none.
    """

    key: str
    call: Call | None
    step: int
    spanned: bool = False
    told: bool = False
    recalled: bool = False
    answered: bool = False
    ended: Answer | None = None


@dataclass
class _Talk:
    """What a seat said and was told: all of it, what no prompt has held yet, and the prompt before."""

    said: Counter[int] = field(default_factory=Counter[int])
    fresh: Counter[int] = field(default_factory=Counter[int])
    prompt: list[int] = field(default_factory=list[int])


@dataclass
class _Run:
    """What is remembered of a run while its traces come. `main` is the name of the agent that is called none."""

    id: str
    main: str
    steps: int = 0
    talks: dict[str, _Talk] = field(default_factory=dict[str, _Talk])
    calls: dict[str, _Known] = field(default_factory=dict[str, _Known])
    alike: dict[int, list[_Known]] = field(default_factory=dict[int, list[_Known]])
    facts: set[int] = field(default_factory=set[int])

    @property
    def size(self) -> int:
        """Calls and messages that are remembered."""
        return len(self.calls) + sum(len(talk.said) + len(talk.prompt) for talk in self.talks.values()) + 10

    def next_step(self) -> int:
        self.steps += 1
        return self.steps


class _Runs:
    def __init__(self) -> None:
        self.left_out: Counter[str] = Counter()
        self._runs: OrderedDict[str, _Run] = OrderedDict()
        self._size = 0
        # Traces that came in parts: what is above a span may be in another part, and the run stays the first one.
        self._named: OrderedDict[str, str] = OrderedDict()

    def trace(self, pieces: list[Piece], *, early: bool = False) -> Iterator[Item]:
        """The items of one trace, in the order of time; `early`: more of it may come."""
        if not any(piece.kind for piece in pieces):
            return count(self.left_out, "traces without calls or messages")
        pieces = once(pieces, self.left_out)
        tree, parts, trace = Tree(pieces), dict[str, _Part](), pieces[0].span.trace
        whole = trace not in self._named and any(not piece.span.parent for piece in pieces)
        for moment, piece in tree.moments():
            name = tree.conversation(piece) if whole else self._named.setdefault(trace, tree.conversation(piece))
            if name not in parts:
                parts[name] = _Part(self._run(name, tree.main), tree, self.left_out)
            yield from parts[name].take(moment, piece)
        for part in parts.values():
            yield from part.end()
        if early and parts:
            self._named.setdefault(trace, next(iter(parts)))
        self._forget(parts)
        while len(self._named) > _REMEMBERED:
            self._named.popitem(last=False)

    def _run(self, name: str, main: str) -> _Run:
        run = self._runs.pop(name, None) or _Run(name, main)
        self._runs[name] = run
        self._size -= run.size
        return run

    def _forget(self, names: Iterable[str]) -> None:
        for name in names:
            run = self._runs[name]
            if run.size > _REMEMBERED:
                self._runs[name] = run = _Run(run.id, run.main, run.steps, facts=run.facts)
            self._size += run.size
        while self._size > _REMEMBERED and len(self._runs) > 1:
            self._size -= self._runs.popitem(last=False)[1].size


class _Part:
    """Puts together what one trace tells of one run."""

    def __init__(self, run: _Run, tree: Tree, left_out: Counter[str]) -> None:
        self._run, self._tree, self._left_out = run, tree, left_out
        self._waiting: dict[str, _Known] = {}
        self._open: dict[tuple[Any, ...], _Known] = {}

    def take(self, moment: Moment, piece: Piece) -> Iterator[Item]:
        """What a span says at its beginning or at its end."""
        ends = moment == "ends"
        if piece.kind == "tool":
            if ends:
                yield from self._tool_ends(piece)
            elif self._tree.outer(piece) is None:
                yield from self._tool_begins(piece, self._seat(piece))
            return
        if self._tree.outer(piece) is not None:
            return
        seat = self._seat(piece)
        if not ends and piece.kind == "agent":
            yield from self._agent(piece, seat)
        if self._tree.speaks(piece):
            # What an agent's span ends with was said before, as far as it was told.
            asked = not ends or piece.kind == "agent"
            when = piece.span.end if ends else piece.span.start
            yield from self._messages(piece, piece.replied if ends else piece.asked, seat, when, asked=asked)
        if ends:
            yield from self._facts(seat, piece.facts)

    def end(self) -> Iterator[Item]:
        """Calls that only messages know, and spans whose answer nobody told."""
        for known in list(self._waiting.values()):
            yield from self._called(known)
        for known in self._open.values():
            if not known.answered:
                known.answered = True
                yield known.ended or Answer(self._run.id, known.key, None, None, self._run.next_step())

    def _seat(self, piece: Piece) -> str:
        name = text(piece.marks.get("seat")) or self._tree.agent(piece)
        return "" if name == self._run.main and not piece.marks else name

    def _agent(self, piece: Piece, seat: str) -> Iterator[Item]:
        facts = [("agent", piece.name)] if piece.name else []
        if seat and not piece.marks and self._tree.inner(piece):
            facts.append(("role", "subagent"))
        yield from self._facts(seat, facts)

    def _facts(self, seat: str, facts: Iterable[tuple[str, Any]]) -> Iterator[Item]:
        for name, value in facts:
            told = hash((seat, name, plain(value)))
            if name in _EACH_TIME or told not in self._run.facts:
                self._run.facts.add(told)
                yield Fact(self._run.id, None if name == "passed" else seat, name, value)

    # --- messages -------------------------------------------------------------------------------------------------

    def _messages(self, piece: Piece, messages: Any, seat: str, at_ns: int | None, *, asked: bool) -> Iterator[Item]:
        """What is new in the messages of a prompt, or all of a reply."""
        listed = _listed(messages)
        talk = self._run.talks.setdefault(seat, _Talk())
        before, start = Counter[int](), 0
        # Our own export holds what is new only.
        if asked and listed and not piece.marks:
            prompt = [hash(plain(message)) for message in listed]
            if prompt[: len(talk.prompt)] == talk.prompt:
                before, start = talk.fresh, len(talk.prompt)
            else:
                # A prompt that was cut or rewritten: of equal messages as many are new as were not said so far.
                before, talk.fresh = Counter(talk.said), Counter[int]()
            talk.prompt = prompt
        for message in listed[start:]:
            step = self._run.steps + 1
            at = At(self._run.id, seat, step, at_ns, piece.span.line, piece.span.name)
            for item in walk(message, at, self._left_out):
                if not isinstance(item, Said | Call | Answer):
                    yield item
                    continue
                told = hash((getattr(item, "key", ""), *meaning(item)))
                if before[told] > 0:
                    before[told] -= 1
                    count(self._left_out, "repeated messages")
                    continue
                talk.said[told] += 1
                if not asked:
                    talk.fresh[told] += 1
                if not self._known(item, asked):
                    self._run.steps = step
                    yield from self._new(item, asked)

    def _known(self, item: Said | Call | Answer, asked: bool) -> bool:
        """Whether a tool's span, or of a reply a later prompt, has told it already."""
        if isinstance(item, Answer):
            known = self._run.calls.get(item.key)
            return known is not None and known.answered
        if isinstance(item, Said):
            return False
        known = self._run.calls.get(item.key)
        if known is not None and known.recalled and not asked:
            known.recalled = False
            return True
        if known is None or known.told:
            alike = self._alike(item.tool, item.arguments)
            known = next((known for known in alike if known.spanned and not known.told), None)
        if known is None or not known.spanned:
            return False
        known.told = True
        self._run.calls[item.key] = known
        return True

    def _new(self, item: Said | Call | Answer, asked: bool) -> Iterator[Item]:
        if isinstance(item, Call):
            known = self._register(item)
            known.told, known.recalled = True, asked
            return
        if isinstance(item, Answer) and (known := self._run.calls.get(item.key)) is not None:
            yield from self._called(known)
            known.answered = True
            item = item._replace(key=known.key)
            if (ended := known.ended) is not None:
                # A prompt only repeats what came when the span ended, and the span may say that it is no error.
                error = ended.error if item.error is None else item.error
                item = item._replace(error=error, step=ended.step, at_ns=ended.at_ns)
        yield item

    # --- calls ----------------------------------------------------------------------------------------------------

    def _register(self, call: Call) -> _Known:
        """A call that was not met before; a second one under a known id gets a key of its own."""
        calls, key = self._run.calls, call.key
        if key in calls:
            key = f"{key}#{len(calls)}"
        known = calls[call.key] = calls[key] = self._waiting[key] = _Known(key, call._replace(key=key), call.step)
        self._alike(call.tool, call.arguments).append(known)
        return known

    def _alike(self, tool: str, arguments: Any) -> list[_Known]:
        return self._run.alike.setdefault(hash((tool, plain(parsed(arguments)))), [])

    def _called(self, known: _Known) -> Iterator[Item]:
        """The call itself, once."""
        self._waiting.pop(known.key, None)
        if known.call is not None:
            yield known.call
            known.call = None

    def _tool_begins(self, piece: Piece, seat: str) -> Iterator[Item]:
        known = self._asked_for(piece, seat)
        if known is None:
            key = piece.key or f"span {piece.span.id}"
            known = self._register(Call(self._run.id, seat, key, piece.name, piece.arguments, self._run.next_step()))
        known.spanned = True
        if known.call is not None:
            known.call = marked_call(known.call._replace(at_ns=piece.span.start), piece.marks)
        self._open[piece.mark] = known
        yield from self._called(known)

    def _asked_for(self, piece: Piece, seat: str) -> _Known | None:
        """The call in a reply that this span carries out: by its id, else by tool and arguments, else by tool.

        Some spans carry another id than the call's, of a task or of their own; a call whose id a span of the trace has
        waits for that one.
        """
        known = self._run.calls.get(piece.key) if piece.key else None
        if known is not None and not known.spanned:
            return known
        free = (known for known in self._alike(piece.name, piece.arguments) if not known.spanned)
        alike = next((known for known in free if known.key not in self._tree.keys), None)
        if alike is not None or (piece.key and piece.arguments):
            return alike
        waiting = ((known, known.call) for known in self._waiting.values() if known.call is not None)
        same_tool = (known for known, call in waiting if (call.tool, call.seat) == (piece.name, seat))
        return next((known for known in same_tool if known.key not in self._tree.keys), None)

    def _tool_ends(self, piece: Piece) -> Iterator[Item]:
        known = self._open.get(piece.mark)
        if known is None and (outer := self._tree.outer(piece)) is not None and outer.result is MISSING:
            # The same call once more, nearer to the tool: what the outer span lacks is taken from here.
            known = self._open.get(outer.mark)
        if known is None or known.answered:
            return
        if piece.marks and mapping(piece.marks.get("error")).get("code") == "no_answer":
            known.answered = True
            return
        error = False if piece.error is None and piece.span.ok else piece.error
        step = known.step if piece.marks else self._run.next_step()
        answer = Answer(self._run.id, known.key, None, error, step, piece.span.end)
        if piece.result is MISSING and not error and not piece.marks:
            # Many record no results; then a later prompt may tell this one.
            known.ended = answer
            return
        known.answered = True
        result = None if piece.result is MISSING else piece.result
        yield marked(answer._replace(result=result), piece.marks)


def _listed(messages: Any) -> list[Any]:
    """Messages as a list; a text that is none is what a user said."""
    found = parsed(messages)
    return [{"role": "user", "content": found}] if isinstance(found, str) and found else sequence(found)
