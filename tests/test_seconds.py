"""No test knows how fast the machine is: seconds stand in `tests/waiting.py` only.

A test waits with `until`, gives the product `SOON` for a deadline that is to pass and `LONG` for one that is not, and
bounds speed by counts or by loops of the same process. The rule reads syntax, so it does not see what a child process
is given as text. Settings of a product (`ttl_s=60`) may be numbers from half a minute on: those do not pass by chance.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source_code import REPO

WAITING = REPO / "tests" / "waiting.py"
SHORT = 30
_CLOCKS = {name + unit for name in ("monotonic", "perf_counter", "process_time", "thread_time") for unit in ("", "_ns")}
# Those that take a time as their first argument, and as their second.
_FIRST = {"wait", "join", "communicate", "settimeout", "timeout", "fail_after", "move_on_after", "result", "alarm"} | {
    "deadline_passed",
    "Timer",
}
_SECOND = {"wait_for", "wait", "to_thread"}
_SLEEPS = {"sleep", "wait_for_timeout"}
_BOUND = re.compile(r"(_s|_seconds|_timeout)$", re.IGNORECASE)
_SETTING = re.compile(r"(deadline|timeout|idle|linger|drain|wait|patience|head|ttl|tick|pause)\w*_(s|seconds)$")


def _is_number(node: ast.AST | None) -> bool:
    """Whether an expression is a literal number above 0, or arithmetic on such."""
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return value != 0
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case _:
            return False


def _is_short(node: ast.AST | None) -> bool:
    """Whether it is a number of seconds that may pass by chance: less than a thousandth always does."""
    return isinstance(node, ast.Constant) and _is_number(node) and 0.001 <= float(str(node.value)) < SHORT


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _is_clock(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and _called(node) in {"time", "time_ns", *_CLOCKS}


def _of_call(node: ast.Call) -> Iterator[str]:
    name = _called(node)
    first, second = [*node.args, None, None][:2]
    if name in _SLEEPS and not (isinstance(first, ast.Constant) and first.value == 0):
        yield "sleeps"
    elif name in _CLOCKS:
        yield "asks a clock"
    elif (name in _FIRST and _is_number(first)) or (name in _SECOND and _is_number(second)):
        yield f"{name} with a number of seconds"
    elif name == "setattr" and _is_number(node.args[-1]):
        named = [part.value for part in node.args[:-1] if isinstance(part, ast.Constant)]
        yield from (f"{text} is set to seconds" for text in named if str(text).endswith("_S"))
    for keyword in node.keywords:
        given = keyword.arg or ""
        if given == "timeout" and _is_number(keyword.value):
            yield "timeout is a number of seconds"
        elif _SETTING.search(given) and _is_short(keyword.value):
            yield f"{given} is less than half a minute"
        elif (name, given) == ("settings", "deadline") and getattr(keyword.value, "value", 0) is not None:
            yield "an example has a deadline"


def _of_statement(node: ast.AST) -> Iterator[str]:
    match node:
        case (
            ast.Assign(targets=[ast.Name(id=name)], value=value) | ast.AnnAssign(target=ast.Name(id=name), value=value)
        ):
            pairs = [(name, value)]
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            # With a star on one side they are not as many.
            pairs = [(getattr(name, "id", ""), value) for name, value in zip(names, values, strict=False)]
        case ast.FunctionDef(args=given) | ast.AsyncFunctionDef(args=given):
            named = [*given.posonlyargs, *given.args]
            named = named[len(named) - len(given.defaults) :]
            pairs = [(argument.arg, value) for argument, value in zip(named, given.defaults, strict=True)]
            pairs += [
                (argument.arg, value) for argument, value in zip(given.kwonlyargs, given.kw_defaults, strict=True)
            ]
        case _:
            return
    yield from (f"{name} is a number of seconds" for name, value in pairs if _BOUND.search(name) and _is_number(value))


def _of_dictionary(node: ast.Dict) -> Iterator[str]:
    for key, value in zip(node.keys, node.values, strict=True):
        if isinstance(key, ast.Constant) and _SETTING.search(str(key.value)) and _is_short(value):
            yield f"{key.value} is less than half a minute"


def _of_comparison(node: ast.Compare) -> Iterator[str]:
    sides = [node.left, *node.comparators]
    parts = [part for side in sides for part in ([side.left, side.right] if isinstance(side, ast.BinOp) else [side])]
    timed = any(_is_clock(part) or getattr(part, "attr", "") in {"elapsed", "wall_seconds"} for part in parts)
    ordered = any(isinstance(sign, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for sign in node.ops)
    if timed and ordered and any(_is_number(part) for part in parts):
        yield "compares a time with seconds"


def seconds(text: str) -> list[str]:
    """Where a test file names seconds: line, and what is there."""
    found: set[tuple[int, str]] = set()
    for node in ast.walk(ast.parse(text)):
        said: list[str] = []
        match node:
            case ast.Call():
                said = [*_of_call(node)]
            case ast.Compare():
                said = [*_of_comparison(node)]
            case ast.Dict():
                said = [*_of_dictionary(node)]
            case _:
                said = [*_of_statement(node)]
        found |= {(getattr(node, "lineno", 0), what) for what in said}
    return [f"{line}: {what}" for line, what in sorted(found)]


def files_of_tests() -> list[Path]:
    """Every Python file of tests, those of hub packages too."""
    return sorted([*(REPO / "tests").rglob("*.py"), *REPO.glob("environments/*/tests/**/*.py")])


OFFENDERS = """
import asyncio, subprocess, time
BOUND_S = 60
LIMIT, WALL_SECONDS = 4, 1.5
def wait_for_it(timeout_s: float = 5): ...
time.sleep(0.3)
await asyncio.sleep(pause)
page.wait_for_timeout(50)
process.wait(30)
thread.join(2 * 5)
threading.Timer(0.1, go.set).start()
await asyncio.wait_for(answer, 5)
await asyncio.to_thread(event.wait, 10)
process.communicate(timeout=60)
async with asyncio.timeout(20): ...
until = time.monotonic() + BOUND
assert asked.elapsed < 2
assert time.time() - begun < 1.5
assert loop.time() > begun + 2
plane(stage, idle_s=0.4)
pie(**{"timing.decision_deadline_s": 0.2})
monkeypatch.setattr(oauth, "_ASK_S", 0.2)
settings(max_examples=4, deadline=200)
"""
OTHERS = """
import asyncio, time
from tests.waiting import LONG, SOON, until
await asyncio.sleep(0)
process.wait(LONG)
process.communicate(timeout=2 * LONG)
assert event.wait(timeout=LONG)
content = {"exp": int(time.time()) + LONG, "ttl_s": 60}
pie(**{"timing.decision_deadline_s": 20 * SOON}, idle_s=0, ttl_s=3_600)
Quotas(calls_per_s=2, wall_time_s=1e-9)
", ".join(names)
assert found.result(name) == 3
assert outcome.wall_seconds is not None
assert before + 20 * LONG <= loop.time()
settings(max_examples=4, deadline=None)
"""


def test_a_test_that_names_seconds_is_listed_and_no_other() -> None:
    lines = OFFENDERS.strip("\n").splitlines()
    found = [int(offender.partition(":")[0]) - 1 for offender in seconds(OFFENDERS)]
    assert found == list(range(2, len(lines) + 1))
    assert seconds(OTHERS) == []


def test_no_test_names_seconds() -> None:
    named = [path for path in files_of_tests() if path != WAITING]
    offenders = [
        f"{path.relative_to(REPO)}:{offender}"
        for path in named
        for offender in seconds(path.read_text(encoding="utf-8"))
    ]
    if offenders:
        where = "see tests/waiting.py for what to wait with, and how long a deadline is to be"
        pytest.fail("\n".join([*offenders, where]), pytrace=False)
