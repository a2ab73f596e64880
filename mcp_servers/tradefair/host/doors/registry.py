"""`host.json`: the episodes, orders and tokens of a host, kept across restarts.

The file lies next to the traces, or names the shared store that holds them. It has digests instead of tokens, and only
its owner may read it. One process at a time is the host of a folder.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from tradefair.contract import TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.files.folders import move_onto, new_private
from tradefair.host.episode.orders import Order, Terms
from tradefair.host.server.seat_auth import OBSERVER_SCOPE, SEAT_SCOPE, Grant, SeatTokens, check_subject
from tradefair.tracestore import is_whole_store
from tradefair.tracestore.locks import take

HOST_FILE = "host.json"
_LOCK = ".host.lock"
_FORMAT = "tradefair.host/1"
# Letters, digits and a few signs: an id becomes the name of a file.
_EPISODE_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_HOSTS_OWN = Terms()


class HostFile(NamedTuple):
    """Trace files by episode id (names, relative to the folder), the tokens, and orders that wait for their start.

    `control` is the digest of the control plane's token, where it has one of its own making. `terms` are those of
    episodes that were ordered with other than the host's own. `store` is the address of the shared store where the
    traces lie, without a password; None where they are files of the folder.
    """

    traces: Mapping[str, str]
    tokens: SeatTokens
    pending: Mapping[str, Order] = {}
    control: str | None = None
    terms: Mapping[str, Terms] = {}
    store: str | None = None


@contextmanager
def sole_host(folder: Path) -> Generator[None]:
    """Be the only host of a folder, until the body ends or the process dies.

    Raises TraceError where another host runs there, StorageUnavailable where the lock file cannot be opened.
    """
    try:
        lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise StorageUnavailable(f"{folder / _LOCK}: {error.strerror}") from None
    try:
        try:
            alone = take(lock)
        except OSError as error:
            raise StorageUnavailable(f"{folder / _LOCK}: {error.strerror}") from None
        if not alone:
            raise TraceError(f"{folder}: another host is running here; name another folder")
        yield
    # Closing gives the lock back; the file stays, so that all hosts of the folder lock the same one.
    finally:
        os.close(lock)


def check_fresh(folder: Path) -> None:
    """Raise TraceError where a host has left episodes or orders: a new registry would make their tokens worthless."""
    if not (folder / HOST_FILE).exists():
        return
    file = load_host_file(folder)
    kept = len(file.traces) + len(file.pending)
    if kept:
        raise TraceError(
            f"{folder}: a host has left {kept:,} episodes here: go on with --resume {folder}, or name another --out"
        )


def save_host_file(folder: Path, file: HostFile) -> None:
    """Replace `folder/host.json` in one step, so that a crash leaves the old file or the new one.

    Mode 0600 throughout.
    """
    content = {
        "format": _FORMAT,
        "episodes": [
            {"id": episode, "trace": name, **file.terms.get(episode, _HOSTS_OWN).model_dump(exclude_defaults=True)}
            for episode, name in file.traces.items()
        ],
        "pending": [{"id": episode, "order": order.model_dump(mode="json")} for episode, order in file.pending.items()],
        "tokens": [_grant_record(grant) for grant in file.tokens],
        "control": file.control,
        "store": file.store,
    }
    # A draft under a name of its own: two writers cannot mix their bytes.
    draft = folder / f".{HOST_FILE}.{secrets.token_hex(4)}"
    try:
        with new_private(draft) as stream:
            stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
            stream.flush()
            # Before the rename: after a power cut the new name must not hold an empty file.
            os.fsync(stream.fileno())
        move_onto(draft, folder / HOST_FILE)
    except OSError:
        draft.unlink(missing_ok=True)  # on a full disk a half-written draft would keep it full
        raise


def load_host_file(folder: Path) -> HostFile:
    """Read `folder/host.json`.

    The file may have been edited, so nothing in it is trusted: TraceError when it is missing or damaged, points out of
    the folder, or names an episode, trace or token twice.
    """
    path = folder / HOST_FILE
    try:
        content: Any = orjson.loads(path.read_bytes())
        if content["format"] != _FORMAT:
            raise TraceError(f"{path}: format {str(content['format'])[:40]!r}; this version reads {_FORMAT}")
        episodes, waiting, grants = content["episodes"], content.get("pending", ()), content["tokens"]
        _each_once(path, (_episode_id(path, item["id"]) for item in (*episodes, *waiting)))
        traces = {item["id"]: _plain_name(path, item["trace"]) for item in episodes}
        # Two episodes with one trace would write into the same log.
        _each_once(path, traces.values())
        pending = {item["id"]: Order.model_validate(item["order"]) for item in waiting}
        terms = {item["id"]: _terms(item) for item in episodes}
        # Earlier versions kept what was revoked too.
        tokens = [_grant(item) for item in grants if "revoked" not in item or not item["revoked"]]
        for names in zip(*((grant.id, grant.digest) for grant in tokens), strict=True):
            _each_once(path, names)
        control, store = content.get("control"), content.get("store")
        return HostFile(
            traces,
            SeatTokens(tokens),
            pending,
            None if control is None else _digest(control),
            {episode: kept for episode, kept in terms.items() if kept != _HOSTS_OWN},
            # Checked as at the command line: the file may have been edited.
            None if store is None else _store(store),
        )
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        raise TraceError(f"{path}: damaged: {error.error_count()} errors in its orders") from None
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise TraceError(f"{path}: damaged: {error!r}") from None


def _grant_record(grant: Grant) -> dict[str, Any]:
    kept = {"id": grant.id, "episode": grant.episode, "seat": grant.seat, "digest": grant.digest, "scope": grant.scope}
    return kept if grant.subject is None else {**kept, "subject": grant.subject}


def _grant(item: Mapping[str, Any]) -> Grant:
    fields = [*(str(item[name]) for name in ("id", "episode", "seat")), _digest(item["digest"])]
    # What is not an observer's is a seat's: older files have no scope.
    scope = OBSERVER_SCOPE if item.get("scope", SEAT_SCOPE) == OBSERVER_SCOPE else SEAT_SCOPE
    subject = item.get("subject")
    return Grant(*fields, scope=scope, subject=None if subject is None else check_subject(subject))


def _digest(given: object) -> str:
    if not isinstance(given, str) or not _DIGEST.fullmatch(given):
        raise ValueError("a digest is 64 hex digits")
    return given


def _store(given: object) -> str:
    if not isinstance(given, str) or not is_whole_store(given):
        raise ValueError("a store is the URL of a PostgreSQL database")
    return given


def _terms(item: Mapping[str, Any]) -> Terms:
    # Earlier versions wrote null where nothing was given.
    return Terms.model_validate({name: item[name] for name in Terms.model_fields if item.get(name) is not None})


def _each_once(path: Path, names: Iterable[str]) -> None:
    seen = set[str]()
    for name in names:
        if name in seen:
            raise TraceError(f"{path}: damaged: names {name[:80]!r} twice")
        seen.add(name)


def _episode_id(path: Path, given: object) -> str:
    # The trace of an order is named after it: a path in here would be written outside the folder.
    if not isinstance(given, str) or not _EPISODE_ID.fullmatch(given):
        raise TraceError(f"{path}: {str(given)[:80]!r} is not the id of an episode")
    return given


def _plain_name(path: Path, name: object) -> str:
    if not isinstance(name, str) or Path(name).name != name or name in ("", ".", "..") or "\0" in name:
        raise TraceError(f"{path}: {str(name)[:80]!r} is not the name of a trace in this folder")
    return name
