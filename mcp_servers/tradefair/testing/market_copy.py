"""A market of one's own, made from the installed teaching market: there are no templates that could go stale.

The teaching market is tested with every change of the project, so its copy works with the version that is installed.
"""

from __future__ import annotations

import keyword
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path

from tradefair.catalog import EVALUATORS, MARKETS, market_names
from tradefair.contract import ScenarioError

_MODEL = "teaching"
# A name is a Python package and an entry point, too: hence no hyphens and no capitals.
_NAME = re.compile(r"[a-z][a-z0-9_]{1,40}")
# The model's class names begin with one of these (`PieType`, `_PieType`); words such as `Pies` stay as they are.
_CLASSES = re.compile(r"(?<![A-Za-z])(?:Pie|Teaching)(?![a-z])")

_PYPROJECT = """\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "{name}"
version = "0.1.0"
description = "A market for tradefair."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["tradefair"]

[project.entry-points."tradefair.markets"]
{name} = "{name}:MARKET"

[project.entry-points."tradefair.evaluators"]
{name} = "{name}.evaluation.evaluator:EVALUATOR"

[dependency-groups]
test = ["pytest>=9"]

[tool.hatch.build]
dev-mode-dirs = ["."]

[tool.hatch.build.targets.wheel]
packages = ["{name}"]
"""

_README = """\
# {name}

A market for tradefair, begun as a copy of its market `teaching`. The rules are in `{name}/rules.py`, what seats see and
do in `{name}/views.py` and `{name}/tools.py`, how traces are scored in `{name}/evaluation/`. Change one room at a time,
and run the checks after each change:

    pip install -e .
    tradefair check {name}
    tradefair play {name}
    pytest
"""

_TEST = '''\
"""The market {name} keeps the contract: every check of the conformance kit, one test each."""

import pytest

from tradefair.testing import CHECKS, Bench
from {name} import MARKET

# The tool `appraise` asks an outside service; here a function stands for it.
BENCH = Bench(MARKET, services={{"appraisal": lambda payload: "a fine pie"}})


@pytest.mark.parametrize("check", CHECKS)
def test_{name}_keeps_the_contract(check: str) -> None:
    assert CHECKS[check](BENCH) == []
'''


def new_market(name: str, into: Path) -> list[Path]:
    """Write a package with a market of this name to the folder `into / name`; its files, in order.

    It is a copy of the installed market `teaching` and of its evaluator under another name, with a `pyproject.toml`
    that announces both and a test. Raises ScenarioError, before anything is written, for a name that cannot be used and
    for a folder that exists.
    """
    _check_name(name)
    target = into / name
    # `exists` is false for a broken link, and writing through it would create files elsewhere.
    if target.exists() or target.is_symlink():
        raise ScenarioError(f"{target} exists already; choose another name or folder")
    if not into.is_dir():
        raise ScenarioError(f"{into} is no folder")
    contents = {
        "pyproject.toml": _PYPROJECT.format(name=name),
        "README.md": _README.format(name=name),
        f"tests/test_{name}.py": _TEST.format(name=name),
        **_copied(name),
    }
    try:
        for path, text in contents.items():
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            # On Windows as well: the same name gives the same bytes everywhere.
            file.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise ScenarioError(f"{target} cannot be written: {error.strerror}") from None
    return [target / path for path in sorted(contents)]


def next_commands(name: str, into: Path) -> list[str]:
    """What to type after `new_market`: install the package, check it, play it. Paths are quoted for a shell."""
    return [f"pip install -e {shlex.quote(str(into / name))}", f"tradefair check {name}", f"tradefair play {name}"]


def _check_name(name: str) -> None:
    """Raise ScenarioError for a name that cannot be a package, is taken, or would hide another package."""
    said = repr(name[:80])
    if not _NAME.fullmatch(name):
        raise ScenarioError(f"{said} cannot name a market: a small letter, then 1 to 40 small letters, digits or _")
    if keyword.iskeyword(name):
        raise ScenarioError(f"{said} cannot name a market: it is a keyword of Python")
    if name in market_names():
        raise ScenarioError(f"there is a market {said} already; installed are {', '.join(market_names())}")
    # A package of this name would hide the other one, or be hidden by it.
    if name == "tests" or name in sys.stdlib_module_names or find_spec(name) is not None:
        raise ScenarioError(f"{said} cannot name a market: `import {name}` finds another package")


def _copied(name: str) -> Mapping[str, str]:
    """The texts of market and evaluator under the new name, by path below the new folder."""
    market, evaluator = (
        next(iter(entry_points(group=group, name=_MODEL))).module.removesuffix(".evaluator")
        for group in (MARKETS, EVALUATORS)
    )
    found = {f"{name}/{path}": text for path, text in _texts(files(market), "")}
    found |= {f"{name}/evaluation/{path}": text for path, text in _texts(files(evaluator), "")}
    classes = "".join(part.capitalize() for part in name.split("_"))
    # A market called `x` would rename `Pie` to `X`: refused where the copy already has a word of that name.
    used = set(re.findall(r"\w+", "\n".join(found.values())))
    taken = {word for word in used if _CLASSES.search(word) and _CLASSES.sub(classes, word) in used}
    if taken:
        raise ScenarioError(
            f"{name!r} cannot name a market: its class would be called {_CLASSES.sub(classes, min(taken))}, "
            "which is another class already"
        )

    def renamed(text: str) -> str:
        # The longer paths first: the market's name is part of the evaluator's.
        text = text.replace(evaluator, f"{name}.evaluation").replace(market, name)
        text = _CLASSES.sub(classes, re.sub(rf"\b{_MODEL}\b", name, text))
        # Rules, formulas and evidence map of the copy are a first edition, whichever the model has.
        return re.sub(r'(?m)^( *version = "(?:rules-)?)\d+"', r'\g<1>1"', text)

    return {renamed(path): renamed(text) for path, text in found.items()}


def _texts(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    """Path and text of every file below a package's folder, by name, without what is compiled or was measured."""
    for item in sorted(folder.iterdir(), key=lambda item: item.name):
        if item.is_dir():
            if item.name not in ("__pycache__", "references"):
                yield from _texts(item, f"{path}{item.name}/")
        elif not item.name.endswith(".pyc"):
            yield f"{path}{item.name}", item.read_text(encoding="utf-8")
