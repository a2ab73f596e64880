"""Messages of models, of any maker, in one walk: OpenAI chat and responses, Anthropic, parts of OpenTelemetry's GenAI.

A message becomes what was said, calls and answers, in its own order. What a field means is told by its shape, never by
a vendor's name, so that dialects (tau, Inspect, LangChain, Ollama, Gemini) need no walk of their own. Media become
{media_type, size, digest}; what is not kept is counted by name.
"""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from tradefair.contract.chain import digest
from tradefair.evaluation.foreign.interchange.items import Answer, Call, Fact, Item, Odd, Said
from tradefair.evaluation.foreign.interchange.own import extra_in, marked
from tradefair.evaluation.foreign.interchange.shapes import count, first, text
from tradefair.evaluation.read.objects import mapping, sequence

_ROLES = {
    "system": "system", "developer": "system", "user": "user", "human": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant",
}  # fmt: skip
_ANSWERS = ("tool", "function")
"""Roles of messages that answer a call."""

_TEXTS = ("text", "input_text", "output_text", "summary_text", "refusal")
_REASONS = ("thinking", "reasoning", "reasoning_text", "reasoning_content")
_CALLS = ("tool_use", "tool_call", "server_tool_use", "mcp_tool_use", "function_call", "functionCall")
_RESULTS = (
    "tool_result", "tool_call_response", "function_response", "functionResponse", "function_call_output",
    "function_call_result",
)  # fmt: skip
_MEDIA = (
    "image", "image_url", "input_image", "audio", "input_audio", "video", "document", "file", "input_file",
    "blob", "uri", "media", "data", "inline_data", "inlineData",
)  # fmt: skip
_INLINE = ("inline_data", "inlineData")
_BYTES = ("data", "url", "file_data", "image_url", "image", "audio", "video", "document")
_MEDIA_TYPES = ("media_type", "mime_type", "mimeType")
_ARGUMENTS = ("arguments", "input", "args", "action", "operation", "queries", "code")
_OUTPUTS = ("output", "result", "results", "outputs", "response", "content")
_IDS = ("call_id", "tool_call_id", "tool_use_id", "source_call_id", "callId", "toolCallId", "id")
_TYPED = ("text", "json", "content", "error-text", "error-json")
"""Types of results that stand in `value`."""
_HIDDEN = ("encrypted_content", "logprobs", "redacted_thinking", "token_ids", "prompt_token_ids")
"""Fields whose values are counted and not kept."""


class At(NamedTuple):
    """Where a message stands: run, seat, step from 1 in its run, time; `line` and `place` name it in findings."""

    run: str
    seat: str = ""
    step: int = 0
    at_ns: int | None = None
    line: int = 0
    place: str = ""

    def call(self, key: str, tool: str, arguments: Any) -> Call:
        """A call that is made here."""
        return Call(self.run, self.seat, key, tool, arguments, self.step, self.at_ns)

    def answer(self, key: str, result: Any, error: Any = None, status: str | None = None) -> Answer:
        """The answer that is given here."""
        return Answer(self.run, key, result, error, self.step, self.at_ns, status)

    def said(self, role: str, part: str, content: Any) -> Said:
        """What is said here."""
        return Said(self.run, self.seat, role, part, content, self.step, self.at_ns)

    def odd(self, field: str, message: str) -> Odd:
        """Something of this message that cannot be used."""
        return Odd(self.line, f"{self.place}.{field}".strip("."), message)


def walk(message: Any, at: At, left_out: Counter[str]) -> Iterator[Item]:
    """All that one message, or one item of a response, holds. Total; `left_out` counts what is not kept."""
    if not isinstance(message, dict):
        yield at.odd("", f"a message is an object, not {type(message).__name__}")
        return
    fields = mapping(message)
    items, extra = _items(fields, at, left_out), extra_in(fields)
    calls = mapping(extra.get("calls"))
    for item in items:
        # Our own exports say what their format cannot.
        yield marked(item, mapping(calls.get(item.key)) if isinstance(item, Call) else extra) if extra else item


def _items(fields: dict[str, Any], at: At, left_out: Counter[str]) -> Iterator[Item]:
    for name in _HIDDEN:
        if fields.get(name):
            count(left_out, name)
    kind, role = text(fields.get("type")), text(fields.get("role") or fields.get("type"))
    if "role" not in fields and is_item(kind):
        yield from _block(fields, "assistant", at, left_out)
    elif role in _ANSWERS:
        yield from _answers(fields, at, left_out)
    elif not role:
        yield at.odd("role", "no role")
    else:
        yield from _spoken(fields, role, at, left_out)


def is_item(kind: str) -> bool:
    """Whether items of a response are of this type: calls, also those of a provider's own tools, answers, reasoning."""
    return kind.endswith(("_call", "_call_output", "_list_tools")) or kind in (*_CALLS, *_RESULTS, *_REASONS)


def _answers(fields: dict[str, Any], at: At, left_out: Counter[str]) -> Iterator[Item]:
    """A message that answers one call, or several (tau's `tool_messages`, GenAI's parts)."""
    several = sequence(fields.get("tool_messages"))
    parts = [part for part in map(mapping, sequence(fields.get("parts"))) if part.get("type") != "text"]
    parts += [part for part in map(mapping, sequence(fields.get("content"))) if _kind(part) in _RESULTS]
    for answer in several:
        yield from _answers({**mapping(answer), "tool_messages": None}, at, left_out)
    for part in parts:
        yield from _block(part, "user", at, left_out)
    if not several and not parts:
        yield _answer(fields, at, left_out)


def _answer(fields: dict[str, Any], at: At, left_out: Counter[str]) -> Answer:
    """The answer of one block or message."""
    key = text(first(fields, *_IDS)) or f"name:{text(first(fields, 'name', 'tool_name'))}"
    content = fields.get("content") if "content" in fields else first(fields, *_OUTPUTS)
    typed = mapping(content)
    if "value" in typed and text(typed.get("type")) in _TYPED:
        fields = {"error": True, **fields} if text(typed["type"]).startswith("error") else fields
        content = typed["value"]
    if fields.get("type") == "image_generation_call":
        content = {"type": "image", "media_type": "image/png", "data": content}
    return at.answer(key, _plain(content, left_out), error_in(fields))


def error_in(fields: dict[str, Any]) -> Any:
    """The error of an answer, as `Answer.error`, by the flag of its dialect: None where it has no flag."""
    error, status = first(fields, "error", "is_error", "isError"), fields.get("status")
    if error is None and status in ("error", "failed"):
        return True
    # `success` is LangChain's. `completed`, as items of responses have it, says that a call has ended and not how.
    if error is False or (error is None and status == "success"):
        return False
    told = mapping(error)
    return {**told, "code": told["type"]} if "type" in told and "code" not in told else error or None


def _spoken(fields: dict[str, Any], role: str, at: At, left_out: Counter[str]) -> Iterator[Item]:
    """Reasoning, texts, then calls, as a reader of the talk would have met them."""
    # A speaker who is none of the usual ones is one of several agents, and its role is its name.
    known, name = _ROLES.get(role, "assistant"), text(fields.get("name")) or (None if role in _ROLES else role)
    reason = first(fields, "reasoning_content", "reasoning", "thinking")
    if reason and isinstance(reason, str):
        yield at.said(known, "reasoning", reason)._replace(name=name)
    content = first(fields, "content", "parts")
    blocks = sequence(content) or [content]
    made: set[str] = set()
    if "refusal" in fields or "audio" in fields:
        blocks = [*blocks, fields.get("refusal"), mapping(fields.get("audio")).get("transcript")]
    for block in blocks:
        for item in _block(block, known, at, left_out):
            if isinstance(item, Call):
                made.add(item.key)
            yield item._replace(name=name) if name and isinstance(item, Said) else item
    # Some dialects list the calls of the content once more.
    for entry in map(mapping, sequence(fields.get("tool_calls"))):
        if text(first(entry, *_IDS)) not in made:
            yield from _call(entry, at)
    if fields.get("function_call"):
        yield from _call(mapping(fields["function_call"]), at)


def _answered_itself(kind: str, fields: dict[str, Any], at: At, left_out: Counter[str]) -> Iterator[Item]:
    """The answer within a call. Calls that a provider answers by itself hold their answer and no second id."""
    of_provider = kind.endswith("_call") and kind not in _CALLS and "call_id" not in fields
    if of_provider or "result" in fields:
        yield _answer(fields, at, left_out)


def _block(block: Any, role: str, at: At, left_out: Counter[str]) -> Iterator[Item]:
    """One part of a message's content, or one item of a response."""
    if isinstance(block, str):
        if block:
            yield at.said(role, "text", block)
        return
    fields = mapping(block)
    kind = _kind(fields)
    inner = mapping(fields.get(kind)) or fields
    if kind in _TEXTS:
        yield from _block(_words(fields), role, at, left_out)
    elif kind in _REASONS:
        yield from _reasoning(fields, role, at, left_out)
    elif kind.endswith("_list_tools"):
        yield Fact(at.run, at.seat, "tools", tools(fields.get("tools")))
    elif kind.endswith(("_tool_result", "_call_output")) or kind in _RESULTS:
        yield _answer(inner, at, left_out)
    elif kind.endswith("_call") or kind in _CALLS:
        yield from _call({"type": kind, **inner}, at)
        yield from _answered_itself(kind, fields, at, left_out)
    elif kind in _MEDIA or "mime_type" in fields:
        yield at.said(role, "media", media(fields, left_out))
    elif fields:
        yield from _unknown(fields, kind, at, left_out)


def _kind(fields: dict[str, Any]) -> str:
    """What a part is; Gemini's have no type, and their only key says it."""
    return text(fields.get("type")).replace("-", "_") or next(iter(fields), "")


def _unknown(fields: dict[str, Any], kind: str, at: At, left_out: Counter[str]) -> Iterator[Item]:
    if calls_or_answers(fields):
        yield at.odd("content", f"a part of an unknown type {kind[:40]!r} that calls or answers")
    else:
        count(left_out, f"part {kind}" if kind not in _HIDDEN else kind)


def calls_or_answers(fields: dict[str, Any]) -> bool:
    """Whether a record of an unknown type looks as if it called a tool or answered a call: it is never left out."""
    if any(name in fields for name in _IDS[:-1]) or sequence(first(fields, "tool_calls", "toolCalls")):
        return True
    named = any(isinstance(fields.get(name), str) for name in ("name", "tool", "tool_name", "toolName", "function"))
    return named and any(name in fields for name in ("arguments", "args", "input"))


def _words(fields: dict[str, Any]) -> str:
    """The text of a part, wherever its dialect puts it."""
    found = first(fields, "text", "content", "refusal", "transcript", "thinking", "reasoning")
    return found if isinstance(found, str) else text(mapping(found).get("value"))


def _reasoning(fields: dict[str, Any], role: str, at: At, left_out: Counter[str]) -> Iterator[Item]:
    """What a model thought, as far as it was shown: whole, or in summary."""
    for name in _HIDDEN:
        if fields.get(name):
            count(left_out, name)
    # What was redacted is unreadable; its summary, where there is one, is what can be shown.
    whole = text(fields.get("summary")) if fields.get("redacted") is True else _words(fields)
    shown = [_words(mapping(part)) for part in sequence(fields.get("content")) or sequence(fields.get("summary"))]
    for words in [whole] if whole else shown:
        if words:
            yield at.said(role, "reasoning", words)


def _call(entry: dict[str, Any], at: At) -> Iterator[Item]:
    """A call in any of its dialects. A text that a tool takes instead of an object is its `input`."""
    function = mapping(first(entry, "function", "custom")) or entry
    name = text(first(function, "name", "function_name", "toolName", "function")) or text(
        entry.get("type")
    ).removesuffix("_call")
    if not name or name in ("function", "tool_use", "tool"):
        yield at.odd("tool_calls", "a call without a name")
        return
    field = next((field for field in _ARGUMENTS if function.get(field) is not None), "")
    given = function.get(field, {})
    bare = field in ("input", "queries", "code") and not isinstance(given, dict) and entry.get("type") not in _CALLS
    call = at.call(text(first(entry, *_IDS)) or f"name:{name}", name, {field: given} if bare else given)
    parent = text(mapping(entry.get("caller")).get("tool_id"))
    yield call._replace(parent=parent) if parent else call


def _plain(content: Any, left_out: Counter[str]) -> Any:
    """A result as it is kept: the text of its only part, else its parts, media without their bytes."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = sequence(content)  # pyright: ignore[reportUnknownArgumentType]
        if len(parts) == 1 and mapping(parts[0]).get("type") in _TEXTS:
            return _words(mapping(parts[0]))
        return [_plain(part, left_out) if isinstance(part, dict) else part for part in parts]
    fields = mapping(content)
    source = _source(fields)
    # A tool's own objects may be of a type "file" and hold no medium: only bytes are taken out.
    held = [source.get(name) for name in _BYTES]
    place = "content" if fields.get("type") == "blob" else "data"
    typed = first(source, *_MEDIA_TYPES) is not None and isinstance(source.get(place), str)
    if typed or any(isinstance(value, str) and value.startswith("data:") for value in held):
        return {"type": "media", **media(fields, left_out)}
    return content


def _source(fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a medium with those of the object in which its dialect puts them."""
    inner = [mapping(fields.get(name)) for name in ("source", "image_url", "input_audio", "file", *_INLINE)]
    return {name: value for part in (fields, *inner) for name, value in part.items()} if any(inner) else fields


def media(fields: dict[str, Any], left_out: Counter[str]) -> dict[str, Any]:
    """{media_type, size in bytes, digest} of a medium; of one that lies elsewhere {media_type, uri}."""
    source = _source(fields)
    kind = text(first(source, *_MEDIA_TYPES, "format")) or text(fields.get("type"))
    found = first(source, *_BYTES, "uri", "content", "path", "file_id")
    raw = found if isinstance(found, str) else ""
    if raw.startswith("data:"):
        head, _, raw = raw.partition(",")
        kind = head[5:].partition(";")[0] or kind
    elif "://" in raw[:20] or not raw or raw in (source.get("path"), source.get("file_id")):
        return {"media_type": kind[:100], "uri": raw[:2_000]}
    count(left_out, "media")
    content = raw.encode(errors="surrogatepass")
    if source.get("type") != "text":
        with suppress(binascii.Error, ValueError):
            content = base64.b64decode(raw, validate=True)
    return {"media_type": kind[:100], "size": len(content), "digest": digest(content)}


def tools(listed: Any) -> list[dict[str, Any]]:
    """Definitions of tools as `Fact` has them, from any dialect; what has no name is none."""
    found: list[dict[str, Any]] = []
    for entry in map(mapping, sequence(listed)):
        fields = mapping(entry.get("function")) or entry
        notes = mapping(fields.get("annotations"))
        known: dict[str, Any] = {
            "name": text(fields.get("name")),
            "description": text(fields.get("description")) or None,
            "schema": first(fields, "parameters", "input_schema", "inputSchema", "schema"),
            **{hint: notes[hint] for hint in ("readOnlyHint", "destructiveHint") if hint in notes},
        }
        if known["name"]:
            found.append(known)
    return found


_USED = {
    "input": ("input_tokens", "prompt_tokens"),
    "output": ("output_tokens", "completion_tokens"),
    "cached": ("cache_read_input_tokens", "cached_tokens", "input_tokens_cache_read"),
}


def used(fields: dict[str, Any], at: At) -> Iterator[Fact]:
    """What one reply of a model cost: its name, tokens, and why it stopped."""
    usage = mapping(fields.get("usage"))
    details = mapping(first(usage, "prompt_tokens_details", "input_tokens_details"))
    tokens = tokens_in({**details, **usage}) if usage else {}
    return facts(at, model=fields.get("model"), tokens=tokens, stop=first(fields, "stop_reason", "finish_reason"))


def tokens_in(usage: dict[str, Any]) -> dict[str, Any]:
    """What was counted of a reply, by kind of token; not yet of what kind the counts are."""
    return {name: first(usage, *places) for name, places in _USED.items()}


def known(**values: Any) -> Iterator[tuple[str, Any]]:
    """Facts by name, without those that are empty or of another kind: `passed` is true or false, `usd` a number."""
    for name, value in values.items():
        if name == "tokens":
            value = {kind: count for kind, count in value.items() if isinstance(count, int) and count >= 0}
        if isinstance(value, bool) if name == "passed" else isinstance(value, int | float) if name == "usd" else value:
            yield name, value


def facts(at: At, **values: Any) -> Iterator[Fact]:
    """What is known of a seat, or, by `passed`, `title` and `reference`, of its whole run."""
    for name, value in known(**values):
        yield Fact(at.run, None if name in ("passed", "title", "reference") else at.seat, name, value)
