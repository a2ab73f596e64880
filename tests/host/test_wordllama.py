"""The embedder of the extra `words`: its own wheel's vectors, no network, the same bytes everywhere."""

from __future__ import annotations

import importlib.util
import json
import socket
import struct
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest

from tradefair.catalog import load_scenario
from tradefair.contract import ScenarioError
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.embedding import SimilarityService, open_embedder
from tradefair.host.seats.plans import plan_seats
from tradefair.host.seats.wordllama import WordLlama, read_tensor, wordllama_installed
from tradefair.supply_chain import MARKET
from tradefair.supply_chain.engine import lexical
from tradefair.tracestore import open_trace

installed = pytest.mark.skipif(not wordllama_installed(), reason="the extra `words` is not installed")

# A text, a paraphrase that shares no word with it, and a sentence about something else that does.
TRIPLES = [
    ("low prices every day", "cheap goods, always affordable", "the tide is low today and the sea is calm"),
    ("handcrafted with care", "artisan workmanship, made patiently", "intensive care ward opens"),
    ("trendy styles first", "be ahead of fashion", "first aid for burns"),
    ("affordable family meals", "cheap dinners for parents and kids", "the family tree of the king"),
    ("fresh organic vegetables", "naturally grown produce", "a fresh coat of paint"),
    ("workers are paid properly", "employees earn decent wages", "roads are paved properly"),
    ("buy this car today", "purchase that automobile now", "sing this song today"),
]


ROW: list[float] = [0.373139, 1.0, 0.0]
VECTOR = [-0.172974, -0.848999, 0.143555]


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise AssertionError("the network was asked")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("create_connection", "getaddrinfo", "gethostbyname"):
        monkeypatch.setattr(socket, name, refuse)


@pytest.fixture
def service(offline: None, tmp_path: Path) -> SimilarityService:
    return SimilarityService(open_embedder("wordllama", {"TRADEFAIR_CACHE": str(tmp_path)}))


@installed
@pytest.mark.parametrize(("text", "paraphrase", "decoy"), TRIPLES)
def test_a_paraphrase_is_nearer_than_a_decoy_that_shares_a_word(
    service: SimilarityService, text: str, paraphrase: str, decoy: str
) -> None:
    assert not {*lexical.stems(text)} & {*lexical.stems(paraphrase)}
    assert {*lexical.stems(text)} & {*lexical.stems(decoy)}
    near, far = _row(service, text, paraphrase, decoy)
    assert near > far


@installed
def test_words_alone_would_take_some_decoys_for_the_nearer_ones() -> None:
    fooled = [lexical.cosine(text, near) < lexical.cosine(text, far) for text, near, far in TRIPLES]
    assert sum(fooled) > len(TRIPLES) / 2


@installed
def test_similarities_are_the_same_bytes_with_every_numpy(service: SimilarityService) -> None:
    # Literals: computed with numpy 2.0.2 and 2.4.6. A sum in the order of a processor would show here.
    assert service.embedder.id == "wordllama/4d243a4b2dae"
    assert service.embedder.dimensions == 256
    assert _row(service, "Low prices every day.", "cheap goods, always", "LOW PRICES EVERY DAY.", "") == ROW
    assert service.embedder.embed(["low prices"])[0][:3] == pytest.approx(VECTOR, abs=1e-7)


@installed
async def test_an_episode_plays_without_a_network_and_verifies_without_the_extra(
    offline: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path / "cache"))
    scenario = load_scenario("supply_chain", "duel", {"embedder": "wordllama", "rounds": 1})
    plan = plan_seats(MARKET, scenario, agents=["retailer_01"], others="mimic")
    episode = await new_episode(MARKET, scenario, 3, plan, tmp_path, episode_id="x")
    empty = await episode.call("retailer_01", "score_slogan", {"slogan": ""})
    assert empty.status == "ok"
    for _ in range(2):
        await episode.call("retailer_01", "skip_phase", {})
    assert (await episode.call("retailer_01", "submit_offer", {"prices": [], "slogan": "bargains"})).status == "ok"
    await episode.close()
    _installed_as(monkeypatch, None)
    assert verify_file(episode.path).sound
    with open_trace(episode.path) as trace:
        assert trace.manifest.core.scenario["embedding"]["id"].startswith("wordllama/")
        events = [json.loads(stored.body) for stored in trace.events()]
    # An empty slogan is like nothing: no embedder is asked about it in the phase of bids.
    assert {event["phase"] for event in events if event["event"] == "input"} == {"retail"}


def test_where_the_extra_is_missing_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    _installed_as(monkeypatch, None)
    with pytest.raises(ScenarioError, match=r"pip install 'tradefair\[words\]'"):
        WordLlama()


@installed
def test_a_damaged_installation_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModuleSpec("wordllama", None, is_package=True)
    spec.submodule_search_locations = [str(tmp_path)]
    _installed_as(monkeypatch, spec)
    with pytest.raises(ScenarioError, match=r"l2_supercat_256\.safetensors is missing"):
        WordLlama()


def _row(service: SimilarityService, text: str, *others: str) -> list[float]:
    row: Any = service.answer({"text": text, "others": [*others]})
    return row


def _installed_as(monkeypatch: pytest.MonkeyPatch, spec: ModuleSpec | None) -> None:
    """Let every library be found where `spec` says, or not at all."""

    def found(name: str) -> ModuleSpec | None:
        return spec

    monkeypatch.setattr(importlib.util, "find_spec", found)


def _stored(dtype: str, shape: list[int], offsets: list[int], body: bytes) -> bytes:
    header = json.dumps({"__metadata__": {}, "a": {"dtype": dtype, "shape": shape, "data_offsets": offsets}}).encode()
    return struct.pack("<Q", len(header)) + header + body


@pytest.mark.parametrize("kind", ["F16", "F32"])
def test_weights_are_read_in_single_and_in_half_precision(kind: str, tmp_path: Path) -> None:
    body = np.array([0.5, -2, 3, 4], dtype={"F16": "<f2", "F32": "<f4"}[kind]).tobytes()
    path = tmp_path / "weights.safetensors"
    path.write_bytes(_stored(kind, [2, 2], [0, len(body)], body))
    found = read_tensor(path, "a")
    assert (found.dtype, found.tolist()) == (np.float32, [[0.5, -2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\x01",
        struct.pack("<Q", 2**60),
        struct.pack("<Q", 4) + b"{]}[",
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 2) + b"{}",
        _stored("F32", [2], [0, 8], b"\0" * 4),
        _stored("F32", [3], [0, 8], b"\0" * 8),
        _stored("F32", [2], [-8, 0], b"\0" * 8),
        _stored("F64", [1], [0, 8], b"\0" * 8),
    ],
)
def test_damaged_weights_are_named(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    path.write_bytes(raw)
    with pytest.raises(ScenarioError, match=r"weights\.safetensors: not a safetensors file with a"):
        read_tensor(path, "a")
    with pytest.raises(ScenarioError, match="absent"):
        read_tensor(tmp_path / "absent", "a")
