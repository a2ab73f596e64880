"""Which model an agent uses, in the form that `--model` takes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal, cast

from pydantic import JsonValue

from tradefair.contract import Policy, ScenarioError
from tradefair.contract.errors import needs_extra
from tradefair.contract.policy import parse_policy
from tradefair.frameworks.models.access import api_key, check_allowed, endpoint_url
from tradefair.frameworks.models.local.weights import label_of

if TYPE_CHECKING:
    from tradefair.frameworks.models.budget import Budget
    from tradefair.frameworks.models.dialect import Api, Dialect, Note
    from tradefair.frameworks.models.prompts import Prompts

MAX_REPLY = 1_024
"""Tokens of one reply to a graph of ours, unless it is told otherwise: a model that does not stop fills its context."""

APIS = ("auto", "chat", "responses")
"""What `--api` takes."""

# Fields that a request has from us.
_OURS = frozenset({"model", "messages", "tools", "stream", "input"})
# The names of langchain's providers; anything else before the colon is a mistake in the model's name.
_PROVIDER = re.compile(r"[a-z][a-z0-9_]*")
# Provider, as LangChain names it -> (its module, the extra that brings it).
_EXTRAS = {"anthropic": ("langchain_anthropic", "anthropic"), "google_genai": ("langchain_google_genai", "google")}
_SPELLINGS = "openai:<model> (with a base URL if need be), local, policy:<name>, replay:<file> or <provider>:<model>"


@dataclass(frozen=True)
class ModelEndpoint:
    """`openai:<model>` behind any compatible base URL, `local`, `policy:<name>(…)`, `replay:<file>`, or a provider's.

    `model` is the model's name, the policy's, or the file's path (empty: the weights of the package); `params` are the
    policy's parameters, or further fields of each request (`temperature`). A policy is attached by the runner, which
    knows the market: frameworks do not. `api_key` is set for gateways of this process only; every other key comes from
    the environment. `timeout_s` is how long a client waits for a reply before it asks again. `prompts` is told of each
    request and its answer, `note` of what is learnt of the endpoint, `budget` says when it is asked no more.
    `max_reply` bounds the tokens of a reply, in each request of a chat model. `api` is the one that is asked (a
    gateway's needs no learning); `named` are the fields that a person named.
    """

    kind: Literal["openai", "local", "policy", "replay", "langchain"]
    model: str
    label: str
    params: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    base_url: str | None = None
    policy: Policy | None = field(default=None, repr=False, compare=False)
    api_key: str | None = field(default=None, repr=False, compare=False)
    prompts: Prompts | None = field(default=None, repr=False, compare=False)
    note: Note | None = field(default=None, repr=False, compare=False)
    budget: Budget | None = field(default=None, repr=False, compare=False)
    timeout_s: float = 120.0
    max_reply: int | None = None
    api: Api = "auto"
    named: frozenset[str] = frozenset()

    @property
    def dialect(self) -> Dialect:
        """How the model is spoken to: what one seat has learnt, all others know."""
        from tradefair.frameworks.models.dialect import dialect_of

        return dialect_of(endpoint_url(self.base_url), self.label, self.api, self.named)

    @property
    def address(self) -> tuple[str, str]:
        """The URL that is asked, and its key. Raises HarnessFailure where it may not be asked, ScenarioError."""
        url = endpoint_url(self.base_url)
        check_allowed(url)
        return url, self.api_key or api_key(url)

    def with_policy(self, policy: Policy) -> ModelEndpoint:
        """The same endpoint with the live policy of one seat and episode.

        The policy is asked as it is: one that has to `see` hidden truth is not shown it (`players.check_told`).
        """
        if self.kind != "policy":
            raise ScenarioError(f"{self.label} is a model, not a policy")
        return replace(self, policy=policy)


def parse_model(
    text: str, *, base_url: str | None = None, options: Mapping[str, JsonValue] | None = None, api: str = "auto"
) -> ModelEndpoint:
    """An endpoint from its text form; ScenarioError says what is allowed. `options` go into each request to a model.

    So do the fields that stand in the text, as in `openai:<model>(reasoning_effort=low)`; they are part of the label.
    """
    kind, _, rest = text.strip().partition(":")
    # Paths may have parentheses, and a policy's are its own.
    rest, fields = (rest, {}) if kind in ("policy", "replay", "local") else read_fields(rest)
    if not rest and kind != "local":
        raise ScenarioError(f"{text!r} is not a model: write {_SPELLINGS}")
    _check_asked_as(text, kind, base_url, api)
    asked = {**fields, **(options or {})}
    named = frozenset(asked)
    if kind == "openai":
        label = f"openai:{spell_fields(rest, fields)}"
        return ModelEndpoint("openai", rest, label, asked, base_url, api=cast("Api", api), named=named)
    if kind == "local":
        # Patient: several seats may wait for one engine, which answers them one after another.
        return ModelEndpoint("local", rest, label_of(rest), asked, timeout_s=600.0)
    if kind == "policy":
        name, params = parse_policy(rest)
        return ModelEndpoint("policy", name, f"policy:{rest.strip()}", params)
    if kind == "replay":
        return ModelEndpoint("replay", rest, f"replay:{rest}", asked)
    # Last: a provider is any name, so it would also take the three kinds above.
    if not _PROVIDER.fullmatch(kind):
        raise ScenarioError(f"{text!r} is not a model: write {_SPELLINGS}")
    _check_installed(text, kind)
    return ModelEndpoint("langchain", rest, f"{kind}:{spell_fields(rest, fields)}", asked)


def _check_installed(text: str, provider: str) -> None:
    """Before the trace exists: a run must not begin with a model that cannot be made."""
    package, extra = _EXTRAS.get(provider, ("langchain", "langchain"))
    if find_spec("langchain") is None or find_spec(package) is None:
        others = "" if provider in _EXTRAS else f"langchain-{provider.replace('_', '-')}"
        raise ScenarioError(needs_extra(repr(text[:80]), extra, others))


def _check_asked_as(text: str, kind: str, base_url: str | None, api: str) -> None:
    """Only `openai:` endpoints have an address of their own, and two APIs; everything else refuses both."""
    if api not in APIS:
        raise ScenarioError(f"{api[:80]!r} is no API of an endpoint: {', '.join(APIS)}")
    if kind == "openai" or (base_url is None and api == "auto"):
        return
    names = {"policy": "a policy", "replay": "a recording", "local": "a local model"}
    lacks = "base URL" if base_url is not None else "API to choose"
    raise ScenarioError(f"{text!r}: {names.get(kind, f'the provider {kind!r}')} has no {lacks}; openai:<model> has")


def read_fields(text: str) -> tuple[str, dict[str, JsonValue]]:
    """A model's name, and the fields in parentheses behind it; values are JSON, bare words are text.

    Raises ScenarioError for what is neither, for a name that stands there twice and for those that a request has.
    """
    name, opened, inside = text.partition("(")
    if not opened:
        return text, {}
    if not inside.endswith(")"):
        raise ScenarioError(f"{text[:200]!r}: the parenthesis is not closed: write model(name=value)")
    fields: dict[str, JsonValue] = {}
    rest = inside[:-1].strip()
    while rest:
        key, sign, rest = rest.partition("=")
        value, end = _value(rest.strip()) if sign else ("", 0)
        rest = rest.strip()[end:].lstrip()
        if not sign or (rest and not rest.startswith(",")):
            raise ScenarioError(f"{text[:200]!r}: {key.strip()[:80]!r} is not name=value")
        add_field(fields, key.strip(), value)
        rest = rest[1:].lstrip()
    return name.strip(), fields


def add_field(fields: dict[str, JsonValue], name: str, value: JsonValue) -> None:
    """Put a field of requests beside others. Raises ScenarioError where it stands there, or is not a person's."""
    if name in fields:
        raise ScenarioError(f"the model's option {name[:80]!r} stands there twice")
    if name in _OURS or not re.fullmatch(r"[A-Za-z_]\w{0,79}", name):
        raise ScenarioError(f"{name[:80]!r} is no option of a model's requests, as temperature=0 is")
    fields[name] = value


def spell_fields(name: str, fields: Mapping[str, JsonValue]) -> str:
    """A model's name with its fields, in their order by name: `read_fields` reads the same."""
    said = ", ".join(f"{key}={_spelt(value)}" for key, value in sorted(fields.items()))
    return f"{name}({said})" if said else name


def _value(text: str) -> tuple[JsonValue, int]:
    """The value that a text begins with, and where it ends."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
        if not text[end:].strip() or text[end:].lstrip().startswith(","):
            return value, end
    except (ValueError, RecursionError):
        pass
    # A bare word, which needs no quotes on a command line.
    word = text.partition(",")[0]
    return word.strip(), len(word)


def _spelt(value: JsonValue) -> str:
    bare = isinstance(value, str) and re.fullmatch(r"[A-Za-z_][\w.-]*", value) and _value(value)[0] == value
    return str(value) if bare else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
