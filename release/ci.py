"""Everything that must hold, as a table of steps: `python -m release.ci` (`.ci/run`, `make ci`).

`--list` shows the steps, `--only NAME` and `--without NAME` choose among them. The last lines are a table of step,
result, tests, wall and CPU seconds; build/ci.json has the same. Nothing is cut short and nothing is left out in
silence: a program that is missing, a test that skips for a reason that `.ci/lacks.txt` does not name, a step past the
limit of the whole run are red. A test of a kind that depends on the machine and fails is run once more, alone: if it
passes it is `flaky`, and listed. More than three of those in a run are red, too.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from release import turns
from release.environment import python
from release.lacks import lacks, may_lack

ROOT = Path(__file__).resolve().parent.parent
FOLDER = Path("build", "ci")
DATA = ROOT.parent / "shared" / "data"
LIMIT_S = 87 * 60  # of the 90 minutes that a run may take
MOST_FLAKY = 3
WORKERS = os.environ.get("WORKERS", "2")
# Where pytest writes what became of its tests: tests/outcomes.py.
OUTCOMES = "OUTCOMES"

Command: TypeAlias = Sequence[str]


@dataclass(frozen=True)
class Step:
    """One row of the table: what it runs, in this order, and the programs without which that means nothing."""

    name: str
    does: str
    commands: Callable[[], Sequence[Command]]
    needs: tuple[str, ...] = ()
    second_try: bool = False
    """Whether its tests depend on the machine: one that fails is run again."""


@dataclass
class Result:
    """How a step went: `problems` is empty where it holds. Skipped tests are counted by reason."""

    step: str
    problems: list[str] = field(default_factory=list[str])
    passed: int = 0
    failed: list[str] = field(default_factory=list[str])
    flaky: list[str] = field(default_factory=list[str])
    skipped: Counter[str] = field(default_factory=Counter[str])
    wall_s: float = 0
    cpu_s: float = 0


# --- the steps ------------------------------------------------------------------------------------------------------


def pytest(*arguments: str, dist: str = "loadfile") -> Command:
    """A run of tests with the environment's Python. By default the tests of a file stay with one worker."""
    return (python(), "-m", "pytest", "-n", WORKERS, "--dist", dist, "--no-loadscope-reorder", *arguments)


def _of_kind(kind: str, does: str, *needs: str, second_try: bool = True) -> Step:
    # The longest files have nothing but such tests: they are shared out.
    dist = "worksteal" if kind == "many" else "loadfile"
    return Step(kind, does, lambda: [pytest("-m", kind, dist=dist)], needs, second_try)


def _make(*targets: str) -> Callable[[], Sequence[Command]]:
    return lambda: [("make", target) for target in targets]


def _unit() -> Sequence[Command]:
    """The command of the README; it is no command of Windows."""
    return [pytest("-m", "unit") if sys.platform == "win32" else ("make", "test")]


def _environment() -> Sequence[Command]:
    return [(sys.executable, "-m", "release.environment", "complete")]


def _wheel() -> Sequence[Command]:
    return [(python(), "-m", "release.wheel")]


def _model() -> Sequence[Command]:
    return [("make", "model"), (python(), "-m", "pytest", "-m", "model")]


STEPS: tuple[Step, ...] = (
    Step("environment", "one .venv, exactly that of constraints.txt", _environment),
    Step("static", "ruff, pyright, generated pages, shape, commits", _make("check"), ("git",)),
    Step("unit", "make test: what starts no process and opens no socket", _unit, ("data",)),
    _of_kind("process", "what starts processes", "data", "cc", "ssh-keygen"),
    _of_kind("network", "what opens sockets", "data", "postgresql"),
    _of_kind("browser", "what a person sees", "chromium"),
    _of_kind("many", "presets and properties at full length", "data", second_try=False),
    Step("wheel", "sdist and wheel; the wheel alone plays, evaluates, reports", _wheel),
    Step("shown", "the demo; the site with its notebooks", _make("demo", "docs")),
    Step("model", "a real model plays on this machine", _model),
    Step("turns", "hub packages and foreign clients, by the day or all", turns.commands, ("node", "npm"), True),
)


# --- what a machine has ---------------------------------------------------------------------------------------------


def has(program: str) -> bool:
    """Whether this machine has a program, or what stands for one here."""
    match program:
        case "data":
            return bool(os.environ.get("TRADEFAIR_DATA")) or DATA.is_dir()
        case "postgresql":
            return shutil.which("initdb") is not None or any(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        case "chromium":
            named = os.environ.get("TRADEFAIR_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
            return named is not None
        case _:
            return shutil.which(program) is not None


def _missing(step: Step) -> list[str]:
    """What a step needs and neither this machine has nor `.ci/lacks.txt` names."""
    return [f"{name} is missing on this machine" for name in step.needs if not has(name) and name not in lacks()]


# --- running --------------------------------------------------------------------------------------------------------


class Run:
    """One run over some steps, within one limit of time."""

    def __init__(self, root: Path | None = None, limit_s: float = LIMIT_S) -> None:
        self.results: list[Result] = []
        self._root = root or ROOT
        self._ends = time.monotonic() + limit_s

    @property
    def flaky(self) -> list[str]:
        """The tests that needed a second try, so far."""
        return [test for result in self.results for test in result.flaky]

    def take(self, step: Step) -> Result:
        """Carry out a step. Its output goes to the screen."""
        result = Result(step.name, _missing(step))
        self.results.append(result)
        begun = time.monotonic()
        if not result.problems:
            try:
                self._carry_out_all(step, result)
            except (OSError, subprocess.CalledProcessError) as error:
                result.problems.append(str(error))
        result.wall_s = time.monotonic() - begun
        return result

    def _carry_out_all(self, step: Step, result: Result) -> None:
        for number, command in enumerate(step.commands()):
            file = self._root / FOLDER / f"{step.name}-{number}.json"
            result.problems += self._carry_out(command, step, result, file)
            if result.problems:
                break

    def _carry_out(self, command: Command, step: Step, result: Result, file: Path) -> list[str]:
        code = self._spend(command, result, file)
        if not file.exists():
            return [] if code == 0 else [f"{' '.join(command[-4:])}: {_ended(code)}"]
        found = json.loads(file.read_text(encoding="utf-8"))
        result.passed += found["passed"]
        result.skipped.update(found["skipped"])
        problems = [f"skipped {count} times: {why}" for why, count in found["skipped"].items() if not may_lack(why)]
        # 1 is pytest's word for failed tests; every other way to fail has no second try.
        if code not in (0, 1) or found["broken"]:
            problems += [*found["broken"], f"pytest {_ended(code)}"]
        failed: list[str] = found["failed"]
        if not problems and step.second_try and 0 < len(failed) <= MOST_FLAKY - len(self.flaky):
            failed = [test for test in failed if not self._passes_alone(test, result, file.with_suffix(".again.json"))]
            result.flaky += [test for test in found["failed"] if test not in failed]
            result.passed += len(found["failed"]) - len(failed)
        result.failed += failed
        return problems + [f"failed: {test}" for test in failed]

    def _passes_alone(self, test: str, result: Result, file: Path) -> bool:
        print(f"\n--- once more, alone: {test}", flush=True)
        return self._spend((python(), "-m", "pytest", test), result, file) == 0

    def _spend(self, command: Command, result: Result, file: Path) -> int:
        """The exit code of a command; what it took is added to the result. Past the limit it is ended: 124."""
        print("+", *command, flush=True)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        variables = {**os.environ, OUTCOMES: str(file), "PYTHONUTF8": "1"}
        # Tests start hundreds of interpreters: without bytecode each of them compiles everything anew.
        variables.pop("PYTHONDONTWRITEBYTECODE", None)
        if DATA.is_dir():
            variables.setdefault("TRADEFAIR_DATA", str(DATA))
        before, late = _cpu_s(), False
        options: Any = {"cwd": self._root, "env": variables, "stdin": subprocess.DEVNULL, "start_new_session": True}
        child = subprocess.Popen(command, **options)
        try:
            child.wait(max(0.0, self._ends - time.monotonic()))
        except subprocess.TimeoutExpired:
            late = True
        finally:
            _end(child)
        result.cpu_s += _cpu_s() - before
        return 124 if late else child.returncode


def _end(child: subprocess.Popen[Any]) -> None:
    """End a command that still runs, with what it has started."""
    if child.poll() is None:
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)
        child.kill()
        child.wait()


def _cpu_s() -> float:
    """CPU seconds of all children so far, theirs included."""
    times = os.times()
    return times.children_user + times.children_system


def _ended(code: int) -> str:
    return "ended by the limit of the whole run" if code == 124 else f"ended with {code}"


# --- what is printed ------------------------------------------------------------------------------------------------


def table(results: Sequence[Result]) -> str:
    """Step, result, tests, wall and CPU seconds; then what was flaky, skipped or wrong."""
    lines = [f"{'step':<12} {'result':<7} {'passed':>7} {'skipped':>7} {'flaky':>5} {'wall s':>7} {'CPU s':>7}"]
    for row in results:
        result = "red" if row.problems else "green"
        counts = f"{row.passed:>7,} {row.skipped.total():>7} {len(row.flaky):>5}"
        lines.append(f"{row.step:<12} {result:<7} {counts} {row.wall_s:>7.0f} {row.cpu_s:>7.0f}")
    for row in results:
        lines += [f"flaky: {test}" for test in row.flaky]
        lines += [f"skipped {n} times: {why} (.ci/lacks.txt)" for why, n in row.skipped.items() if may_lack(why)]
        lines += [f"{row.step}: {problem}" for problem in row.problems]
    return "\n".join(lines)


def _totals(results: Sequence[Result]) -> dict[str, Any]:
    return {
        "steps": [{**vars(row), "result": "red" if row.problems else "green"} for row in results],
        "wall_s": sum(row.wall_s for row in results),
        "cpu_s": sum(row.cpu_s for row in results),
    }


def verdict(results: Sequence[Result], left_out: Sequence[str]) -> tuple[bool, str]:
    """Whether everything that ran holds, and the last line, which also says what did not run."""
    flaky = sum(len(row.flaky) for row in results)
    red = [row.step for row in results if row.problems]
    if flaky > MOST_FLAKY:
        red.append(f"{flaky} flaky tests, {MOST_FLAKY} at most")
    ran = {row.step for row in results}
    absent = [name for step in STEPS if step.name in ran for name in step.needs if not has(name)]
    parts = [f"red: {', '.join(red)}" if red else "green"]
    parts += [f"not everything: left out {', '.join(left_out)}"] if left_out else []
    parts += [f"this machine lacks {', '.join(dict.fromkeys(absent))}"] if absent else []
    return not red, "; ".join(parts)


def chosen(only: Sequence[str], without: Sequence[str]) -> list[Step]:
    """The steps of these names. Raises ValueError about a name that no step has."""
    names = [step.name for step in STEPS]
    unknown = sorted({*only, *without} - set(names))
    if unknown:
        raise ValueError(f"no step is named {', '.join(unknown)}; there are {', '.join(names)}")
    return [step for step in STEPS if (not only or step.name in only) and step.name not in without]


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out the chosen steps, all of them also after one that is red; 1 where one is, 2 for a wrong name."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="show the steps")
    parser.add_argument("--only", action="append", default=[], metavar="NAME", help="this step; may be repeated")
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="not this step")
    asked = parser.parse_args(arguments)
    if asked.list:
        print("\n".join(f"{step.name:<12} {step.does}" for step in STEPS))
        return 0
    try:
        steps = chosen(asked.only, asked.without)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    run = Run()
    for step in steps:
        print(f"\n=== {step.name}: {step.does}", flush=True)
        result = run.take(step)
        if result.problems and step.name == "environment":
            break
    well, last = verdict(run.results, [step.name for step in STEPS if step.name not in {r.step for r in run.results}])
    (ROOT / FOLDER).mkdir(parents=True, exist_ok=True)
    (ROOT / FOLDER).with_suffix(".json").write_text(json.dumps(_totals(run.results), indent=1), encoding="utf-8")
    passed, failed = sum(row.passed for row in run.results), sum(len(row.failed) for row in run.results)
    print(f"\n{table(run.results)}\n\ntests: {passed} passed, {failed} failed\n{last}")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
