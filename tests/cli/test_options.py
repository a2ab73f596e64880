"""Options that several commands share are spread over each command line as if they were its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pytest
import typer
from tests.cli.options_of import WATCHED, options_of
from typer.testing import CliRunner

from tradefair.cli import run
from tradefair.cli.options import PLAIN, SharedOptions, grouped
from tradefair.cli.table import COMMANDS

_KNOWN = json.loads((Path(__file__).parents[1] / "snapshots" / "options.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", WATCHED)
def test_a_command_takes_the_options_and_shows_the_texts_that_it_always_did(name: str) -> None:
    assert options_of(name) == _KNOWN[name]


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
