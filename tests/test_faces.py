"""Lazy faces: packages whose names stand in a stub and load on first use; four of them promise their names."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.waiting import LONG

ROOT = Path(__file__).resolve().parent.parent
FACES = ("tradefair.api", "tradefair.contract", "tradefair.evaluation", "tradefair.testing")
# They promise nothing; commands import them for a name or two.
INSIDE = ("tracestore", "frameworks.models", "evaluation.store", "evaluation.report")
each_face = pytest.mark.parametrize("name", [*FACES, *(f"tradefair.{package}" for package in INSIDE)])


def loaded(program: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONG, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def stub_of(face: ModuleType) -> Path:
    return Path(str(face.__file__)).with_suffix(".pyi")


@each_face
def test_every_promised_name_of_a_face_loads(name: str) -> None:
    face = importlib.import_module(name)
    assert [promised for promised in face.__all__ if getattr(face, promised, None) is None] == []
    assert set(dir(face)) == set(face.__all__)


@each_face
def test_the_names_of_a_face_stand_in_its_stub_only(name: str) -> None:
    face = importlib.import_module(name)
    lines = [node for node in ast.parse(stub_of(face).read_text()).body if isinstance(node, ast.ImportFrom)]
    # A type checker takes a name for an export only where it is imported under an alias.
    assert [alias.name for node in lines for alias in node.names if alias.name != alias.asname] == []
    assert sorted(alias.name for node in lines for alias in node.names) == sorted(face.__all__)
    assert len(ast.parse(Path(str(face.__file__)).read_text(encoding="utf-8")).body) == 3


@each_face
def test_a_face_does_not_know_a_name_that_is_not_promised(name: str) -> None:
    with pytest.raises(AttributeError, match="core_of_all"):
        importlib.import_module(name).core_of_all  # noqa: B018


@each_face
def test_importing_a_face_costs_no_library(name: str) -> None:
    heavy = {"pydantic", "orjson", "mcp", "numpy", "typer", "rich"}
    assert loaded(f"import sys, {name}; print(sorted({heavy!r} & set(sys.modules)))") == "[]"


@pytest.mark.parametrize("module_first", [True, False])
def test_a_function_does_not_clash_with_the_module_of_its_name(module_first: bool) -> None:
    imports = ["import tradefair.contract.tool", "from tradefair.contract import tool"]
    program = [*(imports if module_first else imports[::-1]), "import tradefair.contract as face"]
    asked = "print(type(tool).__name__, face.tool is tool, type(sys.modules[face.__name__ + '.tool']).__name__)"
    assert loaded("\n".join(["import sys", *program, asked])) == "function True module"
