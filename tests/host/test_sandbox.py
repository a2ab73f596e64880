from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import orjson
import pytest
from pydantic import JsonValue
from tests.host.programs import LIMITS, answer, error_of, run
from tests.waiting import LONG

from tradefair.contract import HarnessFailure, IllegalAction
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS
from tradefair.host.sandbox.running import CodeLimits, InnerAnswer, Sandbox, ToolSignature

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
