"""Programs that do harm, or would: each ends in one clear error, nothing leaks, and the next program runs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.host.programs import LIMITS, error_of, run

from tradefair.contract.errors import SHARED_CODES
from tradefair.host.sandbox.running import CodeLimits, CodeReport, Sandbox

HASTY = CodeLimits(seconds=0.3)
BILLION = "x = [0] * 1000\ny = [x] * 1000\nz = [y] * 1000\n"

ABUSE: list[tuple[str, str, str]] = [
    # program, code, a part of the message
    ("import pandas as pd", "code_error", "no module pandas"),
    ("import socket", "code_error", "no module socket"),
    ("def f():\n    import subprocess\nf()", "code_error", "line 2"),
    ("from os import system", "code_error", "line 1"),
    ("__import__('os')", "code_error", "__import__"),
    ("import os\nos.environ", "code_error", "line 2"),
    ("import os\nos.urandom(8)", "code_error", "line 2"),
    ("open('/etc/passwd').read()", "code_error", "PermissionError"),
    ("import pathlib\npathlib.Path('/etc').exists() or 1 / 0", "code_error", "line 2"),
    ("[].__class__.__mro__[1].__subclasses__()", "code_error", "AttributeError"),
    ("view_round.__globals__", "code_error", "AttributeError"),
    ("(lambda: 0).__code__", "code_error", "AttributeError"),
    ("globals()", "code_error", "NameError"),
    ("[1] * 10**10", "code_limit", "64 MiB"),
    ("try:\n  x = 'a' * 10**10\nexcept MemoryError: pass\n5", "code_limit", "64 MiB"),
    ("x = []\nwhile True: x.append('a' * 1_000_000 + str(len(x)))", "code_limit", "64 MiB"),
    ("9**9**9", "code_limit", "64 MiB"),
    ("10**5000", "code_error", "over 64 bits"),
    ("str(10**100000)", "code_error", "ValueError"),
    ("int('9' * 1_000_000)", "code_error", "ValueError"),
    ("f'{1:1000000000}'", "code_limit", "64 MiB"),
    ("def f(n): return f(n + 1)\nf(0)", "code_limit", "deeper than 200"),
    ("(" * 5000 + ")" * 5000, "code_error", "SyntaxError"),
    ("-" * 9000 + "1", "code_error", "SyntaxError"),
    ("eval('(' * 5000 + ')' * 5000)", "code_error", "SyntaxError"),
    ("import re\nre.match(r'(a*)*\\1$', 'a' * 3000 + 'b')", "code_error", "PatternError"),
    ("import re\nre.compile('(a{1000}){1000}')", "code_error", "PatternError"),
    ("print('x' * 10_000_000)", "code_limit", "printed more than 65536"),
    ("float('nan')", "code_error", "nan"),
    ("{'a': [1, float('-inf')]}", "code_error", "['a'][1]"),
    ("x = 0\nfor i in range(10_000): x = [x]\nx", "code_error", "32 levels"),
    ("x = []\nfor i in range(60): x = [x, x]\nx", "code_error", "32 levels"),
    (BILLION + "z", "code_limit", "more than 65536 bytes"),
    ("'x' * 10_000_000", "code_limit", "more than 65536 bytes"),
    ("[0] * 3_000_000", "code_limit", "64 MiB"),
    ("{1: 'a', '1': 'b'}", "code_error", "two keys"),
    ("class A:\n  pass\nA()", "code_error", "class A"),
    ("len", "code_error", "a function"),
    ("b'bytes'", "code_error", "bytes"),
    ("def f():\n  yield 1\nlist(f())", "code_error", "line 2"),
    ("raise ValueError('x' * 1_000_000)", "code_error", "ValueError: xxx"),
    ("raise ValueError('é' * 1_000_000)", "code_error", "ValueError: é"),
    ("raise SystemExit(3)", "code_error", ""),
    ("raise", "code_error", "RuntimeError"),
    ("submit_quote(price=3)", "code_error", "submit_quote"),
    ("while True:\n  try: submit_quote(3)\n  except NameError: pass", "code_limit", "too often"),
    ("for i in range(201): view_round()", "code_limit", "200 tool calls"),
    ("while True:\n  try: view_round()\n  except BaseException: pass", "code_limit", "200 tool calls"),
    ("view_prices(3)", "code_error", "invalid_arguments: market"),
    ("view_prices('corn', 1, 2)", "code_error", "3 positional arguments"),
    ("view_prices('corn', market='corn')", "code_error", "market given twice"),
    ("view_prices(market=float('nan'))", "code_error", "nan"),
    ("view_prices('x' * 1_000_000)", "code_error", "invalid_arguments"),
    (BILLION + "view_prices(z)", "code_error", "invalid_arguments"),
    ("sorted(NAMES, key=lambda name: view_prices(name)['prices'][0])", "code_error", "callback of sorted()"),
    ("def f(name): return view_prices(name)\nmax(NAMES, key=f)", "code_error", "view_prices cannot be called"),
    ("f(", "code_error", "line 1: SyntaxError"),
    ("\x00", "code_error", ""),
    ("# " + "x" * 20_000, "code_limit", "20000 characters"),
    # the way out: modules, processes, files, entropy
    ("import ctypes", "code_error", "no module ctypes"),
    ("import sys\nsys.modules", "code_error", "line 2"),
    ("import sys\nsys.exit(1)", "code_error", "line 2"),
    ("import os\nos.system('id')", "code_error", "line 2"),
    ("import os\nos.kill(os.getppid(), 9)", "code_error", "line 2"),
    ("import os\nos.listdir('/')", "code_error", "PermissionError"),
    ("with open('/tmp/x', 'w') as f: f.write('x')", "code_error", "PermissionError"),
    ("import threading\nthreading.Thread(target=view_round).start()", "code_error", "no module threading"),
    ("import multiprocessing", "code_error", "no module multiprocessing"),
    ("import importlib\nimportlib.import_module('os')", "code_error", "no module importlib"),
    ("import builtins\nbuiltins.open('/etc/hosts')", "code_error", "no module builtins"),
    ("import pickle\npickle.loads(b'cos\\nsystem\\n.')", "code_error", "no module pickle"),
    ("import urllib.request", "code_error", "no module urllib"),
    ("import signal\nsignal.alarm(0)", "code_error", "no module signal"),
    ("import gc\ngc.get_objects()", "code_error", "no module gc"),
    ("import inspect\ninspect.currentframe()", "code_error", "no module inspect"),
    ("eval(\"__import__('os').system('id')\")", "code_error", "NameError"),
    ("compile('1', 'x', 'exec')", "code_error", "NameError"),
    ("breakpoint()", "code_error", "NameError"),
    ("input()", "code_error", "NameError"),
    # walks over attributes
    ("getattr(view_round, '__self__')", "code_error", "AttributeError"),
    ("getattr('', '__class__').__base__", "code_error", "AttributeError"),
    ("'{0.__class__.__mro__}'.format(view_round)", "code_error", "AttributeError"),
    ("f'{view_round.__class__}'", "code_error", "AttributeError"),
    ("type(view_round).__mro__", "code_error", "AttributeError"),
    ("object.__subclasses__()", "code_error", "AttributeError"),
    ("setattr(view_round, 'x', 1)", "code_error", "AttributeError"),
    ("try: 1 / 0\nexcept ZeroDivisionError as e: e.__traceback__.tb_frame", "code_error", "line 2"),
    # memory
    ("[[]] * 10**8", "code_limit", "64 MiB"),
    ("'a' * 2**62", "code_limit", "64 MiB"),
    ("list(range(10**9))", "code_limit", "64 MiB"),
    ("{i: i for i in range(10**8)}", "code_limit", "64 MiB"),
    ("''.join('a' for _ in range(10**9))", "code_limit", "64 MiB"),
    ("'a'.ljust(10**11)", "code_limit", "64 MiB"),
    ("('a' * 10**6).replace('a', 'b' * 10**4)", "code_limit", "64 MiB"),
    ("import itertools\nlist(itertools.permutations(range(12)))", "code_limit", "64 MiB"),
    ("import random\nrandom.sample(range(10**12), 10**8)", "code_limit", "64 MiB"),
    # numbers
    ("1 << 10**10", "code_limit", "64 MiB"),
    ("pow(3, 10**9)", "code_limit", "64 MiB"),
    ("str(7 ** 10**6)", "code_error", "ValueError"),
    ("2 ** 0.5 ** -10000", "code_error", "OverflowError"),
    ("round(1e308 * 10)", "code_error", "OverflowError"),
    # recursion, and what nests
    ("def f(): f()\ntry: f()\nexcept RecursionError: f()", "code_limit", "deeper than 200"),
    ("import json\njson.loads('[' * 100000)", "code_error", "line 2"),
    ("x = []\nx.append(x)\nview_prices(x)", "code_error", "invalid_arguments"),
    # patterns
    ("import re\nre.compile('(' * 1000 + ')' * 1000)", "code_error", "PatternError"),
    ("import re\nre.compile('[' * 10**4)", "code_error", "PatternError"),
    # floods
    ("print(*range(10**6))", "code_limit", "printed more than 65536"),
    ("'a,' * 10**7", "code_limit", "more than 65536 bytes"),
    ("assert False, 'x' * 10**6", "code_error", "AssertionError"),
    ("[view_prices(m) for m in iter(lambda: 'corn', None)]", "code_limit", "200 tool calls"),
    # tools that are not there, or not like that
    ("submit_quote.__call__(price=1)", "code_error", "submit_quote"),
    ("execute_code(code='1')", "code_error", "NameError"),
    ("view_prices(*(['corn'] * 1000))", "code_error", "1000 positional arguments"),
    ('view_prices(market="corn\'; DROP TABLE events; --")', "code_error", "invalid_arguments"),
    ("refused(text='\\x00' * 1000)", "code_error", "unknown_id"),
    ("list(map(lambda m: view_prices(m), NAMES))", "code_error", "callback of map()"),
    # endings
    ("raise KeyboardInterrupt()", "code_error", "KeyboardInterrupt"),
    ("raise StopIteration", "code_error", "StopIteration"),
    ("await view_round()", "code_error", "TypeError"),
    ("\u202eprint(1)", "code_error", "SyntaxError"),
]
ENDLESS: list[tuple[str, str]] = [
    ("while True: pass", "ran longer than 0.3 s"),
    ("while True:\n  try:\n    while True: pass\n  except BaseException: pass", "ran longer"),
    ("import itertools\nsum(itertools.count())", "ran longer"),
    ("[x for x in iter(int, 1)]", ""),
    ("import hashlib\nhashlib.pbkdf2_hmac('sha256', b'a', b'b', 10**9)", "ran longer"),
    ("import math\nmath.comb(10**6, 5 * 10**5)", "ran longer"),
    ("x = 3 ** (2 * 10**7)\nx % (x - 1)", "ran longer"),  # one operation: the worker has to be killed
    ("while True: print('x' * 100)", "printed more than 65536"),
    ("import math\nmath.factorial(10**7)", "ran longer"),
]


@pytest.fixture(scope="module")
def hasty() -> Iterator[Sandbox]:
    """For programs that only a time limit ends."""
    with Sandbox(HASTY) as shared:
        yield shared


@pytest.mark.parametrize(("code", "expected", "part"), ABUSE, ids=[item[0][:48] for item in ABUSE])
def test_abuse_ends_in_one_clear_error_and_the_next_program_runs(
    sandbox: Sandbox, code: str, expected: str, part: str
) -> None:
    _expect_refusal(sandbox, code, expected, part)


@pytest.mark.parametrize(("code", "part"), ENDLESS, ids=[item[0][:48] for item in ENDLESS])
def test_an_endless_program_is_stopped_and_the_next_one_runs(hasty: Sandbox, code: str, part: str) -> None:
    _expect_refusal(hasty, code, "code_limit", part)


def _expect_refusal(sandbox: Sandbox, code: str, expected: str, part: str) -> None:
    report = run(sandbox, code)
    error = error_of(report)
    assert error.code == expected
    assert error.code in SHARED_CODES
    assert part in error.message
    assert error.hint
    assert error.retryable
    assert report.value is None
    for text in (error.message, error.hint):
        assert len(text.encode()) <= 2_048
        for foreign in (sys.prefix, str(Path.cwd()), "<python-input", "Traceback"):
            assert foreign not in text
    assert len(report.output.encode()) <= LIMITS.output_bytes
    assert report.inner_calls <= LIMITS.inner_calls
    assert run(sandbox, "print(view_round()['round'])\nFEE + 1") == CodeReport("3\n", 3, None, 1)


def test_harmless_looking_ways_out_lead_nowhere(sandbox: Sandbox) -> None:
    """What needs no error: the clock stands still, and what a program says of its tools changes nothing outside."""
    assert run(sandbox, "import time\ntime.sleep(60)") == CodeReport("", None, None, 0)
    assert run(sandbox, "def view_round(): return {'round': 99}\nview_round()") == CodeReport(
        "", {"round": 99}, None, 0
    )
    assert run(sandbox, "exec('import os')").error is None
    assert run(sandbox, "view_round()") == CodeReport("", {"round": 3}, None, 1)
    assert run(sandbox, "x = []\nx.append(x)\nprint(x)").output == "[[[...]]]\n"
    assert run(sandbox, "'\\ud800'").value == "\N{REPLACEMENT CHARACTER}"


def test_the_table_holds_at_least_a_hundred_programs_each_once() -> None:
    programs = [item[0] for item in (*ABUSE, *ENDLESS)]
    assert len(set(programs)) == len(programs) >= 100
