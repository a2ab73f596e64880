"""An episode is rebuilt before an event and gone on with by somebody else: what a decision cost."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.calling import moves
from tests.play_specs import events_of, play_spec

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run as command
from tradefair.contract import ScenarioError, SeatError, TraceError
from tradefair.contract.kernel.players import Seating
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.table import number_text
from tradefair.host.episode.prefix import copied_records, write_prefix
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.fork.fork import Forked, ForkSpec, fork_episode
from tradefair.runner.fork.report import ForkReport, report_fork
from tradefair.runner.ledger.ledger import ledger_of
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode, resume_episode
from tradefair.tracestore import open_trace

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
