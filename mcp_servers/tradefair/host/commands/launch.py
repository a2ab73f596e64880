"""From the command `host` to a running server: the episodes that it starts, or goes on with."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from tradefair.cli.options import EpisodeFlags
from tradefair.cli.ports import listen
from tradefair.cli.terminal import tell
from tradefair.contract import MarketType, Scenario, ScenarioError, SeatId, TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.players import seats_of
from tradefair.contract.text import clean_json
from tradefair.host.commands.asked import choose, folder_of, notice
from tradefair.host.commands.host_flags import HostFlags
from tradefair.host.doors.app import HttpServer
from tradefair.host.doors.control import ControlApp, ControlExtension, new_control_token
from tradefair.host.doors.hosting import Host
from tradefair.host.doors.listening import Listener
from tradefair.host.doors.places import Bounds, allow_many_files
from tradefair.host.doors.registry import HOST_FILE, HostFile, check_fresh, load_host_file, sole_host
from tradefair.host.doors.status import seed_words
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import LogStore
from tradefair.host.episode.orders import Order, check_labelled, checked, parse_labels
from tradefair.host.episode.setup import make_folder, new_episode, reopen_episode
from tradefair.host.episode.stores import logs_at
from tradefair.host.sandbox.running import Sandbox
from tradefair.host.seats.plans import new_seed, plan_seats
from tradefair.host.server.bounds import MAX_EPISODES
from tradefair.host.server.seat_auth import (
    OBSERVER_SCOPE,
    SEAT_SCOPE,
    GrantScope,
    SeatTokens,
    subject_digest,
    token_digest,
)
from tradefair.tracestore import StorePlace, open_trace

if TYPE_CHECKING:
    from tradefair.host.doors.oauth import Issuer

_SHOWN_BEFORE = "(token as shown or given before)"
_CONTROL_PLACES = 256  # connections of the control plane: an operator, and what must not take the files of seats


class Shown(NamedTuple):
    """A token that was issued just now, by the id of its grant."""

    grant: str
    token: str


async def run_host(
    options: EpisodeFlags, hosting: HostFlags, resume: Path | None, *, extension: ControlExtension | None = None
) -> None:
    """Host episodes over HTTP until SIGTERM, or until they are over. Raises ScenarioError for a taken address.

    `extension`: tasks and further routes of the control plane.
    """
    # A token that could be guessed is refused before a folder is made.
    token = None if hosting.control is None else hosting.control_token
    allow_many_files()
    # Asked before episodes are made: the same command with another port must not find them and refuse the folder.
    for address, port, option in (
        (hosting.address, hosting.port, "--port"),
        ("127.0.0.1", hosting.control, "--control-port"),
    ):
        if port:
            listen(address, port, option=option).close()
    issuer = hosting.oauth
    # As above: a page that is none, too.
    _ = hosting.origins
    if issuer is not None:
        # A mistyped issuer is told now, not to the first client.
        await issuer.fetch_keys()
    with Sandbox() as sandbox, ExitStack() as held:
        folder = resume or folder_of(options)
        if resume is None and not (hosting.goes_on and (folder / HOST_FILE).exists()):
            host, tokens = await _fresh_host(options, hosting, folder, sandbox, held, issuer)
        else:
            host, tokens = await _reopened_host(hosting, folder, sandbox, held, issuer), []
        try:
            await _serve_host(host, hosting, folder, tokens, token, extension)
        finally:
            await host.close()


async def _serve_host(
    host: Host,
    hosting: HostFlags,
    folder: Path,
    tokens: Sequence[Shown],
    token: str | None,
    extension: ControlExtension | None,
) -> None:
    # The address is taken before anything is shown: clients are told a URL that works.
    server = HttpServer(
        host,
        address=hosting.address,
        port=hosting.port,
        public_names=hosting.names or (),
        drain_s=hosting.drain,
        bounds=hosting.bounds,
        origins=hosting.origins,
    )
    control, control_token = _control(host, hosting, token, server.url, extension)

    def announce() -> None:
        report = _report(host, server.url, folder, tokens)
        if control is not None:
            report["control"] = {"url": control.url, "token": control_token}
        # Flushed: scripts wait for this line before they start clients.
        tell(clean_json(orjson.dumps(report).decode()) if hosting.as_json else _readable(report))

    async def stop_when_empty() -> None:
        await host.wait_empty()
        server.stop()

    # Kept for the farewell: retired episodes leave the host's table.
    hosted = dict(host.episodes)
    waiting = asyncio.create_task(stop_when_empty()) if hosting.until_over else None
    controlling = None if control is None else asyncio.create_task(control.serve())
    try:
        await server.serve(announce)
    finally:
        if waiting is not None:
            waiting.cancel()
        # The control plane ends last, so that an operator can see how the host goes down.
        if control is not None and controlling is not None:
            control.stop()
            await controlling
        # Without its tasks a host would go on too, but nobody could ask for a score.
        again = "host --resume" if extension is None else "host --tasks … --resume"
        _say_farewell({**hosted, **host.episodes}, host, folder, again)


def _control(
    host: Host, hosting: HostFlags, token: str | None, url: str, extension: ControlExtension | None
) -> tuple[Listener | None, str | None]:
    """The control plane, if there is to be one, and its token where it was made just now."""
    if hosting.control is None:
        return None, None
    made = None
    if token is not None:
        host.set_control(token_digest(token))
    # A resumed host keeps the token that was given before.
    elif host.control is None:
        made = new_control_token()
        host.set_control(token_digest(made))
    digest = host.control
    assert digest is not None
    # On this machine only: whoever needs it from elsewhere has ssh.
    listener = Listener(
        lambda names: ControlApp(host, digest, url, names, extension=extension).starlette,
        port=hosting.control,
        bounds=Bounds(places=_CONTROL_PLACES),
        option="--control-port",
    )
    return listener, made


async def _logs(store: str | None) -> LogStore:
    """Where the traces go. Raises StorageUnavailable now, not at the first call, where that cannot be reached."""
    logs = logs_at(store)
    trouble = await logs.trouble()
    if trouble is not None:
        raise StorageUnavailable(trouble)
    return logs


def _host(
    hosting: HostFlags,
    folder: Path,
    sandbox: Sandbox,
    logs: LogStore,
    issuer: Issuer | None,
    tokens: SeatTokens | None = None,
) -> Host:
    return Host(
        folder,
        tokens=tokens,
        body_limit=hosting.body_limit,
        linger_s=hosting.linger,
        ttl_s=hosting.ttl or None,
        idle_s=hosting.idle or None,
        max_episodes=hosting.most or MAX_EPISODES,
        max_seats=hosting.max_seats,
        episode_bytes=hosting.episode_bytes or None,
        keep_free=hosting.keep_free,
        quotas=hosting.quotas,
        sandbox=sandbox,
        logs=logs,
        wait_s=hosting.wait,
        manner=hosting.manner,
        issuer=issuer,
    )


async def _fresh_host(
    options: EpisodeFlags, hosting: HostFlags, folder: Path, sandbox: Sandbox, held: ExitStack, issuer: Issuer | None
) -> tuple[Host, list[Shown]]:
    if not options.market and hosting.control is not None:
        # The store before the folder: a store that cannot be reached leaves no empty folder behind.
        logs = await _logs(hosting.store)
        _take_fresh(folder, held)
        return _host(hosting, folder, sandbox, logs, issuer), []
    kind, scenario = choose(options)
    plan = plan_seats(kind, scenario, agents=_named(kind, scenario, hosting.seats), others=options.others or None)
    if not plan.agents:
        raise ScenarioError(f"{scenario.id} has no seat for an agent: name some with --seats")
    labels = parse_labels(hosting.labels or ())
    check_labelled(labels, plan.agents)
    subjects = parse_labels(hosting.subjects or (), "SEAT=SUBJECT")
    check_labelled(subjects, plan.agents, "invitations")
    if issuer is not None and not subjects and hosting.control is None:
        raise ScenarioError('nobody could take a seat: name who with invite = ["SEAT=SUBJECT"], or add --control-port')
    logs = await _logs(hosting.store)
    _take_fresh(folder, held)
    host = _host(hosting, folder, sandbox, logs, issuer)
    host.check_room(hosting.episodes)
    for index in range(hosting.episodes):
        # Consecutive seeds, so that one number names them all.
        seed = new_seed() if options.seed is None else options.seed + index
        made = await new_episode(kind, scenario, seed, plan, folder, labels=labels, sandbox=sandbox, logs=logs)
        host.add(made, save=False)
    # One write for all tokens.
    with host.saved_once():
        # With an issuer only the operator says who sits where: a token would be a second way in.
        seats = plan.agents if issuer is None else ()
        invited = [host.invite(name, seat) for name in host.episodes for seat in seats]
        for name in host.episodes:
            for seat, subject in subjects.items():
                host.invite_subject(name, seat, subject)
        invited += [host.invite_observer(name) for name in host.episodes for _ in range(hosting.observers)]
    return host, [Shown(grant.id, token) for token, grant in invited]


def _take_fresh(folder: Path, held: ExitStack) -> None:
    """Make a folder, and be its host. Raises TraceError where one is running, or has left episodes."""
    make_folder(folder)
    held.enter_context(sole_host(folder))
    check_fresh(folder)


def _check_subjects(folder: Path, file: HostFile, issuer: Issuer | None) -> None:
    """Raises ScenarioError for seats of subjects without an issuer; says which were invited under another one."""
    if issuer is None:
        if any(grant.subject for grant in file.tokens):
            raise ScenarioError(
                f'{folder}: its seats are those of an issuer\'s subjects: add auth = "oauth", issuer = URL'
            )
        return
    for grant in file.tokens:
        if grant.subject and grant.digest != subject_digest(issuer.url, grant.subject):
            notice(f"{grant.subject} was invited to {grant.seat} as a subject of another issuer: invite it again")


async def _go_on(host: Host, waiting: Mapping[str, Order]) -> None:
    """Order again what waits, then retire the episodes that are over."""
    # Resolved again: the catalogue decides today what an order's names stand for.
    wanted = {name: checked(order) for name, order in waiting.items()}
    with host.saved_once():
        for name, order in wanted.items():
            host.order_again(order, name)
    # A copy, because retiring changes the table.
    for episode in list(host.episodes.values()):
        if episode.core.ended is not None:
            await host.retire(episode.id)


async def _reopened_host(
    hosting: HostFlags, folder: Path, sandbox: Sandbox, held: ExitStack, issuer: Issuer | None
) -> Host:
    """The host of a folder as it was; episodes that ended meanwhile are left out, and their tokens expire.

    A kill may have come between the start of an ordered episode and its entry: its trace says that it has begun. The
    registry stays as it was until everything that it names is here.
    """
    if (folder / HOST_FILE).exists():
        held.enter_context(sole_host(folder))
    file = load_host_file(folder)
    _check_subjects(folder, file, issuer)
    logs = await _logs(_store_of(folder, file, hosting))
    host = _host(hosting, folder, sandbox, logs, issuer, file.tokens)
    host.control = file.control
    # An order with a trace has begun; its entry in the registry came too late.
    begun = {name: f"{name}.trace" for name in file.pending if logs.holds(folder / f"{name}.trace")}
    for name, terms in {**file.terms, **{name: file.pending[name].terms for name in begun}}.items():
        host.set_terms(name, terms)
    try:
        for name in {**file.traces, **begun}.values():
            episode = await reopen_episode(folder / name, sandbox=sandbox, logs=logs)
            # Counted from the trace only where there is a budget: it reads every event.
            used = _calls_so_far(logs.reading(episode.path)) if hosting.quotas.calls else None
            host.add(episode, used=used, save=False)
        await _go_on(host, {name: order for name, order in file.pending.items() if name not in begun})
    except BaseException:
        await host.close()
        raise
    if not host.episodes and not host.pending and hosting.control is None:
        raise TraceError(f"{folder}: every episode is over; there is nothing to go on with")
    return host


def _store_of(folder: Path, file: HostFile, hosting: HostFlags) -> str | None:
    """The store of a host that goes on; whoever names it again may reach it in another way, with another user."""
    if file.store is None and hosting.store is not None:
        raise TraceError(f"{folder}: its traces are files: go on without store and TRADEFAIR_STORE")
    return hosting.store or file.store


def _calls_so_far(place: str | Path) -> Counter[SeatId]:
    """How many calls each seat has made, those of its programs not counted."""
    # Inner calls of programs are part of one call.
    with open_trace(place) as trace:
        return Counter(
            event["seat"] for event in trace.decoded() if event["event"] == "tool_called" and event["parent"] is None
        )


def _named(kind: MarketType, scenario: Scenario, text: str) -> list[SeatId] | None:
    if text == "all":
        return list(seats_of(kind, scenario))
    return [seat.strip() for seat in text.split(",")] if text else None


# --- what is shown ------------------------------------------------------------------------------------------------


def _say_farewell(hosted: Mapping[str, Episode], host: Host, folder: Path, again: str) -> None:
    """How the episodes stand when serving ends, where they are, and how to go on with those that are not over."""
    ends = Counter(episode.core.ended or "not over" for episode in hosted.values())
    ends.update(past.reason or "not over" for name, past in host.past.items() if name not in hosted)
    ends.update("not started" for _ in host.pending)
    counts = ", ".join(f"{count} {end}" for end, count in sorted(ends.items())) or "none"
    notice(f"no longer serving; episodes: {counts}; traces in {_traces_in(host) or folder.absolute()}")
    if ends["not over"] or ends["not started"]:
        notice(f"to go on: tradefair {again} {folder}")


def _traces_in(host: Host) -> str | None:
    """The shared store, as it may be shown."""
    return None if host.logs.address is None else str(StorePlace.of(host.logs.address))


def _report(host: Host, url: str, folder: Path, tokens: Sequence[Shown]) -> dict[str, object]:
    """What `--json` prints. A token is null where it was shown before a restart."""
    shown = dict(tokens)

    def told(episode: Episode, scope: GrantScope) -> list[dict[str, str | None]]:
        grants = [grant for grant in host.tokens.of(episode.id) if grant.scope == scope]
        return [
            {"seat": grant.seat, "grant": grant.id, "token": shown.get(grant.id), "subject": grant.subject}
            for grant in grants
        ]

    episodes = [
        {
            "episode": episode.id,
            "scenario": episode.core.scenario.id,
            "seed": None if host.mark(episode.id).sealed else episode.core.manifest.seed,
            "trace": host.logs.shown(episode.path),
            "seats": told(episode, SEAT_SCOPE),
            "observers": told(episode, OBSERVER_SCOPE),
        }
        for episode in host.episodes.values()
    ]
    return {"url": url, "folder": str(folder.absolute()), "store": _traces_in(host), "episodes": episodes}


def _readable(report: Mapping[str, Any]) -> str:
    kept = f"registry in {report['folder']}, traces in {report['store']}"
    if report["store"] is None:
        kept = f"registry and traces in {report['folder']}"
    lines = [f"serving {report['url']} (health at /health); {kept}"]
    for episode in report["episodes"]:
        lines.append(
            f"{episode['episode']}: {episode['scenario']}, {seed_words(episode['seed'])}, trace {episode['trace']}"
        )
        invited = [*episode["seats"], *episode["observers"]]
        lines += [f"  {invitation['seat']}: {_opened_by(invitation)}" for invitation in invited]
    if any(seat["token"] for episode in report["episodes"] for seat in (*episode["seats"], *episode["observers"])):
        lines.append("Clients send the header  Authorization: Bearer <token>. Tokens are not shown again.")
    if control := report.get("control"):
        lines.append(f"control plane and status page: {control['url']}")
        lines.append(f"  its token: {control['token'] or _SHOWN_BEFORE}")
    return "\n".join(lines)


def _opened_by(invitation: Mapping[str, str | None]) -> str:
    """What opens a seat: its token, or the tokens of somebody."""
    subject = invitation["subject"]
    return f"for {subject}, with tokens of the issuer" if subject else invitation["token"] or _SHOWN_BEFORE
