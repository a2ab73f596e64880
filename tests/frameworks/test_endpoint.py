"""Spellings of models and frameworks, and what importing them costs.

Also here:
- Frameworks by name: ours, those whose package is missing, those of others.
- No agent sends what it does to a tracing service, whatever the environment asks for.
- The reference loop: what it asks for, what it makes of odd answers, what it says of itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.outside import Answer, Asked, endpoint
from tests.waiting import LONG

from tradefair.agents.prompt import load_prompt
from tradefair.contract import HarnessFailure, ScenarioError, Turns, TurnView
from tradefair.frameworks import EXTRAS, FRAMEWORKS, GROUP, find, load_framework
from tradefair.frameworks.langgraph import GRAPHS, LangGraphAgent
from tradefair.frameworks.models import parse_model


def test_a_model_behind_an_endpoint_keeps_its_name_whatever_signs_it_holds() -> None:
    endpoint = parse_model("openai:org/model:7b", base_url="http://127.0.0.1:1/v1", options={"temperature": 0})
    assert (endpoint.kind, endpoint.model, endpoint.label) == ("openai", "org/model:7b", "openai:org/model:7b")
    assert endpoint.base_url == "http://127.0.0.1:1/v1"
    assert endpoint.params == {"temperature": 0}


def test_a_policy_keeps_its_parameters_in_its_label() -> None:
    endpoint = parse_model("policy:half(greed=2, mood=keen)")
    assert (endpoint.kind, endpoint.model) == ("policy", "half")
    assert endpoint.params == {"greed": 2, "mood": "keen"}
    assert endpoint.label == "policy:half(greed=2, mood=keen)"


@pytest.mark.parametrize("text", ["", "zip", "openai:", "policy:", "policy:Zip!", "replay:", "Gate way:x", "9:x"])
def test_what_is_no_model_is_refused(text: str) -> None:
    with pytest.raises(ScenarioError):
        parse_model(text)


def test_a_policy_has_no_base_url() -> None:
    with pytest.raises(ScenarioError, match="no base URL"):
        parse_model("policy:half", base_url="http://127.0.0.1:1/v1")


def test_a_model_takes_no_policy() -> None:
    class Idle:
        def turn(self, now: TurnView) -> Turns:
            yield from ()

    with pytest.raises(ScenarioError, match="is a model"):
        parse_model("openai:tiny").with_policy(Idle())


@pytest.mark.parametrize("name", sorted(FRAMEWORKS))
def test_every_registered_framework_is_there_whatever_is_installed(name: str) -> None:
    assert callable(find(FRAMEWORKS, name, "framework"))


@pytest.mark.parametrize("name", sorted(GRAPHS))
def test_every_registered_graph_is_there(name: str) -> None:
    assert LangGraphAgent(name).name == "langgraph"


def test_an_unknown_framework_or_graph_names_what_there_is() -> None:
    with pytest.raises(
        ScenarioError, match=r"external, langchain_agent, langgraph, openai_agents, openai_loop, person, .* all"
    ):
        load_framework("nobody")
    with pytest.raises(ScenarioError, match="react"):
        LangGraphAgent("nobody")


def _slow(module: str, heavy: str) -> Any:
    return pytest.param(module, heavy)


@pytest.mark.parametrize(
    ("module", "heavy"),
    [
        _slow("tradefair.frameworks", "langgraph langchain_core openai mcp numpy"),
        _slow("tradefair.frameworks.base", "langgraph langchain_core openai mcp numpy"),
        _slow("tradefair.frameworks.models", "langgraph langchain_core openai mcp numpy"),
        _slow("tradefair.frameworks.external", "langgraph langchain_core openai mcp numpy"),
        _slow("tradefair.frameworks.policy", "langgraph langchain_core openai"),
        _slow("tradefair.frameworks.models.seat_chat", "langgraph openai"),
        # Windows are over langchain's messages.
        _slow("tradefair.frameworks.langgraph", "langgraph openai"),
        ("tradefair.frameworks.openai_loop", "langgraph langchain_core numpy"),
        _slow("tradefair.frameworks.openai_agents", "langgraph langchain_core numpy agents"),
        _slow("tradefair.frameworks.pydantic_ai", "langgraph langchain_core numpy pydantic_ai"),
        _slow("tradefair.frameworks.langchain_agent", "langgraph openai numpy langchain"),
    ],
)
def test_importing_a_framework_imports_no_library_that_it_does_not_need(module: str, heavy: str) -> None:
    code = f"import sys, {module}; print(*(name for name in '{heavy}'.split() if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=True)
    assert done.stdout.strip() == ""


def test_agents_and_frameworks_import_no_market_host_or_evaluation() -> None:
    models = "tradefair.frameworks.models.seat_chat tradefair.frameworks.models.client"
    modules = f"tradefair.frameworks.langgraph tradefair.agents.graphs.react {models}"
    banned = "host catalog evaluation trading teaching double_auction runner testing"
    code = (
        f"import sys, {', '.join(modules.split())}\n"
        f"print(*(name for name in '{banned}'.split() if 'tradefair.' + name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=True)
    assert done.stdout.strip() == ""


_MODULE = """
class Mine:
    name = "mine"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of somebody else that announces a framework and, under the name of one of ours, another."""
    about = tmp_path / "stranger-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\nmine = stranger_agent:Mine\nreact = stranger_agent:Mine\n")
    (tmp_path / "stranger_agent.py").write_text(_MODULE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])


@pytest.mark.usefixtures("installed")
def test_an_installed_package_brings_a_framework_by_its_entry_point_and_replaces_none() -> None:
    assert load_framework("mine")().name == "mine"
    assert load_framework("react")().name == "langgraph"


@pytest.mark.usefixtures("installed")
def test_a_name_that_nobody_announced_is_refused_with_those_there_are() -> None:
    with pytest.raises(ScenarioError, match=r"there is no framework 'os:system'; .*mine"):
        load_framework("os:system")


@pytest.mark.parametrize("framework", EXTRAS)
def test_a_framework_whose_package_is_missing_says_how_to_get_it(
    framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, EXTRAS[framework].module, raising=False)
    with pytest.raises(ScenarioError, match=rf"pip install 'tradefair\[{EXTRAS[framework].name}\]'"):
        load_framework(framework)


def test_every_extra_is_one_of_the_frameworks() -> None:
    assert EXTRAS.keys() <= FRAMEWORKS.keys()


@pytest.mark.parametrize("framework", ["react", "reflection", "plan_and_act", "langchain_agent", "openai_loop"])
def test_an_agent_is_traced_to_nobody(framework: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tradefair.cli", "play", "teaching", "--agent", framework, "--out", str(tmp_path)]
    sent: list[Asked] = []
    with endpoint(lambda asked: sent.append(asked) or Answer(200, "{}")) as address:
        wished = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": address, "LANGSMITH_API_KEY": "none"}
        command += ["--model", "policy:half"]
        done = subprocess.run(command, env=os.environ | wished, capture_output=True, check=False, timeout=LONG)
    assert (done.returncode, sent) == (0, []), done.stderr


CLAIM = ("claim", '{"slices": 1}')


async def play(teaching: Any, model: Any) -> Any:
    """One round played with a scripted model; the report and what was written."""
    async with teaching.table(rounds=1) as table, model.served() as endpoint:
        report = await table.play("openai_loop", endpoint)
    return report, teaching.written(table)


@pytest.mark.network
async def test_each_round_begins_with_the_prompt_and_the_turn_and_no_other_message(teaching: Any, script: Any) -> None:
    model = script(script.says(CLAIM, text="I take one."), script.says(CLAIM))
    async with teaching.table(rounds=2) as table, model.served() as endpoint:
        await table.play("openai_loop", endpoint)
    first, second = (request["messages"] for request in model.requests)
    assert [message["role"] for message in (*first, *second)] == ["system", "user", "system", "user"]
    assert load_prompt("react").template.partition("\n")[0] in first[0]["content"]
    assert first[1]["content"].startswith("Round 1, phase claim. It is your turn.\n\n```json turn_view\n")
    assert 'round 1, after 0 reads:\n  claim {"slices":1} ->' in second[1]["content"]


@pytest.mark.network
async def test_the_model_is_told_of_every_tool_but_waiting_with_the_servers_own_schema(
    teaching: Any, script: Any
) -> None:
    model = script(script.says(CLAIM))
    async with teaching.table(rounds=1) as table, model.served() as endpoint:
        async with table.client() as client:
            listed = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
        await table.play("openai_loop", endpoint)
    shown = {tool["function"]["name"]: tool["function"]["parameters"] for tool in model.requests[0]["tools"]}
    assert shown == {name: schema for name, schema in listed.items() if name != "await_turn"}


@pytest.mark.network
async def test_an_endpoint_may_give_one_id_to_several_calls(teaching: Any, script: Any) -> None:
    model = script(script.says(("view_my_value", ""), ("view_rules", ""), same_id=True), script.says(CLAIM))
    _, written = await play(teaching, model)
    assert [tool for tool, _ in written.calls] == ["view_my_value", "view_rules", "claim"]
    first, second = model.requests[1]["messages"][3:]
    assert "value_per_slice" in json.loads(first["content"])
    assert "objective" in json.loads(second["content"])


@pytest.mark.network
async def test_a_malformed_call_is_answered_and_stands_in_the_history_as_json(teaching: Any, script: Any) -> None:
    model = script(script.says(("claim", '{"slices": 1'), ("claim", "[1]")), script.says(CLAIM))
    _, written = await play(teaching, model)
    sent, first, second = model.requests[1]["messages"][2:]
    arguments = [json.loads(call["function"]["arguments"]) for call in sent["tool_calls"]]
    assert arguments == [{"malformed_arguments": '{"slices": 1'}, {"malformed_arguments": "[1]"}]
    assert {json.loads(message["content"])["code"] for message in (first, second)} == {"invalid_arguments"}
    assert (written.notes[0]["calls"], written.notes[0]["invalid_calls"]) == ([], 2)


@pytest.mark.network
async def test_a_note_says_what_a_reply_cost_and_why_it_ended(teaching: Any, script: Any) -> None:
    report, written = await play(teaching, script(script.says(CLAIM)))
    (note,) = written.notes
    assert 0 < note.pop("latency_s") < 60
    assert note == {
        "seat": "P1",
        "kind": "model_call",
        "round": 1,
        "phase": "claim",
        "reply": "r1.0",
        "role": "actor",
        "model": "scripted",
        "text": "",
        "calls": ["claim"],
        "invalid_calls": 0,
        "input_tokens": 10,
        "output_tokens": 2,
        "usage_estimated": True,
        "finish_reason": "tool_calls",
    }
    assert (report.model, report.prompt, report.usage_estimated) == (
        "openai:scripted",
        load_prompt("react").label,
        True,
    )


_NO_COMPLETIONS: list[dict[str, Any]] = [
    {"choices": []},
    {"choices": [{"message": None}]},
    {"choices": [{"message": {"content": None, "tool_calls": [{"type": "function"}]}}]},
]


@pytest.mark.network
@pytest.mark.parametrize("body", _NO_COMPLETIONS)
async def test_what_is_no_chat_completion_is_a_harness_failure(
    teaching: Any, script: Any, body: dict[str, Any]
) -> None:
    with pytest.raises(
        HarnessFailure, match=r"openai_loop, scripted at http://127\.0\.0\.1:\d+/v1/?: the reply is not understood"
    ):
        await play(teaching, script(body))
