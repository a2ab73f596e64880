"""What to type in place of commands and options that an earlier version had; the rows stand in `former.toml`."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

ROWS = Path(__file__).with_name("former.toml")
_MAX_VALUE = 40


def former_command(words: Sequence[str]) -> str:
    """The sentence about the former command that `words` begin with, the longest such name; "" if there is none."""
    rows = _rows()
    names = list(takewhile(lambda word: not word.startswith("-"), words))
    for count in range(len(names), 0, -1):
        name = " ".join(names[:count])
        if name in rows:
            return f"`tradefair {name}` {rows[name]}"
    return ""


def former_of_usage(fault: Exception, arguments: Sequence[str]) -> str:
    """The sentence about the former option or command that a parser has refused; "" where it is of no former one.

    `arguments` are all that the parser was given.
    """
    # By its members, as the shell knows it: the parser has a copy of click of its own.
    context: Any = getattr(fault, "ctx", None)
    option: str = getattr(fault, "option_name", "")
    if context is None:
        return ""
    rows, paths = _rows(), list(_paths(context))
    if option:
        for rare in getattr(context.command, "rare", ()):
            if option in (*rare.opts, *rare.secondary_opts):
                return _rare_sentence(paths[0], option, rare, arguments)
        # A group's options may be typed behind its commands.
        found = next((path for path in paths if f"{path} {option}" in rows), "")
        if found:
            return _option_sentence(found, option, rows, arguments)
    # Of a group any word may be the command's name, as options may stand before it.
    below = arguments if hasattr(context.command, "commands") else arguments[:1]
    name = next((f"{paths[0]} {word}" for word in below if f"{paths[0]} {word}" in rows), "")
    return f"`tradefair {name}` {rows[name]}" if name else ""


def _rows() -> Mapping[str, str]:
    return tomllib.loads(ROWS.read_text(encoding="utf-8"))


def _paths(context: Any) -> Iterator[str]:
    """The name of a parser's command as it is typed behind `tradefair`, then those of the groups above it."""
    names: list[str] = []
    while context is not None:
        names.insert(0, context.info_name or "")
        context = context.parent
    for count in range(len(names), 0, -1):
        yield " ".join(names[:count]).removeprefix("tradefair ")


def _option_sentence(command: str, option: str, rows: Mapping[str, str], arguments: Sequence[str]) -> str:
    # Imported here: the shell's own help does without the contract.
    from tradefair.contract.text import clean_line, without_passwords

    text = rows[f"{command} {option}"]
    if "{value}" not in text:
        return f"tradefair {command}: `{option}` {text}"
    value = without_passwords(clean_line(_value(option, arguments)))[:_MAX_VALUE]
    return f"tradefair {command}: `{option} {value}` {text.replace('{value}', value)}"


def _rare_sentence(command: str, option: str, rare: Any, arguments: Sequence[str]) -> str:
    """Of an option that the file of `--config` alone takes: the line that belongs there."""
    import json

    from tradefair.cli.options_file import key_of
    from tradefair.contract.text import clean_line, without_passwords

    value = str(option in rare.opts).lower() if rare.is_flag else _value(option, arguments)
    value = without_passwords(clean_line(value))[:_MAX_VALUE]
    if not rare.is_flag:
        value = value if re.fullmatch(r"\d+(\.\d+)?", value) else json.dumps(value, ensure_ascii=False)
    line = f"{key_of(rare)} = {f'[{value}]' if rare.multiple else value}"
    file = f"`{line}` in FILE, and `tradefair {command} --config FILE`"
    return f"tradefair {command}: `{option}` stands in a file now: {file}"


def _value(option: str, arguments: Sequence[str]) -> str:
    """What was typed as the option's value, VALUE where nothing was."""
    for place, word in enumerate(arguments):
        if word.startswith(f"{option}="):
            return word.partition("=")[2]
        if word == option and place + 1 < len(arguments) and not arguments[place + 1].startswith("--"):
            return arguments[place + 1]
    return "VALUE"
