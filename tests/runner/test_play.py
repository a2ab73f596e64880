"""The runner: the same policy behind any framework plays the same episode; what an agent may not be is refused.

Also here:
- An agent's options are read once, in one module, and a ready agent may be anybody's.
- Policies that must be told what a scenario hides: in process only, in nobody's place, and marked as such.
- Trials: one episode played again, opened by what the agent wrote when it ended.
- Episodes that no outside seat can join: their traces appear whole, or as those of a live episode that failed.
- Model calls are recorded and replayed: `tradefair play --record` and `--replay`, through the command line.
"""

from __future__ import annotations

import ast
import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import JsonValue
from tests.calling import moves
from tests.options_files import options_file
from tests.play_specs import play_spec, preset_spec
from tests.waiting import SOON

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run
from tradefair.cli import run as tradefair
from tradefair.contract import (
    Brief,
    Draw,
    HarnessFailure,
    PolicySpec,
    ScenarioError,
    ToolCall,
    TradefairError,
    Turns,
    TurnView,
)
from tradefair.contract.chain import canonical, digest
from tradefair.contract.kernel.players import Limits, Seating, stand_ins
from tradefair.evaluation.prove.verify import verify_file
from tradefair.frameworks.base import SeatConnection, SeatReport
from tradefair.frameworks.models.endpoint import ModelEndpoint
from tradefair.frameworks.policy import PolicyAgent
from tradefair.host.episode.setup import is_closed, seating_of
from tradefair.host.seats.plans import STAND_IN, SeatPlan, plan_seats
from tradefair.runner.ledger.replays import Replays
from tradefair.runner.play.agent_spec import AgentSpec, ReadyAgent, ready
from tradefair.runner.play.episode_runner import Played, PlaySpec, play_episode, recorded_agent
from tradefair.runner.play.references import (
    play_on_every_seat,
    play_references,
    policies_on_every_seat,
    reference_policies,
    references_of,
)
from tradefair.runner.play.summary import Summary, summarise
from tradefair.runner.play.trials import play_trials, written_after
from tradefair.runner.play.whole import play_whole, play_whole_aside
from tradefair.tracestore import open_trace


def about(played: Played) -> dict[str, object]:
    with open_trace(played.path) as trace:
        return trace.manifest.about


@pytest.mark.parametrize(
    ("market", "scenario", "policy"),
    [
        ("double_auction", "duel", "zip"),
        ("double_auction", "smoke", "zic"),
        ("teaching", "talk", "half"),
        ("teaching", "pie", "random_legal"),
    ],
)
async def test_a_policy_behind_the_react_graph_plays_the_episode_that_it_plays_natively(
    tmp_path: Path, market: str, scenario: str, policy: str
) -> None:
    played_as: set[bytes] = set()
    for framework in ("react", "policy"):
        agent = AgentSpec(framework, f"policy:{policy}")
        played = await play_episode(preset_spec(market, scenario, agent, tmp_path / framework))
        assert verify_file(played.path).verdict == "reproduced"
        played_as.add(b"".join(moves(played.path)))
    assert len(played_as) == 1


async def test_several_agents_act_in_seat_order_so_that_runs_are_equal(tmp_path: Path) -> None:
    heads: list[object] = []
    for name in ("a", "b"):
        agent = AgentSpec("react", "policy:zip")
        spec = preset_spec("double_auction", "smoke", agent, tmp_path / name, agents=["B1", "B2", "S2"])
        played = await play_episode(spec)
        assert list(played.reports) == ["B1", "B2", "S2"]
        heads.append(about(played)["head_hash"])
    assert heads[0] == heads[1]


@pytest.mark.parametrize("framework", ["policy", "react"])
async def test_the_agents_key_changes_its_draws_alone_and_is_in_the_first_event(tmp_path: Path, framework: str) -> None:
    spec = preset_spec("double_auction", "smoke", AgentSpec(framework, "policy:zic"), tmp_path, others="zic")
    quotes: list[dict[str, int]] = []
    for keys in ({}, {"agent_key": 5}, {"policy_key": 5, "agent_key": 0}):
        played = await play_episode(replace(spec, **keys))
        assert verify_file(played.path).sound
        with open_trace(played.path) as trace:
            assert (trace.seating().policy_key, trace.seating().agent_key) == (
                keys.get("policy_key", 0),
                keys.get("agent_key", 0),
            )
            first = [event for event in trace.decoded() if event.get("tool") == "submit_quote" and event["round"] == 1]
        quotes.append({event["seat"]: event["arguments"]["price"] for event in first})
    usual, other_agent, other_field = quotes
    assert {seat for seat in usual if usual[seat] != other_agent[seat]} == {"B1"}
    assert usual["B1"] == other_field["B1"]
    assert any(usual[seat] != other_field[seat] for seat in usual)


async def test_a_policy_that_never_acts_lapses_and_the_episode_still_ends(tmp_path: Path) -> None:
    played = await play_episode(preset_spec("double_auction", "smoke", AgentSpec("react", "policy:passive"), tmp_path))
    assert played.end_reason == "terminated:rounds_completed"
    with open_trace(played.path) as trace:
        lapses = [event for event in trace.decoded() if event["event"] == "seat_lapsed"]
    assert [(lapse["seat"], lapse["reason"]) for lapse in lapses] == [("B1", "agent_limit")] * 3


async def test_an_agent_at_its_call_limit_gives_the_round_up_by_lapsing(tmp_path: Path) -> None:
    agent = AgentSpec("react", "policy:truthful", limits=Limits(calls_per_round=1))
    played = await play_episode(preset_spec("double_auction", "smoke", agent, tmp_path))
    assert played.end_reason == "terminated:rounds_completed"
    assert played.reports["B1"].given_up.get("call_limit", 0) >= 1


async def test_references_play_the_same_seat_on_the_same_luck(tmp_path: Path) -> None:
    spec = preset_spec("double_auction", "bazaar", AgentSpec("policy", "policy:zip"), tmp_path)
    traces = await play_references(spec, ["B1"], reference_policies(spec.kind, "buyer"))
    assert set(traces) == {"passive", "truthful", "kaplan"}
    first_facts: set[bytes] = set()
    for policy, path in traces.items():
        with open_trace(path) as trace:
            assert trace.manifest.core.seed == 7
            assert trace.seating().players["B1"].policy == policy
            first = next(event for event in trace.decoded() if event["event"] == "round_closed")
            first_facts.add(repr((first["facts"]["opening"], first["facts"]["quote_order"])).encode())
    assert len(first_facts) == 1


async def test_references_of_several_seats_sit_in_all_of_them_if_they_play_their_roles(tmp_path: Path) -> None:
    spec = preset_spec("marketplace", "small_demo", AgentSpec("policy", "policy:item_searcher"), tmp_path)
    played = await play_episode(spec)
    assert len(played.agents) == 3
    assert reference_policies(spec.kind, "customer", "business") == ["passive"]
    traces = await references_of(spec, played.agents)
    assert set(traces) == {"passive", "item_searcher", "oracle"}
    summary = summarise(played, traces)
    assert summary.verdict.together is not None
    assert {row.name: row.value == summary.verdict.together.score.value for row in summary.verdict.together.beside} == {
        "passive": False,
        "item_searcher": True,
        "oracle": True,
    }
    assert "at list prices, as much as item_searcher (" in summary.verdict.text


async def test_an_equilibrium_is_played_on_every_seat_under_the_same_limits(tmp_path: Path) -> None:
    spec = preset_spec("bargaining", "smoke", AgentSpec("policy", "policy:truthful"), tmp_path, agents=["B1", "S1"])
    policies = policies_on_every_seat(spec.kind, ["buyer", "seller"])
    assert policies == ["linear_equilibrium"]
    traces = await play_on_every_seat(spec, policies)
    (path,) = traces.values()
    assert (list(traces), path.name) == (["all:linear_equilibrium"], "all-linear_equilibrium.trace")
    with open_trace(path) as trace:
        assert set(trace.seating().scripted.values()) == {"linear_equilibrium"}
        closed = [event for event in trace.decoded() if event["event"] == "round_closed"]
    # v = 70, c = 30: bids 55 and asks 45 in each of the three rounds.
    assert [event["facts"]["record"]["price"] for event in closed] == [50] * 3


async def test_a_market_is_shown_beside_its_reference_population(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = preset_spec("supply_chain", "duel", AgentSpec("policy", "policy:cost_plus"), tmp_path)
    played = await play_episode(spec)
    traces = await play_on_every_seat(spec, policies_on_every_seat(spec.kind, ["retailer"]))
    summary = summarise(played, traces)
    assert list(traces) == ["all:skill"]
    assert summary.evaluation.population == summary.references["all:skill"].outcome
    summary.print_tables(whole=False)
    brief = capsys.readouterr().out
    assert [line.split()[0] for line in brief.splitlines() if line.endswith((" 0", " 1", " 2", " 3"))]
    assert "all:skill" in brief
    assert "skill population" not in brief
    summary.print_tables(whole=True)
    assert "skill population" in capsys.readouterr().out
    assert summary.to_json()["outcome"]["population"]["seed"] == spec.seed


@pytest.mark.parametrize(
    ("agent", "says"),
    [
        (AgentSpec("react", None), "needs a model: --model"),
        (AgentSpec("react", "policy:nobody"), "no policy 'nobody'"),
        (AgentSpec("react", "gpt"), "is not a model"),
        (AgentSpec("dance", "policy:zip"), "there is no framework"),
        (AgentSpec("policy", "openai:gpt"), "--agent policy"),
    ],
)
async def test_an_agent_that_cannot_play_is_refused_before_anything_is_written(
    tmp_path: Path, agent: AgentSpec, says: str
) -> None:
    with pytest.raises(TradefairError, match=says):
        await play_episode(preset_spec("double_auction", "smoke", agent, tmp_path / "out"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("seat", "policy"), [("customer_0001", "item_searcher"), ("business_0001", "honest")])
def test_an_agent_without_a_model_thinks_with_the_policy_of_its_role(tmp_path: Path, seat: str, policy: str) -> None:
    told = ["play", "marketplace", "--scenario", "small_demo", "--agent", "policy", "--seat", seat, "--no-references"]
    assert tradefair([*told, "--seed", "1", "--others", "passive", "--json", "--out", str(tmp_path)]) == 0
    (path,) = tmp_path.glob("*.trace")
    with open_trace(path) as trace:
        assert trace.seating().labels[seat] == f"policy:{policy}"


def test_seat_plans_name_what_is_wrong() -> None:
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "smoke")
    assert plan_seats(kind, scenario).agents == ["B1"]
    assert plan_seats(kind, scenario, agents=["S2"], others="zip").seats == {
        "B1": "zip",
        "B2": "zip",
        "S1": "zip",
        "S2": "agent",
    }
    with pytest.raises(ScenarioError, match="no seat 'B9'"):
        plan_seats(kind, scenario, agents=["B9"])
    with pytest.raises(ScenarioError, match="no policy 'nobody'"):
        plan_seats(kind, scenario, others="nobody")
    with pytest.raises(ScenarioError, match="nothing plays B1"):
        plan_seats(kind, scenario.model_copy(update={"seats": {}}))


async def test_a_plan_may_put_an_agent_on_every_seat(tmp_path: Path) -> None:
    spec = preset_spec("teaching", "talk", AgentSpec("react", "policy:half"), tmp_path)
    everyone = replace(spec, plan=SeatPlan({"P1": "agent", "P2": "agent"}))
    played = await play_episode(everyone)
    assert verify_file(played.path).verdict == "reproduced"
    assert set(played.reports) == {"P1", "P2"}


WRITTEN = "The policy acts as before: it learns nothing from an episode."


def spec_of(folder: Path, framework: str = "reflection") -> PlaySpec:
    scenario = load_scenario("double_auction", "smoke")
    agent = AgentSpec(framework, "policy:zip")
    plan = SeatPlan({"B1": "agent", "B2": "truthful", "S1": "truthful", "S2": "truthful"})
    return play_spec("double_auction", scenario, 7, plan, agent, folder)


async def test_each_trial_is_opened_by_what_was_written_after_the_earlier_ones(tmp_path: Path) -> None:
    carried: list[tuple[str, ...] | None] = []

    async def play(spec: PlaySpec, number: int) -> Summary:
        carried.append(spec.agent.spec.trials)
        return summarise(await play_episode(spec), {})

    trials = await play_trials(spec_of(tmp_path), 3, play)
    assert carried == [(), (WRITTEN,), (WRITTEN, WRITTEN)]
    assert trials.written == [WRITTEN] * 3
    assert trials.spec.agent.spec.label == "reflection+trials/policy:zip"
    assert trials.exit_code == 0
    assert len({summary.played.path for summary in trials.summaries}) == 3
    with open_trace(trials.summaries[-1].played.path) as trace:
        assert trace.manifest.core.seed == 7
        record = trace.seating().players["B1"].agent
        assert record is not None
        assert record.trials == digest(canonical([WRITTEN, WRITTEN]))
        notes = list(trace.agent_events())
    assert [note["trial"] for note in notes if note["kind"] == "trial_reflection"] == [3]
    report = next(note for note in notes if note["kind"] == "seat_report")
    assert report["replies"] == sum(note["kind"] == "model_call" for note in notes)
    assert trials.to_json()["trials"][0]["written"] == WRITTEN


async def test_an_agent_without_trials_writes_nothing(tmp_path: Path) -> None:
    played = await play_episode(spec_of(tmp_path))
    assert written_after(played.path, "B1") == ""


async def test_trials_are_for_one_reflecting_seat(tmp_path: Path) -> None:
    async def play(spec: PlaySpec, number: int) -> Summary:
        raise AssertionError("nothing may be played")

    with pytest.raises(ScenarioError, match="for --agent reflection, not for react"):
        await play_trials(spec_of(tmp_path, "react"), 2, play)
    two = replace(spec_of(tmp_path), plan=SeatPlan({"B1": "agent", "B2": "agent"}))
    with pytest.raises(ScenarioError, match="one agent's seat"):
        await play_trials(two, 2, play)


async def test_a_failing_provider_ends_the_trials_and_says_which_one(tmp_path: Path) -> None:
    async def play(spec: PlaySpec, number: int) -> Summary:
        raise HarnessFailure("the provider is gone")

    with pytest.raises(HarnessFailure, match="trial 1 of 2: the provider is gone"):
        await play_trials(spec_of(tmp_path), 2, play)


HIDING = ("hidden_cost", "models")
SHORT = {"rounds": 3}


def play(market: str, preset: str, agent: AgentSpec, folder: Path, **more: Any) -> Played:
    asked: dict[str, Any] = {"seed": 1, **more}
    return asyncio.run(play_episode(preset_spec(market, preset, agent, folder, **asked)))


@pytest.mark.parametrize("preset", HIDING)
def test_what_stands_in_where_a_scenario_hides_something_needs_none_of_it(preset: str) -> None:
    kind = market_type("pricing")
    named = stand_ins(kind, load_scenario("pricing", preset))
    assert named
    assert not any(kind.policies[name].knows_hidden(load_scenario("pricing", preset)) for name in named)
    assert set(named) < set(stand_ins(kind, load_scenario("pricing", "textbook")))


def test_a_stand_in_for_another_agents_seat_is_told_nothing(tmp_path: Path) -> None:
    agent = AgentSpec("policy", "policy:prober")
    played = play("pricing", "models", agent, tmp_path, settings=SHORT, agents=["F1"], others=STAND_IN)
    with open_trace(played.path) as trace:
        assert trace.seating().privileged == frozenset()


@pytest.mark.parametrize("preset", HIDING)
def test_a_policy_that_must_be_told_is_refused_behind_a_models_interface(preset: str, tmp_path: Path) -> None:
    agent, scenario = AgentSpec("react", "policy:best_reply"), load_scenario("pricing", preset, SHORT)
    with pytest.raises(ScenarioError, match=rf"best_reply has to know what pricing/{preset} hides"):
        ready(market_type("pricing"), agent, {"F1": "firm"}, scenario=scenario)
    # Nor where whoever made it ready did not say what it would play.
    with pytest.raises(ScenarioError, match="has to know what"):
        play("pricing", preset, agent, tmp_path / "runs", settings=SHORT, agents=["F1"], others=STAND_IN)


def test_the_same_policy_plays_over_mcp_where_all_is_published(tmp_path: Path) -> None:
    played = play("pricing", "smoke", AgentSpec("react", "policy:best_reply"), tmp_path)
    assert played.end_reason == "terminated:rounds_completed"


def test_under_the_free_clock_the_book_ticks_while_an_agent_sits_there(tmp_path: Path) -> None:
    timing: dict[str, JsonValue] = {"timing": {"free_tick_s": 2 * SOON}, "periods": 1, "sweeps": 3}
    played = play("order_book", "live", AgentSpec("react", "policy:zip"), tmp_path, settings=timing)
    assert played.end_reason.startswith("terminated:")


@pytest.mark.parametrize("preset", [*HIDING, "textbook"])
def test_a_trace_with_a_policy_that_was_told_is_reproduced(preset: str, tmp_path: Path) -> None:
    agent = AgentSpec("policy", "policy:best_reply")
    played = play("pricing", preset, agent, tmp_path, settings=SHORT, others="matcher")
    with open_trace(played.path) as trace:
        assert bool(trace.seating().privileged) == (preset in HIDING)
    assert verify_file(played.path).verdict == "reproduced"


def test_a_reference_that_is_told_the_law_of_its_rival_is_told_it_in_replays_too(tmp_path: Path) -> None:
    played = play("pricing", "duel", AgentSpec("policy", "policy:planner"), tmp_path, seed=4)
    replays = Replays(played.path)
    assert replays.whole("F1", "planner") == replays.original("F1") > replays.whole("F1", "best_reply")


KIND, SCENARIO = market_type("teaching"), load_scenario("teaching", "pie")


def seating(**seats: str) -> Seating:
    return seating_of(KIND, SCENARIO, SeatPlan({"P1": "half", "P2": "half", **seats}))


def test_an_episode_is_closed_where_no_seat_is_played_from_outside() -> None:
    assert is_closed(KIND, SCENARIO, seating())
    assert not is_closed(KIND, SCENARIO, seating(P2="agent"))


def test_the_manifest_is_that_of_the_trace(tmp_path: Path) -> None:
    path = tmp_path / "new" / "whole.trace"
    manifest = play_whole(path, KIND, SCENARIO, 3, seating(), "whole")
    with open_trace(path) as trace:
        assert trace.manifest == manifest
    assert verify_file(path).verdict == "reproduced"
    assert [file.name for file in path.parent.iterdir()] == ["whole.trace"]


def test_what_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    asked: list[int] = []

    def stopped() -> bool:
        asked.append(len(asked))
        return len(asked) > 1

    with pytest.raises(HarnessFailure, match="was stopped"):
        play_whole(tmp_path / "whole.trace", KIND, SCENARIO, 3, seating(), "whole", stopped=stopped)
    assert len(asked) == 2
    assert list(tmp_path.iterdir()) == []


async def test_a_cancelled_player_does_not_play_on_in_its_thread(tmp_path: Path) -> None:
    long = SCENARIO.model_copy(update={"rounds": 100_000})
    playing = asyncio.create_task(play_whole_aside(tmp_path / "long.trace", KIND, long, 3, seating(), "long"))
    await asyncio.sleep(0)
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    # Waits for the thread, which would play for minutes.
    await asyncio.get_running_loop().shutdown_default_executor()
    assert list(tmp_path.iterdir()) == []


class Breaks:
    """Claims in the first round, and fails in the second."""

    def turn(self, now: TurnView) -> Turns:
        if now.round > 1:
            raise ZeroDivisionError
        yield ToolCall("claim", {"slices": 3})


async def test_a_policy_that_fails_leaves_the_events_up_to_its_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = PolicySpec("breaks", lambda _params, _draw: Breaks(), frozenset({"eater"}))
    monkeypatch.setitem(KIND.policies, "breaks", broken)  # pyright: ignore[reportArgumentType]
    plan = SeatPlan({"P1": "half", "P2": "breaks"})
    played = await play_episode(play_spec("teaching", SCENARIO, 3, plan, AgentSpec("policy", "policy:half"), tmp_path))
    assert played.end_reason == "truncated:harness_failure"
    with open_trace(played.path) as trace:
        assert [event["round"] for event in trace.decoded() if event["event"] == "round_closed"] == [1]
    assert verify_file(played.path).sound


_RUNNER = Path(__file__).parents[2] / "frameworks" / "tradefair" / "runner"
_READERS = ("load_framework", "parse_model", "parse_window", "Faults.parse", "Recording")


def readings(sources: Mapping[str, str]) -> list[str]:
    """Where an agent's options are read, as `module: function`, outside the module that may."""
    return [
        f"{name}: {called}"
        for name, source in sources.items()
        if name != "agent_spec.py"
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func)) in _READERS
    ]


def test_an_agents_options_are_read_in_one_module_of_the_runner() -> None:
    sources = {path.name: path.read_text(encoding="utf-8") for path in _RUNNER.rglob("*.py")}
    assert len(sources) > 30
    assert readings(sources) == []


def test_a_second_reader_would_be_noticed() -> None:
    planted = "def play(agent):\n    return Faults.parse(agent.faults), load_framework(agent.framework)()\n"
    assert sorted(readings({"agent_spec.py": planted, "seating.py": planted})) == [
        "seating.py: Faults.parse",
        "seating.py: load_framework",
    ]


def test_a_ready_agent_holds_what_its_options_say(tmp_path: Path) -> None:
    kind = market_type("teaching")
    spec = AgentSpec("react", "policy:half", window="last_results(k=3)", faults="429@3", timeout_s=70)
    agent = ready(kind, spec, {"P1": "eater"})
    assert agent.endpoint is not None
    assert (agent.endpoint.kind, agent.endpoint.model, agent.endpoint.timeout_s) == ("policy", "half", 70)
    assert agent.window is not None
    assert agent.window.label == "last_results(k=3)"
    assert agent.faults is not None
    assert agent.faults.at(3) is not None
    assert agent.recording is None
    assert agent.make("P1") is not agent.make("P1")
    with pytest.raises(ScenarioError, match="no terminal to ask on"):
        ready(kind, AgentSpec("react", "policy:half", approve=True), {"P1": "eater"})


async def test_an_agent_of_ones_own_plays_a_seat(tmp_path: Path) -> None:
    kind = market_type("teaching")
    scripted = preset_spec("teaching", "pie", AgentSpec("policy", "policy:half"), tmp_path)
    made: list[str] = []

    class Own:
        """Plays the market's policy over its connection, without a model that the runner knows of."""

        name = "own"

        def __init__(self, seat: str) -> None:
            made.append(seat)

        async def play(
            self, seat: SeatConnection, model: ModelEndpoint | None, brief: Brief, limits: Limits
        ) -> SeatReport:
            assert model is None
            policy = ready(kind, AgentSpec("react", "policy:half"), {"P1": "eater"}).endpoint
            assert policy is not None
            scripted_half = kind.policies["half"].make({}, Draw.of(0, "P1"))
            return await PolicyAgent().play(seat, policy.with_policy(scripted_half), brief, limits)

    agent = ReadyAgent(AgentSpec("own"), make=Own)
    played = await play_episode(replace(scripted, agent=agent))
    assert made == played.agents
    assert verify_file(played.path).verdict == "reproduced"
    with open_trace(played.path) as own:
        assert own.seating().labels["P1"] == "own"
    assert moves(played.path) == moves((await play_episode(scripted)).path)


DUEL = ("play", "double_auction", "--scenario", "duel", "--seed", "7", "--no-references", "--json")


class Shell:
    """Carries out `play` in this process."""

    def __init__(self, folder: Path, capture: pytest.CaptureFixture[bytes]) -> None:
        self._folder = folder
        self._capture = capture

    def play(self, *arguments: object, rounds: int = 3) -> Path:
        told = ("--set", f"rounds={rounds}", "--out", self._folder / "runs")
        assert run([*DUEL, *map(str, (*told, *arguments))]) == 0
        return Path(orjson.loads(self._capture.readouterr().out)["trace"])

    def failed(self, *arguments: object, rounds: int = 3, code: int = 3) -> str:
        told = ("--set", f"rounds={rounds}", "--out", self._folder / "failed")
        assert run([*DUEL, *map(str, (*told, *arguments))]) == code
        return self._capture.readouterr().err.decode()


@pytest.fixture
def shell(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Shell:
    return Shell(tmp_path, capsysbinary)


def lines_of(path: Path) -> Counter[str]:
    return Counter(orjson.loads(line)["kind"] for line in path.read_bytes().splitlines())


@pytest.mark.network
@pytest.mark.parametrize("agent", ["react", "reflection", "plan_and_act", "openai_loop"])
def test_a_recorded_run_is_replayed_to_the_same_events(shell: Shell, told: Any, tmp_path: Path, agent: str) -> None:
    calls = tmp_path / "calls.jsonl"
    first = told(shell.play("--agent", agent, "--model", "policy:zip", "--record", calls))
    again = told(shell.play("--agent", agent, "--replay", calls))
    assert again.events[1:] == first.events[1:]
    assert again.seating.labels["B1"] == f"{agent}/replay:calls.jsonl"
    assert [note["text"] for note in again.noted("model_call")] == [note["text"] for note in first.noted("model_call")]


@pytest.mark.network
@pytest.mark.parametrize("agent", ["react", "openai_loop"])
def test_a_changed_request_is_a_hard_error_that_names_the_first_message_that_differs(
    agent: str, shell: Shell, tmp_path: Path
) -> None:
    calls = tmp_path / "calls.jsonl"
    shell.play("--agent", agent, "--record", calls)
    error = shell.failed("--agent", agent, "--replay", calls, rounds=4)
    assert error.startswith("tradefair play: replay:calls.jsonl (seat B1) does not hold this request: ")
    assert "--resume" not in error
    assert "400" not in error
    assert "127.0.0.1" not in error
    assert "messages[0] (system) differs" in error
    assert "There are 4 rounds" in error
    assert "There are 3 rounds" in error
    assert "Traceback" not in error


@pytest.mark.network
def test_a_run_that_is_resumed_appends_to_its_recording(shell: Shell, told: Any, tmp_path: Path) -> None:
    calls = tmp_path / "calls.jsonl"
    error = shell.failed("--agent", "react", "--record", calls, *options_file(tmp_path, faults="500@4.."))
    # The trace names no file, so the advice does.
    words = error.rpartition("tradefair play ")[2].strip().rstrip(")").split()
    assert words[2:] == ["--record", str(calls)]
    path = Path(words[1])
    before = lines_of(calls)
    assert recorded_agent(path).record is None
    assert run(["play", *words, "--json"]) == 0
    after = lines_of(calls)
    assert after["model_calls"] == before["model_calls"] == 1
    assert (before["seat"], after["seat"]) == (1, 2)
    assert after["call"] > before["call"]
    assert [number for number, _ in told(path).quotes] == [1, 2, 3]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--record", "a.jsonl", "--replay", "b.jsonl"), "not both|cannot be read"),
        (("--replay", "no-such-file.jsonl"), "cannot be read"),
        (("--model", "replay:no-such-file.jsonl"), "cannot be read"),
        (("--agent", "policy", "--record", "a.jsonl"), "makes none"),
        (("--agent", "external", "--replay", "a.jsonl"), "makes none"),
        ({"faults": "fire@1"}, "is no fault"),
        ({"agent": "openai_loop", "window": "full_round"}, "option of our graphs"),
        ({"agent": "openai_loop", "approve": True}, "terminal|option of our graphs"),
        ({"window": "some"}, "is not a window"),
    ],
)
def test_what_cannot_be_recorded_or_replayed_is_usage(
    shell: Shell, tmp_path: Path, options: tuple[str, ...] | dict[str, Any], says: str
) -> None:
    given = options_file(tmp_path, **options) if isinstance(options, dict) else options
    error = shell.failed(*given, code=2)
    assert any(word in error for word in says.split("|")), error
    assert not (tmp_path / "failed").exists()


def test_a_file_that_is_no_recording_is_not_appended_to(shell: Shell, tmp_path: Path) -> None:
    other = tmp_path / "notes.txt"
    other.write_text("mine\n")
    assert "not a recording" in shell.failed("--record", other, code=2)
    assert other.read_text() == "mine\n"


async def test_every_model_call_has_its_price(duel: Any, told: Any) -> None:
    trace = told((await play_episode(duel(AgentSpec("react", "policy:zip"), rounds=1))).path)
    assert [note["cost_usd_micro"] for note in trace.noted("model_call")] == [0, 0]
