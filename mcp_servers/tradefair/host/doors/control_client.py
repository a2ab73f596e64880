"""A client of the control plane: one method per route, with refusals as exceptions of the common tree."""

from __future__ import annotations

from types import TracebackType
from typing import TypeVar
from urllib.parse import quote

import httpx2
import orjson
from pydantic import BaseModel

from tradefair.contract import HarnessFailure, ScenarioError, SeatError, TradefairError
from tradefair.contract.errors import StorageUnavailable
from tradefair.host.doors import control_bodies as bodies
from tradefair.host.doors.status import EpisodeState, EpisodeStatus, HostStatus

# The host answers when all episodes of an order have been made.
_TIMEOUT = httpx2.Timeout(30, read=600)  # seconds; creating many episodes takes a while

M = TypeVar("M", bound=BaseModel)


class ControlClient:
    """An open client. Use as a context manager.

    Every method raises SeatError (a wrong token, an unknown id), ScenarioError (what cannot be played), HarnessFailure
    (no host there, or it has no room) or StorageUnavailable.
    """

    def __init__(self, url: str, token: str) -> None:
        headers = {"Authorization": f"Bearer {token}"}
        self._url = url.rstrip("/")
        self._http = httpx2.Client(headers=headers, timeout=_TIMEOUT)

    def __enter__(self) -> ControlClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def create(self, wanted: bodies.Create) -> bodies.Created:
        """New episodes and, where asked for, the tokens of their seats."""
        return self._ask("POST", "/episodes", bodies.Created, wanted)

    def start(self, episode: str) -> bodies.Started:
        """Begin an episode that waits for it."""
        return self._ask("POST", f"{_path(episode)}/start", bodies.Started)

    def invite(self, episode: str, seat: str | None, subject: str | None = None) -> bodies.Invitations:
        """A token of a seat, or of an observer (None); with `subject` the seat is opened by an issuer's tokens."""
        wanted = bodies.Invite(seat=seat, observer=seat is None, subject=subject)
        return self._ask("POST", f"{_path(episode)}/invite", bodies.Invitations, wanted)

    def revoke(self, grant: str) -> bodies.Revoked:
        """Make a token worthless."""
        return self._ask("DELETE", f"/grants/{quote(grant, safe='')}", bodies.Revoked)

    def label(self, episode: str, wanted: bodies.Label) -> bodies.Labelled:
        """Call the players of seats otherwise from now on."""
        return self._ask("POST", f"{_path(episode)}/label", bodies.Labelled, wanted)

    def lapse(self, episode: str, wanted: bodies.Lapse) -> bodies.Lapsed:
        """The default action for a seat that is awaited."""
        return self._ask("POST", f"{_path(episode)}/lapse", bodies.Lapsed, wanted)

    def cancel(self, episode: str) -> bodies.Cancelled:
        """End an episode, or drop one that has not started."""
        return self._ask("POST", f"{_path(episode)}/cancel", bodies.Cancelled)

    def delete(self, episode: str) -> bodies.Cancelled:
        """End an episode, if it runs, and free its place at once; its trace stays."""
        return self._ask("DELETE", _path(episode), bodies.Cancelled)

    def status(self, *, state: EpisodeState | None = None, limit: int = 100) -> HostStatus:
        """The host, and its newest episodes."""
        query = f"?limit={limit}" + (f"&state={state}" if state else "")
        return self._ask("GET", f"/episodes{query}", HostStatus)

    def show(self, episode: str) -> EpisodeStatus:
        """One episode with its seats and tokens."""
        return self._ask("GET", _path(episode), EpisodeStatus)

    def export(self, episode: str) -> bytes:
        """A copy of an episode's trace as of now: the bytes of a `.trace` file. It holds the secrets of all seats.

        Whoever holds it can read what no seat may know while the episode runs.
        """
        return self._send("GET", f"{_path(episode)}/export", None).content

    def _ask(self, method: str, path: str, answer: type[M], body: BaseModel | None = None) -> M:
        # Defaults are left out: an older host knows fewer fields and refuses unknown ones.
        content = None if body is None else body.model_dump_json(exclude_defaults=True).encode()
        return answer.model_validate_json(self._send(method, path, content).content)

    def _send(self, method: str, path: str, content: bytes | None) -> httpx2.Response:
        try:
            answer = self._http.request(method, self._url + path, content=content)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise HarnessFailure(f"{self._url} cannot be reached: {error or type(error).__name__}") from None
        if answer.is_success:
            return answer
        raise _refusal(answer)


def _path(episode: str) -> str:
    # Quoted, so that an id with a slash asks for that id and not for another path.
    return f"/episodes/{quote(episode, safe='')}"


def _refusal(answer: httpx2.Response) -> TradefairError:
    try:
        error = orjson.loads(answer.content)["error"]
        code, text = str(error["code"]), f"{error['message']}; {error['hint']}"
    # Whatever answered is no control plane: a proxy, or another program on that port.
    except (orjson.JSONDecodeError, KeyError, TypeError):
        # The status is all that is known then.
        return HarnessFailure(f"HTTP {answer.status_code}: no control plane answers there")
    # The codes of the host, as the exceptions that the same mistake raises in process.
    if code in ("unauthorized", "unknown_id", "episode_over", "sealed"):
        return SeatError(text)
    if code == "invalid_arguments":
        return ScenarioError(text)
    return StorageUnavailable(text) if code == "storage_unavailable" else HarnessFailure(text)
