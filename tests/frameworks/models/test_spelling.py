"""What `--model` may say beyond openai and policy."""

from __future__ import annotations

import sys

import pytest

from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.frameworks.models import Faults, open_chat_model, parse_model
from tradefair.frameworks.models.serving import open_address


def test_a_recording_is_a_model_by_its_path() -> None:
    endpoint = parse_model("replay:runs/C:/calls.jsonl")
    assert (endpoint.kind, endpoint.model, endpoint.label) == (
        "replay",
        "runs/C:/calls.jsonl",
        "replay:runs/C:/calls.jsonl",
    )
    with pytest.raises(ScenarioError, match="a recording has no base URL"):
        parse_model("replay:calls.jsonl", base_url="http://127.0.0.1:1/v1")


def test_without_langchain_other_providers_are_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "langchain", None)
    with pytest.raises(ScenarioError, match=r"'anthropic:some-model'.*need the package langchain"):
        parse_model("anthropic:some-model")


async def test_with_langchain_a_provider_is_langchains_affair(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("langchain")
    endpoint = parse_model("nobody:some-model", options={"temperature": 0})
    assert (endpoint.kind, endpoint.model, endpoint.label) == ("langchain", "some-model", "nobody:some-model")
    with pytest.raises(HarnessFailure, match="TRADEFAIR_ALLOW_MODELS=0 refuses nobody:some-model"):
        async with open_chat_model(endpoint):
            pass
    monkeypatch.delenv("TRADEFAIR_ALLOW_MODELS")
    with pytest.raises(ScenarioError, match="nobody:some-model"):
        async with open_chat_model(endpoint):
            pass
    with pytest.raises(ScenarioError, match="can be recorded"):
        async with open_chat_model(endpoint, faults=Faults.parse("429@1")):
            pass
    with pytest.raises(HarnessFailure, match="has no address"):
        async with open_address(endpoint):
            pass


async def test_a_policy_that_was_not_attached_is_a_failure_of_the_harness() -> None:
    with pytest.raises(HarnessFailure, match="not attached"):
        async with open_address(parse_model("policy:zip")):
            pass
