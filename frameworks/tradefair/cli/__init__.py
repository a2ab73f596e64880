"""The console script `tradefair`: a table of commands, each imported only when it is called."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from itertools import groupby

from tradefair.cli.table import COMMANDS, Command, command_named

# Exit codes are among the promised names: scripts and other packages rely on them.
__all__ = ["EXIT_CODES", "FINDINGS", "HARNESS_FAILURE", "INTERRUPTED", "USAGE", "main", "run"]

FINDINGS = 1
USAGE = 2
HARNESS_FAILURE = 3
UNDECIDED = 4
INTERRUPTED = 130
EXIT_CODES = {
    0: "fine; a server that was stopped",
    FINDINGS: "a trace is missing, unusable or not reproduced, an agent never acted or got worse, a check found it",
    USAGE: "usage: a wrong option, name, value or path, a port that is taken",
    HARNESS_FAILURE: "the harness: a provider, storage, a service, or a fault of ours",
    UNDECIDED: "a gate could not tell, or lacks games; the same command plays them",
    INTERRUPTED: "a job was interrupted (Ctrl-C); most can be gone on with",
}
"""What the commands end with. A failure mode that was found in a trace is a result, and changes no exit code."""
LAB = "lab"
"""The first word of commands that concern one study."""
_STUDIES = "Studies"
_LAB_LINE = f"  {LAB:<12} Studies of one market; tradefair {LAB} --help lists them."
FEWER_PASSES = (100_000, 50, 100)
"""When a command looks for garbage in cycles.

It makes many objects that live until its end, and few circles: looking through all of them again and again would be a
tenth of its cost.
"""


def main() -> None:
    """Entry point of the console script."""
    gc.set_threshold(*FEWER_PASSES)
    # A pipe on Windows has the encoding of the user's language: not every one has a − or an ellipsis.
    reconfigure: Callable[..., None] | None = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None and sys.stdout.errors == "strict":
        reconfigure(errors="replace")
    try:
        code = run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # Of help, which no command prints. Python would complain once more when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    # Before it ends, Python looks through all objects for circles, several times: a quarter of a short command's cost.
    # Whatever had to be written is closed by now, and memory goes with the process.
    gc.freeze()
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Carry out one command line; the exit code. Raises BrokenPipeError alone, of help whose reader has gone."""
    if not arguments or arguments[0] in ("--help", "-h", "help"):
        print(_overview())
        return 0
    if arguments[0] == "--version":
        print(_version())
        return 0
    # Without a command `lab` is no error: it answers as `--help` does.
    if list(arguments) in ([LAB], [LAB, "--help"], [LAB, "-h"]):
        print(_lab())
        return 0
    # Commands of a study have names of two words.
    width = 2 if arguments[0] == LAB else 1
    name = " ".join(arguments[:width])
    command = command_named(name)
    if command is None:
        print(_unknown(name, arguments), file=sys.stderr)
        return USAGE
    done = command.at_once(arguments[width:])
    if done is not None:
        return done
    # typer and the command's package cost a second between them: only a command that is carried out pays for them.
    from tradefair.cli.invoke import invoke

    return invoke(command, arguments[width:])


def _overview() -> str:
    """All commands by group, with `lab` in one line: what `tradefair --help` prints."""
    from textwrap import fill

    usage = "Usage: tradefair COMMAND [OPTIONS]; --help says more, --version the version."
    lines = [usage, "Economic markets as MCP servers; agents in seats; audits."]
    for group, commands in groupby(COMMANDS, key=lambda command: command.group):
        lines += ["", f"{group}:", *([_LAB_LINE] if group == _STUDIES else map(_line, commands))]
    lines += ["", "Exit codes; a failure mode found in a trace is a result, no error"]
    # The width of a small terminal.
    lines += [fill(f"  {code:<12} {text}", 79, subsequent_indent=" " * 15) for code, text in EXIT_CODES.items()]
    return "\n".join(lines)


def _lab() -> str:
    """The commands of `lab`, by their second word."""
    studies = [command for command in COMMANDS if command.group == _STUDIES]
    head = [f"Usage: tradefair {LAB} COMMAND [OPTIONS]", "", "Studies of one market.", ""]
    return "\n".join([*head, f"{_STUDIES}:", *map(_line, studies), "", f"tradefair {LAB} COMMAND --help says more."])


def _line(command: Command) -> str:
    """A line of help: name and what the command does."""
    return f"  {command.name.removeprefix(f'{LAB} '):<12} {command.help}"


def _version() -> str:
    """The installed version."""
    # Imported here: only `--version` needs it.
    from importlib.metadata import version

    return f"tradefair {version('tradefair')}"


def _unknown(name: str, words: Sequence[str]) -> str:
    """The message about a name that is no command: what to type in place of a former one, or the nearest name.

    `words` are all that was typed: a former command may have had a name of several.
    """
    # Imported here: only a name that is unknown needs it.
    from tradefair.cli.former import former_command

    # Those that moved to `lab` first and left later are known by their place there.
    former = former_command(words) or former_command([LAB, *words])
    if former:
        return former
    # Imported here: only a mistyped name needs it.
    from tradefair.contract.errors import unknown

    group = f"{LAB} " if name.startswith(f"{LAB} ") else ""
    known = [command.name.removeprefix(group) for command in COMMANDS if command.name.startswith(group)]
    return f"tradefair: {unknown('command', name.removeprefix(group), known, of=group)}"
