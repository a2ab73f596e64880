"""Configuration snippets with which desktop clients and editors start a server."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

__all__ = ["CLIENTS", "TOKEN_VARIABLE", "snippet"]

TOKEN_VARIABLE = "FAIRGROUND_TOKEN"
CLIENTS = {
    "claude": "claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "claude-code": ".mcp.json",
}
"""Client -> the file that its snippet belongs into."""


def snippet(client: str, name: str, arguments: Sequence[str], *, remote: bool = False) -> dict[str, object]:
    """The JSON for `client`: server `name` is `fairground` with `arguments`. A remote one needs a token in `env`."""
    entry: dict[str, object] = {"command": _executable(), "args": list(arguments)}
    if remote:
        entry["env"] = {TOKEN_VARIABLE: "<the seat's token>"}
    if client in ("vscode", "claude-code"):
        entry = {"type": "stdio", **entry}
    return {"servers" if client == "vscode" else "mcpServers": {name: entry}}


def _executable() -> str:
    """The absolute path of the console script: clients start servers with an almost empty PATH."""
    beside = Path(sys.executable).absolute().parent / "fairground"
    if beside.is_file():
        return str(beside)
    found = shutil.which("fairground")
    return str(Path(found).absolute()) if found else "fairground"
