"""Calls through an Episode: answers, refusals, group commit, reads that do not wait, services.

Also here:
- Call keys: the same call once, however often and whenever it is sent.
- await_turn, lapses and deadlines.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import orjson
import pytest
from tests.waiting import SOON

from tradefair.catalog import load_scenario
from tradefair.contract import IllegalAction, InputRequest, Result, SeatError, SeatId, ToolTable, tool
from tradefair.double_auction import MARKET as DOUBLE_AUCTION
from tradefair.teaching import MARKET
from tradefair.teaching.model import Message
from tradefair.teaching.rules import Pie


async def test_an_acknowledged_action_and_every_read_before_it_is_in_the_log(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "view_my_value", {})
    await episode.call("P2", "view_history", {})
    await episode.call("P1", "claim", {"slices": 4})
    called = [event for event in table.events(episode) if event["event"] == "tool_called"]
    assert [(event["seat"], event["tool"], event["status"]) for event in called] == [
        ("P1", "view_my_value", "ok"),
        ("P2", "view_history", "ok"),
        ("P1", "claim", "ok"),
    ]


async def test_a_read_is_answered_before_it_is_committed_and_is_in_the_log_afterwards(table: Any) -> None:
    episode = await table.create()
    before = len(table.events(episode))
    await episode.call("P1", "view_my_value", {})
    assert len(table.events(episode)) == before
    await episode.close()
    assert [event["tool"] for event in table.events(episode)[before:]] == ["view_my_value"]


async def test_refused_calls_of_a_seat_are_in_the_log(table: Any) -> None:
    episode = await table.create()
    for name, arguments in (("claim", {"slices": 99}), ("claim", {"slices": "9"}), ("fly", {}), ("say", {"text": ""})):
        await episode.call("P1", name, arguments)
    await episode.call("P1", "\ud800", {"x": float("nan")})
    await episode.call("P1", "fly\x1b[2J\u202e", {})
    await episode.close()
    refused = [(event["tool"], event["status"], event["error"]["code"]) for event in table.events(episode)[1:]]
    assert refused == [
        ("claim", "rejected", "too_many_slices"),
        ("claim", "invalid", "invalid_arguments"),
        ("fly", "denied", "tool_unavailable"),
        ("say", "denied", "tool_unavailable"),
        (r"\ud800", "denied", "tool_unavailable"),
        (r"fly\x1b[2J\u202e", "denied", "tool_unavailable"),
    ]
    assert table.verdict(episode.path) == "reproduced"


async def test_an_unknown_seat_is_no_seat(table: Any) -> None:
    episode = await table.create()
    with pytest.raises(SeatError, match="P1, P2"):
        await episode.call("P3", "view_turn", {})


def _commits(episode: Any) -> list[int]:
    """How many events each commit has, from here on."""
    commits: list[int] = []
    on_commit = episode._writer._on_commit

    def counted(rows: Any) -> None:
        commits.append(len(rows))
        on_commit(rows)

    episode._writer._on_commit = counted
    return commits


async def test_seats_that_act_at_once_share_commits_and_are_all_acknowledged(table: Any, way: str) -> None:
    episode = await table.create(table.pie(rounds=100, slices=20))
    commits = _commits(episode)
    for _ in range(20):
        answers = await table.within(
            asyncio.gather(*(episode.call(seat, "claim", {"slices": 5}) for seat in ("P1", "P2")))
        )
        assert [answer.status for answer in answers] == ["ok", "ok"]
    # Two claims and the closure of each round went into one commit.
    assert commits == [3] * 20
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


async def test_the_last_of_two_seats_learns_nothing_from_its_receipt(table: Any) -> None:
    episode = await table.create()
    first = await episode.call("P1", "claim", {"slices": 5})
    last = await episode.call("P2", "claim", {"slices": 5})
    assert (first.body, first.turn) == (last.body, last.turn)
    assert (first.turn.round, first.turn.turn_over, first.turn.over) == (1, True, False)
    assert (await episode.await_turn("P1")).round == 2


async def test_after_the_end_looks_are_answered_all_else_is_refused_and_the_manifest_is_sealed(table: Any) -> None:
    episode = await table.create(table.pie(rounds=1))
    for seat in ("P1", "P2"):
        await episode.call(seat, "claim", {"slices": 5})
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    for name in ("claim", "execute_code", "add_note", "no_such_tool"):
        answer = await episode.call("P1", name, {})
        assert (answer.error.code, answer.error.retryable) == ("episode_over", False)
    history = await episode.call("P1", "view_history", {})
    assert (history.status, history.call, history.turn.over) == ("ok", None, True)
    assert [row["claims"] for row in orjson.loads(history.body)["rounds"]] == [{"P1": 5, "P2": 5}]
    assert (await episode.call("P1", "view_history", {"x": 1})).error.code == "invalid_arguments"
    about = episode.manifest.about
    assert about["end_reason"] == "terminated:rounds_completed"
    assert about["head_seq"] == len(table.events(episode))
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8])
async def test_an_end_is_sealed_though_the_caller_of_its_last_action_goes_away(table: Any, steps: int) -> None:
    episode = await table.create(table.pie(rounds=1))
    await episode.call("P1", "claim", {"slices": 5})
    last = asyncio.create_task(episode.call("P2", "claim", {"slices": 5}))
    for _ in range(steps):
        await asyncio.sleep(0)
    last.cancel()
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    assert episode.manifest.sealed
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


async def test_an_episode_can_be_truncated(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "claim", {"slices": 5})
    await episode.end("truncated:cancelled")
    assert await table.within(episode.wait_ended()) == "truncated:cancelled"
    await episode.end("truncated:ttl")
    await episode.close()
    assert [event["reason"] for event in table.events(episode) if event["event"] == "episode_ended"] == [
        "truncated:cancelled"
    ]
    assert table.verdict(episode.path) == "reproduced"


async def test_a_service_that_does_not_exist_is_named_and_the_refusal_is_logged(table: Any) -> None:
    episode = await table.create()
    answer = await episode.call("P1", "appraise", {})
    assert (answer.status, answer.error.code, answer.error.retryable) == ("denied", "appraisal_unavailable", True)
    await episode.close()
    assert table.events(episode)[-1]["error"]["code"] == "appraisal_unavailable"
    assert table.verdict(episode.path) == "reproduced"


async def test_a_service_that_fails_is_unavailable(table: Any) -> None:
    async def broken(payload: Any) -> Any:
        raise ConnectionError("the secret address of the provider")

    episode = await table.create(services={"appraisal": broken})
    answer = await episode.call("P1", "appraise", {})
    assert answer.error.code == "appraisal_unavailable"
    assert "secret" not in repr(answer.error)


async def test_an_input_is_recorded_with_its_call_and_re_executed_without_the_service(table: Any) -> None:
    async def appraisal(payload: Any) -> Any:
        return {"tasty": payload["round"]}

    episode = await table.create(services={"appraisal": appraisal})
    answer = await episode.call("P1", "appraise", {})
    assert table.data(answer) == {"words": "{'tasty': 1}"}
    await episode.close()
    first, second = table.events(episode)[-2:]
    assert (first["event"], first["for"], first["payload"]) == ("input", second["call"], {"tasty": 1})
    assert table.verdict(episode.path) == "reproduced"


async def test_the_market_is_asked_again_when_the_round_closed_while_a_service_answered(
    table: Any, appraiser: Any
) -> None:
    episode = await table.create(services={"appraisal": appraiser})
    asking = asyncio.create_task(episode.call("P1", "appraise", {}))
    await table.within(appraiser.called.wait())
    for seat in ("P1", "P2"):
        await episode.call(seat, "claim", {"slices": 5})
    appraiser.let.set()
    assert table.data(await table.within(asking)) == {"words": "opinion 2"}
    assert appraiser.asked == [{"round": 1}, {"round": 2}]
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


async def test_a_cancelled_caller_neither_undoes_the_call_nor_disturbs_the_others(table: Any) -> None:
    episode = await table.create()
    one = asyncio.create_task(episode.call("P1", "claim", {"slices": 4}))
    other = asyncio.create_task(episode.call("P2", "claim", {"slices": 5}))
    await asyncio.sleep(0)
    one.cancel()
    assert (await table.within(other)).status == "ok"
    with pytest.raises(asyncio.CancelledError):
        await one
    assert (await episode.await_turn("P1")).market["last"]["claims"] == {"P1": 4, "P2": 5}


async def test_notes_about_an_agent_lie_beside_the_chain(table: Any) -> None:
    from tradefair.tracestore import open_trace

    episode = await table.create()
    await episode.note("P1", {"kind": "plan", "text": "half"})
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"
    with open_trace(episode.path) as trace:
        assert list(trace.agent_events()) == [{"seat": "P1", "kind": "plan", "text": "half"}]


async def test_eight_seats_that_act_at_once_need_one_commit(table: Any, way: str) -> None:
    episode = await table.create(load_scenario("double_auction", "bazaar", {"rounds": 3}), market=DOUBLE_AUCTION)
    commits = _commits(episode)
    for _ in range(3):
        quotes = (episode.call(seat, "submit_quote", {"price": 50}) for seat in episode.core.market.seats)
        assert {answer.status for answer in await table.within(asyncio.gather(*quotes))} == {"ok"}
    assert commits == [9, 9, 10]
    await table.within(episode.wait_ended())
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


class Bought(Result):
    words: str


@tool("action", title="Claim by appraisal", needs="appraisal")
def claim_by_appraisal(market: Pie, seat: SeatId, *, inputs: dict[str, Any]) -> Bought:
    """Claim what the appraiser says."""
    market.claim(seat, 5)
    return Bought(words=str(inputs["appraisal"]))


class Slow(Result):
    pass


@tool("read", title="Slow", needs="pause")
def slow(market: Pie, seat: SeatId, *, inputs: dict[str, Any]) -> Slow:
    """Wait for the pause to end."""
    return Slow()


class _Pausing(type(MARKET)):
    tools = ToolTable(*MARKET.tools.values(), slow)

    def request(self, market: Pie, seat: SeatId, tool: str, arguments: Any) -> InputRequest | None:
        return InputRequest("pause", seat) if tool == "slow" else None


class _Appraised(type(MARKET)):
    tools = ToolTable(*MARKET.tools.values(), claim_by_appraisal)

    def request(self, market: Pie, seat: SeatId, tool: str, arguments: Any) -> InputRequest | None:
        return InputRequest("appraisal", seat) if tool == "claim_by_appraisal" else None


def _count(table: Any, episode: Any, tool: str) -> int:
    return sum(event.get("tool") == tool for event in table.events(episode))


async def test_a_repeated_key_gets_the_stored_answer_with_the_current_turn(table: Any) -> None:
    episode = await table.create()
    first = await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    await episode.call("P2", "claim", {"slices": 4})
    again = await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    assert again[:5] == first[:5]
    assert (first.turn.round, first.turn.turn_over) == (1, True)
    assert (again.turn.round, again.turn.turn_over) == (2, False)
    assert _count(table, episode, "claim") == 2


async def test_the_order_of_an_objects_members_makes_no_other_request(table: Any) -> None:
    episode = await table.create(table.pie("talk"))
    first = await episode.call("P1", "claim", {"slices": 4, "extra": 1}, call_key="k")
    again = await episode.call("P1", "claim", {"extra": 1, "slices": 4}, call_key="k")
    assert again[:5] == first[:5]


async def test_a_refused_action_keeps_its_refusal_under_its_key(table: Any) -> None:
    episode = await table.create()
    refused = await episode.call("P1", "claim", {"slices": 11}, call_key="k")
    assert refused.error.code == "too_many_slices"
    assert (await episode.call("P1", "claim", {"slices": 11}, call_key="k"))[:5] == refused[:5]
    assert _count(table, episode, "claim") == 1
    assert (await episode.call("P1", "claim", {"slices": 10}, call_key="l")).status == "ok"


async def test_a_key_with_another_request_is_refused_and_logged(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    before = episode.core.market.digest()
    for slices in (5, 4.0, float("nan")):
        other = await episode.call("P1", "claim", {"slices": slices}, call_key="k")
        assert (other.status, other.error.code, other.error.retryable) == ("denied", "key_reused", False)
    assert episode.core.market.digest() == before
    await episode.close()
    assert [event["error"]["code"] for event in table.events(episode)[-3:]] == ["key_reused"] * 3
    assert table.verdict(episode.path) == "reproduced"


async def test_each_seat_has_keys_of_its_own(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    assert (await episode.call("P2", "claim", {"slices": 5}, call_key="k")).status == "ok"
    assert (await episode.await_turn("P1")).market["last"]["claims"] == {"P1": 4, "P2": 5}


async def test_reads_ignore_keys(table: Any) -> None:
    episode = await table.create()
    for arguments in ({}, {"first_round": 1}):
        assert (await episode.call("P1", "view_history", arguments, call_key="k")).status == "ok"
    assert (await episode.call("P1", "claim", {"slices": 4}, call_key="k")).status == "ok"


async def test_a_note_is_taken_once_and_removed_once(table: Any) -> None:
    episode = await table.create()
    keyed = [("add_note", {"text": "the pie is 12"}, "a"), ("remove_note", {"number": 1}, "b")]
    for name, arguments, key in keyed:
        answers = await table.within(
            asyncio.gather(*(episode.call("P1", name, arguments, call_key=key) for _ in range(3)))
        )
        assert len({answer[:5] for answer in answers}) == 1
        assert (answers[0].status, _count(table, episode, name)) == ("ok", 1)
    await episode.close()
    again = await table.reopen(episode.path)
    for name, arguments, key in keyed:
        assert (await again.call("P1", name, arguments, call_key=key)).status == "ok"
        assert _count(table, again, name) == 1
    assert (await again.call("P1", "add_note", {"text": "other"}, call_key="a")).error.code == "key_reused"
    assert table.data(await again.call("P1", "view_notes", {}))["notes"] == []


async def test_a_program_runs_once_under_its_key(table: Any, sandbox: Any) -> None:
    episode = await table.create(sandbox=sandbox)
    code = {"code": "view_my_value()['value_per_slice']"}
    run = partial(episode.call, "P1", "execute_code", code, call_key="k")
    answers = await table.within(asyncio.gather(run(), run()))
    assert len({answer[:5] for answer in answers}) == 1
    assert (await table.within(run()))[:5] == answers[0][:5]
    assert (_count(table, episode, "execute_code"), _count(table, episode, "view_my_value")) == (1, 1)
    # Acknowledged, so it is in the log; nothing was waited for since.
    assert [row.call_key for row in table.side(episode) if row.call_key] == ["k"]
    await episode.close()
    again = await table.reopen(episode.path)
    stored = await again.call("P1", "execute_code", code, call_key="k")
    assert stored[:1] + stored[2:5] == answers[0][:1] + answers[0][2:5]
    assert table.verdict(episode.path) == "reproduced"


async def test_a_refused_program_keeps_its_refusal_under_its_key(table: Any, sandbox: Any) -> None:
    episode = await table.create(sandbox=sandbox)
    for code in ("1 / 0", ""):
        refused = await table.within(episode.call("P1", "execute_code", {"code": code}, call_key=f"k{code}"))
        assert refused.error.code in ("code_error", "invalid_arguments")
        again = await table.within(episode.call("P1", "execute_code", {"code": code}, call_key=f"k{code}"))
        assert again[:5] == refused[:5]
    without = await table.create(name="without")
    for _ in range(2):
        assert (await without.call("P1", "execute_code", {"code": "1"}, call_key="k")).error.code == "tool_unavailable"
    assert (_count(table, episode, "execute_code"), _count(table, without, "execute_code")) == (2, 1)


async def test_a_repeat_waits_for_the_program_of_a_caller_that_has_gone_away(
    table: Any, sandbox: Any, appraiser: Any
) -> None:
    episode = await table.create(market=_Pausing(), services={"pause": appraiser}, sandbox=sandbox)
    run = partial(episode.call, "P1", "execute_code", {"code": "slow()\n7"}, call_key="k")
    gone = asyncio.create_task(run())
    await table.within(appraiser.called.wait())
    gone.cancel()
    await asyncio.wait([gone])
    repeat = asyncio.create_task(run())
    # Another call while the program runs is refused; with a key it is not kept, since the same call may then succeed.
    busy = await table.within(episode.call("P1", "claim", {"slices": 4}, call_key="c"))
    assert busy.error.code == "busy"
    appraiser.let.set()
    assert table.data(await table.within(repeat))["value"] == 7
    assert (await episode.call("P1", "claim", {"slices": 4}, call_key="c")).status == "ok"
    assert _count(table, episode, "execute_code") == 1


async def test_keys_without_text_or_with_too_much_are_invalid(table: Any) -> None:
    episode = await table.create()
    for key in ("", "k" * 129):
        refused = await episode.call("P1", "claim", {"slices": 4}, call_key=key)
        assert refused.error.code == "invalid_arguments"
    assert episode.core.awaits("P1")
    assert (await episode.call("P1", "claim", {"slices": 4}, call_key="k" * 128)).status == "ok"


async def test_repeats_in_flight_wait_for_the_first(table: Any) -> None:
    episode = await table.create()
    answers = await table.within(
        asyncio.gather(*(episode.call("P1", "claim", {"slices": 4}, call_key="k") for _ in range(5)))
    )
    assert len({answer[:5] for answer in answers}) == 1
    assert answers[0].status == "ok"
    assert _count(table, episode, "claim") == 1


async def test_repeats_of_an_action_that_waits_for_a_service_wait_with_it(table: Any, appraiser: Any) -> None:
    episode = await table.create(market=_Appraised(), services={"appraisal": appraiser})
    calls = [asyncio.create_task(episode.call("P1", "claim_by_appraisal", {}, call_key="k")) for _ in range(3)]
    await table.within(appraiser.called.wait())
    reused = await table.within(episode.call("P1", "claim_by_appraisal", {"other": 1}, call_key="k"))
    assert reused.error.code == "key_reused"
    appraiser.let.set()
    answers = await table.within(asyncio.gather(*calls))
    assert {answer[:5] for answer in answers} == {answers[0][:5]}
    assert answers[0].status == "ok"
    assert _count(table, episode, "claim_by_appraisal") == 2  # carried out once, refused as key_reused once


async def test_a_key_is_free_again_when_the_service_gave_nothing(table: Any) -> None:
    refusing = [True]

    async def appraisal(payload: Any) -> Any:
        if refusing.pop() if refusing else False:
            raise ConnectionError
        return "fine"

    episode = await table.create(market=_Appraised(), services={"appraisal": appraisal})
    missed = await episode.call("P1", "claim_by_appraisal", {}, call_key="k")
    assert missed.error.code == "appraisal_unavailable"
    assert (await episode.call("P1", "claim_by_appraisal", {}, call_key="k")).status == "ok"


async def test_keys_survive_closing_and_opening(table: Any) -> None:
    episode = await table.create()
    first = await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    await episode.close()
    again = await table.reopen(episode.path)
    assert (await again.call("P1", "claim", {"slices": 4}, call_key="k"))[:5] == first[:5]
    assert (await again.call("P1", "claim", {"slices": 5}, call_key="k")).error.code == "key_reused"


async def test_the_stored_answer_is_there_when_reads_keep_their_digests_only(table: Any) -> None:
    episode = await table.create(table.pie(record="digests"))
    await episode.call("P1", "view_my_value", {})
    first = await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    assert (await episode.call("P1", "claim", {"slices": 4}, call_key="k")).body == first.body
    assert table.data(first) == {"round": 1, "sealed": "claim"}
    await episode.close()
    assert [event["result"] is None for event in table.events(episode)[1:]] == [True, False]


async def test_waiting_ends_at_once_for_an_awaited_seat(table: Any) -> None:
    episode = await table.create()
    view = await table.within(episode.await_turn("P1", 40))
    assert (view.round, view.awaited, view.over, view.still_open) == (1, True, False, False)


async def test_waiting_ends_when_the_round_closes(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "claim", {"slices": 4})
    waiting = asyncio.create_task(episode.await_turn("P1", 40))
    await asyncio.sleep(0)
    assert not waiting.done()
    await episode.call("P2", "claim", {"slices": 4})
    view = await table.within(waiting)
    assert (view.round, view.awaited, view.market["last"]["claims"]) == (2, True, {"P1": 4, "P2": 4})


async def test_waiting_ends_with_the_episode(table: Any) -> None:
    episode = await table.create(table.pie(rounds=1))
    await episode.call("P1", "claim", {"slices": 4})
    waiting = asyncio.create_task(episode.await_turn("P1", 40))
    await episode.call("P2", "claim", {"slices": 4})
    view = await table.within(waiting)
    assert (view.awaited, view.over, view.end_reason) == (False, True, "terminated:rounds_completed")
    assert (await table.within(episode.await_turn("P2"))).over


async def test_waiting_in_vain_is_answered_still_open_and_leaves_no_event(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "claim", {"slices": 4})
    seq = episode.core.seq
    view = await table.within(episode.await_turn("P1", SOON))
    assert (view.still_open, view.awaited) == (True, False)
    tool = await table.within(episode.call("P1", "await_turn", {"timeout_s": 0}))
    assert (tool.status, table.data(tool)["still_open"]) == ("ok", True)
    assert episode.core.seq == seq


@pytest.mark.parametrize(
    "arguments", [{"timeout_s": 46}, {"timeout_s": -1}, {"timeout_s": "1"}, {"timeout_s": float("nan")}, {"x": 1}, []]
)
async def test_a_wrong_wait_is_refused_and_logged(table: Any, arguments: Any) -> None:
    episode = await table.create()
    refused = await table.within(episode.call("P1", "await_turn", arguments))
    assert (refused.status, refused.error.code) == ("invalid", "invalid_arguments")
    await episode.close()
    assert table.events(episode)[-1]["tool"] == "await_turn"
    assert table.verdict(episode.path) == "reproduced"


async def test_a_lapse_takes_the_default_action_and_closes_the_round(table: Any) -> None:
    episode = await table.create()
    await episode.call("P1", "claim", {"slices": 4})
    await episode.lapse("P2", "agent_limit")
    await episode.lapse("P1", "agent_limit")
    await episode.lapse("P1", "agent_limit")
    lapsed = [event for event in table.events(episode) if event["event"] == "seat_lapsed"]
    assert [(event["seat"], event["round"], event["default_action"]) for event in lapsed] == [
        ("P2", 1, "no_claim"),
        ("P1", 2, "no_claim"),
    ]


async def test_a_deadline_lapses_silent_seats_in_every_phase_from_the_first_on(table: Any) -> None:
    episode = await table.create(table.pie("talk", **{"timing.decision_deadline_s": SOON}))
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    await episode.close()
    lapsed = [event for event in table.events(episode) if event["event"] == "seat_lapsed"]
    assert [event["reason"] for event in lapsed] == ["deadline"] * 12
    assert {(event["seat"], event["phase"], event["default_action"]) for event in lapsed} == {
        (seat, phase, action) for seat in ("P1", "P2") for phase, action in (("talk", "silence"), ("claim", "no_claim"))
    }
    assert table.verdict(episode.path) == "reproduced"


async def test_a_deadline_spares_the_seat_that_acted_and_wakes_it(table: Any) -> None:
    episode = await table.create(table.pie(**{"timing.decision_deadline_s": 20 * SOON}))
    await episode.call("P1", "claim", {"slices": 4})
    view = await table.within(episode.await_turn("P1", 40))
    assert view.market["last"]["claims"] == {"P1": 4, "P2": None}


async def test_a_deadline_runs_again_after_a_restart(table: Any) -> None:
    episode = await table.create(table.pie(**{"timing.decision_deadline_s": SOON}))
    await episode.close()
    again = await table.reopen(episode.path)
    assert await table.within(again.wait_ended()) == "terminated:rounds_completed"


async def test_an_input_that_the_market_does_not_take_changes_nothing(table: Any) -> None:
    episode = await table.create()
    seq, before = episode.core.seq, episode.core.market.digest()
    with pytest.raises(IllegalAction, match="unknown_source"):
        await episode.feed("operator", {"word": "go"})
    assert (episode.core.seq, episode.core.market.digest()) == (seq, before)


async def test_a_listener_that_fails_stops_neither_the_episode_nor_the_other_listeners(table: Any) -> None:
    episode = await table.create(table.pie(rounds=1))
    heard: list[int] = []
    episode.on_change(lambda: heard.append(1 // 0))
    episode.on_change(lambda: heard.append(1))
    for seat in ("P1", "P2"):
        assert (await table.within(episode.call(seat, "claim", {"slices": 4}))).status == "ok"
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    assert heard == [1]


async def test_listeners_hear_of_closures_until_they_are_stopped(table: Any) -> None:
    episode = await table.create()
    heard: list[int] = []
    stop = episode.on_change(lambda: heard.append(episode.core.market.clock.round))
    await episode.call("P1", "claim", {"slices": 4})
    assert heard == []
    await episode.call("P2", "claim", {"slices": 4})
    assert heard == [2]
    stop()
    stop()
    for seat in ("P1", "P2"):
        await episode.call(seat, "claim", {"slices": 4})
    assert heard == [2]


class _Chatter(Pie):
    """Under a free clock: a message arrives at once, and nobody is awaited."""

    def awaited(self) -> frozenset[SeatId]:
        return frozenset()

    def say(self, seat: SeatId, text: str) -> None:
        (other,) = set(self.seats) - {seat}
        self.inbox[other].append(Message(number=len(self.inbox[other]) + 1, round=1, sender=seat, text=text))


class _ChatterType(type(MARKET)):
    def create(self, scenario: Any, seed: int) -> Pie:
        return _Chatter(scenario, seed)


async def test_under_a_free_clock_news_ends_the_wait_of_its_receiver_only(table: Any) -> None:
    episode = await table.create(table.pie("talk", clock="free"), market=_ChatterType())
    receiver = asyncio.create_task(episode.await_turn("P1", 40))
    sender = asyncio.create_task(episode.await_turn("P2", 0.5))
    await asyncio.sleep(0)
    said = await episode.call("P2", "say", {"text": "hello"})
    assert (said.status, said.turn.turn_over) == ("ok", False)
    assert not (await table.within(receiver)).still_open
    assert (await table.within(sender)).still_open
