"""Stand-ins for providers: as strict as they are and in their words, over HTTP, played by a scripted policy.

Their rules are written down here a second time on purpose: they share no line with the door that asks them, so that
what both believed could not be wrong in both. The sentences are those of public reports of users.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.outside import Answer, Asked, endpoint

from tradefair.contract import Policy
from tradefair.frameworks.models.policy_brain import PolicyBrain, Visible, is_refusal

Json: TypeAlias = dict[str, Any]

NAMES = ("chat", "newest", "responses_only", "no_encryption", "picky_fields")
"""`newest` refuses function tools in chat completions, `responses_only` has no such path, `no_encryption` gives no
thoughts that could be sent back, and `picky_fields` refuses four fields, one by one."""

_THINKING = 1_500
"""Tokens that those models think before they call a tool; a smaller bound ends the reply before its call."""
_CHAT = frozenset({
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens", "max_completion_tokens",
    "temperature", "top_p", "stop", "seed", "n", "store", "stream", "reasoning_effort", "verbosity", "response_format",
    "user", "metadata", "service_tier", "frequency_penalty", "presence_penalty", "logprobs", "top_logprobs",
})  # fmt: skip
_RESPONSES = frozenset({
    "model", "input", "instructions", "tools", "tool_choice", "parallel_tool_calls", "max_output_tokens", "temperature",
    "top_p", "store", "stream", "include", "reasoning", "text", "user", "metadata", "service_tier", "truncation",
})  # fmt: skip
_MESSAGE = {
    **{role: {"role", "content", "name"} for role in ("system", "developer", "user")},
    "assistant": {"role", "content", "name", "refusal", "tool_calls"},
    "tool": {"role", "content", "tool_call_id"},
}
_ITEM = {
    "message": {"type", "role", "content", "id", "status", "phase"},
    "function_call": {"type", "call_id", "name", "arguments", "id", "status"},
    "function_call_output": {"type", "call_id", "output", "id", "status"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
}
_PICKY = {
    "max_tokens": "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead.",
    "store": "Unrecognized request argument supplied: store",
    "parallel_tool_calls": "Unsupported parameter: 'parallel_tool_calls' is not supported with this model.",
    "temperature": "Unsupported value: 'temperature' does not support {} with this model. "
    "Only the default (1) value is supported.",
}


class Refused(Exception):
    """A request that the provider does not take: status, the field that it names, its sentence."""

    def __init__(self, message: str, param: str | None = None, status: int = 400, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


Dress: TypeAlias = Callable[[Json], Json | str]
"""A chat completion in the dress of another server: a body, or its JSON where no `dumps` would write it."""


@dataclass
class StandIn:
    """One endpoint for one seat. `dress` changes each reply, `instead` takes the place of the second one."""

    name: str
    policy: Policy
    dress: Dress | None = None
    instead: Dress | None = None
    asked: list[tuple[str, Json]] = field(default_factory=list[tuple[str, Json]])
    """Path and body of each request, refused ones too."""
    refused: list[str] = field(default_factory=list[str])
    thoughts: int = 0
    """How many items of thoughts came back."""
    _sealed: dict[str, str] = field(default_factory=dict[str, str])
    _last: str | None = None
    _replies: int = 0

    def __post_init__(self) -> None:
        self._brain = PolicyBrain(self.policy, self.name)

    def served(self) -> AbstractContextManager[str]:
        """Its address on the loopback; `/v1` is the base URL."""
        return endpoint(self._answer)

    def _answer(self, asked: Asked) -> Answer:
        path, body = asked.path.removeprefix("/v1"), json.loads(asked.body)
        self.asked.append((path, body))
        try:
            reply = self._reply(path, body)
        except Refused as refusal:
            self.refused.append(str(refusal))
            return Answer(refusal.status, json.dumps(refusal.body))
        return Answer(200, reply if isinstance(reply, str) else json.dumps(reply))

    def _reply(self, path: str, body: Json) -> Json | str:
        speaks_chat = self.name not in ("responses_only", "no_encryption")
        if path == "/chat/completions" and speaks_chat:
            return self._chat(body)
        if path == "/responses" and self.name not in ("chat", "picky_fields"):
            return self._responses(body)
        raise Refused("Not Found", status=404)

    # --- chat completions ------------------------------------------------------------------------------------------

    def _chat(self, body: Json) -> Json | str:
        unknown = sorted(body.keys() - _CHAT)
        if unknown:
            raise Refused(f"Unrecognized request argument supplied: {unknown[0]}", unknown[0])
        if self.name == "newest" and body.get("tools") and body.get("reasoning_effort") != "none":
            raise Refused(
                f"Function tools with reasoning_effort are not supported for {body['model']} in /v1/chat/completions. "
                "To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
                "reasoning_effort",
            )
        for name, sentence in _PICKY.items() if self.name == "picky_fields" else ():
            if name in body:
                raise Refused(sentence.format(body[name]), name, code="unsupported_parameter")
        check_messages(body["messages"])
        for index, tool in enumerate(body.get("tools") or ()):
            if tool.keys() != {"type", "function"} or "name" not in tool["function"]:
                raise Refused(f"Missing required parameter: 'tools[{index}].function'.", f"tools[{index}].function")
        if self.instead and self._replies == 1:
            self._replies += 1
            return self.instead(plain_reply("other", {"role": "assistant", "content": "Hm."}))
        text, call, tokens = self._next([_seen(said) for said in body["messages"]])
        message: Json = {"role": "assistant", "content": text or None}
        if call:
            made = {"name": call["name"], "arguments": call["arguments"]}
            message["tool_calls"] = [{"id": call["call_id"], "type": "function", "function": made}]
        reply = plain_reply(body["model"], message, tokens)
        return self.dress(reply) if self.dress else reply

    # --- Responses -------------------------------------------------------------------------------------------------

    def _responses(self, body: Json) -> Json:
        unknown = sorted(body.keys() - _RESPONSES)
        if unknown:
            raise Refused(f"Unknown parameter: '{unknown[0]}'.", unknown[0], code="unknown_parameter")
        if self.name == "no_encryption" and body.get("include"):
            raise Refused("Encrypted content is not supported with this model.", "include")
        if body.get("store") is not False:
            raise Refused("This organization must set `store` to false.", "store")
        for index, tool in enumerate(body.get("tools") or ()):
            self._check_tool(index, tool)
        items = [item if "type" in item else {"type": "message", **item} for item in body["input"]]
        check_items(items)
        self._check_thoughts(items)
        bound = body.get("max_output_tokens")
        if bound is not None and bound < _THINKING:
            return self._envelope(body, [], "incomplete")
        text, call, tokens = self._next(list(_seen_items(items)))
        number = self._replies
        thoughts: Json = {"type": "reasoning", "id": f"rs_{number}", "summary": []}
        if "reasoning.encrypted_content" in (body.get("include") or ()):
            thoughts["encrypted_content"] = self._sealed[thoughts["id"]] = f"sealed-{number}-{self.name}"
        said: Json = {"type": "output_text", "text": text, "annotations": []}
        item: Json = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": [said]}
        if call:
            item = {"type": "function_call", "id": f"fc_{number}", **call}
        return self._envelope(body, [thoughts, item | {"status": "completed"}], "completed", tokens)

    def _check_tool(self, index: int, tool: Json) -> None:
        if "name" not in tool:
            raise Refused(f"Missing required parameter: 'tools[{index}].name'.", f"tools[{index}].name")
        # What is left out is strict, and a strict schema closes its objects.
        schema: Json = tool.get("parameters") or {}
        if tool.get("strict") is not False and schema.get("additionalProperties") is not False:
            raise Refused(
                f"Invalid schema for function '{tool['name']}': In context=(), 'additionalProperties' is required to "
                "be supplied and to be false.",
                f"tools[{index}].parameters",
                code="invalid_function_parameters",
            )

    def _check_thoughts(self, items: Sequence[Json]) -> None:
        """Thoughts come back whole, with what they led to, and as they were given."""
        for item, following in zip(items, [*items[1:], {}], strict=True):
            if item["type"] == "reasoning":
                name = item["id"]
                if not item.get("encrypted_content"):
                    raise Refused(
                        f"Item with id '{name}' not found. Items are not persisted when `store` is set to false. "
                        "Try again with `store` set to true, or remove this item from your input.",
                        "input",
                        404,
                    )
                if item["encrypted_content"] != self._sealed.get(name):
                    raise Refused(f"The encrypted content for item {name} could not be verified.", "input")
                if following.get("id", "").partition("_")[2] != name.partition("_")[2]:
                    sentence = "of type 'reasoning' was provided without its required following item."
                    raise Refused(f"Item '{name}' {sentence}", "input")
                self.thoughts += 1
        names = {item.get("id") for item in items if item["type"] == "reasoning"}
        for item in items:
            name = str(item.get("id", ""))
            wanted = f"rs_{name.partition('_')[2]}"
            if name.startswith("fc_") and wanted not in names:
                sentence = f"was provided without its required 'reasoning' item: '{wanted}'."
                raise Refused(f"Item '{name}' of type 'function_call' {sentence}", "input")

    def _envelope(self, body: Json, output: list[Json], status: str, tokens: int = 0) -> Json:
        cut = {"reason": "max_output_tokens"} if status == "incomplete" else None
        usage: Json = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
        usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 4}}
        return {
            "id": f"resp_{self._replies}", "object": "response", "created_at": 0, "status": status, "error": None,
            "incomplete_details": cut, "model": body["model"], "output": output, "usage": usage,
            "parallel_tool_calls": True, "tool_choice": "auto", "tools": body.get("tools") or [],
        }  # fmt: skip

    def _next(self, seen: Sequence[Visible]) -> tuple[str, Json | None, int]:
        """The policy's words or call, and the tokens of the question."""
        self._replies += 1
        if self.dress:
            # The reader of a dressed reply may have given its call another id; the check has found the two of a pair.
            seen = [said._replace(tool_call_id=self._last) if said.role == "tool" else said for said in seen]
        reply = self._brain.reply(seen)
        call = reply.call
        if call is None:
            return reply.text, None, reply.input_tokens
        self._last = call.id
        made = {"call_id": call.id, "name": call.tool, "arguments": json.dumps(dict(call.arguments))}
        return "", made, reply.input_tokens


def plain_reply(model: str, message: Json, tokens: int = 0) -> Json:
    """A chat completion as its provider writes it."""
    reason = "tool_calls" if "tool_calls" in message else "stop"
    choice = {"index": 0, "message": message, "finish_reason": reason}
    usage = {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": model}
    return {**head, "choices": [choice], "usage": usage}


def check_messages(messages: Sequence[Json]) -> None:
    """Raises Refused where fields are unknown, or calls and results do not pair."""
    open_calls: list[str] = []
    for index, said in enumerate(messages):
        place, role = f"messages.[{index}]", said.get("role")
        if role not in _MESSAGE:
            raise Refused(f"Invalid value: '{role}'. Supported values are: {', '.join(_MESSAGE)}.", f"{place}.role")
        unknown = sorted(said.keys() - _MESSAGE[role])
        if unknown:
            raise Refused(f"Additional properties are not allowed ('{unknown[0]}' was unexpected)", place)
        if role == "tool":
            if said["tool_call_id"] not in open_calls:
                sentence = "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
                raise Refused(f"Invalid parameter: {sentence}", f"{place}.role")
            open_calls.remove(said["tool_call_id"])
            continue
        _refuse_unanswered(open_calls)
        open_calls = [_checked_call(call, f"{place}.tool_calls") for call in said.get("tool_calls") or ()]
        if len(set(open_calls)) < len(open_calls):
            raise Refused("Duplicate value for 'tool_call_id' of tool calls", place)
        if said.get("content") is None and not open_calls:
            raise Refused("Invalid value for 'content': expected a string, got null.", f"{place}.content")
    _refuse_unanswered(open_calls)


def _refuse_unanswered(calls: Sequence[str]) -> None:
    if calls:
        raise Refused(
            "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
            f"'tool_call_id'. The following tool_call_ids did not have response messages: {', '.join(calls)}",
            "messages",
        )


def _checked_call(call: Json, place: str) -> str:
    function: Json = call.get("function") or {}
    texts = (call.get("id"), function.get("name"), function.get("arguments"))
    if call.get("type") != "function" or not all(isinstance(text, str) for text in texts):
        raise Refused("Invalid type for a tool call: expected an id, a name and arguments as strings.", place)
    if not 0 < len(call["id"]) <= 40:
        raise Refused(f"Invalid '{place}.id': string too long. Expected a string with maximum length 40.", place)
    return call["id"]


def check_items(items: Sequence[Json]) -> None:
    """Raises Refused where items or fields are unknown, or calls and outputs do not pair."""
    calls: list[str] = []
    answered: list[str] = []
    for index, item in enumerate(items):
        kind = item["type"]
        if kind not in _ITEM:
            raise Refused(f"Invalid value: '{kind}'. Supported values are: {', '.join(_ITEM)}.", f"input[{index}]")
        unknown = sorted(item.keys() - _ITEM[kind])
        if unknown:
            raise Refused(f"Unknown parameter: 'input[{index}].{unknown[0]}'.", f"input[{index}].{unknown[0]}")
        if kind == "function_call":
            if not all(isinstance(item.get(name), str) and item[name] for name in ("call_id", "name", "arguments")):
                raise Refused(f"Missing required parameter: 'input[{index}].call_id'.", f"input[{index}]")
            calls.append(item["call_id"])
        if kind == "function_call_output":
            if item["call_id"] not in calls:
                raise Refused(f"No tool call found for function call output with call_id {item['call_id']}.", "input")
            answered.append(item["call_id"])
    missing = [call for call in calls if call not in answered]
    if missing:
        raise Refused(f"No tool output found for function call {missing[0]}.", "input")
    names = [item["id"] for item in items if "id" in item]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise Refused(f"Duplicate item found with id {twice}. Remove duplicate items and try again.", "input")


def _seen(said: Mapping[str, Any]) -> Visible:
    text = _text(said.get("content"))
    return Visible(said["role"], text, said.get("tool_call_id"), said["role"] == "tool" and is_refusal(text))


def _seen_items(items: Sequence[Json]) -> Iterator[Visible]:
    for item in items:
        if item["type"] == "message":
            yield Visible(item["role"], _text(item["content"]))
        if item["type"] == "function_call_output":
            text = _text(item["output"])
            yield Visible("tool", text, item["call_id"], is_refusal(text))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content or ())


# --- replies in the dress of other servers ---------------------------------------------------------------------------


def _dressed(change: Callable[[Json, Json], object]) -> Dress:
    """A dress made of a change of the reply's message and of its first call; words without a call stay as they are."""

    def dress(reply: Json) -> Json:
        message = reply["choices"][0]["message"]
        if "tool_calls" in message:
            change(message, message["tool_calls"][0])
        return reply

    return dress


def _said(text: str) -> Dress:
    def dress(reply: Json) -> Json:
        reply["choices"][0]["message"]["content"] = text
        return reply

    return dress


def _whole(**fields: Any) -> Dress:
    return lambda reply: reply | fields


def _as_function_call(message: Json, call: Json) -> None:
    message["function_call"] = call["function"]
    del message["tool_calls"]


def _arguments(change: Callable[[str], Any]) -> Dress:
    return _dressed(lambda message, call: call["function"].update(arguments=change(call["function"]["arguments"])))


def _floats(reply: Json) -> Json:
    return reply | {"usage": {name: float(count) for name, count in reply["usage"].items()}}


def _half_a_pair(reply: Json) -> str:
    # Python writes the escape that no strict parser reads.
    reply["choices"][0]["message"]["content"] = "half \ud83c of a pair"
    return json.dumps(reply)


def _bare(reply: Json) -> Json:
    return {"choices": [{"message": reply["choices"][0]["message"]}]}


DRESSES: Mapping[str, Dress] = {
    "call without a type": _dressed(lambda message, call: call.pop("type")),
    "call as function_call": _dressed(_as_function_call),
    "id that is a number": _dressed(lambda message, call: call.update(id=7)),
    "no id": _dressed(lambda message, call: call.pop("id")),
    "equal ids": _dressed(lambda message, call: call.update(id="call")),
    "empty id": _dressed(lambda message, call: call.update(id="")),
    "arguments as an object": _arguments(json.loads),
    "arguments encoded twice": _arguments(json.dumps),
    "null usage": _whole(usage=None),
    "usage in floats": _floats,
    "half a surrogate pair": _half_a_pair,
    "content in parts": _dressed(lambda message, call: message.update(content=[{"type": "text", "text": "Well."}])),
    "thoughts in the text": _dressed(lambda message, call: message.update(content="<think>Hm.</think>Well.")),
    "thoughts beside the text": _dressed(lambda message, call: message.update(reasoning="Hm.")),
    "nothing but a message": _bare,
}
"""Each reply of an endpoint in the dress of some server; an episode goes on as if it had none."""

INSTEAD: Mapping[str, Dress] = {
    "no words, no call": _said(""),
    "a call written as text": _said('<tool_call>{"name": "fly", "arguments": {}}</tool_call>'),
    "a call in a bracket": _said('[TOOL_CALLS][{"name": "fly", "arguments": {}}]'),
    "cut before its call": lambda reply: _said("")(
        reply | {"choices": [reply["choices"][0] | {"finish_reason": "length"}]}
    ),
    "an overload with status 200": lambda reply: {"error": {"message": "Overloaded", "code": 503}},
}
"""What one reply may be instead of the model's: the agent is nudged, or the door asks again, and the play goes on."""
