"""Which model an agent uses, in the form that `--model` takes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from pydantic import JsonValue

from tradefair.contract import Policy, ScenarioError
from tradefair.contract.errors import needs_extra
from tradefair.contract.policy import parse_policy
from tradefair.frameworks.models.access import endpoint_url
from tradefair.frameworks.models.local.weights import label_of

if TYPE_CHECKING:
    from tradefair.frameworks.models.dialect import Api, Dialect, Note
    from tradefair.frameworks.models.prompts import Prompts

MAX_REPLY = 1_024
"""Tokens of one reply to a graph of ours, unless it is told otherwise: a model that does not stop fills its context."""

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
    request and its answer, `note` of what is learnt of the endpoint. `max_reply` bounds the tokens of a reply, in each
    request of a chat model. `api` is the one that is asked (a gateway's needs no learning); `named` are the fields that
    a person named.
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
    timeout_s: float = 120.0
    max_reply: int | None = None
    api: Api = "auto"
    named: frozenset[str] = frozenset()

    @property
    def dialect(self) -> Dialect:
        """How the model is spoken to: what one seat has learnt, all others know."""
        from tradefair.frameworks.models.dialect import dialect_of

        return dialect_of(endpoint_url(self.base_url), self.label, self.api, self.named)

    def with_policy(self, policy: Policy) -> ModelEndpoint:
        """The same endpoint with the live policy of one seat and episode.

        The policy is asked as it is: one that has to `see` hidden truth is not shown it (`players.check_told`).
        """
        if self.kind != "policy":
            raise ScenarioError(f"{self.label} is a model, not a policy")
        return replace(self, policy=policy)


def parse_model(
    text: str, *, base_url: str | None = None, options: Mapping[str, JsonValue] | None = None
) -> ModelEndpoint:
    """An endpoint from its text form; ScenarioError says what is allowed. `options` go into each request to a model."""
    kind, _, rest = text.strip().partition(":")
    # Only `openai:` endpoints have an address of their own; everything else must refuse one, not ignore it.
    if kind == "openai" and rest:
        return ModelEndpoint("openai", rest, f"openai:{rest}", dict(options or {}), base_url)
    if base_url is not None and (rest or kind == "local"):
        what = {"policy": "a policy", "replay": "a recording", "local": "a local model"}.get(
            kind, f"the provider {kind!r}"
        )
        raise ScenarioError(f"{text!r}: {what} has no base URL; openai:<model> has")
    if kind == "local":
        # Patient: several seats may wait for one engine, which answers them one after another.
        return ModelEndpoint("local", rest, label_of(rest), dict(options or {}), timeout_s=600.0)
    if kind == "policy" and rest:
        name, params = parse_policy(rest)
        return ModelEndpoint("policy", name, f"policy:{rest.strip()}", params)
    if kind == "replay" and rest:
        return ModelEndpoint("replay", rest, f"replay:{rest}", dict(options or {}))
    # Last: a provider is any name, so it would also take the three kinds above.
    if rest and _PROVIDER.fullmatch(kind):
        # Looked for before the trace exists: a run must not begin with a model that cannot be made.
        package, extra = _EXTRAS.get(kind, ("langchain", "langchain"))
        if find_spec("langchain") is None or find_spec(package) is None:
            others = "" if kind in _EXTRAS else f"langchain-{kind.replace('_', '-')}"
            raise ScenarioError(needs_extra(repr(text[:80]), extra, others))
        return ModelEndpoint("langchain", rest, f"{kind}:{rest}", dict(options or {}))
    raise ScenarioError(f"{text!r} is not a model: write {_SPELLINGS}")
