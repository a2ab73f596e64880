"""What people see of commands on terminals of three widths and in a pipe, through a real pseudo-terminal."""

from __future__ import annotations

import re
from collections.abc import Mapping

import pytest
from rich.cells import cell_len
from tests.cli.screens import MEDIA, SNAPSHOTS, by_command, screens
from tests.evaluation.verdict.cases import FORBIDDEN

# Some fifty commands at four widths, half a minute; texts of verdicts are compared in the default suite.

# Colours say how it stands and nothing else: bold, dim, reverse, red, green, and their ends.
_STYLES = {"0", "1", "2", "7", "31", "32"}
_CODE = re.compile(r"\x1b\[([0-9;]*)m")


@pytest.fixture(scope="module")
def coloured(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """All screens by medium, as a terminal with colours is sent them."""
    return screens(tmp_path_factory.mktemp("screens"))


@pytest.fixture(scope="module")
def plain(coloured: Mapping[str, str]) -> Mapping[str, str]:
    return {medium: _CODE.sub("", screen) for medium, screen in coloured.items()}


@pytest.mark.parametrize("medium", MEDIA)
def test_commands_print_what_they_always_did(plain: Mapping[str, str], medium: str) -> None:
    assert plain[medium] == (SNAPSHOTS / f"{medium}.txt").read_text(encoding="utf-8"), "make snapshots writes it anew"


@pytest.mark.parametrize("medium", MEDIA)
def test_no_line_is_wider_than_the_screen_or_ends_with_a_blank(plain: Mapping[str, str], medium: str) -> None:
    width = 80 if medium == "pipe" else int(medium)
    for command, lines in by_command(plain[medium]).items():
        assert [line for line in lines if cell_len(line) > width or line != line.rstrip()] == [], command


@pytest.mark.parametrize("medium", MEDIA)
def test_play_fits_a_screen_says_first_who_did_what_and_ends_with_what_to_do_next(
    plain: Mapping[str, str], medium: str
) -> None:
    played = {command: lines for command, lines in by_command(plain[medium]).items() if command.startswith("play ")}
    assert len(played) == 7
    for command, (*lines, end) in played.items():
        # Verdict, next steps and who played beside whom; the ledger's table stands between them where there is one.
        ledgers = [place for place, line in enumerate(lines) if line.startswith("turn ")]
        assert len(lines) <= (44 if ledgers else 20), command
        label = "openai_loop/openai:tiny " if "--base-url" in command else "policy:zip "
        assert label in " ".join(lines[:2])
        assert lines.count("") == 2 + len(ledgers)
        tables = [lines[place + 1].split()[:3] for place, line in enumerate(lines[:-1]) if not line]
        assert ["P1" if "--base-url" in command else "B1", "played", "by"] in tables
        assert any(line.startswith("next   tradefair ") for line in lines)
        # An agent of which nothing was carried out ends with 1.
        idle = command.endswith(("silent", "malformed", "unknown", "refused"))
        assert end == f"exit {int(idle)}", command


def test_first_screens_say_no_word_that_only_we_know(plain: Mapping[str, str]) -> None:
    screens = by_command(plain["80"])
    first = {command: lines for command, lines in screens.items() if command.split()[0] in ("play", "evaluate")}
    shown = {command: "\n".join(lines) for command, lines in first.items() if "--all" not in command}
    assert len(shown) == 11
    assert {command: FORBIDDEN.findall(text) for command, text in shown.items() if FORBIDDEN.search(text)} == {}


def test_a_pipe_is_a_terminal_of_80_columns_without_colour(coloured: Mapping[str, str]) -> None:
    assert "\x1b" not in coloured["pipe"]
    assert _CODE.sub("", coloured["80"]) == coloured["pipe"]


def test_colour_says_how_it_stands_and_nothing_else(coloured: Mapping[str, str]) -> None:
    assert {code for found in _CODE.findall(coloured["100"]) for code in found.split(";")} <= _STYLES
    shown = {command: "\n".join(lines) for command, lines in by_command(coloured["100"]).items()}
    red = {command for command, text in shown.items() if "\x1b[31m" in text}
    assert {command.split()[-1] for command in red} == {
        *("short.trace.jsonl", "failed", "silent", "malformed", "unknown", "refused", "late")
    }
    assert "\x1b[32mreproduced" in shown["verify one"]
