"""What this very installation has proven before, noted in the user's cache folder: the same question is asked once.

A note is a digest of the trace's bytes, of the code that judged them and of the seats that were asked for. Only what
was re-executed and found proven is noted; a changed byte of trace or code makes it another question.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import sysconfig
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from tradefair.catalog import market_type
from tradefair.contract import TradefairError
from tradefair.contract.chain import canonical
from tradefair.files.folders import cache_folder
from tradefair.files.user_files import MIB, regular
from tradefair.tracestore import Trace

# Packages that a proof runs through, beside the market's own; a test compares them with what is imported.
JUDGES = ("contract", "files", "tracestore", "catalog", "trading", "evaluation/prove", "evaluation/read")
# A SQLite file beside which one of these lies is not all of the trace.
_BESIDE = ("-wal", "-journal")
# 60,000 notes of a line each; then they are begun anew.
_MOST_BYTES = 4 << 20


def question_of(trace: Trace, asked: Sequence[str] | None) -> str:
    """A digest of trace, code and the seats asked for (None: those that tables count); "" where nothing may be noted.

    That is: of a trace that is not finished, not held in memory or not one whole file, of a market of other authors,
    whose code may lie anywhere, and where there is no cache folder that only its owner can write. TraceError.
    """
    manifest = trace.manifest
    if not (manifest.sealed and trace.held and trace.is_file) or _notes() is None:
        return ""
    if any(Path(f"{trace.path}{suffix}").exists() for suffix in _BESIDE):
        return ""
    try:
        code = code_of(type(market_type(manifest.core.market)).__module__)
        with regular(trace.path) as file:
            content = hashlib.sha256()
            for part in iter(lambda: file.read(MIB), b""):
                content.update(part)
    except (OSError, TradefairError):
        return ""
    # What is in memory too: another file may have taken the name since.
    last = deque(trace.events(), maxlen=1)
    read = [manifest.first_hash.hex(), manifest.about.get("seal"), *(stored.hash.hex() for stored in last)]
    told = canonical([content.hexdigest(), code, read, asked and list(asked)])
    return hashlib.sha256(told).hexdigest() if code else ""


def is_known(question: str) -> bool:
    """Whether the answer to this question was found to be a proof, and noted."""
    path = _notes()
    return bool(question) and path is not None and question in noted_in(path)


def note(question: str) -> None:
    """Note that re-execution has answered the question with a proof. A note that cannot be written is left out."""
    path = _notes()
    if not question or path is None:
        return
    noted_in(path).add(question)
    with suppress(OSError):
        begin = not path.exists() or path.stat().st_size > _MOST_BYTES
        flags = os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if begin else os.O_APPEND)
        with os.fdopen(os.open(path, flags, 0o600), "w", encoding="ascii") as file:
            file.write(f"{question}\n")


@cache
def noted_in(path: Path) -> set[str]:
    """The notes of a file; none of one that cannot be read."""
    try:
        return set(path.read_text(encoding="ascii").split()) if path.is_file() else set()
    except (OSError, ValueError):
        return set()


def _notes() -> Path | None:
    """The file of notes, in a folder that is made here; None where others could write to either."""
    folder = cache_folder()
    if folder is None:
        return None
    path = folder / "proven" / "notes"
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if all(_is_private(place) for place in (path.parent, path) if place.exists()):
            return path
    return None


def _is_private(place: Path) -> bool:
    known = place.lstat()
    return os.name != "posix" or (known.st_uid == os.getuid() and not known.st_mode & 0o022)


@cache
def code_of(module: str) -> str:
    """A digest of all that judges traces of a market, whose module this is; "" for one that is not ours."""
    top, _, rest = module.partition(".")
    house = __name__.partition(".")[0]
    if top != house or not rest:
        return ""
    seen = hashlib.sha256(canonical([sys.version, platform.machine(), *installed()]))
    for root in sorted(sys.modules[house].__path__):
        base = Path(root)
        files = [*(base / "evaluation").glob("*.py")]
        for package in (*JUDGES, rest.partition(".")[0]):
            files += (path for path in (base / package).rglob("*") if "__pycache__" not in path.parts)
        for path in sorted(path for path in files if path.is_file()):
            content = path.read_bytes()
            seen.update(f"{path.relative_to(base)} {len(content)} ".encode())
            seen.update(content)
    return seen.hexdigest()


def installed() -> list[str]:
    """Other distributions with their versions, as their folders are called."""
    places = {sysconfig.get_path(name) for name in ("purelib", "platlib")}
    return sorted(name for place in places for name in os.listdir(place) if name.endswith((".dist-info", ".egg-info")))
