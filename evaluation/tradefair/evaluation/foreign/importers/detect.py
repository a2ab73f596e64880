"""Which reader a file is for: all are asked for their score of its head, and the best one wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, cast

from tradefair.contract.errors import ScenarioError, unknown
from tradefair.evaluation.foreign.importers.items import Reader, WholeReader
from tradefair.evaluation.foreign.importers.readers import READERS
from tradefair.evaluation.foreign.importers.report import ImportReport
from tradefair.evaluation.foreign.importers.source import Head, further_heads, head_of
from tradefair.files.user_files import regular

GROUP = "tradefair.readers"
"""Entry points of readers of third parties, and of the game logs, which lie in the rooms of their markets."""

SURE = 30
"""A score that is no higher is a guess."""

_SURE_BY_FURTHER_LINES = 60


_PACKED = {b"\x1f\x8b": "compressed by gzip", b"\x28\xb5\x2f\xfd": "compressed by zstd", b"BZh": "compressed by bzip2",
           b"\xfd7zXZ\x00": "compressed by xz", b"PK\x03\x04": "a zip that is no log of Inspect"}  # fmt: skip
_EMPTY, _BINARY = "the file is empty", "no text"
_SIGNS = (b'"tool', b'all"', b'alls"', b'"messages"', b'"role"', b"span", b"rpc", b'"function', b'"action')
"""What JSON of agents is hardly without."""
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a]")


class Undetected(Exception):
    """No reader is sure, or two are alike: each one's score, as a sentence; `doubtful`: it may be a log yet."""

    def __init__(self, reason: str, *, doubtful: bool) -> None:
        super().__init__(reason)
        self.doubtful = doubtful


@cache
def readers() -> Mapping[str, Reader | WholeReader]:
    """All readers by name: those of this package first. One that cannot be loaded is left out."""
    found: dict[str, Reader | WholeReader] = {}
    for name, module in READERS.items():
        found[name] = import_module(f"tradefair.evaluation.foreign.importers.readers.{module}").READER
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        # One of somebody else's that cannot be loaded must not keep the others from reading.
        with suppress(Exception):
            found.setdefault(entry.name, cast("Reader | WholeReader", entry.load()))
    return found


def formats(name: str = "") -> list[dict[str, Any]]:
    """Every format, or the one of this name: what it is, the version of its reader, and whether an import counts its
    calls once more. Raises ScenarioError for an unknown one."""
    known = readers() if not name else {name: reader_of(name)}
    return [
        {
            "format": listed,
            "version": reader.version if isinstance(reader, Reader) else 1,
            "counted": isinstance(reader, Reader) and reader.counts is not None,
            "description": reader.title,
        }
        for listed, reader in known.items()
    ]


def game_readers() -> dict[str, Callable[[Sequence[Path], Path], ImportReport]]:
    """Those that re-execute games, by the KIND of `import KIND PATH...`."""
    return {
        name: reader.report
        for name, reader in readers().items()
        if isinstance(reader, WholeReader) and reader.report is not None
    }


def reader_of(name: str) -> Reader | WholeReader:
    """The reader of this name. Raises ScenarioError."""
    known = readers().get(name)
    if known is None:
        raise ScenarioError(unknown("format", name, readers()))
    return known


def scores(head: Head) -> dict[str, int]:
    """What every reader says of a head; a reader that fails says 0."""
    return {name: _score(reader, head) for name, reader in readers().items()}


def detect(head: Head) -> Reader | WholeReader:
    """The reader that is surest. Where none is sure of the first line, those after it are asked. Raises Undetected."""
    found = scores(head)
    further = (_surest(scores(other), _SURE_BY_FURTHER_LINES) for other in further_heads(head))
    surest = _surest(found, SURE) or next(filter(None, further), None)
    if surest is not None:
        return readers()[surest]
    if reason := _no_text(head.raw):
        raise Undetected(reason, doubtful=reason not in (_EMPTY, _BINARY))
    told = ", ".join(f"{name} {score}" for name, score in sorted(found.items(), key=lambda said: -said[1]) if score)
    doubtful = (head.value is not None or bool(head.keys)) and any(sign in head.raw for sign in _SIGNS)
    reason = f"no known format ({told or 'every reader says 0'}); --format NAME forces one"
    raise Undetected(reason, doubtful=doubtful)


def next_surest(path: Path, name: str) -> str:
    """The reader that is surest of a file after the one of this name; empty where no other knows anything of it."""
    with suppress(OSError), regular(path) as file:
        others = {other: score for other, score in scores(head_of(path.name, file)).items() if other != name and score}
        return max(others, key=lambda other: others[other], default="")
    return ""


def _surest(found: Mapping[str, int], than: int) -> str | None:
    best = max(found.values(), default=0)
    alike = [name for name, score in found.items() if score == best]
    return alike[0] if best > than and len(alike) == 1 else None


def _no_text(raw: bytes) -> str:
    """Why a file that nobody knows is none that a reader of texts could know, as a sentence; empty where it may be."""
    if not raw.strip():
        return _EMPTY
    packed = next((name for begins, name in _PACKED.items() if raw.startswith(begins)), None)
    if packed is not None:
        return f"{packed}: unpack it first"
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "UTF-16: JSON is UTF-8; convert it first (iconv -f UTF-16 -t UTF-8)"
    # Field 1 of a protobuf message, and what no text holds.
    if raw.startswith(b"\x0a") and _NO_TEXT.search(raw):
        return "binary OTLP or another protobuf: export JSON instead, or convert it (docs/how-to/importing.md)"
    return _BINARY if _NO_TEXT.search(raw) else ""


def _score(reader: Reader | WholeReader, head: Head) -> int:
    try:
        return max(0, min(100, int(reader.sniff(head))))
    # A reader of somebody else must not keep the others from reading.
    except Exception:
        return 0
