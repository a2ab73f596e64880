from __future__ import annotations

import pytest

from tradefair.host.sandbox.lint import AVAILABLE, CodeRefused, prepare

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
