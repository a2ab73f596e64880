"""Options that several commands share are spread over each command line as if they were its own.

Also here:
- Every command and option of version 0.1.0 is there, or answers with what to type now.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import pytest
import typer
from typer.main import get_command
from typer.testing import CliRunner

from tradefair.cli import former, run
from tradefair.cli.invoke import app_of, invoke, parser_of
from tradefair.cli.options import PLAIN, SharedOptions, grouped
from tradefair.cli.options_file import CONFIGURED, configured, key_of
from tradefair.cli.table import COMMANDS, Command


@pytest.mark.parametrize("name", [command.name for command in COMMANDS])
def test_every_command_explains_itself_in_plain_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Groups too: a table that is drawn cuts words, and the parser's own offers to install completion work for none."""
    assert run([*name.split(), "-h"]) == 0
    shown = capsys.readouterr()
    assert f"Usage: tradefair {name}" in shown.out + shown.err
    assert "─" not in shown.out
    assert "-completion" not in shown.out


@dataclass(frozen=True)
class Flags:
    """A group."""

    market: Annotated[str, typer.Argument(help="Which.")] = ""
    seats: Annotated[list[str] | None, typer.Option("--seat", help="Whose.")] = None


@dataclass(frozen=True)
class Narrower(Flags):
    """One with another default."""

    market: Annotated[str, typer.Argument(help="Which.")] = "retail"


def test_a_group_reaches_the_command_as_one_record_between_its_other_parameters() -> None:
    app, given = typer.Typer(**PLAIN), list[tuple[Flags, int]]()

    @app.command()
    @grouped
    def command(flags: Narrower, count: int = 1) -> None:  # pyright: ignore[reportUnusedFunction]
        given.append((flags, count))

    for line in ([], ["teaching", "--count", "3", "--seat", "P1", "--seat", "P2"]):
        assert CliRunner().invoke(app, line).exit_code == 0
    assert given == [(Narrower("retail", None), 1), (Narrower("teaching", ["P1", "P2"]), 3)]


@pytest.mark.parametrize(
    "line",
    [
        ["--url", "http://a", "--json", "show", "--limit", "2"],
        ["show", "--url", "http://a", "--limit", "2", "--json"],
        ["show", "--limit", "2", "--url=http://a", "--json"],
    ],
)
def test_the_options_of_a_group_may_stand_behind_its_commands(line: list[str]) -> None:
    app, given = typer.Typer(cls=SharedOptions, **PLAIN), list[tuple[str, bool, int]]()
    told: list[tuple[str, bool]] = []

    @app.callback()
    def shared(url: str = "", as_json: Annotated[bool, typer.Option("--json")] = False) -> None:  # pyright: ignore[reportUnusedFunction]
        told.append((url, as_json))

    @app.command()
    def show(limit: int = 1) -> None:  # pyright: ignore[reportUnusedFunction]
        given.append((*told[-1], limit))

    assert CliRunner().invoke(app, line).exit_code == 0
    assert given == [("http://a", True, 2)]
    assert CliRunner().invoke(app, ["show", "--url"]).exit_code == 2


# --- options that stand in a file -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rare:
    """Options of a command, one of each kind."""

    seed: Annotated[int, typer.Option(min=1, max=9, help="Of all chance.")] = 7
    rate: Annotated[float, typer.Option(min=0.5)] = 1
    names: Annotated[list[str] | None, typer.Option("--name", help="Whose.")] = None
    shown: Annotated[bool, typer.Option("--show/--hide")] = True
    file: Annotated[Path | None, typer.Option("-f", "--file")] = None


def commanded(given: list[Rare]) -> Command:
    """A command whose option --seed stands on its line and in its file, and whose others stand in the file alone."""

    @configured("play", "rate name show file")
    def command(rare: Rare) -> None:
        given.append(rare)

    return SimpleNamespace(name="play", load=lambda: command)  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize(
    ("text", "line", "wanted"),
    [
        ("", [], Rare()),
        ("seed = 3\nrate = 2\nname = ['a']\nshow = false\nfile = 'x'", [], Rare(3, 2, ["a"], False, Path("x"))),
        ("seed = 3\nrate = 0.5", ["--seed", "4"], Rare(4, 0.5)),
        ("\ufeffname = []\r\nshow = true", [], Rare()),
    ],
)
def test_a_file_says_what_the_command_line_does_not(text: str, line: list[str], wanted: Rare, tmp_path: Path) -> None:
    given = list[Rare]()
    (tmp_path / "play.toml").write_bytes(text.encode())
    assert invoke(commanded(given), ["--config", str(tmp_path / "play.toml"), *line]) == 0
    assert given == [wanted]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("sed = 3", "sed: unknown key; did you mean seed? all: rate, name, show, file, seed"),
        ("seed = 0", "seed = 0: it should be at least 1"),
        ("seed = 10\nrate = 0", "seed = 10: it should be at most 9"),
        ("seed = '3'", "seed = '3': it should be a whole number"),
        ("seed = true", "seed = True: it should be a whole number"),
        ("rate = nan", "not valid TOML: a number or a nesting without end"),
        ("show = 1", "show = 1: it should be true or false"),
        ("name = 'a'", "name = 'a': it should be a list"),
        ("name = [1]", "name.0 = 1: it should be text"),
        ("file = 1", "file = 1: "),
        ("[seed]\nx = 1", "seed = {'x': 1}: it should be a whole number"),
        ("seed = ", "not valid TOML"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_before_anything_begins(
    text: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = list[Rare]()
    (tmp_path / "play.toml").write_text(text)
    assert invoke(commanded(given), ["--config", str(tmp_path / "play.toml")]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"tradefair play: {tmp_path}/play.toml: ")
    assert told in said
    assert given == []


def test_a_file_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(commanded([]), ["--config", str(tmp_path / "none.toml")]) == 2
    assert "none.toml: cannot be read: No such file or directory" in capsys.readouterr().err


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", CONFIGURED)
def test_a_printed_file_holds_every_option_and_the_defaults_of_the_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = f"{name.replace(' ', '-')}.toml"
    assert run(["config", file]) == 0
    printed = capsys.readouterr().out
    assert run(["config", "--write", file]) == 0
    assert Path(file).read_text(encoding="utf-8") == printed
    assert f"{file}: written; tradefair {name} --config {file}\n" == capsys.readouterr().out
    # What somebody has filled in is not written over.
    assert run(["config", "--write", file]) == 2
    parser = parser_of(name)
    keys = [line.split(" = ")[0].removeprefix("# ") for line in printed.splitlines() if re.match(r"# [a-z-]+ = ", line)]
    assert sorted(keys) == sorted(parser.in_file())
    # Every default that is printed is one that a file may hold.
    held = [line[2:] for line in printed.splitlines() if re.match(r"# [a-z-]+ = [^<]", line)]
    Path(file).write_text("\n".join(held), encoding="utf-8")
    line = {"fork": [file], "sweep": ["plan"]}.get(name, [])
    asked, plain = (parser.make_context(name, [*line, *words]).params for words in (["--config", file], []))
    assert {**asked, "config": None} == plain


def test_the_commands_that_take_a_file_are_those_that_say_so() -> None:
    told = [name for name, options in today().items() if "--config" in options]
    assert sorted(told) == sorted([*CONFIGURED, "config"])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["plai.toml"], "there is no file of options 'plai.toml'; did you mean play.toml"),
        (["play.toml", "--client", "zed"], "it takes no other option"),
        (["no/play.toml", "--write"], "no/play.toml: cannot be written: No such file or directory"),
    ],
)
def test_a_file_that_cannot_be_made_is_said(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", *words]) == 2
    assert told in capsys.readouterr().err


SNAPSHOT = Path(__file__).parents[1] / "snapshots" / "names_0_1_0.json"
NAMES: dict[str, list[str]] = json.loads(SNAPSHOT.read_text(encoding="utf-8"))
"""What `today()` was on the day of version 0.1.0. It is not written again."""
ROWS: dict[str, str] = tomllib.loads(former.ROWS.read_text(encoding="utf-8"))
PLANTED = """
"tally" = "is now `tradefair rate --score tally`"
"lab tides" = "left in 0.2"
"control halt" = "is now `tradefair control cancel`"
"control brief draft" = "left in 0.2"
"verify --deep" = "is always done"
"verify --max-events" = "is now `--limit events={value}`"
"control --secret" = "is now `--token-file {value}`"
"control create --colour" = "left in 0.2"
"""
IN_FILE = (
    "tradefair {command}: `{typed}` stands in a file now: `{line}` in FILE, and `tradefair {command} --config FILE`\n"
)


@cache
def today() -> dict[str, list[str]]:
    """The options of every command and group, by its name; an option with all its spellings: `-o, --output`."""
    return dict(name for command in COMMANDS for name in _names(command.name, get_command(app_of(command))))


def rare(name: str) -> dict[str, str]:
    """The spellings of the options that a command takes from a file alone, each with its key there."""
    options = getattr(parser_of(name), "rare", ()) if name in today() else ()
    return {spelling: key_of(option) for option in options for spelling in (*option.opts, *option.secondary_opts)}


def _names(name: str, command: Any) -> Iterator[tuple[str, list[str]]]:
    options = [item for item in command.params if item.param_type_name == "option"]
    yield name, [", ".join([*item.opts, *item.secondary_opts]) for item in options]
    for below, found in getattr(command, "commands", {}).items():
        yield from _names(f"{name} {below}", found)


def answered(*words: str) -> str:
    """What a command line that is refused as usage says."""
    told = StringIO()
    with redirect_stderr(told):
        assert run(words) == 2
    return told.getvalue()


def is_answered(name: str, *, option: str = "") -> bool:
    """Whether the row of a name, or of a group that it stood in, is what its command line prints.

    Of an option that a file alone takes now: the line that belongs there.
    """
    told = answered(*name.split(), *([option] if option else []))
    if option in rare(name):
        return f"`{rare(name)[option]} = " in told and f"`tradefair {name} --config FILE`" in told
    rows = [row for row in ROWS if f"{name} {option} ".startswith(f"{row} ")]
    return any(ROWS[row].partition("{value}")[0] in told for row in rows)


def test_the_snapshot_holds_all_commands_and_options_of_its_version() -> None:
    leaves = [name for name in NAMES if not any(other.startswith(f"{name} ") for other in NAMES)]
    options = [option for options in NAMES.values() for option in options if not option.endswith("-completion")]
    assert (len(leaves), len(options)) == (66, 425)


@pytest.mark.parametrize("name", NAMES)
def test_a_former_command_is_there_or_says_what_to_type(name: str) -> None:
    assert name in today() or is_answered(name)


def test_a_former_option_is_there_or_says_what_to_type() -> None:
    silent: list[str] = []
    for name, options in NAMES.items():
        known = {spelling for option in today().get(name, []) for spelling in option.split(", ")}
        spellings = {spelling for option in options for spelling in option.split(", ")}
        # Of a command that has left one is enough: its options are not looked at.
        gone = sorted(spellings - known) if name in today() else sorted(spellings)[:1]
        silent += [f"{name} {option}" for option in gone if not is_answered(name, option=option)]
    assert silent == []


def test_every_row_is_a_name_of_the_snapshot_that_is_no_longer_there() -> None:
    def names(held: dict[str, list[str]]) -> set[str]:
        options = {f"{name} {spelling}" for name in held for option in held[name] for spelling in option.split(", ")}
        return {*held, *options}

    assert set(ROWS) - names(NAMES) == set()
    assert set(ROWS) & names(today()) == set()


@pytest.mark.parametrize("row", ROWS)
def test_a_row_names_commands_and_options_that_exist(row: str) -> None:
    for line in re.findall(r"`tradefair ([^`]+)`", ROWS[row]):
        words = line.split()
        name = next(" ".join(words[:count]) for count in (3, 2, 1) if " ".join(words[:count]) in today())
        known = {spelling for option in today()[name] for spelling in option.split(", ")}
        assert {word for word in words if word.startswith("-")} <= known, line


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("tally", "`tradefair tally` is now `tradefair rate --score tally`\n"),
        ("tally runs --json", "`tradefair tally` is now `tradefair rate --score tally`\n"),
        ("tally --help", "`tradefair tally` is now `tradefair rate --score tally`\n"),
        ("lab tides", "`tradefair lab tides` left in 0.2\n"),
        ("lab tides high --at noon", "`tradefair lab tides` left in 0.2\n"),
        ("tides", "`tradefair lab tides` left in 0.2\n"),
        ("control halt 3", "`tradefair control halt` is now `tradefair control cancel`\n"),
        ("control --url http://a halt 3", "`tradefair control halt` is now `tradefair control cancel`\n"),
        ("control halt --help", "`tradefair control halt` is now `tradefair control cancel`\n"),
        ("verify --deep", "tradefair verify: `--deep` is always done\n"),
        ("verify a.trace --chain --deep", "tradefair verify: `--deep` is always done\n"),
        ("verify --max-events 5 a.trace", "tradefair verify: `--max-events 5` is now `--limit events=5`\n"),
        ("verify a.trace --max-events=5", "tradefair verify: `--max-events 5` is now `--limit events=5`\n"),
        ("verify a.trace --max-events", "tradefair verify: `--max-events VALUE` is now `--limit events=VALUE`\n"),
        ("verify --max-events --chain", "tradefair verify: `--max-events VALUE` is now `--limit events=VALUE`\n"),
        ("control create teaching --colour red", "tradefair control create: `--colour` left in 0.2\n"),
        ("control create --secret k", "tradefair control: `--secret k` is now `--token-file k`\n"),
        ("play teaching --trials 3", IN_FILE.format(command="play", typed="--trials", line="trials = 3")),
        ("play --no-open", IN_FILE.format(command="play", typed="--no-open", line="open = false")),
        ("sweep --store=pg", IN_FILE.format(command="sweep", typed="--store", line='store = "pg"')),
        (
            "control --url http://a create --ttl",
            IN_FILE.format(command="control create", typed="--ttl", line='ttl = "VALUE"'),
        ),
        ("control --secret=k status", "tradefair control: `--secret k` is now `--token-file k`\n"),
    ],
)
def test_a_former_name_answers_wherever_it_stands(
    line: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "former.toml"
    rows.write_text(PLANTED, encoding="utf-8")
    monkeypatch.setattr(former, "ROWS", rows)
    assert answered(*line.split()) == told


def test_a_value_is_repeated_short_without_password_and_as_nothing_that_a_terminal_obeys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = tmp_path / "former.toml"
    rows.write_text(PLANTED, encoding="utf-8")
    monkeypatch.setattr(former, "ROWS", rows)
    assert "hunter2" not in answered("verify", "--max-events", "postgresql://me:hunter2@db/m")
    told = answered("verify", "--max-events", "\x1b[31m" + "9" * 5_000)
    assert "\x1b" not in told
    assert len(told) < 200


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("evaluat", "did you mean evaluate"),
        ("lab colusion", "did you mean collusion"),
        ("verify --deap", "No such option: --deap"),
        ("verify --chian", "--chain"),
        ("control hlat", "No such command 'hlat'"),
    ],
)
def test_a_name_that_never_was_is_answered_as_before(line: str, told: str) -> None:
    assert told in answered(*line.split())
