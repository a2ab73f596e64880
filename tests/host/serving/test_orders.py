"""Orders of a trainer: tasks, groups on one seed, seats that nobody else has to take, and places that become free."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from tests.host.serving.by_hand import HEADERS, Seat
from tests.host.serving.planes import PIE, Plane, plane
from tests.waiting import LONG, LONGER, SOON, deadline_passed, eventually, in_time

from tradefair.catalog import default_scenario, load_scenario, market_names, market_type
from tradefair.contract import ErrorInfo, ScenarioError, SeatError
from tradefair.contract.kernel.players import AGENT, seats_of
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.commands.host_flags import HostFlags
from tradefair.host.commands.launch import _reopened_host, _report  # pyright: ignore[reportPrivateUsage]  # a restart, in process
from tradefair.host.doors import hosting
from tradefair.host.doors.control import ControlRefused, Handler
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.registry import HOST_FILE, load_host_file
from tradefair.host.episode.orders import Order, Terms, checked
from tradefair.host.seats.plans import STAND_IN, left_alone, plan_seats
from tradefair.host.server.wire import PLAIN, Manner

SEALED_SEED = 730_519_264_807_153


class Tasks:
    """What `tradefair host --tasks` adds, as small as it can be."""

    def order(self, task: str) -> Order:
        split, _, index = task.partition("/")
        if int(index) > 9:
            raise SeatError(f"{split} has tasks 0 to 9")
        sealed = split == "test"
        return Order(
            market="teaching",
            scenario="teaching/pie",
            seed=SEALED_SEED if sealed else int(index),
            seats=("P2",),
            others=STAND_IN,
            sealed=sealed,
        )

    def routes(self, host: Host) -> Sequence[tuple[str, str, Handler]]:
        async def listed(request: Request) -> Response:
            return JSONResponse({"episodes": len(host.episodes)})

        async def refusing(request: Request) -> Response:
            raise ControlRefused(409, ErrorInfo("episode_running", "it runs", "play on", True))

        async def broken(request: Request) -> Response:
            raise RuntimeError("a path of this machine")

        return [("/tasks", "GET", listed), ("/refusing", "GET", refusing), ("/broken", "GET", broken)]


async def made(it: Plane, **wanted: Any) -> Any:
    """An order that says everything itself."""
    answer = await it.http.post("/episodes", json=wanted)
    assert answer.status_code == 201, answer.text
    return answer.json()


def _name(answer: Any) -> str:
    return answer["episodes"][0]["episode"]


# --- nobody else has to come ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("market", market_names())
@pytest.mark.parametrize("last", [False, True])
def test_one_invited_seat_is_enough_in_every_market(market: str, last: bool) -> None:
    kind, scenario = market_type(market), load_scenario(market, default_scenario(market))
    seat = list(seats_of(kind, scenario))[-1 if last else 0]
    plan = checked(Order(market=market, seed=1, seats=(seat,), others=STAND_IN)).plan
    assert plan.agents == [seat]


def test_a_stand_in_sits_where_the_scenario_has_an_agent_and_policies_where_it_names_them() -> None:
    kind, scenario = market_type("marketplace"), load_scenario("marketplace", "small_demo")
    own = plan_seats(kind, scenario)
    one, two = own.agents[:2]
    plan = plan_seats(kind, scenario, agents=[one], others=STAND_IN)
    assert plan.agents == [one]
    assert plan == left_alone(kind, scenario, plan_seats(kind, scenario, agents=[one]), [one])
    assert {seat for seat, who in plan.seats.items() if who != own.seats[seat]} == plan.late == {*own.agents} - {one}
    assert plan_seats(kind, scenario, agents=[one, two], others=STAND_IN).agents == [one, two]
    assert plan_seats(kind, scenario, others=STAND_IN) == own  # all of them were asked for
    # A seat that nothing names is filled, too.
    teaching = market_type("teaching")
    bare = load_scenario("teaching", "teaching/pie").model_copy(update={"seats": {"P1": AGENT}, "by_turns": False})
    with pytest.raises(ScenarioError, match="nothing plays P2"):
        plan_seats(teaching, bare)
    assert plan_seats(teaching, bare, others=STAND_IN).seats == {"P1": AGENT, "P2": "half"}


async def test_an_episode_of_one_invited_seat_goes_on_without_the_others(stage: Any) -> None:
    async with plane(stage) as it:
        kind, scenario = market_type("marketplace"), load_scenario("marketplace", "small_demo")
        seat = plan_seats(kind, scenario).agents[0]
        answer = await made(it, market="marketplace", scenario="marketplace/small_demo", seed=7, seats=[seat],
                            others="stand_in")  # fmt: skip
        assert [one["seat"] for one in answer["invitations"]] == [seat]
        name = _name(answer)
        # Its own seat is given up whenever it is awaited: nobody else ever is.
        shown: Any = {}
        for _ in range(200):
            shown = (await it.http.get(f"/episodes/{name}")).json()
            if shown["state"] == "ended":
                break
            assert [one["seat"] for one in shown["seats"] if one["awaited"]] == [seat]
            await it.http.post(f"/episodes/{name}/lapse", json={"seat": seat})
        assert shown["end_reason"].startswith(("terminated:", "truncated:max_rounds"))


# --- tasks and groups -------------------------------------------------------------------------------------------------


async def test_a_task_says_itself_who_plays_what(stage: Any) -> None:
    async with plane(stage, extension=Tasks()) as it:
        answer = await made(it, task="train/3", labels={"P2": "openai:one"}, ttl_s=60.0, tools="slim")
        line = answer["episodes"][0]
        assert (line["task"], line["sealed"], line["seed"]) == ("train/3", False, 3)
        assert [one["seat"] for one in answer["invitations"]] == ["P2"]
        episode = it.host.episode(line["episode"])
        assert (episode.seating.labels["P2"], episode.manifest.about["task"]) == ("openai:one", "train/3")
        assert it.host.terms_of == {episode.id: Terms(ttl_s=60, tools="slim")}
        await it.host.remove(episode.id)
        assert (await it.http.get(f"/episodes/{episode.id}")).json()["task"] == "train/3"


async def test_a_group_is_on_one_seed_and_every_other_order_on_seeds_of_its_own(stage: Any) -> None:
    async with plane(stage, extension=Tasks()) as it:
        group = await made(it, task="train/3", count=3, same_seed=True)
        assert [line["seed"] for line in group["episodes"]] == [3, 3, 3]
        fresh = await made(it, market="teaching", scenario="teaching/pie", others="half", count=2, same_seed=True)
        assert len({line["seed"] for line in fresh["episodes"]}) == 1
        assert len({line["episode"] for line in fresh["episodes"]}) == 2


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({}, "a market or a task"),
        ({"market": "teaching", "task": "train/1"}, "and not both"),
        ({"task": "train/1", "seed": 4}, "leave out seed"),
        ({"task": "train/1", "seats": ["P1"], "others": "half"}, "leave out seats, others"),
        ({"task": "train/1", "count": 2}, "same_seed"),
        ({"task": "../1"}, "task"),
        ({**PIE, "same_seed": True}, "2 to 64"),
        ({**PIE, "same_seed": True, "count": 65}, "2 to 64"),
        ({**PIE, "idle_s": 0}, "idle_s"),
        ({**PIE, "idle_s": 1e9}, "idle_s"),
        ({**PIE, "tools": "none"}, "tools"),
    ],
)
async def test_an_order_that_says_two_things_is_refused(stage: Any, wanted: Any, said: str) -> None:
    async with plane(stage, extension=Tasks()) as it:
        error = await it.refused(400, "POST", "/episodes", json=wanted)
        assert (error["code"], said in error["message"]) == ("invalid_arguments", True), error
        assert not it.host.episodes


async def test_an_unknown_task_and_a_host_without_tasks_say_what_to_do(stage: Any) -> None:
    async with plane(stage, extension=Tasks()) as it:
        error = await it.refused(404, "POST", "/episodes", json={"task": "train/10"})
        assert (error["code"], error["hint"]) == ("unknown_id", "GET /tasks lists what there is")
    async with plane(stage) as it:
        error = await it.refused(400, "POST", "/episodes", json={"task": "train/1"})
        assert "one with --tasks has" in error["message"]


async def test_routes_of_an_extension_stand_behind_the_same_door(stage: Any) -> None:
    async with plane(stage, extension=Tasks()) as it:
        assert (await it.http.get("/tasks")).json() == {"episodes": 0}
        assert (await it.refused(409, "GET", "/refusing"))["code"] == "episode_running"
        assert "machine" not in (await it.refused(500, "GET", "/broken"))["message"]
        foreign = await it.http.get("/tasks", headers={"Host": "evil.example"})
        assert foreign.status_code == 421
        it.http.headers["Authorization"] = "Bearer tf_of_a_seat"
        await it.refused(401, "GET", "/tasks")


async def test_the_seed_of_a_sealed_episode_is_shown_to_nobody(stage: Any) -> None:
    async with plane(stage, extension=Tasks()) as it:
        waiting = await made(it, task="test/0", start=False)
        answer = await made(it, task="test/1")
        closed = await made(it, task="test/2")
        await it.http.delete(f"/episodes/{_name(closed)}")
        texts = [repr((waiting, answer, closed)), (await it.http.get("/episodes")).text, (await it.http.get("/")).text]
        for name in map(_name, (waiting, answer, closed)):
            shown = await it.http.get(f"/episodes/{name}")
            assert (shown.json()["seed"], shown.json()["sealed"]) == (None, True)
            texts.append(shown.text)
            status = 404 if name == _name(waiting) else 403
            assert (await it.refused(status, "GET", f"/episodes/{name}/export"))["hint"]
        async with stage.at(answer["url"], answer["invitations"][0]["token"]) as client:
            texts += [repr(await client.list_tools()), repr(await client.call_tool("view_turn"))]
        texts.append(repr(_report(it.host, answer["url"], stage.folder, [])))
        assert not [text for text in texts if str(SEALED_SEED) in text]
        # The trace has it, for the day on which the salt is published.
        assert stage.events(it.host.trace_of(_name(closed)))
        assert it.host.past[_name(closed)].seed == SEALED_SEED


# --- places become free -----------------------------------------------------------------------------------------------


async def test_a_deleted_episode_frees_its_place_at_once_and_its_trace_stays(stage: Any) -> None:
    async with plane(stage, max_episodes=1, linger_s=LONGER) as it:
        name = _name(await it.create())
        path = it.host.episode(name).path
        busy = await it.http.post("/episodes", json=PIE)
        assert (busy.status_code, busy.headers["Retry-After"]) == (429, "2")
        for _ in range(2):  # a client that has not heard the answer asks again
            assert (await it.http.delete(f"/episodes/{name}")).json() == {"end_reason": "truncated:cancelled"}
        verdict = verify_file(path)
        assert (verdict.verdict, verdict.sealed) == ("reproduced", True)
        assert (list(it.host.tokens), (await it.http.get(f"/episodes/{name}")).json()["state"]) == ([], "closed")
        waiting = _name(await it.create(start=False))
        assert (await it.http.delete(f"/episodes/{waiting}")).json() == {"end_reason": None}
        await it.create()
        for unknown in (waiting, "nobody"):
            assert (await it.refused(404, "DELETE", f"/episodes/{unknown}"))["code"] == "unknown_id"


async def test_a_retired_episode_is_not_kept_in_memory_for_the_linger_time(stage: Any) -> None:
    async with plane(stage, linger_s=LONGER) as it:
        name = _name(await it.create())
        await it.http.delete(f"/episodes/{name}")
        host: Any = it.host
        assert not host._watching
        await eventually(
            lambda: not [task for task in asyncio.all_tasks() if "_watch" in repr(task)], "no watch of an episode"
        )


async def test_an_episode_that_is_over_keeps_its_end_when_it_is_deleted(stage: Any) -> None:
    async with plane(stage, linger_s=LONGER) as it:
        answer = await it.create(others=STAND_IN)
        async with stage.at(answer["url"], answer["invitations"][0]["token"]) as client:
            while not (await client.call_tool("await_turn")).structured_content["over"]:
                await client.call_tool("claim", {"slices": 5})
        ended = (await it.http.delete(f"/episodes/{_name(answer)}")).json()["end_reason"]
        assert ended.startswith("terminated:")


async def test_an_episode_without_calls_ends_as_idle_and_frees_its_place(stage: Any) -> None:
    async with plane(stage, linger_s=LONGER) as it:

        async def kept(idle_s: float) -> Any:
            answer = await it.create(idle_s=idle_s, seats="all")
            episode = it.host.episode(_name(answer))
            # A client that calls now and then is there, one of two is enough; an observer keeps nothing alive.
            token = next(one["token"] for one in answer["invitations"] if one["seat"] == "P1")
            called = await _calls_now_and_then(stage, answer["url"], token, episode, idle_s / 2)
            return episode if called else None

        episode = await in_time(kept, 10 * SOON)
        name = episode.id
        assert await stage.within(episode.wait_ended()) == "truncated:idle"
        await eventually(lambda: name not in it.host.episodes, "an episode that has been retired")
        assert (it.host.past[name].reason, list(it.host.tokens)) == ("truncated:idle", [])
        verdict = verify_file(episode.path)
        assert (verdict.verdict, verdict.sealed) == ("reproduced", True)


async def _calls_now_and_then(stage: Any, url: str, token: str, episode: Any, pause_s: float) -> bool:
    """Whether four calls with pauses between them kept an episode alive; a busy machine may make them late."""
    async with stage.at(url, token) as client:
        for _ in range(4):
            await deadline_passed(pause_s)
            if episode.core.ended is not None:
                return False
            await client.call_tool("view_turn")
    return episode.core.ended is None


async def test_who_waits_for_a_turn_is_not_idle(stage: Any) -> None:
    async with plane(stage) as it:

        async def waited(idle_s: float) -> Any:
            answer = await it.create(seats="all", idle_s=idle_s)
            episode = it.host.episode(_name(answer))
            tokens = {one["seat"]: one["token"] for one in answer["invitations"]}
            async with stage.at(answer["url"], tokens["P1"]) as client:
                await client.list_tools()
                if episode.core.ended is not None:
                    return None
                await client.call_tool("claim", {"slices": 5})
                waited = await client.call_tool("await_turn", {"timeout_s": 3 * idle_s})
                assert waited.structured_content["still_open"]
                assert episode.core.ended is None
            return episode

        episode = await in_time(waited, 10 * SOON)
        assert await stage.within(episode.wait_ended()) == "truncated:idle"


async def test_a_client_that_vanishes_in_mid_wait_is_idle_from_then_on(stage: Any) -> None:
    async with plane(stage) as it:

        async def vanished(idle_s: float) -> Any:
            answer = await it.create(seats="all", idle_s=idle_s)
            episode = it.host.episode(_name(answer))
            await episode.call("P1", "claim", {"slices": 5})
            gate = it.host.gate(episode.id, "P1")
            headers = {**HEADERS, "Authorization": f"Bearer {answer['invitations'][0]['token']}"}
            async with httpx2.AsyncClient(headers=headers, timeout=LONG) as http:
                waiting = asyncio.create_task(Seat(answer["url"], http).call("await_turn", b'{"timeout_s": 45}'))
                await eventually(lambda: gate.open or episode.core.ended, "a client that waits")
                heard = episode.core.ended is None
                waiting.cancel()
            return episode if heard else None

        episode = await in_time(vanished, 10 * SOON)
        # Its wait would have lasted longer.
        assert await asyncio.wait_for(episode.wait_ended(), LONG / 2) == "truncated:idle"


IDLE_S = 40 * SOON


async def test_terms_of_an_order_survive_a_restart(stage: Any) -> None:
    async with plane(stage) as it:
        running = _name(await it.create(idle_s=IDLE_S, tools="slim", refusals="result"))
        waiting = _name(await it.create(idle_s=IDLE_S, start=False))
        # As if it had been killed between the start and the entry in the registry.
        before = (stage.folder / HOST_FILE).read_bytes()
        await it.http.post(f"/episodes/{waiting}/start")
        await it.host.close()
    (stage.folder / HOST_FILE).write_bytes(before)
    assert load_host_file(stage.folder).terms == {running: Terms(idle_s=IDLE_S, tools="slim", refusals="result")}
    with ExitStack() as held:
        host = await _reopened_host(HostFlags(control=0).usual(tasks=False), stage.folder, stage.sandbox, held, None)
        assert (host.manner_for(running), host.manner_for(waiting)) == (Manner(True, "result"), PLAIN)
        episodes = list(host.episodes.values())
        async with stage.hosted(host):
            ends = [await stage.within(episode.wait_ended()) for episode in episodes]
        assert ends == ["truncated:idle"] * 2


async def test_slim_lists_have_no_output_schemas(stage: Any) -> None:
    async with plane(stage) as it:
        for tools, slim in (("slim", True), ("full", False)):
            answer = await it.create(tools=tools)
            async with stage.at(answer["url"], answer["invitations"][0]["token"]) as client:
                listed = (await client.list_tools()).tools
            assert all((tool.output_schema is None) is slim for tool in listed)


@pytest.mark.parametrize(("hosts", "orders", "is_error"), [
    ("error", None, True), ("error", "result", False), ("result", None, False), ("result", "error", True),
])  # fmt: skip
async def test_an_order_says_how_its_clients_are_refused_or_else_its_host(
    stage: Any, hosts: Any, orders: str | None, is_error: bool
) -> None:
    async with plane(stage) as it:
        it.host.manner = Manner(refusals=hosts)
        answer = await it.create(refusals=orders)
        async with stage.at(answer["url"], answer["invitations"][0]["token"]) as client:
            refused = await client.call_tool("fly")
        assert (refused.is_error, refused.structured_content["code"]) == (is_error, "tool_unavailable")


async def test_memory_is_tidied_in_a_twentieth_of_the_time_where_episodes_come_and_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken, loop = iter((0, LONG)), asyncio.get_running_loop()
    monkeypatch.setattr(hosting, "_TIDY_DELAY_S", SOON)
    monkeypatch.setattr(hosting.time, "thread_time", lambda: next(taken))
    host: Any = Host()
    host._tidy_soon()
    await eventually(lambda: host._tidying is None, "a collection")
    before = loop.time()
    host._tidy_soon()
    assert before + 20 * LONG <= host._tidying.when() <= loop.time() + 20 * LONG
    await host.close()
