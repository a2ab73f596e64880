"""What `tradefair config` tells each client, as text; `python -m tests.host.serving.client_snapshots` writes it anew.

Read the client's own documentation, whose address stands beside it, before a changed form is kept.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from tradefair.host.clients.client_config import Server, client_named, clients, shell_line, snippet, token_advice
from tradefair.host.clients.client_files import rendered

SNAPSHOT = Path(__file__).parents[2] / "snapshots" / "clients.json"
TOKEN_FILE = Path("/home/you/token")
LOCAL = Server("tradefair-teaching", ["/opt/tradefair/bin/tradefair", "serve", "teaching", "--seat", "P1"])
HOSTED = Server("tradefair", ["/opt/tradefair/bin/tradefair"], "https://market.example/mcp")


def told(name: str) -> dict[str, Any]:
    """What the client of that name is told, and what it follows."""
    client = client_named(name)
    # Where the token would be kept below this machine's home, a place that is the same everywhere.
    hosted = HOSTED if client.remote else replace(HOSTED, token_file=TOKEN_FILE)
    files = [client.linux or client.file, client.macos or client.file, client.windows or client.file]
    return {
        "page": client.page,
        "files": files if len(set(files)) > 1 else files[0],
        "local": rendered(snippet(client, LOCAL), client.format).splitlines(),
        "hosted": rendered(snippet(client, hosted), client.format).splitlines(),
        "token": token_advice(client, hosted),
        "line": shell_line(client, hosted),
        "unconfirmed": client.unconfirmed,
    }


def text() -> str:
    """The whole snapshot."""
    return json.dumps({name: told(name) for name in clients()}, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SNAPSHOT.write_text(text(), encoding="utf-8")
