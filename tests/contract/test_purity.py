"""The contract needs the standard library, pydantic and orjson, and does no input or output."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2] / "mcp_servers"
CONTRACT = ROOT / "tradefair" / "contract"
MODULES = sorted(path for path in CONTRACT.glob("*.py"))
ALLOWED = {"pydantic", "pydantic_core", "orjson"}
# What pydantic itself imports.
SUPPORT = {"annotated_types", "typing_extensions", "typing_inspection"}
IMPURE = {
    "asyncio", "datetime", "io", "logging", "multiprocessing", "os", "pathlib", "random", "secrets", "shutil", "socket",
    "sqlite3", "subprocess", "tempfile", "threading", "time", "urllib", "uuid", "http", "numpy",
}  # fmt: skip

_PROGRAM = """
import importlib, sys
sys.path[:] = [path for path in sys.path if "site-packages" not in path] + sys.argv[1].split(",")
for name in sys.argv[2].split(","):
    importlib.import_module(name)
from tradefair.contract.core import Core
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
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    foreign = set(done.stdout.strip().split(",")) - sys.stdlib_module_names - ALLOWED - SUPPORT
    assert {name for name in foreign if not name.startswith("_")} - {"tradefair"} == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_contract_module_imports_nothing_else_and_nothing_impure(path: Path) -> None:
    imported: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            imported.add(node.module or "")
    roots = {name.partition(".")[0] for name in imported}
    assert roots - sys.stdlib_module_names - ALLOWED == {"tradefair"} & roots
    assert all(name.startswith("tradefair.contract") for name in imported if name.startswith("tradefair"))
    assert roots & IMPURE == set()


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_contract_module_opens_and_prints_nothing(path: Path) -> None:
    called = {
        node.func.id
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    assert called & {"open", "print", "input", "hash", "exec", "eval"} == set()
