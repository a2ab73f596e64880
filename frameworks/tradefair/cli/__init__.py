"""The console script `tradefair`: a table of commands, each imported only when it is called.

Exit codes: 0 fine, 1 findings or divergence, 2 usage, 3 harness failure (130 when interrupted).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import groupby

from tradefair.cli.table import COMMANDS, Command, command_named

__all__ = ["FINDINGS", "HARNESS_FAILURE", "INTERRUPTED", "USAGE", "main", "run"]

FINDINGS = 1
USAGE = 2
HARNESS_FAILURE = 3
INTERRUPTED = 130
_FORMER = "FAIRGROUND_"


def main() -> None:
    """Entry point of the console script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line; the exit code. Prints to stdout and stderr, never raises."""
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(_overview())
        return 0
    if arguments[0] == "--version":
        print(_version())
        return 0
    _warn_of_former_variables()
    command = command_named(arguments[0])
    if command is None:
        print(_unknown(arguments[0]), file=sys.stderr)
        return USAGE
    # typer and the command's package cost a second between them: only a command that is carried out pays for them.
    from tradefair.cli.invoke import invoke

    return invoke(command, arguments[1:])


def _warn_of_former_variables() -> None:
    """Name what is set under the project's first name: it is not read, and a run without it would be another run."""
    for former in sorted(name for name in os.environ if name.startswith(_FORMER)):
        name = "TRADEFAIR_" + former.removeprefix(_FORMER)
        if name not in os.environ:
            print(f"{former} is not read any more; set {name}", file=sys.stderr)


def _overview() -> str:
    lines = ["Usage: tradefair COMMAND [OPTIONS]", "", "Economic markets as MCP servers; agents in seats; audits."]
    for group, commands in groupby(COMMANDS, key=lambda command: command.group):
        lines += ["", f"{group}:", *map(_line, commands)]
    lines += [
        "",
        "tradefair COMMAND --help says more; tradefair --version names the version.",
        "Exit codes: 0 fine, 1 findings or divergence, 2 usage, 3 harness failure.",
    ]
    return "\n".join(lines)


def _line(command: Command) -> str:
    return f"  {command.name:<10} {command.help}"


def _version() -> str:
    from importlib.metadata import version

    return f"tradefair {version('tradefair')}"


def _unknown(name: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, [command.name for command in COMMANDS], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else "tradefair --help lists the commands"
    return f"tradefair: there is no command {name[:80]!r}; {hint}"
