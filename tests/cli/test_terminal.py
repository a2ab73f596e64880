"""Text that reaches a terminal: whatever a trace, a model or a client says, no byte of it steers the terminal."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any, cast

import orjson
import pytest
from rich.progress import Progress
from rich.table import Table
from rich.text import Text
from tests.evaluation.mutations import parts_of, write_parts
from tests.outside import on_terminal

from tradefair.cli import run
from tradefair.cli.console import Console
from tradefair.cli.tables import figures, names, show_table
from tradefair.cli.terminal import fault_text, print_json, say, tell
from tradefair.contract import TraceError
from tradefair.contract.text import clean, clean_json, clean_line

# Written out once more: the list of the design, by ranges.
UNSEEN = [
    *range(0x00, 0x09),
    *range(0x0B, 0x20),
    *range(0x7F, 0xA0),
    0x061C,
    0x200B,
    0x200C,
    0x200E,
    0x200F,
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    0xFEFF,
    *range(0xFFF9, 0xFFFC),
    *range(0xD800, 0xE000),
    *range(0xE0000, 0xE0080),
]
EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\u2066\u200b\ufeff\U000e0041[red]漢😀"
RAW = re.compile("[" + "".join(chr(code) for code in UNSEEN if not 0xD800 <= code < 0xE000) + "]")
SHOWN = r"\x1b[2J\x1b]0;owned\x07\x9b31m\u202egnp\u2066\u200b\ufeff\U000e0041[red]漢😀"


def test_exactly_the_listed_characters_become_visible() -> None:
    changed = [code for code in range(0x110000) if clean(chr(code)) != chr(code)]
    assert changed == sorted(UNSEEN)
    assert clean(EVIL) == SHOWN
    assert clean(SHOWN) == SHOWN
    assert clean_line("a\n\tb\x0cc") == r"a b\x0cc"


def test_json_means_the_same_with_every_such_character_as_an_escape() -> None:
    value = {"text": "".join(chr(code) for code in UNSEEN if not 0xD800 <= code < 0xE000) + "\n漢😀"}
    shown = clean_json(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
    assert json.loads(shown) == value
    assert not RAW.search(shown)
    assert "漢😀" in shown


def _table(cell: str) -> Table:
    table = Table("column", "next")
    table.add_row(cell, "last")
    return table


@pytest.mark.parametrize("kind", ["string", "text", "table", "progress", "own table"])
def test_whatever_is_printed_comes_out_harmless_and_coloured(
    kind: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "200")
    console = Console()
    if kind == "progress":
        with Progress(console=console) as progress:
            progress.add_task(EVIL)
    elif kind == "own table":
        show_table(console, [*names("name"), *figures("figure")], [[Text(EVIL, "red"), EVIL]])
    else:
        console.print({"string": EVIL, "text": Text(EVIL), "table": _table(EVIL)}[kind], style="red")
    shown = capsys.readouterr().out
    # rich drops the bell of a `Text` by itself, and cuts the title of a task where it was measured.
    seen, expected = (text.replace("\\x07", "") for text in (shown, SHOWN))
    assert (expected if kind != "progress" else expected[:10]) in seen
    # What is left are rich's own codes: colours, and what a live display moves by.
    assert not RAW.search(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", shown))
    assert "\x1b[" in shown
    assert not any(code in shown for code in ("\x1b[2J", "\x1b]0", "\x9b"))


def _refuse_number() -> None:
    try:
        int(EVIL)
    except ValueError as error:
        raise TraceError(EVIL) from error


def test_lines_and_faults_come_out_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    say(EVIL)
    tell(EVIL)
    assert capsys.readouterr() == (SHOWN + "\n", SHOWN + "\n")
    with pytest.raises(TraceError) as caught:
        _refuse_number()
    shown = fault_text(caught.value)
    # Python's message would quote the value; our own sentences are made to be shown.
    assert [line for line in shown.splitlines() if "Error" in line and "raise" not in line] == [
        "ValueError",
        f"TraceError: {SHOWN}",
    ]


def test_a_pipe_gets_json_as_it_is(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    print_json({"text": EVIL})
    sys.stdout.flush()
    assert json.loads(capfdbinary.readouterr().out) == {"text": EVIL}


# --- real commands over a hostile trace -------------------------------------------------------------------------------

_WORDS = {"label", "text", "message", "policy", "hint", "reason", "end_reason", "thought", "client"}
_PROGRAM = """
import sys
from tradefair.cli import run
for line in sys.stdin.read().splitlines():
    run(line.split("\\t"))
    print("----", flush=True)
"""


def _poisoned(value: Any, keys: set[str], key: str = "") -> Any:
    """`value` with hostile text behind every text under one of `keys`, and behind all texts of `labels`."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        return {name: _poisoned(inner, keys, "label" if key == "labels" else name) for name, inner in fields.items()}
    if isinstance(value, list):
        return [_poisoned(inner, keys, key) for inner in cast("list[Any]", value)]
    return f"{value}{EVIL}" if key in keys and isinstance(value, str) else value


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three traces whose chains hold: hostile words, also tools and seats, also the name of the market."""
    folder = tmp_path_factory.mktemp("hostile")
    told = ["--model", "policy:linear_concession", "--no-references", "--seed", "7", "--out", str(folder / "base")]
    assert run(["play", "bargaining", "--scenario", "smoke", *told]) == 0
    (base,) = (folder / "base").glob("*.trace")
    parts = parts_of(base)
    for place, keys in enumerate((_WORDS, _WORDS | {"tool", "seat"}, _WORDS)):
        changed = parts.copy()
        changed.bodies = [orjson.dumps(_poisoned(orjson.loads(body), keys)) for body in parts.bodies]
        changed.about = _poisoned(parts.about, keys)
        if place == 2:
            changed.core = orjson.dumps(_poisoned(orjson.loads(parts.core), {"market", "id"}))
        write_parts(changed, folder / f"evil{place}.trace")
    return folder


def _seen(lines: list[str], folder: Path, program: str = _PROGRAM) -> str:
    """What a terminal is sent by these command lines."""
    command = [sys.executable, "-c", program]
    # Without colours: whatever control code appears is a stranger's.
    return on_terminal(command, folder, {"TERM": "dumb", "COLUMNS": "150"}, given="\n".join(lines), raw=True)[1]


def test_a_hostile_trace_leaves_no_raw_control_character_on_a_terminal(hostile: Path) -> None:
    commands = [
        command.replace(" ", "\t")
        for name in ("evil0.trace", "evil1.trace", "evil2.trace")
        for command in (
            f"verify {name}",
            f"verify {name} --json",
            f"evaluate {name}",
            f"evaluate {name} --all",
            f"evaluate {name} --json",
            f"trace {name} summary",
            f"trace {name} calls",
            f"trace {name} calls --json",
            f"trace {name} show 2",
            f"trace {name} show 4",
            f"report {name} -o {name}.html",
            f"report {name} -o {name}.html --json",
            f"export {name}",
        )
    ]
    commands += ["compare\tevil0.trace\tbase", "compare\tevil0.trace\tbase\t--json", "rate\t.", f"verify\tno{EVIL}"]
    # Each alone: a fault of one must not hide what another one prints.
    shown = _seen(commands, hostile)
    assert shown.count("----") == len(commands)
    # The progress of `report` begins its line anew.
    left = shown.replace("\r\x1b[K", "")
    assert RAW.findall(left) == []
    # The hostile words were there: as escapes, by tables and in JSON.
    assert r"\x1b[2J" in left
    assert r"\u001b[2J" in left
    assert "Traceback" not in left


def test_without_the_cleaning_the_same_commands_let_control_characters_through(hostile: Path) -> None:
    switched_off = "from tradefair.cli import console, tables, terminal\n"
    switched_off += "terminal.clean = console.clean = tables.clean = terminal.clean_json = str\n"
    for command in ("evaluate\tevil0.trace\t--all", "evaluate\tevil0.trace\t--json"):
        assert RAW.search(_seen([command], hostile, switched_off + _PROGRAM)), command
