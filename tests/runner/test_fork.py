"""An episode is rebuilt before an event and gone on with by somebody else: what a decision cost.

Also here:
- A tape plays a seat's accepted actions again; shadows watch it and know what they would know had they been there.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.calling import blank_view, moves
from tests.evaluation.playing import played, store
from tests.play_specs import events_of, play_spec, preset_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run as command
from tradefair.contract import ErrorInfo, ScenarioError, SeatError, ToolAnswer, ToolCall, TraceError, TurnView
from tradefair.contract.chain import first_hash, next_hash
from tradefair.contract.kernel.core import Core, Record
from tradefair.contract.kernel.players import Seating
from tradefair.contract.policy import Turns
from tradefair.evaluation.collusion import Deviation, NotPlayed
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.table import number_text
from tradefair.host.episode.prefix import copied_records, write_prefix
from tradefair.host.episode.setup import scripted_seats, seating_of
from tradefair.host.seats.plans import SeatPlan, plan_seats
from tradefair.runner.fork.fork import Forked, ForkSpec, fork_episode
from tradefair.runner.fork.report import ForkReport, report_fork
from tradefair.runner.ledger.ledger import ledger_of
from tradefair.runner.ledger.probe import PlayedAgain
from tradefair.runner.ledger.tape import Shadow, Tape, TapePlayer, read_tapes
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode, resume_episode
from tradefair.tracestore import Trace, open_trace

ORACLE = AgentSpec("policy", "policy:oracle")
TRUTHFUL = AgentSpec("policy", "policy:truthful")


async def original(
    folder: Path, market: str, scenario: str, policy: str, seat: str, *, framework: str = "policy", **overrides: Any
) -> Path:
    kind = market_type(market)
    chosen = load_scenario(market, scenario, overrides)
    plan = plan_seats(kind, chosen, agents=[seat])
    agent = AgentSpec(framework, f"policy:{policy}")
    return (await play_episode(play_spec(market, chosen, 3, plan, agent, folder))).path


async def supermarket(folder: Path, policy: str = "price_first") -> Path:
    return await original(folder, "retail", "smoke", policy, "manager", horizon_days=6)


async def auction(folder: Path, policy: str = "zic", **rest: Any) -> Path:
    return await original(folder, "double_auction", "smoke", policy, "B1", **rest)


def bodies(path: Path) -> list[bytes]:
    with open_trace(path) as trace:
        return [stored.body for stored in trace.events()]


def head(path: Path) -> str:
    with open_trace(path) as trace:
        return str(trace.manifest.about["head_hash"])


def seated(path: Path) -> Seating:
    with open_trace(path) as trace:
        return trace.seating()


def origin(path: Path) -> dict[str, Any]:
    said: Any = (seated(path).origin or {})["forked_from"]
    return said


def seatings(path: Path) -> list[tuple[int, Seating]]:
    with open_trace(path) as trace:
        return trace.seatings()


def head_at(path: Path, seq: int) -> bytes:
    with open_trace(path) as trace:
        return next(stored.hash for stored in trace.events() if stored.seq == seq)


def quotes(path: Path) -> list[tuple[str, int]]:
    return [
        (event["seat"], event["arguments"]["price"]) for event in events_of(path) if event.get("tool") == "submit_quote"
    ]


def first(path: Path, tool: str, seat: str | None = None) -> int:
    found = (event for event in events_of(path) if event.get("tool") == tool and seat in (None, event["seat"]))
    return next(found)["seq"]


def arms(forked: Forked) -> list[Path]:
    return [path for future in forked.futures for path in (future.control, future.kept, future.fork) if path]


async def test_an_order_of_a_failing_policy_is_redone_by_the_oracle_on_the_same_luck(tmp_path: Path) -> None:
    path = await supermarket(tmp_path / "run")
    at = first(path, "place_order")
    forked = await fork_episode(ForkSpec(path, tmp_path / "fork", at=at, agent=ORACLE))
    report = report_fork(forked)
    fork, kept = forked.futures[0].fork, forked.futures[0].kept
    assert kept is not None
    # The past is the original's, byte by byte; the decision is in `kept` and not in `fork`.
    assert bodies(fork)[: at - 1] == bodies(path)[: at - 1]
    assert bodies(kept)[:at] == bodies(path)[:at]
    assert head_at(fork, at - 1) == head_at(path, at - 1)
    assert b'"event":"seated"' in bodies(fork)[at - 1]
    assert moves(fork) != moves(path)
    assert [verify_file(arm).verdict for arm in arms(forked)] == ["reproduced"] * 3
    # The customers of a day are the same in all arms: their luck knows nothing of who manages.
    crowds = [
        [event["facts"]["customers"] for event in events_of(arm) if event["event"] == "round_closed"]
        for arm in arms(forked)
    ]
    assert crowds[0] == crowds[1] == crowds[2]
    gain = next(effect for effect in report.effects if effect.name == "gain")
    assert gain.control is not None
    assert gain.kept is not None
    assert gain.fork is not None
    assert gain.decision == pytest.approx(gain.fork - gain.kept)
    assert gain.together == pytest.approx(gain.fork - gain.control)
    assert gain.decision is not None
    assert gain.decision > 0
    assert f"that decision cost {gain.decision:,.2f} currency units (gain) under policy:oracle" in report.verdict
    said = origin(fork)
    assert (said["head"], said["seq"], said["loose"]) == (head(path), at, False)
    player = seated(fork).players["manager"]
    assert (player.label, player.policy, player.privileged) == ("policy:oracle", "oracle", True)
    assert seated(path).players["manager"].policy == "price_first"
    assert seated(fork).compared == ("manager",)
    assert report.unsound == []


async def test_the_same_fork_twice_has_the_same_bytes(tmp_path: Path) -> None:
    path = await supermarket(tmp_path / "run")
    at = first(path, "place_order")
    spec = [ForkSpec(path, tmp_path / name, at=at, agent=ORACLE) for name in ("one", "two")]
    one, two = [await fork_episode(each) for each in spec]
    assert [head(arm) for arm in arms(one)] == [head(arm) for arm in arms(two)]
    assert [bodies(arm) for arm in arms(one)] == [bodies(arm) for arm in arms(two)]
    with pytest.raises(ScenarioError, match="another folder with --out"):
        await fork_episode(spec[0])


@pytest.mark.parametrize("place", ["first", "middle", "last"])
async def test_players_who_go_on_themselves_write_the_original_again_wherever_it_is_cut(
    tmp_path: Path, place: str
) -> None:
    path = await supermarket(tmp_path / "run")
    commands = [event["seq"] for event in events_of(path) if event["event"] == "tool_called"]
    at = {"first": commands[0], "middle": first(path, "place_order") + 1, "last": commands[-1]}[place]
    half = tmp_path / "half.trace"
    with open_trace(path) as trace:
        await write_prefix(half, trace.manifest.core_bytes, {}, list(copied_records(trace, at)))
    await resume_episode(half)
    assert head(half) == head(path)


async def test_a_resumed_fork_goes_on_where_it_stopped(tmp_path: Path) -> None:
    path = await auction(tmp_path / "run")
    at = first(path, "submit_quote", "B1")
    forked = await fork_episode(ForkSpec(path, tmp_path / "fork", at=at, agent=AgentSpec("policy", "policy:zip")))
    whole = forked.futures[0].fork
    half = tmp_path / "half.trace"
    with open_trace(whole) as trace:
        later = next(event["seq"] for event in events_of(whole) if event["seq"] > at + 6 and event["seat"] == "B1")
        await write_prefix(half, trace.manifest.core_bytes, {}, list(copied_records(trace, later)))
    await resume_episode(half)
    assert head(half) == head(whole)
    # A fork can be forked: its own past has two players in that seat.
    again = await fork_episode(ForkSpec(whole, tmp_path / "again", at=later, agent=TRUTHFUL, seat="B1"))
    assert [verify_file(arm).verdict for arm in arms(again)] == ["reproduced"] * 3
    changes = [(seq, list(change.players)) for seq, change in seatings(again.futures[0].fork)[1:]]
    assert changes == [(at, ["B1"]), (later, ["B1"])]
    assert bodies(again.futures[0].fork)[: later - 1] == bodies(whole)[: later - 1]


@pytest.mark.many
async def test_futures_draw_differently_and_share_the_markets_luck(tmp_path: Path) -> None:
    path = await auction(tmp_path / "run", rounds=5)
    at = first(path, "submit_quote", "B1")
    zic = AgentSpec("policy", "policy:zic")
    forked = await fork_episode(ForkSpec(path, tmp_path / "fork", at=at, agent=zic, futures=9))
    assert [future.policy_key for future in forked.futures] == list(range(9))
    assert len({head(future.fork) for future in forked.futures}) == 9
    # In the first future the same policy quotes what it quoted; it only looks at its value once more.
    assert quotes(forked.futures[0].fork) == quotes(path)
    assert quotes(forked.futures[1].fork) != quotes(path)
    values = [events_of(future.fork)[-1]["facts"]["opening"]["values"] for future in forked.futures]
    assert all(value == values[0] for value in values)
    report = report_fork(forked)
    assert not report.identical_futures
    (payoff,) = report.effects
    assert payoff.test is not None
    assert payoff.test.n == 9
    p = payoff.test.p
    assert p is not None
    assert report.verdict.startswith("no difference detectable; ") == (p > 0.05)
    said = report.verdict.partition("sign-flip p ")[2].partition(" ")[0]
    assert float(said) == round(p, 4)
    assert " -" not in report.verdict


@pytest.mark.many
async def test_futures_in_which_nobody_draws_are_not_counted_as_evidence(tmp_path: Path) -> None:
    path = await auction(tmp_path / "run", policy="shading_20")
    at = first(path, "submit_quote", "B1")
    report = report_fork(await fork_episode(ForkSpec(path, tmp_path / "fork", at=at, agent=TRUTHFUL, futures=8)))
    assert report.identical_futures
    assert all(effect.test is None for effect in report.effects)
    assert "no test" in report.verdict


async def test_a_fork_in_the_middle_of_another_seats_turn_lets_it_finish_what_it_began(tmp_path: Path) -> None:
    path = await auction(tmp_path / "run")
    at = first(path, "submit_quote", "S1")
    forked = await fork_episode(ForkSpec(path, tmp_path / "fork", at=at, agent=TRUTHFUL, seat="B1"))
    future = forked.futures[0]
    assert future.kept is None  # the event is not a decision of the seat that is forked
    looked = [
        event for event in events_of(future.fork) if event.get("tool") == "view_my_value" and event["seat"] == "S1"
    ]
    assert len(looked) == 1
    # The same command, one number later: `seated` stands before it.
    assert bodies(future.fork)[at].partition(b",")[2] == bodies(path)[at - 1].partition(b",")[2]
    assert "going on from there instead was worth" in report_fork(forked).verdict


async def test_a_decision_of_an_agent_over_mcp_is_redone_by_an_agent_over_mcp(tmp_path: Path) -> None:
    path = await auction(tmp_path / "run", policy="shading_20", framework="react")
    at = first(path, "submit_quote", "B1")
    agent = AgentSpec("react", "policy:truthful")
    forked = await fork_episode(ForkSpec(path, tmp_path / "fork", at=at, agent=agent, isolate=False))
    future = forked.futures[0]
    assert future.kept is None
    assert seated(future.fork).labels["B1"] == "react/policy:truthful"
    assert verify_file(future.fork).verdict == "reproduced"
    report = report_fork(forked)
    assert report.effects[0].decision is None
    assert report.effects[0].together is not None
    assert report.effects[0].afterwards is None
    native = await fork_episode(ForkSpec(path, tmp_path / "native", at=at, agent=TRUTHFUL))
    assert moves(native.futures[0].fork)[at:] == moves(future.fork)[at:]


@pytest.mark.many
async def test_a_decision_is_set_beside_what_its_turn_lost_by_the_ledger(tmp_path: Path) -> None:
    path = await original(tmp_path / "run", "double_auction", "bazaar", "random_legal", "B1")
    at = first(path, "submit_quote", "B1")
    cited = report_fork(await fork_episode(ForkSpec(path, tmp_path / "cited", at=at, agent=TRUTHFUL)))
    (turn,) = ledger_of(path, "B1").turns_of([at])
    verb = "lost" if turn.lost >= 0 else "gained"
    assert f"round {turn.round} {verb} {number_text(abs(turn.lost))} points against " in cited.reconciled
    assert cited.reconciled.startswith("By its ledger ")


async def test_a_withheld_message_never_happened_and_everybody_goes_on(tmp_path: Path) -> None:
    path = await original(tmp_path / "run", "teaching", "talk", "half", "P1")
    said = first(path, "say", "P1")
    forked = await fork_episode(ForkSpec(path, tmp_path / "fork", withhold=said))
    fork = forked.futures[0].fork
    told = [(event["seat"], event["arguments"]) for event in events_of(fork) if event.get("tool") == "say"]
    assert ("P1", {"text": "half and half"}) not in told[:1]
    lapsed = [event for event in events_of(fork) if event["event"] == "seat_lapsed"]
    assert [(event["seat"], event["round"], event["phase"]) for event in lapsed] == [("P1", 1, "talk")]
    assert verify_file(fork).proof.rules == "reproduced"
    assert any("P1 lapses in round 1" in remark for remark in forked.remarks)
    assert (origin(fork)["withheld"], origin(fork)["loose"]) == (said, True)
    assert report_fork(forked).withheld


async def test_a_withheld_order_is_missing_from_the_rest_of_its_day_and_what_needed_it_is_reported(
    tmp_path: Path,
) -> None:
    path = await supermarket(tmp_path / "run")
    shelf, order = first(path, "set_shelf_products"), first(path, "place_order")
    cut = next(event["seq"] for event in events_of(path) if event["round"] == 2 and event["event"] == "tool_called")
    forked = await fork_episode(ForkSpec(path, tmp_path / "fork", withhold=order, at=cut, agent=ORACLE))
    future = forked.futures[0]
    assert future.kept is not None
    first_day = [
        event["tool"] for event in events_of(future.fork) if event["round"] == 1 and event.get("kind") == "action"
    ]
    whole_day = [event["tool"] for event in events_of(path) if event["round"] == 1 and event.get("kind") == "action"]
    assert len(first_day) == len(whole_day) - 1
    assert report_fork(forked).effects[0].decision is not None
    # Prices need the shelf: without it they are refused, and it is said.
    without = await fork_episode(ForkSpec(path, tmp_path / "shelf", withhold=shelf, at=cut, agent=ORACLE))
    assert all(verify_file(arm).proof.rules == "reproduced" for arm in [*arms(forked), *arms(without)])


async def test_a_fork_refuses_what_it_cannot_do_and_says_what_it_can(tmp_path: Path) -> None:
    path = await auction(tmp_path / "run")
    closure = next(event["seq"] for event in events_of(path) if event["event"] == "round_closed")
    quote = first(path, "submit_quote", "B1")

    async def refused(error: type[Exception], match: str, **rest: Any) -> None:
        with pytest.raises(error, match=match):
            await fork_episode(ForkSpec(path, tmp_path / "out", **rest))

    await refused(TraceError, f"follows from event {closure - 1}.*fork at {closure - 1}", at=closure, agent=TRUTHFUL)
    await refused(ScenarioError, "there is no event 900", at=900, agent=TRUTHFUL)
    await refused(TraceError, "starts with event 1", at=1, agent=TRUTHFUL)
    await refused(ScenarioError, "name who goes on", at=quote)
    await refused(ScenarioError, "--at SEQ", agent=TRUTHFUL)
    await refused(ScenarioError, "must come before", withhold=quote + 5, at=quote, agent=TRUTHFUL)
    await refused(SeatError, "no seat 'B7'", at=quote, agent=TRUTHFUL, seat="B7")
    await refused(ScenarioError, "no policy 'oracle'", at=quote, agent=ORACLE)
    await refused(TraceError, "no seat decides anything after", withhold=events_of(path)[-4]["seq"])
    assert not (tmp_path / "out").exists()


async def test_an_original_that_does_not_re_execute_is_not_forked(tmp_path: Path) -> None:
    path = await auction(tmp_path / "run")
    forged, broken = tmp_path / "forged.trace", tmp_path / "broken.trace"
    with open_trace(path) as trace:
        records = [
            record._replace(body=record.body.replace(b'"price_max":100', b'"price_max":101'))
            for record in copied_records(trace, 1_000)
        ]
        await write_prefix(forged, trace.manifest.core_bytes, {}, records)
    shutil.copyfile(path, broken)
    with closing(sqlite3.connect(broken)) as database:
        database.execute("UPDATE events SET body = CAST(replace(CAST(body AS TEXT), ':', ': ') AS BLOB) WHERE seq = 5")
        database.commit()
    with pytest.raises(TraceError, match="when re-executed"):
        await fork_episode(ForkSpec(forged, tmp_path / "fork", at=9, agent=TRUTHFUL))
    with pytest.raises(TraceError, match="event 5 has changed"):
        await fork_episode(ForkSpec(broken, tmp_path / "fork", at=9, agent=TRUTHFUL))


async def test_a_fork_that_is_cut_before_its_fork_forgets_who_came_and_stays_loose(tmp_path: Path) -> None:
    """The past of a fork without an event was not wanted by its policies, wherever it is cut again."""
    path = await original(tmp_path / "run", "teaching", "talk", "half", "P1")
    loose = (await fork_episode(ForkSpec(path, tmp_path / "fork", withhold=first(path, "say", "P1")))).futures[0].fork
    (_, (began, _)) = seatings(loose)
    before = next(event["seq"] for event in events_of(loose) if event["event"] in ("tool_called", "seat_lapsed"))
    assert before < began
    half = AgentSpec("policy", "policy:half")
    again = await fork_episode(ForkSpec(loose, tmp_path / "again", at=before, agent=half, seat="P1"))
    (_, (cut, _)) = seatings(again.futures[0].fork)
    assert (cut, origin(again.futures[0].fork)["loose"]) == (before, True)
    assert {verify_file(arm).proof.rules for arm in arms(again)} == {"reproduced"}


@pytest.mark.many
def test_the_command_prints_the_cost_and_its_json_is_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    asked = ("double_auction", "--scenario", "smoke", "--seed", "3", "--seat", "B1", "--no-references", "--json")
    assert command(["play", *asked, "--agent", "policy", "--model", "policy:zic", "--out", str(run)]) == 0
    path = Path(orjson.loads(capsys.readouterr().out)["trace"])
    at = str(first(path, "submit_quote", "B1"))
    go_on = ["fork", str(path), "--at", at, "--agent", "policy:truthful", "--out"]
    assert command([*go_on, str(tmp_path / "one")]) == 0
    shown = capsys.readouterr().out
    assert "control: policy:zic as it was" in shown
    assert "that decision cost" in shown
    assert command([*go_on, str(tmp_path / "one")]) == 2
    assert "name another folder with --out" in capsys.readouterr().err
    assert command([*go_on, str(tmp_path / "two"), "--json"]) == 0
    report = ForkReport.model_validate_json(capsys.readouterr().out)
    assert report.verdict in " ".join(shown.split())
    assert report.reconciled in " ".join(shown.split())
    # A path stands whole; all else keeps within the width of a pipe.
    assert [line for line in shown.splitlines() if len(line) > 80 and str(tmp_path) not in line] == []
    assert report.at == int(at)
    files = [tmp_path / f"fork.{suffix}" for suffix in ("csv", "svg", "tex", "html", "json")]
    for file in files:
        assert command([*go_on, str(tmp_path / file.suffix[1:]), "-o", str(file)]) == 0
    names = {line.split(",")[0] for line in files[0].read_text().splitlines()}
    # Both continuations and the original are in one picture, and the decision is marked.
    assert {"as it was", "then policy:truthful", "instead policy:truthful", "the decision"} <= names
    assert report.reconciled in files[2].read_text()
    assert orjson.loads(files[4].read_bytes())["effects"] == [effect.model_dump() for effect in report.effects]
    assert command(["fork", str(path), "--at", "10", "--model", "policy:truthful", "--out", str(tmp_path / "no")]) == 1
    assert "no seat decided it" in capsys.readouterr().err


OK = ToolAnswer(b'{"ok":true}', None, False)


def event(seq: int, tool: str, number: int = 1, revision: int = 1, **more: Any) -> dict[str, Any]:
    head = {"seq": seq, "event": "tool_called", "round": number, "phase": "open", "revision": revision, "seat": "B1"}
    call = {"parent": None, "tool": tool, "kind": "action", "arguments": {"n": seq}, "status": "ok"}
    return {**head, **call, **more}


def opened(number: int = 1) -> TurnView:
    return blank_view(round=number, phase="open", revision=1)


def drive(turns: Turns, answers: dict[str, ToolAnswer] | None = None) -> list[str]:
    """The tools that a turn calls; it is closed at the first answer that ends it."""
    made: list[str] = []
    wanted = next(turns, None)
    while wanted is not None:
        made.append(wanted.tool)
        answer = (answers or {}).get(wanted.tool, OK)
        if answer.turn_over:
            turns.close()
            return made
        try:
            wanted = turns.send(answer)
        except StopIteration:
            wanted = None
    return made


class Wants:
    """A policy that wants these calls in every turn, and keeps what it was answered."""

    def __init__(self, *tools: str) -> None:
        self.tools = tools
        self.heard: list[ToolAnswer] = []

    def turn(self, now: TurnView) -> Turns:
        for tool in self.tools:
            self.heard.append((yield ToolCall(tool, {})))


def closed(revision: int, step: int, *, last: bool = False) -> dict[str, Any]:
    public: dict[str, Any] = {"step": step}
    head = {"seq": 90 + step, "round": 1, "phase": "open", "revision": revision, "seat": None}
    if last:
        return {**head, "event": "round_closed", "public": {"last_step": public}}
    return {**head, "event": "phase_closed", "public": public}


def at_step(step: int) -> TurnView:
    return opened().model_copy(update={"market": {"step": step}})


def test_a_market_with_steps_is_played_by_its_steps_and_not_by_the_number_of_its_turns() -> None:
    events = [
        event(1, "bid", revision=3),
        closed(3, 4),
        event(2, "raise", revision=7, arguments={}),
        closed(7, 9, last=True),
    ]
    tape = read_tapes(events)["B1"]
    assert tape.stepped
    assert tape.places == {1: (1, "open", 4), 2: (1, "open", 9)}
    player = TapePlayer(tape, [shadow := Shadow("x", Wants("raise"))])
    # In a replay the seat may be asked in a step in which it was passed over, and not in one of its own.
    assert [drive(player.turn(at_step(step))) for step in (2, 9)] == [[], ["raise"]]
    assert shadow.same


def test_only_accepted_actions_of_the_seat_itself_are_on_its_tape() -> None:
    refused: dict[str, Any] = {"status": "rejected"}
    events = [
        event(1, "look", kind="read"),
        event(2, "refused", **refused),
        event(3, "bid"),
        event(4, "inner", parent="r1.B1.1"),
        event(5, "note", kind="note"),
        event(6, "bid", seat="B2"),
        event(7, "", event="phase_closed", seat=None),
    ]
    tapes = read_tapes(events)
    assert tapes["B1"].turns == {(1, "open", 0): [ToolCall("bid", {"n": 3})]}
    assert tapes["B2"].turns == {(1, "open", 0): [ToolCall("bid", {"n": 6})]}
    # The turn of a look or a refused call is known too: a finding may cite it.
    assert set(tapes["B1"].places) == {1, 2, 3, 5}


def test_a_phase_that_asks_a_seat_twice_is_two_turns_also_where_one_lapsed() -> None:
    lapse: dict[str, Any] = {"event": "seat_lapsed"}
    events = [event(1, "bid"), event(2, "", revision=2, **lapse), event(3, "raise", revision=3), event(4, "bid", 2, 4)]
    player = TapePlayer(read_tapes(events)["B1"])
    assert [drive(player.turn(opened())) for _ in range(4)] == [["bid"], [], ["raise"], []]
    assert drive(player.turn(opened(2))) == ["bid"]


def test_a_shadow_is_answered_where_the_tape_does_the_same_and_refused_where_it_does_not() -> None:
    policy = Wants("look", "b", "c", "a")
    shadow = Shadow("x", policy)
    tape = Tape({(1, "open", 0): [ToolCall("a"), ToolCall("b"), ToolCall("d")]}, {})
    player = TapePlayer(tape, [shadow])
    looked = ToolAnswer(b'{"seen":1}', None, False)
    player.look = lambda call: looked if call.tool == "look" else None
    answers = {name: ToolAnswer(f'"{name}"'.encode(), None, False) for name in "abd"}
    # The tape's order is kept; what the shadow wants later is answered when the tape has done it.
    assert drive(player.turn(opened()), answers) == ["a", "b", "d"]
    skipped = policy.heard[2]
    assert policy.heard == [looked, answers["b"], skipped, answers["a"]]
    assert skipped.error == ErrorInfo("skipped", "this turn is played from a tape", "", False)
    # Equal: a and b. Different: its own c, the tape's d.
    assert not shadow.same


@pytest.mark.parametrize(
    ("wants", "same"),
    [(("a", "end"), True), (("end",), False), (("a",), False), (("end", "a"), False), (("a", "b", "end"), False)],
)
def test_a_shadow_does_the_same_where_it_wants_the_same_calls_in_the_same_order(
    wants: tuple[str, ...], same: bool
) -> None:
    shadow, tape = Shadow("x", Wants(*wants)), Tape({(1, "open", 0): [ToolCall("a"), ToolCall("end")]}, {})
    over = {"end": ToolAnswer(b"{}", None, True)}
    assert drive(TapePlayer(tape, [shadow]).turn(opened()), over) == ["a", "end"]
    assert shadow.same is same


def test_a_copy_of_a_player_goes_on_by_itself() -> None:
    tape = Tape({(1, "open", number): [ToolCall("abc"[number])] for number in range(3)}, {})
    player = TapePlayer(tape, [Shadow("x", Wants())])
    assert drive(player.turn(opened())) == ["a"]
    twin = deepcopy(player)
    assert twin.shadows[0].policy is not player.shadows[0].policy
    assert [drive(one.turn(opened())) for one in (twin, player, twin)] == [["b"], ["b"], ["c"]]


def test_a_shadow_that_fails_leaves_the_tape_alone() -> None:
    class Fails:
        def turn(self, now: TurnView) -> Turns:
            answer = yield ToolCall("b")
            raise KeyError(answer.data["price"])

    shadow = Shadow("x", Fails())
    player = TapePlayer(Tape({(1, "open", 0): [ToolCall("a")]}, {}), [shadow])
    assert drive(player.turn(opened())) == ["a"]
    assert isinstance(shadow.broken, KeyError)
    assert drive(player.turn(opened())) == []


ROUNDS = 12


def duopoly(path: Path, *policies: str, seed: int = 3, said: Sequence[str] = (), **changes: Any) -> Path:
    """An episode of the textbook market, one policy per firm; firms that have to be told are told.

    The trace may say that others played: `said`.
    """
    kind = market_type("pricing")
    scenario = load_scenario("pricing", "pricing/textbook", {"rounds": ROUNDS, **changes})
    core = Core.create(kind, scenario, seed)
    playing, named = (SeatPlan(dict(zip(core.market.seats, who, strict=True))) for who in (policies, said or policies))
    scripted = scripted_seats(kind, scenario, playing, seed)
    records = list(core.start(seating_of(kind, scenario, named)).records)
    while core.ended is None:
        records += scripted.run(core)
    return store(path, core, records)


def prices(trace: Trace) -> list[list[int | None]]:
    """By round, firms in seat order."""
    events = (orjson.loads(stored.body) for stored in trace.events())
    return [[*event["facts"]["prices"].values()] for event in events if event["event"] == "round_closed"]


def posting(price: int, number: int, until: int = ROUNDS, seat: str = "F1") -> Deviation:
    return Deviation(seat, number, "set_price", {"price": price}, until)


def test_one_price_is_another_and_all_go_on_by_their_own_rules(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "g.trace", "grim", "matcher")) as trace:
        was = prices(trace)
        now = prices(PlayedAgain().deviating(trace, posting(1700, 8)))
    assert was == [[1925, 1925]] * ROUNDS
    assert now[:7] == was[:7]
    # F1 does not know that it has deviated; the matcher follows it, and that grim does not forgive.
    assert now[7:] == [[1700, 1925], [1925, 1700], [1473, 1925], [1473, 1473], [1473, 1473]]


def test_a_firm_that_keeps_silent_posts_the_deviation_too(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "s.trace", "sleeper", "best_reply")) as trace:
        now = prices(PlayedAgain().deviating(trace, posting(1500, 6, 7)))
    assert [row[0] for row in now] == [2000, 2000, 2000, 2000, 2000, 1500, 1500]


def test_firms_that_are_told_hidden_truth_are_told_it_again(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "h.trace", "nash", "best_reply(noise=9)", demand_known=False)) as trace:
        was = prices(trace)
        now = prices(PlayedAgain().deviating(trace, posting(1600, 5)))
    assert now[:4] == was[:4]
    assert now[4] == [1600, was[4][1]]
    # The draws of the noise are those of the round: common luck.
    assert now[6:] == was[6:]


def test_without_a_change_the_episode_is_the_same(tmp_path: Path) -> None:
    with open_trace(duopoly(tmp_path / "e.trace", "edgeworth", "q_limit(session=5)", shock="common_cost")) as trace:
        was = prices(trace)
        price = was[5][0]
        assert price is not None
        assert prices(PlayedAgain().deviating(trace, posting(price, 6))) == was


def test_a_deviation_that_the_rules_refuse_is_none(tmp_path: Path) -> None:
    refused = pytest.raises(NotPlayed, match="set_price of F1 in round 4 is refused")
    with open_trace(duopoly(tmp_path / "r.trace", "nash", "nash")) as trace, refused:
        PlayedAgain().deviating(trace, posting(4001, 4))


def test_one_policy_sits_on_every_seat_of_the_same_luck(tmp_path: Path) -> None:
    drawn: dict[str, Any] = {"drawn": True, "quality": None, "cost": None, "shock": "own_cost"}
    with open_trace(duopoly(tmp_path / "a.trace", "nash", "matcher", **drawn)) as trace:
        again = prices(PlayedAgain().on_every_seat(trace, "edgeworth"))
    with open_trace(duopoly(tmp_path / "b.trace", "edgeworth", "edgeworth", **drawn)) as trace:
        assert again == prices(trace)


def test_a_policy_that_cannot_sit_everywhere_is_no_reference(tmp_path: Path) -> None:
    unfit = pytest.raises(NotPlayed, match="no reference zip: the policy zip plays buyer, seller, not trader")
    with open_trace(played(tmp_path / "a.trace", "order_book/asset_short", "hold", periods=1)) as trace, unfit:
        PlayedAgain().on_every_seat(trace, "zip")


async def test_a_seat_that_was_played_from_outside_cannot_be_asked_again(tmp_path: Path) -> None:
    agent = AgentSpec("react", "policy:best_reply")
    path = (await play_episode(preset_spec("pricing", "smoke", agent, tmp_path, seed=3, agents=["F1"]))).path
    with open_trace(path) as trace, pytest.raises(NotPlayed, match="F1 was played from outside"):
        PlayedAgain().deviating(trace, posting(1500, 2, 3))


async def test_a_fork_is_not_played_again(tmp_path: Path) -> None:
    path = duopoly(tmp_path / "o.trace", "nash", "nash")
    with open_trace(path) as trace:
        calls = [event for event in trace.decoded() if event["event"] == "tool_called" and event["round"] == 5]
    matcher = AgentSpec("policy", "policy:matcher")
    forked = await fork_episode(ForkSpec(path, tmp_path / "arms", calls[0]["seq"], matcher, "F1"))
    with open_trace(forked.futures[0].fork) as trace, pytest.raises(NotPlayed, match="it is a fork"):
        PlayedAgain().deviating(trace, posting(1500, 9))


def test_policies_that_play_otherwise_today_are_found_out(tmp_path: Path) -> None:
    """A trace whose seating names another policy than the one that played is what an older release leaves."""
    path = duopoly(tmp_path / "x.trace", "nash", "edgeworth(step=30)", said=("nash", "edgeworth"))
    with open_trace(path) as trace:
        with pytest.raises(NotPlayed, match="do not play again what the trace says"):
            PlayedAgain().deviating(trace, posting(1500, 9))
        # Before they differ nobody can tell.
        assert prices(PlayedAgain().deviating(trace, posting(1500, 2, 2)))[0] == prices(trace)[0]


_SEED = 11
_FIELD = ("gdx_bazaar", "risk_aware_bazaar", "gdx", "kaplan", "adaptive_bazaar", "zip", "forfeiter", "random_legal")
_TALKERS = ("leaker", "obeyer", "promiser", "cartel_sellers", "injector", "random_legal")
_BARGAINERS, _SUPPLIERS = ("boulware", "promise_breaker"), ("adaptive", "cost_plus", "floor_bidder")
_PINNED = [
    ("double_auction", "bazaar", 8, _FIELD, "8849e630a3915239b9206aa94ac430165c32720cfa57004038e048224039639d"),
    ("double_auction", "collusion", 3, _TALKERS, "fce780a51c22f44ed513c28dd2676766924abe8de61fe247ad8068c5a17ea7a5"),
    ("bargaining", "pact", 6, _BARGAINERS, "7192ad7e86fb59ca9b402e2b0decd242f5a6858a9467070aa16f9f46b52e429f"),
    ("supply_chain", "duel", 2, _SUPPLIERS, "568e6b72da5be82511eaf493de725ce9d6acd30bb134a01670d43bdfcbdae142"),
]


def _events(market: str, preset: str, rounds: int, policies: tuple[str, ...]) -> list[Record]:
    """All events of an episode of policies, named in the market's order of seats."""
    kind = market_type(market)
    scenario = load_scenario(market, preset, {"rounds": rounds})
    core = Core.create(kind, scenario, _SEED)
    seats: Mapping[str, str] = dict(zip(core.market.seats, policies, strict=True))
    scripted = scripted_seats(kind, scenario, SeatPlan(seats), _SEED)
    records = core.start().records
    while core.ended is None:
        records += scripted.run(core)
    return records


@pytest.mark.parametrize(("market", "preset", "rounds", "policies", "head"), _PINNED)
def test_a_scripted_episode_has_the_bytes_that_were_written_down(
    market: str, preset: str, rounds: int, policies: tuple[str, ...], head: str
) -> None:
    # Of the events alone: the manifest holds the descriptions of all tools, whose wording may change.
    found = first_hash(market.encode())
    for record in _events(market, preset, rounds, policies):
        event = orjson.loads(record.body)
        # Who plays is the release's and the runner's word, not the market's.
        event.pop("seating", None)
        found = next_hash(found, orjson.dumps(event) if record.seq == 1 else record.body)
    assert found.hex() == head
