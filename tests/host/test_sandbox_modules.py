from __future__ import annotations

import heapq
import operator
import statistics
from types import ModuleType
from typing import Any

import pytest

from tradefair.host.sandbox.lint import AVAILABLE
from tradefair.host.sandbox.modules import MODULES, public_names
from tradefair.host.sandbox.running import CodeReport, InnerAnswer, Sandbox

ORIGINALS: dict[str, ModuleType] = {"statistics": statistics, "heapq": heapq, "operator": operator}
DATA = "[3, 1, 4, 1, 5, 9, 2, 6]"
FLOATS = "[0.1, 2.5, 0.30000000000000004, 7.25, -1.5]"
EXPRESSIONS = [
    *(f"statistics.{name}({data})" for data in (DATA, FLOATS) for name in (
        "mean", "fmean", "median", "median_low", "median_high", "mode", "multimode",
        "pvariance", "variance", "pstdev", "stdev", "quantiles",
    )),
    "statistics.mean([1, 3])", "statistics.mean([True, 2, 4])", "statistics.variance([1, 2, 3])",
    "statistics.mean([10**17, 1, 1])", "statistics.pvariance([10**9, 10**9 + 1])", "statistics.median([1])",
    f"statistics.quantiles({DATA}, n=10)", f"statistics.quantiles({DATA}, n=5, method='inclusive')",
    "statistics.quantiles([1, 2], n=10)", "statistics.quantiles([5, 1, 2], n=2)", "statistics.quantiles([1, 2], n=1)",
    "statistics.quantiles([1, 7], n=9, method='inclusive')",
    f"statistics.fmean({DATA}, weights=[1, 2, 3, 4, 5, 6, 7, 8])",
    "statistics.geometric_mean([54, 24, 36])", "statistics.harmonic_mean([40, 60])", "statistics.harmonic_mean([0, 1])",
    f"statistics.correlation({DATA}, [2, 7, 1, 8, 2, 8, 1, 8])", f"statistics.covariance({DATA}, {DATA})",
    "statistics.linear_regression([1, 2, 3], [2, 4, 7]).slope",
    "statistics.linear_regression([1, 2, 3], [2, 4, 7]).intercept",
    "statistics.stdev(x for x in [1, 2])", "statistics.pvariance([1, 2, 3], 2)",
    f"(lambda h: (heapq.heapify(h), [heapq.heappop(h) for _ in range(len(h))])[1])({DATA})",
    f"(lambda h: ([heapq.heappush(h, x) for x in {DATA}], [heapq.heappop(h) for _ in range(len(h))])[1])([])",
    "(lambda h: [heapq.heappushpop(h, 0), heapq.heappushpop(h, 2), heapq.heapreplace(h, 0), *h])([1, 5])",
    f"heapq.nlargest(3, {DATA})", f"heapq.nsmallest(3, {DATA}, key=lambda x: -x)", "heapq.nlargest(-1, [1])",
    "list(heapq.merge([1, 4], [2, 3], []))", "heapq.heappushpop([], 3)",
    "operator.itemgetter(1)([5, 6])", "list(operator.itemgetter('a', 'b')({'a': 1, 'b': 2}))",
    "[f(7, 2) for f in (operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod)]",
    "[f(7, 2) for f in (operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt)]",
    "[operator.neg(3), operator.not_(0), operator.contains([1], 1), operator.getitem([4, 5], 1)]",
]  # fmt: skip
ERRORS = [
    "statistics.mean([])", "statistics.stdev([1])", "statistics.median([])", "statistics.mode([])",
    "statistics.correlation([1, 1], [1, 2])", "statistics.covariance([1], [1, 2])", "statistics.quantiles([1, 2], n=0)",
    "statistics.quantiles([1, 2], method='x')", "heapq.heappop([])", "heapq.heapreplace([], 1)",
    "operator.itemgetter()", "statistics.linear_regression([1, 1], [1, 2])", "statistics.fmean([1], weights=[1, 2])",
    "statistics.harmonic_mean([-1])", "statistics.geometric_mean([-1])",
]  # fmt: skip


def run(sandbox: Sandbox, code: str) -> CodeReport:
    return sandbox.run(code, constants={}, tools={}, call=lambda _name, _arguments: InnerAnswer(), seed=1)


def in_sandbox(sandbox: Sandbox, expression: str) -> CodeReport:
    return run(sandbox, f"import {expression_module(expression)}\n{expression}")


def expression_module(expression: str) -> str:
    return next(name for name in MODULES if f"{name}." in expression)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_the_sandbox_modules_answer_as_their_namesakes(sandbox: Sandbox, expression: str) -> None:
    report = in_sandbox(sandbox, expression)
    assert report.error is None
    expected: Any = eval(expression, dict(ORIGINALS))
    assert report.value == pytest.approx(expected, rel=1e-12)
    assert type(report.value) is type(expected)


@pytest.mark.parametrize("expression", ERRORS)
def test_the_sandbox_modules_refuse_what_their_namesakes_refuse(sandbox: Sandbox, expression: str) -> None:
    with pytest.raises((ValueError, IndexError, TypeError)):
        eval(expression, dict(ORIGINALS))
    error = in_sandbox(sandbox, expression).error
    assert error is not None
    assert error.message.startswith(("line 2: ValueError", "line 2: IndexError", "line 2: TypeError"))


def test_the_modules_are_the_same_whatever_python_runs_them(sandbox: Sandbox) -> None:
    # Python 3.13 answers 0.0: a program must not do otherwise on another machine.
    error = in_sandbox(sandbox, "statistics.geometric_mean([0])").error
    assert error is not None
    assert "geometric mean requires positive numbers" in error.message


def test_attributes_can_be_read_by_path(sandbox: Sandbox) -> None:
    code = (
        "from operator import attrgetter\nclass A:\n    def __init__(self, x):\n        self.x = x\n"
        "a = A(A(5))\n[attrgetter('x.x')(a), list(attrgetter('x.x', 'x.x')(a))]"
    )
    assert run(sandbox, code).value == [5, [5, 5]]


def test_names_of_a_program_do_not_reach_into_the_modules(sandbox: Sandbox) -> None:
    code = "import statistics\nfmean = mean = math = None\nstatistics.StatisticsError, statistics.stdev([1, 2, 4])\n"
    assert run(sandbox, code + "round(statistics.correlation([1, 2, 3], [1, 2, 4]), 6)").value == 0.981981


def test_every_public_name_exists_in_the_namesake() -> None:
    named = [(module, name) for module in MODULES for name in public_names(module)]
    assert [f"{module}.{name}" for module, name in named if not hasattr(ORIGINALS[module], name)] == []


def test_every_module_said_to_be_available_can_be_imported(sandbox: Sandbox) -> None:
    imported = CodeReport("", 1, None, 0)
    assert run(sandbox, "import absent\n1") != imported
    assert [module for module in AVAILABLE if run(sandbox, f"import {module}\n1") != imported] == []
