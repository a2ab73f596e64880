"""The options and arguments that commands take, as people are told of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from typer.main import get_command

from tradefair.cli.invoke import app_of
from tradefair.cli.table import command_named

WATCHED = (*("play", "sweep", "fork", "serve", "host", "control", "config", "gateway", "env"),)


def options_of(name: str) -> list[str]:
    """What `--help` says of every parameter, `names: help`; of a group's commands too, each text once."""
    command = command_named(name)
    assert command is not None
    return sorted(set(_lines(get_command(app_of(command)))))


def _lines(command: Any) -> Iterator[str]:
    context = command.make_context(command.name or "", [], resilient_parsing=True)
    for parameter in command.params:
        names, text = parameter.get_help_record(context)
        yield f"{names}: {text}"
    for below in getattr(command, "commands", {}).values():
        yield from _lines(below)
