"""The shape of the code: rooms of a market, who may import whom, sizes, docstrings, names that exist."""

from __future__ import annotations

import ast
import importlib
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

REPO = Path(__file__).parents[1]
ROOTS = ("mcp_servers", "agent_graphs", "frameworks", "evaluation")
MAX_LINES = 800


class Module(NamedTuple):
    """One source file: its dotted name below `tradefair`, and where it lies."""

    name: str
    path: Path

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    @property
    def full(self) -> str:
        return f"tradefair.{self.name}"

    @property
    def tree(self) -> ast.Module:
        return _parsed(self.path)

    def exports_by_name(self) -> bool:
        assigned = [node.targets for node in self.tree.body if isinstance(node, ast.Assign)]
        assigned += [[node.target] for node in self.tree.body if isinstance(node, ast.AnnAssign)]
        return any(isinstance(target, ast.Name) and target.id == "__all__" for group in assigned for target in group)

    def imports(self) -> Iterator[str]:
        """Every module that is imported anywhere in the file, for type checkers too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


PYPROJECT: dict[str, Any] = tomllib.loads((REPO / "pyproject.toml").read_text())
MARKETS = sorted(PYPROJECT["project"]["entry-points"]["tradefair.markets"])
SUB_ROOMS = {"engine", "answers", "seats", "data", "analysis.py", "state.py", "plans"}
"""What a market has besides the common rooms where it needs it; there are no others."""
UNFINISHED = {"retail": {"records.py"}, "supply_chain": {"records.py"}, "marketplace": {"records.py"}}


def _modules() -> list[Module]:
    """All source files."""
    found: list[Module] = []
    for root in ROOTS:
        base = REPO / root / "tradefair"
        for path in sorted(base.rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            found.append(Module(".".join(part for part in parts if part != "__init__"), path))
    return found


MODULES = _modules()

each_module = pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)


# --- rooms of a market ----------------------------------------------------------------------------------------------

COMMON_ROOMS = {
    "__init__.py", "model.py", "rules.py", "views.py", "tools.py", "policies.py", "scenarios", "README.md", "py.typed",
}  # fmt: skip


@pytest.mark.parametrize("market", MARKETS)
def test_a_market_has_the_same_rooms_as_its_sisters(market: str) -> None:
    folder = REPO / "mcp_servers" / "tradefair" / market
    rooms = {item.name for item in folder.iterdir() if item.name != "__pycache__"}
    assert rooms >= COMMON_ROOMS - {"py.typed"}
    assert rooms - COMMON_ROOMS - SUB_ROOMS <= UNFINISHED.get(market, set())
    assert list((folder / "scenarios").glob("*.toml"))


@pytest.mark.parametrize("market", MARKETS)
def test_a_market_package_exports_its_market_and_nothing_else(market: str) -> None:
    package = importlib.import_module(f"tradefair.{market}")
    assert package.__all__ == ["MARKET"]
    assert package.MARKET.name == market


# --- who may import whom (architecture §1) --------------------------------------------------------------------------

PLAIN = {"pydantic", "orjson"}
# What decides for a seat, or turns the rules into tools; rules never need it.
UPPER_ROOMS = {"tools", "policies", "seats"}


class Allowed(NamedTuple):
    """Sister packages and outside distributions that a package may import."""

    sisters: frozenset[str]
    outside: frozenset[str]


def _allowed(sisters: str, outside: str = "") -> Allowed:
    return Allowed(frozenset(sisters.split()), frozenset(outside.split()) | PLAIN)


MARKET = _allowed("contract trading", "numpy")
PACKAGES = {
    "contract": _allowed(""),
    "tracestore": _allowed("contract", "zstandard psycopg"),
    "trading": _allowed("contract", "numpy"),
    "catalog": _allowed("contract cli", "typer rich"),
    "host": _allowed(
        "contract tracestore catalog cli",
        "mcp aiosqlite anyio starlette uvicorn httpx2 pydantic_monty typer rich psycopg numpy opentelemetry",
    ),
    "testing": _allowed("contract tracestore catalog host", "mcp"),
    "agents": _allowed("contract", "mcp langchain_core langgraph"),
    # typer: `draw-agent` shows what is compiled here.
    "frameworks": _allowed(
        "contract agents",
        "mcp langchain_core langgraph openai agents pydantic_ai langchain starlette uvicorn httpx2 typer",
    ),
    # `play` ends with a scored summary: the runner hands finished traces to evaluation, never the other way.
    "runner": _allowed(
        "contract tracestore catalog host agents frameworks evaluation cli", "mcp typer rich ray yaml numpy"
    ),
    "evaluation": _allowed(
        "contract tracestore catalog trading cli",
        # starlette, uvicorn, anyio: the viewer is a small web server of its own, and host is a layer that plays.
        "numpy typer rich duckdb scipy yaml zstandard opentelemetry trueskill glicko2 choix starlette uvicorn anyio",
    ),
    "cli": _allowed("contract", "typer rich"),
    **dict.fromkeys(MARKETS, MARKET),
    # yaml: the public data sets are YAML files.
    "marketplace": _allowed("contract trading", "numpy yaml"),
}
# What the table above does not say: (importing module, imported module) -> reason.
DEVIATIONS: dict[tuple[str, str], str] = {}


def _permits(module: Module, target: str) -> bool:
    """Whether `module` may import `tradefair.<target>`."""
    package, _, room = target.partition(".")
    own = module.package
    if (module.name, target) in DEVIATIONS:
        return True
    if own in MARKETS:
        here = module.name.partition(".")[2]
        if package == own:
            return here.partition(".")[0] in {"", *UPPER_ROOMS} or room.partition(".")[0] not in UPPER_ROOMS
    elif own == "evaluation" and package in MARKETS:
        # Rules and views, so that outcomes and diagnostics are made of the same records; never tools or policies.
        return room.partition(".")[0] not in {"", *UPPER_ROOMS}
    return package == own or package in PACKAGES[own].sisters


@each_module
def test_a_module_imports_only_what_its_layer_may(module: Module) -> None:
    foreign: list[str] = []
    for name in module.imports():
        root, _, target = name.partition(".")
        if root == "tradefair":
            if not _permits(module, target):
                foreign.append(name)
        elif root not in sys.stdlib_module_names and root not in PACKAGES[module.package].outside:
            foreign.append(name)
    assert foreign == []


def test_every_package_has_a_layer() -> None:
    assert {module.package for module in MODULES} <= set(PACKAGES)


def test_no_deviation_is_listed_that_is_none() -> None:
    known = {(module.name, name.partition(".")[2]) for module in MODULES for name in module.imports()}
    assert set(DEVIATIONS) <= known


def test_the_import_rules_can_fail() -> None:
    """The checks above on imports that are wrong."""
    rules = Module("double_auction.rules", Path())
    assert not _permits(rules, "double_auction.policies")
    assert not _permits(rules, "host.episode")
    assert not _permits(rules, "retail.model")
    assert _permits(rules, "trading.clearing")
    assert not _permits(Module("evaluation.markets.x", Path()), "double_auction.tools")
    assert not _permits(Module("agents.react", Path()), "double_auction.model")
    assert not _permits(Module("host.episode", Path()), "double_auction")
    assert not _permits(Module("contract.core", Path()), "host.log")


# --- rules are pure -------------------------------------------------------------------------------------------------

IMPURE = {
    "asyncio", "concurrent", "http", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil",
    "socket", "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "hash"}
PURE_PACKAGES = {"trading", *MARKETS}
PURITY_DEVIATIONS = {
    ("trading.chance", "random"): "public game logs drew from random.Random(seed); re-executing them needs the same",
    ("trading.user_files", "pathlib"): "reads what loaders of users' files name",
    ("retail.data.dominicks", "pathlib"): "a loader reads files",
    ("retail.data.dominicks_files", "pathlib"): "a loader reads files",
    ("retail.data.generator", "read_text"): "the bundled tables of the package: constants, as good as code",
    ("supply_chain.data.bundled", "read_text"): "the bundled texts of the package: constants, as good as code",
    ("supply_chain.data.data_source", "pathlib"): "reads the files that a scenario names",
    ("supply_chain.data.data_report", "pathlib"): "looks for the files of a folder",
    ("marketplace.data.loader", "pathlib"): "a loader reads files",
    ("marketplace.data.data_source", "pathlib"): "finds the folder that the loader reads",
    ("marketplace.data.generator", "read_text"): "the bundled words of the package: constants, as good as code",
}
pure_module = pytest.mark.parametrize(
    "module", [module for module in MODULES if module.package in PURE_PACKAGES], ids=lambda module: module.name
)


@pure_module
def test_rules_take_nothing_from_outside(module: Module) -> None:
    roots = {name.partition(".")[0] for name in module.imports()}
    assert {root for root in roots & IMPURE if (module.name, root) not in PURITY_DEVIATIONS} == set()


@pure_module
def test_rules_ask_no_clock_hash_or_file(module: Module) -> None:
    called: set[str] = set()
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                called |= {node.func.id} & IMPURE_CALLS
            elif isinstance(node.func, ast.Attribute):
                called |= {node.func.attr} & {"now", "utcnow", "today", "read_text", "read_bytes", "write_text"}
    assert {name for name in called if (module.name, name) not in PURITY_DEVIATIONS} == set()


# --- the tree -------------------------------------------------------------------------------------------------------


def test_the_namespace_package_has_no_init() -> None:
    assert [str(path) for root in ROOTS for path in (REPO / root).rglob("tradefair/__init__.py")] == []
    assert [root for root in ROOTS if (REPO / root / "__init__.py").exists()] == []


def test_package_names_are_unique_across_roots() -> None:
    names = Counter(
        item.name
        for root in ROOTS
        for item in (REPO / root / "tradefair").iterdir()
        if item.is_dir() and item.name != "__pycache__"
    )
    assert [name for name, count in names.items() if count > 1] == []


@each_module
def test_no_module_is_too_long(module: Module) -> None:
    assert len(module.path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


@each_module
def test_a_module_says_what_it_is(module: Module) -> None:
    assert ast.get_docstring(module.tree), f"{module.full} has no docstring"


@pytest.mark.parametrize(
    "module", [module for module in MODULES if module.exports_by_name()], ids=lambda module: module.name
)
def test_every_exported_name_exists(module: Module) -> None:
    loaded = importlib.import_module(module.full)
    names: list[str] = loaded.__all__
    assert [name for name in names if not hasattr(loaded, name)] == []
    assert len(set(names)) == len(names)


# --- ARCHITECTURE.md ------------------------------------------------------------------------------------------------

_PATH = re.compile(r"`([\w.*<>-]+(?:/[\w.*<>-]+)*/?)`")
_ENDINGS = (".py", ".md", ".toml", ".txt", "/")


def _architecture() -> str:
    path = REPO / "ARCHITECTURE.md"
    if not path.exists():
        pytest.skip("ARCHITECTURE.md is not written yet")
    return path.read_text(encoding="utf-8")


def _exists(name: str) -> bool:
    wanted = re.sub(r"<\w+>", "*", name.rstrip("/"))
    sources = [REPO / root / "tradefair" for root in ROOTS]
    if "/" not in wanted:
        # A room that several packages have: `rules.py`.
        return any(next(place.rglob(wanted), None) is not None for place in (*sources, REPO / "tests")) or (
            next(REPO.glob(wanted), None) is not None
        )
    places = (REPO, *(REPO / root for root in ROOTS), *sources)
    return any(next(place.glob(wanted), None) is not None for place in places)


def test_every_path_that_the_architecture_names_exists() -> None:
    named = {name for name in _PATH.findall(_architecture()) if name.endswith(_ENDINGS)}
    assert named
    # Named because it must not exist.
    assert sorted(name for name in named - {"tradefair/__init__.py"} if not _exists(name)) == []


def test_every_test_that_the_architecture_names_exists() -> None:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (REPO / "tests").rglob("test_*.py"))
    named = set(re.findall(r"\btest_\w+\b(?!\.py)", _architecture()))
    assert sorted(name for name in named if f"def {name}(" not in tests) == []


def test_the_architecture_fits_on_a_few_pages() -> None:
    assert len(_architecture().splitlines()) <= 150


def test_a_path_that_does_not_exist_would_be_noticed() -> None:
    assert _exists("contract/core.py")
    assert _exists("mcp_servers/tradefair/<market>/rules.py")
    assert not _exists("contract/utils.py")
