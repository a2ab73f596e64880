"""`tradefair record … -- CMD` or `--url URL` without a parser of options: it is ready before its client notices it.

A client starts the recorder in the place of its server, every time. What is not this plain form, `--help` and mistakes
among it, is left to the command's full parser.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tradefair.cli.terminal import say
from tradefair.contract.bounds import RECORDER_PORT
from tradefair.contract.errors import ScenarioError, StorageUnavailable, TradefairError
from tradefair.contract.text import clean_line

if TYPE_CHECKING:
    from tradefair.tracestore.redaction import Redactor

NOT_RECORDED = 3
"""The exit code when the log could not be written."""

_USAGE = 2
_MAX_NAME = 80
_FLAGS = {"--digest-results", "--lossy", "--redact-unknown", "--no-redact-unknown"}
_TAKEN = ("--redact", "--redact-field", "--keep-field")
_VALUES = {"--out", "--name", *_TAKEN, "--url", "--port"}


class Taken(NamedTuple):
    """What is taken out beyond the published table: patterns, fields, what looks random; and which fields are kept."""

    patterns: Sequence[str] = ()
    fields: Sequence[str] = ()
    keep: Sequence[str] = ()
    unknown: bool = True

    def redactor(self) -> Redactor:
        """What takes it out. Raises ScenarioError for what is no regular expression."""
        from tradefair.tracestore.redaction import Redactor

        return Redactor(self.patterns, self.fields, keep=self.keep, unknown=self.unknown)


class Wish(NamedTuple):
    """What `tradefair record` is asked to do; `name` begins the names of the traces in `out`."""

    out: Path
    name: str = ""
    taken: Taken = Taken()
    digest_results: bool = False
    lossy: bool = False
    command: Sequence[str] = ()
    url: str = ""
    port: int = RECORDER_PORT


def record(arguments: Sequence[str]) -> int | None:
    """Carry out a plain command line; its exit code, or None where the full parser is to look at it."""
    wish = plain(arguments)
    if wish is None:
        return None
    try:
        return carried_out(wish)
    except TradefairError as error:
        say(f"tradefair record: {clean_line(str(error))}")
        return NOT_RECORDED if isinstance(error, StorageUnavailable) else _USAGE


def plain(arguments: Sequence[str]) -> Wish | None:
    """A command line of known options with `--` and a command, or with --url; None for any other."""
    given: dict[str, list[str]] = {}
    command: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            command = list(words)
            break
        name, equals, value = word.partition("=")
        if name in _FLAGS and not equals:
            given[name] = [name]
        elif name in _VALUES:
            found = value if equals else next(words, None)
            if found is None or (not equals and found.startswith("--")):
                return None
            given.setdefault(name, []).append(found)
        else:
            return None
    url, port = given.get("--url", [""])[-1], given.get("--port", [str(RECORDER_PORT)])[-1]
    if not re.fullmatch(r"\d{1,5}", port) or int(port) > 65_535:
        return None
    if bool(command) == bool(url) or not given.get("--out", [""])[-1]:
        return None
    return Wish(
        Path(given["--out"][-1]),
        given.get("--name", [""])[-1],
        Taken(*(given.get(name, ()) for name in _TAKEN), unknown="--no-redact-unknown" not in given),
        "--digest-results" in given,
        "--lossy" in given,
        command,
        url,
        int(port),
    )


def carried_out(wish: Wish) -> int:
    """Record; the exit code. Raises ScenarioError, StorageUnavailable."""
    return over_http(wish) if wish.url else over_stdio(wish)


def over_stdio(wish: Wish) -> int:
    """Start the server and record; the exit code. Raises ScenarioError, StorageUnavailable."""
    # Here: the help of the command needs none of it.
    from tradefair.recording.exchange import Exchange
    from tradefair.recording.stdio import Recorder

    program = Path(wish.command[0]).stem
    redactor = wish.taken.redactor()
    path = new_path(wish.out, wish.name or program)
    # Arguments and the environment may hold keys: neither is recorded.
    source = {"command": redactor.text(program)}
    exchange = Exchange(path, redactor, source, transport="stdio", digest_results=wish.digest_results)
    code = Recorder(wish.command, exchange, lossy=wish.lossy).run(NOT_RECORDED)
    _say_taken(redactor)
    return code


def over_http(wish: Wish) -> int:
    """Record what clients say to the server at a URL, until a signal. Raises ScenarioError, StorageUnavailable."""
    from tradefair.recording.exchange import Exchange

    try:
        from tradefair.recording.http.proxy import run_http
    except ImportError as error:
        raise ScenarioError(f"record --url needs the package {error.name}, which is not installed") from None
    from tradefair.recording.http.heads import upstream_of

    upstream = upstream_of(wish.url)
    first = wish.taken.redactor()
    name = wish.name or upstream.host
    new_path(wish.out, name)  # now, and not when a client is there

    def open_log() -> Exchange:
        # Path and query may hold keys: neither is recorded.
        return Exchange(
            new_path(wish.out, name),
            first.another(),
            {"url": upstream.origin},
            transport="http",
            digest_results=wish.digest_results,
        )

    def listening(address: str) -> None:
        say(f"recording {upstream.origin} at {address} into {wish.out}; Ctrl-C ends it")

    try:
        run_http(upstream, wish.port, open_log, listening, lossy=wish.lossy)
    except OSError as error:
        raise ScenarioError(f"--port {wish.port}: {error.strerror or error}") from None
    _say_taken(first)
    return 0


def _say_taken(redactor: Redactor) -> None:
    if redactor.in_all:
        say(f"taken out: {redactor.counted}")


def new_path(out: Path, name: str) -> Path:
    """A name in the folder `out` that no recording has; makes the folder. Raises StorageUnavailable, ScenarioError."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")[:_MAX_NAME]
    if not slug:
        raise ScenarioError(f"--name {name!r}: it needs a letter or a digit")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(f"{out}: {error.strerror}") from None
    if not os.access(out, os.W_OK | os.X_OK):
        raise StorageUnavailable(f"{out}: nothing can be written there")
    # Several recorders of one client start within a second.
    return out / f"{slug}-{time.strftime('%Y%m%dT%H%M%S', time.gmtime())}-{os.urandom(3).hex()}.trace"
