"""The contract needs the standard library, pydantic, orjson and lazy_loader, and does no input or output."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from tests.waiting import LONG

ROOT = Path(__file__).parents[2] / "mcp_servers"
CONTRACT = ROOT / "tradefair" / "contract"
MODULES = sorted(path for path in CONTRACT.glob("*.py"))
ALLOWED = {"pydantic", "pydantic_core", "orjson", "lazy_loader"}
# What pydantic itself imports.
SUPPORT = {"annotated_types", "typing_extensions", "typing_inspection"}
IMPURE = {
    "asyncio", "datetime", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil", "socket",
    "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "uuid", "http", "numpy",
}  # fmt: skip
IMPURE_CALLS = {"open", "print", "input", "hash", "exec", "eval"}

_PROGRAM = """
import importlib, sys
sys.path[:] = [path for path in sys.path if "site-packages" not in path] + sys.argv[1].split(",")
for name in sys.argv[2].split(","):
    importlib.import_module(name)
import tradefair.contract
for name in tradefair.contract.__all__:
    getattr(tradefair.contract, name)
print(",".join(sorted({name.partition(".")[0] for name in sys.modules})))
"""


def _names() -> list[str]:
    return ["tradefair.contract" + ("" if path.stem == "__init__" else f".{path.stem}") for path in MODULES]


def test_the_contract_imports_where_nothing_but_pydantic_and_orjson_is_installed(tmp_path: Path) -> None:
    for name in ALLOWED | SUPPORT:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        origin = Path(spec.origin)
        installed = origin.parent if origin.name.startswith("__init__.") else origin
        (tmp_path / installed.name).symlink_to(installed)
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _PROGRAM, f"{tmp_path},{ROOT}", ",".join(_names())],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    foreign = set(done.stdout.strip().split(",")) - sys.stdlib_module_names - ALLOWED - SUPPORT
    assert {name for name in foreign if not name.startswith("_")} - {"tradefair"} == set()


def _impure_imports(source: str) -> set[str]:
    """Modules that a module of the contract may not import."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            names = ["." * node.level + (node.module or "")]
        for name in names:
            root = name.partition(".")[0]
            known = root in ALLOWED or (root in sys.stdlib_module_names and root not in IMPURE)
            if not known and not name.startswith("tradefair.contract"):
                found.add(name)
    return found


def _impure_calls(source: str) -> set[str]:
    calls = [node.func for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    return {name.id for name in calls if isinstance(name, ast.Name)} & IMPURE_CALLS


def test_a_contract_module_imports_nothing_else_and_nothing_impure() -> None:
    planted = "import math, time\nfrom . import core\nfrom tradefair.host import log\nimport mcp.types, pydantic"
    assert _impure_imports(planted) == {"time", ".", "tradefair.host", "mcp.types"}
    found = {path.stem: _impure_imports(path.read_text()) for path in MODULES}
    assert {module: names for module, names in found.items() if names} == {}


def test_a_contract_module_opens_and_prints_nothing() -> None:
    assert _impure_calls("print(len(open('x').read()), log.open())") == {"print", "open"}
    found = {path.stem: _impure_calls(path.read_text()) for path in MODULES}
    assert {module: names for module, names in found.items() if names} == {}
