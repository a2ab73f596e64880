"""Where and how `tradefair serve` and `tradefair host` serve seats, as their options say."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tradefair.contract.bounds import MAX_WAIT_S, Refusals
from tradefair.contract.errors import ScenarioError, SeatError
from tradefair.host.clients.client_config import CONTROL_TOKEN_VARIABLE, read_token
from tradefair.host.server.bounds import EPISODE_BYTES, KEEP_FREE, MAX_BYTES, MAX_SEATS, PER_ADDRESS

if TYPE_CHECKING:
    from tradefair.host.doors.oauth import Issuer
    from tradefair.host.doors.places import Bounds
    from tradefair.host.server.quotas import Quotas
    from tradefair.host.server.wire import Manner

# A token of random letters and digits of this length cannot be guessed; a word can.
_MIN_CONTROL_TOKEN_CHARS = 20
_MIB = 1_048_576

_USUAL = {"idle": 0, "linger": 60, "rate": 50}
_USUAL_OF_TASKS = {"most": 256, "idle": 600, "linger": 600, "rate": 0, "control": 0}
"""Defaults: a trainer comes back for a score, leaves episodes that failed, and calls as fast as it can."""


@dataclass(frozen=True)
class SeatFlags:
    """What the clients of seats get.

    `refusals` of "result" come without `isError`, for clients that keep errors from their models. Lists of tools then
    have no output schemas, as with `slim`: a refusal fits none of them.
    """

    wait: Annotated[
        float | None,
        typer.Option(min=0, max=MAX_WAIT_S, help="Seconds of an await_turn that names none; default: the scenario's."),
    ] = None
    slim: Annotated[bool, typer.Option("--slim-tools", help="List tools without their output schemas.")] = False
    refusals: Annotated[
        Refusals, typer.Option(help="A refusal is an error, or a result: for clients that show their model no errors.")
    ] = "error"

    @property
    def manner(self) -> Manner:
        """How the clients are served."""
        from tradefair.host.server.wire import Manner

        return Manner(self.slim, self.refusals)


@dataclass(frozen=True)
class ServeFlags(SeatFlags):
    """A seat on standard input and output."""

    resume: Annotated[Path | None, typer.Option(help="Go on with this trace instead of a new episode.")] = None
    go_on: Annotated[
        bool, typer.Option("--continue", help="Go on with the newest unfinished episode of this game in --out.")
    ] = False


@dataclass(frozen=True)
class HostFlags(SeatFlags):
    """Addresses, tokens and quotas of a host.

    `control` is None without a control plane. `ttl`, `idle`, `rate`, `budget`, `byte_budget` and `episode_bytes` of 0
    set no limit. `store` is the address of a shared store for the traces; None keeps them in files. `pages` are URLs of
    scheme, host and port alone, as the origins of browsers are.
    """

    seats: Annotated[str, typer.Option(help="Seats to invite: B1,S1, or all; default: the scenario's agents.")] = ""
    labels: Annotated[
        list[str] | None, typer.Option("--label", help="Who plays a seat, in your words: B1=openai:gpt-5/react.")
    ] = None
    episodes: Annotated[int, typer.Option(min=1, max=1_000, help="Episodes to host, on consecutive seeds.")] = 1
    address: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1"
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 takes a free one.")] = 0
    remote: Annotated[bool, typer.Option("--allow-remote", help="Listen on an address that others can reach.")] = False
    names: Annotated[list[str] | None, typer.Option("--name", help="Further host name that clients may use.")] = None
    pages: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-origin", metavar="URL", help="Web page whose scripts may open seats: https://app.example"
        ),
    ] = None
    per_address: Annotated[
        int, typer.Option(min=1, help="Connections from one address other than this machine's and those of `proxy`.")
    ] = PER_ADDRESS
    proxies: Annotated[
        list[str] | None, typer.Option("--proxy", help="IP address of a proxy in front: any number of connections.")
    ] = None
    body_limit: Annotated[int, typer.Option(min=1_024, help="Largest request body in bytes.")] = _MIB
    auth: Annotated[
        Literal["token", "oauth"],
        typer.Option(help="What opens a seat: tokens of this host, or also access tokens of an OAuth issuer."),
    ] = "token"
    issuer: Annotated[str, typer.Option(metavar="URL", help="With oauth: whose access tokens are taken.")] = ""
    resource: Annotated[
        str, typer.Option(metavar="URL", help="With oauth: the audience that tokens name; default: this URL.")
    ] = ""
    subjects: Annotated[
        list[str] | None,
        typer.Option("--invite", metavar="SEAT=SUBJECT", help="With oauth: who takes a seat, by its tokens."),
    ] = None
    store: Annotated[
        str | None,
        typer.Option(envvar="TRADEFAIR_STORE", help="postgresql://HOST/DB for the traces; --out holds the registry."),
    ] = None
    goes_on: Annotated[
        bool, typer.Option("--continue", help="Go on with the host that --out had, if any: for what restarts a host.")
    ] = False
    until_over: Annotated[bool, typer.Option("--until-over", help="Exit when no episode is left.")] = False
    linger: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds that an ended episode can still be read; default 60, with --tasks 600."),
    ] = None
    observers: Annotated[int, typer.Option(min=0, max=16, help="Observers to invite to each episode.")] = 0
    control: Annotated[
        int | None,
        typer.Option(
            "--control-port",
            min=0,
            max=65_535,
            help="Port of the control plane, 0 a free one; default: none, with --tasks 0.",
        ),
    ] = None
    control_env: Annotated[
        str, typer.Option("--control-token-env", help="Environment variable with its token; unset: one is made.")
    ] = CONTROL_TOKEN_VARIABLE
    control_file: Annotated[
        Path | None, typer.Option("--control-token-file", help="File that holds its token, instead.")
    ] = None
    most: Annotated[
        int | None,
        typer.Option("--max-episodes", min=1, max=100_000, help="Episodes to keep; default 1,000, with --tasks 256."),
    ] = None
    max_seats: Annotated[int, typer.Option(min=1, help="Seats of an episode that the control plane orders.")] = (
        MAX_SEATS
    )
    ttl: Annotated[float, typer.Option(min=0, help="Seconds that an episode may last; 0: without end.")] = 604_800
    idle: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Seconds without a call, then an episode ends (truncated:idle); default 0: any, with --tasks 600.",
        ),
    ] = None
    rate: Annotated[
        float | None,
        typer.Option(min=0, help="Calls per second and seat; default 50, with --tasks 0: as many as come."),
    ] = None
    burst: Annotated[int, typer.Option(min=1, max=100_000, help="Calls of a seat that may come at once.")] = 200
    budget: Annotated[int, typer.Option("--call-budget", min=0, help="Calls per seat and episode; 0: any.")] = 0
    byte_budget: Annotated[
        int, typer.Option(min=0, help="Bytes that a seat's calls may take in the log of an episode; 0: any.")
    ] = MAX_BYTES
    episode_bytes: Annotated[
        int, typer.Option(min=0, help="Bytes of an episode's log; then it ends (truncated:storage_limit). 0: any.")
    ] = EPISODE_BYTES
    keep_free: Annotated[
        int, typer.Option(min=0, help="Free bytes on the disk below which programs, notes and new episodes wait.")
    ] = KEEP_FREE
    drain: Annotated[float, typer.Option(min=0, help="Seconds that SIGTERM lets open rounds end.")] = 10
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object when ready, then serve on.")] = False

    def usual(self, *, tasks: bool) -> HostFlags:
        """The same with a default where nothing was said, of a host that serves tasks or none."""
        defaults = _USUAL_OF_TASKS if tasks else _USUAL
        return replace(self, **{name: value for name, value in defaults.items() if getattr(self, name) is None})

    # A flag of 0 means no limit; the quotas say None for that.
    @property
    def quotas(self) -> Quotas:
        """How much a seat may call and store."""
        from tradefair.host.server.quotas import Quotas

        return Quotas(self.rate or None, self.burst, self.budget or None, bytes=self.byte_budget or None)

    @property
    def oauth(self) -> Issuer | None:
        """The issuer whose tokens are taken, None without. Raises ScenarioError for flags that do not fit together."""
        if self.auth == "token":
            if self.issuer or self.resource or self.subjects:
                raise ScenarioError('issuer, resource and invite belong to auth = "oauth": add it')
            return None
        if not self.issuer:
            raise ScenarioError('auth = "oauth" needs issuer = URL: whose access tokens are taken')
        if self.remote and not self.resource:
            raise ScenarioError("name the URL by which clients reach this host: resource = https://HOST/mcp")
        if self.subjects and self.episodes > 1:
            raise ScenarioError("a subject has one seat at a time: invite goes with one episode")
        # Loaded where it is asked for: JWTs need a library that nothing else here does.
        from tradefair.host.doors.oauth import Issuer

        return Issuer(self.issuer, self.resource)

    @property
    def origins(self) -> list[str]:
        """From which pages browsers may come. Raises ScenarioError for what is no origin."""
        from tradefair.host.doors.listening import check_origin

        return list(map(check_origin, self.pages or ()))

    @property
    def bounds(self) -> Bounds:
        """What the connections of seats may take."""
        from tradefair.host.doors.places import Bounds

        return Bounds(per_address=self.per_address, proxies=tuple(self.proxies or ()))

    @property
    def control_token(self) -> str | None:
        """The control plane's token; None where none is given. Raises SeatError for one that could be guessed."""
        if self.control_file is None and not os.environ.get(self.control_env, "").strip():
            return None
        token = read_token(self.control_env, self.control_file)
        if len(token) < _MIN_CONTROL_TOKEN_CHARS:
            raise SeatError(f"the control plane's token needs at least {_MIN_CONTROL_TOKEN_CHARS} random characters")
        return token
