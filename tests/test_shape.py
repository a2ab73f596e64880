"""The shape of the code: rooms of a market, who may import whom, sizes, names.

Each rule is a function from modules to a list of offenders. Its test first gives it planted modules, of which it must
find the wrong ones and no others, then all modules of the project, of which it must find none.
"""

from __future__ import annotations

import importlib
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest

from tests.budgets import BUDGETS, MOST_BRANCHES, Row, faults, functions_over, rows_in, sizes
from tests.rooms import arrows_into_wings, high_rooms
from tests.source_code import (
    REPO,
    ROOTS,
    Module,
    all_modules,
    circles,
    import_graph,
    imported_modules,
    modules_of_tests,
)
from tradefair.testing.checks.sources import IMPURE_CALLS as IMPURE_FUNCTIONS
from tradefair.testing.checks.sources import IMPURE_METHODS, IMPURE_MODULES

MODULES = all_modules()
KNOWN = frozenset(module.name for module in MODULES)
PYPROJECT: dict[str, Any] = tomllib.loads((REPO / "pyproject.toml").read_text())
MARKETS = sorted(PYPROJECT["project"]["entry-points"]["tradefair.markets"])

Rule: TypeAlias = Callable[[Sequence[Module]], list[str]]


def expect_none(offenders: Collection[str]) -> None:
    if offenders:
        pytest.fail("\n".join(sorted(offenders)), pytrace=False)


def expect_no_offender(rule: Rule, *, planted: Sequence[Module], found: Sequence[str]) -> None:
    assert rule(planted) == list(found)
    expect_none(rule(MODULES))


def importing(name: str, *statements: str, face: bool = False) -> Module:
    """A planted module with these import statements."""
    return Module(name, "\n".join(['"""A module."""', *statements]), face=face)


# --- no excuses -----------------------------------------------------------------------------------------------------

SHAPE_TESTS = ("tests/test_shape*.py", "tests/*budgets.py", "tests/source_code.py", "tests/release/test_commits.py")
EXCUSE = re.compile("xfail|skip|skipif|importorskip|applymarker|add_marker")


def excused(modules: Sequence[Module]) -> list[str]:
    """Where a test is expected to fail or left out: a rule that may be broken holds nothing."""
    return [
        f"{module.name}:{line} {name}: no rule of shape may be excused; mend what breaks it"
        for module in modules
        for line, name in module.words()
        if EXCUSE.fullmatch(name)
    ]


def test_no_rule_of_shape_may_fail() -> None:
    planted = [
        Module("tests.test_shape", "@pytest.mark.xfail(reason='later')\ndef test_sizes() -> None:\n    sizes()\n"),
        Module("tests.source_code", "from pytest import skip\nskip('not here')\n"),
        Module("tests.budgets", "request.node.add_marker('xfail')\nskipped = 'skip is a word'\n"),
    ]
    advice = "no rule of shape may be excused; mend what breaks it"
    found = [
        "test_shape:1 xfail",
        "source_code:1 skip",
        "source_code:2 skip",
        "budgets:1 add_marker",
        "budgets:1 xfail",
    ]
    assert excused(planted) == [f"tests.{name}: {advice}" for name in found]
    paths = sorted({path for pattern in SHAPE_TESTS for path in REPO.glob(pattern)})
    assert len(paths) >= len(SHAPE_TESTS)
    expect_none(excused([Module(path.stem, path.read_text(encoding="utf-8")) for path in paths]))


# --- rooms of a market ----------------------------------------------------------------------------------------------


class Rooms(NamedTuple):
    """File and folder names: those that a market must have, and those that it may have besides."""

    needed: frozenset[str]
    further: frozenset[str]


def _rooms(needed: str, further: str = "") -> Rooms:
    return Rooms(frozenset(needed.split()), frozenset(further.split()))


SERVER_ROOMS = _rooms(
    "__init__.py model.py rules.py views.py tools.py policies.py listing.toml scenarios README.md",
    "state.py engine answers analysis.py seats data plans py.typed",
)
EVALUATION_ROOMS = _rooms("__init__.py evaluator.py outcomes.py charts.py insight.py modes")
SMALL_MARKETS = {"teaching": _rooms("__init__.py evaluator.py")}
MODES = _rooms("__init__.py modes.toml evidence.toml")


def _names(folder: Path) -> set[str]:
    return {item.name for item in folder.iterdir() if item.name != "__pycache__"}


def wrong_rooms(market: str, found: Collection[str], rooms: Rooms, *, closed: bool = True) -> list[str]:
    """What `market` lacks and, where no other rooms are allowed (`closed`), what it has too many."""
    offenders = [f"{market} lacks {name}" for name in sorted(rooms.needed - set(found))]
    if closed:
        offenders += [f"{market} has {name}" for name in sorted(set(found) - rooms.needed - rooms.further)]
    return offenders


def test_a_market_has_the_same_rooms_as_its_sisters() -> None:
    planted = (SERVER_ROOMS.needed | {"engine", "helpers.py"}) - {"views.py"}
    assert wrong_rooms("planted", planted, SERVER_ROOMS) == ["planted lacks views.py", "planted has helpers.py"]
    offenders: list[str] = []
    for market in MARKETS:
        folder = REPO / "mcp_servers" / "tradefair" / market
        offenders += wrong_rooms(market, _names(folder), SERVER_ROOMS)
        offenders += [] if list((folder / "scenarios").glob("*.toml")) else [f"{market} has no scenario"]
    expect_none(offenders)


def test_what_evaluates_a_market_lies_in_the_same_rooms() -> None:
    planted = (EVALUATION_ROOMS.needed | {"profit.py"}) - {"charts.py"}
    assert wrong_rooms("planted", planted, EVALUATION_ROOMS, closed=False) == ["planted lacks charts.py"]
    markets = REPO / "evaluation" / "tradefair" / "evaluation" / "markets"
    offenders: list[str] = []
    for market in MARKETS:
        rooms = SMALL_MARKETS.get(market, EVALUATION_ROOMS)
        offenders += wrong_rooms(market, _names(markets / market), rooms, closed=False)
        if "modes" in rooms.needed:
            offenders += wrong_rooms(f"{market}/modes", _names(markets / market / "modes"), MODES, closed=False)
    expect_none(offenders)


def test_a_market_package_exports_its_market_and_nothing_else() -> None:
    packages = {market: importlib.import_module(f"tradefair.{market}") for market in MARKETS}
    expect_none([market for market, package in packages.items() if package.__all__ != ["MARKET"]])
    expect_none([market for market, package in packages.items() if package.MARKET.name != market])


# --- who may import whom (architecture §1) --------------------------------------------------------------------------

PLAIN = {"pydantic", "orjson", "lazy_loader"}
# What decides for a seat or for a client: the upper floor of a market. What is true, the lower floor, never needs it.
UPPER_FLOOR = {"tools", "policies", "seats"}


class Allowed(NamedTuple):
    """Sister packages and outside distributions that a package may import."""

    sisters: frozenset[str]
    outside: frozenset[str]


def _allowed(sisters: str, outside: str = "") -> Allowed:
    return Allowed(frozenset(sisters.split()), frozenset(outside.split()) | PLAIN)


MARKET = _allowed("contract files trading", "numpy")
PACKAGES = {
    "contract": _allowed(""),
    "files": _allowed("contract"),
    "tracestore": _allowed("contract files", "zstandard psycopg cryptography"),
    # It is ready before a client notices it: no SDK, no pydantic, no event loop for stdio.
    "recording": _allowed("contract files tracestore cli", "httptools typer"),
    "trading": _allowed("contract", "numpy"),
    "catalog": _allowed("contract files cli", "typer rich"),
    "host": _allowed(
        "contract files tracestore catalog cli",
        # yaml, tomlkit: files of clients, into which `config --write` merges a server. jwt: an issuer's access tokens.
        "mcp anyio aiosqlite starlette uvicorn h11 httpx2 jwt pydantic_monty typer rich psycopg numpy opentelemetry "
        "tokenizers tomlkit yaml",
    ),
    # numpy: arrays in a market's state are tampered with like any other numbers.
    "testing": _allowed("contract files tracestore catalog host cli", "mcp typer rich numpy"),
    "agents": _allowed("contract", "mcp langchain_core langgraph"),
    # tracestore: recordings and price tables are opened as all files of strangers are.
    "frameworks": _allowed(
        "contract files agents tracestore cli",
        "mcp langchain_core langgraph langsmith openai agents pydantic_ai langchain starlette uvicorn httpx2",
    ),
    # `play` ends with a scored summary: the runner hands finished traces to evaluation, never the other way.
    # pandas, polars: imported where a user asks for their frames, and never installed by us.
    "api": _allowed("contract files tracestore catalog host runner agents frameworks evaluation", "pandas polars"),
    "runner": _allowed(
        "contract files tracestore catalog host agents frameworks evaluation cli",
        # starlette, anyio: tasks and outcomes are routes of a host's control plane. pytest: the plugin of the gate.
        "mcp typer rich ray yaml numpy starlette anyio pytest",
    ),
    "evaluation": _allowed(
        "contract files tracestore catalog trading cli",
        # starlette, uvicorn, anyio: the viewer is a small web server of its own, and host is a layer that plays.
        "numpy typer rich duckdb yaml zstandard opentelemetry trueskill glicko2 choix starlette uvicorn anyio",
    ),
    # files: the options of a command may stand in one.
    "cli": _allowed("contract files", "typer rich"),
    **dict.fromkeys(MARKETS, MARKET),
    # yaml: the public data sets are YAML files.
    "marketplace": _allowed("contract files trading", "numpy yaml"),
}


def _room_of(module: str) -> str:
    """The market in whose room of `evaluation/markets` a module lies, or nothing."""
    return module.removeprefix("evaluation.markets.").partition(".")[0] if "evaluation.markets." in module else ""


def _permits(importer: str, target: str) -> bool:
    """Whether module `importer` may import module `target`, by the table of packages. Names below `tradefair`."""
    own, package = importer.partition(".")[0], target.partition(".")[0]
    if package == own:
        return True
    if own == "evaluation" and package in MARKETS:
        # Rules and views, so that outcomes and failure modes are made of the same records; never tools or policies.
        return target.split(".")[1:2] not in ([], *([room] for room in UPPER_FLOOR))
    return package in PACKAGES[own].sisters


def _project_imports(modules: Sequence[Module]) -> Iterator[tuple[str, str]]:
    """Importing and imported module, both below `tradefair`; a pair once."""
    for module in modules:
        for name in dict.fromkeys(imported_modules(module, KNOWN)):
            root, _, target = name.partition(".")
            if root == "tradefair":
                yield module.name, target


def foreign_imports(modules: Sequence[Module]) -> list[str]:
    offenders = [f"{name} imports {target}" for name, target in _project_imports(modules) if not _permits(name, target)]
    for module in modules:
        allowed = PACKAGES[module.package].outside | sys.stdlib_module_names | {"tradefair"}
        roots = {entry.module.partition(".")[0] for entry in module.contents.imports}
        offenders += [f"{module.name} imports {root}" for root in sorted(roots - allowed)]
    return offenders


def imports_of_markets(modules: Sequence[Module]) -> list[str]:
    """Imports of a market or of its room of evaluation, by what is neither."""
    offenders: list[str] = []
    for name, target in _project_imports(modules):
        market = _room_of(target) or target.partition(".")[0]
        permitted = market in {name.partition(".")[0], _room_of(name)}
        if market in MARKETS and not permitted:
            offenders.append(f"{name} imports {target}")
    return offenders


def imports_of_the_upper_floor(modules: Sequence[Module]) -> list[str]:
    offenders: list[str] = []
    for name, target in _project_imports(modules):
        market, _, here = name.partition(".")
        package, _, there = target.partition(".")
        below = here and here.partition(".")[0] not in UPPER_FLOOR  # the face of a market stands above both floors
        if market in MARKETS and package == market and below and there.partition(".")[0] in UPPER_FLOOR:
            offenders.append(f"{name} imports {target}")
    return offenders


def test_a_module_imports_only_what_its_layer_may() -> None:
    planted = [
        importing(
            "double_auction.rules", "import tradefair.host.episode.episode", "import httpx2", "import math, pydantic"
        ),
        importing("double_auction.model", "from tradefair.trading.clearing import clear"),
        importing("agents.react", "def late() -> None:", "    from tradefair.double_auction import model"),
        importing("evaluation.markets.double_auction.play", "from tradefair.double_auction import tools, views"),
        importing("contract.kernel.core", "from tradefair.host.episode.log import Log"),
    ]
    found = [
        "double_auction.rules imports host.episode.episode",
        "agents.react imports double_auction.model",
        "evaluation.markets.double_auction.play imports double_auction.tools",
        "contract.kernel.core imports host.episode.log",
        "double_auction.rules imports httpx2",
    ]
    expect_no_offender(foreign_imports, planted=planted, found=found)


def test_only_a_markets_own_room_imports_a_market() -> None:
    planted = [
        importing("evaluation.report.page", "from tradefair.retail.model import Store"),
        importing("evaluation.compare.pairs", "import tradefair.evaluation.markets.retail.outcomes"),
        importing("evaluation.markets.retail.outcomes", "from tradefair.retail.model import Store"),
        importing("evaluation.markets.retail.charts", "from tradefair.evaluation.markets.retail import outcomes"),
        importing("evaluation.markets.retail.insight", "from tradefair.bargaining.model import Deal"),
        importing("evaluation.markets.retail.play", "from tradefair.evaluation.markets.bargaining import outcomes"),
    ]
    found = [
        "evaluation.report.page imports retail.model",
        "evaluation.compare.pairs imports evaluation.markets.retail.outcomes",
        "evaluation.markets.retail.insight imports bargaining.model",
        "evaluation.markets.retail.play imports evaluation.markets.bargaining.outcomes",
    ]
    expect_no_offender(imports_of_markets, planted=planted, found=found)


def test_what_is_true_never_needs_what_decides() -> None:
    planted = [
        importing("double_auction.engine.talk", "from tradefair.double_auction.policies import POLICIES"),
        importing("double_auction.views", "from tradefair.double_auction import seats"),
        importing("double_auction.tools", "from tradefair.double_auction.views import book"),
        importing("double_auction", "from tradefair.double_auction.policies import POLICIES", face=True),
    ]
    found = [
        "double_auction.engine.talk imports double_auction.policies",
        "double_auction.views imports double_auction.seats",
    ]
    expect_no_offender(imports_of_the_upper_floor, planted=planted, found=found)


def test_every_package_has_a_layer() -> None:
    expect_none({module.package for module in MODULES} - set(PACKAGES))


# --- circles --------------------------------------------------------------------------------------------------------


def circles_of_modules(modules: Sequence[Module]) -> list[str]:
    return circles(import_graph(modules))


def circles_of_parts(modules: Sequence[Module]) -> list[str]:
    """Circles among the modules and folders directly below each top-level package. The face is no part.

    Rooms of a market are no parts: their order is that of the two floors, and the generator of its data may use the
    engine that uses its tables.
    """

    def part(name: str) -> str:
        return ".".join(name.split(".")[:2]) if "." in name and name.partition(".")[0] not in MARKETS else ""

    return _circles_between(modules, part, inside=True)


def circles_of_packages(modules: Sequence[Module]) -> list[str]:
    return _circles_between(modules, lambda name: name.partition(".")[0], inside=False)


def _circles_between(modules: Sequence[Module], group_of: Callable[[str], str], *, inside: bool) -> list[str]:
    """Circles among groups of modules; a module of the group "" is left out.

    With `inside`, only arrows within a top-level package count: between packages there is another rule.
    """
    groups: dict[str, set[str]] = {}
    for name, targets in import_graph(modules).items():
        kept = {target for target in targets if not inside or target.partition(".")[0] == name.partition(".")[0]}
        if group_of(name):
            groups.setdefault(group_of(name), set()).update(group_of(target) for target in kept)
    return circles(groups)


def test_no_module_imports_what_imports_it() -> None:
    planted = [
        importing("host.a", "from tradefair.host import b"),
        importing("host.b", "def late() -> None:", "    import tradefair.host.c"),
        importing("host.c", "if TYPE_CHECKING:", "    from tradefair.host.a import A"),
        importing("host.d", "from tradefair.host.a import A"),
        importing("cli", "def main() -> None:", "    import tradefair.cli.shell", face=True),
        importing("cli.shell", "import tradefair.cli"),
        importing("catalog", "import tradefair.catalog.entry", face=True),
        importing("catalog.entry", "import tradefair.catalog"),
    ]
    found = ["catalog, catalog.entry", "host.a, host.b, host.c"]
    expect_no_offender(circles_of_modules, planted=planted, found=found)


def test_no_part_of_a_package_imports_what_imports_it() -> None:
    planted = [
        importing("evaluation.charts.bars", "import tradefair.evaluation.report.page"),
        importing("evaluation.report.page", "import tradefair.evaluation.modes.losses"),
        importing("evaluation.report.other", "import tradefair.evaluation.charts.lines"),
        importing("evaluation.charts.lines"),
        importing("evaluation.modes.losses", "import tradefair.evaluation.modes.judged"),
        importing("evaluation.modes.judged"),
    ]
    expect_no_offender(circles_of_parts, planted=planted, found=["evaluation.charts, evaluation.report"])


def test_no_room_has_more_than_seven_floors() -> None:
    planted = [importing(f"host.doors.a{number}", f"import tradefair.host.doors.a{number + 1}") for number in range(8)]
    planted += [importing("host.doors.a8"), importing("host.doors", "import tradefair.host.doors.a0", face=True)]
    expect_no_offender(high_rooms, planted=planted, found=["host.doors has 9 floors: host.doors.a0"])


def test_nothing_outside_a_wing_imports_it() -> None:
    planted = [
        importing("evaluation.judge.evaluate", "from tradefair.evaluation.foreign.importers import source"),
        importing("evaluation.foreign.importers.source", "import tradefair.recording.messages"),
        importing(
            "evaluation.markets.pricing.evaluator", "import tradefair.evaluation.markets.pricing.collusion.asked"
        ),
        importing("evaluation.markets.pricing.collusion.asked"),
        importing("recording.messages"),
    ]
    found = [
        "evaluation.judge.evaluate imports evaluation.foreign.importers.source",
        "evaluation.markets.pricing.evaluator imports evaluation.markets.pricing.collusion.asked",
    ]
    expect_no_offender(arrows_into_wings, planted=planted, found=found)


def test_no_package_imports_what_stands_on_it() -> None:
    planted = [
        importing("catalog.entry", "import tradefair.contract.kernel.core"),
        importing("contract.kernel.core", "import tradefair.contract.kernel.event"),
        importing("contract.kernel.event", "import tradefair.catalog.look"),
        importing("catalog.look"),
    ]
    expect_no_offender(circles_of_packages, planted=planted, found=["catalog, contract"])


# --- rules are pure -------------------------------------------------------------------------------------------------

# The kit's own lists, and the clock on any object: no market of this house has a method `now` or `today`.
IMPURE = IMPURE_MODULES
IMPURE_CALLS = IMPURE_FUNCTIONS | {f".{name}" for name in (*IMPURE_METHODS, "now", "utcnow", "today")}
PURE_PACKAGES = {"trading", *MARKETS}
PURITY_DEVIATIONS = {
    ("trading.chance", "random"): "public game logs drew from random.Random(seed); re-executing them needs the same",
    ("retail.data.generator", ".read_text"): "the bundled tables of the package: constants, as good as code",
    ("supply_chain.data.bundled", ".read_text"): "the bundled texts of the package: constants, as good as code",
    ("pricing.data.bundled", ".read_text"): "the shipped strategies of the package: constants, as good as code",
    ("supply_chain.data.data_source", "pathlib"): "reads the files that a scenario names",
    ("supply_chain.data.data_report", "pathlib"): "looks for the files of a folder",
    ("marketplace.data.loader", "pathlib"): "a loader reads files",
    ("marketplace.data.data_source", "pathlib"): "finds the folder that the loader reads",
    ("marketplace.data.generator", ".read_text"): "the bundled words of the package: constants, as good as code",
}


def _impurities(modules: Sequence[Module]) -> set[tuple[str, str]]:
    found: set[tuple[str, str]] = set()
    for module in modules:
        if module.package in PURE_PACKAGES:
            roots = {entry.module.partition(".")[0] for entry in module.contents.imports}
            found |= {(module.name, name) for name in (roots & IMPURE) | (module.contents.called & IMPURE_CALLS)}
    return found


def impure_rules(modules: Sequence[Module]) -> list[str]:
    return sorted(f"{module} uses {name}" for module, name in _impurities(modules) - set(PURITY_DEVIATIONS))


def test_rules_take_nothing_from_outside_and_ask_no_clock_hash_or_file() -> None:
    planted = [
        importing("retail.rules", "from os import path", "def day() -> None:", "    date.today()"),
        importing("teaching.rules", "print(open('x'))", "import math", "x = [3].index(3)"),
        importing("host.log", "import os"),
    ]
    found = [
        "retail.rules uses .today",
        "retail.rules uses os",
        "teaching.rules uses open",
        "teaching.rules uses print",
    ]
    expect_no_offender(impure_rules, planted=planted, found=found)


def test_no_impurity_is_excused_that_is_none() -> None:
    expect_none([f"{module} uses {name}" for module, name in set(PURITY_DEVIATIONS) - _impurities(MODULES)])


# --- names ----------------------------------------------------------------------------------------------------------

PRONOUNS = {"one", "each", "it", "thing"}
PROMISED = {"contract": range(20, 46), "evaluation": range(20, 46), "testing": range(10, 21)}
"""How many names a package promises on its face."""
MAX_FILES_OF_ONE_NAME = 3


def modules_without_docstring(modules: Sequence[Module]) -> list[str]:
    return [module.name for module in modules if not module.docstring]


def exports_below_a_face(modules: Sequence[Module]) -> list[str]:
    # A module of the sandbox is a face: `__all__` is what programs may import from it.
    inner = [module for module in modules if not module.face and not module.name.startswith("host.sandbox.modules.")]
    return [module.name for module in inner if module.names_its_exports]


def pronouns_in_loops(modules: Sequence[Module]) -> list[str]:
    return [
        f"{module.name}:{line} {name}"
        for module in modules
        for line, name in sorted(module.contents.loop_variables)
        if name in PRONOUNS
    ]


def too_common_file_names(modules: Sequence[Module]) -> list[str]:
    """File names that more than three modules outside market rooms share."""
    names = Counter(
        module.name.rpartition(".")[2]
        for module in modules
        if not module.face and module.package not in MARKETS and not _room_of(module.name)
    )
    return [f"{name}.py {count} times" for name, count in sorted(names.items()) if count > MAX_FILES_OF_ONE_NAME]


def test_a_module_says_what_it_is() -> None:
    planted = [Module("host.a", "import math\n"), Module("host.b", '"""Says what it is."""\n')]
    expect_no_offender(modules_without_docstring, planted=planted, found=["host.a"])


def test_names_are_promised_by_faces_only() -> None:
    planted = [
        Module("host.a", "__all__: list[str] = []\n"),
        Module("host.b", "__getattr__, __dir__, __all__ = attach()\n"),
        Module("host.c", "def f() -> None:\n    __all__ = 1\n"),
        Module("host", "__all__ = ['Episode']\n", face=True),
    ]
    expect_no_offender(exports_below_a_face, planted=planted, found=["host.a", "host.b"])


def missing_exports(modules: Mapping[str, Any]) -> list[str]:
    """Names of `__all__` that a loaded module does not have, or has twice. A lazy face loads them here."""
    return [
        f"{name}.{export}"
        for name, loaded in modules.items()
        for export, count in Counter[str](loaded.__all__).items()
        if count > 1 or not hasattr(loaded, export)
    ]


def test_every_exported_name_exists() -> None:
    class Planted:
        __all__ = ("__all__", "twice", "twice", "absent")
        twice = 1

    assert missing_exports({"planted": Planted}) == ["planted.twice", "planted.absent"]
    faces = [module.name for module in MODULES if module.face and module.names_its_exports]
    expect_none(missing_exports({name: importlib.import_module(f"tradefair.{name}") for name in faces}))


def test_a_package_promises_a_few_names() -> None:
    offenders: list[str] = []
    for package, numbers in PROMISED.items():
        promised = len(getattr(importlib.import_module(f"tradefair.{package}"), "__all__", ()))
        if promised not in numbers:
            offenders.append(f"{package} promises {promised} names, not {numbers.start} to {numbers.stop - 1}")
    expect_none(offenders)


def test_a_loop_variable_names_the_thing() -> None:
    planted = [
        Module("host.a", "for one in 'ab':\n    pass\nxs = [each for seat, each in ()]\n"),
        Module("host.b", "xs = {seat for seat in () for thing in it}\n"),
    ]
    found = ["host.a:1 one", "host.a:3 each", "host.b:1 thing"]
    expect_no_offender(pronouns_in_loops, planted=planted, found=found)


def test_a_file_name_means_one_thing() -> None:
    names = ["host.reading", "runner.reading", "evaluation.report.reading", "evaluation.store.reading", "cli.table"]
    rooms = [f"{market}.rules" for market in MARKETS] + [f"evaluation.markets.{market}.play" for market in MARKETS]
    planted = [Module(name) for name in names + rooms]
    expect_no_offender(too_common_file_names, planted=planted, found=["reading.py 4 times"])


# --- sizes ----------------------------------------------------------------------------------------------------------

MAX_LINES = 800
SHORT, MAX_SHORT_SHARE = 40, 0.05
MAX_FUNCTION, MAX_P90_FUNCTION = 80, 20
MOST_PERCENT = {"comments": 6, "docstrings": 25}


def long_modules(modules: Sequence[Module]) -> list[str]:
    return [f"{module.name} has {len(module.lines)} lines" for module in modules if len(module.lines) > MAX_LINES]


def too_many_short_modules(modules: Sequence[Module]) -> list[str]:
    """The modules under 40 lines, faces excepted, if they are more than 5 % of all."""
    short = [module.name for module in modules if len(module.lines) < SHORT and not module.face]
    return short if len(short) > MAX_SHORT_SHARE * len(modules) else []


def long_functions(modules: Sequence[Module]) -> list[str]:
    """Functions over 80 lines; and the length that 90 % do not pass, if it is over 20 lines."""
    functions = [(function, module.name) for module in modules for function in module.contents.functions]
    lengths = sorted(function.lines for function, _ in functions)
    offenders = [
        f"{name}.{function.name} {function.lines}" for function, name in functions if function.lines > MAX_FUNCTION
    ]
    p90 = lengths[len(lengths) * 9 // 10]
    return offenders + ([f"p90 is {p90}"] if p90 > MAX_P90_FUNCTION else [])


def too_many_words(modules: Sequence[Module]) -> list[str]:
    """Comments and docstrings, where they are more of all lines than they may be: how few may be is held per room."""
    total = max(1, sum(len(module.lines) for module in modules))
    lines = {
        "comments": sum(module.comment_lines for module in modules),
        "docstrings": sum(len(module.contents.docstring_lines) for module in modules),
    }
    percent = {share: 100 * count / total for share, count in lines.items()}
    return [
        f"{percent[share]:.1f} % of lines are {share}" for share, most in MOST_PERCENT.items() if percent[share] > most
    ]


def tangled_functions(modules: Sequence[Module]) -> list[str]:
    return functions_over(MOST_BRANCHES, modules)


def test_no_module_is_too_long() -> None:
    planted = [Module("host.a", "x = 1\n" * 801), Module("host.b", "x = 1\n" * 800)]
    expect_no_offender(long_modules, planted=planted, found=["host.a has 801 lines"])


def test_few_modules_are_very_short() -> None:
    planted = [Module(f"host.long{number}", "x = 1\n" * 40) for number in range(38)]
    planted += [Module("host.a"), Module("host", face=True)]
    assert too_many_short_modules(planted) == []
    expect_no_offender(
        too_many_short_modules,
        planted=[*planted, Module("host.b"), Module("host.c")],
        found=["host.a", "host.b", "host.c"],
    )


def test_functions_are_short() -> None:
    def function(name: str, lines: int) -> str:
        return f"def {name}() -> None:\n" + "    x = 1\n" * (lines - 1)

    many = "".join(function(f"f{number}", 20) for number in range(18))
    assert long_functions([Module("host.a", many + function("g", 80) + function("h", 20))]) == []
    assert long_functions([Module("host.a", many + function("g", 81) + function("h", 20))]) == ["host.a.g 81"]
    planted = [Module("host.a", many), Module("host.b", function("g", 21) * 2)]
    expect_no_offender(long_functions, planted=planted, found=["p90 is 21"])


def test_no_function_has_more_than_twenty_branches() -> None:
    def function(conditions: int) -> str:
        return f"def choose() -> bool:\n    return {' and '.join(['x'] * (conditions + 1))}\n"

    planted = [Module("host.a", function(19)), Module("host.b", function(20))]
    expect_no_offender(tangled_functions, planted=planted, found=["host.b.choose has 21 branches"])


def test_docstrings_and_comments_are_not_many() -> None:
    planted = [Module("host.a", '"""A module."""\n' + "# why\n" * 7 + "x = 1\n" * 92)]
    expect_no_offender(too_many_words, planted=planted, found=["7.0 % of lines are comments"])


def test_every_room_is_as_its_budget_says() -> None:
    (found,) = faults({"host": Row(2, 0, 0, 0)}, sizes([Module("host.planted", "x = 1\n" * 3)]))
    assert found.startswith("host: 3 code lines, 1 over its budget; take lines out of this room")
    expect_none(faults(rows_in(BUDGETS), sizes(MODULES, modules_of_tests())))


# --- the tree -------------------------------------------------------------------------------------------------------


def repeated(names: Collection[str]) -> list[str]:
    return sorted(name for name, count in Counter(names).items() if count > 1)


def test_the_namespace_package_has_no_init() -> None:
    expect_none([str(path) for root in ROOTS for path in (REPO / root).rglob("tradefair/__init__.py*")])
    expect_none([root for root in ROOTS if (REPO / root / "__init__.py").exists()])


def test_package_names_are_unique_across_roots() -> None:
    assert repeated(["host", "runner", "host"]) == ["host"]
    folders = [folder for root in ROOTS for folder in (REPO / root / "tradefair").iterdir() if folder.is_dir()]
    expect_none(repeated([folder.name for folder in folders if folder.name != "__pycache__"]))


# --- ARCHITECTURE.md ------------------------------------------------------------------------------------------------

_PATH = re.compile(r"`([\w.*<>-]+(?:/[\w.*<>-]+)*/?)`")
_ENDINGS = (".py", ".md", ".toml", ".txt", "/")


def _architecture() -> str:
    return (REPO / "ARCHITECTURE.md").read_text(encoding="utf-8")


def _exists(name: str) -> bool:
    wanted = re.sub(r"<\w+>", "*", name.rstrip("/"))
    sources = [REPO / root / "tradefair" for root in ROOTS]
    if "/" not in wanted:
        # A room that several packages have: `rules.py`.
        return any(next(folder.rglob(wanted), None) is not None for folder in (*sources, REPO / "tests")) or (
            next(REPO.glob(wanted), None) is not None
        )
    folders = (REPO, *(REPO / root for root in ROOTS), *sources)
    return any(next(folder.glob(wanted), None) is not None for folder in folders)


def missing_paths(text: str) -> list[str]:
    # Named because it must not exist: `tradefair/__init__.py`.
    named = {name for name in _PATH.findall(text) if name.endswith(_ENDINGS)} - {"tradefair/__init__.py"}
    return sorted(name for name in named if not _exists(name))


def missing_tests(text: str) -> list[str]:
    tests = "\n".join(path.read_text(encoding="utf-8") for path in (REPO / "tests").rglob("test_*.py"))
    named = set(re.findall(r"\btest_\w+\b(?!\.py)", text))
    return sorted(name for name in named if f"def {name}(" not in tests)


def test_every_path_that_the_architecture_names_exists() -> None:
    planted = (
        "`contract/kernel/core.py`, `mcp_servers/tradefair/<market>/rules.py`, `contract/" + "utils.py`, `evaluate`"
    )
    assert missing_paths(planted) == ["contract/" + "utils.py"]
    assert _PATH.search(_architecture())
    expect_none(missing_paths(_architecture()))


def test_every_test_that_the_architecture_names_exists() -> None:
    absent = "test_what_" + "nobody_has_written"
    assert missing_tests(f"`tests/test_shape.py::{absent}`, test_a_module_says_what_it_is") == [absent]
    expect_none(missing_tests(_architecture()))


def test_the_architecture_fits_on_a_few_pages() -> None:
    assert len(_architecture().splitlines()) <= 150
