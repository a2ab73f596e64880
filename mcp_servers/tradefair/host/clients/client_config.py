"""How a client is told of a seat: the table of clients, an entry for each, tokens.

The table is `clients.toml`. It follows each client's own documentation, whose address it holds.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, cast

from tradefair.contract.errors import ScenarioError, SeatError, unknown

# Tokens are read from variables, because other users of the machine can see command lines.
TOKEN_VARIABLE = "TRADEFAIR_TOKEN"
CONTROL_TOKEN_VARIABLE = "TRADEFAIR_CONTROL_TOKEN"

LAUNCHERS = ("script", "python", "uvx")
Format = Literal["json", "jsonc", "toml", "yaml"]
# In a client's file `{args}` and `{argv}` are lists: the value is put in place of the whole text.
_WHOLE = ("{args}", "{argv}")


@dataclass(frozen=True)
class Client:
    """One client: a section of `clients.toml`, whose head says what each key means."""

    title: str
    page: str
    format: Format
    key: str
    local: Mapping[str, Any]
    remote: Mapping[str, Any] | None = None
    file: str = ""
    linux: str = ""
    macos: str = ""
    windows: str = ""
    secret: str = ""
    inputs: Mapping[str, Any] | None = None
    block: Mapping[str, Any] = field(default_factory=dict[str, Any])
    line: str = ""
    token: str = ""
    unconfirmed: str = ""

    def place(self, name: str) -> tuple[Path, Path]:
        """The file that holds server `name` on this system, and the folder that it must not lead out of."""
        system = {"win32": self.windows, "darwin": self.macos}.get(sys.platform, self.linux)
        text = (system or self.file).replace("{name}", name)
        # What the clients' pages name as another place of these folders; the home, which is part of them, last.
        variables = {"%APPDATA%/": "APPDATA", "~/.codex/": "CODEX_HOME"}
        if sys.platform == "linux":
            variables["~/.config/"] = "XDG_CONFIG_HOME"
        folders = {mark: os.environ.get(name, "") for mark, name in variables.items()}
        for mark, folder in {**folders, "~/": str(Path.home())}.items():
            if folder and text.startswith(mark):
                return Path(folder) / text.removeprefix(mark), Path(folder)
        return Path(text).absolute(), Path.cwd()


@dataclass(frozen=True)
class Server:
    """A server as a client's file names it: a command with arguments, or the URL of a hosted seat."""

    name: str
    command: Sequence[str]
    url: str = ""
    token_file: Path | None = None


@cache
def clients() -> Mapping[str, Client]:
    """Every client by the name that `--client` takes, in the order of the table."""
    table = tomllib.loads(files("tradefair.host.clients").joinpath("clients.toml").read_text(encoding="utf-8"))
    return {name: Client(**section) for name, section in table.items()}


def client_named(name: str) -> Client:
    """The client called `name`. Raises ScenarioError with names that are similar."""
    if name not in clients():
        raise ScenarioError(unknown("client", name, clients()))
    return clients()[name]


def recorded(client: Client) -> Client:
    """The client for an address of this machine behind which a recorder stands: without a token of ours.

    Raises ScenarioError where the client's file holds no URL.
    """
    ours = ("{secret}", TOKEN_VARIABLE)
    remote = {key: form for key, form in (client.remote or {}).items() if not any(mark in str(form) for mark in ours)}
    if "{url}" not in remote.values():
        raise ScenarioError(f"{client.title} opens no URL: record what bridges to it, such as -- npx -y mcp-remote URL")
    return replace(client, remote=remote, inputs=None, line="")


def entry(client: Client, server: Server) -> dict[str, Any]:
    """What stands under the server's name in the client's file. It never holds a token.

    A hosted seat is the client's own remote form. A client without one starts `tradefair connect`, which reads the
    token from `server.token_file`.
    """
    shim = ["connect", server.url] if server.url else []
    if server.url and (client.remote is None or server.token_file):
        shim += ["--token-file", str(server.token_file or default_token_file())]
    form = client.local if not server.url or "--token-file" in shim else client.remote
    return _filled(form, client, server, [*server.command, *shim])


def snippet(client: Client, server: Server) -> dict[str, Any]:
    """The whole content of a client's file in which `server` is the only one."""
    made = entry(client, server)
    # Only Continue's block holds its one server in a list; its other keys are what such a block must have.
    held = [made] if client.block else {server.name: made}
    return {**_filled(client.block, client, server, []), **asked(client, server), client.key: held}


def asked(client: Client, server: Server) -> dict[str, Any]:
    """The key next to the servers by which a client asks for the token; {} for clients that do not."""
    if not server.url or server.token_file or client.inputs is None:
        return {}
    return {"inputs": [_filled(client.inputs, client, server, [])]}


def token_advice(client: Client, server: Server) -> str:
    """What a person has to do so that the client finds the seat's token; "" for a seat of this machine."""
    if not server.url:
        return ""
    if client.remote is None or server.token_file:
        path = server.token_file or default_token_file()
        return f"put the seat's token into {path}, readable by you only"
    return client.token or f"set {TOKEN_VARIABLE} to the seat's token in the environment that {client.title} starts in"


def shell_line(client: Client, server: Server) -> str:
    """The client's own command that adds a hosted seat; "" where there is none, or the seat is not reached by URL."""
    if not server.url or server.token_file:
        return ""
    return client.line.replace("{name}", server.name).replace("{url}", shlex.quote(server.url))


def launcher(kind: str) -> list[str]:
    """The command that starts tradefair: `script` (this environment's), `python` or `uvx`. Raises ScenarioError."""
    match kind:
        # uv empties its cache: a path in it may be gone when the client starts the server.
        case "script" if "archive-v0" in Path(sys.prefix).parts:
            return launcher("uvx")
        case "script":
            # First next to this interpreter: that one belongs to the environment in which the snippet is asked for.
            found = shutil.which("tradefair", path=Path(sys.executable).absolute().parent) or shutil.which("tradefair")
            # Absolute: clients start servers with an almost empty PATH. Not found: the name, which works where the
            # client's PATH has it.
            return [str(Path(found).absolute()) if found else "tradefair"]
        case "python":
            return [sys.executable, "-m", "tradefair.cli"]
        case "uvx":
            # The bare name: it is what lists of allowed commands hold, and some clients bring their own.
            return ["uvx", "--from", "tradefair", "tradefair"]
        case _:
            raise ScenarioError(unknown("launcher", kind, LAUNCHERS))


def default_token_file() -> Path:
    """Where a token is kept for clients that can hold one only as text in their own file."""
    return Path.home() / ".tradefair" / "token"


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


def _filled(form: Any, client: Client, server: Server, command: Sequence[str]) -> Any:
    """A form of the table with the server's values in place of the names in braces."""
    match form:
        case str() if form in _WHOLE:
            return list(command if form == "{argv}" else command[1:])
        case str():
            # The URL last: what it holds is not searched for names.
            for mark, value in (
                ("{secret}", client.secret),
                ("{name}", server.name),
                ("{command}", command[0] if command else ""),
                ("{url}", server.url),
            ):
                form = form.replace(mark, value)
            return form
        case dict():
            held = cast("dict[str, Any]", form)
            return {key: _filled(value, client, server, command) for key, value in held.items()}
        case list():
            return [_filled(value, client, server, command) for value in cast("list[Any]", form)]
        case _:
            return form
