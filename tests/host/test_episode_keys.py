"""Call keys: the same call once, however often and whenever it is sent."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from tradefair.contract import InputRequest, Result, SeatId, ToolTable, tool
from tradefair.teaching import MARKET
from tradefair.teaching.rules import Pie


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
