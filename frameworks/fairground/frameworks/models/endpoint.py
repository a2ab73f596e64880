"""Which model an agent uses, as `--model` spells it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import JsonValue

from fairground.contract.errors import ScenarioError
from fairground.contract.policy import Policy, parse_policy

__all__ = ["ModelEndpoint", "parse_model"]


@dataclass(frozen=True)
class ModelEndpoint:
    """`openai:<model>` behind any compatible base URL, or `policy:<name>(…)`.

    `params` are the policy's parameters, or further fields of each request (`temperature`). A policy is attached by
    the runner, which knows the market: frameworks do not.
    """

    kind: Literal["openai", "policy"]
    model: str
    label: str
    params: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    base_url: str | None = None
    policy: Policy | None = field(default=None, repr=False, compare=False)

    def with_policy(self, policy: Policy) -> ModelEndpoint:
        """The same endpoint with the live policy of one seat and episode; ScenarioError for a privileged one."""
        if self.kind != "policy":
            raise ScenarioError(f"{self.label} is a model, not a policy")
        if hasattr(policy, "see"):
            raise ScenarioError(f"{self.label} knows hidden truth: it plays as a scripted seat in process only")
        return replace(self, policy=policy)


def parse_model(
    text: str, *, base_url: str | None = None, options: Mapping[str, JsonValue] | None = None
) -> ModelEndpoint:
    """An endpoint from its spelling; ScenarioError says what is allowed. `options` go into each `openai:` request."""
    kind, _, rest = text.strip().partition(":")
    if kind == "policy" and rest:
        if base_url is not None:
            raise ScenarioError(f"{text!r}: a policy has no base URL")
        name, params = parse_policy(rest)
        return ModelEndpoint("policy", name, f"policy:{rest.strip()}", params)
    if kind == "openai" and rest:
        return ModelEndpoint("openai", rest, f"openai:{rest}", dict(options or {}), base_url)
    raise ScenarioError(f"{text!r} is not a model: write openai:<model> (with a base URL if need be) or policy:<name>")
