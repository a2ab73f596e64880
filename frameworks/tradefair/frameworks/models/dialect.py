"""What an endpoint takes, learnt from its refusals: which API it speaks, and which fields of a request it knows.

One `Dialect` per endpoint and model, shared by all seats and episodes of this process. Nothing of it is in a hash.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

from tradefair.cli.terminal import say
from tradefair.contract.text import clean_line
from tradefair.frameworks.models.wire import Json, as_object

Api: TypeAlias = Literal["auto", "chat", "responses", "gateway"]
"""The API that is asked: `auto` begins with chat completions and moves to Responses once; a gateway is ours."""

Note: TypeAlias = Callable[[Json], Awaitable[None]]
"""Takes a record for `agent_events`."""

CHAT, RESPONSES = "/chat/completions", "/responses"
THOUGHTS = 15_360
"""Tokens beside the bound of a reply, for a model that thinks before it speaks: its thoughts count as well."""

_MOST_LEARNT = 6
_ADAPTED = (400, 404, 422)
NOT_THERE = (404, 405)
"""What a server answers on a path that it does not have."""
_BOUNDS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
_OPTIONAL = ("include", "store", "parallel_tool_calls", "stream_options", "temperature", "top_p", "seed", "stop")
_OTHER_API = re.compile(r"/responses\b|responses api", re.IGNORECASE)
_ABOUT_THOUGHTS = re.compile(r"\brs_\w+|required following item|could not be verified|encrypted.content", re.IGNORECASE)
_NO_SYSTEM = re.compile(r"system(?: role| messages?| prompt)?\W{0,3} (?:is |are )?not supported", re.IGNORECASE)
_HINTS = (
    (r"--enable-auto-tool-choice", "start the server with --enable-auto-tool-choice and a --tool-call-parser"),
    (
        r"not support (?:tools|tool use|functions?)|tool (?:use|calling) is not supported|support tool use",
        "an agent needs a model that calls tools",
    ),
    (
        r"context.length|maximum context|too long",
        "show the model less: --window 'last_results(k=6)', or a model with a longer context",
    ),
    (r"stream\w*\W.{0,40}(?:only|must|required)|only\W.{0,40}stream", "an endpoint must answer without streaming, too"),
)


class Refusal(NamedTuple):
    """What an endpoint said against a request; `param` is the field that it named, if any."""

    message: str
    param: str = ""
    code: str = ""

    @property
    def of_model(self) -> bool:
        """Whether it is about the model's name, and not about the path."""
        return "model_not_found" in self.code + self.message

    def names(self, field: str) -> bool:
        """Whether the refusal is about a field."""
        if self.param:
            return re.split(r"[.\[]", self.param)[0] == field
        return re.search(rf"(?<![\w.-]){field}(?![\w-])", self.message) is not None

    def is_about(self, field: str) -> bool:
        """Whether it is about a field of chat completions: the other API has `reasoning.effort` for one."""
        return self.names(field) or (self.param != "" and self.names(field.partition("_")[0]))


def read_refusal(content: bytes) -> Refusal:
    """The words of an error's body, whoever wrote it."""
    try:
        body: Any = orjson.loads(content)
    except orjson.JSONDecodeError:
        return Refusal(clean_line(content[:2_000].decode(errors="replace")))
    stated = as_object(body)
    error: Any = stated.get("error", stated.get("detail", stated))
    inside = as_object(error)
    message = inside.get("message") or (error if isinstance(error, str) else orjson.dumps(error).decode())
    return Refusal(str(message)[:2_000], str(inside.get("param") or "")[:200], str(inside.get("code") or "")[:200])


class Dialect:
    """How one model at one address is spoken to. `named` are fields that a person named: they are never left out."""

    def __init__(self, label: str, api: Api = "auto", named: frozenset[str] = frozenset()) -> None:
        self.learnt: list[str] = []
        self.left_out: set[str] = set()
        self.api: Literal["chat", "responses"] = "responses" if api == "responses" else "chat"
        self._label = label
        self._chosen = api
        self._named = named
        self._bound = ""
        self.carries = True
        self._folds = False
        self._refused_chat = ""

    def words(self, asked: Json, api: str) -> Json | None:
        """The chat completion that the endpoint takes, for an API; None where it is the one that was made."""
        if not self.learnt and api == "chat":
            return None
        said = {name: value for name, value in asked.items() if name not in self.left_out}
        if self._folds:
            said["messages"] = _folded(said["messages"])
        bound = next((name for name in _BOUNDS if isinstance(said.get(name), int)), None)
        return said if bound is None or bound in self._named else self._bounded(said, bound, api)

    def _bounded(self, said: Json, bound: str, api: str) -> Json:
        """The request with its bound under the name that the endpoint takes, and beside it room for thoughts."""
        if self._bound or api == "responses":
            # Who says `max_completion_tokens` has thought of thoughts.
            said[self._bound or bound] = said.pop(bound) + (THOUGHTS if bound == "max_tokens" else 0)
        return said

    @property
    def may_move(self) -> bool:
        """Whether the other API may still be asked."""
        return self._chosen == "auto" and self.api == "chat"

    def move(self, why: Refusal) -> str:
        """Speak Responses from now on; the sentence that says so."""
        self.api, self._refused_chat = "responses", why.message
        return self._learn(f"answers over {RESPONSES}", why, " (--api responses asks there at once)")

    def learn(self, status: int, why: Refusal, sent: Json) -> str | None:
        """What follows from a refusal for the next request, in a sentence; None where nothing does."""
        # What a gateway of ours passes on was learnt behind it.
        if self._chosen == "gateway" or status not in _ADAPTED or len(self.learnt) >= _MOST_LEARNT:
            return None
        if self.may_move and _OTHER_API.search(why.message):
            return self.move(why)
        refused = next((name for name in (*_BOUNDS, *_OPTIONAL) if name in sent and why.names(name)), "")
        return self._say_less(why) or self._change(refused, why)

    def _say_less(self, why: Refusal) -> str | None:
        """Send no thoughts back, or no message of the system's."""
        if self.api == "responses" and self.carries and _ABOUT_THOUGHTS.search(why.message):
            self.carries = False
            self.left_out.add("include")
            return self._learn("takes no thoughts back", why)
        if not self._folds and _NO_SYSTEM.search(why.message):
            self._folds = True
            return self._learn("takes the system text as a user's", why)
        return None

    def _change(self, refused: str, why: Refusal) -> str | None:
        """Say a field otherwise, or leave it out, unless a person named it."""
        names = _BOUNDS if refused in _BOUNDS else (refused,)
        if not refused or not self._named.isdisjoint(names):
            return None
        other = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}.get(refused)
        if other is not None and not self._bound:
            self._bound = other
            return self._learn(f"is asked with {other}", why)
        self.left_out.update(names)
        return self._learn(f"is asked without {refused}", why)

    def advice(self, status: int, why: Refusal) -> str:
        """What to do about a refusal that nothing was learnt from; empty where nobody knows."""
        if self._chosen == "gateway" or status not in (*_ADAPTED, 405):
            return ""
        named = next((name for name in sorted(self._named) if why.is_about(name)), None)
        if named is not None:
            return f"leave `{named}` out of --model"
        if self._chosen != "auto" and (status in NOT_THERE or _OTHER_API.search(why.message)):
            return "--api auto finds the API that it speaks"
        hint = next((hint for words, hint in _HINTS if re.search(words, why.message, re.IGNORECASE)), "")
        before = f"over {CHAT} it said: {_cut(self._refused_chat)}" if self._refused_chat else ""
        return "; ".join(filter(None, (before, hint)))

    def note(self, said: str) -> Json:
        """The note about something that was learnt."""
        return {"kind": "endpoint_dialect", "api": self.api, "left_out": sorted(self.left_out), "said": said}

    def _learn(self, does: str, why: Refusal, hint: str = "") -> str:
        said = f"{self._label} {does}: {_cut(why.message)}{hint}"
        self.learnt.append(said)
        say(f"[model] {said}")
        return said


@lru_cache(maxsize=256)
def dialect_of(url: str, label: str, api: Api, named: frozenset[str]) -> Dialect:
    """The dialect of a model at an address: the same one for all who ask it in this process."""
    return Dialect(label, api, named)


def _folded(messages: Sequence[Json]) -> list[Json]:
    """The messages with the system's text at the beginning of the first user's."""
    system = [str(message.get("content") or "") for message in messages if message.get("role") == "system"]
    others = [message for message in messages if message.get("role") != "system"]
    first = next((index for index, message in enumerate(others) if message.get("role") == "user"), None)
    if first is None:
        return [{"role": "user", "content": "\n\n".join(system)}, *others]
    content = "\n\n".join([*system, str(others[first].get("content") or "")])
    return [*others[:first], {**others[first], "content": content}, *others[first + 1 :]]


def _cut(text: str) -> str:
    line = clean_line(text)
    return f'"{line if len(line) <= 200 else line[:199] + "…"}"'
