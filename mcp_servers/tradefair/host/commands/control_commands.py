"""The command group `control`: make, watch and end the episodes of a running host."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from tradefair.cli.options import OTHERS, PLAIN, SharedOptions, grouped
from tradefair.cli.options_file import ConfiguredCommand, configured
from tradefair.cli.terminal import tell
from tradefair.contract.bounds import Refusals
from tradefair.contract.errors import ScenarioError, StorageUnavailable
from tradefair.contract.text import clean_json
from tradefair.files.folders import new_private
from tradefair.host.clients.client_config import CONTROL_TOKEN_VARIABLE, read_token

if TYPE_CHECKING:
    from pydantic import BaseModel

    from tradefair.host.doors import control_bodies as bodies
    from tradefair.host.doors.control_client import ControlClient
    from tradefair.host.doors.status import EpisodeState, EpisodeStatus, EpisodeSummary, HostStatus

URL_VARIABLE = "TRADEFAIR_CONTROL_URL"

M = TypeVar("M", bound="BaseModel")

control = typer.Typer(
    cls=SharedOptions,
    no_args_is_help=True,
    help="Make, watch and end the episodes of a running host, over its control plane.",
    **PLAIN,
)

_Context = typer.Context
_Episode = Annotated[str, typer.Argument(help="The episode's id.")]


@dataclass(frozen=True)
class _Plane:
    """The control plane that is asked, and how its answers are shown."""

    url: Annotated[str, typer.Option(help=f"Of the control plane; default: the variable {URL_VARIABLE}.")] = ""
    token_file: Annotated[
        Path | None, typer.Option(help=f"File that holds its token; default: the variable {CONTROL_TOKEN_VARIABLE}.")
    ] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print the answer as JSON.")] = False

    def ask(self) -> ControlClient:
        """A client of it. Raises ScenarioError where no plane is named, SeatError without its token."""
        # Imported here: it brings an HTTP client and the host's models.
        from tradefair.host.doors.control_client import ControlClient

        # The option goes before the variable, as everywhere.
        place = self.url or os.environ.get(URL_VARIABLE, "")
        if not place:
            raise ScenarioError(f"name the control plane with --url, or set {URL_VARIABLE}")
        return ControlClient(place, read_token(CONTROL_TOKEN_VARIABLE, self.token_file))

    def show(self, answer: M, readable: Callable[[M], Sequence[str]]) -> None:
        """Print an answer: as one JSON object, or as the lines that `readable` makes of it."""
        tell(clean_json(answer.model_dump_json()) if self.as_json else "\n".join(readable(answer)))


@control.callback()
@grouped
def _all(context: _Context, plane: _Plane) -> None:
    context.obj = plane


@control.command(cls=ConfiguredCommand)
@configured("control-create", "same-seed others set ttl idle slim-tools refusals label observers start")
def create(
    context: _Context,
    market: Annotated[str | None, typer.Argument(help="The market, such as double_auction; or --task.")] = None,
    scenario: Annotated[str | None, typer.Option(help="Scenario id; default: the market's first.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the first episode; default: a fresh one.")] = None,
    count: Annotated[int, typer.Option(min=1, max=1_000, help="Episodes, on consecutive seeds.")] = 1,
    same_seed: Annotated[bool, typer.Option("--same-seed", help="All of them (2 to 64) on one seed: a group.")] = False,
    task: Annotated[
        str | None, typer.Option(metavar="SPLIT/N", help="A task of the host (host --tasks), not a market.")
    ] = None,
    seats: Annotated[str, typer.Option(help="Seats for agents: B1,S1, or all; default: the scenario's.")] = "",
    others: Annotated[str | None, typer.Option(help=OTHERS)] = None,
    overrides: Annotated[list[str] | None, typer.Option("--set", help="Scenario value to change: key=value.")] = None,
    ttl: Annotated[float | None, typer.Option(help="Seconds that each may last.")] = None,
    idle: Annotated[
        float | None, typer.Option(help="Seconds without a call, then it ends (truncated:idle); default: the host's.")
    ] = None,
    slim: Annotated[bool, typer.Option("--slim-tools", help="List tools without their output schemas.")] = False,
    refusals: Annotated[
        Refusals | None, typer.Option(help="A refusal is an error, or a result; default: as the host says.")
    ] = None,
    labels: Annotated[
        list[str] | None, typer.Option("--label", help="Who plays a seat, in your words: B1=openai:gpt-5/react.")
    ] = None,
    observers: Annotated[int, typer.Option(min=0, max=16, help="Observers to invite to each.")] = 0,
    start: Annotated[bool, typer.Option(help="Begin at once, or wait for `control change --start`.")] = True,
) -> None:
    """Make episodes; the tokens of their seats are shown once."""
    from pydantic import ValidationError

    from tradefair.contract.scenario import parse_override
    from tradefair.host.doors import control_bodies as bodies
    from tradefair.host.episode.orders import parse_labels

    # Only what was said: with a task some of them may not be.
    said: dict[str, Any] = {
        "scenario": scenario,
        "seed": seed,
        "seats": "all" if seats == "all" else tuple(map(str.strip, seats.split(","))) if seats else None,
        "others": others,
        "overrides": dict(map(parse_override, overrides or ())) or None,
    }
    try:
        wanted = bodies.Create(
            # The same model as on the host's side: what it would refuse is refused here, without a request.
            **{name: value for name, value in said.items() if value is not None},
            market=market,
            task=task,
            count=count,
            same_seed=same_seed,
            ttl_s=ttl,
            idle_s=idle,
            tools="slim" if slim else "full",
            refusals=refusals,
            labels=parse_labels(labels or ()),
            observers=observers,
            start=start,
        )
    except ValidationError as wrong:
        # The first error only: a person corrects one thing at a time.
        first = wrong.errors(include_url=False)[0]
        where = "".join(f"{part}: " for part in (".".join(map(str, first["loc"])),) if part)
        raise ScenarioError(where + first["msg"].removeprefix("Value error, ")) from None
    plane: _Plane = context.obj
    with plane.ask() as client:
        plane.show(client.create(wanted), _created)


@control.command()
def invite(
    context: _Context,
    episode: Annotated[str, typer.Argument(help="The episode's id; not with --revoke.")] = "",
    seat: Annotated[str | None, typer.Option(help="The seat; without it, an observer.")] = None,
    subject: Annotated[
        str | None, typer.Option(help="Whom an issuer's tokens name: takes the seat with them (a host with an issuer).")
    ] = None,
    revoke: Annotated[
        str | None,
        typer.Option(metavar="GRANT", help="Make a token worthless instead, and end what was opened with it."),
    ] = None,
) -> None:
    """A further token, shown once: of a seat, or of an observer, who sees what is public.

    --revoke takes one back by its grant, which is shown with it and by `control status EPISODE`.
    """
    if bool(episode) == bool(revoke):
        raise typer.BadParameter("name an episode, or with --revoke a grant")
    plane: _Plane = context.obj
    with plane.ask() as client:
        if revoke:
            plane.show(client.revoke(revoke), lambda gone: [f"{gone.grant} is no longer valid"])
        else:
            plane.show(client.invite(episode, seat, subject), _invitations)


@control.command()
def change(
    context: _Context,
    episode: _Episode,
    start: Annotated[bool, typer.Option("--start", help="Begin it: it was made with --no-start.")] = False,
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", help="Who plays an outside seat from now on, in your words: B1=openai:gpt-5/react."),
    ] = None,
    lapse: Annotated[
        str | None, typer.Option(metavar="SEAT", help="Take the seat's default action, if it is awaited.")
    ] = None,
    reason: Annotated[
        Literal["deadline", "disconnected", "retired", "agent_limit"],
        typer.Option(help="Of --lapse: what the trace says."),
    ] = "disconnected",
    end: Annotated[
        Literal["cancel", "delete"] | None,
        typer.Option(help="End it, or drop it before its start; delete frees its place at once. Its trace stays."),
    ] = None,
) -> None:
    """Change an episode, one thing at a time: begin it, say who plays, let a seat lapse, end it."""
    from tradefair.host.doors import control_bodies as bodies
    from tradefair.host.episode.orders import parse_labels

    if [start, bool(labels), bool(lapse), bool(end)].count(True) != 1:
        raise typer.BadParameter("name one of --start, --label, --lapse and --end")
    plane: _Plane = context.obj
    with plane.ask() as client:
        if start:
            plane.show(client.start(episode), lambda begun: [_line(begun.episode)])
        elif labels:
            answer = client.label(episode, bodies.Label(labels=parse_labels(labels)))
            plane.show(answer, lambda told: [f"{seat}: {name}" for seat, name in told.labels.items()])
        elif lapse:
            lapsed = client.lapse(episode, bodies.Lapse(seat=lapse, reason=reason))
            plane.show(lapsed, lambda told: ["lapsed" if told.lapsed else f"{lapse} is not awaited: nothing was done"])
        else:
            ended = client.cancel(episode) if end == "cancel" else client.delete(episode)
            plane.show(ended, lambda told: [told.end_reason or "dropped before its start"])


@control.command()
def status(
    context: _Context,
    episode: Annotated[str, typer.Argument(help="One episode; without it, the host.")] = "",
    state: Annotated[
        Literal["pending", "running", "ended", "closed"] | None, typer.Option(help="Episodes in this state.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000, help="Episodes at most.")] = 100,
) -> None:
    """How the host stands, or one episode with its seats and tokens."""
    plane: _Plane = context.obj
    with plane.ask() as client:
        if episode:
            plane.show(client.show(episode), _episode)
            return
        chosen: EpisodeState | None = state
        plane.show(client.status(state=chosen, limit=limit), _host)


@control.command()
def export(context: _Context, episode: _Episode, out: Annotated[Path, typer.Option(help="File to write.")]) -> None:
    """Write a copy of an episode's trace as of now, running or not. It holds everybody's secrets."""
    plane: _Plane = context.obj
    with plane.ask() as client:
        content = client.export(episode)
    # A new file that only its owner can read: the trace holds every seat's private values and the seed.
    try:
        with new_private(out) as stream:
            stream.write(content)
    except OSError as error:
        raise StorageUnavailable(f"{out}: cannot be written: {error.strerror}") from None
    tell(f"{out}: {len(content):,} bytes")


def _created(answer: bodies.Created) -> list[str]:
    return [*map(_line, answer.episodes), *_invitations(answer)]


def _invitations(answer: bodies.Invitations) -> list[str]:
    if not answer.invitations:
        return []
    rows = [
        f"  {new.episode} {new.seat or 'observer'}: {new.token or f'for {new.subject}'} (grant {new.grant})"
        for new in answer.invitations
    ]
    return [f"tokens at {answer.url}, not shown again:", *rows]


def _line(episode: EpisodeSummary) -> str:
    from tradefair.host.doors.status import seed_words

    clock = "" if episode.round is None else f", round {episode.round} {episode.phase}"
    end = f", {episode.end_reason}" if episode.end_reason else ""
    slow = ", on a slow disk" if episode.slow_disk else ""
    return f"{episode.episode}: {episode.state}, {episode.scenario}, {seed_words(episode.seed)}{clock}{end}{slow}"


def _host(answer: HostStatus) -> list[str]:
    state = "ready" if answer.ready else f"not ready: {'; '.join(answer.reasons)}"
    figures = (
        f"{answer.running} running, {answer.pending} pending, {answer.ended} ended, {answer.closed} closed; "
        f"{answer.open_doors} doors, memory {answer.memory}, up {answer.uptime_s:,.0f} s"
    )
    more = answer.total - len(answer.episodes)
    return [f"{state}; {figures}", *map(_line, answer.episodes), *([f"… and {more} more"] if more > 0 else [])]


def _episode(answer: EpisodeStatus) -> list[str]:
    lines = [_line(answer)]
    for seat in answer.seats:
        seen = "" if seat.idle_s is None else f", last call {seat.idle_s:,.0f} s ago"
        awaited = ", awaited" if seat.awaited else ""
        lines.append(f"  {seat.seat} ({seat.role}, {seat.player}): {seat.calls} calls{seen}{awaited}")
    return lines + [
        f"  token {token.grant}: {token.seat or 'observer'}{f', for {token.subject}' if token.subject else ''}"
        for token in answer.tokens
    ]
