"""Carrying out one command: import it, parse its options with typer, turn errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.main import get_command

from tradefair.cli import FINDINGS, HARNESS_FAILURE, INTERRUPTED, USAGE
from tradefair.cli.logs import log_to_stderr
from tradefair.cli.options import PLAIN
from tradefair.cli.options_file import ConfiguredCommand
from tradefair.cli.table import Command, command_named
from tradefair.cli.terminal import fault_text, say
from tradefair.contract import HarnessFailure, TraceError, TradefairError
from tradefair.contract.errors import StorageUnavailable, in_plain_words
from tradefair.contract.text import clean, clean_line, without_passwords


def invoke(command: Command, arguments: Sequence[str]) -> int:
    """Run `command`; its exit code. Errors of the TradefairError tree become one line on stderr.

    A provider's or the storage's failure gives 3, a trace's 1, a wrong request 2. A fault of ours shows where it
    happened.
    """
    try:
        # Every command: what nobody handles is printed by Python's last resort, raw and with values.
        log_to_stderr()
        # Off: typer would print errors its own way and leave the process.
        code = app_of(command)(list(arguments), prog_name=f"tradefair {command.name}", standalone_mode=False)
        # Here, where a reader that has gone is still caught below.
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except TradefairError as error:
        say(f"tradefair {command.name}: {without_passwords(clean_line(str(error)))}")
        return _exit_code(error)
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as fault:
        return _usage_or_fault(fault, arguments)


def app_of(command: Command) -> typer.Typer:
    """The command as a parser of its options and arguments; a group as it is.

    The help text is the docstring of the command's function.
    """
    target = command.load()
    if isinstance(target, typer.Typer):
        return target
    app = typer.Typer(**PLAIN)
    app.command(help=target.__doc__, cls=ConfiguredCommand)(target)
    return app


def parser_of(name: str) -> Any:
    """The parser of the command that is called so, `play` or `control create`."""
    group, _, below = name.partition(" ")
    command = command_named(name) or command_named(group)
    assert command is not None, name
    parser: Any = get_command(app_of(command))
    return parser if command.name == name else parser.commands[below]


def _exit_code(error: TradefairError) -> int:
    """3 for what a provider, storage or the machine did, 1 for a trace, 2 for what was asked for."""
    if isinstance(error, HarnessFailure | StorageUnavailable):
        return HARNESS_FAILURE
    return FINDINGS if isinstance(error, TraceError) else USAGE


def _usage_or_fault(fault: Exception, arguments: Sequence[str]) -> int:
    """What the parser refuses shows itself and is a matter of usage; anything else is our fault.

    Returns the exit code: 2 for usage, 3 for a fault.
    """
    show = getattr(fault, "show", None)
    # By its members and not by its class: typer has a copy of click of its own.
    if callable(show) and hasattr(fault, "exit_code"):
        # Imported here: only a command line that is refused needs it.
        from tradefair.cli.former import former_of_usage

        former = former_of_usage(fault, arguments)
        if former:
            say(former)
            return USAGE
        # Messages of validators are meant for programs, and quote what was given: an address, its password too.
        message = getattr(fault, "message", None)
        if isinstance(message, str):
            shown = without_passwords(clean(in_plain_words(message)))
            setattr(fault, "message", shown)  # noqa: B010  # the parser's classes are its own
        show()
        return USAGE
    say(fault_text(fault))
    return HARNESS_FAILURE
