"""The kind of each test, which follows from what it does: it is never written down where code says it already.

A test that starts a process is of the kind `process`, one that opens a socket `network`, one in a browser `browser`;
one that begins more than 30 episodes or sets more than 40 examples is `many`; all others are `unit`. What a test does
is read from the names in its code, in its fixtures and in the helpers that they call. Where only the product starts the
process, the test says so with the mark of its kind, and a fixture with `of_kind`. `Watch` fails a test that does more
than its kind says.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import pytest

from tradefair.contract.kernel.core import Core

MOST_EXAMPLES, MOST_EPISODES = 40, 30
# Later kinds cost more and depend on more: a test is of the last one that fits.
ORDER = ("unit", "many", "process", "network", "browser", "interop", "model")
# What a test of a kind uses: modules, and names of functions of other modules.
_MODULES: Mapping[str, str] = {
    **dict.fromkeys(("subprocess", "multiprocessing", "pty", "tradefair.testing.checks.processes"), "process"),
    **dict.fromkeys(("socket", "socketserver", "http.server", "http.client", "urllib.request", "uvicorn"), "network"),
    **dict.fromkeys(("playwright", "playwright.sync_api"), "browser"),
}
_FUNCTIONS: Mapping[str, str] = {
    **dict.fromkeys(("create_subprocess_exec", "create_subprocess_shell", "ProcessPoolExecutor"), "process"),
    **dict.fromkeys(("start_server", "open_connection", "create_server", "streamable_http_client"), "network"),
    **dict.fromkeys(("HTTPConnection", "HTTPServer", "ThreadingHTTPServer", "urlopen"), "network"),
    # The product's own servers.
    **dict.fromkeys(("ViewerServer", "open_address"), "network"),
}
# Packages beside the product whose helpers are read, too.
_OURS = ("tests", "release", "benchmarks", "docs")


_Function = TypeVar("_Function", bound=Callable[..., Any])


def of_kind(kind: str) -> Callable[[_Function], _Function]:
    """Say of a fixture, below `pytest.fixture`, or of a helper that whoever uses it is of this kind."""

    def marked(function: _Function) -> _Function:
        vars(function)["kind"] = kind
        return function

    return marked


def kind_of(item: pytest.Item) -> str:
    """The kind of a test: the last one in ORDER of those that it is marked with and those that its code shows."""
    kinds = {mark.name for mark in item.iter_markers() if mark.name in ORDER}
    function = getattr(item, "function", None)
    if function is None:
        return max(kinds, key=ORDER.index, default="unit")
    settings = getattr(function, "_hypothesis_internal_use_settings", None)
    if settings is not None and settings.max_examples > MOST_EXAMPLES:
        kinds.add("many")
    return max(kinds | _shown(item, function), key=ORDER.index, default="unit")


def _shown(item: pytest.Item, function: Any) -> set[str]:
    info: Any = vars(item)["_fixtureinfo"]
    fixtures: Mapping[str, Sequence[Any]] = info.name2fixturedefs
    used = [definition.func for definitions in fixtures.values() for definition in definitions]
    # Under hypothesis a test is wrapped; its own body is inside.
    inner = getattr(getattr(function, "hypothesis", None), "inner_test", function)
    return {kind for start in (inner, *used) for kind in kinds_in(start)}


_reached: dict[int, frozenset[str]] = {}


def kinds_in(start: Any) -> frozenset[str]:
    """The kinds whose signs stand in a function or class, or in what it uses of `tests`."""
    if id(start) not in _reached:
        todo, seen, found = [start], set[int](), set[str]()
        while todo:
            value = todo.pop()
            if id(value) not in seen:
                seen.add(id(value))
                found |= {kind for kind in [getattr(value, "kind", None)] if kind in ORDER}
                for name, used in _names(value):
                    module = _module(used)
                    found |= {kind for kind in (_FUNCTIONS.get(name), _MODULES.get(module)) if kind}
                    if _is_ours(module) and not isinstance(used, ModuleType):
                        todo.append(used)
        _reached[id(start)] = frozenset(found)
    return _reached[id(start)]


def _names(value: Any) -> Iterator[tuple[str, Any]]:
    """What the code of a function, or of the methods of a class, names: each with what its module means by it."""
    functions = [value]
    if isinstance(value, type):
        functions = [inspect.unwrap(getattr(member, "fget", None) or member) for member in vars(value).values()]
        for base in value.__bases__:
            yield base.__name__, base
    for function in functions:
        function = inspect.unwrap(getattr(function, "__func__", getattr(function, "func", function)))
        if isinstance(function, FunctionType):
            names = [*_named_by(function.__code__)]
            values = [function.__globals__.get(name) for name in names]
            yield from zip(names, values, strict=True)
            modules = [value for value in values if isinstance(value, ModuleType) and _is_ours(value.__name__)]
            yield from ((name, getattr(module, name, None)) for module in modules for name in names)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] in _OURS


def _named_by(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _named_by(constant)


def _module(value: Any) -> str:
    """The module that a value is, or comes from; no value has none."""
    return value.__name__ if isinstance(value, ModuleType) else str(getattr(value, "__module__", None) or "")


def mark_kinds(items: Sequence[pytest.Item]) -> None:
    """Give each test the mark of its kind. Raises UsageError about a mark that says less than the code shows."""
    wrong: list[str] = []
    for item in items:
        kind = kind_of(item)
        lower = [mark.name for mark in item.iter_markers() if mark.name in ORDER and mark.name != kind]
        wrong += [f"{item.nodeid} is marked {name}, but it is of the kind {kind}: unmark it" for name in lower]
        item.add_marker(kind)
    if wrong:
        raise pytest.UsageError("\n".join(wrong))


class Watch:
    """Fails a test of the kind `unit` or `many` that starts a process or opens a socket, and one that plays too much.

    Python itself reports what a test does, wherever in the product it is done (PEP 578).
    """

    _EVENTS: Mapping[str, str] = {
        **dict.fromkeys(("subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"), "process"),
        **dict.fromkeys(("socket.connect", "socket.bind"), "network"),
    }

    def __init__(self) -> None:
        self._done: dict[str, int] | None = None
        # urllib3 binds a socket when it is imported, to see whether there is IPv6: no test does.
        with suppress(ImportError):
            import_module("urllib3.util.connection")
        sys.addaudithook(self._hear)
        start = Core.start

        def counted(core: Core, *given: Any, **named: Any) -> Any:
            # Here: a plugin that another one imports is not rewritten.
            if not import_module("tests.traces").MADE:
                self._count("episodes")
            return start(core, *given, **named)

        setattr(Core, start.__name__, counted)

    def _hear(self, event: str, _: Any) -> None:
        if event in self._EVENTS:
            self._count(self._EVENTS[event])

    def _count(self, what: str) -> None:
        if self._done is not None:
            self._done[what] = self._done.get(what, 0) + 1

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        """Begin to count with each test, its fixtures included."""
        self._done = {}
        try:
            return (yield)
        finally:
            self._done = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        """Forget what fixtures played: it is shared by tests, and whoever comes first is not to blame."""
        if self._done is not None:
            self._done.pop("episodes", None)
        return (yield)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Fail a test that has done more than its kind says."""
        result = yield
        done = self._done or {}
        problem = _more_than(kind_of(item), done)
        if problem:
            pytest.fail(problem, pytrace=False)
        return result


def _more_than(kind: str, done: Mapping[str, int]) -> str:
    """What a test of this kind has done that it may not do, and what to do about it."""
    if kind in ("unit", "many"):
        for does, words in (("network", "opens a socket"), ("process", "starts a process")):
            if does in done:
                return f"this test of the kind {kind} {words}: mark it @pytest.mark.{does}"
    if kind == "unit" and done.get("episodes", 0) > MOST_EPISODES:
        return f"this test begins {done['episodes']} episodes, a unit test {MOST_EPISODES}: mark it @pytest.mark.many"
    return ""
