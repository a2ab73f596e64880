"""`import_files`: files of any known format as traces, one per run."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from tradefair.contract.errors import StorageUnavailable, TradefairError
from tradefair.evaluation.foreign.importers.counting import ANSWERS, CALLS, Census
from tradefair.evaluation.foreign.importers.detect import Undetected, detect, next_surest, reader_of
from tradefair.evaluation.foreign.importers.foreign import Intake
from tradefair.evaluation.foreign.importers.items import Odd, Reader, WholeReader
from tradefair.evaluation.foreign.importers.run_report import FileReport, Imported
from tradefair.evaluation.foreign.importers.source import Source, head_of
from tradefair.evaluation.foreign.importers.spool import Spool
from tradefair.evaluation.foreign.importers.writing import safe_name, trace_name, write_run
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.files.user_files import regular
from tradefair.tracestore import open_trace
from tradefair.tracestore.redaction import Redactor

_CHUNK = 1 << 20
_SESSIONS = (".jsonl",)
"""Endings of session files that may have a folder of sub-agents beside them."""


def import_files(
    paths: Sequence[Path], out: Path, *, form: str | None = None, redact: Redactor | None = None
) -> Imported:
    """Import files, and those of folders, into the folder `out`: a trace per run, and a report per file.

    `form` names the reader of all of them; without it each file is recognised by its content. Never raises for what a
    file holds. Raises ScenarioError for an unknown `form`, StorageUnavailable where `out` cannot be written.
    """
    forced = None if form is None else reader_of(form)
    files = list(_files(paths, out))
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageUnavailable(f"{out}: cannot be written: {error.strerror}") from None
    batch = _Batch(out, redact)
    joined: dict[str, list[tuple[Path, FileReport, Reader]]] = {}
    for path, report in files:
        reader = _recognised(path, report, forced)
        if isinstance(reader, WholeReader):
            taken = reader.take(path, out)
            report.whole(taken)
        elif reader is not None and reader.joins:
            joined.setdefault(reader.name, []).append((path, report, reader))
        elif reader is not None:
            batch.read([(path, report, reader)])
    for together in joined.values():
        batch.read(together)
    for path, report in files:
        if report.format is not None and not report.used and not report.found:
            counts = getattr(reader_of(report.format), "counts", None)
            report.empty(next_surest(path, report.format), counts.looked_for if counts else "")
    return Imported([report for _, report in files])


def _files(paths: Sequence[Path], out: Path) -> Iterator[tuple[Path, FileReport]]:
    """The files named, with what lies beside them, and those below folders in order of name; what is hidden, or lies in
    `out`, is left out."""
    given = set(paths)
    for path in paths:
        if path.is_dir():
            yield from ((file, FileReport(str(file.relative_to(path)), named=False)) for file in _inside(path, out))
            continue
        yield path, FileReport(path.name)
        # Sessions of sub-agents lie in a folder of the session's name beside it.
        folder = path.with_suffix("")
        if path.suffix in _SESSIONS and folder.is_dir() and folder not in given:
            for file in _inside(folder, out):
                if file not in given and file.suffix in _SESSIONS:
                    yield file, FileReport(str(file.relative_to(path.parent)), named=False)


def _inside(path: Path, out: Path) -> Iterator[Path]:
    for file in sorted(path.rglob("*")):
        inside = file.relative_to(path).parts
        hidden = any(part.startswith(".") for part in inside) or (out != path and file.is_relative_to(out))
        # A link could lead out of the folder.
        if not hidden and file.suffix != ".trace" and not file.is_symlink() and not file.is_dir():
            yield file


def _recognised(path: Path, report: FileReport, forced: Reader | WholeReader | None) -> Reader | WholeReader | None:
    try:
        with regular(path) as file:
            reader = forced or detect(head_of(path.name, file))
    except (OSError, Undetected) as error:
        odd = Odd(0, "", f"cannot be read: {error.strerror}" if isinstance(error, OSError) else str(error))
        # What lies in a folder beside logs, and is none by any sign of it, is no fault of the import.
        report.no_log = isinstance(error, Undetected) and not report.named and not error.doubtful
        if not report.no_log:
            report.odd(odd)
        return None
    report.format, report.unit = reader.name, reader.unit if isinstance(reader, Reader) else ""
    report.reader_version = reader.version if isinstance(reader, Reader) else 1
    return reader


class _Batch:
    """Reads files into a spool and writes the runs of it; names of traces are given once."""

    def __init__(self, out: Path, redact: Redactor | None) -> None:
        self._out = out
        self._redact = redact
        self._names: set[str] = set()

    def read(self, files: Sequence[tuple[Path, FileReport, Reader]]) -> None:
        """Files of one format, whose runs may go on in each other."""
        spool = Spool(self._out)
        before = Counter(self._redact.hits) if self._redact is not None else Counter[str]()
        try:
            digests = [self._taken(spool, number, *file) for number, file in enumerate(files)]
            goes_on: dict[int, FileReport] = {}
            redacted = {} if self._redact is None else dict(self._redact.hits - before)
            for run, rows in spool.runs():
                path, report, reader = files[run.files[0]]
                source: dict[str, Any] = {
                    "format": reader.name,
                    "reader": reader.version,
                    "file": self._plain(report.file),
                    "blake2b": digests[run.files[0]],
                }
                if len(run.files) > 1:
                    further = [(self._plain(files[at][1].file), digests[at]) for at in run.files[1:1_000]]
                    source["also"] = [{"file": file, "blake2b": seen} for file, seen in further]
                if redacted:
                    source["redacted"] = redacted
                if not all(files[at][1].reconciled for at in run.files):
                    source["reconciled"] = False
                if report.left_out:
                    source["left_out"] = dict(report.left_out)
                stem = path.stem
                if (plain := self._plain(stem)) != stem:
                    stem = safe_name(plain)
                name = self._named(trace_name(stem, run.source_id), {**source, "run": run.source_id})
                written = write_run(self._out / f"{name}.trace", stem, run, rows, spool, source, report)
                if written is not None:
                    report.runs.append(written)
                    for at in run.files[1:]:
                        files[at][1].parts += 1
                        goes_on[at] = report
            _counted_together(files, goes_on)
        finally:
            spool.close()

    def _taken(self, spool: Spool, number: int, path: Path, report: FileReport, reader: Reader) -> str:
        """Read one file into the spool; its digest."""
        intake = Intake(spool, number, report.odd, joins=reader.joins, redact=self._redact)
        census = None if reader.counts is None else Census(reader.counts, spool, number)
        count: dict[str, Any] = {} if census is None else {"count": census.take}
        seen = ""
        try:
            with regular(path) as file:
                seen = _digest(file)
                source = Source(file, head_of(path.name, file), report.odd, spool.met, **count)
                try:
                    for item in reader.read(source):
                        intake.take(item, source.line)
                # A reader of somebody else, or a file that ours did not foresee: the rest of the import goes on.
                except Exception as fault:
                    failed = Odd(source.line, "", f"the reader {reader.name} failed: {fault!r}"[:300])
                    intake.take(failed, source.line)
                report.records, report.understood = intake.records + source.refused, intake.understood
        except OSError as error:
            report.odd(Odd(0, "", f"cannot be read: {error.strerror}"))
        report.left_out = intake.left_out
        if census is not None and not intake.full:
            report.reconcile(intake, census.bounds(CALLS), census.bounds(ANSWERS).get("", (0, 0)))
        return seen

    def _plain(self, text: str) -> str:
        return text if self._redact is None else self._redact.text(text)

    def _named(self, wanted: str, source: Mapping[str, Any]) -> str:
        """A name that no other trace of this import has, in any case of its letters, and no other run in the folder."""
        name, number = wanted, 1
        while name.lower() in self._names or not _free(self._out / f"{name}.trace", source):
            number += 1
            name = f"{wanted}-{number}"
        self._names.add(name.lower())
        return name


def _counted_together(files: Sequence[tuple[Path, FileReport, Reader]], goes_on: Mapping[int, FileReport]) -> None:
    """What goes on in one file is counted where it begins, as its calls are."""
    for at, begins in goes_on.items():
        more = files[at][1]
        if not more.runs and more.held is not None and begins.held is not None:
            begins.held, more.held = begins.held + more.held, 0


def _free(path: Path, source: Mapping[str, Any]) -> bool:
    """Whether no trace stands here, or one of the same run whose whole content is in this source, too."""
    # Of a name that is too long `write_trace` says what is wrong.
    if not os.path.lexists(path):
        return True
    try:
        with open_trace(path) as trace:
            before = mapping(trace.manifest.about.get("source"))
    except (OSError, TradefairError):
        return False
    same = all(before.get(name) == source[name] for name in ("format", "run"))
    return same and _contents(before) <= _contents(source)


def _contents(source: Mapping[str, Any]) -> set[str]:
    """Digests of the files that a run was read from."""
    return {str(mapping(file).get("blake2b")) for file in (source, *sequence(source.get("also")))}


def _digest(file: BinaryIO) -> str:
    seen = hashlib.blake2b(digest_size=32)
    for chunk in iter(partial(file.read, _CHUNK), b""):
        seen.update(chunk)
    file.seek(0)
    return seen.hexdigest()
