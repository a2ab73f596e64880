"""Also here:
- What a program may not say, found before it runs.
- Modules that a program may use.
"""

from __future__ import annotations

import asyncio
import datetime
import decimal
import heapq
import math
import operator
import os
import signal
import statistics
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import orjson
import pytest
from pydantic import JsonValue
from tests.host.programs import LIMITS, answer, error_of, run
from tests.waiting import LONG

from tradefair.contract import HarnessFailure, IllegalAction
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
from tradefair.host.sandbox.errors import cut
from tradefair.host.sandbox.lint import AVAILABLE, CodeRefused, prepare
from tradefair.host.sandbox.modules import MODULES, public_names
from tradefair.host.sandbox.running import CodeLimits, CodeReport, InnerAnswer, Sandbox, ToolSignature
from tradefair.host.sandbox.values import MAX_DEPTH, ForeignValue, TooLarge, plain_data

USEFUL: list[tuple[str, str, JsonValue]] = [
    # program, what it prints, its value
    ("1 + FEE", "", 3),
    ("x = 5", "", None),
    ("print('one', 2)\nprint('three', end='')", "one 2\nthree", None),
    ("sum(view_prices('corn')['prices'])", "", 410),
    ("[view_prices(market=m)['prices'][-1] - FEE for m in ('corn', 'wheat')]", "", [105, 203]),
    ("total = 0\nfor i in range(200):\n    total += view_round()['round']\ntotal", "", 600),
    ("def last(m):\n    return view_prices(m)['prices'][-1]\n{m: last(m) for m in ['corn']}", "", {"corn": 107}),
    ("import statistics as st\nst.mean(view_prices('corn')['prices'])", "", 102.5),
    ("from statistics import median, stdev\nprint(round(stdev([1, 2, 4]), 3))\nmedian([3, 1, 2])", "1.528\n", 2),
    ("import heapq, math\nh = [3, 1, 2]\nheapq.heapify(h)\n[heapq.heappop(h), math.floor(2.5)]", "", [1, 2]),
    ("from operator import itemgetter\nsorted([{'p': 2}, {'p': 1}], key=itemgetter('p'))", "", [{"p": 1}, {"p": 2}]),
    (
        "try:\n    refused('x')\nexcept RuntimeError as e:\n    print(e)",
        "unknown_id: no such thing. view_round shows what there is\n",
        None,
    ),
    ("try:\n    import numpy\nexcept ImportError:\n    numpy = None\nnumpy is None", "", True),
    ("from collections import Counter\nCounter(NAMES + ['a']).most_common(1)", "", [["a", 2]]),
    ("(1, {3, 1, 2}, {2: 'two', None: 0.5})", "", [1, [1, 2, 3], {"2": "two", "null": 0.5}]),
    ("from decimal import Decimal\nDecimal('1.10') + Decimal('2.20')", "", "3.30"),
    ("class Book:\n    def __init__(self):\n        self.n = view_round()['round']\nBook().n", "", 3),
]


@pytest.mark.parametrize(("code", "output", "value"), USEFUL, ids=[item[0][:48] for item in USEFUL])
def test_useful_programs_work_and_repeat_exactly(sandbox: Sandbox, code: str, output: str, value: JsonValue) -> None:
    report = run(sandbox, code)
    assert report.error is None
    assert (report.output, report.value) == (output, value)
    with Sandbox(LIMITS) as another:
        assert run(another, code) == report


def test_a_program_sees_the_market_day_and_seeded_chance_only(sandbox: Sandbox) -> None:
    clock = "import datetime, time\n[str(datetime.datetime.now()), str(datetime.date.today()), time.perf_counter()]"
    chance = (
        "import random\n[random.random(), random.Random().random(), random.sample(range(99), 3), hash('x'), id([])]"
    )
    assert run(sandbox, clock).value == run(sandbox, clock + "\ntime.sleep(99)\n" + clock).value
    assert run(sandbox, clock).value == ["2000-01-04 00:00:00", "2000-01-04", 946944000.0]
    assert run(sandbox, clock, day=10**9).error is None
    assert run(sandbox, chance).value == run(sandbox, chance).value
    assert run(sandbox, chance, seed=8).value != run(sandbox, chance).value


def test_nothing_is_left_from_one_program_to_the_next(sandbox: Sandbox) -> None:
    run(sandbox, "import statistics\nsecret = 5\nstatistics.mean = None\nprint = None")
    report = run(sandbox, "print('here')\nimport statistics\nprint(statistics.mean([4]))\nsecret")
    assert report.output == "here\n4\n"
    assert report.error is not None
    assert "secret" in report.error.message


def test_an_error_names_the_line_of_the_authors_own_program(sandbox: Sandbox) -> None:
    imports = "import statistics\nfrom operator import (\n    add,\n    mul as times,  # both\n)\n"
    assert (
        error_of(run(sandbox, imports + "x = times(2, add(1, 2))\nx / 0")).message
        == "line 7: ZeroDivisionError: division by zero"
    )
    inside = "from statistics import mean\n\nmean([])"
    assert error_of(run(sandbox, inside)).message.startswith("line 3: ValueError: mean requires at least 1 data point")


def test_what_was_printed_before_an_error_is_kept(sandbox: Sandbox) -> None:
    report = run(sandbox, "print('before')\n1 / 0")
    assert report.output == "before\n"
    assert report.error is not None


def test_output_is_cut_at_whole_characters_and_fills_the_limit(sandbox: Sandbox) -> None:
    exact = run(sandbox, f"print('é' * {LIMITS.output_bytes // 2}, end='')")
    assert exact.error is None
    over = run(sandbox, f"print('a' + 'é' * {LIMITS.output_bytes // 2})")
    assert error_of(over).code == "code_limit"
    assert over.output == "a" + "é" * (LIMITS.output_bytes // 2 - 1)


def test_a_refused_tool_call_raises_its_error_in_the_program(sandbox: Sandbox) -> None:
    message = error_of(run(sandbox, "x = 1\nrefused('y')")).message
    assert message == "line 2: RuntimeError: unknown_id: no such thing. view_round shows what there is"


def test_arguments_reach_the_tool_by_name_as_plain_data(sandbox: Sandbox) -> None:
    seen: list[tuple[str, dict[str, JsonValue]]] = []

    def call(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
        seen.append((name, arguments))
        return InnerAnswer(None)

    run(sandbox, "view_prices('corn', (1, 2))\nview_prices(rounds={3, 1}, other=None)\nview_round()", call)
    assert seen == [
        ("view_prices", {"market": "corn", "rounds": [1, 2]}),
        ("view_prices", {"rounds": [1, 3], "other": None}),
        ("view_round", {}),
    ]


def test_what_the_caller_raises_ends_the_run_and_is_raised_to_the_caller(sandbox: Sandbox) -> None:
    def call(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
        raise IllegalAction("storage_unavailable", name)

    with pytest.raises(IllegalAction, match="storage_unavailable"):
        run(sandbox, "try:\n    view_round()\nexcept BaseException:\n    pass", call)
    assert run(sandbox, "1").value == 1


def test_declared_tools_give_their_own_signature() -> None:
    assert ToolSignature.of(KERNEL_TOOLS["view_turn"]) == ToolSignature(())
    assert ToolSignature.of(KERNEL_TOOLS["add_note"]) == ToolSignature(("text",))


def test_many_threads_share_one_worker() -> None:
    with Sandbox(LIMITS) as shared, ThreadPoolExecutor(8) as threads:
        runs = [threads.submit(run, shared, f"{number} + view_round()['round']") for number in range(40)]
        reports = [one.result(LONG) for one in runs]
    assert [report.value for report in reports] == [number + 3 for number in range(40)]


async def test_tool_calls_can_hop_to_the_event_loop(sandbox: Sandbox) -> None:
    loop = asyncio.get_running_loop()

    async def on_loop(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
        return answer(name, arguments)

    def call(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
        return asyncio.run_coroutine_threadsafe(on_loop(name, arguments), loop).result(timeout=LONG)

    runs = [asyncio.to_thread(run, sandbox, "view_round()['round']", call) for _ in range(3)]
    assert [report.value for report in await asyncio.gather(*runs)] == [3, 3, 3]


def _kill_workers() -> None:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, _, rest = stat.read_text().partition(" (")
        except OSError:
            continue
        if rest.startswith("monty)") and int(rest.rpartition(")")[2].split()[1]) == os.getpid():
            os.kill(int(pid), signal.SIGKILL)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds worker processes in /proc")
def test_a_killed_worker_is_replaced() -> None:
    def call(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
        _kill_workers()
        return InnerAnswer(1)

    with Sandbox(LIMITS) as own:
        assert error_of(run(own, "view_round()\n2", call)).code == "code_error"
        assert run(own, "3").value == 3
        _kill_workers()
        assert run(own, "4").value == 4


def test_a_closed_sandbox_starts_anew() -> None:
    own = Sandbox(LIMITS)
    own.close()
    assert run(own, "1").value == 1
    own.close()
    own.close()
    assert run(own, "2").value == 2
    own.close()


def test_a_missing_worker_program_is_the_harness_failing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MONTY_BIN", str(tmp_path / "absent"))
    with pytest.raises(HarnessFailure) as failure:
        run(Sandbox(LIMITS), "1")
    assert str(tmp_path) not in str(failure.value)


def test_closing_while_a_program_runs_harms_nobody() -> None:
    own = Sandbox(CodeLimits(seconds=0.3))
    started = threading.Event()

    def call(name: str, arguments: dict[str, JsonValue]) -> InnerAnswer:
        started.set()
        return InnerAnswer(1)

    with ThreadPoolExecutor(1) as thread:
        running = thread.submit(run, own, "view_round()\nwhile True: pass", call)
        assert started.wait(LONG)
        own.close()
        assert running.result(LONG).error is not None


EXITS = {
    "left open": "print(run('1 + 1').value)",
    "closed": "print(run('1 + 1').value); sandbox.close()",
    "in the middle of a program": (
        "import threading\nwent = threading.Event()\n"
        "def call(name, arguments): went.set(); return InnerAnswer(1)\n"
        "threading.Thread(target=run, args=('tool()\\nwhile True: pass', call), daemon=True).start()\n"
        "went.wait(10); print(2)"
    ),
}
PROGRAM = """
from tradefair.host.sandbox.running import *
import sys
assert "pydantic_monty" not in sys.modules
sandbox = Sandbox(CodeLimits(seconds=0.5))
def run(code, call=None):
    return sandbox.run(code, constants={}, tools={"tool": ToolSignature(())}, call=call, seed=1)
"""


@pytest.mark.parametrize("ending", EXITS)
def test_the_interpreter_exits_cleanly(ending: str) -> None:
    command = [sys.executable, "-c", PROGRAM + EXITS[ending]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "2\n", "")


def test_every_report_can_be_encoded(sandbox: Sandbox) -> None:
    for code in ("['\\ud800', '\\x00', 'é']", "print('\\ud800\\x00')", "raise ValueError('\\ud800\\x00')"):
        report = run(sandbox, code)
        data = [report.output, report.value, report.error and report.error.message]
        assert orjson.loads(orjson.dumps(data)) == data


TOOLS = ("view_cost", "view_round")

REFUSED = {
    "import pandas": "line 1: there is no module pandas here",
    "x = 1\nimport numpy as np": "line 2: there is no module numpy here",
    "from scipy.stats import norm": "line 1: there is no module scipy here",
    "sorted(xs, key=lambda x: view_cost(x)['c'])": "line 1: view_cost cannot be called",
    "xs.sort(key=lambda x: view_cost(x)['c'])": "callback of sort()",
    "max(xs, key=lambda a, b=(1, 2): a + view_cost(b))": "callback of max()",
    "y = 1\nlist(map(lambda x: [view_cost(x)], xs))": "line 2",
    "list(map(view_cost, xs))": "callback of map()",
    "list(filter(view_cost, xs))": "callback of filter()",
    "min(\n  xs,\n  key=view_cost,\n)": "line 3",
    "from heapq import nope": "heapq has no nope here",
}
ACCEPTED = [
    "import math, json",
    "from __future__ import annotations",
    "import os.path",
    "try:\n    import pandas\nexcept ImportError:\n    pass",
    "sorted([view_cost(x) for x in xs], key=lambda cost: cost['c'])",
    "sorted(xs, key=lambda x: x, reverse=view_round()['r'])",
    "list(map(lambda x: x + 1, view_cost('a')['rows']))",
    "costs = {x: view_cost(x) for x in xs}\nsorted(xs, key=lambda x: costs[x])",
    "sorted(xs, key=lambda row: row.view_cost(1))",
    "f = dict(a=lambda: view_cost(1))",
    "def view_cost(x): return x\nsorted(xs, key=lambda x: view_cost(x))",
    "text = 'import pandas'\nmap",
    "'''\nimport pandas\n'''",
    "key = view_round",
    "x = f(",
    "import '",
    "x = '''unclosed import",
    "(" * 300 + "map(view_cost, xs)",
]


@pytest.mark.parametrize("code", REFUSED)
def test_what_cannot_work_is_refused_in_one_sentence(code: str) -> None:
    with pytest.raises(CodeRefused) as refused:
        prepare(code, TOOLS)
    assert refused.value.info.code == "code_error"
    assert REFUSED[code] in refused.value.info.message
    assert refused.value.info.hint


@pytest.mark.parametrize("code", ACCEPTED)
def test_what_may_work_passes_unchanged(code: str) -> None:
    assert prepare(code, TOOLS) == (code, ())


@pytest.mark.parametrize(
    ("code", "source", "modules"),
    [
        ("import statistics", "statistics = _tradefair_statistics", ("statistics",)),
        ("import math, heapq as h; x = 1", "import math; h = _tradefair_heapq; x = 1", ("heapq",)),
        (
            "def f():\n    from operator import add, mul as m  # two\n    return 1\nimport statistics",
            "def f():\n    (add, m, ) = (_tradefair_operator.add, _tradefair_operator.mul, )  # two\n"
            "    return 1\nstatistics = _tradefair_statistics",
            ("operator", "statistics"),
        ),
        (
            "from heapq import (\r\n  heappush,\r\n  heappop,\r\n)\r\nx",
            "(heappush, heappop, ) = (_tradefair_heapq.heappush, _tradefair_heapq.heappop, \n\n\n)\nx",
            ("heapq",),
        ),
        ("if x: import statistics", "if x: statistics = _tradefair_statistics", ("statistics",)),
        ("é = 'import'; import heapq\n", "é = 'import'; heapq = _tradefair_heapq\n", ("heapq",)),
    ],
)
def test_imports_of_our_modules_are_pointed_at_them_on_the_same_lines(
    code: str, source: str, modules: tuple[str, ...]
) -> None:
    assert prepare(code, TOOLS) == (source, modules)


def test_the_named_modules_are_there() -> None:
    assert {"math", "statistics", "heapq", "operator", "json"} <= set(AVAILABLE)


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


def report_of(sandbox: Sandbox, code: str) -> CodeReport:
    return sandbox.run(code, constants={}, tools={}, call=lambda _name, _arguments: InnerAnswer(), seed=1)


def in_sandbox(sandbox: Sandbox, expression: str) -> CodeReport:
    return report_of(sandbox, f"import {expression_module(expression)}\n{expression}")


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
    assert report_of(sandbox, code).value == [5, [5, 5]]


def test_names_of_a_program_do_not_reach_into_the_modules(sandbox: Sandbox) -> None:
    code = "import statistics\nfmean = mean = math = None\nstatistics.StatisticsError, statistics.stdev([1, 2, 4])\n"
    assert report_of(sandbox, code + "round(statistics.correlation([1, 2, 3], [1, 2, 4]), 6)").value == 0.981981


def test_every_public_name_exists_in_the_namesake() -> None:
    named = [(module, name) for module in MODULES for name in public_names(module)]
    assert [f"{module}.{name}" for module, name in named if not hasattr(ORIGINALS[module], name)] == []


def test_every_module_said_to_be_available_can_be_imported(sandbox: Sandbox) -> None:
    imported = CodeReport("", 1, None, 0)
    assert report_of(sandbox, "import absent\n1") != imported
    assert [module for module in AVAILABLE if report_of(sandbox, f"import {module}\n1") != imported] == []


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


def shared(levels: int) -> object:
    value: object = []
    for _ in range(levels):
        value = [value, value]
    return value


def cycle() -> object:
    rows: list[object] = []
    rows.append(rows)
    return rows


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, 2.5, True, None, "é"), [1, 2.5, True, None, "é"]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset({"b", "a"}), ["a", "b"]),
        ({1: "a", 2.5: "b", None: "c", True if False else "x": "d"}, {"1": "a", "2.5": "b", "null": "c", "x": "d"}),
        (decimal.Decimal("1.50"), "1.50"),
        (datetime.date(2000, 1, 2), "2000-01-02"),
        (datetime.datetime(2000, 1, 2, 3), "2000-01-02T03:00:00"),
        (2**63 - 1, 2**63 - 1),
        (nested(MAX_DEPTH), nested(MAX_DEPTH)),
    ],
)
def test_values_become_plain_data(value: object, plain: object) -> None:
    assert plain_data(value, 1_000) == plain


@pytest.mark.parametrize(
    "value",
    [
        math.nan, [math.inf], {"a": -math.inf}, {math.nan: 1}, 2**63, -(10**5_000), "\ud800", {"\ud800": 1}, b"x", 1j,
        object(), len, int, ValueError("x"), {(1, 2): 3}, {1: 0, "1": 0}, nested(MAX_DEPTH + 1), nested(10_000),
        cycle(), shared(60), datetime.timedelta(1), ...,
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_json_cannot_carry_is_refused(value: object) -> None:
    with pytest.raises(ForeignValue):
        plain_data(value, 10_000)


def test_the_refusal_says_where() -> None:
    with pytest.raises(ForeignValue, match=r"^nan at \['rows'\]\[1\]$"):
        plain_data({"rows": [0, math.nan]}, 1_000)


@pytest.mark.parametrize(
    "value", ["x" * 101, [0] * 200, shared(25), "\x00" * 30, ["ab"] * 30, {"k" * 101: 1}], ids=range(6)
)
def test_what_would_be_too_long_is_refused_before_it_is_built(value: object) -> None:
    with pytest.raises(TooLarge):
        plain_data(value, 100)


def test_data_may_fill_its_limit_exactly() -> None:
    assert plain_data("x" * 98, 100) == "x" * 98
    assert plain_data([0] * 49, 99) == [0] * 49


@pytest.mark.parametrize(("text", "shown"), [("abc", "abc"), ("é" * 6, "é" * 3 + "…"), ("\ud800", "?")])
def test_texts_are_cut_between_characters(text: str, shown: str) -> None:
    assert cut(text, 10) == shown
    assert len(cut(text, 10).encode()) <= 10
