"""A local model behind the gateway: a request becomes a prompt and a grammar, what is written becomes a reply."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Sequence
from threading import Event
from typing import Any

from tradefair.frameworks.models.canonical import Canonical
from tradefair.frameworks.models.local.engine import CONTEXT, Completion, engine_of
from tradefair.frameworks.models.local.grammar import ToolDefinition, answer_grammar, call_grammar, offered_tools
from tradefair.frameworks.models.local.rendering import BUDGET, asked_schema, refused_last, render
from tradefair.frameworks.models.local.weights import Weights
from tradefair.frameworks.models.wire import Answer, ChatRequest, Json, completion, function_call

_CALL = re.compile(r'\{"name":"(?P<name>[^"\\]*)","arguments":(?P<arguments>.*)', re.DOTALL)
_log = logging.getLogger(__name__)
_MAX_CALL, _MAX_ANSWER = 512, 300
"""Tokens of a call, and of an answer without one."""


class LocalBackend:
    """Weights on this machine. Temperature 0; 1 after a refusal, because a small model repeats its call for ever.

    Seeds come from the request, so that the same machine and library answer the same request alike.
    """

    def __init__(self, weights: Weights) -> None:
        self.model = weights.label
        self._weights = weights
        self._loose: set[tuple[str, ...]] = set()

    async def answer(self, request: ChatRequest, asked: Canonical, occurrence: int) -> Answer:
        """A call of one of the request's tools, or text where it has none. Raises HarnessFailure, RequestError."""
        tools = offered_tools(request.raw)
        stop = Event()
        try:
            written = await asyncio.to_thread(self._write, request, tools, _seed(asked, occurrence), stop.is_set)
        finally:
            # A thread cannot be cancelled; it asks before each token.
            stop.set()
        return _reply(self.model, written, tools, f"call-{asked.key[:12]}-{occurrence}")

    async def close(self) -> None:
        """Nothing to free: the engine is the process's."""

    def _write(
        self, request: ChatRequest, tools: Sequence[ToolDefinition], seed: int, stopped: Callable[[], bool]
    ) -> Completion:
        engine = engine_of(self._weights.path)
        prompt = render(request, tools, BUDGET, engine.count)
        most = min(_limit(request), _MAX_CALL if tools else _MAX_ANSWER)
        options: Json = {"max_tokens": most, "temperature": _temperature(request), "seed": seed, "stopped": stopped}
        if not tools:
            schema = asked_schema(request)
            return engine.complete(prompt, None if schema is None else answer_grammar(schema), **options)
        names = tuple(tool.name for tool in tools)
        if names not in self._loose:
            written = engine.complete(prompt, call_grammar(tools), **options)
            if _CALL.match(written.text) or stopped():
                return written
            # Prose: the library has dropped a grammar that it cannot keep.
            self._loose.add(names)
            _log.warning("a schema of %s is not understood; their arguments are not guided", ", ".join(names)[:500])
        return engine.complete(prompt, call_grammar(tools, loose=True), **options)


def _seed(asked: Canonical, occurrence: int) -> int:
    return ((int(asked.key[:8], 16) >> 1) + occurrence) % 2**31


def _limit(request: ChatRequest) -> int:
    """The tokens that a request allows its answer."""
    given: Any = request.raw.get("max_completion_tokens") or request.raw.get("max_tokens")
    return given if isinstance(given, int) and given > 0 else CONTEXT


def _temperature(request: ChatRequest) -> float:
    given: Any = request.raw.get("temperature")
    wanted = float(given) if isinstance(given, int | float) and 0 <= given <= 2 else 0.0
    return max(wanted, 1.0) if refused_last(request) else wanted


def _reply(model: str, written: Completion, tools: Sequence[ToolDefinition], call_id: str) -> Answer:
    found = _CALL.match(written.text) if tools else None
    if found is None:
        answer = completion(model, 0, {"content": written.text}, written.finish_reason)
    else:
        # What was cut off is a call that is not JSON: it counts as one, and is answered with what was wrong.
        call = function_call(call_id, found["name"], found["arguments"].removesuffix("}"))
        reason = "length" if written.finish_reason == "length" else "tool_calls"
        answer = completion(model, 0, {"content": None, "tool_calls": [call]}, reason)
    # Counted by the model's own tokenizer, and not estimated.
    usage = {
        "prompt_tokens": written.input_tokens,
        "completion_tokens": written.output_tokens,
        "total_tokens": written.input_tokens + written.output_tokens,
        "prompt_tokens_details": {"cached_tokens": written.cached_input_tokens},
    }
    return Answer(answer.status, {**answer.body, "id": f"chatcmpl-{call_id}", "usage": usage})
