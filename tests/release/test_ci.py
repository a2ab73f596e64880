"""The table of steps: what is red, what gets a second try, what may be missing, and what the last lines say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from release.ci import Result, Run, Step, table, verdict
from release.lacks import lacks
from tests.kinds import ORDER
from tests.waiting import until

from release import ci, turns
from release import lacks as lacks_module

ROOT = Path(__file__).resolve().parents[2]
_CONFTEST = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.outcomes import gather as pytest_configure
"""
# Fails once, then passes: what a busy machine does to a test.
_FLAKY = """
def test_{0}():
    import pathlib
    path = pathlib.Path("{0}")
    seen = path.exists()
    path.touch()
    assert seen
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "conftest.py").write_text(_CONFTEST, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return tmp_path


def taken(folder: Path, text: str, *, second_try: bool = True, needs: tuple[str, ...] = ()) -> Result:
    """The result of a step that runs a file of tests."""
    (folder / "test_planted.py").write_text(text, encoding="utf-8")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_planted.py")
    return Run(folder).take(Step("planted", "", lambda: [command], needs, second_try))


def test_a_test_that_fails_once_is_flaky_and_listed(folder: Path) -> None:
    result = taken(folder, "def test_well(): pass\n" + _FLAKY.format("shaky"))
    assert (result.problems, result.flaky, result.passed) == ([], ["test_planted.py::test_shaky"], 2)
    assert "flaky: test_planted.py::test_shaky" in table([result])
    assert verdict([result], [])[0]


def test_a_test_that_fails_twice_is_red(folder: Path) -> None:
    result = taken(folder, "def test_broken(): assert False\n" + _FLAKY.format("shaky"))
    assert result.problems == ["failed: test_planted.py::test_broken"]
    assert result.flaky == ["test_planted.py::test_shaky"]


def test_more_than_three_flaky_tests_are_red(folder: Path) -> None:
    four = taken(folder, "".join(_FLAKY.format(f"shaky{number}") for number in range(4)))
    assert len(four.problems) == 4
    results = [Result("process", flaky=["a", "b"]), Result("network", flaky=["c", "d"])]
    assert verdict(results, []) == (False, "red: 4 flaky tests, 3 at most")


def test_where_nothing_depends_on_the_machine_there_is_no_second_try(folder: Path) -> None:
    result = taken(folder, _FLAKY.format("shaky"), second_try=False)
    assert result.problems == ["failed: test_planted.py::test_shaky"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("import absent_module\n", "cannot be collected"),
        ("def test_gone():\n    import os; os._exit(3)\n", "ended with 3"),
        ("import pytest\ndef test_left(): pytest.skip('no time today')\n", "skipped 1 times: no time today"),
        ("", "pytest ended with 5"),
    ],
)
def test_every_other_way_to_fail_is_red(folder: Path, text: str, problem: str) -> None:
    result = taken(folder, text)
    assert [line for line in result.problems if problem in line], result.problems
    assert not result.flaky


def test_what_a_machine_may_lack_is_skipped_and_said(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "lacks.txt"
    listed.write_text("# why\nany: no loom\nsome other system: no time\n", encoding="utf-8")
    monkeypatch.setattr(lacks_module, "LACKS", listed)
    assert lacks() == ["no loom"]
    skips = "import pytest\ndef test_well(): pass\ndef test_left(): pytest.skip('There is no loom here')\n"
    result = taken(folder, skips)
    assert result.problems == []
    assert "skipped 1 times: There is no loom here (.ci/lacks.txt)" in table([result])


def test_a_missing_program_makes_its_step_red_unless_it_is_listed(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert taken(folder, "def test_well(): pass\n", needs=("a-loom",)).problems == ["a-loom is missing on this machine"]
    listed = tmp_path / "lacks.txt"
    listed.write_text("any: a-loom\n", encoding="utf-8")
    monkeypatch.setattr(lacks_module, "LACKS", listed)
    assert taken(folder, "def test_well(): pass\n", needs=("a-loom",)).problems == []


def test_without_a_browser_the_step_of_browsers_is_red(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("TRADEFAIR_CHROMIUM", raising=False)
    (step,) = ci.chosen(["browser"], [])
    result = Run().take(step)
    assert result.problems == ["chromium is missing on this machine"]
    assert verdict([result], []) == (False, "red: browser; this machine lacks chromium")


def _has_ended(process: int) -> bool:
    """Whether a process is gone, or only waits for somebody to ask how it ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


def test_a_step_past_the_limit_is_red_and_leaves_nothing_behind(tmp_path: Path) -> None:
    mark = tmp_path / "running"
    program = f"import os, pathlib, time; pathlib.Path({str(mark)!r}).write_text(str(os.getpid())); time.sleep(600)"
    inner = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {program!r}])"
    run = Run(tmp_path, limit_s=2)
    result = run.take(Step("long", "", lambda: [(sys.executable, "-c", inner), ("true",)]))
    assert [line for line in result.problems if "ended by the limit of the whole run" in line]
    if mark.exists():
        until(lambda: _has_ended(int(mark.read_text())), "the process has ended")


def test_what_is_left_out_stands_in_the_last_line() -> None:
    assert verdict([Result("unit")], ["browser"]) == (True, "green; not everything: left out browser")
    assert verdict([Result("unit", ["failed: a"])], [])[1] == "red: unit"


def test_a_name_that_no_step_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert ci.main(["--only", "everything"]) == 2
    assert capsys.readouterr().err.startswith("no step is named everything; there are environment, static, unit")


def test_steps_are_chosen_by_name_and_all_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [step.name for step in ci.chosen(["unit", "many"], ["many"])] == ["unit"]
    assert ci.main(["--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [step.name for step in ci.STEPS]


def test_a_run_ends_with_its_table_and_leaves_it_as_a_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    text = "import pytest\ndef test_well(): pass\ndef test_left(): pytest.skip('pdflatex is not installed')\n"
    (folder / "test_planted.py").write_text(text, encoding="utf-8")
    command = (sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_planted.py")
    monkeypatch.setattr(ci, "ROOT", folder)
    monkeypatch.setattr(ci, "STEPS", (Step("planted", "", lambda: [command]), Step("other", "", lambda: [command])))
    assert ci.main(["--without", "other"]) == 0
    *_, tests, last = capfd.readouterr().out.splitlines()
    assert (tests, last) == ("tests: 1 passed, 0 failed", "green; not everything: left out other")
    (step,) = json.loads((folder / "build" / "ci.json").read_text(encoding="utf-8"))["steps"]
    assert (step["result"], step["passed"], step["skipped"]) == ("green", 1, {"pdflatex is not installed": 1})


def test_every_kind_of_test_has_its_step() -> None:
    steps = [step for step in ci.STEPS if step.name not in ("turns", "environment")]
    ran = " ".join(word for step in steps for word in step.commands()[-1])
    assert [kind for kind in ORDER if kind not in ("unit", "interop") and f"-m {kind}" not in ran] == []


# --- by turns -------------------------------------------------------------------------------------------------------


def test_a_change_of_what_others_meet_tries_all_of_them() -> None:
    assert turns.all_of_them(["docs/index.md", "mcp_servers/tradefair/retail/rules.py"]) is False
    for file in ("environments/trl/README.md", "tests/interop/page.py", "mcp_servers/tradefair/host/server/wire.py"):
        assert turns.all_of_them(["docs/index.md", file]), file


def test_over_a_year_everything_has_its_turn() -> None:
    groups = ["a", "b", "c"]
    assert {turns.of_the_day(groups, day) for day in range(1, 4)} == set(groups)
    ids = ["tests/interop/test_stacks.py::t[mcp 1-stdio]", "tests/interop/test_stacks.py::t[mcp 1-http]"]
    assert {turns.group_of(test) for test in ids} == {"tests/interop/test_stacks.py::t[mcp 1]"}
    assert turns.group_of("tests/interop/test_board.py::test_a") == "tests/interop/test_board.py"


def test_the_change_is_what_origin_has_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*words: str, day: int) -> None:
        stamp = f"2026-01-{day:02d}T00:00:00 +0000"
        names = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        dates = {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        variables = {**os.environ, **names, **dates}
        subprocess.run(("git", *words), cwd=tmp_path, check=True, capture_output=True, env=variables)

    monkeypatch.setattr(turns, "ROOT", tmp_path)
    assert turns.changed() == []
    git("init", "-q", day=1)
    for day, name in ((1, "old"), (9, "yesterday"), (10, "today")):
        (tmp_path / name).touch()
        git("add", name, day=day)
        git("commit", "-qm", name, day=day)
    assert turns.changed() == []
    git("update-ref", "refs/remotes/origin/main", "HEAD~2", day=10)
    assert turns.changed() == ["today", "yesterday"]
