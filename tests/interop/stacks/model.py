"""A model without a mind on a local address: it plays one script through whatever a framework asks it in.

It answers chat completions (whole and streamed), the Responses API, Gemini's `generateContent`, the text form of DSPy,
and, for clients without a model, `/step`: the last answer in, the next call out. Like a real model it fills in whatever
a schema calls required, so that an adapter that makes optional parameters required shows in the calls.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, TypeAlias


class Call(NamedTuple):
    """A tool call, by the name under which the framework shows the tool."""

    tool: str
    arguments: dict[str, Any]


_Shown: TypeAlias = dict[str, dict[str, Any]]

# What seat B1 of double_auction/smoke does in its three rounds: reads, a refused action, actions, waits, analyses.
SCRIPT = (
    Call("view_rules", {}),
    Call("view_my_value", {}),
    Call("submit_quote", {"price": 5_000}),
    Call("submit_quote", {"price": 60}),
    Call("await_turn", {}),
    Call("view_history", {}),
    Call("estimate_fill_probability", {"price": 61}),
    Call("submit_quote", {"price": 61}),
    Call("await_turn", {}),
    Call("expected_surplus", {}),
    Call("submit_quote", {"price": 62}),
    Call("await_turn", {}),
)
END = Call("", {})
# Under which names frameworks let a model say that it has finished, with the argument that takes its answer.
_FINISHERS = {"final_answer": "answer", "submit": "answer", "finish": ""}
_FILLED: Mapping[str, Any] = {"string": "", "integer": 0, "number": 0, "boolean": False, "array": [], "object": {}}
# The answer to a wait that is over; frameworks pass it on as JSON, as JSON in JSON, or as Python's repr.
_TURN_CAME = re.compile(r"""\b(awaited|over)[\\"':\s]+true""", re.IGNORECASE)
_ROUND = re.compile(r"""\bround[\\"':\s]+(\d+)""")
_MOST_CALLS = 60


class ScriptedModel:
    """Where the script stands in one run, and the tools that the framework showed first: name -> input schema."""

    def __init__(self) -> None:
        self.shown: _Shown = {}
        self.heard: list[str] = []
        """What it was told last, question by question."""
        self.waiting = threading.Semaphore(0)
        """Released when a wait begins, for the rival who keeps this seat waiting."""
        self.finished = threading.Event()
        self._position = 0
        self._lock = threading.Lock()

    @property
    def asked(self) -> int:
        """How often it was asked."""
        return len(self.heard)

    def next_call(self, last: str, tools: Mapping[str, dict[str, Any]] | None = None) -> Call:
        """The script's next call after the answer `last`; END after all of them."""
        with self._lock:
            self.shown = self.shown or dict(tools or {})
            self.heard.append(last)
            if self.asked > _MOST_CALLS:
                return END
            waited = self._position > 0 and SCRIPT[self._position - 1].tool == "await_turn"
            # A wait may end before the turn comes; the seat waits again.
            if waited and not _TURN_CAME.search(last):
                return self._shown(SCRIPT[self._position - 1])
            if self._position == len(SCRIPT):
                self.finished.set()
                return self._finishing()
            self._position += 1
            call = SCRIPT[self._position - 1]
            if call.tool == "await_turn":
                self.waiting.release()
            return self._shown(call)

    def _finishing(self) -> Call:
        for name, argument in _FINISHERS.items():
            if name in self.shown:
                return Call(name, {argument: "played to the end"} if argument else {})
        return END

    def _shown(self, call: Call) -> Call:
        """The call as the framework named and shaped the tool."""
        # The shortest: some frameworks show resources and prompts as tools too, under longer names.
        name = min((name for name in self.shown if name.endswith(call.tool)), key=len, default=call.tool)
        schema = self.shown.get(name, {})
        properties = schema.get("properties", {})
        missing = {field: _filled(properties.get(field, {})) for field in schema.get("required", ())}
        # What any model knows better than the first value that is allowed: the open round, and how long a wait is.
        rounds = map(int, _ROUND.findall(" ".join(self.heard)))
        known = {"round": max(rounds, default=1), "timeout_s": 30}
        missing |= {field: value for field, value in known.items() if field in missing}
        return Call(name, {**missing, **call.arguments})


def _filled(schema: Mapping[str, Any]) -> Any:
    """What a model that has to give something gives: null where it may, else the first thing that is allowed."""
    kinds = [schema.get("type"), *(branch.get("type") for branch in schema.get("anyOf", ()))]
    flat = [str(kind).lower() for kind in kinds if kind is not None]
    if schema.get("nullable") or any("null" in kind for kind in flat):
        return None
    if schema.get("minItems"):
        return [_filled(schema.get("items", {}))] * int(schema["minItems"])
    first = schema.get("enum") or [schema.get("minimum", _FILLED.get(flat[0] if flat else "", ""))]
    return schema.get("default", first[0])


# --- the forms in which frameworks ask ------------------------------------------------------------------------------


def _chat(model: ScriptedModel, asked: Mapping[str, Any]) -> dict[str, Any]:
    functions = [tool["function"] for tool in asked.get("tools") or ()]
    tools: _Shown = {function["name"]: function.get("parameters") or {} for function in functions}
    messages = asked["messages"]
    text = json.dumps(messages[-1], ensure_ascii=False)
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if tools:
        call = model.next_call(text, tools)
        if call is not END:
            message["tool_calls"] = [
                {
                    "id": f"call_{model.asked}",
                    "type": "function",
                    "function": {"name": call.tool, "arguments": json.dumps(call.arguments)},
                }
            ]
        else:
            message["content"] = "Played to the end."
    else:
        message["content"] = _text_form(model, json.dumps(messages, ensure_ascii=False), text)
    reason = "tool_calls" if "tool_calls" in message else "stop"
    return {
        "id": f"chat_{model.asked}",
        "object": "chat.completion",
        "created": 0,
        "model": asked.get("model", ""),
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }


def _text_form(model: ScriptedModel, all_text: str, last: str) -> str:
    """DSPy's form: fields under headings, tools described in the prompt."""
    if "next_tool_name" not in all_text:
        fields = dict.fromkeys(re.findall(r"\[\[ ## (reasoning|result) ## \]\]", all_text), "Played to the end.")
    else:
        # The trajectory is one growing message; its last observation is what the model looks at.
        call = model.next_call(last.rpartition("observation_")[2])
        name, arguments = ("finish", {}) if call is END else call
        fields = {"next_thought": "On.", "next_tool_name": name, "next_tool_args": json.dumps(arguments)}
    return "".join(f"[[ ## {name} ## ]]\n{value}\n\n" for name, value in fields.items()) + "[[ ## completed ## ]]"


def _responses(model: ScriptedModel, asked: Mapping[str, Any]) -> dict[str, Any]:
    tools: _Shown = {tool["name"]: tool.get("parameters") or {} for tool in asked.get("tools") or () if "name" in tool}
    given = asked["input"]
    call = model.next_call(json.dumps(given[-1], ensure_ascii=False) if isinstance(given, list) else given, tools)
    said: dict[str, Any] = {"type": "output_text", "text": "Played to the end.", "annotations": []}
    item: dict[str, Any] = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [said]}
    if call is not END:
        item = {"type": "function_call", "id": f"f{model.asked}", "call_id": f"call_{model.asked}"}
        item |= {"name": call.tool, "arguments": json.dumps(call.arguments), "status": "completed"}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    answer = {"id": f"r{model.asked}", "object": "response", "created_at": 0, "status": "completed", "output": [item]}
    return (
        answer
        | {"model": asked.get("model", ""), "usage": usage, "parallel_tool_calls": False, "tools": []}
        | {"tool_choice": "auto"}
    )


def _gemini(model: ScriptedModel, asked: Mapping[str, Any]) -> dict[str, Any]:
    declared = [declared for tool in asked.get("tools") or () for declared in tool.get("functionDeclarations", ())]
    tools: _Shown = {}
    for tool in declared:
        tools[tool["name"]] = tool.get("parametersJsonSchema") or tool.get("parameters") or {}
    call = model.next_call(json.dumps(asked["contents"][-1], ensure_ascii=False), tools)
    part: dict[str, Any] = {"text": "Played to the end."}
    if call is not END:
        part = {"functionCall": {"name": call.tool, "args": call.arguments}}
    content = {"role": "model", "parts": [part]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


def _step(model: ScriptedModel, asked: Mapping[str, Any]) -> dict[str, Any]:
    call = model.next_call(asked["last"])
    return {"over": True} if call is END else {"tool": call.tool, "arguments": call.arguments}


_FORMS = {"/v1/chat/completions": _chat, "/v1/responses": _responses, "/step": _step}


@contextmanager
def served(model: ScriptedModel) -> Generator[str]:
    """The model's address while the context is open, without a path."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            form = _FORMS.get(self.path.partition("?")[0], _gemini)
            answer = form(model, asked)
            streamed = form is _chat and asked.get("stream")
            body = _stream(answer) if streamed else json.dumps(answer)
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream" if streamed else "application/json")
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _stream(answer: dict[str, Any]) -> str:
    choice = answer["choices"][0]
    delta = choice["message"]
    for index, call in enumerate(delta.get("tool_calls", ())):
        call["index"] = index
    parts: list[dict[str, Any]] = [{"delta": delta, "finish_reason": None}]
    parts.append({"delta": {}, "finish_reason": choice["finish_reason"]})
    frames = [answer | {"object": "chat.completion.chunk", "choices": [{"index": 0, **part}]} for part in parts]
    return "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames) + "data: [DONE]\n\n"
