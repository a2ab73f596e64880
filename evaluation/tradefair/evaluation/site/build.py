"""Write a site: only what changed, and the same bytes for the same traces."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from tradefair.contract import ScenarioError, TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.progress import Progress, watched
from tradefair.evaluation.read.whole_files import write_whole
from tradefair.evaluation.record import Record
from tradefair.evaluation.report.build import Ledgers
from tradefair.evaluation.site.plan import Unit, Wanted, plan_site
from tradefair.evaluation.viewer.folder import Folder
from tradefair.evaluation.viewer.index import Index
from tradefair.files.folders import cache_folder

MANIFEST = "site.json"
SCHEMA = "tradefair.site/1"


class _Made(Record):
    """A unit as it was written: the digest of its inputs, and of each of its files."""

    inputs: str
    files: dict[str, str]


class Built(NamedTuple):
    """What building did. `written`, `kept` and `removed` count files; `left_out` are (path, reason) of traces."""

    folder: Path
    episodes: int
    written: int
    kept: int
    removed: int
    left_out: list[tuple[str, str]]

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**self._asdict(), "folder": str(self.folder)}


def build_site(
    runs: Path, out: Path, wanted: Wanted, *, progress: Progress | None = None, ledgers: Ledgers | None = None
) -> Built:
    """Write the site of a folder of traces into `out`; files of traces that are gone are removed.

    `ledgers` says on the reports what turns lost, as far as `wanted.ledger` goes; without it nobody does.
    Raises ScenarioError for a folder that holds something else or lies in `runs`, TraceError for `runs` without a
    trace, StorageUnavailable.
    """
    if out.resolve().is_relative_to(runs.resolve()):
        raise ScenarioError(f"{out}: lies within {runs}: write the site next to the traces")
    before = _manifest(out)
    plan = plan_site(Index(Folder(runs), cache_folder()), wanted, drawn=_can_draw(), progress=progress, ledgers=ledgers)
    if not plan.episodes and not plan.left_out:
        raise TraceError(f"{runs}: no trace here (*.trace or *.trace.jsonl)")
    made: dict[str, _Made] = {}
    written = 0
    for unit in watched(plan.units, progress, lambda unit: unit.name):
        known = before.get(unit.name)
        if known is not None and known.inputs == unit.inputs and _stands(out, known):
            made[unit.name] = known
            continue
        made[unit.name], count = _write(out, unit)
        written += count
    removed = _remove(out, before, made)
    written += _put(out / MANIFEST, _encoded(made))
    files = 1 + sum(len(unit.files) for unit in made.values())
    return Built(out, len(plan.episodes), written, files - written, removed, list(plan.left_out))


def _manifest(out: Path) -> dict[str, _Made]:
    """What was written before; nothing in a new folder. Raises ScenarioError for a folder that is no site."""
    if not out.exists() or (out.is_dir() and not any(out.iterdir())):
        return {}
    try:
        stored: Any = orjson.loads((out / MANIFEST).read_bytes())
        if stored["schema"] != SCHEMA:
            raise ValueError(stored["schema"])
        return {name: _Made.model_validate(unit) for name, unit in stored["units"].items()}
    # Files of others would be mixed with the site's, and what is no longer a page of it would be deleted.
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ValidationError):
        raise ScenarioError(f"{out}: is not empty and no site of ours (no {MANIFEST}): name another folder") from None


def _stands(out: Path, unit: _Made) -> bool:
    """Whether all files of a unit are there as they were written."""
    try:
        return all(_digest((out / path).read_bytes()) == digest for path, digest in unit.files.items())
    except OSError:
        return False


def _write(out: Path, unit: Unit) -> tuple[_Made, int]:
    """Make a unit; returns its record, and how many files had other content."""
    files = unit.make()
    written = sum(_put(out / path, content) for path, content in files.items())
    return _Made(inputs=unit.inputs, files={path: _digest(content) for path, content in sorted(files.items())}), written


def _put(path: Path, content: bytes) -> bool:
    """Write a file unless it has this content; a reader of the site never meets half of one."""
    try:
        if path.read_bytes() == content:
            return False
    except OSError:
        pass
    write_whole(path, [content])
    return True


def _remove(out: Path, before: Mapping[str, _Made], made: Mapping[str, _Made]) -> int:
    """Delete files that the site no longer has, and folders that are then empty."""
    gone = {path for unit in before.values() for path in unit.files}
    gone -= {path for unit in made.values() for path in unit.files}
    removed = 0
    for path in sorted(gone):
        place = out / path
        # The manifest lies in a folder that others may write to: it must not lead elsewhere.
        if not place.resolve().is_relative_to(out.resolve()) or not place.is_file():
            continue
        try:
            place.unlink()
        except OSError as error:
            raise StorageUnavailable(f"{place}: cannot be removed: {error.strerror}") from None
        removed += 1
    return removed


def _encoded(made: Mapping[str, _Made]) -> bytes:
    units = {name: unit.model_dump() for name, unit in sorted(made.items())}
    return orjson.dumps({"schema": SCHEMA, "units": units}, option=orjson.OPT_INDENT_2) + b"\n"


def _can_draw() -> bool:
    """Whether the extra that draws without a browser is installed."""
    from importlib.util import find_spec

    return find_spec("quickjs") is not None


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()
