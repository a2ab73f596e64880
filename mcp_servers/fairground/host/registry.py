"""`host.json`: which episodes a host keeps and which tokens open them, so that both survive a restart.

It lies beside the traces, holds digests instead of tokens, and only its owner may read it.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from fairground.contract.errors import TraceError
from fairground.host.seat_auth import Grant, SeatTokens

__all__ = ["HOST_FILE", "HostFile", "load_host_file", "save_host_file"]

HOST_FILE = "host.json"
_FORMAT = "fairground.host/1"


class HostFile(NamedTuple):
    """Trace files by episode id (names, relative to the folder), and the tokens."""

    traces: Mapping[str, str]
    tokens: SeatTokens


def save_host_file(folder: Path, file: HostFile) -> None:
    """Replace `folder/host.json` in one step; mode 0600 from its first byte."""
    content = {
        "format": _FORMAT,
        "episodes": [{"id": episode, "trace": name} for episode, name in file.traces.items()],
        "tokens": [_grant_record(grant) for grant in file.tokens],
    }
    draft = folder / f".{HOST_FILE}.{secrets.token_hex(4)}"
    with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
        stream.write(orjson.dumps(content, option=orjson.OPT_INDENT_2))
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(draft, folder / HOST_FILE)


def load_host_file(folder: Path) -> HostFile:
    """What `folder/host.json` says. Raises TraceError when it is missing, damaged or points out of the folder."""
    path = folder / HOST_FILE
    try:
        content: Any = orjson.loads(path.read_bytes())
        if content["format"] != _FORMAT:
            raise TraceError(f"{path}: format {str(content['format'])[:40]!r}; this version reads {_FORMAT}")
        traces = {str(item["id"]): _plain_name(path, item["trace"]) for item in content["episodes"]}
        return HostFile(traces, SeatTokens(_grant(item) for item in content["tokens"]))
    except OSError as error:
        raise TraceError(f"{path}: cannot be read: {error.strerror}") from None
    except (orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise TraceError(f"{path}: damaged: {error!r}") from None


def _grant_record(grant: Grant) -> dict[str, Any]:
    return {
        "id": grant.id,
        "episode": grant.episode,
        "seat": grant.seat,
        "digest": grant.digest,
        "revoked": grant.revoked,
    }


def _grant(item: Mapping[str, Any]) -> Grant:
    return Grant(str(item["id"]), str(item["episode"]), str(item["seat"]), str(item["digest"]), bool(item["revoked"]))


def _plain_name(path: Path, name: object) -> str:
    if not isinstance(name, str) or not name or Path(name).name != name:
        raise TraceError(f"{path}: {str(name)[:80]!r} is not the name of a trace in this folder")
    return name
