"""Chat completions on the wire: bounded requests, answers, errors in OpenAI's shape, and answers as a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any, Generic, Literal, NoReturn, TypeVar, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

REQUEST_LIMIT = 16 * 1024 * 1024
"""Bytes of one request."""

PASSED_ON = ("retry-after", "retry-after-ms", "x-should-retry")
"""Headers of an endpoint that reach its client: when to ask again. Others may name accounts or set cookies."""

_PIECE = 48
"""Characters of text or arguments in one piece of a stream."""

_MOST_COUNT = 2**53

Json = dict[str, Any]
"""A JSON object of the wire; Any because its values are whatever the other side sent."""


T = TypeVar("T")
M = TypeVar("M")


class EachOnce(Generic[M, T]):
    """What `make` makes of the messages of request after request, each message once.

    Most messages of a request are the very objects of the one before.
    """

    def __init__(self, make: Callable[[M], T]) -> None:
        self._make = make
        # The request before is held: no other message gets the id of one of its own.
        self._asked: Sequence[M] = ()
        self._made: list[T] = []

    def of(self, messages: Sequence[M]) -> list[T]:
        """One for each message of a request, which takes the place of the request before."""
        # Most requests are the one before and a little more; a window may have cut its middle.
        same = [*map(is_, self._asked, messages), False].index(False)
        known = dict(zip(map(id, self._asked[same:]), self._made[same:], strict=True))
        new = [known[id(message)] if id(message) in known else self._make(message) for message in messages[same:]]
        self._asked, self._made = [*messages], [*self._made[:same], *new]
        return self._made


class RequestError(Exception):
    """A request that cannot be answered; its message and status go back to the client, which must not retry it.

    Never raised for what a model or an upstream did: those are answers.
    """

    def __init__(self, message: str, status: int = 400, code: str = "invalid_request") -> None:
        super().__init__(message)
        self.status = status
        self.code = code


class WireMessage(BaseModel):
    """One message of a request, as far as the gateway reads it.

    Fields beyond these are allowed and kept, but only in `ChatRequest.raw`.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Json] | None = None
    # Bounds, because anyone with the key may send anything.
    tool_calls: list[Json] | None = Field(default=None, max_length=1_000)
    tool_call_id: str | None = Field(default=None, max_length=1_000)

    @property
    def text(self) -> str:
        """The content as one string. Raises RequestError for images and the like."""
        return content_text(self.content)


def content_text(content: str | Sequence[Json] | None) -> str:
    """A message's content as one string. Raises RequestError for images and the like."""
    if content is None or isinstance(content, str):
        return content or ""
    # Parts of other types have no text; a policy or a plain endpoint could not see what they show.
    texts = [part.get("text") for part in content]
    if not all(isinstance(text, str) for text in texts):
        raise RequestError("this endpoint reads text only")
    return "".join(cast("list[str]", texts))


class ChatRequest(BaseModel):
    """One request; what the gateway does not read is kept in `raw` and passed on.

    `n` is 1: several choices would be several replies to one question, which no market can use.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    model: str = Field(max_length=500)
    messages: list[WireMessage] = Field(min_length=1, max_length=20_000)
    tools: list[Json] = Field(default_factory=list[Json], max_length=1_000)
    stream: bool | None = False
    stream_options: Json | None = None
    n: int | None = Field(default=1, ge=1, le=1)
    # The body as it came: validation would fill in defaults, and so change the request's key.
    raw: Json = Field(default_factory=dict[str, Any], exclude=True)

    @property
    def include_usage(self) -> bool:
        """Whether a stream ends with the usage."""
        return bool((self.stream_options or {}).get("include_usage"))


def parse_request(body: bytes, read: Callable[[Json], Json] = dict) -> ChatRequest:
    """A request from its bytes, which `read` says as a chat completion's. Raises RequestError: what is wrong, where."""
    try:
        raw: Any = orjson.loads(body)
        if not can_be_sent(raw):
            raise RequestError("the body is nested too deeply")
        # What is not an object goes in as it is, for pydantic's own message.
        said = read(cast("Json", raw)) if isinstance(raw, dict) else raw
        return ChatRequest.model_validate({**said, "raw": said} if isinstance(raw, dict) else raw)
    except orjson.JSONDecodeError as error:
        raise RequestError(f"the body is not JSON: {error}") from None
    except ValidationError as error:
        # The first only and without its input, which may be a whole conversation.
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "body"
        raise RequestError(f"{place}: {first['msg']}") from None


def can_be_sent(value: object) -> bool:
    """Whether the value can be written as JSON again: what is nested too deeply cannot.

    orjson reads deeper values than it writes, and what cannot be written can be neither hashed, recorded nor passed on.
    """
    try:
        orjson.dumps(value)
    except orjson.JSONEncodeError:
        return False
    return True


@dataclass(frozen=True)
class Answer:
    """Status and body as they go to the client: a `chat.completion`, or `{"error": …}`."""

    status: int
    body: Json
    headers: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def ok(self) -> bool:
        """Whether it is a model's reply."""
        # A redirect is none, and is not followed.
        return self.status < 300


def completion(
    model: str, number: int, message: Json, finish_reason: str, *, input_tokens: int = 0, output_tokens: int = 0
) -> Answer:
    """A reply made here: deterministic (`created` is 0), its usage flagged as estimated (`usage.usage_estimated`)."""
    counts = {"prompt_tokens": input_tokens, "completion_tokens": output_tokens}
    usage = {**counts, "total_tokens": input_tokens + output_tokens, "usage_estimated": True}
    head = {"id": f"chatcmpl-{number}", "created": 0, "model": model}
    return Answer(200, reply_body(head, {"role": "assistant", **message}, finish_reason, usage))


def reply_body(head: Json, message: Json, reason: object, usage: Json | None) -> Json:
    """The body of a reply; `head` has its id, the time at which it was made, and its model."""
    # Every field that a strict client may look for, also those that say nothing here.
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": reason}
    named = {"id": head["id"], "object": "chat.completion", "created": head["created"], "model": head["model"]}
    return {**named, "choices": [choice], "usage": usage}


def function_call(call_id: str | None, name: str | None, arguments: str) -> Json:
    """One tool call of an assistant's message."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def error_answer(status: int, message: str, code: str, *, retry: bool, retry_after_s: float | None = None) -> Answer:
    """An error in OpenAI's shape. Clients that follow `x-should-retry` retry it, or do not, as told.

    `retry_after_s` is in seconds, and is stated in both forms that the openai package reads.
    """
    kind = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}.get(status)
    # OpenAI's names of the kinds of errors; clients choose their exceptions by status, people read these.
    kind = kind or ("server_error" if status >= 500 else "invalid_request_error")
    headers = {"x-should-retry": "true" if retry else "false"}
    if retry_after_s is not None:
        headers |= {"retry-after": f"{retry_after_s:g}", "retry-after-ms": f"{retry_after_s * 1000:g}"}
    return Answer(status, {"error": {"message": message, "type": kind, "param": None, "code": code}}, headers)


def as_object(value: object) -> Json:
    """The value where it is an object of JSON, else an empty one."""
    return cast("Json", value) if isinstance(value, dict) else {}


def as_objects(value: object) -> list[Json]:
    """The objects of a list; none where the value is no list."""
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict)]


def count_of(value: object) -> int | None:
    """A whole number from 0 to 2^53; None for anything else."""
    # `True` is an int in Python.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MOST_COUNT:
        return None
    return int(value) if value == int(value) else None


def first_choice(body: Json) -> Json:
    """The choice of a reply; empty where it has none."""
    choices = as_objects(body.get("choices"))
    return choices[0] if choices else {}


def chunks(body: Json, *, include_usage: bool) -> Iterator[bytes]:
    """A reply as server-sent events: role, text and calls in pieces, the reason, the usage if wanted, `[DONE]`."""
    choice = first_choice(body)
    message = as_object(choice.get("message"))
    head = {"id": body.get("id"), "object": "chat.completion.chunk", "created": body.get("created")}
    head |= {"model": body.get("model")}

    def event(delta: Json, reason: object = None) -> bytes:
        # OpenAI sends `usage: null` in every event of a stream that ends with its usage.
        chunk: Json = {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
        return _event(chunk | ({"usage": None} if include_usage else {}))

    # Text and calls may both follow; a null content tells clients that no text comes.
    yield event({"role": "assistant", "content": None if message.get("content") is None else ""})
    for name in ("content", "refusal"):
        for piece in pieces(message.get(name)):
            yield event({name: piece})
    for index, call in enumerate(as_objects(message.get("tool_calls"))):
        for delta in _call_deltas(index, call):
            yield event({"tool_calls": [delta]})
    # The reason in an event of its own, after all pieces, as OpenAI sends it.
    yield event({}, choice.get("finish_reason"))
    # The usage comes in an event without choices, as OpenAI sends it.
    if include_usage:
        yield _event({**head, "choices": [], "usage": body.get("usage")})
    yield b"data: [DONE]\n\n"


def _call_deltas(index: int, call: Json) -> Iterator[Json]:
    function = as_object(call.get("function"))
    opening = {"name": function.get("name"), "arguments": ""}
    yield {"index": index, "id": call.get("id"), "type": "function", "function": opening}
    # Id and name once, in the opening; further pieces are joined by the call's index.
    for piece in pieces(function.get("arguments")):
        yield {"index": index, "function": {"arguments": piece}}


def pieces(text: object) -> Iterator[str]:
    """A text as the pieces of a stream; what is no text has none."""
    if isinstance(text, str):
        for start in range(0, len(text), _PIECE):
            yield text[start : start + _PIECE]


def _event(chunk: Json) -> bytes:
    return b"data: " + orjson.dumps(chunk) + b"\n\n"


def read_arguments(text: str | None) -> dict[str, Any] | None:
    """A call's arguments, as a model wrote them: a JSON object without NaN, or None. Empty text means no arguments."""
    try:
        # Python's parser would read NaN and Infinity, which are no JSON and which no market accepts.
        parsed: Any = json.loads(text, parse_constant=_refuse_constant) if text and text.strip() else {}
    # Models also write thousands of brackets; the parser gives up with RecursionError.
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", parsed) if isinstance(parsed, dict) else None


def resent_arguments(text: str) -> str:
    """Arguments as they go back in the history: some endpoints parse them, and would refuse the whole request."""
    # Under a field of this name, so that the model sees in the history what it wrote.
    return text if read_arguments(text) is not None else json.dumps({"malformed_arguments": text})


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")
