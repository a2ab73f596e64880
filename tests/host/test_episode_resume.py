"""Resume: an episode that is opened again goes on as if it had never stopped, byte by byte.

Also here:
- Scripted seats that are played a slice at a time: the same bytes, wherever a slice ends and the process with it.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from pydantic import JsonValue
from tests.frameworks.test_seats import Browser
from tests.host.games import GAMES, Game

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Limit, MarketType, Scenario, ToolCall, TraceError, TradefairError, Turns, TurnView
from tradefair.contract.kernel.core import Core
from tradefair.contract.kernel.replay import Replayed
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.looking import CallResult
from tradefair.host.episode.prefix import copied_records, write_prefix
from tradefair.host.episode.setup import new_episode, reopen_episode, scripted_seats, seat_roles
from tradefair.host.seats.plans import SeatPlan, plan_seats
from tradefair.host.seats.scripted import Scripted
from tradefair.teaching import MARKET
from tradefair.tracestore import open_trace

P1_CALLS: list[tuple[str, Any]] = [
    ("view_rules", {}),
    ("add_note", {"text": "half of it"}),
    ("say", {"text": "half"}),
    ("read_messages", {}),
    ("claim", {"slices": 5}),
    ("claim", {"slices": 5}),
    ("view_history", {}),
    ("say", {"text": 5}),
    ("say", {"text": "more"}),
    ("view_notes", {}),
    ("claim", {"slices": 99}),
    ("claim", {"slices": 7}),
    ("say", {"text": ""}),
    ("read_messages", {"after": 0}),
    ("claim", {"slices": 3}),
]


class Learner:
    """Claims what it remembers: a policy whose state must be brought up to date."""

    def __init__(self) -> None:
        self._heard: list[str] = []
        self._turns = 0

    def turn(self, now: TurnView) -> Turns:
        self._turns += 1
        if now.phase == "talk":
            yield ToolCall("say", {"text": f"turn {self._turns}"})
            return
        mail = yield ToolCall("read_messages")
        self._heard += [message["text"] for message in mail.data["messages"]]
        yield ToolCall("claim", {"slices": (len("".join(self._heard)) + self._turns) % 8})


async def _play(table: Any, scenario: Scenario, scripted: Any, *, stop_after: set[int], name: str) -> list[bytes]:
    """P1's calls in order; the episode is closed and opened again after the calls of `stop_after`."""
    episode = await table.create(scenario, scripted=scripted, name=name)
    for number, (tool, arguments) in enumerate(P1_CALLS):
        await episode.call("P1", tool, arguments)
        if number in stop_after:
            await episode.close()
            episode = await table.reopen(episode.path, scripted=scripted)
    assert episode.core.ended == "terminated:rounds_completed"
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"
    return table.bodies(episode.path)


@pytest.mark.parametrize("policy", ["half", "half(greed=2)", "random_legal", Learner])
async def test_an_episode_stopped_after_every_call_has_the_bytes_of_one_that_was_not(table: Any, policy: Any) -> None:
    scenario = table.pie("talk")
    whole = await _play(table, scenario, {"P2": policy}, stop_after=set(), name="whole")
    broken = await _play(table, scenario, {"P2": policy}, stop_after=set(range(len(P1_CALLS) - 1)), name="broken")
    assert broken == whole
    assert len(whole) > 25


async def test_a_scripted_seat_that_a_limit_lapses_can_be_resumed(table: Any) -> None:
    limit = Limit(counts=("read",), max=3, per="round", then="lapse").model_dump(mode="json")
    episode = await table.create(table.pie(limits=[limit], rounds=4), scripted={"P2": Browser})
    for _ in range(2):
        await episode.call("P1", "claim", {"slices": 5})
    await episode.close()
    again = await table.reopen(episode.path, scripted={"P2": Browser})
    for _ in range(2):
        await again.call("P1", "claim", {"slices": 5})
    assert again.core.ended == "terminated:rounds_completed"
    await again.close()
    lapsed = [event["reason"] for event in table.events(episode.path) if event["event"] == "seat_lapsed"]
    assert lapsed == ["call_limit"] * 4
    assert table.verdict(episode.path) == "reproduced"


async def test_scripted_seats_alone_play_to_the_end(table: Any) -> None:
    episode = await table.create(scripted={"P1": "half", "P2": "random_legal"})
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


async def test_another_policy_than_that_of_the_trace_cannot_go_on(table: Any) -> None:
    episode = await table.create(scripted={"P2": "half"})
    await episode.call("P1", "claim", {"slices": 5})
    await episode.close()
    with pytest.raises(TraceError, match="does not play as in the trace"):
        await table.reopen(episode.path, scripted={"P2": "half(greed=1)"})
    # The failed attempt gave its lease back.
    assert (await table.reopen(episode.path, scripted={"P2": "half"})).core.market.clock.round == 2


async def test_notes_limits_and_read_marks_are_there_again(table: Any) -> None:
    limit = Limit(counts=("read",), max=5, per="round").model_dump(mode="json")
    episode = await table.create(table.pie("talk", limits=[limit]))
    await episode.call("P1", "add_note", {"text": "remember"})
    for seat in ("P1", "P2"):
        await episode.call(seat, "say", {"text": f"from {seat}"})
    await episode.call("P1", "read_messages", {})
    await episode.call("P1", "claim", {"slices": 4})
    seen = [await episode.call("P1", tool, {}) for tool in ("view_notes", "view_turn", "read_messages")]
    await episode.close()
    again = await table.reopen(episode.path)
    shown = [await again.call("P1", tool, {}) for tool in ("view_notes", "view_turn", "read_messages")]
    assert shown[0].body == seen[0].body
    assert table.data(shown[1])["limits"][0]["used"] == table.data(seen[1])["limits"][0]["used"] + 1
    assert table.data(shown[2]) == {"messages": []}


async def test_a_second_writer_is_refused_while_the_first_lives(table: Any) -> None:
    episode = await table.create()
    with pytest.raises(TraceError, match="open for writing"):
        await table.reopen(episode.path)
    assert (await episode.call("P1", "claim", {"slices": 4})).status == "ok"
    with pytest.raises(TraceError, match="exists already"):
        await table.create()
    await episode.close()
    assert (await table.reopen(episode.path)).core.market.sealed == {"P1": 4}


@pytest.mark.parametrize(
    ("edit", "told"),
    [
        ("UPDATE events SET body = replace(body, '\"shared\":true', '\"shared\":false') WHERE seq = 5", "event 5"),
        ("DELETE FROM events WHERE seq >= (SELECT max(seq) FROM events WHERE closes) - 1", "run tradefair verify"),
        ("DELETE FROM events WHERE seq = 2", "event 2 is missing"),
        ("UPDATE events SET body = replace(body, 'no_such_tool', 'no_much_tool')", "run tradefair verify"),
        ("UPDATE events SET hash = zeroblob(32) WHERE seq = (SELECT max(seq) FROM events)", "run tradefair verify"),
    ],
)
async def test_a_log_whose_chain_or_tail_is_not_there_is_not_gone_on_with(table: Any, edit: str, told: str) -> None:
    episode = await table.create()
    await episode.call("P1", "no_such_tool", {})
    for _ in range(2):
        for seat in ("P1", "P2"):
            await episode.call(seat, "claim", {"slices": 4})
    await episode.close()
    with closing(sqlite3.connect(episode.path)) as database, database:
        assert database.execute(edit.replace("replace(body", "replace(CAST(body AS TEXT)")).rowcount
    before = episode.path.read_bytes()
    with pytest.raises(TraceError, match=told):
        await table.reopen(episode.path)
    assert episode.path.read_bytes() == before
    assert [item.name for item in episode.path.parent.iterdir()] == [episode.path.name]


@pytest.mark.parametrize(
    ("said", "instead"),
    [
        (b'"seating":{', b'"seated":{'),
        (b'"P2":{', b'"P3":{'),
        (b'"policy":"half"', b'"policy":7'),
        (b'"late":false', b'"late":5'),
        (b'"policy_key":0', b'"policy_key":"x"'),
        (b'"policy":"half"', b'"policy":"nobody"'),
    ],
)
async def test_a_trace_that_does_not_say_who_plays_is_not_gone_on_with(
    table: Any, tmp_path: Path, said: bytes, instead: bytes
) -> None:
    plan = plan_seats(MARKET, table.pie(), agents=["P1"], others="half")
    episode = await new_episode(MARKET, table.pie(), 7, plan, table.folder, episode_id="pie")
    await episode.close()
    with open_trace(episode.path) as trace:
        first, *rest = copied_records(trace, 1_000)
        core = trace.manifest.core_bytes
    assert said in first.body
    await write_prefix(
        tmp_path / "forged.trace", core, {}, [first._replace(body=first.body.replace(said, instead)), *rest]
    )
    with pytest.raises(TradefairError, match=r"who plays|no policy 'nobody'"):
        await reopen_episode(tmp_path / "forged.trace")


@pytest.mark.parametrize("content", [b"", b"no trace", b"SQLite format 3\x00" + b"\x00" * 200])
async def test_a_file_that_is_no_trace_is_refused(table: Any, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.trace"
    path.write_bytes(content)
    with pytest.raises(TraceError):
        await table.reopen(path)
    assert path.read_bytes() == content


async def test_a_finished_episode_can_be_opened_but_not_gone_on_with(table: Any) -> None:
    episode = await table.create(table.pie(rounds=1), scripted={"P2": "half"})
    await episode.call("P1", "claim", {"slices": 5})
    await episode.close()
    bodies, about = table.bodies(episode.path), episode.manifest.about
    again = await table.reopen(episode.path, scripted={"P2": "half"})
    assert (await again.call("P1", "claim", {"slices": 5})).error.code == "episode_over"
    assert (await again.call("P1", "view_history", {})).status == "ok"
    await again.close()
    assert (table.bodies(episode.path), again.manifest.about) == (bodies, about)


# --- markets at large -------------------------------------------------------------------------------------------------


async def _play_game(game: Game, folder: Path, *, stopped: bool) -> tuple[Path, list[Any]]:
    """The game's calls with a look before each; where `stopped`, its episode is closed and opened again after each."""
    episode = await game.begin(folder)
    told: list[Any] = []
    for number, call in enumerate(game.calls()):
        for tool, arguments in ((game.looks[number % len(game.looks)], {}), ("view_turn", {}), call):
            answer = await episode.call(game.seat, tool, arguments)
            told.append((tool, answer.status, answer.body, answer.error))
        if stopped and episode.core.ended is None:
            await episode.close()
            episode = await reopen_episode(episode.path)
    assert episode.core.ended == "terminated:rounds_completed"
    await episode.close()
    return episode.path, told


@pytest.mark.many
@pytest.mark.parametrize("name", GAMES)
async def test_an_episode_of_any_market_is_the_same_when_it_is_stopped_after_every_call(
    table: Any, tmp_path: Path, name: str
) -> None:
    game = GAMES[name]
    whole, told = await _play_game(game, tmp_path / "whole", stopped=False)
    broken, again = await _play_game(game, tmp_path / "broken", stopped=True)
    assert told == again
    assert {status for _, status, *_ in told} >= {"ok", "rejected"}
    assert table.bodies(whole) == table.bodies(broken)
    assert table.verdict(broken) == "reproduced"


SEED = 7
# Market, scenario, overrides, the policy of each role.
SLICED = [
    pytest.param("double_auction", "bazaar", {"rounds": 3}, {"buyer": "zip", "seller": "zip"}, id="turns"),
    pytest.param(
        "marketplace",
        "small_demo",
        {"clock": "free", "alias_ids": False, "rounds_max": 4},
        {"customer": "item_searcher", "business": "honest"},
        id="free clock",
    ),
]
Made = tuple[MarketType, Scenario, Callable[[], Scripted]]


def made(market: str, name: str, overrides: dict[str, JsonValue], policies: dict[str, str]) -> Made:
    kind, scenario = market_type(market), load_scenario(market, name, overrides)
    roles = seat_roles(kind, scenario)
    # Customers after businesses: what a customer does is a reason for a business that the pass has gone by already.
    late = frozenset(seat for seat, role in roles.items() if role == "customer")
    plan = SeatPlan({seat: policies[role] for seat, role in roles.items()}, late)
    return kind, scenario, lambda: scripted_seats(kind, scenario, plan, SEED)


def played(core: Core, scripted: Scripted, slice_s: float | None, most: int = 1_000_000) -> tuple[list[bytes], int]:
    """The events until the end or for so many slices, and the number of slices."""
    bodies: list[bytes] = []
    slices = 0
    while slices < most and core.ended is None and (records := scripted.run(core, slice_s=slice_s)):
        bodies += [record.body for record in records]
        slices += 1
    return bodies, slices


@pytest.mark.parametrize(("market", "name", "overrides", "policies"), SLICED)
def test_slices_of_one_seat_each_write_the_same_events(
    market: str, name: str, overrides: dict[str, JsonValue], policies: dict[str, str]
) -> None:
    kind, scenario, scripted = made(market, name, overrides, policies)

    def sliced(slice_s: float | None) -> tuple[list[bytes], int]:
        core = Core.create(kind, scenario, SEED)
        core.start()
        return played(core, scripted(), slice_s)

    bodies, few = sliced(None)
    assert sliced(60) == (bodies, few)
    sliced_bodies, many = sliced(0)
    assert sliced_bodies == bodies
    assert many > 2 * few


@pytest.mark.many
@pytest.mark.parametrize(("market", "name", "overrides", "policies"), SLICED)
def test_an_episode_that_stops_between_slices_goes_on_with_the_same_events(
    market: str, name: str, overrides: dict[str, JsonValue], policies: dict[str, str]
) -> None:
    kind, scenario, scripted = made(market, name, overrides, policies)
    whole = Core.create(kind, scenario, SEED)
    begin = [record.body for record in whole.start().records]
    bodies, slices = played(whole, scripted(), 0)
    for stop in range(1, slices, max(1, slices // 40)):
        first = Core.create(kind, scenario, SEED)
        first.start()
        before, _ = played(first, scripted(), 0, stop)
        follower, seats = Replayed(Core.restore(kind, first.manifest)), scripted()
        for body in [*begin, *before]:
            commands = not follower.due()
            if commands:
                seats.follow(follower.core, orjson.loads(body))
            step = follower.step(body)
            if commands:
                seats.followed(follower.core, step.event, follower.answer)
        follower.finish()
        assert before + played(follower.core, seats, None)[0] == bodies


def _seats() -> Made:
    """Two outside seats among scripted ones that parse the book."""
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "bazaar", {"rounds": 3})
    plan = plan_seats(kind, scenario, agents=["B1", "S1"], others="zip")
    return kind, scenario, lambda: scripted_seats(kind, scenario, plan, SEED)


async def _episode(path: Path) -> Any:
    kind, scenario, scripted = _seats()
    return await Episode.create(path, kind, scenario, SEED, episode_id="x", scripted=scripted())


async def _in_the_middle(episode: Any, until: asyncio.Task[CallResult]) -> bool:
    """Let the loop turn until scripted seats are in the middle of their moves; false when the call was over first."""
    for _ in range(100_000):
        if episode._moves.under_way or until.done():
            return episode._moves.under_way
        await asyncio.sleep(0)
    raise AssertionError("neither ever came")


@pytest.mark.parametrize("slice_s", [0.0, 3_600.0])
async def test_calls_wait_for_moves_that_are_under_way(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slice_s: float
) -> None:
    """However long a slice is, calls that come in the middle of the moves stand behind them in the log."""
    whole = await _episode(tmp_path / "whole.trace")
    for number in range(3):
        await whole.call("B1", "submit_quote", {"price": 50 + number})
        await whole.call("S1", "submit_quote", {"price": 50})
        await whole.call("B1", "view_turn", {})
    await whole.close()
    monkeypatch.setattr("tradefair.host.episode.moves.SLICE_S", slice_s)
    episode, interrupted = await _episode(tmp_path / "sliced.trace"), 0
    for number in range(3):
        await episode.call("B1", "submit_quote", {"price": 50 + number})
        closing = asyncio.create_task(episode.call("S1", "submit_quote", {"price": 50}))
        interrupted += await _in_the_middle(episode, closing)
        waiting = asyncio.create_task(episode.await_turn("B1"))
        await table.within(episode.call("B1", "view_turn", {}))
        assert not episode._moves.under_way
        assert not (await table.within(waiting)).still_open
        assert (await closing).status == "ok"
    assert interrupted == (2 if slice_s == 0 else 0)  # the last call ends the episode
    await episode.close()
    assert table.bodies(episode.path) == table.bodies(whole.path)
    assert table.verdict(episode.path) == "reproduced"


async def test_an_episode_that_is_closed_in_the_middle_of_moves_goes_on_with_them(
    table: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, episode = await _episode(tmp_path / "whole.trace"), await _episode(tmp_path / "closed.trace")
    monkeypatch.setattr("tradefair.host.episode.moves.SLICE_S", 0.0)
    for seat in ("B1", "S1"):
        await whole.call(seat, "submit_quote", {"price": 50})
    await episode.call("B1", "submit_quote", {"price": 50})
    closing = asyncio.create_task(episode.call("S1", "submit_quote", {"price": 50}))
    assert await _in_the_middle(episode, closing)
    await episode.close()
    assert (await table.within(closing)).status == "ok"
    before = table.bodies(episode.path)
    kind, _, scripted = _seats()
    again = await Episode.open(episode.path, kind, scripted=scripted())
    await again.close()
    await whole.close()
    assert len(before) < len(table.bodies(again.path))
    assert table.bodies(again.path) == table.bodies(whole.path)


async def test_the_loop_turns_between_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As often as scripted seats move, when every seat is a slice; once at most when a slice is long."""
    turns: dict[float, int] = {}
    for slice_s in (0.0, 3_600.0):
        monkeypatch.setattr("tradefair.host.episode.moves.SLICE_S", slice_s)
        episode = await _episode(tmp_path / f"{slice_s}.trace")
        await episode.call("B1", "submit_quote", {"price": 50})
        closing = asyncio.create_task(episode.call("S1", "submit_quote", {"price": 50}))
        turns[slice_s] = 0
        while await _in_the_middle(episode, closing):
            turns[slice_s] += 1
            await asyncio.sleep(0)
        await closing
        await episode.close()
    scripted_seats_moving = 6
    assert turns[3_600.0] == 0
    assert turns[0.0] >= scripted_seats_moving
