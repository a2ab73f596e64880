"""Embedders and the similarity service: texts become vectors outside the rules, cosines enter as recorded inputs.

Rules never see a vector: a market asks for the cosines of one text with others (`InputRequest` of source `similarity`),
and the answer, rounded to six decimals, is recorded as an `input` event. So re-execution needs no embedder, and two
machines agree. Vectors are kept in one append-only file per embedder.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import math
import operator
import os
import struct
import threading
import time
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from pydantic import JsonValue

from tradefair.contract import InputRequest, ScenarioError
from tradefair.contract.text import is_bare_url
from tradefair.host.seats.services import Service, Services

SOURCE = "similarity"
_BATCH = 64  # texts per request
_TIMEOUT_S = 30.0
_RETRIES = 3
_BACKOFF_S = 0.5  # before the first retry; doubled before each further one
_DECIMALS = 6  # float32 vectors agree in about seven digits between processors
# Where TRADEFAIR_ALLOW_MODELS=0 still lets an endpoint be asked.
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
# The word stays in the scenario's model: older traces are read with it, and hold their cosines.
_LEFT = (
    "embedder = minilm left in 0.2: a new play takes embedder = wordllama, or embedder = openai with "
    "TRADEFAIR_EMBED_BASE_URL and TRADEFAIR_EMBED_MODEL of any embeddings endpoint, such as a server on this machine "
    "that has the same encoder; traces of it are still verified and evaluated, but not played on (fork, --ledger)"
)


class Embedder(Protocol):
    """Turns texts into vectors. `id` names all that decides a vector: scores of different ids cannot be compared.

    `embed` blocks until all vectors are there.
    """

    @property
    def id(self) -> str:
        """`wordllama/<digest>`, `openai/<model>@<dimensions>`."""
        ...

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        ...

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, in order: `[text][dimension]`. Blocks. Raises ScenarioError when there is none."""
        ...


class OpenAIEmbedder:
    """An OpenAI-compatible `/embeddings` endpoint. Neither its address nor its key enters a trace."""

    def __init__(self, base_url: str, model: str, key: str = "", *, backoff_s: float = _BACKOFF_S) -> None:
        self._url = base_url.rstrip("/") + "/embeddings"
        self._model = model
        self._headers = {"authorization": f"Bearer {key}"} if key else {}
        self._backoff_s = backoff_s
        # Asked once: endpoints do not say how long their vectors are, and `id` must.
        self.dimensions = len(self._batch(["a"])[0])
        self.id = f"openai/{model}@{self.dimensions}"

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """In batches of at most 64, three more attempts each."""
        found: list[list[float]] = []
        for start in range(0, len(texts), _BATCH):
            found += self._batch(texts[start : start + _BATCH])
        # An endpoint that changes its model in the middle would give cosines that mean nothing.
        if any(len(vector) != self.dimensions for vector in found):
            raise ScenarioError(f"the embeddings endpoint changed the dimensions of {self._model}")
        return found

    def _batch(self, texts: Sequence[str]) -> list[list[float]]:
        import httpx2

        reason = "no answer"
        for attempt in range(_RETRIES + 1):
            if attempt:
                # Blocks: embedders run in a worker thread (`SimilarityService.__call__`).
                time.sleep(self._backoff_s * 2 ** (attempt - 1))
            try:
                body = {"model": self._model, "input": list(texts)}
                answer = httpx2.post(self._url, json=body, headers=self._headers, timeout=_TIMEOUT_S)
            except httpx2.HTTPError as error:
                reason = type(error).__name__
                continue
            # What passes by itself. Other refusals would be the same at the next try.
            if answer.status_code in (408, 409, 429) or answer.status_code >= 500:
                reason = f"status {answer.status_code}"
                continue
            if answer.status_code != 200:
                raise ScenarioError(f"the embeddings endpoint refuses {self._model}: status {answer.status_code}")
            return _vectors(answer.content, len(texts))
        raise ScenarioError(f"the embeddings endpoint gives no answer: {reason}")


def _vectors(content: bytes, count: int) -> list[list[float]]:
    """The vectors of an answer in the order of the texts; finite, not zero, all of one length.

    Raises ScenarioError for everything else: a wrong vector would become a wrong score without a sign.
    """
    try:
        # Sorted: the order of the rows is not promised, only their index.
        rows: list[dict[str, Any]] = sorted(json.loads(content)["data"], key=lambda row: row["index"])
        found = [[float(number) for number in row["embedding"]] for row in rows]
    except (ValueError, KeyError, TypeError) as error:
        raise ScenarioError(f"the embeddings endpoint gives no embeddings: {error!r}"[:200]) from None
    if len(found) != count or len({len(vector) for vector in found}) != 1:
        raise ScenarioError("the embeddings endpoint gives another number of vectors, or of dimensions, than asked for")
    if not all(any(vector) and all(map(math.isfinite, vector)) for vector in found):
        raise ScenarioError("the embeddings endpoint gives a vector that is zero or not finite")
    return found


class CachedEmbedder:
    """An embedder with a memory on disk: JSON lines of digest and float32 vector; a damaged line is left out.

    Vectors are little-endian float32 in base64; the digest is over the embedder's id and the text in NFC.
    """

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self.id, self.dimensions = embedder.id, embedder.dimensions
        # A file name made from an id that may hold a model's slashes.
        name = "".join(char if char.isalnum() or char in "-_.@" else "-" for char in embedder.id)
        self._path = folder / f"{name}.jsonl"
        self._known: dict[str, list[float]] = dict(self._read())
        # Several seats may ask from several threads; the file is appended to by one at a time.
        self._lock = threading.Lock()
        self.hits = self.misses = 0

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Known vectors from memory, others from the embedder, which are kept."""
        with self._lock:
            keys = [self._key(text) for text in texts]
            # A mapping: a text that is asked for twice is embedded once.
            missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
            self.misses += len(missing)
            self.hits += len(keys) - len(missing)
            if missing:
                self._keep(dict(zip(missing, self._embedder.embed(list(missing.values())), strict=True)))
            return [self._known[key] for key in keys]

    def _key(self, text: str) -> str:
        # NFC, so that two writings of the same letter are one text; the id, so that models do not mix.
        return hashlib.sha256(f"{self.id}\n{unicodedata.normalize('NFC', text)}".encode()).hexdigest()

    def _keep(self, fresh: Mapping[str, Sequence[float]]) -> None:
        lines: list[str] = []
        for key, vector in fresh.items():
            packed = struct.pack(f"<{self.dimensions}f", *vector)
            # Unpacked again: what is used now must equal what a later process reads from the file, in every bit.
            self._known[key] = list(struct.unpack(f"<{self.dimensions}f", packed))
            lines.append(json.dumps({"key": key, "vector": base64.b64encode(packed).decode()}) + "\n")
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("a+b") as stream:
                # What a killed process left half written must not spoil the first new line.
                stream.seek(0, os.SEEK_END)
                if stream.tell() and not _ends_a_line(self._path):
                    stream.write(b"\n")
                stream.write("".join(lines).encode())
        except OSError:
            pass  # a memory that cannot be written costs time only

    def _read(self) -> dict[str, list[float]]:
        try:
            lines = self._path.read_bytes().splitlines()
        except OSError:
            return {}
        found: dict[str, list[float]] = {}
        for line in lines:
            try:
                row = json.loads(line)
                vector = struct.unpack(f"<{self.dimensions}f", base64.b64decode(row["vector"], validate=True))
                found[str(row["key"])] = list(vector)
            # A line that a kill left half written: the text is simply embedded again.
            except (ValueError, KeyError, TypeError, struct.error):
                continue
        return found


def _ends_a_line(path: Path) -> bool:
    with path.open("rb") as stream:
        stream.seek(-1, os.SEEK_END)
        return stream.read(1) == b"\n"


class SimilarityService:
    """Answers requests of source `similarity`: `{"text", "others"}` with cosines, `{"about", "texts"}` with what it is.

    A call from the event loop works in a thread; `answer` is the same for scripted seats, which play synchronously.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    async def __call__(self, payload: JsonValue) -> JsonValue:
        """The answer to a request.

        Raises what the embedder raises; `Services` turns that into an answer that is missing.
        """
        return await asyncio.to_thread(self.answer, payload)

    def answer(self, payload: JsonValue) -> JsonValue:
        """Cosines of one text with others; or id, dimensions and the rows of several texts over others."""
        assert isinstance(payload, dict)
        others = _texts(payload["others"])
        if "text" in payload:
            return [*self._row(str(payload["text"]), others)]
        texts = _texts(payload["texts"])
        # All at once, so that the rows below find every vector in memory.
        self.embedder.embed([*texts, *others])
        rows: dict[str, JsonValue] = {text: [*self._row(text, others)] for text in texts}
        return {"id": self.embedder.id, "dimensions": self.embedder.dimensions, "rows": rows}

    def _row(self, text: str, others: Sequence[str]) -> list[float]:
        # An empty text has no direction; 0 says that it is like nothing.
        if not text.strip():
            return [0.0] * len(others)
        first, *rest = self.embedder.embed([text, *others])
        return _cosines(first, rest)


def _texts(value: JsonValue) -> list[str]:
    assert isinstance(value, list)
    return [str(text) for text in value]


def _cosines(vector: Sequence[float], others: Sequence[Sequence[float]]) -> list[float]:
    """Cosines of `vector` with `others`, rounded to six decimals; 0 with a vector of zeros."""
    # Products and sums of one machine are those of every other: a sum in the order of a processor would not be.
    own = math.sqrt(_dot(vector, vector))
    norms = [own * math.sqrt(_dot(other, other)) for other in others]
    # Rounding may carry a cosine just beyond 1.
    return [
        round(min(1.0, max(-1.0, _dot(vector, other) / norm)), _DECIMALS) if norm else 0.0
        for other, norm in zip(others, norms, strict=True)
    ]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(operator.mul, one, other))


def similarity_services(needs: Sequence[InputRequest]) -> Services:
    """The services that answer a scenario's needs. Raises ScenarioError for a need that none of them can meet."""
    found: dict[str, Service] = {}
    for request in needs:
        payload = request.payload
        if request.source != SOURCE or not isinstance(payload, dict):
            raise ScenarioError(f"no service answers {request.source[:40]!r}")
        found[request.source] = SimilarityService(open_embedder(str(payload["embedder"])))
    # Long enough for all attempts of one batch, with their pauses.
    return Services(found, timeout_s=(_RETRIES + 2) * _TIMEOUT_S)


def open_embedder(name: str, environment: Mapping[str, str] | None = None) -> CachedEmbedder:
    """The embedder `name`, set up by `TRADEFAIR_…` variables. Raises ScenarioError, which says what is missing."""
    given = os.environ if environment is None else environment
    home = given.get("TRADEFAIR_CACHE") or str(Path.home() / ".cache" / "tradefair")
    if name == "openai":
        url, model = given.get("TRADEFAIR_EMBED_BASE_URL", ""), given.get("TRADEFAIR_EMBED_MODEL", "")
        if not url or not model:
            raise ScenarioError("embedder = openai: set TRADEFAIR_EMBED_BASE_URL and TRADEFAIR_EMBED_MODEL")
        if not is_bare_url(url):
            raise ScenarioError("TRADEFAIR_EMBED_BASE_URL must not hold a name, password or key; set …_API_KEY")
        # The same switch as for models: a test must not ask an endpoint of the world outside.
        if given.get("TRADEFAIR_ALLOW_MODELS") == "0" and urlsplit(url).hostname not in _LOOPBACK:
            raise ScenarioError("TRADEFAIR_ALLOW_MODELS=0 refuses the embeddings endpoint: not loopback")
        embedder: Embedder = OpenAIEmbedder(url, model, given.get("TRADEFAIR_EMBED_API_KEY", ""))
    elif name == "minilm":
        raise ScenarioError(_LEFT)
    elif name == "wordllama":
        from tradefair.host.seats.wordllama import WordLlama

        embedder = WordLlama()
    else:
        raise ScenarioError(f"embedder = {name}: there are lexical, wordllama and openai")
    # Always cached: seats and episodes ask for the same texts again.
    return CachedEmbedder(embedder, Path(home) / "embeddings")
