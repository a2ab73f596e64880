"""Embedders: the endpoint, the memory, whole episodes, and what the word `minilm` of older traces still means."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.waiting import LONG

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import ScenarioError, TraceError
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.setup import log_remark, new_episode, reopen_episode
from tradefair.host.seats.embedding import CachedEmbedder, OpenAIEmbedder, SimilarityService, open_embedder
from tradefair.host.seats.plans import plan_seats
from tradefair.runner.plans.episodes import EpisodeSpec, workload_of
from tradefair.runner.plans.plan import load_plan
from tradefair.runner.plans.play import SweepResult, Table
from tradefair.runner.plans.shard import run_shard
from tradefair.supply_chain import MARKET
from tradefair.tracestore import find_traces, open_trace

# --- the memory -----------------------------------------------------------------------------------------------------


class _Counting:
    """An embedder that says how often it was asked."""

    id, dimensions = "counting/1", 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        self.asked += texts
        return [[float(len(text)), 1.0, 0.5] for text in texts]


def test_what_was_embedded_once_is_not_asked_again(tmp_path: Path) -> None:
    first, second = _Counting(), _Counting()
    memory = CachedEmbedder(first, tmp_path)
    vectors = memory.embed(["a", "bb", "a"])
    assert first.asked == ["a", "bb"]
    again = CachedEmbedder(second, tmp_path)
    assert again.embed(["bb", "a\u0301", "a"])[::2] == vectors[1::-1]
    assert second.asked == ["a\u0301"]
    assert (again.hits, again.misses) == (2, 1)
    assert CachedEmbedder(_Counting(), tmp_path).embed(["\u00e1"]) == again.embed(["a\u0301"])


def test_embedders_whose_files_are_called_alike_do_not_share_vectors(tmp_path: Path) -> None:
    one, other = _Counting(), _Counting()
    one.id, other.id = "openai/a b@3", "openai/a/b@3"
    CachedEmbedder(one, tmp_path).embed(["a"])
    CachedEmbedder(other, tmp_path).embed(["a"])
    assert len(list(tmp_path.iterdir())) == 1
    assert other.asked == ["a"]


def test_a_half_written_line_is_left_out_and_spoils_no_other(tmp_path: Path) -> None:
    CachedEmbedder(_Counting(), tmp_path).embed(["a"])
    (path,) = tmp_path.iterdir()
    with path.open("ab") as stream:
        stream.write(b'{"key": "ab')
    CachedEmbedder(_Counting(), tmp_path).embed(["b"])
    third = _Counting()
    CachedEmbedder(third, tmp_path).embed(["a", "b"])
    assert third.asked == []


def test_similarities_have_six_decimals_and_nothing_is_like_nothing(tmp_path: Path) -> None:
    service = SimilarityService(_Counting())
    row: Any = service.answer({"text": "abc", "others": ["abc", "a"]})
    assert row[0] == 1
    assert row[1] == round(row[1], 6)
    assert service.answer({"text": "", "others": ["a", "b"]}) == [0, 0]


# --- the endpoint ---------------------------------------------------------------------------------------------------


class _Endpoint:
    """A local embeddings endpoint; `statuses` are answered before it works."""

    def __init__(self, statuses: Sequence[int] = (), body: Mapping[str, Any] | None = None) -> None:
        self.statuses = list(statuses)
        self.requests: list[tuple[list[str], str | None]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                given = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.requests.append((given["input"], self.headers.get("authorization")))
                status = endpoint.statuses.pop(0) if endpoint.statuses else 200
                rows = [
                    {"index": place, "embedding": [1.0 + text.count("e"), 2.0, float(len(text))]}
                    for place, text in enumerate(given["input"])
                ]
                answer = json.dumps(body or {"data": rows[::-1]}).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class's name for it
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def endpoint() -> Iterator[_Endpoint]:
    opened = _Endpoint()
    yield opened
    opened.close()


def test_an_endpoint_is_asked_in_batches_with_its_key(endpoint: _Endpoint) -> None:
    embedder = OpenAIEmbedder(endpoint.url, "tiny", "secret")
    assert embedder.id == "openai/tiny@3"
    vectors = embedder.embed([f"text {'e' * (number % 3)}" for number in range(130)])
    assert [len(texts) for texts, _ in endpoint.requests] == [1, 64, 64, 2]
    assert {key for _, key in endpoint.requests} == {"Bearer secret"}
    assert [vector[0] for vector in vectors[:3]] == [2, 3, 4]


def test_a_busy_endpoint_is_asked_again_and_a_refusal_is_final(endpoint: _Endpoint) -> None:
    endpoint.statuses = [500, 429]
    OpenAIEmbedder(endpoint.url, "tiny", backoff_s=0)
    assert len(endpoint.requests) == 3
    endpoint.statuses = [401]
    with pytest.raises(ScenarioError, match="status 401"):
        OpenAIEmbedder(endpoint.url, "tiny", backoff_s=0)
    endpoint.statuses = [503] * 4
    with pytest.raises(ScenarioError, match="status 503"):
        OpenAIEmbedder(endpoint.url, "tiny", backoff_s=0)


@pytest.mark.parametrize(
    "body",
    [
        {"data": []},
        {"data": [{"index": 0, "embedding": [0, 0]}]},
        {"data": [{"index": 0, "embedding": [1e999, 1]}]},
        {"data": [{"index": 0, "embedding": ["x"]}]},
        {"error": "no"},
    ],
)
def test_what_is_no_embedding_is_refused(body: Mapping[str, Any]) -> None:
    odd = _Endpoint(body=body)
    try:
        with pytest.raises(ScenarioError, match="embeddings endpoint"):
            OpenAIEmbedder(odd.url, "tiny", backoff_s=0)
    finally:
        odd.close()


def test_tests_reach_no_endpoint_but_a_local_one() -> None:
    given = {
        "TRADEFAIR_EMBED_BASE_URL": "https://models.example/v1",
        "TRADEFAIR_EMBED_MODEL": "m",
        "TRADEFAIR_ALLOW_MODELS": "0",
    }
    with pytest.raises(ScenarioError, match="loopback"):
        open_embedder("openai", given)
    with pytest.raises(ScenarioError, match="TRADEFAIR_EMBED_MODEL"):
        open_embedder("openai", {})


# --- whole episodes -------------------------------------------------------------------------------------------------


async def _played(folder: Path, embedder: str, **overrides: Any) -> Episode:
    scenario = load_scenario("supply_chain", "duel", {"embedder": embedder, "rounds": 2, **overrides})
    plan = plan_seats(MARKET, scenario, agents=["retailer_01"], others="mimic")
    return await new_episode(MARKET, scenario, 3, plan, folder, episode_id="x")


@pytest.fixture
def tiny(endpoint: _Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Endpoint:
    """The endpoint, named as a user names one."""
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TRADEFAIR_EMBED_BASE_URL", endpoint.url)
    monkeypatch.setenv("TRADEFAIR_EMBED_MODEL", "tiny")
    return endpoint


async def _act(episode: Episode, slogan: str) -> Any:
    for _ in range(2):
        await episode.call("retailer_01", "skip_phase", {})
    return await episode.call("retailer_01", "submit_offer", {"prices": [], "slogan": slogan})


async def test_an_episode_with_an_outside_embedder_records_what_it_was_told(
    tiny: _Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode = await _played(tmp_path, "openai", tau=0.5)
    result = await _act(episode, "cheap green deals")
    assert result.status == "ok"
    scored = await episode.call("retailer_01", "score_slogan", {"slogan": "fair deal"})
    assert scored.status == "ok"
    await episode.close()
    # Another process goes on with it, and evaluation needs no embedder at all.
    reopened = await reopen_episode(episode.path)
    assert (await _act(reopened, "quality")).status == "ok"
    await reopened.close()
    monkeypatch.delenv("TRADEFAIR_EMBED_BASE_URL")
    with open_trace(episode.path) as trace:
        scenario = trace.manifest.core.scenario
        assert scenario["embedding"]["id"] == "openai/tiny@3"
        assert scenario["embedding"]["dimensions"] == 3
        told = [json.loads(stored.body) for stored in trace.events()]
    inputs = [event for event in told if event["event"] == "input"]
    assert {event["source"] for event in inputs} == {"similarity"}
    assert {event["seat"] for event in inputs} == {"retailer_01", "retailer_02", "retailer_03"}
    assert verify_file(episode.path).sound


async def test_another_model_cannot_go_on(tiny: _Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    episode = await _played(tmp_path, "openai", tau=0.5)
    await episode.close()
    monkeypatch.setenv("TRADEFAIR_EMBED_MODEL", "other")
    with pytest.raises(TraceError, match="not the one it was begun with"):
        await reopen_episode(episode.path)


class _Former(_Counting):
    """Stands for an encoder by hand that the product had: older traces name one like it."""

    id = "minilm/53aa51172d14"


def _former(name: str) -> _Former:
    assert name == "minilm"
    return _Former()


async def test_a_trace_of_the_former_encoder_is_verified_and_evaluated_and_not_played_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("tradefair.host.seats.embedding.open_embedder", _former)
        episode = await _played(tmp_path, "minilm", tau=0.5)
        assert (await _act(episode, "cheap green deals")).status == "ok"
        await episode.close()
    check = verify_file(episode.path)
    assert (check.verdict, check.copied["inputs"]) == ("reproduced", 3)
    evaluated = json.loads(json.dumps(evaluate_file(episode.path).to_json()))
    assert evaluated["outcome"]["market_outcome"]["embedder"] == _Former.id
    with pytest.raises(ScenarioError, match=r"minilm left in 0\.2"):
        await reopen_episode(episode.path)


async def test_the_former_encoder_is_not_played_any_more_and_what_to_use_is_said(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r"minilm left.* embedder = wordllama, or embedder = openai") as refused:
        await _played(tmp_path, "minilm")
    assert "TRADEFAIR_EMBED_BASE_URL" in str(refused.value)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ScenarioError, match="there are lexical, wordllama and openai"):
        open_embedder("bert", {})


async def test_an_endpoint_that_is_gone_is_told_to_the_agent_and_asked_again_later(
    tiny: _Endpoint, tmp_path: Path
) -> None:
    episode = await _played(tmp_path, "openai", tau=0.5)
    asked = len(tiny.requests)
    tiny.statuses = [401]
    refused = await _act(episode, "never said before")
    assert refused.error is not None
    assert (refused.error.code, refused.error.retryable) == ("similarity_unavailable", True)
    given: dict[str, Any] = {"prices": [], "slogan": "never said before"}
    assert (await episode.call("retailer_01", "submit_offer", given)).status == "ok"
    assert len(tiny.requests) == asked + 2  # scripted rivals said what was known: no call for them
    await episode.close()
    raw = episode.path.read_bytes()
    assert b"127.0.0.1" not in raw


async def test_an_inert_gate_is_remarked_in_the_log_once_and_in_every_manifest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    log_remark.cache_clear()
    for number in range(2):
        episode = await _played(tmp_path / str(number), "lexical", seats=2)
        assert episode.manifest.about["remarks"] == {"gate": "inert: slogans have no effect on sales"}
        await episode.close()
    assert caplog.text.count("gate inert: slogans have no effect") == 1
    caplog.clear()
    other = await _played(tmp_path / "active", "lexical")
    assert "remarks" not in other.manifest.about
    assert caplog.text == ""
    await other.close()


def test_a_market_that_depends_on_nothing_outside_says_so() -> None:
    assert MARKET.needs(MARKET.scenario_model(id="supply_chain/x")) == ()
    assert market_type("supply_chain") is MARKET


async def test_a_scenario_that_tells_no_slogans_apart_has_no_temperature(tiny: _Endpoint, tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="calibration gap"):
        await _played(tmp_path, "openai")


async def test_a_sweep_asks_the_embedder_too(tiny: _Endpoint, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text(
        """
        plan = {name = "words", scenarios = ["supply_chain/duel"], seeds = 1}
        grid = {embedder = ["openai"], tau = [0.5], rounds = [2], seats = [2, 3]}
        agent = [{model = "policy:mimic"}]
        """
    )
    work = workload_of(load_plan(str(plan)))
    results: list[SweepResult] = []
    async with asyncio.timeout(LONG):
        await run_shard(Table.of(work), _each(work.episodes()), tmp_path / "out", results.append)
    assert [result.problem for result in results] == [None, None]
    remarked: list[bool] = []
    for path in find_traces(tmp_path / "out"):
        assert verify_file(path).sound
        with open_trace(path) as trace:
            assert trace.manifest.core.scenario["embedding"]["id"] == "openai/tiny@3"
            remarked.append("remarks" in trace.manifest.about)
    assert sorted(remarked) == [False, True]  # with two retailers every buyer considers both


async def _each(episodes: Iterable[EpisodeSpec]) -> AsyncIterator[EpisodeSpec]:
    for episode in episodes:
        yield episode
