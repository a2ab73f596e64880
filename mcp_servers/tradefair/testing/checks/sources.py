"""Reads the source of a market: whether its rules are pure, and which error codes they can raise."""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import NamedTuple

from tradefair.contract import MarketType
from tradefair.testing.bench import Bench, Failure
from tradefair.testing.failures import check_once

# ruff would put every name on a line of its own.
# fmt: off
IMPURE_MODULES = frozenset({
    "aiohttp", "asyncio", "atexit", "concurrent", "ctypes", "gc", "getpass", "http", "httpx", "httpx2", "io", "locale",
    "logging", "multiprocessing", "os", "pathlib", "platform", "random", "requests", "secrets", "select", "selectors",
    "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
    "uuid",
})
IMPURE_CALLS = frozenset({
    "__import__", "breakpoint", "compile", "eval", "exec", "hash", "id", "input", "open", "print",
})
# fmt: on
# Found by name alone, on any object: rules have no use for a method of such a name.
IMPURE_METHODS = frozenset({"read_text", "read_bytes", "write_text", "write_bytes"})
# Only on names imported from `datetime`: a market may well have a method `today` of its own.
_CLOCK_METHODS = frozenset({"now", "utcnow", "today"})
# What a market is played by; its own code stops where these begin.
_HOUSE = frozenset({"contract", "trading", "testing", "catalog", "host", "tracestore", "cli"})
# The room `data` of a market holds loaders: they may read files, and nothing else from outside.
_LOADERS_MAY = frozenset({"pathlib", "io", "open", "read_text", "read_bytes"})


class Source(NamedTuple):
    """One module of a market: its dotted name, where it lies, and its syntax tree."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def imported(self) -> list[tuple[str, str]]:
        """What it imports anywhere: dotted names (leading dots where relative), and the names they get here.

        Imports within functions count as well: they run when the rules do.
        """
        return [found for node in ast.walk(self.tree) for found in _imports(node)]

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @property
    def loads(self) -> bool:
        """Whether it belongs to the room `data`, which reads files."""
        return "data" in self.name.split(".")[1:]


def rules_are_pure(bench: Bench) -> list[Failure]:
    """No module of the market asks a clock, entropy, `hash()`, a file or the network.

    Read are the modules that its rules, tools, scenario and policies come from, and what these import from their own
    package. Loaders in a room called `data` may read files.
    """
    return check_once("rules_are_pure", bench, _impurities)


def _impurities(bench: Bench) -> Iterator[str]:
    for source in sources(bench.market_type, bench):
        for line, text in impurities(source):
            yield f"{source.name}, line {line}: {text}; rules must give the same bytes on every machine"


def impurities(source: Source) -> Iterator[tuple[int, str]]:
    """What a module asks the world outside for: line number and a few words each.

    Found by reading the syntax tree, so what is called through a variable is not seen.
    """
    clocks = {name.rpartition(".")[2] for name, _ in source.imported if name.partition(".")[0] == "datetime"}
    clocks |= {alias for name, alias in source.imported if name.partition(".")[0] == "datetime"}
    for node in ast.walk(source.tree):
        for name, text in _asked(node, clocks):
            if not (source.loads and name in _LOADERS_MAY):
                yield getattr(node, "lineno", 1), text


def _asked(node: ast.AST, clocks: Collection[str]) -> Iterator[tuple[str, str]]:
    for module, _ in _imports(node):
        root = module.partition(".")[0]
        if root in IMPURE_MODULES:
            yield root, f"imports {root}"
        elif module.startswith("numpy.random"):
            yield module, "draws from numpy.random and not from Chance"
    if isinstance(node, ast.Attribute) and node.attr == "random" and _leftmost(node) in ("np", "numpy"):
        yield "numpy.random", "draws from numpy.random and not from Chance"
    elif isinstance(node, ast.Call):
        called = node.func
        if isinstance(called, ast.Name) and called.id in IMPURE_CALLS:
            yield called.id, f"calls {called.id}()"
        elif isinstance(called, ast.Attribute):
            clock = called.attr in _CLOCK_METHODS and _leftmost(called) in clocks
            if clock or called.attr in IMPURE_METHODS:
                yield called.attr, f"calls .{called.attr}()"


def _imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """The dotted names that a statement imports, with the names they get; `from a import b` counts as `a.b`."""
    if isinstance(node, ast.Import):
        yield from ((alias.name, alias.asname or alias.name) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        # `from . import a` counts as ".a", which `resolve_name` understands.
        base = "." * node.level + (node.module or "")
        dot = "" if base.endswith(".") else "."
        yield from ((f"{base}{dot}{alias.name}", alias.asname or alias.name) for alias in node.names)
    elif isinstance(node, ast.Call) and _called(node) == "import_module":
        yield from ((str(name.value), "") for name in node.args if isinstance(name, ast.Constant))


def _called(node: ast.Call) -> str:
    """The last name of what is called: `b` of `a.b()`."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _leftmost(node: ast.expr) -> str:
    """The first name of a dotted expression: `a` of `a.b.c`; "" where it is none."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


# --- which modules are a market's ---------------------------------------------------------------------------------


def sources(market_type: MarketType, bench: Bench) -> list[Source]:
    """The modules that a market is made of, in order of name: those of its parts, and what they import of their own.

    An evaluator in the same package is not among them: the rules do not import it.
    """
    parts: list[object] = [type(market_type), market_type.scenario_model]
    parts += [type(played.core.market) for played in bench.played[:1]]
    parts += [tool.function for tool in market_type.tools.values()]
    # Policies are often partials; the function behind it tells the module.
    parts += [getattr(spec.make, "func", spec.make) for spec in market_type.policies.values()]
    return _with_imports({str(getattr(part, "__module__", "")) for part in parts})


def _with_imports(names: Iterable[str]) -> list[Source]:
    """The modules of these names and all they import from the same package, by name."""
    found: dict[str, Source] = {}
    waiting = sorted(names)
    while waiting:
        name = waiting.pop()
        source = None if name in found or not _root(name) else _source(name)
        if source is None:
            continue
        found[name] = source
        # `from a import b` names the module a.b, or something in a; what is no module has no source.
        modules = {resolve_name(module, source.package) for module, _ in source.imported}
        modules |= {module.rpartition(".")[0] for module in modules}
        waiting += sorted(module for module in modules if _root(module) == _root(name))
    return [found[name] for name in sorted(found)]


def _root(module: str) -> str:
    """The market's package that a module belongs to; empty for tradefair's own machinery."""
    first, _, rest = module.partition(".")
    if first != "tradefair":
        return first
    second = rest.partition(".")[0]
    return "" if second in _HOUSE else f"{first}.{second}"


@cache
def _source(name: str) -> Source | None:
    """Name, path and syntax tree of a module; None where it has no Python source that can be read."""
    try:
        # `find_spec` raises for a loaded module that has no spec.
        loaded = sys.modules.get(name)
        spec = find_spec(name) if loaded is None else None
        file = getattr(loaded, "__file__", None) if spec is None else spec.origin
        path = Path(file or "")
        return Source(name, path, ast.parse(path.read_text(encoding="utf-8"))) if path.suffix == ".py" else None
    except (ImportError, OSError, SyntaxError, ValueError):
        return None


# --- error codes --------------------------------------------------------------------------------------------------


def raised_codes(source: Source) -> Iterator[tuple[int, str]]:
    """Line number and code of every `IllegalAction("code", …)` that names its code as text.

    A code that is computed cannot be seen here; it is met when a call is refused with it.
    """
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and node.args and _called(node) == "IllegalAction":
            code = node.args[0]
            if isinstance(code, ast.Constant) and isinstance(code.value, str):
                yield node.lineno, code.value
