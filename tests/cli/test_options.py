"""Options that several commands share are spread over each command line as if they were its own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import pytest
import typer
from tests.cli.test_former import today
from typer.testing import CliRunner

from tradefair.cli import run
from tradefair.cli.invoke import invoke, parser_of
from tradefair.cli.options import PLAIN, SharedOptions, grouped
from tradefair.cli.options_file import CONFIGURED, configured
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
