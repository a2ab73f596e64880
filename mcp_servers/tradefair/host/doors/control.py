"""The control plane: a small JSON interface for the operator of a host, with a port and a token of its own.

    POST   /episodes                  Create -> Created           POST /episodes/{id}/lapse    Lapse -> Lapsed
    GET    /episodes[?state=&limit=]  -> HostStatus               POST /episodes/{id}/cancel   -> Cancelled
    GET    /episodes/{id}             -> EpisodeStatus            DELETE /episodes/{id}        -> Cancelled, and gone
    POST   /episodes/{id}/start       -> Started                  GET  /episodes/{id}/export   -> the trace, a file
    POST   /episodes/{id}/invite      Invite -> Invitations       DELETE /grants/{grant}       -> Revoked
    POST   /episodes/{id}/label       Label -> Labelled           GET  /                       the status page

An extension adds routes of its own behind the same door (`tradefair host --tasks`: tasks and outcomes). The token
decides everything here, so no agent may have it. Nothing here looks into a live market except the export of its trace.
Each refusal has the four fields of all errors. Only the page accepts the token as a password from a browser's own
dialogue: if a path that changes something did, another site could make the browser send it there.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeAlias, TypeVar

import anyio
from mcp.server.transport_security import TransportSecurityMiddleware
from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from tradefair.contract import EpisodeOver, ErrorInfo, HarnessFailure, ScenarioError, SeatError, TradefairError
from tradefair.contract.arguments import explain
from tradefair.contract.bounds import MAX_SEED
from tradefair.contract.errors import INTERNAL_ERROR, StorageUnavailable
from tradefair.host.doors import control_bodies as bodies
from tradefair.host.doors.collecting import without_passes
from tradefair.host.doors.hosting import Host, LowSpace, TooManyEpisodes
from tradefair.host.doors.listening import known, security_settings
from tradefair.host.doors.status import EpisodeState, episode_status, host_status
from tradefair.host.doors.status_page import page
from tradefair.host.episode.orders import Checked, Order, checked
from tradefair.host.episode.setup import new_episode_id
from tradefair.host.seats.plans import new_seed
from tradefair.host.server.seat_auth import OBSERVER_SCOPE, Grant, TooManyTokens, token_digest
from tradefair.tracestore import trace_copy

# Bytes of a request's body; orders are small.
CONTROL_BODY_LIMIT = 65_536
# Tells control tokens from seat tokens, which begin with `tf_`, when one is found in a log or a file.
_PREFIX = "tfc_"
_MAX_LISTED = 1_000
_STATES: dict[str, EpisodeState] = {"pending": "pending", "running": "running", "ended": "ended", "closed": "closed"}
# No script can run on the status page, and no other page may frame it.
_PAGE_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}

_log = logging.getLogger("tradefair.host")
_security_log = logging.getLogger("tradefair.security")

B = TypeVar("B", bound=BaseModel)
Handler: TypeAlias = Callable[[Request], Awaitable[Response]]
"""Answers a request that the door has let in; whatever of our errors it raises becomes a typed answer."""


def new_control_token() -> str:
    """256 random bits; show it once and keep `token_digest` of it."""
    return _PREFIX + secrets.token_urlsafe(32)


class ControlExtension(Protocol):
    """What a host can do besides: named orders, and routes of their own."""

    def order(self, task: str) -> Order:
        """The order of a task; called in a thread. Raises SeatError for an unknown one."""
        ...

    def routes(self, host: Host) -> Sequence[tuple[str, str, Handler]]:
        """Path, method and handler of each."""
        ...


class ControlRefused(Exception):
    """An answer that is an error.

    Raised inside a handler, and answered with its status and its four fields.
    """

    def __init__(self, status: int, error: ErrorInfo) -> None:
        super().__init__(error.message)
        self.status = status
        self.error = error


class ControlApp:
    """The ASGI application. `digest` is that of its token; `url` is where seats are served, `/mcp` included."""

    def __init__(
        self,
        host: Host,
        digest: str,
        url: str,
        allowed_hosts: Iterable[str],
        *,
        extension: ControlExtension | None = None,
    ) -> None:
        self._host = host
        self._extension = extension
        self._digest = digest
        self._url = url
        # Against DNS rebinding: a web page could otherwise reach this port under a name of its own.
        self._security = TransportSecurityMiddleware(security_settings(allowed_hosts))
        routes = (
            ("/", "GET", self._page),
            ("/episodes", "GET", self._list),
            ("/episodes", "POST", self._create),
            ("/episodes/{episode}", "GET", self._show),
            ("/episodes/{episode}", "DELETE", self._delete),
            ("/episodes/{episode}/start", "POST", self._start),
            ("/episodes/{episode}/invite", "POST", self._invite),
            ("/episodes/{episode}/label", "POST", self._label),
            ("/episodes/{episode}/lapse", "POST", self._lapse),
            ("/episodes/{episode}/cancel", "POST", self._cancel),
            ("/episodes/{episode}/export", "GET", self._export),
            ("/grants/{grant}", "DELETE", self._revoke),
            *(() if extension is None else extension.routes(host)),
        )
        self.starlette = Starlette(
            routes=[Route(path, self._guarded(handler), methods=[method]) for path, method, handler in routes],
            exception_handlers={404: _no_such_path, 405: _no_such_path},
        )
        # A redirect would answer before the token was asked for.
        self.starlette.router.redirect_slashes = False

    # --- the door ---------------------------------------------------------------------------------------------------

    def _guarded(self, handler: Handler) -> Handler:
        """Host header and token first; then every error is a typed answer.

        A fault of ours becomes a plain internal error: its text is for the log only.
        """

        async def guard(request: Request) -> Response:
            # Before the token: a foreign page must not learn whether a token would be good.
            foreign = await self._security.validate_request(request, is_post=False)
            if foreign is not None:
                return foreign
            if not self._admitted(request):
                return _unauthorized(request)
            known(request.scope)
            try:
                return await handler(request)
            except ControlRefused as refused:
                return _error(refused.status, refused.error)
            except TradefairError as error:
                return _error(*_typed(error))
            except Exception:
                _log.exception("%s %s failed", request.method, request.url.path)
                return _error(500, INTERNAL_ERROR)

        return guard

    def _admitted(self, request: Request) -> bool:
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        # Basic only for the page, and only on it: browsers send it along to every path of the host by themselves.
        if scheme.lower() == "basic" and request.url.path == "/":
            given = _password(given)
        elif scheme.lower() != "bearer":
            return False
        # Digests have one length and are compared in constant time: timing says nothing about the token.
        return hmac.compare_digest(token_digest(given.strip()), self._digest)

    # --- episodes ---------------------------------------------------------------------------------------------------

    async def _create(self, request: Request) -> Response:
        asked = await read_body(request, bodies.Create)
        with without_passes():
            wanted = await anyio.to_thread.run_sync(self._checked, asked)
        self._check_seats(wanted)
        first, step = wanted.order.seed, 0 if asked.same_seed else 1
        if first + step * (asked.count - 1) > MAX_SEED:
            # Checked for the whole order: the last episodes of a batch must not fail after the first have begun.
            raise ScenarioError(f"the last of {asked.count} seeds would be over 2^63 - 1")
        # Checked once for all of them: only the seeds differ.
        seeds = [first + step * index for index in range(asked.count)]
        orders = [wanted._replace(order=wanted.order.model_copy(update={"seed": seed})) for seed in seeds]
        self._host.check_room(asked.count)
        # Room and names before anything is kept, so that a refusal changes nothing.
        names = [new_episode_id() for _ in orders]
        try:
            with self._host.saved_once():
                # One write of the registry for the whole request, instead of one per token and episode.
                for name, order in zip(names, orders, strict=True):
                    self._host.order(order, name)
                granted = [grant for name in names for grant in self._invited(name, wanted, asked)]
                invitations = [_invitation(*grant) for grant in granted]
            # After the tokens are saved: an episode without known tokens could never be played.
            for name in names if asked.start else ():
                await self._host.start(name)
        # BaseException: a client that hangs up cancels this task, and must not leave half an order.
        except BaseException:
            await self._undo(names)
            raise
        listed = [_line(self._host, name) for name in names]
        _log.info(
            "episodes created", extra={"market": wanted.order.market, "count": asked.count, "started": asked.start}
        )
        return _answer(bodies.Created(url=self._url, invitations=invitations, episodes=listed), 201)

    def _checked(self, asked: bodies.Create) -> Checked:
        """The order of a request, on its first seed."""
        named = asked.model_dump(include={"ttl_s", "idle_s", "tools", "refusals", "labels"}, exclude_unset=True)
        if asked.market is not None:
            seed = new_seed() if asked.seed is None else asked.seed
            further = asked.model_dump(include={"market", "scenario", "overrides", "seats", "others"})
            return checked(Order.model_validate({**further, **named, "seed": seed}))
        if self._extension is None or asked.task is None:
            raise ScenarioError("this host has no tasks, one with --tasks has: name a market")
        try:
            return checked(self._extension.order(asked.task).model_copy(update={**named, "task": asked.task}))
        except SeatError as unknown:
            error = ErrorInfo("unknown_id", str(unknown), "GET /tasks lists what there is", False)
            raise ControlRefused(404, error) from None

    def _check_seats(self, wanted: Checked) -> None:
        seats, most = len(wanted.plan.seats), self._host.max_seats
        if seats > most:
            # An episode of thousands of seats holds the loop for as long as each of them takes.
            message = f"{wanted.scenario.id} has {seats} seats; here an episode has at most {most}"
            hint = "order a smaller scenario, or have the operator host it by name or raise max-seats"
            raise ControlRefused(400, ErrorInfo("too_many_seats", message, hint, False))

    def _invited(self, name: str, wanted: Checked, asked: bodies.Create) -> Iterable[tuple[str, Grant]]:
        for seat in wanted.plan.agents if asked.invite else ():
            yield self._host.invite(name, seat)
        for _ in range(asked.observers):
            yield self._host.invite_observer(name)

    async def _undo(self, names: Iterable[str]) -> None:
        """Take back what a failed request had made, so that it is carried out wholly or not at all."""
        # Shielded, because the task may be cancelled already.
        with anyio.CancelScope(shield=True):
            for name in names:
                try:
                    await self._host.cancel(name)
                except TradefairError:
                    _log.warning("an episode of a failed request stays", extra={"episode": name})
                else:
                    if name in self._host.episodes:
                        # An ended episode would otherwise stay for the linger time without anyone who knows its tokens.
                        await self._host.retire(name)

    async def _start(self, request: Request) -> Response:
        begun = await self._host.start(_name(request))
        return _answer(bodies.Started(episode=_line(self._host, begun.id)))

    async def _list(self, request: Request) -> Response:
        state, limit = request.query_params.get("state"), request.query_params.get("limit", "100")
        if state is not None and state not in _STATES:
            raise _invalid(f"state is one of {', '.join(_STATES)}")
        # As text first: `int` also reads signs, spaces and digits of other scripts.
        if not (limit.isascii() and limit.isdigit() and len(limit) <= 4 and 1 <= int(limit) <= _MAX_LISTED):
            raise _invalid(f"limit is a number from 1 to {_MAX_LISTED}")
        return _answer(await host_status(self._host, state=_STATES.get(state or ""), limit=int(limit)))

    async def _show(self, request: Request) -> Response:
        return _answer(episode_status(self._host, _name(request)))

    async def _label(self, request: Request) -> Response:
        asked = await read_body(request, bodies.Label)
        return _answer(bodies.Labelled(labels=await self._host.label(_name(request), asked.labels)))

    async def _lapse(self, request: Request) -> Response:
        asked = await read_body(request, bodies.Lapse)
        episode = self._host.episode(_name(request))
        if episode.core.ended is not None:
            raise EpisodeOver(episode.core.ended)
        # Raises SeatError for an unknown seat before anything is done.
        episode.core.tools(asked.seat)
        # Read before the lapse, since afterwards the seat is no longer awaited.
        awaited = episode.core.awaits(asked.seat)
        await episode.lapse(asked.seat, asked.reason)
        return _answer(bodies.Lapsed(lapsed=awaited))

    async def _cancel(self, request: Request) -> Response:
        name = _name(request)
        await self._host.cancel(name)
        episode = self._host.episodes.get(name)
        return _answer(bodies.Cancelled(end_reason=None if episode is None else episode.core.ended))

    async def _delete(self, request: Request) -> Response:
        return _answer(bodies.Cancelled(end_reason=await self._host.remove(_name(request))))

    async def _export(self, request: Request) -> Response:
        name = _name(request)
        path = self._host.trace_of(name)
        if self._host.mark(name).sealed:
            hint = "play on, and ask for the outcome: the traces are published with the salt"
            raise ControlRefused(403, ErrorInfo("sealed", "a sealed episode shows neither seed nor trace", hint, False))
        # In a thread: the copy reads the whole file, and episodes must go on meanwhile.
        content = await anyio.to_thread.run_sync(trace_copy, self._host.logs.reading(path))
        headers = {"Content-Disposition": f'attachment; filename="{path.name}"'}
        return Response(content, media_type="application/vnd.sqlite3", headers=headers)

    # --- tokens -----------------------------------------------------------------------------------------------------

    async def _invite(self, request: Request) -> Response:
        asked = await read_body(request, bodies.Invite)
        # Exactly one of the two; `is` compares them as truth values.
        if (asked.seat is None) is not asked.observer:
            raise _invalid("name a seat, or say observer: true, and not both")
        name = _name(request)
        granted: tuple[str, Grant]
        if asked.seat is None:
            if asked.subject is not None:
                raise _invalid("a subject takes a seat: name it")
            granted = self._host.invite_observer(name)
        elif asked.subject is None:
            granted = self._host.invite(name, asked.seat)
        else:
            granted = "", self._host.invite_subject(name, asked.seat, asked.subject)
        return _answer(bodies.Invitations(url=self._url, invitations=[_invitation(*granted)]), 201)

    async def _revoke(self, request: Request) -> Response:
        grant = request.path_params["grant"]
        self._host.revoke(grant)
        return _answer(bodies.Revoked(grant=grant))

    # --- the page ---------------------------------------------------------------------------------------------------

    async def _page(self, request: Request) -> Response:
        return HTMLResponse(page(await host_status(self._host), self._url), headers=_PAGE_HEADERS)


def _name(request: Request) -> str:
    return request.path_params["episode"]


def _line(host: Host, name: str) -> bodies.EpisodeSummary:
    return bodies.EpisodeSummary.model_validate(episode_status(host, name).model_dump())


def _invitation(token: str, grant: Grant) -> bodies.Invitation:
    seat = None if grant.scope == OBSERVER_SCOPE else grant.seat
    return bodies.Invitation(
        episode=grant.episode, scope=grant.scope, seat=seat, grant=grant.id, token=token, subject=grant.subject
    )


def _password(encoded: str) -> str:
    """The password of HTTP's basic scheme; empty where there is none."""
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    # ValueError covers text that is not ASCII.
    except (binascii.Error, UnicodeDecodeError, ValueError):
        return ""


# --- bodies and answers ---------------------------------------------------------------------------------------------


async def read_body(request: Request, model: type[B]) -> B:
    """The request's body as its model; refused beyond 64 KiB without reading on."""
    content = bytearray()
    try:
        # Counted while it arrives: a length in a header may be missing or wrong.
        async for chunk in request.stream():
            content += chunk
            if len(content) > CONTROL_BODY_LIMIT:
                error = ErrorInfo(
                    "invalid_arguments", f"a body has at most {CONTROL_BODY_LIMIT} bytes", "send less", False
                )
                raise ControlRefused(413, error)
    except ClientDisconnect:
        raise _invalid("the body broke off") from None
    try:
        # Strict: "1" for 1 would be taken in silence otherwise. An empty body stands for all defaults.
        return model.model_validate_json(bytes(content) or b"{}", strict=True)
    except ValidationError as wrong:
        raise ControlRefused(400, explain(wrong, model, request.url.path)) from None


def _answer(model: BaseModel, status: int = 200) -> Response:
    # Answers hold tokens; no cache between client and host may keep them.
    headers = {"Cache-Control": "no-store"}
    return Response(model.model_dump_json(), status, headers=headers, media_type="application/json")


def _error(status: int, error: ErrorInfo) -> Response:
    # Seconds; both states pass by themselves.
    headers = {"Retry-After": "2"} if status in (429, 503) else None
    return JSONResponse({"error": error._asdict()}, status, headers=headers)


def _invalid(message: str) -> ControlRefused:
    return ControlRefused(400, ErrorInfo("invalid_arguments", message, "correct it and ask again", True))


def _typed(error: TradefairError) -> tuple[int, ErrorInfo]:
    """HTTP status and the four fields of what went wrong."""
    if isinstance(error, EpisodeOver):
        return 409, error.info
    if isinstance(error, SeatError):
        return 404, ErrorInfo("unknown_id", str(error), "GET /episodes lists what is here", False)
    if isinstance(error, ScenarioError):
        return 400, ErrorInfo("invalid_arguments", str(error), "tradefair show scenarios lists what there is", True)
    if isinstance(error, TooManyEpisodes):
        hint = "DELETE /episodes/{id} frees a place, also of one that is over; or wait"
        return 429, ErrorInfo("busy", str(error), hint, True)
    if isinstance(error, TooManyTokens):
        return 429, ErrorInfo("busy", str(error), "revoke some: GET /episodes/{id} lists them", True)
    if isinstance(error, LowSpace):
        return 503, ErrorInfo("storage_unavailable", str(error), "make room on the disk and ask again", True)
    if isinstance(error, StorageUnavailable):
        return 503, ErrorInfo("storage_unavailable", "the log or the registry could not be reached", "ask again", True)
    if isinstance(error, HarnessFailure):
        return 503, ErrorInfo("busy", str(error), "ask again later", True)
    _log.error("the control plane failed", exc_info=error)
    return 500, INTERNAL_ERROR


def _unauthorized(request: Request) -> Response:
    if "authorization" in request.headers:  # a browser always asks without it first: that is no attack
        _security_log.warning("refused a request to the control plane")
    error = ErrorInfo("unauthorized", "the control plane's token is missing or wrong", "Authorization: Bearer …", False)
    # Only the page asks for a password: a dialogue on another path would invite the browser to send it there.
    scheme = 'Basic realm="tradefair", charset="UTF-8"' if request.url.path == "/" else 'Bearer realm="tradefair"'
    return JSONResponse({"error": error._asdict()}, 401, headers={"WWW-Authenticate": scheme})


async def _no_such_path(request: Request, fault: Exception) -> Response:
    # No token is asked for here: the answer is the same for every path, so it tells nothing about what exists.
    error = ErrorInfo("unknown_id", "there is no such path or method", "docs/how-to/hosting.md lists them", False)
    return _error(getattr(fault, "status_code", 404), error)
