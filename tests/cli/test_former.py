"""Every command and option of version 0.1.0 is there, or answers with what to type now."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from contextlib import redirect_stderr
from functools import cache
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from tradefair.cli import former, run
from tradefair.cli.invoke import app_of, parser_of
from tradefair.cli.options_file import key_of
from tradefair.cli.table import COMMANDS

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
