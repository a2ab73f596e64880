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

from tradefair.frameworks.models.access import Stopped, certificates
from tradefair.frameworks.models.budget import BUDGET_SPENT, Budget
from tradefair.frameworks.models.dialect import CHAT, NOT_THERE, RESPONSES, Dialect, Note, read_refusal
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
from tradefair.frameworks.models.wire import PASSED_ON, Answer, Json, as_object, as_objects, error_answer
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

    @property
    def passed_on(self) -> dict[str, str]:
        """The headers that reach the client of a model."""
        return {name: self.headers[name] for name in PASSED_ON if name in self.headers}


class Door(DefaultAsyncHttpxClient):
    """Asks one endpoint for one seat. Follows no redirect: no other address is handed the key.

    `prompts` is told of each question and answer in the form of a chat completion, `note` of what is learnt and of
    replies that cannot be read; what `budget` forbids is not asked.
    """

    def __init__(
        self,
        key: str,
        dialect: Dialect,
        *,
        outside: bool,
        prompts: Prompts | None = None,
        note: Note | None = None,
        budget: Budget | None = None,
        thoughts: bool = False,
        **options: Any,
    ) -> None:
        """`outside`: whether the endpoint is beyond this machine, where proxies and certificates are the world's.

        `thoughts`: whether the client gets a model's; frameworks would send them back, each in its own way.
        """
        trusted = certificates(from_environment=outside)
        super().__init__(trust_env=outside, verify=trusted, follow_redirects=False, **options)
        self.heard: Json | None = None
        self.budget = budget
        self._key = key
        self._dialect = dialect
        self._prompts = prompts
        self._note = note
        self._thoughts = thoughts
        # The output of replies with thoughts, by the id of their first call.
        self._kept: dict[str, Sequence[Json]] = {}

    async def send(self, request: Request, **options: Any) -> Response:
        """The answer to a question; `heard` is then the clean reply. Other requests are answered without the key."""
        if options.pop("stream", False):
            return await super().send(request, stream=True, **options)
        asked = _question(request)
        if asked is None:
            received = await self._exchange(request, **options)
            return Response(received.status, headers=received.headers, content=received.content, request=request)
        if (spent := self._forbidden()) is not None:
            return _sent(request, spent)
        answer, wire = await self._answer(request, asked, **options)
        answer = self._without_key(answer)
        if answer.ok:
            self.heard = answer.body
        if self._prompts is not None:
            said = {"status": answer.status, "body": answer.body}
            self._prompts.heard(asked, said | ({"wire": wire} if wire else {}))
        if answer.ok and not self._thoughts:
            answer = replace(answer, body=without_thoughts(answer.body))
        return _sent(request, answer)

    def _forbidden(self) -> Answer | None:
        """The answer to a question that the budget forbids."""
        try:
            if self.budget is not None:
                self.budget.check()
        except Stopped as stop:
            return error_answer(400, str(stop), BUDGET_SPENT, retry=False)
        return None

    async def _answer(self, request: Request, asked: Json, **options: Any) -> tuple[Answer, Json]:
        """The answer as an agent gets it, and what prompts say of the way that it came."""
        try:
            received, sent = await self._ask(request, asked, **options)
        except (NotUnderstood, zlib.error) as error:
            return await self._unread(error, b""), {}
        if not 200 <= received.status < 300:
            return self._refused(received), {}
        try:
            body = parse(received.content)
            read = completion(from_responses(body) if self._dialect.api == "responses" else body, _ids(asked))
        except Failed as failure:
            return Answer(failure.status, _error(failure.message, "failed"), received.passed_on), {}
        # Whatever is raised between bytes and reply is about the reply.
        except Exception as error:
            return await self._unread(error, received.content), {}
        return Answer(200, read.body, received.passed_on), self._remember(body, read, sent)

    async def _ask(self, request: Request, asked: Json, **options: Any) -> tuple[_Received, Json]:
        """The endpoint's answer once nothing more can be learnt from its refusals, and what it was sent."""
        learnt, found = self._dialect.learnt, None
        while True:
            known = len(learnt)
            sent, received = found or await self._say(request, asked, self._dialect.api, **options)
            # Unless another seat has learnt something meanwhile.
            may_learn = received.status >= 400 and len(learnt) == known
            found = await self._learn(request, asked, sent, received, **options) if may_learn else None
            # It ends, because there are only so many things that can be learnt.
            if received.status < 400 or len(learnt) == known:
                return received, sent

    async def _learn(
        self, request: Request, asked: Json, sent: Json, received: _Received, **options: Any
    ) -> tuple[Json, _Received] | None:
        """Learn what follows from a refusal; the other API's answer, where that was tried for it and is the one."""
        dialect, why, found = self._dialect, read_refusal(received.content), None
        said = dialect.learn(received.status, why, sent)
        if said is None and received.status in NOT_THERE and dialect.may_move and not why.of_model:
            found = await self._say(request, asked, "responses", **options)
            said = dialect.move(why) if found[1].status not in NOT_THERE else None
        if said is None:
            return None
        if self._note is not None:
            await self._note(dialect.note(said))
        return found

    async def _say(self, request: Request, asked: Json, api: str, **options: Any) -> tuple[Json, _Received]:
        """What is sent in the words of an API, and what comes back."""
        words = self._dialect.words(asked, api)
        if words is not None and api == "responses":
            if not self._dialect.carries:
                self._kept = {}
            said = to_responses(words, self._kept)
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

    async def _unread(self, error: Exception, content: bytes) -> Answer:
        """The answer in place of one that cannot be read; a note keeps how that begins."""
        cause = error if isinstance(error, NotUnderstood) else NotUnderstood(type(error).__name__, str(error))
        if self._note is not None:
            found = content[:_QUOTED].decode(errors="replace")
            await self._note({"kind": "endpoint_reply", "said": str(cause), "found": found})
        return error_answer(422, str(cause), NOT_UNDERSTOOD, retry=False)

    def _refused(self, received: _Received) -> Answer:
        why = read_refusal(received.content)
        advice = self._dialect.advice(received.status, why)
        message = f"{why.message[:1_000]}; {advice}" if advice else why.message
        return Answer(received.status, _error(message, why.code, why.param), received.passed_on)

    def _without_key(self, answer: Answer) -> Answer:
        """The answer without the key, which an endpoint may have written in escapes."""
        content = orjson.dumps(answer.body)
        if self._key.encode() not in content:
            return answer
        return replace(answer, body=orjson.loads(redacted(content.decode(), self._key)))

    def _remember(self, body: Json, read: Completion, sent: Json) -> Json:
        """Keep a reply's thoughts for the next request; what prompts say of the way."""
        wire: Json = {"repaired": list(read.repaired)} if read.repaired else {}
        if self._dialect.api == "chat":
            return wire
        calls = {str(item.get("call_id")) for item in cast("list[Json]", sent.get("input", ()))}
        carried = {first: output for first, output in self._kept.items() if first in calls}
        kept = output_to_keep(body) if self._dialect.carries else None
        # Those of the last request only: what a window has cut does not come back.
        self._kept = carried | (dict([kept]) if kept else {})
        of_way = {"api": "responses", "carried": len(carried), "thoughts": _sealed(kept[1] if kept else ())}
        return wire | {name: said for name, said in of_way.items() if said}


def _sealed(output: Sequence[Json]) -> Json:
    """Size and digest of encrypted thoughts: nobody can read them, and a digest says whether two runs had the same."""
    written = "".join(str(item["encrypted_content"]) for item in output if item.get("encrypted_content")).encode()
    digest = hashlib.blake2b(written, digest_size=16).hexdigest()
    return {"bytes": len(written), "digest": digest} if written else {}


def _sent(request: Request, answer: Answer) -> Response:
    headers = {"content-type": "application/json", **answer.headers}
    return Response(answer.status, headers=headers, content=orjson.dumps(answer.body), request=request)


def _question(request: Request) -> Json | None:
    """The chat completion that is asked for; None for every other request."""
    if request.method != "POST" or not request.url.path.endswith(CHAT):
        return None
    try:
        found = as_object(orjson.loads(request.content))
    except orjson.JSONDecodeError:
        return None
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
    messages = as_objects(asked["messages"])
    return {str(call.get("id")) for message in messages for call in as_objects(message.get("tool_calls"))}


def _error(message: str, code: str, param: str = "") -> Json:
    return {"error": {"message": message, "param": param or None, "code": code or None}}
