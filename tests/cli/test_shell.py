from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import orjson
import pytest
from tests.waiting import LONG

from tradefair.catalog import scenario_ids
from tradefair.cli import run
from tradefair.cli.invoke import invoke
from tradefair.cli.table import COMMANDS, Command
from tradefair.contract import HarnessFailure, IllegalAction, ScenarioError, TraceError
from tradefair.contract.errors import StorageUnavailable


def _fresh(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LONG, check=True)
    return done.stdout


def test_the_table_holds_every_command_once() -> None:
    names = [command.name for command in COMMANDS]
    assert len(set(names)) == len(names)
    groups = [command.group for command in COMMANDS]
    assert sorted(groups, key=["Play", "Look", "Build", "Audit", "Studies"].index) == groups


def test_help_at_80_columns_says_every_word_in_full(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    wanted = {
        "play": ["--limit", "<provider>:<model>", "langchain_agent", "--config"],
        "gateway": ["openai:<model>", "local:FILE.gguf", "--config"],
    }
    for command, words in wanted.items():
        assert run([command, "--help"]) == 0
        shown = capsys.readouterr().out
        assert [word for word in words if word not in shown] == []
        assert "\u2026" not in shown
        assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], []])
def test_help_and_version_load_neither_parser_nor_packages(arguments: list[str]) -> None:
    heavy = ["typer", "rich", "pydantic", "orjson", "mcp", "numpy", "tradefair.contract", "tradefair.cli.former"]
    code = f"import sys; from tradefair.cli import run; run({arguments!r}); print(set({heavy!r}) & set(sys.modules))"
    assert _fresh(code).splitlines()[-1] == "set()"


def test_a_process_that_ends_looks_through_no_objects() -> None:
    # Handlers run after `main` has ended, before Python collects: what is frozen is not looked at.
    code = "import atexit, gc, sys; from tradefair.cli import main; sys.argv[1:] = ['--version']\n"
    code += "atexit.register(lambda: print(gc.get_freeze_count() > 1_000)); main()"
    assert _fresh(code).splitlines()[-1] == "True"


@pytest.mark.parametrize(("arguments", "group"), [(["--help"], ""), (["lab"], "lab "), (["lab", "--help"], "lab ")])
def test_help_lists_every_command_within_79_columns_and_59_lines(
    arguments: list[str], group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    wanted = [command for command in COMMANDS if command.name.startswith("lab ") == bool(group)]
    assert [f"  {command.name.removeprefix(group):<12} {command.help}" for command in wanted] == [
        line for line in lines if line.startswith("  ") and line[2].isalpha() and not line.startswith("  lab ")
    ]
    assert max(map(len, lines)) <= 79
    assert len(lines) <= 59
    headings = [line for line in lines if line.endswith(":")]
    assert headings == (["Studies:"] if group else ["Play:", "Look:", "Build:", "Audit:", "Studies:"])


def test_version_names_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("tradefair 0.")


@pytest.mark.parametrize(
    ("typed", "hint"),
    [("verfy", "verify"), ("shwo", "show"), ("xyzzy", "tradefair --help"), ("lab colusion", "collusion")],
)
def test_an_unknown_command_is_usage_with_a_suggestion(
    typed: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(typed.split()) == 2
    captured = capsys.readouterr()
    assert hint in captured.err
    assert captured.out == ""


@pytest.mark.parametrize("arguments", [["verify"], ["verify", "--no-such-option", "."], ["import", "nope", "--out"]])
def test_wrong_options_are_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    assert "Error" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (ScenarioError("first line\n  second line"), 2),
        (IllegalAction("wrong_phase", "not now"), 2),
        (TraceError("event 3"), 1),
        (HarnessFailure("ours"), 3),
        (StorageUnavailable("disk"), 3),
        (RuntimeError("a bug"), 3),
        (KeyboardInterrupt(), 130),
    ],
    ids=lambda given: type(given).__name__,
)
def test_errors_become_one_line_and_an_exit_code(
    error: BaseException, code: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise error

    failing: Any = SimpleNamespace(fail=fail)
    monkeypatch.setitem(sys.modules, "tradefair.failing", failing)
    assert invoke(Command("failing", "Test", "Fails.", "failing:fail"), []) == code
    lines = capsys.readouterr().err.splitlines()
    if isinstance(error, RuntimeError):
        # A message may quote a value of a trace.
        assert lines[-1] == "RuntimeError"
        assert "in fail" in lines[-3]
    elif not isinstance(error, KeyboardInterrupt):
        assert len(lines) == 1
        assert lines[0].startswith("tradefair failing: ")


def test_a_closed_pipe_is_no_error() -> None:
    script = f"{sys.executable} -m tradefair.cli show tools double_auction --json | head -c 10"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {script}"], capture_output=True, text=True, timeout=LONG, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_looking_around_prints_json(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    def printed(*arguments: str) -> Any:
        assert run([*arguments, "--json"]) == 0
        return orjson.loads(capsysbinary.readouterr().out)

    assert {"double_auction", "teaching"} <= {market["name"] for market in printed("show", "markets")}
    index = {market["market"]: market for market in printed("list")}
    assert index["teaching"] == {"market": "teaching", "policies": 3, "tools": 6, "presets": ["pie", "talk"]}
    assert list(index) == [market["name"] for market in printed("show", "markets")]
    scenarios = printed("show", "scenarios", "double_auction")
    assert printed("show", "scenarios") != scenarios
    presets = [row["id"] for row in scenarios]
    assert presets == sorted(presets)
    assert {f"double_auction/{name}" for name in ("bazaar", "duel", "large", "smoke")} <= set(presets)
    shown = printed("show", "scenarios", "double_auction/duel", "--set", "rounds=7")
    assert (shown["id"], shown["rounds"]) == ("double_auction/duel", 7)
    tools = {tool["name"]: tool for tool in printed("show", "tools", "double_auction")["tools"]}
    assert tools["submit_quote"]["input_schema"]["properties"]["price"]["maximum"] == 10_000
    assert "execute_code" in tools
    assert "truthful" in {policy["name"] for policy in printed("show", "policies", "double_auction")}
    (edgeworth,) = (row["takes"] for row in printed("show", "policies", "pricing") if row["name"] == "edgeworth")
    assert edgeworth[0] == {"name": "step", "default": 25, "type": "integer", "minimum": 1, "maximum": 1_000_000}


def test_every_bundled_scenario_can_be_played(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    for name in [*scenario_ids("teaching"), *scenario_ids("double_auction")]:
        assert run(["check", name, "--json"]) == 0
        assert orjson.loads(capsysbinary.readouterr().out) == [{"id": name, "problem": None}]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["show", "tools", "bargainin"], "there is no market 'bargainin'; did you mean bargaining?"),
        (["play", "teeching"], "did you mean teaching"),
        (["play", "teaching", "--scenario", "pye"], "there is no scenario 'teaching/pye'; did you mean teaching/pie?"),
        (["show", "scenarios", "double_auction/bazar"], "did you mean double_auction/bazaar?"),
        (["play", "teaching", "--others", "hlf"], "there is no policy 'hlf'; did you mean half?"),
        (["sweep", "double_auction/feild"], "did you mean double_auction/field or double_auction/field_small?"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(
    arguments: list[str], meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    assert meant in capsys.readouterr().err


@pytest.mark.parametrize(
    "line",
    [
        *("show tools nope", "show tools", "show scenarios duel --set rounds=7", "show scenarios double_auction/nope"),
        *("show scenarios nope", "check double_auction/nope", "check nope/duel"),
    ],
)
def test_unknown_names_say_what_there_is(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(line.split()) == 2
    assert "double_auction" in capsys.readouterr().err


def test_tables_are_printed_without_json(capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("markets", "tools teaching", "policies teaching", "scenarios teaching/pie"):
        assert run(["show", *line.split()]) == 0
        assert len(capsys.readouterr().out.splitlines()) > 2


@pytest.mark.parametrize("line", ["markets --tier first", "agents --json", "tools x --png a", "policies x --set a=1"])
def test_an_option_that_says_nothing_of_what_is_shown_is_refused(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", *line.split()]) == 2
    assert "it says nothing of" in capsys.readouterr().err


def test_a_scenario_file_is_checked_by_the_market_in_its_id(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('id = "teaching/mine"\ndescription = "Mine."\nrounds = 2\n')
    assert run(["check", str(file)]) == 0
    file.write_text('id = "teaching/mine"\ndescription = "Mine."\nroundz = 2\n')
    assert run(["check", str(file)]) == 1
    assert "did you mean rounds" in " ".join(capsys.readouterr().out.split())
