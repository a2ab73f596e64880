"""The model in this process: one engine per file of weights, which answers one prompt at a time."""

from __future__ import annotations

import atexit
import os
import secrets
from collections.abc import Callable
from functools import cache
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from tradefair.contract import HarnessFailure

CONTEXT = 8_192
"""Tokens of prompt and answer together."""


class Completion(NamedTuple):
    """What the model wrote, why it stopped (`stop`, `length`), and the tokens of both sides."""

    text: str
    finish_reason: str
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int


class Engine:
    """Weights, loaded and ready. The library serves them on a port of the loopback as well.

    That port asks for a key that nobody is given, and answers no page of a browser. Raises HarnessFailure.
    """

    def __init__(self, path: Path) -> None:
        # By name: the library has no types, and is not everywhere.
        library = import_module("xllamacpp")
        self._key, self._lock = secrets.token_urlsafe(24), Lock()
        try:
            self._server: Any = library.Server(_parameters(library, path, self._key))
        except RuntimeError as error:
            raise HarnessFailure(f"{path.name}: the model cannot be loaded: {error}") from None

    def complete(
        self,
        prompt: str,
        grammar: str | None,
        *,
        max_tokens: int,
        temperature: float,
        seed: int,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Completion:
        """What follows `prompt`; `stopped` is asked before each token. Blocks. Raises HarnessFailure."""
        request = {
            "prompt": prompt,
            "n_predict": max_tokens,
            "temperature": temperature,
            "seed": seed,
            # In pieces: only between two of them can a completion be stopped.
            "stream": True,
            **({} if grammar is None else {"grammar": grammar}),
        }
        pieces: list[Any] = []

        # It must not raise: the library ends the process then.
        def heard(piece: Any) -> bool:
            pieces.append(piece)
            return stopped()

        with self._lock:
            if stopped():
                raise HarnessFailure("the model was stopped before it answered")
            self._open.handle_completions(request, heard)
        if not pieces or "choices" not in pieces[-1]:
            raise HarnessFailure(f"the model gave no answer: {str(pieces[-1:])[:500]}")
        usage, last = pieces[-1].get("usage", {}), pieces[-1]["choices"][0]
        return Completion(
            "".join(piece["choices"][0]["text"] for piece in pieces),
            last["finish_reason"] or "stop",
            usage.get("prompt_tokens", 0),
            usage.get("prompt_tokens_details", {}).get("cached_tokens", 0),
            usage.get("completion_tokens", 0),
        )

    def count(self, text: str) -> int:
        """How many tokens a text is, by the model's own tokenizer."""
        place = urlsplit(self.address)
        connection = HTTPConnection(str(place.hostname), place.port, timeout=60)
        try:
            body = orjson.dumps({"content": text, "parse_special": True})
            connection.request("POST", "/tokenize", body, {"Authorization": f"Bearer {self._key}"})
            return len(orjson.loads(connection.getresponse().read())["tokens"])
        except (OSError, KeyError, ValueError) as error:
            raise HarnessFailure(f"the model's tokenizer gave no answer: {error!r}"[:500]) from None
        finally:
            connection.close()

    @property
    def address(self) -> str:
        """Where the library listens: `http://127.0.0.1:PORT`."""
        return str(self._open.listening_address)

    def close(self) -> None:
        """Free the model and its port, once what is under way has ended."""
        with self._lock:
            self._server = None

    @property
    def _open(self) -> Any:
        if self._server is None:
            raise HarnessFailure("the model is closed")
        return self._server


# For as long as the process lives: loading takes longer than an answer, and episodes of a process share it.
@cache
def _engine(path: Path) -> Engine:
    made = Engine(path)
    atexit.register(made.close)
    return made


_making = Lock()


def engine_of(path: Path) -> Engine:
    """The engine of these weights, made when it is first asked for; one for all seats and episodes of the process."""
    with _making:
        return _engine(path.resolve())


def _parameters(library: Any, path: Path, key: str) -> Any:
    wanted = library.CommonParams()
    wanted.model.path, wanted.n_ctx, wanted.n_parallel = str(path), CONTEXT, 1
    # Half of the cores: a thread that waits for a busy core makes every token ten times as slow.
    threads = max(1, min(4, (os.cpu_count() or 1) // 2))
    wanted.cpuparams.n_threads = wanted.cpuparams_batch.n_threads = threads
    # By default the port has no key and answers pages of every origin.
    wanted.hostnames, wanted.api_keys, wanted.ui = ["127.0.0.1"], [key], False
    wanted.cors_origins, wanted.cors_origins_explicit, wanted.cors_credentials = "", True, False
    wanted.endpoint_slots = wanted.endpoint_props = wanted.endpoint_metrics = False
    # Nothing is fetched, nothing is logged; the memory of earlier prompts is that of the context.
    wanted.offline, wanted.verbosity, wanted.cache_ram_mib = True, -1, 0
    return wanted
