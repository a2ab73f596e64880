"""Three graphs, one loop: the same policy behind each of them makes the same calls, and what each adds is noted.

Also here:
- Agents of every framework play a market whose clock waits for nobody.
- The same policy on the same seed through every framework: the same actions, and a market that cannot tell.
- Graphs are drawn from what is compiled, on this machine.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.calling import moves
from tests.play_specs import play_spec
from tests.waiting import SOON

from tradefair.agents.prompt import PromptSet
from tradefair.catalog import load_scenario, market_type
from tradefair.cli import HARNESS_FAILURE, USAGE, run
from tradefair.contract import HarnessFailure, ScenarioError, ToolCall, Turns, TurnView
from tradefair.contract.kernel.players import Limits
from tradefair.evaluation.prove.verify import verify_file
from tradefair.frameworks import EXTRAS, load_framework
from tradefair.frameworks.langgraph import GRAPHS, LangGraphAgent
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import open_trace

each_graph = pytest.mark.parametrize("graph", list(GRAPHS))

TRACES: dict[tuple[str, str, str], tuple[Any, ...]] = {}


class Fumbler:
    """Is refused once a round, looks, and claims."""

    def turn(self, now: TurnView) -> Turns:
        yield ToolCall("claim", {"slices": 99})
        yield ToolCall("view_my_value")
        yield ToolCall("claim", {"slices": 1})


async def trace_of(folder: Path, framework: str, case: tuple[str, str, str], overrides: dict[str, Any]) -> Any:
    """What a policy's trace holds: its events after the first, outcome digest, its calls."""
    market, preset, policy = case
    scenario = load_scenario(market, preset, overrides)
    agent = AgentSpec(framework, f"policy:{policy}", limits=Limits(calls_per_round=400))
    plan = plan_seats(market_type(market), scenario)
    played = await play_episode(play_spec(market, scenario, 7, plan, agent, folder / framework))
    with open_trace(played.path) as trace:
        about = trace.manifest.about
        calls = [(event["tool"], event["arguments"]) for event in trace.decoded() if event["event"] == "tool_called"]
        return moves(played.path), about["outcome_digest"], calls


@each_graph
@pytest.mark.parametrize(
    ("case", "overrides"),
    [
        (("double_auction", "duel", "zip"), {}),
        (("retail", "smoke", "careful_reader"), {"horizon_days": 3}),
        pytest.param(("retail", "smoke", "careful_reader"), {"horizon_days": 14}, marks=pytest.mark.many),
    ],
    ids=["double_auction", "retail", "retail-whole"],
)
async def test_a_policy_writes_the_same_trace_through_every_graph_as_natively(
    tmp_path: Path, graph: str, case: tuple[str, str, str], overrides: dict[str, Any]
) -> None:
    key = (*case[:2], str(overrides))
    if key not in TRACES:
        TRACES[key] = await trace_of(tmp_path, "policy", case, overrides)
    assert await trace_of(tmp_path, graph, case, overrides) == TRACES[key]


@each_graph
@pytest.mark.parametrize("preset", ["pie", "talk"])
async def test_every_graph_plays_rounds_of_one_phase_and_of_two(teaching: Any, graph: str, preset: str) -> None:
    inside = await teaching.native(teaching.policy("random_legal"), preset)
    async with teaching.table(preset) as table:
        report = await table.play(graph, teaching.endpoint("random_legal"))
    seated = teaching.written(table)
    assert (seated.calls, seated.head) == (inside.calls, inside.head)
    assert (report.rounds, report.given_up, report.stop) == (3, {}, "episode_over")


@each_graph
@pytest.mark.parametrize("window", ["last_results(k=1)", "cleared_results(k=1)"])
async def test_a_policy_needs_no_more_than_its_last_answer_and_the_turn(teaching: Any, graph: str, window: str) -> None:
    inside = await teaching.native(Fumbler())
    async with teaching.table() as table, table.client() as client:
        agent = LangGraphAgent(graph, window=window)
        await agent.play(table.seat(client), teaching.around(Fumbler()), teaching.brief, Limits())
    assert teaching.written(table).head == inside.head


@each_graph
async def test_the_report_names_every_prompt_of_the_graph(teaching: Any, graph: str) -> None:
    async with teaching.table(rounds=1) as table:
        report = await table.play(graph, teaching.endpoint("half"))
    names = {
        "react": ["react"],
        "reflection": ["reflection", "reflector", "trial_reflector"],
        "plan_and_act": ["plan_and_act", "planner"],
    }[graph]
    assert report.prompt == PromptSet(*names).label
    assert report.prompt.count("@") == len(names)


@each_graph
async def test_a_silent_policy_lapses_phase_by_phase_in_every_graph(teaching: Any, graph: str) -> None:
    async with teaching.table("talk", rounds=1) as table:
        report = await table.play(graph, teaching.endpoint("passive"))
    assert table.lapses == [(1, "talk"), (1, "claim")]
    assert (report.given_up, report.rounds) == ({"no_call": 2}, 1)


@each_graph
async def test_every_reply_is_noted_once_with_its_role_and_what_it_took(teaching: Any, graph: str) -> None:
    async with teaching.table() as table:
        report = await table.play(graph, teaching.endpoint("half"))
    notes = [note for note in teaching.written(table).notes if note["kind"] == "model_call"]
    assert len(notes) == report.replies
    assert len({note["reply"] for note in notes}) == len(notes)
    other = {"react": [], "reflection": ["reflector"] * 2, "plan_and_act": ["planner"] * 3}[graph]
    assert [note["role"] for note in notes if note["role"] != "actor"] == other
    assert sum(note["input_tokens"] + note["output_tokens"] for note in notes) == (
        report.input_tokens + report.output_tokens
    )
    assert all(note["latency_s"] >= 0 and note["finish_reason"] in ("stop", "tool_calls") for note in notes)


async def test_a_lesson_is_noted_for_every_round_but_the_last(teaching: Any) -> None:
    async with teaching.table() as table:
        await table.play("reflection", teaching.endpoint("half"))
    lessons = [note for note in teaching.written(table).notes if note["kind"] == "lesson"]
    text = "The policy acts as before: it learns nothing from a round."
    assert [(note["round"], note["text"], note.get("rule")) for note in lessons] == [(1, text, None), (2, text, None)]


async def test_plans_and_the_place_of_every_call_in_them_are_noted(teaching: Any) -> None:
    async with teaching.table(rounds=1) as table:
        await table.play("plan_and_act", teaching.around(Fumbler()))
    notes = teaching.written(table).notes
    plans = [note for note in notes if note["kind"] == "plan"]
    assert [(note["round"], note["phase"], note["plan"], note["reason"]) for note in plans] == [
        (1, "claim", 1, "round"),
        (1, "claim", 2, "error"),
    ]
    step = {"intent": "act as the policy does", "check": "the turn is over", "times": 1}
    assert all(note["steps"] == [step] for note in plans)
    placed = [(note["plan"], note["reply"], note["calls"]) for note in notes if note["kind"] == "plan_calls"]
    inside = {"step": 0, "made": True, "outside": False}
    assert placed == [
        (1, "r1.1", [{"tool": "claim", "refused": True, **inside}]),
        (2, "r1.3", [{"tool": "view_my_value", "refused": False, **inside}]),
        (2, "r1.4", [{"tool": "claim", "refused": False, **inside}]),
    ]


async def test_a_plan_is_made_anew_after_so_many_calls(teaching: Any) -> None:
    async with teaching.table(rounds=1) as table, table.client() as client:
        agent = LangGraphAgent("plan_and_act", replan_every=1)
        await agent.play(table.seat(client), teaching.endpoint("half"), teaching.brief, Limits())
    plans = [note for note in teaching.written(table).notes if note["kind"] == "plan"]
    assert [note["reason"] for note in plans] == ["round", "calls"]


@each_graph
async def test_the_token_limit_counts_every_role(teaching: Any, graph: str) -> None:
    async with teaching.table(rounds=1) as table:
        report = await table.play(graph, teaching.endpoint("half"), Limits(tokens_per_round=1))
    assert (report.given_up, report.replies) == ({"token_limit": 1}, 1)
    assert teaching.written(table).calls == []


async def test_trials_are_off_unless_asked_for(teaching: Any) -> None:
    written: dict[str, list[Any]] = {}
    for name, trials in (("off", None), ("on", ("bid lower",))):
        async with teaching.table() as table, table.client() as client:
            agent = LangGraphAgent("reflection", trials=trials)
            await agent.play(table.seat(client), teaching.endpoint("half"), teaching.brief, Limits())
        written[name] = [note for note in teaching.written(table).notes if note["kind"] == "trial_reflection"]
    assert written["off"] == []
    assert [(note["trial"], note["text"]) for note in written["on"]] == [
        (2, "The policy acts as before: it learns nothing from an episode.")
    ]


async def test_unknown_graphs_and_windows_and_missing_models_are_refused(teaching: Any) -> None:
    with pytest.raises(ScenarioError, match="there are plan_and_act, react, reflection"):
        LangGraphAgent("tree_of_thoughts")
    with pytest.raises(ScenarioError, match="not a window"):
        load_framework("reflection")(window="some")
    with pytest.raises(ScenarioError, match="by the reflection graph, not by react"):
        LangGraphAgent("react", trials=())
    async with teaching.table() as table, table.client() as client:
        with pytest.raises(HarnessFailure, match="needs a model"):
            await LangGraphAgent().play(table.seat(client), None, teaching.brief, Limits())


@pytest.mark.network
@pytest.mark.parametrize("framework", ["policy", "react", "reflection", "plan_and_act", "openai_loop"])
async def test_three_customers_are_served_while_the_clock_goes_on(framework: str, tmp_path: Path) -> None:
    """Long ticks, of which replies need three: on a busy machine each may pass in the midst of a turn."""
    kind = market_type("marketplace")
    free = {"clock": "free", "timing.free_tick_s": 20 * SOON}
    scenario = load_scenario("marketplace", "small_demo", free)
    agent = AgentSpec(framework, "policy:item_searcher", limits=Limits(calls_per_round=200))
    spec = play_spec(
        market=kind.name, scenario=scenario, seed=3, plan=plan_seats(kind, scenario), agent=agent, folder=tmp_path
    )
    played = await play_episode(spec)
    assert verify_file(played.path).verdict == "reproduced"
    with open_trace(played.path) as trace:
        events = list(trace.decoded())
    assert {event["source"] for event in events if event["event"] == "input"} == {"clock_tick"}
    assert [each["purchases"] for each in events[-1]["facts"]["customers"].values()] == [1, 1, 1]


SEED = 7
TASKS = {
    "double_auction": ("duel", "policy:zip"),
    "retail": ("smoke", "policy:careful_reader"),
    "supply_chain": ("gated", "policy:adaptive"),
    "marketplace": ("small_demo", "policy:item_searcher"),
    "bargaining": ("smoke", "policy:fair_split"),
    # Policies that look first: at past prices and the profit of others, at the book and their own orders.
    "pricing": ("curriculum", "policy:best_reply"),
    "order_book": ("asset_short", "policy:fundamentalist"),
}
ALWAYS = ("react", "reflection", "plan_and_act", "openai_loop")


class Played(NamedTuple):
    """What a trace says of the market; moves hold reads and refusals as well."""

    accepted: list[tuple[str, Any]]
    outcome: str
    moves: list[bytes]


def _cases() -> Iterator[Any]:
    for market in TASKS:
        yield from (pytest.param(market, name) for name in ALWAYS)
        for name, extra in EXTRAS.items():
            missing = find_spec(extra.module) is None
            skip = pytest.mark.skipif(missing, reason=f"{extra.module} is not installed")
            yield pytest.param(market, name, marks=[skip])


async def _play(market: str, framework: str, folder: Path) -> Played:
    preset, policy = TASKS[market]
    kind, scenario = market_type(market), load_scenario(market, preset)
    agent = AgentSpec(framework, policy, limits=Limits(calls_per_round=200))
    spec = play_spec(
        market=market, scenario=scenario, seed=SEED, plan=plan_seats(kind, scenario), agent=agent, folder=folder
    )
    played = await play_episode(spec)
    with open_trace(played.path) as trace:
        about = trace.manifest.about
        accepted = [
            (event["tool"], event["arguments"])
            for event in trace.decoded()
            if event["event"] == "tool_called" and event["seat"] in played.agents and _is_accepted(event)
        ]
        return Played(accepted, str(about["outcome_digest"]), moves(played.path))


def _is_accepted(event: Mapping[str, Any]) -> bool:
    return event["kind"] == "action" and event["status"] == "ok"


@pytest.mark.network
@pytest.mark.parametrize(("market", "framework"), list(_cases()))
async def test_the_same_policy_makes_the_same_market_through_every_framework(
    market: str, framework: str, tmp_path: Path
) -> None:
    inside = await _play(market, "policy", tmp_path / "inside")
    seated = await _play(market, framework, tmp_path / "seated")
    assert seated.accepted == inside.accepted
    assert seated.outcome == inside.outcome
    assert seated.moves == inside.moves
    assert inside.accepted


PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("name", list(GRAPHS))
def test_a_graph_is_printed_as_mermaid_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "agents", name]) == 0
    text = capsys.readouterr().out
    assert "graph TD;" in text
    assert {"react": "agent -.-> tools;", "reflection": "reflect --> __end__;", "plan_and_act": "tools -.-> planner;"}[
        name
    ] in text
    assert "approve" not in text


def test_a_persons_word_is_a_node_before_the_tools(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "agents", "reflection", "--approve"]) == 0
    text = capsys.readouterr().out
    assert "approve --> tools;" in text
    assert "agent -.-> tools;" not in text


def test_without_a_name_the_graphs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "agents"]) == 0
    assert capsys.readouterr().out.split() == list(GRAPHS)
    assert run(["show", "agents", "--approve"]) == USAGE
    assert "name the graph: react, reflection, plan_and_act" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_a_png_is_drawn_by_the_local_graphviz(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "graph.png"
    assert run(["show", "agents", "plan_and_act", "--png", str(path)]) == 0
    assert path.read_bytes().startswith(PNG)
    assert run(["show", "agents", "react", "--png", str(tmp_path / "nowhere" / "graph.png")]) == HARNESS_FAILURE
    assert "dot could not write graph.png" in capsys.readouterr().err


def test_without_graphviz_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["show", "agents", "react", "--png", str(tmp_path / "graph.png")]) == HARNESS_FAILURE
    assert "needs graphviz's dot on this machine; without it, print the mermaid text" in capsys.readouterr().err
    assert run(["show", "agents", "nobody"]) == USAGE
    assert "there are plan_and_act, react, reflection" in capsys.readouterr().err
