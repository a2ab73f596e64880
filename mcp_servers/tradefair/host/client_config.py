"""Configuration snippets with which desktop clients and editors start a server."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from tradefair.contract import SeatError

# Tokens are read from variables, because other users of the machine can see command lines.
TOKEN_VARIABLE = "TRADEFAIR_TOKEN"
CONTROL_TOKEN_VARIABLE = "TRADEFAIR_CONTROL_TOKEN"
# Relative to where each client looks for it: the project, or the user's configuration folder.
CLIENTS = {
    "claude": "claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "claude-code": ".mcp.json",
}
"""Client -> the file that its snippet belongs into."""


def snippet(client: str, name: str, arguments: Sequence[str], *, remote: bool = False) -> dict[str, object]:
    """The configuration of `client` (a key of CLIENTS) in which the server `name` is `tradefair` with `arguments`.

    `remote`: the seat is hosted elsewhere, so the entry has a place for its token in `env`.
    """
    entry: dict[str, object] = {"command": _executable(), "args": list(arguments)}
    if remote:
        entry["env"] = {TOKEN_VARIABLE: "<the seat's token>"}
    # These two tell kinds of servers apart by `type`; the others know a stdio server by its command.
    if client in ("vscode", "claude-code"):
        entry = {"type": "stdio", **entry}
    return {"servers" if client == "vscode" else "mcpServers": {name: entry}}


def read_token(variable: str, file: Path | None) -> str:
    """A token from a file or the environment, never from a command line. Raises SeatError when there is none."""
    if file is not None:
        try:
            token = file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise SeatError(f"{file}: cannot be read: {error}") from None
    else:
        token = os.environ.get(variable, "").strip()
    if not token:
        raise SeatError(f"there is no token: set {variable}, or name a file with --token-file")
    # Such a character is the mark of a wrong file, and no header could carry it.
    if not (token.isascii() and token.isprintable()):
        raise SeatError("the token holds characters that no token has")
    return token


def _executable() -> str:
    """The absolute path of the console script: clients start servers with an almost empty PATH.

    A snippet with a bare name would work in a terminal and fail in the client.
    """
    # First next to this interpreter: that one belongs to the environment in which the snippet is asked for.
    script = Path(sys.executable).absolute().parent / "tradefair"
    if script.is_file():
        return str(script)
    found = shutil.which("tradefair")
    # Not found: the bare name, which works where the client's PATH has it.
    return str(Path(found).absolute()) if found else "tradefair"
