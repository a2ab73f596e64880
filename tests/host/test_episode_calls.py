"""Calls through an Episode: answers, refusals, group commit, reads that do not wait, services."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from tradefair.catalog import load_scenario
from tradefair.contract import SeatError
from tradefair.double_auction import MARKET as DOUBLE_AUCTION


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
    for tool, arguments in (("claim", {"slices": 99}), ("claim", {"slices": "9"}), ("fly", {}), ("say", {"text": ""})):
        await episode.call("P1", tool, arguments)
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
    for tool in ("claim", "execute_code", "add_note", "no_such_tool"):
        answer = await episode.call("P1", tool, {})
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
