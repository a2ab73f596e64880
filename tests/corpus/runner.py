"""Commands on a stranger's files, each case in a child process with limits and an empty working folder.

    with Runner(scratch) as runner:
        ran = runner.run([["verify", "--json", path], ["row", folder]])

A parent that has imported what commands import forks a child per case: that takes 10 ms where a fresh Python takes 2 s.
It reads an order per line from stdin and answers with a line; `python -m tests.corpus.runner` starts it.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from math import ceil
from pathlib import Path

import orjson
from tests.source_code import REPO
from tests.waiting import LONG, Loops, loop_cpu_s

from tradefair.evaluation.viewer.row import row_of
from tradefair.files.user_files import read_regular
from tradefair.tracestore import sqlite_file

LOOPS = 300
MEMORY = 512 * 1024**2
"""What a command may take, in loops of this machine (`loop_cpu_s`), and a case with all its commands, in bytes of
resident memory."""

# Beyond these the kernel ends the child. More than what is allowed, so that a case can be said to be over its limit.
_LIMITS = {resource.RLIMIT_AS: 4 * 1024**3, resource.RLIMIT_FSIZE: 64 * 1024**2}
# Of each command: a case has a dozen of them.
_MOST_LOOPS = 450


@dataclass(frozen=True)
class Ran:
    """One command of a case: exit code, what it wrote, its CPU time in loops; the code is None where it did not end."""

    command: list[str]
    code: int | None
    out: bytes
    err: bytes
    loops: float


@dataclass(frozen=True)
class Case:
    """A child's end: its exit code, negative where a signal killed it, and its largest resident memory in bytes."""

    ran: list[Ran]
    code: int
    memory: int


class Runner:
    """The parent, as a process. It looks at the traces `known` first, so that no child has to load what they need.

    The switch `--any-schema` takes a check away: a control shows what it is for.
    """

    def __init__(self, scratch: Path, *switches: str, known: Iterable[Path] = ()) -> None:
        self._scratch = scratch
        self._number = 0
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.corpus.runner", *switches, *known],
            cwd=REPO,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            # One thread: a fork copies no other, and a lock that one of them holds would stay locked.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "COLUMNS": "160", "TRADEFAIR_STRICT": "1"},
        )

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(LONG)

    def run(self, commands: Sequence[Sequence[str | Path]]) -> Case:
        """Run commands one after another in one child, in a working folder that is empty at first."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        folder = self._scratch / str(self._number)
        folder.mkdir()
        given = [list(map(str, command)) for command in commands]
        # By json: paths need not be valid text, and orjson would refuse them.
        self._process.stdin.write(json.dumps([str(folder), given]).encode() + b"\n")
        self._process.stdin.flush()
        answer = orjson.loads(self._process.stdout.readline())
        found = Case(list(_ran(folder, given)), answer["code"], answer["memory"])
        shutil.rmtree(folder)
        return found


def _ran(folder: Path, commands: Sequence[list[str]]) -> Iterator[Ran]:
    for number, command in enumerate(commands):
        ended, out, err = (folder / f"{number}.{part}" for part in ("ended", "out", "err"))
        if not out.exists():
            return
        code, loops = orjson.loads(ended.read_bytes()) if ended.exists() else (None, 0.0)
        yield Ran(command, code, out.read_bytes(), err.read_bytes(), loops)


# --- the parent, in a process of its own ----------------------------------------------------------------------------


def _row(folder: str) -> int:
    """What `tradefair view` lists of a folder, as JSON: the cheap facts, and those that take an evaluation."""
    from tradefair.evaluation.viewer.folder import Folder
    from tradefair.evaluation.viewer.index import Index

    rows = [
        {**row.model_dump(mode="json"), "check": row.judged.check if row.judged else None}
        for _, row in Index(Folder(Path(folder))).judged_rows()
    ]
    sys.stdout.buffer.write(orjson.dumps(rows))
    return 0


def _request(path: str) -> int:
    """The bytes of a file as a request to a gateway; exit code 1 where it is refused."""
    from tradefair.frameworks.models.wire import RequestError, parse_request

    try:
        parse_request(read_regular(Path(path)))
    except (RequestError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


_OWN: Mapping[str, Callable[[str], int]] = {"row": _row, "request": _request}


def _learn(modules: Path) -> None:
    """Import what a child had to import, so that the next one need not: most commands import when they are asked."""
    for name in modules.read_text(encoding="utf-8").splitlines() if modules.exists() else ():
        # Some names in `sys.modules` are no modules that could be imported, such as `__mp_main__`.
        with suppress(Exception):
            import_module(name)
    # What lives now is not looked at again in any child: copying its pages would take longer than most cases.
    gc.collect()
    gc.freeze()


def _command(words: Sequence[str]) -> int:
    from tradefair.cli.invoke import invoke
    from tradefair.cli.table import command_named

    name, *arguments = words
    if name in _OWN:
        return _OWN[name](*arguments)
    command = command_named(name)
    assert command is not None
    return invoke(command, arguments)


def _child(folder: Path, commands: Sequence[Sequence[str]]) -> None:
    """Run all commands; what each wrote and how it ended lies beside the working folder."""
    for limit, value in _LIMITS.items():
        resource.setrlimit(limit, (value, value))
    _drop_privileges()
    work = folder / "work"
    temporary = folder / "tmp"
    for made in (work, temporary):
        made.mkdir()
    os.chdir(work)
    os.environ.update(TMPDIR=str(temporary), HOME=str(work))
    tempfile.tempdir = None
    known = set(sys.modules)
    for number, words in enumerate(commands):
        for stream, part in ((1, "out"), (2, "err")):
            opened = os.open(folder / f"{number}.{part}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(opened, stream)
            os.close(opened)
        watch = Loops()
        most_cpu_s = ceil(watch.begun_cpu_s + _MOST_LOOPS * loop_cpu_s())
        resource.setrlimit(resource.RLIMIT_CPU, (most_cpu_s, resource.RLIM_INFINITY))
        # A command that waits for a pipe or a socket takes no CPU; this ends it.
        signal.alarm(LONG)
        code = _command(words)
        sys.stdout.flush()
        sys.stderr.flush()
        ended = orjson.dumps([code, watch.taken()])
        (folder / f"{number}.ended").write_bytes(ended)
    (folder / "modules").write_text("\n".join(sys.modules.keys() - known))
    left = [path.name for path in temporary.iterdir()]
    assert not left, f"left behind: {left}"


def _drop_privileges() -> None:
    """Give up what root may do: a file without rights is to be one for root too."""
    # Version 3 of the kernel's interface takes two words of each set; pid 0 is this process.
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    ctypes.CDLL(None).capset(ctypes.byref(header), ctypes.byref(nothing))


def _no_complaint(*_: object) -> None:
    """Whatever tables a file has."""


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    loop_cpu_s()  # measured here, once; children have it
    for path in sys.argv[1:]:
        if not path.startswith("--"):
            row_of(Path(path))
    if "--any-schema" in sys.argv:
        setattr(sqlite_file, "_unlike", _no_complaint)  # noqa: B010  # private, and switched off on purpose
    for line in sys.stdin.buffer:
        folder, commands = json.loads(line)
        child = os.fork()
        if not child:
            code = 1
            try:
                _child(Path(folder), commands)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        _, status, used = os.wait4(child, 0)
        _learn(Path(folder, "modules"))
        # Linux counts kilobytes.
        answer = {"code": os.waitstatus_to_exitcode(status), "memory": used.ru_maxrss * 1024}
        answers.write(orjson.dumps(answer) + b"\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
