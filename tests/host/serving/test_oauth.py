"""A host that takes an issuer's access tokens: whom they seat, and what each kind of wrong token is told."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hmac
import math
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest
from joserfc import jws, jwt
from tests.host.serving.by_hand import HELLO
from tests.host.serving.issuer import IssuerProcess, new_key, running_issuer
from tests.options_files import options_file
from tests.waiting import LONG, LONGER, SOON, a_moment, eventually

from tradefair.contract import HarnessFailure, ScenarioError, SeatError
from tradefair.evaluation.prove.verify import verify_file
from tradefair.host.commands.host_flags import HostFlags
from tradefair.host.doors import oauth
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.oauth import Issuer
from tradefair.host.doors.registry import load_host_file
from tradefair.host.server.seat_auth import Refused

TRADEFAIR = Path(sys.executable).parent / "tradefair"
RESOURCE = "http://127.0.0.1:7000/mcp"
ASK = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}


@pytest.fixture(scope="module")
def issuer() -> Generator[IssuerProcess]:
    with running_issuer() as running:
        yield running


@asynccontextmanager
async def seated(stage: Any, issuer: IssuerProcess, subject: str = "alice") -> AsyncGenerator[tuple[Host, Any]]:
    """A host with a seat P1 for the subject, and the server."""
    taken = Issuer(issuer.url)
    await taken.fetch_keys()
    host = Host(stage.folder, issuer=taken)
    episode = await stage.episode("P1", "P2", preset="pie")
    host.add(episode)
    host.invite_subject(episode.id, "P1", subject)
    async with stage.hosted(host) as server:
        yield host, server


async def asked(url: str, token: str | None) -> httpx2.Response:
    headers = {"Accept": "application/json, text/event-stream"}
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    async with httpx2.AsyncClient() as http:
        return await http.post(url, json=ASK, headers=headers)


async def test_the_subject_of_a_token_sits_where_it_was_invited(stage: Any, issuer: IssuerProcess, era: str) -> None:
    async with seated(stage, issuer) as (_, server):
        token = issuer.token("alice", server.url)
        async with stage.at(server.url, token, era) as client:
            view = (await client.call_tool("view_turn")).structured_content
            assert (view["seat"], view["awaited"]) == ("P1", True)
            done = await client.call_tool("claim", {"slices": 5})
            assert not done.is_error
        # Another token of the same person opens the same seat.
        async with stage.at(server.url, issuer.token("alice", server.url), era) as client:
            assert not (await client.call_tool("view_turn")).structured_content["awaited"]


async def test_whoever_has_no_token_is_told_where_to_get_one(stage: Any, issuer: IssuerProcess) -> None:
    async with seated(stage, issuer) as (_, server):
        answer = await asked(server.url, None)
        assert answer.status_code == 401
        place = answer.headers["WWW-Authenticate"].partition('resource_metadata="')[2].rstrip('"')
        async with httpx2.AsyncClient() as http:
            told = (await http.get(place)).json()
        assert told["resource"] == server.url
        assert told["authorization_servers"] == [issuer.url]
        assert (await asked(server.url, issuer.token("alice", told["resource"]))).status_code != 401


WRONG: list[tuple[dict[str, Any], int, str]] = [
    ({"aud": "https://other.example/mcp"}, 401, "another audience than http://127.0.0.1"),
    ({"aud": None}, 401, "lacks the claim aud"),
    ({"exp": -120}, 401, "has expired"),
    ({"exp": None}, 401, "lacks the claim exp"),
    ({"nbf": 3_600}, 401, "not valid yet"),
    ({"iss": "https://other.example"}, 401, "another issuer than http://127.0.0.1"),
    ({"sub": None}, 401, "lacks the claim sub"),
    ({"sub": ""}, 401, "1 to 200 characters"),
    ({"sub": "a" * 201}, 401, "1 to 200 characters"),
    ({"sub": "mallory"}, 403, "mallory has no seat here"),
    ({"sub": 'm"\r\nX: 中'}, 403, "has no seat here"),
]


async def test_a_wrong_claim_is_refused_by_name(stage: Any, issuer: IssuerProcess) -> None:
    now = int(time.time())
    async with seated(stage, issuer) as (_, server):
        for claims, status, told in WRONG:
            dated: dict[str, Any] = {"aud": server.url}
            dated |= {name: now + value if isinstance(value, int) else value for name, value in claims.items()}
            answer = await asked(server.url, issuer.signed(**dated))
            assert answer.status_code == status, claims
            assert told in answer.json()["error_description"]
            assert "resource_metadata" in answer.headers["WWW-Authenticate"]
            assert "X" not in answer.headers
        # JSON may hold the half of a surrogate pair, and no answer can.
        content = orjson.dumps({"iss": issuer.url, "sub": "?", "aud": server.url, "exp": now + 60})
        half = jws.serialize_compact(
            {"alg": "RS256", "kid": issuer.keys[0].kid}, content.replace(b"?", rb"\ud800"), issuer.keys[0]
        )
        assert (await asked(server.url, half)).status_code == 403
        assert (await asked(server.url, issuer.signed(aud=[server.url, "https://other.example"]))).status_code == 200


async def test_a_key_that_the_issuer_does_not_publish_opens_nothing(stage: Any, issuer: IssuerProcess) -> None:
    async with seated(stage, issuer) as (_, server):
        stranger = new_key()
        answer = await asked(server.url, issuer.signed(stranger, aud=server.url))
        assert answer.status_code == 401
        assert "key is none that" in answer.json()["error_description"]
        # Under the name of a key that is published.
        forged = issuer.signed(stranger, {"kid": issuer.keys[0].kid}, aud=server.url)
        assert "signature does not fit" in (await asked(server.url, forged)).json()["error_description"]


async def test_neither_unsigned_tokens_nor_shared_secrets_count(stage: Any, issuer: IssuerProcess) -> None:
    async with seated(stage, issuer) as (_, server):
        content = orjson.dumps({"iss": issuer.url, "sub": "alice", "aud": server.url, "exp": int(time.time()) + LONGER})
        parts = [b'{"alg":"none"}', content]
        unsigned = b".".join(map(_text, parts)).decode() + "."
        public = issuer.keys[0].as_pem(private=False)
        signing = b".".join(map(_text, (orjson.dumps({"alg": "HS256", "kid": issuer.keys[0].kid}), content)))
        shared = b".".join((signing, _text(hmac.digest(public, signing, "sha256")))).decode()
        for token in (unsigned, shared):
            answer = await asked(server.url, token)
            assert answer.status_code == 401
            assert "signed otherwise" in answer.json()["error_description"]
        for token in ("x", "a.b.c", "tf_" + "x" * 43, "e" * 9_000):
            assert (await asked(server.url, token)).status_code == 401


def _text(part: bytes) -> bytes:
    return base64.urlsafe_b64encode(part).rstrip(b"=")


async def test_keys_that_are_changed_are_found_and_asking_is_bounded(
    stage: Any, issuer: IssuerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with seated(stage, issuer) as (host, server):
        fresh = new_key()
        issuer.keys.append(fresh)
        try:
            token = issuer.signed(fresh, aud=server.url)
            before = len(issuer.asked)
            for _ in range(5):
                assert (await asked(server.url, token)).status_code == 401
            assert len(issuer.asked) == before
            assert host.issuer is not None
            monkeypatch.setattr(host.issuer, "_asked_at", -math.inf)
            assert (await asked(server.url, token)).status_code == 200
            assert len(issuer.asked) == before + 1
        finally:
            issuer.keys.remove(fresh)


async def test_an_issuer_that_is_away_locks_nobody_out_that_it_has_named(stage: Any) -> None:
    with running_issuer() as issuer:
        async with seated(stage, issuer) as (host, server):
            token = issuer.signed(aud=server.url)
            taken = host.issuer
            assert taken is not None
    with pytest.raises(HarnessFailure, match="cannot be reached"):
        await taken.fetch_keys()
    assert await taken.subject(token) == "alice"


@asynccontextmanager
async def odd_issuer(body: Callable[[str], AsyncIterator[bytes]]) -> AsyncGenerator[str]:
    """The URL of something that tells where its keys are, and answers for them with what `body` makes of that URL."""
    url = ""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked_for = (await reader.readuntil(b"\r\n\r\n")).split()[1]
        told = orjson.dumps({"issuer": url, "jwks_uri": f"{url}/keys"})
        # A client that has had enough goes.
        with suppress(ConnectionError):
            writer.write(b"HTTP/1.0 200 OK\r\n" + (b"\r\n" + told if b"well-known" in asked_for else b""))
            if b"well-known" not in asked_for:
                async for part in body(url):
                    writer.write(part)
                    await writer.drain()
            writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield url


async def test_an_issuer_that_answers_for_ever_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth, "_ASK_S", SOON)

    async def dripping(_: str) -> AsyncIterator[bytes]:
        yield b"\r\n"
        while True:
            yield b" "
            await a_moment()

    async with odd_issuer(dripping) as url:
        with pytest.raises(HarnessFailure, match="does not answer within"):
            await asyncio.wait_for(Issuer(url).fetch_keys(), LONG)


async def test_an_answer_is_not_unpacked_and_a_private_key_not_taken() -> None:
    key = new_key()

    async def packed(_: str) -> AsyncIterator[bytes]:
        yield b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b" " * 10_000 + b"{}")

    async def private(_: str) -> AsyncIterator[bytes]:
        yield b"\r\n" + orjson.dumps({"keys": [key.as_dict(private=True)]})

    async with odd_issuer(packed) as url:
        with pytest.raises(HarnessFailure, match="no JSON"):
            await Issuer(url).fetch_keys()
    async with odd_issuer(private) as url:
        taken = Issuer(url, RESOURCE)
        await taken.fetch_keys()
        content = {"iss": url, "sub": "alice", "aud": RESOURCE, "exp": int(time.time()) + LONGER}
        with pytest.raises(Refused) as refused:
            await taken.subject(jwt.encode({"alg": "RS256", "kid": key.kid}, content, key))
        assert refused.value.status == 503


async def test_whoever_comes_while_the_keys_are_asked_for_gets_the_new_ones() -> None:
    key, answer = new_key(), asyncio.Event()

    async def slow(_: str) -> AsyncIterator[bytes]:
        await answer.wait()
        yield b"\r\n" + orjson.dumps({"keys": [key.as_dict(private=False)]})

    async with odd_issuer(slow) as url:
        taken: Any = Issuer(url, RESOURCE)
        content = {"iss": url, "sub": "alice", "aud": RESOURCE, "exp": int(time.time()) + LONGER}
        token = jwt.encode({"alg": "RS256", "kid": key.kid}, content, key)
        both = [asyncio.create_task(taken.subject(token)) for _ in range(2)]
        await eventually(lambda: taken._asking.statistics().tasks_waiting, "one that waits for the other's answer")
        answer.set()
        assert await asyncio.gather(*both) == ["alice", "alice"]


async def test_a_subject_has_one_seat_and_a_revoked_one_none(stage: Any, issuer: IssuerProcess) -> None:
    async with seated(stage, issuer) as (host, server):
        (episode,) = host.episodes
        with pytest.raises(SeatError, match=r"alice has P1 of .* already: revoke grant"):
            host.invite_subject(episode, "P2", "alice")
        assert stage.folder is not None
        kept = load_host_file(stage.folder).tokens
        assert [grant.subject for grant in kept.of(episode)] == ["alice"]
        (grant,) = host.tokens.of(episode)
        token = issuer.signed(aud=server.url)
        assert (await asked(server.url, token)).status_code == 200
        host.revoke(grant.id)
        assert (await asked(server.url, token)).status_code == 403


async def test_without_an_issuer_its_tokens_are_as_unknown_as_any(stage: Any, issuer: IssuerProcess) -> None:
    host = Host(stage.folder)
    host.add(await stage.episode("P1", "P2", preset="pie"))
    async with stage.hosted(host) as server:
        assert (await asked(server.url, issuer.signed(aud=server.url))).status_code == 401
        async with httpx2.AsyncClient() as http:
            assert (await http.get(server.url.replace("/mcp", "/.well-known/oauth-protected-resource"))).is_error


@pytest.mark.parametrize(
    "url",
    [
        "http://a.example",
        "ftp://127.0.0.1",
        "https://a:b@c.example",
        "https://c.example/#x",
        "https://c.example?x=1",
        "",
    ],
)
def test_an_issuer_is_an_https_url_or_one_of_this_machine(url: str) -> None:
    with pytest.raises(ScenarioError, match="--issuer takes an https URL"):
        Issuer(url)


@pytest.mark.network
async def test_who_speaks_for_another_issuer_is_none(issuer: IssuerProcess) -> None:
    with pytest.raises(HarnessFailure, match=r"answers 404|speaks for another issuer"):
        await Issuer(f"{issuer.url}/other").fetch_keys()
    with pytest.raises(HarnessFailure, match="speaks for another issuer"):
        await Issuer(issuer.url.replace("127.0.0.1", "localhost")).fetch_keys()


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ({"issuer": "https://a.example"}, 'belong to auth = "oauth"'),
        ({"auth": "oauth"}, "needs issuer = URL"),
        ({"auth": "oauth", "issuer": "https://a.example", "remote": True}, "resource = https://HOST/mcp"),
        ({"auth": "oauth", "issuer": "https://a.example", "subjects": ["P1=a"], "episodes": 2}, "one seat at a time"),
    ],
)
def test_flags_that_do_not_fit_are_refused(flags: dict[str, Any], told: str) -> None:
    with pytest.raises(ScenarioError, match=told):
        _ = HostFlags(**flags).oauth


def test_the_command_seats_subjects(tmp_path: Path, issuer: IssuerProcess) -> None:
    command = [str(TRADEFAIR), "host", "teaching", "--port", "0"]
    oauth: dict[str, Any] = {"auth": "oauth", "issuer": issuer.url}
    line = [*command, *options_file(tmp_path, **oauth), "--out", str(tmp_path / "no")]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert "nobody could take a seat" in " ".join(done.stderr.split())
    assert not (tmp_path / "no").exists()
    flags = ["--seats", "P1", "--others", "half"]
    flags += options_file(tmp_path, **oauth, invite=["P1=alice"], until_over=True, linger=0)
    with subprocess.Popen(
        [*command, *flags, "--out", str(tmp_path / "it"), "--json"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        told = orjson.loads(process.stdout.readline())
        (seat,) = told["episodes"][0]["seats"]
        assert (seat["seat"], seat["token"], seat["subject"]) == ("P1", None, "alice")
        headers = {
            "Authorization": f"Bearer {issuer.token('alice', told['url'])}",
            "Accept": "application/json, text/event-stream",
        }
        with httpx2.Client(headers=headers, timeout=LONG) as http:
            assert http.post(told["url"], json=ASK).status_code == 200
        process.terminate()
    (trace,) = (tmp_path / "it").glob("*.trace")
    assert verify_file(trace).verdict == "reproduced"
    # Nobody is locked out without a word.
    with running_issuer() as other:
        again = [str(TRADEFAIR), "host", "--resume", str(tmp_path / "it"), "--port", "0"]
        given = options_file(tmp_path, auth="oauth", issuer=other.url)
        with subprocess.Popen([*again, *given], stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert "alice was invited to P1 as a subject of another issuer" in process.stderr.readline()
            process.terminate()
