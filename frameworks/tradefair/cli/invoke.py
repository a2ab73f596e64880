"""Carrying out one command: import it, parse its options with typer, turn errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import typer

from tradefair.cli import FINDINGS, HARNESS_FAILURE, INTERRUPTED, USAGE
from tradefair.cli.table import Command
from tradefair.contract.errors import HarnessFailure, StorageUnavailable, TraceError, TradefairError, in_plain_words


def invoke(command: Command, arguments: Sequence[str]) -> int:
    """Run `command`; its exit code. Errors of the TradefairError tree become one line on stderr."""
    try:
        code = _app(command)(list(arguments), prog_name=f"tradefair {command.name}", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except TradefairError as error:
        print(f"tradefair {command.name}: {_one_line(error)}", file=sys.stderr)
        return _exit_code(error)
    except BrokenPipeError:
        # The reader of our output (head, less) has gone; Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as fault:
        return _usage_or_fault(fault)


def _app(command: Command) -> Callable[..., Any]:
    target = _load(command)
    if isinstance(target, typer.Typer):
        return target
    # Plain help: the table that rich draws cuts words that its columns do not hold, names of options among them.
    app = typer.Typer(
        add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, context_settings=_CONTEXT
    )
    app.command(help=target.__doc__)(target)
    return app


_CONTEXT = {"help_option_names": ["-h", "--help"]}


def _load(command: Command) -> Any:
    return command.load()


def _exit_code(error: TradefairError) -> int:
    if isinstance(error, HarnessFailure | StorageUnavailable):
        return HARNESS_FAILURE
    return FINDINGS if isinstance(error, TraceError) else USAGE


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _usage_or_fault(fault: Exception) -> int:
    """What the parser refuses shows itself and is a matter of usage; anything else is our fault."""
    show = getattr(fault, "show", None)
    if callable(show) and hasattr(fault, "exit_code"):
        message = getattr(fault, "message", None)
        if isinstance(message, str):
            setattr(fault, "message", in_plain_words(message))  # noqa: B010  # the parser's classes are its own
        show()
        return USAGE
    traceback.print_exception(fault)
    return HARNESS_FAILURE
