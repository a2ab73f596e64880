"""The Responses API beside chat completions: requests and replies of each in the other's words.

Inside there is one form, the chat completion. `to_responses`, `from_responses` and `output_to_keep` are for an endpoint
that speaks the other one; `chat_request`, `responses_reply` and `response_events` for a client that does. Pure: values
are passed on as they came, and checked by whoever reads replies and requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import orjson

from tradefair.frameworks.models.wire import (
    Json,
    RequestError,
    as_object,
    as_objects,
    first_choice,
    function_call,
    pieces,
    reply_body,
)

ENCRYPTED = "reasoning.encrypted_content"
"""What `include` asks for: thoughts in a form that can be sent back to an endpoint that stores nothing."""

# Where a field of a chat completion stands in a Responses request: its name there, and its place in that object.
_PLACES = {
    "max_completion_tokens": ("max_output_tokens", None),
    "max_tokens": ("max_output_tokens", None),
    "reasoning_effort": ("reasoning", "effort"),
    "verbosity": ("text", "verbosity"),
    "response_format": ("text", "format"),
}
# The last of two names is the one that requests have inside.
_FIELDS = {place: name for name, place in _PLACES.items()}
# Objects that a chat completion writes as `{"type": t, t: {…}}`, and the other API as `{"type": t, …}`.
_TYPED = ("tool_choice", "response_format")
# What only a provider that stores conversations can know.
_STORED = ("previous_response_id", "conversation", "background", "prompt", "context_management")
# How a Responses request travels and is kept; a chat completion has no such field, or needs none.
_LEFT_OUT = {"input", "instructions", "include", "store", "truncation", "stream_options", "client_metadata", *_STORED}
# Tools that a provider runs by itself: command line agents offer them unasked, and no model here can have them.
_HOSTED = ("web_search", "file_search", "code_interpreter", "image_generation")
_READ = ("message", "function_call", "function_call_output", "reasoning")


# --- an endpoint that speaks Responses -------------------------------------------------------------------------------


def to_responses(chat: Json, kept: Mapping[str, Sequence[Json]]) -> Json:
    """A chat completion's request as a Responses request that the endpoint does not store.

    `kept` has the output of earlier replies under the id of their first call (`output_to_keep`). It stands for an
    assistant's message that has exactly its calls, in their order, and takes the message's arguments; every other
    message is translated without thoughts.
    """
    request: Json = {"store": False, "include": [ENCRYPTED]}
    # What has its place inside another field comes last: the caller may give that field as well.
    for name, value in sorted(chat.items(), key=lambda field: field[0] in _PLACES):
        # There is no number of choices, and a stream ends with its usage anyway.
        if value is None or name in ("messages", "stream_options") or (name, value) == ("n", 1):
            continue
        outer, inner = _PLACES.get(name, (name, None))
        said = [_offer(tool) for tool in as_objects(value)] if name == "tools" else value
        said = _flat(said) if name in _TYPED else said
        request[outer] = {**as_object(request.get(outer)), inner: said} if inner else said
    request["input"] = [item for message in as_objects(chat.get("messages")) for item in _items(message, kept)]
    return request


def from_responses(body: Json) -> Json:
    """A Responses reply as a chat completion that nobody has read yet; never raises.

    A body that failed, or that is no reply, comes back as it is. Thoughts in words become `reasoning_content`.
    """
    items = as_objects(body.get("output"))
    if body.get("error") is not None or body.get("status") in ("failed", "cancelled") or body.get("output") != items:
        return body
    calls = [function_call(*_called(item)) for item in items if "name" in item]
    said, thoughts = _held(items, "message", "content"), _held(items, "reasoning", "summary", "content")
    more = {"refusal": _joined(said, "refusal"), "reasoning_content": _joined(thoughts, "text", "\n\n")}
    message: Json = {"role": "assistant", "content": _joined(said, "text") or None}
    message |= {name: value for name, value in (more | {"tool_calls": calls}).items() if value}
    reason = "tool_calls" if calls else "stop"
    if body.get("status") == "incomplete":
        why = as_object(body.get("incomplete_details")).get("reason")
        reason = "content_filter" if why == "content_filter" else "length"
    head = {"id": body.get("id"), "created": body.get("created_at"), "model": body.get("model")}
    usage = _renamed(body.get("usage"), {"input": "prompt", "output": "completion"})
    return reply_body(head, message, reason, usage)


def output_to_keep(body: Json) -> tuple[str, list[Json]] | None:
    """The id of a Responses reply's first call, and its output; None where it holds no thoughts to send back.

    That is, encrypted or in words: a mere id would be looked up by an endpoint that was asked to store nothing.
    """
    items = as_objects(body.get("output"))
    thoughts = [item for item in items if item.get("type") == "reasoning"]
    first = next((_called(item)[0] for item in items if "name" in item), None)
    whole = all(item.get("encrypted_content") or item.get("content") for item in thoughts)
    return (first, items) if thoughts and whole and isinstance(first, str) else None


def _items(message: Json, kept: Mapping[str, Sequence[Json]]) -> list[Json]:
    """The items of a Responses request that say what a message of a chat says."""
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        call_id, output = message.get("tool_call_id"), _joined(_parts(content), "text")
        return [{"type": "function_call_output", "call_id": call_id, "output": output}]
    if role != "assistant":
        return [{"role": role, "content": _content(content, _seen_there)}]
    calls = [_call_item(call) for call in as_objects(message.get("tool_calls"))]
    words = _joined(_parts(content), "text") or message.get("refusal")
    return _own(calls, kept) or [*([{"role": role, "content": words}] if words else ()), *calls]


def _own(calls: Sequence[Json], kept: Mapping[str, Sequence[Json]]) -> list[Json]:
    """The output that a reply with exactly these calls had, with their arguments; [] where none is kept."""
    own = kept.get(str(calls[0]["call_id"]), ()) if calls else ()
    if [_called(item)[:2] for item in own if "name" in item] != [_called(call)[:2] for call in calls]:
        return []
    written = iter(calls)
    return [item | next(written) if "name" in item else item for item in own]


def _offer(tool: Json) -> Json:
    # The other API's default holds a model to the schema, which must then be of a certain form.
    default: Json = {"strict": False, "parameters": {"type": "object", "properties": {}}}
    return default | {name: value for name, value in _flat(tool).items() if value is not None}


def _call_item(call: Json) -> Json:
    function = as_object(call.get("function"))
    said = {"name": function.get("name"), "arguments": function.get("arguments") or ""}
    return {"type": "function_call", "call_id": call.get("id"), **said}


def _called(item: Json) -> tuple[Any, Any, Any]:
    """Id, name and arguments of a call: an item with a name, whatever its type says or leaves out."""
    return item.get("call_id", item.get("id")), item.get("name"), item.get("arguments")


# --- a client that speaks Responses ----------------------------------------------------------------------------------


def chat_request(body: Json) -> Json:
    """A client's Responses request as that of a chat completion, for the reader of requests.

    Its `reasoning` items are left out: whoever asks a model over Responses remembers them (`output_to_keep`). Raises
    RequestError for what somebody would have to store, and for items and tools other than those of functions.
    """
    stored = next((name for name in _STORED if body.get(name)), None)
    if stored is not None:
        raise RequestError(f"{stored} is not offered: nothing is stored here; send the whole conversation as input")
    request: Json = {}
    for name, value in body.items():
        request |= _chat_fields(name, value)
    return {**request, "messages": _messages(body)}


def _chat_fields(name: str, value: Any) -> Json:
    if name in ("reasoning", "text"):
        inside = {_FIELDS.get((name, inner)): said for inner, said in as_object(value).items()}
        return {known: _nested(said) for known, said in inside.items() if known and said is not None}
    if value is None or name in _LEFT_OUT:
        return {}
    if name == "tools":
        return {name: tools} if (tools := _offered(value)) else {}
    return {_FIELDS.get((name, None), name): _nested(value) if name in _TYPED else value}


def responses_reply(completion: Json) -> Json:
    """A chat completion as a Responses reply, without the request's fields in it; ids are made of the completion's."""
    choice = first_choice(completion)
    message, name = as_object(choice.get("message")), completion.get("id")
    why = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(str(choice.get("finish_reason")))
    status = "incomplete" if why else "completed"
    output: list[Json] = []
    if thoughts := message.get("reasoning_content"):
        summary = [{"type": "summary_text", "text": thoughts}]
        output.append({"type": "reasoning", "id": f"rs_{name}", "summary": summary})
    text, refusal = _joined(_parts(message.get("content")), "text"), message.get("refusal")
    said: list[Json] = [{"type": "output_text", "text": text, "annotations": []}] if text else []
    said += [{"type": "refusal", "refusal": refusal}] if refusal else []
    if said:
        of_whom = {"id": f"msg_{name}", "role": "assistant", "status": status}
        output.append({"type": "message", **of_whom, "content": said})
    for index, call in enumerate(as_objects(message.get("tool_calls"))):
        output.append({**_call_item(call), "id": f"fc_{name}_{index}", "status": status})
    return {
        "id": f"resp_{name}",
        "object": "response",
        "created_at": completion.get("created"),
        "status": status,
        "error": None,
        "incomplete_details": {"reason": why} if why else None,
        "model": completion.get("model"),
        "output": output,
        # Clients know what they asked; the API wants fields of these names.
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": _counted(completion.get("usage")),
    }


def response_events(reply: Json) -> Iterator[bytes]:
    """The reply as the server-sent events of a stream: `response.created` … `response.completed` or `.incomplete`."""
    begun: Json = reply | {"status": "in_progress", "output": [], "usage": None, "incomplete_details": None}
    events: list[tuple[str, Json]] = [(f"response.{kind}", {"response": begun}) for kind in ("created", "in_progress")]
    for index, item in enumerate(cast("list[Json]", reply["output"])):
        place: Json = {"output_index": index}
        empty: Json = item | {"summary": [], "content": [], "arguments": "", "status": "in_progress"}
        bare = {name: value for name, value in empty.items() if name in item}
        events.append(("response.output_item.added", {**place, "item": bare}))
        events += [(name, {"item_id": item["id"], **place, **event}) for name, event in _inside(item)]
        events.append(("response.output_item.done", {**place, "item": item}))
    events.append((f"response.{reply['status']}", {"response": reply}))
    for number, (name, event) in enumerate(events):
        data = orjson.dumps({"type": name, "sequence_number": number, **event})
        yield b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"


def _inside(item: Json) -> Iterator[tuple[str, Json]]:
    """The events between the beginning of an item and its end, without its place."""
    if item["type"] == "function_call":
        stem, arguments = "response.function_call_arguments", item["arguments"]
        yield from ((f"{stem}.delta", {"delta": piece}) for piece in pieces(arguments))
        yield f"{stem}.done", {"name": item["name"], "arguments": arguments}
        return
    # A summary's parts have events of their own, and so has each kind of part.
    kind, counted, parts = ("content_part", "content_index", item.get("content"))
    if item["type"] == "reasoning":
        kind, counted, parts = ("reasoning_summary_part", "summary_index", item["summary"])
    for index, part in enumerate(as_objects(parts)):
        stem = {"summary_text": "reasoning_summary_text"}.get(part["type"], part["type"])
        field = "refusal" if stem == "refusal" else "text"
        place: Json = {counted: index, **({"logprobs": []} if stem == "output_text" else {})}
        yield f"response.{kind}.added", {counted: index, "part": part | {field: ""}}
        yield from ((f"response.{stem}.delta", {**place, "delta": piece}) for piece in pieces(part[field]))
        yield f"response.{stem}.done", {**place, field: part[field]}
        yield f"response.{kind}.done", {counted: index, "part": part}


def _messages(body: Json) -> list[Json]:
    """The messages that say what a Responses request says. Raises RequestError for items that no message can say."""
    messages: list[Json] = [{"role": "system", "content": body["instructions"]}] if body.get("instructions") else []
    for item in _readable(body.get("input")):
        kind = item.get("type", "message")
        if kind == "message":
            messages.append({"role": item["role"], "content": _content(item.get("content"), _seen_here)})
        elif kind == "function_call_output":
            output = _joined(_parts(item.get("output")), "text")
            messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": output})
        elif kind == "function_call":
            # Words and calls of one reply stand side by side; everything else between two of them parts replies.
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(function_call(*_called(item)))
    return messages


def _readable(given: Any) -> list[Json]:
    items: Any = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not isinstance(items, list):
        raise RequestError("input: send a text or a list of items")
    for index, item in enumerate(map(as_object, cast("list[Any]", items))):
        kind = item.get("type", "message")
        if kind not in _READ or (kind == "message" and "role" not in item):
            raise RequestError(f"input.{index}: an item of type {str(kind)[:50]!r} is not read; {', '.join(_READ)} are")
    return cast("list[Json]", items)


def _offered(tools: object) -> list[Json]:
    """The tools of a Responses request as a chat completion offers them."""
    offered = [tool for tool in as_objects(tools) if not str(tool.get("type")).startswith(_HOSTED)]
    other = next((str(tool.get("type"))[:50] for tool in offered if tool.get("type") != "function"), None)
    if other is not None:
        raise RequestError(f"tools: one of type {other!r} cannot be called here; send functions only")
    return [_nested(tool) for tool in offered]


def _counted(usage: object) -> Json | None:
    """Usage in the words of a Responses reply, which must have every count; None where one is not known."""
    said = _renamed(usage, {"prompt": "input", "completion": "output"})
    if said is None or not all(isinstance(said.get(f"{side}_tokens"), int) for side in ("input", "output")):
        return None
    said.setdefault("total_tokens", said["input_tokens"] + said["output_tokens"])
    # Null for `not counted` is no value of these.
    for side, name in (("input", "cached_tokens"), ("output", "reasoning_tokens"), ("input", "cache_write_tokens")):
        details = as_object(said.get(f"{side}_tokens_details"))
        said[f"{side}_tokens_details"] = {**details, name: details.get(name) or 0}
    return said


# --- what both have --------------------------------------------------------------------------------------------------


def _flat(value: Any) -> Any:
    """`{"type": t, t: {…}}` as `{"type": t, …}`."""
    kind = as_object(value).get("type")
    inside = value.get(kind) if isinstance(kind, str) else None
    return {"type": kind, **cast("Json", inside)} if isinstance(inside, dict) else value


def _nested(value: Any) -> Any:
    """What `_flat` made of a value, as it was."""
    kind, inside = (
        as_object(value).get("type"),
        {name: said for name, said in as_object(value).items() if name != "type"},
    )
    return {"type": kind, kind: inside} if isinstance(kind, str) and inside else value


def _content(content: object, said: Any) -> Any:
    """Parts in the other API's words; text alone is one string, which every server reads."""
    parts = _parts(content)
    texts = all("text" in part for part in parts)
    return _joined(parts, "text") if texts else [said(part) for part in parts]


def _seen_there(part: Json) -> Json:
    if part.get("type") != "image_url":
        return {**part, "type": "input_text"} if "text" in part else part
    image = as_object(part.get("image_url"))
    return {"type": "input_image", "image_url": image.get("url"), "detail": image.get("detail") or "auto"}


def _seen_here(part: Json) -> Json:
    if "text" in part:
        return {"type": "text", "text": part["text"]}
    if part.get("type") != "input_image" or not part.get("image_url"):
        raise RequestError("input: texts and images with an image_url are read, no other parts of a message's content")
    return {"type": "image_url", "image_url": {"url": part["image_url"], "detail": part.get("detail") or "auto"}}


def _joined(parts: Sequence[Json], name: str, mark: str = "") -> str:
    return mark.join(part[name] for part in parts if isinstance(part.get(name), str))


def _held(items: Sequence[Json], kind: str, *fields: str) -> list[Json]:
    """The parts in these fields of all items of a kind."""
    found = [item.get(field) for item in items if item.get("type") == kind for field in fields]
    return [part for content in found for part in _parts(content)]


def _parts(content: object) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else as_objects(content)


def _renamed(usage: object, names: Mapping[str, str]) -> Json | None:
    """Counts of tokens under the other API's names, of which only the first words differ; None for no object."""
    if not isinstance(usage, dict):
        return None
    split = [(name.partition("_"), value) for name, value in cast("Json", usage).items()]
    return {names.get(side, side) + mark + rest: value for (side, mark, rest), value in split}
