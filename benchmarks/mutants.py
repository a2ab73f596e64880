"""Do the tests of failure modes bite? Small faults are planted into the detectors, one at a time.

`python -m benchmarks.mutants [ROOM …] --sample 150 --seed 1`: a room is a folder of modes; by default all. A mutant
swaps a comparison, an operator, `and` with `or`, drops `not` or a call, or moves a whole number by one. It is killed
when a test of the modes of its room fails. `--only is_raised,_holds` takes all mutants of these functions.
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import os
import random
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
EVALUATION = ROOT / "evaluation" / "tradefair" / "evaluation"
_SECONDS = 60
"""A mutant that takes longer loops for ever: it is killed."""
_SWAPS: dict[type[Any], type[Any]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip


class Mutant(NamedTuple):
    """One fault: the module's file and the line, what was changed, and the number of the change within the file."""

    file: Path
    line: int
    what: str
    number: int


class Fate(NamedTuple):
    """What became of a mutant."""

    mutant: Mutant
    killed: bool


def rooms() -> list[Path]:
    """Every folder of modes that has tests of its own."""
    found = [EVALUATION / "modes", *sorted((EVALUATION / "markets").glob("*/modes"))]
    return [room for room in found if tests_of(room)]


def tests_of(room: Path) -> list[Path]:
    """The tests of a room's modes."""
    inside = room.resolve().relative_to(EVALUATION).parent
    folder = ROOT / "tests" / "evaluation" / inside / ("modes" if inside == Path() else "")
    names = ("test_modes.py", "test_merged.py", "test_table.py", "test_base_rates.py", "test_general.py")
    # Where a room also finds causes, reads real episodes or has figures of conduct, their tests are its own too.
    names += ("test_causes.py", "test_reading.py", "test_failure_modes.py")
    return [*(folder / name for name in names if (folder / name).exists()), *sorted(folder.glob("test_*_stages.py"))]


def mutants_of(file: Path, only: frozenset[str] = frozenset()) -> Iterator[Mutant]:
    """Every fault that can be planted in a file; in the functions `only`, where some are named."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    for number, (node, what, owner) in enumerate(_places(tree)):
        if not only or owner in only:
            yield Mutant(file, node.lineno, f"{owner or 'module'}: {what}", number)


def _places(tree: ast.Module) -> Iterator[tuple[Any, str, str]]:
    """Nodes that can be changed, what the change is, and the function that they stand in; in a fixed order."""
    owners: list[tuple[ast.AST, str]] = [(tree, "")]
    while owners:
        parent, owner = owners.pop(0)
        name = parent.name if isinstance(parent, ast.FunctionDef) else owner
        for field, value in ast.iter_fields(parent):
            # Types, texts and decorators change nothing that a test of behaviour could see.
            if field in ("annotation", "returns", "decorator_list", "format_spec") or isinstance(parent, ast.JoinedStr):
                continue
            held: Any = value
            for node in held if isinstance(held, list) else [held]:  # pyright: ignore[reportUnknownVariableType]
                if isinstance(node, ast.AST):
                    yield from ((node, what, name) for what in _changes(node))
                    owners.append((node, name))


def _changes(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _SWAPS:
            yield f"{type(operator).__name__} to {_SWAPS[type(operator)].__name__}"
        case ast.BinOp(op=operator) | ast.BoolOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in _SWAPS:
            yield f"{type(operator).__name__} to {_SWAPS[type(operator)].__name__}"
        case ast.UnaryOp(op=ast.Not()):
            yield "not dropped"
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield f"{value} to {value + 1}"
        case ast.Expr(value=ast.Call()):
            yield "call dropped"
        case _:
            pass


def mutated(mutant: Mutant) -> str:
    """The source of the module with the fault in it."""
    tree = copy.deepcopy(ast.parse(mutant.file.read_text(encoding="utf-8")))
    node = next(node for number, (node, _, _) in enumerate(_places(tree)) if number == mutant.number)
    match node:
        case ast.Compare():
            node.ops = [_SWAPS[type(node.ops[0])]()]
        case ast.BinOp() | ast.BoolOp() | ast.AugAssign():
            node.op = _SWAPS[type(node.op)]()
        case ast.Constant(value=int() as value):
            node.value = value + 1
        case ast.Expr():
            node.value = ast.Constant(None)
        case _:
            # A `not` over something becomes that something, twice denied.
            node.operand = ast.UnaryOp(ast.Not(), node.operand)
    return ast.unparse(ast.fix_missing_locations(tree))


class _Shadow(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Gives one module from changed source; everything else is found as ever."""

    def __init__(self, name: str, file: Path, source: str) -> None:
        self._name, self._file, self._source = name, file, source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname != self._name:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, origin=str(self._file))

    def get_filename(self, fullname: str) -> str:
        return str(self._file)

    def get_data(self, path: str | bytes) -> bytes:
        # Compiled code of the sound module must not be taken for this one's.
        if str(path).endswith(".pyc"):
            raise OSError(path)
        return self._source.encode()


def survives(mutant: Mutant, tests: Sequence[Path]) -> bool:
    """Whether all tests pass with the fault in place; in a process of its own."""
    process = os.fork()
    if not process:
        signal.alarm(_SECONDS)
        name = ".".join(mutant.file.relative_to(ROOT / "evaluation").with_suffix("").parts)
        sys.meta_path.insert(0, _Shadow(name, mutant.file, mutated(mutant)))
        os._exit(_run(tests))
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0


def _run(tests: Sequence[Path]) -> int:
    import pytest

    os.chdir(ROOT)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        options = ("-q", "-x", "-n", "0", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header")
        return int(pytest.main([*options, *map(str, tests)]))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants", description=__doc__)
    parser.add_argument("room", nargs="*", type=Path, default=None, help="folders of modes; by default all")
    parser.add_argument("--sample", type=int, default=150, help="mutants in all, drawn by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="names of functions, with commas: all their mutants")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args(arguments)
    chosen = [room.resolve() for room in asked.room] or rooms()
    only: frozenset[str] = frozenset(name for name in asked.only.split(",") if name)
    every = [
        (mutant, tests_of(room))
        for room in chosen
        for file in sorted(room.glob("*.py"))
        for mutant in mutants_of(file, only)
    ]
    drawn = every if only else random.Random(asked.seed).sample(every, min(asked.sample, len(every)))
    _warm()
    started = time.monotonic()
    fates = [Fate(mutant, not survives(mutant, tests)) for mutant, tests in drawn]
    _show(fates, len(every), time.monotonic() - started, as_json=asked.json)
    return 0


def _warm() -> None:
    """Load what no mutant changes, so that a forked process has little left to import."""
    for name in ("hypothesis", "pytest", "tradefair.tracestore", "tradefair.contract.kernel.core"):
        importlib.import_module(name)


def _show(fates: Sequence[Fate], of: int, seconds: float, *, as_json: bool) -> None:
    killed = sum(fate.killed for fate in fates)
    left = [(str(m.file.relative_to(ROOT)), m.line, m.what) for m, dead in fates if not dead]
    if as_json:
        share = killed / len(fates) if fates else None
        print(json.dumps({"killed": killed, "of": len(fates), "share": share, "in_all": of, "survivors": left}))
        return
    for file, line, what in left:
        print(f"survived {file}:{line} {what}")
    part = f"{killed / len(fates):.0%}" if fates else "–"
    print(f"killed {killed} of {len(fates)} mutants ({part}), drawn from {of}; {seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
