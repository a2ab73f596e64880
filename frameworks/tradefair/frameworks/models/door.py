"""The HTTP client below every agent: a chat completion goes in, a clean one or an error comes out.

It says the question in the words that the endpoint takes (`Dialect`), bounds the answer in bytes and seconds, leaves
the key out of it, and reads it (`reply`). Where nothing was learnt, a request's bytes go out as they came.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import orjson
from httpx2 import URL, ReadTimeout, Request, Response
from openai import DefaultAsyncHttpxClient

from tradefair.frameworks.models.access import certificates
from tradefair.frameworks.models.dialect import CHAT, RESPONSES, Dialect, Note, read_refusal
from tradefair.frameworks.models.prompts import Prompts
from tradefair.frameworks.models.reply import (
    REPLY_LIMIT,
    Completion,
    Failed,
    NotUnderstood,
    completion,
    parse,
    without_thoughts,
)
from tradefair.frameworks.models.responses import from_responses, output_to_keep, to_responses
from tradefair.frameworks.models.wire import PASSED_ON, Answer, Json, error_answer
from tradefair.tracestore.redaction import redacted

NOT_UNDERSTOOD = "not_understood"
"""The code of an error that says what cannot be read in a reply."""


# Asked for, and so the only form in which bytes are unpacked.
_PACKED = {"gzip": 31, "x-gzip": 31, "deflate": 47}
_QUOTED = 2_000


class _Received(NamedTuple):
    """What came over the wire, without the key."""

    status: int
    headers: dict[str, str]
    content: bytes


class _Unread(Exception):
    """What was raised while a reply was read, with its bytes."""

    def __init__(self, cause: Exception, content: bytes) -> None:
        super().__init__(cause)
        self.cause, self.content = cause, content


class Door(DefaultAsyncHttpxClient):
    """Asks one endpoint for one seat. Follows no redirect: no other address is handed the key.

    `prompts` is told of each question and answer in the form of a chat completion, `note` of what is learnt and of
    replies that cannot be read.
    """

    def __init__(
        self,
        key: str,
        dialect: Dialect,
        *,
        outside: bool,
        prompts: Prompts | None = None,
        note: Note | None = None,
        thoughts: bool = False,
        **options: Any,
    ) -> None:
        """`outside`: whether the endpoint is beyond this machine, where proxies and certificates are the world's.

        `thoughts`: whether the client gets a model's; frameworks would send them back, each in its own way.
        """
        trusted = certificates(from_environment=outside)
        super().__init__(trust_env=outside, verify=trusted, follow_redirects=False, **options)
        self.heard: Json | None = None
        self._key = key
        self._dialect = dialect
        self._prompts = prompts
        self._note = note
        self._thoughts = thoughts
        # The output of replies with thoughts, by the id of their first call.
        self._kept: dict[str, Sequence[Json]] = {}

    async def send(self, request: Request, **options: Any) -> Response:
        """The answer to a question; `heard` is then the clean reply. Other requests are answered without the key."""
        asked = _question(request)
        if options.pop("stream", False):
            return await super().send(request, stream=True, **options)
        if asked is None:
            received = await self._exchange(request, **options)
            return Response(received.status, headers=received.headers, content=received.content, request=request)
        wire: Json = {}
        try:
            received, sent = await self._ask(request, asked, **options)
            answer, wire = self._read(received, asked, sent)
        except (NotUnderstood, zlib.error) as error:
            answer = await self._unread(error, b"")
        except _Unread as error:
            answer = await self._unread(error.cause, error.content)
        content = orjson.dumps(answer.body)
        # Once more: an endpoint may write the key in escapes.
        if self._key.encode() in content:
            content = redacted(content.decode(), self._key).encode()
            answer = replace(answer, body=orjson.loads(content))
        if answer.ok:
            self.heard = answer.body
        if self._prompts is not None:
            self._prompts.heard(
                asked, {"status": answer.status, "body": answer.body} | ({"wire": wire} if wire else {})
            )
        if answer.ok and not self._thoughts:
            answer = replace(answer, body=without_thoughts(answer.body))
        return _response(answer, request)

    async def _ask(self, request: Request, asked: Json, **options: Any) -> tuple[_Received, Json]:
        """The endpoint's answer once nothing more can be learnt from its refusals, and what it was sent."""
        dialect = self._dialect
        known = len(dialect.learnt)
        sent, received = await self._say(request, asked, dialect.api, **options)
        while received.status >= 400:
            why, found = read_refusal(received.content), None
            # Another seat may have learnt something meanwhile.
            if len(dialect.learnt) == known:
                said = dialect.learn(received.status, why, sent)
                if said is None and received.status in (404, 405) and dialect.may_move and not why.of_model:
                    found = await self._say(request, asked, "responses", **options)
                    said = dialect.move(why) if found[1].status not in (404, 405) else None
                if said is None:
                    break
                if self._note is not None:
                    await self._note(dialect.note(said))
            known = len(dialect.learnt)
            sent, received = found or await self._say(request, asked, dialect.api, **options)
        return received, sent

    async def _say(self, request: Request, asked: Json, api: str, **options: Any) -> tuple[Json, _Received]:
        """What is sent in the words of an API, and what comes back."""
        words = self._dialect.words(asked, api)
        if words is not None and api == "responses":
            said = to_responses(words, self._kept if self._dialect.carries else {})
            words = {name: value for name, value in said.items() if name not in self._dialect.left_out}
        return words or asked, await self._exchange(_in_words(request, words, api), **options)

    async def _exchange(self, request: Request, **options: Any) -> _Received:
        """One request and the whole of its answer, within the time that a client waits for it."""
        request.headers["accept-encoding"] = "gzip"
        patience: Any = request.extensions.get("timeout", {}).get("read")
        try:
            async with asyncio.timeout(patience):
                answer = await super().send(request, stream=True, **options)
                try:
                    content = await _unpacked(answer)
                finally:
                    await answer.aclose()
        except TimeoutError:
            raise ReadTimeout(f"no whole answer within {patience:g} s", request=request) from None
        kept = {name: answer.headers[name] for name in ("content-type", *PASSED_ON) if name in answer.headers}
        headers = {name: redacted(value, self._key) for name, value in kept.items()}
        if self._key.encode() in content:
            content = redacted(content.decode(errors="replace"), self._key).encode()
        return _Received(answer.status_code, headers, content)

    def _read(self, received: _Received, asked: Json, sent: Json) -> tuple[Answer, Json]:
        """The answer as an agent gets it, and what is known of the way that it came. Raises _Unread."""
        headers = {name: received.headers[name] for name in PASSED_ON if name in received.headers}
        if not 200 <= received.status < 300:
            return self._refused(received, headers), {}
        try:
            body = parse(received.content)
            read = completion(from_responses(body) if self._dialect.api == "responses" else body, _ids(asked))
        except Failed as failure:
            return Answer(failure.status, _error(failure.message, "failed"), headers), {}
        # Whatever is raised between bytes and reply is about the reply.
        except Exception as error:
            raise _Unread(error, received.content) from error
        return Answer(200, read.body, headers), self._remember(body, read, sent)

    async def _unread(self, error: Exception, content: bytes) -> Answer:
        """The answer in place of one that cannot be read; a note keeps how that begins."""
        cause = error if isinstance(error, NotUnderstood) else NotUnderstood(type(error).__name__, str(error))
        if self._note is not None:
            found = content[:_QUOTED].decode(errors="replace")
            await self._note({"kind": "endpoint_reply", "said": str(cause), "found": found})
        return error_answer(422, str(cause), NOT_UNDERSTOOD, retry=False)

    def _refused(self, received: _Received, headers: dict[str, str]) -> Answer:
        why = read_refusal(received.content)
        advice = self._dialect.advice(received.status, why)
        message = f"{why.message[:1_000]}; {advice}" if advice else why.message
        return Answer(received.status, _error(message, why.code, why.param), headers)

    def _remember(self, body: Json, read: Completion, sent: Json) -> Json:
        """Keep a reply's thoughts for the next request; what prompts say of the way."""
        wire: Json = {"repaired": list(read.repaired)} if read.repaired else {}
        if self._dialect.api == "chat":
            return wire
        calls = {str(item.get("call_id")) for item in cast("list[Json]", sent.get("input", ()))}
        carried = [first for first in self._kept if first in calls]
        kept = output_to_keep(body) if self._dialect.carries else None
        # Those of the last request only: what a window has cut does not come back.
        self._kept = {first: self._kept[first] for first in carried} | (dict([kept]) if kept else {})
        wire |= {"api": "responses"} | ({"carried": len(carried)} if carried else {})
        thoughts = [str(item["encrypted_content"]) for item in (kept or ("", []))[1] if item.get("encrypted_content")]
        if thoughts:
            # Nobody can read them: a digest says whether two runs had the same.
            written = "".join(thoughts).encode()
            wire["thoughts"] = {"bytes": len(written), "digest": hashlib.blake2b(written, digest_size=16).hexdigest()}
        return wire


def _question(request: Request) -> Json | None:
    """The chat completion that is asked for; None for every other request."""
    if request.method != "POST" or not request.url.path.endswith(CHAT):
        return None
    try:
        asked: Any = orjson.loads(request.content)
    except orjson.JSONDecodeError:
        return None
    found = cast("Json", asked) if isinstance(asked, dict) else {}
    return found if isinstance(found.get("messages"), list) else None


def _in_words(request: Request, words: Json | None, api: str) -> Request:
    """The request with another body and path; itself where it is in the endpoint's words already."""
    if words is None:
        return request
    url = str(request.url).replace(CHAT, CHAT if api == "chat" else RESPONSES, 1)
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    return Request("POST", URL(url), headers=headers, content=orjson.dumps(words), extensions=request.extensions)


async def _unpacked(answer: Response) -> bytes:
    """The whole body, piece by piece. Raises NotUnderstood for one that is too long, or packed otherwise."""
    content, packed = bytearray(), answer.headers.get("content-encoding", "identity").strip().lower()
    unpacker = zlib.decompressobj(_PACKED[packed]) if packed in _PACKED else None
    if unpacker is None and packed not in ("", "identity"):
        raise NotUnderstood("content-encoding", packed)
    async for piece in answer.aiter_raw():
        content += piece if unpacker is None else unpacker.decompress(piece, REPLY_LIMIT + 1)
        if len(content) > REPLY_LIMIT:
            raise NotUnderstood("the body", f"longer than {REPLY_LIMIT} bytes")
    return bytes(content)


def _ids(asked: Json) -> set[str]:
    """The ids of the calls in a request's history."""
    messages = cast("list[Json]", [message for message in asked["messages"] if isinstance(message, dict)])
    calls: list[Any] = [call for message in messages for call in message.get("tool_calls") or ()]
    return {str(cast("Json", call).get("id")) for call in calls if isinstance(call, dict)}


def _error(message: str, code: str, param: str = "") -> Json:
    return {"error": {"message": message, "param": param or None, "code": code or None}}


def _response(answer: Answer, request: Request) -> Response:
    headers = {"content-type": "application/json", **answer.headers}
    return Response(answer.status, headers=headers, content=orjson.dumps(answer.body), request=request)
