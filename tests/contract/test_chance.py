"""Keyed chance: golden values for ever, the open interval, no dependence on what was drawn before.

Also here:
- The contract needs the standard library, pydantic, orjson and lazy_loader, and does no input or output.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.waiting import LONG

from tradefair.contract.chance import Chance, KeyPart, encode_key

_SEEDS = st.integers(-(2**70), 2**70) | st.text(max_size=20)
_PARTS = st.lists(st.integers(-(2**70), 2**70) | st.text(max_size=10), max_size=4)


def test_golden_values_never_change() -> None:
    chance = Chance(7)
    assert chance.uniform("value", "P1") == 0.39342915615726837
    assert chance.uniform("value", "P1", 3) == 0.7133358824881416
    assert chance.uniforms("noise", 1, n=3) == [0.12066321928380586, 0.5852214704382906, 0.23684129432244727]
    assert chance.uniforms("noise", 1, n=9)[8] == 0.6151267126181069
    assert Chance("text").uniform("value") == 0.5549825172443429


@given(_SEEDS, _PARTS, st.integers(1, 20))
def test_every_draw_is_an_odd_multiple_of_two_to_the_minus_53_inside_the_open_interval(
    seed: int | str, key: list[KeyPart], count: int
) -> None:
    chance = Chance(seed)
    for draw in (chance.uniform("s", *key), *chance.uniforms("s", *key, n=count)):
        assert 0.0 < draw < 1.0
        exact = Fraction(draw) * 2**53
        assert exact.denominator == 1
        assert exact.numerator % 2 == 1


@given(_SEEDS, _PARTS, st.integers(0, 20), st.integers(0, 20))
def test_a_longer_list_starts_with_the_shorter_one(seed: int | str, key: list[KeyPart], one: int, two: int) -> None:
    chance = Chance(seed)
    short, long = sorted((one, two))
    assert chance.uniforms("s", *key, n=long)[:short] == chance.uniforms("s", *key, n=short)
    assert len(chance.uniforms("s", *key, n=long)) == long


@given(st.permutations(range(6)))
def test_draws_do_not_depend_on_the_order_in_which_they_are_made(order: list[int]) -> None:
    chance = Chance(1)
    assert {n: chance.uniform("s", n) for n in order} == {n: Chance(1).uniform("s", n) for n in range(6)}


def test_the_two_forms_of_a_stream_draw_from_separate_spaces() -> None:
    assert Chance(1).uniform("s", 1) != Chance(1).uniforms("s", 1, n=1)[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ((1,), ("1",)),
        (("ab", "c"), ("a", "bc")),
        ((12, 3), (1, 23)),
        ((), ("",)),
        (("s1:a",), ("a",)),
        ((-1,), (1,)),
        (("é",), ("e",)),
        ((1, 2), (2, 1)),
    ],
)
def test_different_keys_have_different_draws(one: tuple[KeyPart, ...], other: tuple[KeyPart, ...]) -> None:
    assert Chance(1).uniform("s", *one) != Chance(1).uniform("s", *other)


def test_seeds_and_streams_are_tagged_like_keys() -> None:
    draws = {
        Chance(1).uniform("s"),
        Chance("1").uniform("s"),
        Chance(1).uniform("t"),
        Chance(1).uniform("s", "s"),
        Chance(2).uniform("s"),
        Chance(-1).uniform("s"),
    }
    assert len(draws) == 6


def test_draws_are_spread_evenly() -> None:
    draws = [Chance(3).uniform("s", n) for n in range(2_000)]
    tenths = [sum(n / 10 <= draw < (n + 1) / 10 for draw in draws) for n in range(10)]
    # Six standard deviations of a binomial count with p = 0.1.
    assert all(abs(count - 200) < 6 * (2_000 * 0.1 * 0.9) ** 0.5 for count in tenths)


_KEYS = st.lists(st.one_of(st.integers(-(10**9), 10**9), st.text(max_size=8)), max_size=5)


@given(st.integers(0, 2**63 - 1), _KEYS, _KEYS)
def test_a_branch_draws_the_uniforms_of_the_whole_key(seed: int, first: list[KeyPart], rest: list[KeyPart]) -> None:
    chance = Chance(seed)
    branch = chance.under("stream", *first)
    whole = chance.uniform("stream", *first, *rest)
    assert branch.uniform(*rest) == whole
    assert branch.uniform("another", *rest) != whole
    assert branch.uniform(*rest) == whole


@given(st.integers(0, 2**63 - 1), st.lists(_KEYS, max_size=5))
def test_many_draws_of_a_branch_are_its_single_draws(seed: int, keys: list[list[KeyPart]]) -> None:
    branch = Chance(seed).under("stream", 7)
    assert branch.each([encode_key(*key) for key in keys]) == [branch.uniform(*key) for key in keys]


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
