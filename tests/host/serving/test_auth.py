"""Seat tokens: what they stand for, how they end, and what is kept of them."""

from __future__ import annotations

import base64
import json
import logging
import stat
from pathlib import Path
from typing import Any

import pytest

from tradefair.contract import SeatError, TraceError
from tradefair.host.doors.registry import HOST_FILE, HostFile, check_fresh, load_host_file, save_host_file, sole_host
from tradefair.host.episode.orders import Order, Terms
from tradefair.host.server.seat_auth import MAX_TOKENS, OBSERVER_SCOPE, SeatTokens, SeatVerifier, TooManyTokens
from tradefair.tracestore import StorePlace, without_password


def test_a_token_finds_the_seat_it_was_issued_for() -> None:
    tokens = SeatTokens()
    first, granted = tokens.issue("e1", "B1")
    second, _ = tokens.issue("e1", "S1")
    found = tokens.find(first)
    assert found == granted
    assert (granted.episode, granted.seat) == ("e1", "B1")
    assert first != second
    assert len(base64.urlsafe_b64decode(first.removeprefix("tf_") + "=")) == 32


@pytest.mark.parametrize("wrong", ["", "tf_", "x" * 10_000, "tf_é", "\udc80"])
def test_anything_else_finds_nothing(wrong: str) -> None:
    tokens = SeatTokens()
    token, grant = tokens.issue("e1", "B1")
    assert tokens.find(wrong) is None
    assert tokens.find(token[:-1]) is None
    assert tokens.find(token.upper()) is None
    assert tokens.find(grant.digest) is None


def test_a_revoked_token_is_worthless_and_its_sisters_are_not() -> None:
    tokens = SeatTokens()
    lost, grant = tokens.issue("e1", "B1")
    kept, _ = tokens.issue("e1", "B1")
    tokens.revoke(grant.id)
    assert tokens.find(lost) is None
    assert tokens.find(kept) is not None
    with pytest.raises(SeatError):
        tokens.revoke("no such grant")


def test_a_seat_has_so_many_tokens_and_no_more(tmp_path: Path) -> None:
    tokens = SeatTokens()
    granted = [tokens.issue("e1", "B1")[1] for _ in range(MAX_TOKENS)]
    save_host_file(tmp_path, HostFile({"e1": "e1.trace"}, tokens))
    for kept in (tokens, load_host_file(tmp_path).tokens):
        with pytest.raises(TooManyTokens, match="B1 of e1"):
            kept.issue("e1", "B1")
        kept.issue("e1", "S1")
        kept.issue("e1", "B1", OBSERVER_SCOPE)
        kept.issue("e2", "B1")
        kept.revoke(granted[0].id)
        kept.issue("e1", "B1")
        with pytest.raises(TooManyTokens):
            kept.issue("e1", "B1")
        kept.expire("e1")
        kept.issue("e1", "B1")


def test_tokens_expire_with_their_episode() -> None:
    tokens = SeatTokens()
    over, _ = tokens.issue("e1", "B1")
    on, _ = tokens.issue("e2", "B1")
    tokens.expire("e1")
    assert tokens.find(over) is None
    assert tokens.find(on) is not None


def test_a_seat_that_cannot_be_one_gets_no_token() -> None:
    with pytest.raises(SeatError):
        SeatTokens().issue("e1", "B1 OR 1=1")


async def test_the_verifier_gives_claims_and_never_the_token(caplog: pytest.LogCaptureFixture) -> None:
    tokens = SeatTokens()
    token, grant = tokens.issue("e1", "B1")
    verifier = SeatVerifier(tokens)
    access = await verifier.verify_token(token)
    assert access is not None
    assert token not in access.model_dump_json()
    assert access.client_id == grant.id
    assert access.claims is not None
    assert (access.claims["episode"], access.claims["seat"], access.scopes) == ("e1", "B1", ["seat"])
    with caplog.at_level(logging.WARNING, "tradefair.security"):
        assert await verifier.verify_token("guess-guess-guess") is None
    assert "refused a token" in caplog.text
    assert "guess-guess" not in caplog.text


def test_the_registry_survives_and_holds_no_token(tmp_path: Path) -> None:
    tokens = SeatTokens()
    token, _ = tokens.issue("e1", "B1")
    revoked, grant = tokens.issue("e1", "S1")
    tokens.revoke(grant.id)
    save_host_file(tmp_path, HostFile({"e1": "e1.trace"}, tokens))
    save_host_file(tmp_path, HostFile({"e1": "e1.trace"}, tokens))
    file = tmp_path / HOST_FILE
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token not in file.read_text()
    assert [path.name for path in tmp_path.iterdir()] == [HOST_FILE]
    loaded = load_host_file(tmp_path)
    assert len(list(loaded.tokens)) == 1  # what was revoked is not written down for ever
    assert dict(loaded.traces) == {"e1": "e1.trace"}
    assert loaded.tokens.find(token) == tokens.find(token)
    assert loaded.tokens.find(revoked) is None


ORDER: Any = {"market": "teaching", "seed": 1}
GRANT = {"id": "1", "episode": "e", "seat": "P1", "digest": "a" * 64, "revoked": False}
REVOKED = {**GRANT, "id": "2", "digest": "b" * 64, "revoked": True}


def registry(**content: object) -> str:
    return json.dumps({"format": "tradefair.host/1", "episodes": [], "tokens": [], **content})


def test_a_registry_of_this_form_is_read(tmp_path: Path) -> None:
    episodes = [{"id": "e", "trace": "e.trace", "ttl_s": 60}, {"id": "f", "trace": "f.trace", "ttl_s": None}]
    told = registry(episodes=episodes, pending=[{"id": "g", "order": ORDER}], tokens=[GRANT, REVOKED], control="c" * 64)
    (tmp_path / HOST_FILE).write_text(told)
    file = load_host_file(tmp_path)
    assert (list(file.traces), list(file.pending), file.terms) == (["e", "f"], ["g"], {"e": Terms(ttl_s=60)})
    assert (file.tokens.good("a" * 64), file.tokens.good("b" * 64), file.control) == (True, False, "c" * 64)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("postgresql://db.example/markets", "postgresql://db.example/markets"),
        (
            "postgresql://me@one:1,two:2/m?target_session_attrs=any",
            "postgresql://me@one:1,two:2/m?target_session_attrs=any",
        ),
        ("postgres://me:p%40ss@db/m", "postgres://me@db/m"),
        ("postgresql://me@db/m?password=x&sslmode=require&sslp%61ssword=y", "postgresql://me@db/m?sslmode=require"),
        ("postgresql:///m?host=/run/postgresql&password=x", "postgresql:///m?host=/run/postgresql"),
    ],
)
def test_the_registry_keeps_the_address_of_the_store_without_its_password(
    tmp_path: Path, given: str, kept: str
) -> None:
    save_host_file(tmp_path, HostFile({}, SeatTokens(), store=without_password(given)))
    assert load_host_file(tmp_path).store == kept
    scheme, _, rest = kept.partition("?")[0].partition("://")
    assert str(StorePlace(given, "e1")) == f"{scheme}://{rest.rpartition('@')[2]}#e1"


@pytest.mark.parametrize(
    "content",
    [
        None,
        "",
        "[]",
        '{"format": "other/9"}',
        '{"format": "tradefair.host/1", "episodes": [{"id": "e"}], "tokens": []}',
        '{"format": "tradefair.host/1", "episodes": [{"id": "e", "trace": "../e.trace"}], "tokens": []}',
        '{"format": "tradefair.host/1", "episodes": [{"id": "e", "trace": "/e.trace"}], "tokens": []}',
        registry(episodes=[{"id": "e", "trace": ".."}]),
        registry(episodes=[{"id": "e", "trace": "e\0.trace"}]),
        registry(episodes=[{"id": "../e", "trace": "e.trace"}]),
        registry(episodes=[{"id": "e", "trace": "1.trace"}, {"id": "e", "trace": "2.trace"}]),
        registry(episodes=[{"id": "1", "trace": "e.trace"}, {"id": "2", "trace": "e.trace"}]),
        registry(episodes=[{"id": "e", "trace": "e.trace", "ttl_s": -1}]),
        registry(episodes=[{"id": "e", "trace": "e.trace", "ttl_s": "soon"}]),
        registry(pending=[{"id": "../../e", "order": ORDER}]),
        registry(pending=[{"id": "e", "order": ORDER}, {"id": "e", "order": ORDER}]),
        registry(pending=[{"id": "e", "order": ORDER}], episodes=[{"id": "e", "trace": "e.trace"}]),
        registry(pending=[{"id": "e", "order": {**ORDER, "scenario": "../e.toml"}}]),
        registry(tokens=[{**GRANT, "digest": "é" * 64}]),
        registry(tokens=["revoked"]),
        registry(tokens=[GRANT, {**GRANT, "id": "2"}]),
        registry(tokens=[GRANT, {**GRANT, "digest": "b" * 64}]),
        registry(control="é"),
        registry(store="/var/lib/markets"),
        registry(store="postgresql://db/markets#0f3a"),
        registry(store=["postgresql://db/markets"]),
    ],
)
def test_a_damaged_registry_is_refused_by_name(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / HOST_FILE).write_text(content)
    with pytest.raises(TraceError, match=HOST_FILE):
        load_host_file(tmp_path)


def test_what_was_half_written_of_a_registry_is_taken_away(tmp_path: Path) -> None:
    (tmp_path / HOST_FILE).mkdir()
    with pytest.raises(IsADirectoryError):
        save_host_file(tmp_path, HostFile({}, SeatTokens()))
    assert [path.name for path in tmp_path.iterdir()] == [HOST_FILE]


def test_a_folder_has_one_host_at_a_time(tmp_path: Path) -> None:
    with sole_host(tmp_path), pytest.raises(TraceError, match="another host"), sole_host(tmp_path):
        pass
    with sole_host(tmp_path):
        pass


def test_what_a_host_has_left_is_not_written_over_by_a_fresh_one(tmp_path: Path) -> None:
    check_fresh(tmp_path)
    save_host_file(tmp_path, HostFile({}, SeatTokens()))
    check_fresh(tmp_path)
    for left in (HostFile({"e": "e.trace"}, SeatTokens()), HostFile({}, SeatTokens(), {"e": Order(**ORDER)})):
        save_host_file(tmp_path, left)
        with pytest.raises(TraceError, match="--resume"):
            check_fresh(tmp_path)
