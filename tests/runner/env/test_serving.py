"""`tradefair host --tasks` over HTTP: tasks, outcomes, sealed seeds, and what becomes of wrong requests."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.runner.env.conftest import SALT, Served, play, serving
from tests.waiting import SOON, deadlines, until

import tradefair.api as tf
from tradefair.contract.sealed_seeds import commitment_of
from tradefair.evaluation.prove.verify import verify_file
from tradefair.runner.tasks.tasks import load_tasks
from tradefair.tracestore import open_trace

SMOKE = {"market": "double_auction", "scenario": "double_auction/smoke", "seed": 7, "seats": ["B1"]}


@pytest.fixture(autouse=True)
def nothing_is_left(request: pytest.FixtureRequest) -> Generator[None]:
    """Each test begins with free places."""
    yield
    if "served" in request.fixturenames:
        server: Served = request.getfixturevalue("served")
        for listed in server.get("/episodes?limit=1000")["episodes"]:
            if listed["state"] != "closed":
                server.ask(f"/episodes/{listed['episode']}", method="DELETE")


def seat_of(client: ModuleType, made: Any, number: int = 0) -> Any:
    found = made["invitations"][number]
    return client.Seat(made["url"], found["token"], found["episode"], found["seat"])


def when(server: Served, episode: str, state: str) -> Any:
    """The episode's line once it is in this state."""

    def so() -> Any:
        found = server.get(f"/episodes/{episode}")
        return found if found["state"] == state else None

    return until(so, f"{episode}, {state}")


# --- tasks ------------------------------------------------------------------------------------------------------------


def test_one_line_says_where_everything_is(served: Served) -> None:
    assert served.ready["url"].endswith("/mcp")
    assert served.ready["control"]["token"].startswith("tfc_")
    assert served.ready["folder"] == str(served.folder)
    # A port of its own, and on this machine only.
    assert served.ready["control"]["url"].startswith("http://127.0.0.1:")


def test_splits_say_how_many_tasks_of_what_and_which_are_sealed(served: Served) -> None:
    train, validation, test = served.get("/tasks")["splits"]
    assert (train["split"], train["tasks"], train["sealed"], train["commitment"]) == ("train", 16_000, False, None)
    assert (validation["tasks"], train["calls"]) == (1_600, [3, 300])
    assert (test["sealed"], test["commitment"]) == (True, commitment_of(SALT))
    assert "double_auction/smoke" in train["scenarios"]


def test_tasks_are_listed_page_by_page(served: Served) -> None:
    known = load_tasks()
    page = served.get("/tasks/train?start=1000&limit=2")
    assert [row["task"] for row in page["items"]] == ["train/1000", "train/1001"]
    assert page["items"][0] == {
        "task": "train/1000",
        "market": "double_auction",
        "scenario": "double_auction/smoke",
        "seats": ["B1"],
        "tier": "first",
        "sealed": False,
        "seed": known.task("train/1000").seed,
        "score_range": [-1, 1],
    }
    assert len(served.get("/tasks/train")["items"]) == 100
    assert len(served.get("/tasks/train?start=15999&limit=1000")["items"]) == 1
    assert served.get("/tasks/train?start=999999999999")["items"] == []


def test_a_task_has_the_brief_of_its_seat(served: Served) -> None:
    task = served.get("/tasks/validation/0")
    assert set(task["brief"]) == {"B1"}
    assert set(task["brief"]["B1"]) == {"role", "objective", "round_semantics"}
    assert "buyer" in task["brief"]["B1"]["role"]


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("/tasks/nope", 404, "unknown_id"),
        ("/tasks/train/16000", 404, "unknown_id"),
        ("/tasks/train/-1", 404, "unknown_id"),
        ("/tasks/train/0x1", 404, "unknown_id"),
        ("/tasks/train/0/0", 404, "unknown_id"),
        ("/tasks/%2e%2e%2fsecret/0", 404, "unknown_id"),
        ("/tasks/train?start=-1", 400, "invalid_arguments"),
        ("/tasks/train?limit=0", 400, "invalid_arguments"),
        ("/tasks/train?limit=1001", 400, "invalid_arguments"),
        ("/tasks/train?limit=%D9%A3", 400, "invalid_arguments"),
        ("/tasks/train?limit=1&limit=2", 400, "invalid_arguments"),
        ("/tasks/train?limits=1", 400, "invalid_arguments"),
        ("/tasks?x=1", 400, "invalid_arguments"),
        ("/episodes/0123456789ab/outcome", 404, "unknown_id"),
        ("/episodes/..%2f..%2fhost/outcome", 404, "unknown_id"),
        ("/episodes/host/outcome", 404, "unknown_id"),
        ("/episodes/0123456789ab/outcome?end=yes", 400, "invalid_arguments"),
        ("/episodes/0123456789ab/outcome?seats=B1", 400, "invalid_arguments"),
        ("/episodes/0123456789ab/outcome?ledger=1", 400, "invalid_arguments"),
        ("/episodes/0123456789ab/ledger", 404, "unknown_id"),
        ("/episodes/..%2f..%2fhost/ledger", 404, "unknown_id"),
        ("/episodes/0123456789ab/ledger?turns=0", 400, "invalid_arguments"),
        ("/episodes/0123456789ab/ledger?turns=65", 400, "invalid_arguments"),
        ("/episodes/0123456789ab/ledger?end=true", 400, "invalid_arguments"),
    ],
)
def test_a_wrong_question_is_refused_with_four_fields(path: str, status: int, code: str, served: Served) -> None:
    answer = served.ask(path)
    assert (answer.status, answer.error["code"]) == (status, code)
    assert len(answer.raw) < 2_000


@pytest.mark.parametrize(
    ("order", "status"),
    [
        ({"task": "train/16000"}, 404),
        ({"task": "nope/0"}, 404),
        ({"task": "train"}, 400),
        ({"task": "train/0", "market": "teaching"}, 400),
        ({"task": "train/0", "seed": 3}, 400),
        ({"task": "train/0", "count": 3}, 400),
        ({"task": "train/0", "count": 1, "same_seed": True}, 400),
        ({}, 400),
    ],
)
def test_a_wrong_order_is_refused(order: dict[str, Any], status: int, served: Served) -> None:
    answer = served.ask("/episodes", order)
    assert answer.status == status
    assert answer.error["message"]


@pytest.mark.parametrize(
    "path",
    ["/tasks", "/tasks/train", "/tasks/train/0", "/episodes/0123456789ab/outcome", "/episodes/0123456789ab/ledger"],
)
def test_no_token_but_that_of_the_control_plane_opens_anything(path: str, served: Served) -> None:
    made = served.create(**SMOKE)
    for token in ("", "wrong", made["invitations"][0]["token"]):
        answer = served.ask(path, token=token)
        assert (answer.status, answer.error["code"]) == (401, "unauthorized")


# --- outcomes ---------------------------------------------------------------------------------------------------------


def test_a_running_episode_has_no_outcome_until_it_is_ended(served: Served, client: ModuleType) -> None:
    made = served.create(**SMOKE)
    seat = seat_of(client, made)
    client.call(seat, "submit_quote", price=90)
    early = served.ask(f"/episodes/{seat.episode}/outcome")
    assert (early.status, early.error["code"], early.error["retryable"]) == (409, "episode_running", True)
    assert "round 2 is open" in early.error["message"]
    ended = served.get(f"/episodes/{seat.episode}/outcome?end=true&verify=true")
    assert (ended["end_reason"], ended["censored"], ended["rounds_closed"]) == ("truncated:cancelled", True, 1)
    assert isinstance(ended["seats"]["B1"]["score"], float)
    assert ended["verify"]["verdict"] == "reproduced"
    # Once more: it stays what it is.
    assert served.get(f"/episodes/{seat.episode}/outcome?end=true&verify=true") == ended


def test_an_order_that_waits_has_no_outcome(served: Served) -> None:
    made = served.create(**SMOKE, start=False)
    name = made["episodes"][0]["episode"]
    answer = served.ask(f"/episodes/{name}/outcome?end=true")
    assert (answer.status, answer.error["code"]) == (409, "not_started")


def test_an_outcome_is_there_when_the_episode_is_gone(served: Served, client: ModuleType) -> None:
    made = served.create(task="validation/100")
    seat = seat_of(client, made)
    play(seat, "double_auction")
    outcome = served.get(f"/episodes/{seat.episode}/outcome?verify=true")
    assert (outcome["task"], outcome["end_reason"], outcome["censored"]) == (
        "validation/100",
        "terminated:rounds_completed",
        False,
    )
    assert outcome["verify"]["seal"] == verify_file(served.trace(seat.episode)).seal
    assert set(outcome["versions"]) == {"tradefair", "rules", "evaluator", "references"}
    assert served.ask(f"/episodes/{seat.episode}", method="DELETE").status == 200
    assert served.get(f"/episodes/{seat.episode}/outcome?verify=true") == outcome
    assert set(outcome["seats"]) == {"B1"}
    every = served.get(f"/episodes/{seat.episode}/outcome?seats=all")["seats"]
    assert list(every) == ["B1", "B2", "S1", "S2"]
    assert every["B1"] == outcome["seats"]["B1"]


def test_what_turns_lost_is_told_of_an_episode_that_is_over_and_adds_up(served: Served, client: ModuleType) -> None:
    seat = seat_of(client, served.create(**SMOKE))
    client.call(seat, "submit_quote", price=5)
    early = served.ask(f"/episodes/{seat.episode}/ledger")
    assert (early.status, early.error["code"], early.error["retryable"]) == (409, "episode_running", True)
    play(seat, "double_auction")
    plain = served.get(f"/episodes/{seat.episode}/outcome")
    ledger = served.get(f"/episodes/{seat.episode}/ledger")["ledger"]
    assert (ledger["seat"], ledger["own"]) == ("B1", plain["seats"]["B1"]["reward"])
    assert sum(turn["lost"] for turn in ledger["turns"]) == pytest.approx(ledger["gap"])
    assert ledger["turns"][0]["did"] == [["submit_quote", {"price": 5}]]
    # The same with the outcome, which has none unless it is asked for; and as Python reads it out of the trace.
    assert served.get(f"/episodes/{seat.episode}/outcome?ledger=true") == {**plain, "ledgers": {"B1": ledger}}
    assert tf.Trace(served.trace(seat.episode)).ledger().model_dump(mode="json") == ledger
    assert served.get(f"/episodes/{seat.episode}/ledger?seat=S1&turns=1")["ledger"]["seat"] == "S1"
    wrong = served.ask(f"/episodes/{seat.episode}/ledger?seat=X9")
    assert (wrong.status, wrong.error["code"]) == (400, "invalid_arguments")
    assert "B1" in wrong.error["message"]


def test_where_there_is_no_ledger_it_is_said_why(served: Served, client: ModuleType) -> None:
    waiting = served.create(**SMOKE, start=False)["episodes"][0]["episode"]
    answer = served.ask(f"/episodes/{waiting}/ledger")
    assert (answer.status, answer.error["code"]) == (409, "not_started")
    seat = seat_of(client, served.create(**SMOKE))
    cut = served.get(f"/episodes/{seat.episode}/outcome?end=true&ledger=true")
    assert (cut["ledgers"], cut["censored"]) == ({}, True)
    assert "unfinished" in cut["no_ledger"]
    answer = served.ask(f"/episodes/{seat.episode}/ledger")
    assert (answer.status, answer.error["code"]) == (409, "no_ledger")
    # Of a sealed seed it would say what was right to do.
    sealed = seat_of(client, served.create(task="test/102"))
    served.get(f"/episodes/{sealed.episode}/outcome?end=true")
    for path in ("ledger", "outcome?ledger=true"):
        answer = served.ask(f"/episodes/{sealed.episode}/{path}")
        assert (answer.status, answer.error["code"]) == (403, "sealed")


def test_a_group_is_on_one_luck_and_each_has_an_outcome_of_its_own(served: Served, client: ModuleType) -> None:
    made = served.create(task="train/1003", count=3, same_seed=True)
    prices = (0, 50, 90)
    seats = [seat_of(client, made, number) for number in range(3)]
    for seat, price in zip(seats, prices, strict=True):
        while not client.call(seat, "await_turn")["over"]:
            client.call(seat, "submit_quote", price=price)
    outcomes = [served.get(f"/episodes/{seat.episode}/outcome") for seat in seats]
    assert len({outcome["seed"] for outcome in outcomes}) == 1
    assert outcomes[0]["seats"]["B1"]["reward"] == 0 < outcomes[2]["seats"]["B1"]["reward"]


def test_a_scenario_without_references_has_rewards_and_no_scores(served: Served, client: ModuleType) -> None:
    made = served.create(market="double_auction", scenario="double_auction/smoke", overrides={"rounds": 1}, seed=1)
    seat = seat_of(client, made)
    play(seat, "double_auction")
    found = served.get(f"/episodes/{seat.episode}/outcome")
    assert isinstance(found["seats"]["B1"]["reward"], int)
    assert (found["seats"]["B1"]["score"], found["seats"]["B1"]["score_range"]) == (None, None)
    assert found["versions"]["references"] is None


def test_a_trace_that_somebody_has_damaged_is_an_answer_and_no_fault(served: Served, client: ModuleType) -> None:
    made = served.create(**SMOKE)
    seat = seat_of(client, made)
    play(seat, "double_auction")
    served.ask(f"/episodes/{seat.episode}", method="DELETE")
    served.trace(seat.episode).write_bytes(b"no trace")
    answer = served.ask(f"/episodes/{seat.episode}/outcome")
    assert (answer.status, answer.error["code"]) == (409, "no_outcome")
    assert seat.episode in answer.error["message"]


# --- clients that vanish ----------------------------------------------------------------------------------------------


def test_a_client_that_vanishes_frees_its_place_and_what_it_played_is_scored(
    served: Served, client: ModuleType
) -> None:
    def quoted(idle_s: float) -> Any:
        seat = seat_of(client, served.create(task="train/1001", idle_s=idle_s))
        try:
            client.call(seat, "submit_quote", price=90)
        except client.Refused:
            return None  # a busy machine was too slow for it
        return seat

    seat: Any = next(seat for seat in map(quoted, deadlines(20 * SOON)) if seat is not None)
    closed = when(served, seat.episode, "closed")
    assert closed["end_reason"] == "truncated:idle"
    found = served.get(f"/episodes/{seat.episode}/outcome?verify=true")
    assert (found["end_reason"], found["censored"], found["rounds_closed"]) == ("truncated:idle", True, 1)
    assert found["verify"]["verdict"] == "reproduced"
    assert found["seats"]["B1"]["score"] is not None
    with pytest.raises(client.Refused):
        client.call(seat, "await_turn")


def test_a_full_server_says_so_and_a_deleted_episode_makes_room(served: Served) -> None:
    made = served.create(**SMOKE, count=12)
    name = made["episodes"][0]["episode"]
    assert served.get(f"/episodes/{name}/outcome?end=true")["censored"] is True
    full = served.ask("/episodes", SMOKE)
    assert (full.status, full.error["code"], full.headers["Retry-After"]) == (429, "busy", "2")
    # What is over keeps its place as long as it can be read: the answer says so, and what to do.
    assert "it has 12, 1 of them over" in full.error["message"]
    assert full.error["hint"].startswith("DELETE /episodes/{id}")
    served.ask(f"/episodes/{name}", method="DELETE")
    assert served.ask("/episodes", SMOKE).status == 201


# --- sealed seeds -----------------------------------------------------------------------------------------------------


class _Kept:
    """An answer whose bytes are added to `heard`."""

    def __init__(self, answer: Any, heard: list[bytes]) -> None:
        self._answer, self._heard = answer, heard

    def read(self) -> bytes:
        self._heard.append(self._answer.read())
        return self._heard[-1]

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        self._answer.close()


def test_a_sealed_seed_is_in_no_byte_that_the_server_sends(
    served: Served, client: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = load_tasks(salt=SALT).task("test/102")
    heard: list[bytes] = []
    opened = client.OPEN

    def kept(asked: Any, timeout: float) -> _Kept:
        return _Kept(opened(asked, timeout=timeout), heard)

    monkeypatch.setattr(client, "OPEN", kept)

    def control(path: str, body: Any = None, method: str | None = None) -> Any:
        answer = served.ask(path, body, method)
        heard.append(answer.raw)
        return answer

    made = control("/episodes", {"task": task.id, "observers": 1}).content
    seat = seat_of(client, made)
    assert made["episodes"][0]["sealed"] is True
    for path in (
        "/tasks",
        "/tasks/test?start=100&limit=5",
        "/tasks/test/102",
        "/episodes",
        f"/episodes/{seat.episode}",
    ):
        control(path)
    for tool in client.mcp(seat, "tools/list")["tools"]:
        if tool["annotations"].get("readOnlyHint") and not tool["inputSchema"].get("required"):
            client.call(seat, tool["name"])
    client.mcp(seat, "resources/list")
    watcher = seat_of(client, made, 1)
    for tool in client.mcp(watcher, "tools/list")["tools"]:
        client.mcp(watcher, "tools/call", name=tool["name"], arguments={})
    refused = control(f"/episodes/{seat.episode}/export")
    assert (refused.status, refused.error["code"]) == (403, "sealed")
    assert control(f"/episodes/{seat.episode}/outcome").status == 409
    play(seat, "double_auction")
    outcome = control(f"/episodes/{seat.episode}/outcome?verify=true&seats=all").content
    assert (outcome["seed"], outcome["task"]) == (None, "test/102")
    for method in ("GET", "DELETE", "GET"):
        control(f"/episodes/{seat.episode}", method=method)
    assert control(f"/episodes/{seat.episode}/outcome").content["seed"] is None
    for path in ("/episodes?limit=1000", "/"):
        assert control(path).status == 200
    # The trace has it, and stays here.
    with open_trace(served.trace(seat.episode)) as trace:
        assert trace.manifest.core.seed == task.seed
    said = b"\n".join(heard)
    assert len(heard) > 30
    assert task.id.encode() in said
    for form in (str(task.seed), f"{task.seed:x}", f"{task.seed:,}", SALT.hex()):
        assert form.encode() not in said


def test_an_open_seed_is_told(served: Served) -> None:
    # So that the search above could have found something.
    made = served.create(task="train/1002")
    assert made["episodes"][0]["seed"] == load_tasks().task("train/1002").seed


# --- going on ---------------------------------------------------------------------------------------------------------


def test_a_server_that_starts_again_knows_its_tokens_and_its_outcomes(
    tmp_path: Path, salt_file: Path, client: ModuleType
) -> None:
    folder = tmp_path / "run"
    with serving(folder, salt_file) as first:
        over, running = first.create(task="test/100"), first.create(task="train/1000")
        play(seat_of(client, over), "double_auction")
        outcome = first.get(f"/episodes/{over['episodes'][0]['episode']}/outcome")
        token = first.ready["control"]["token"]
        port = first.ready["url"].rpartition(":")[2].partition("/")[0]
    with serving(folder, salt_file, "--continue", "--port", port) as second:
        ready = {**second.ready, "control": {**second.ready["control"], "token": token}}
        second = second._replace(ready=ready)
        assert second.get(f"/episodes/{over['episodes'][0]['episode']}/outcome") == outcome
        play(seat_of(client, running), "double_auction")
        found = second.get(f"/episodes/{running['episodes'][0]['episode']}/outcome")
        assert (found["task"], found["censored"]) == ("train/1000", False)
