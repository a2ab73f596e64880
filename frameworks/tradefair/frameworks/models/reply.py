"""The one reader of replies: whatever an endpoint sent becomes a clean chat completion, or is refused in a sentence.

A clean reply has one choice; its calls have a name, arguments as text and an id that nothing else in the talk has; its
texts can be sent, its counts are whole. What had to be mended for that is named, field by field.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple, cast

import orjson

from tradefair.frameworks.models.wire import Json, as_object, count_of, function_call, read_arguments, reply_body

REPLY_LIMIT = 16 * 1024 * 1024
"""Bytes of one reply, unpacked."""
MOST_CALLS = 1_000
"""Calls of one reply."""

_SHOWN = 200
_REASONS = frozenset({"stop", "length", "tool_calls", "content_filter", "function_call"})
_THOUGHT = re.compile(r"\s*<think>(.*?)</think>\s*", re.DOTALL)
# An escape of one half of a surrogate pair without the other.
_HALVES = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)


class NotUnderstood(Exception):
    """A reply that is none: `field` is what cannot be read, `found` what stands there, cut."""

    def __init__(self, field: str, found: object) -> None:
        self.field, self.found = field, _quoted(found)
        super().__init__(f"the reply is not understood: {field} is {self.found}")


class Failed(Exception):
    """An error that came as a reply; `status` is the one that the endpoint should have answered with."""

    def __init__(self, status: int, message: str) -> None:
        self.status, self.message = status, message
        super().__init__(message)


class Usage(NamedTuple):
    """Tokens of one reply; None where the endpoint did not say."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None
    estimated: bool = False


class Completion(NamedTuple):
    """A clean reply, and the fields that were mended."""

    body: Json
    repaired: Sequence[str] = ()


def parse(content: bytes) -> Json:
    """The object that a reply's bytes hold. Raises NotUnderstood."""
    try:
        body: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        text = content.decode(errors="replace")
        try:
            # The kinder reader: half a surrogate pair, and numbers that are none.
            body = json.loads(text)
        except (ValueError, RecursionError):
            if text.lstrip().startswith(("data:", "event:")):
                raise NotUnderstood("the body (a stream, which was not asked for)", text) from None
            raise NotUnderstood("the body", text) from None
    if not isinstance(body, dict):
        raise NotUnderstood("the body", body)
    return cast("Json", body)


def completion(body: Json, taken: Collection[str] = ()) -> Completion:
    """A clean reply of the body of a chat completion; `taken` are the ids of calls in its request.

    Raises NotUnderstood, and Failed for an error inside.
    """
    choice = _choice(body)
    message = choice.get("message")
    if not isinstance(message, dict):
        raise NotUnderstood("choices[0].message", message)
    reader = _Reader(taken)
    said = reader.message(cast("Json", message))
    reason = reader.reason(choice.get("finish_reason"), said)
    id_, model = (reader.text(name, body.get(name)) or "" for name in ("id", "model"))
    head: Json = {"id": id_, "created": count_of(body.get("created")) or 0, "model": model}
    return Completion(reply_body(head, said, reason, reader.usage(body.get("usage"))), reader.repaired)


def _choice(body: Json) -> Json:
    """The first choice. Raises NotUnderstood where there is none, and Failed for an error in its place."""
    stated: Any = body.get("choices")
    first = cast("list[Any]", stated)[0] if isinstance(stated, list) and stated else None
    for place in (body, as_object(first)):
        _refuse_error(place.get("error"))
    if not isinstance(first, dict):
        raise NotUnderstood("choices", body.get("choices")) if first is None else NotUnderstood("choices[0]", first)
    return cast("Json", first)


def _refuse_error(error: Any) -> None:
    if not error:
        return
    stated = as_object(error)
    said = stated.get("message") or (error if isinstance(error, str) else json.dumps(error, default=str))
    code = stated.get("code")
    # A failure without a number may pass: it is asked again, as a server's own.
    busy = 429 if "rate_limit" in str(code) else 500
    status = code if isinstance(code, int) and 400 <= code <= 599 else busy
    raise Failed(status, whole(str(said))[:2_000])


class _Reader:
    """Reads the fields of one reply, and keeps the names of those that it had to mend."""

    def __init__(self, taken: Collection[str]) -> None:
        self.repaired: list[str] = []
        self._taken = set(taken)

    def mend(self, field: str, value: Any) -> Any:
        """`value`, which takes the place of what the endpoint wrote there."""
        self.repaired.append(field)
        return value

    def text(self, field: str, value: object) -> str | None:
        """The words of a text, or of a list of parts, joined."""
        if isinstance(value, str):
            sendable = whole(value)
            return value if sendable == value else self.mend(field, sendable)
        if value is None:
            return None
        parts = cast("list[Any]", value) if isinstance(value, list) else [value]
        return self.mend(field, "".join(map(_words, parts)))

    def reason(self, value: object, said: Json) -> str:
        """Why the model stopped, in one of the words that there are."""
        if isinstance(value, str) and value in _REASONS:
            return value
        return self.mend("finish_reason", "tool_calls" if "tool_calls" in said else "stop")

    def message(self, message: Json) -> Json:
        """The message of an assistant."""
        content, refusal = (self.text(name, message.get(name)) for name in ("content", "refusal"))
        thoughts = [self.text(name, message.get(name)) for name in ("reasoning_content", "reasoning")]
        if content and (thought := _THOUGHT.match(content)):
            thoughts.append(thought[1].strip())
            content = self.mend("content", content[thought.end() :])
        calls = list(self._calls(message))
        thinking = next(filter(None, thoughts), None)
        return {
            "role": "assistant",
            "content": content,
            **({"refusal": refusal} if refusal else {}),
            **({"reasoning_content": thinking} if thinking else {}),
            **({"tool_calls": calls} if calls else {}),
        }

    def _calls(self, message: Json) -> Iterator[Json]:
        stated: Any = message.get("tool_calls") or []
        if isinstance(stated, dict):
            stated = self.mend("tool_calls", [stated])
        if not isinstance(stated, list):
            raise NotUnderstood("choices[0].message.tool_calls", stated)
        calls = cast("list[Any]", stated)
        if message.get("function_call"):
            calls = self.mend("function_call", [*calls, message["function_call"]])
        if len(calls) > MOST_CALLS:
            raise NotUnderstood("choices[0].message.tool_calls", f"{len(calls)} calls")
        for index, call in enumerate(calls):
            yield self._call(f"tool_calls[{index}]", call)

    def _call(self, field: str, given: object) -> Json:
        call = as_object(given)
        inner: Json = next((call[kind] for kind in ("function", "custom") if isinstance(call.get(kind), dict)), call)
        name = inner.get("name")
        if not isinstance(name, str):
            raise NotUnderstood(f"choices[0].message.{field}", cast("Any", given))
        arguments = self._arguments(f"{field}.arguments", inner.get("arguments", inner.get("input")))
        return function_call(self._id(f"{field}.id", call.get("id")), whole(name), arguments)

    def _id(self, field: str, value: object) -> str:
        given = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if not given or given in self._taken or whole(given) != given:
            free = len(self._taken)
            while f"call-{free}" in self._taken:
                free += 1
            given = f"call-{free}"
        self._taken.add(given)
        return given if given == value else self.mend(field, given)

    def _arguments(self, field: str, value: object) -> str:
        try:
            if not isinstance(value, str):
                return self.mend(field, "" if value is None else whole(json.dumps(value, ensure_ascii=False)))
            inner: Any = json.loads(value) if value[:1] == '"' or _HALVES.search(value) else None
        except (ValueError, RecursionError):
            # No JSON: a malformed call, whose text is shown as it is.
            inner = None
        if isinstance(inner, str) and read_arguments(inner) is not None:
            return self.mend(field, whole(inner))
        if isinstance(inner, dict):
            return self.mend(field, whole(json.dumps(inner, ensure_ascii=False)))
        return whole(cast("str", value))

    def usage(self, value: object) -> Json | None:
        """The counts; None where one of the two is none, since half a sum would pass for a cheap reply."""
        stated = as_object(value)
        asked, written = (count_of(stated.get(name)) for name in ("prompt_tokens", "completion_tokens"))
        if asked is None or written is None:
            return None if value is None else self.mend("usage", None)
        clean: Json = {"prompt_tokens": asked, "completion_tokens": written, "total_tokens": asked + written}
        for place, name in (
            ("prompt_tokens_details", "cached_tokens"),
            ("completion_tokens_details", "reasoning_tokens"),
        ):
            count = count_of(as_object(stated.get(place)).get(name))
            clean |= {} if count is None else {place: {name: count}}
        return clean | ({"usage_estimated": True} if stated.get("usage_estimated") is True else {})


class WrittenCall(NamedTuple):
    """A call of a clean reply; `arguments` is None where `text` is not a JSON object, `cut` where that was cut off."""

    id: str
    name: str
    text: str
    arguments: dict[str, Any] | None
    cut: bool


def calls_in(body: Json) -> list[WrittenCall]:
    """The calls of a clean reply, in their order."""
    calls: Sequence[Json] = body["choices"][0]["message"].get("tool_calls", ())
    cut = reason_of(body) == "length"
    read: list[WrittenCall] = []
    for index, call in enumerate(calls, 1):
        text: str = call["function"]["arguments"]
        # No text means no arguments, unless the reply was cut off there: then they were never written.
        begun = text.strip() or not cut or index < len(calls)
        read.append(
            WrittenCall(call["id"], call["function"]["name"], text, read_arguments(text) if begun else None, cut)
        )
    return read


def text_of(body: Json) -> str:
    """The words of a clean reply; those of a refusal, since the content is null then."""
    message: Json = body["choices"][0]["message"]
    return message["content"] or message.get("refusal") or ""


def without_thoughts(body: Json) -> Json:
    """A clean reply without the thoughts of its model."""
    (choice,) = body["choices"]
    message = {name: value for name, value in choice["message"].items() if name != "reasoning_content"}
    return {**body, "choices": [{**choice, "message": message}]}


def reason_of(body: Json) -> str | None:
    """Why the model stopped; None where a body is no reply."""
    try:
        return body["choices"][0]["finish_reason"]
    except (KeyError, IndexError, TypeError):
        return None


def usage_of(body: Json) -> Usage:
    """What the body of a reply says that it used; nothing where it cannot be read."""
    stated = _Reader(()).usage(body.get("usage")) or {}
    cached = stated.get("prompt_tokens_details", {}).get("cached_tokens")
    return Usage(stated.get("prompt_tokens"), cached, stated.get("completion_tokens"), "usage_estimated" in stated)


def whole(text: str) -> str:
    """The text with U+FFFD for halves of surrogate pairs, which can be sent nowhere."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _words(part: object) -> str:
    """The words of one part of a content; parts of other kinds have none."""
    if isinstance(part, str):
        return whole(part)
    stated = as_object(part)
    text = stated.get("text", stated.get("refusal"))
    return whole(text) if isinstance(text, str) else ""


def _quoted(found: object) -> str:
    try:
        text = repr(found)
    except (ValueError, RecursionError):
        text = type(found).__name__
    return whole(text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…")
