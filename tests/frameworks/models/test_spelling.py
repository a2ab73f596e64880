"""What `--model` may say beyond openai and policy."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tradefair.contract import HarnessFailure, ScenarioError
from tradefair.frameworks.models import Faults, open_chat_model, parse_model
from tradefair.frameworks.models.serving import open_address

ROOT = Path(__file__).parents[3]


def test_a_recording_is_a_model_by_its_path() -> None:
    endpoint = parse_model("replay:runs/C:/calls.jsonl")
    assert (endpoint.kind, endpoint.model, endpoint.label) == (
        "replay",
        "runs/C:/calls.jsonl",
        "replay:runs/C:/calls.jsonl",
    )
    with pytest.raises(ScenarioError, match="a recording has no base URL"):
        parse_model("replay:calls.jsonl", base_url="http://127.0.0.1:1/v1")


@pytest.mark.parametrize(
    ("provider", "package", "line"),
    [
        ("anthropic", "langchain_anthropic", "pip install 'tradefair[anthropic]'"),
        ("google_genai", "langchain_google_genai", "pip install 'tradefair[google]'"),
        ("nobody", "langchain", "pip install 'tradefair[langchain]' langchain-nobody"),
        ("anthropic", "langchain", "pip install 'tradefair[anthropic]'"),
    ],
)
def test_a_provider_whose_package_is_missing_is_answered_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, provider: str, package: str, line: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ScenarioError) as refused:
        parse_model(f"{provider}:some-model")
    assert str(refused.value) == f"'{provider}:some-model' needs an extra: {line}"
    extra = line.partition("[")[2].partition("]")[0]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert any(item.startswith("langchain") for item in extras[extra])


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


@pytest.mark.parametrize(
    ("text", "label", "params"),
    [
        ("openai:m", "openai:m", {}),
        ("openai:m()", "openai:m", {}),
        ("openai:m(temperature=0, reasoning_effort=low)", "openai:m(reasoning_effort=low, temperature=0)", None),
        ("openai:m(reasoning_effort=low,temperature=0)", "openai:m(reasoning_effort=low, temperature=0)", None),
        ('openai:m(stop=["a, b", ")"], x={"y": 1})', 'openai:m(stop=["a, b",")"], x={"y":1})', None),
        ('openai:m(user="7", seed=7)', 'openai:m(seed=7, user="7")', {"user": "7", "seed": 7}),
        ("openai:org/m:free(store=false)", "openai:org/m:free(store=false)", {"store": False}),
    ],
)
def test_fields_of_requests_stand_behind_the_model_in_one_order(text: str, label: str, params: Any) -> None:
    endpoint = parse_model(text)
    assert endpoint.label == label
    assert params in (None, endpoint.params)
    again = parse_model(label)
    assert (again, again.named) == (endpoint, frozenset(endpoint.params))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("openai:m(temperature=0", "not closed"),
        ("openai:m(temperature)", "'temperature' is not name=value"),
        ("openai:m(a=1, a=2)", "'a' stands there twice"),
        ("openai:m(messages=[])", "'messages' is no option"),
        ("openai:m(stream=true)", "'stream' is no option"),
        ("openai:m(=1)", "'' is no option"),
    ],
)
def test_fields_that_mean_nothing_are_refused(text: str, said: str) -> None:
    with pytest.raises(ScenarioError, match=said):
        parse_model(text)


@pytest.mark.parametrize(("text", "api"), [("openai:m", "rest"), ("policy:zip", "chat"), ("local", "responses")])
def test_an_api_that_cannot_be_chosen_is_refused(text: str, api: str) -> None:
    with pytest.raises(
        ScenarioError, match=r"is no API of an endpoint: auto, chat, responses$|no API to choose; openai:<model> has"
    ):
        parse_model(text, api=api)
