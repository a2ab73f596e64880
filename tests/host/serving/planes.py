"""A served host with its control plane, in this process."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import httpx2

from tradefair.host.doors.app import HttpServer
from tradefair.host.doors.control import ControlApp, ControlExtension, new_control_token
from tradefair.host.doors.hosting import Host
from tradefair.host.server.seat_auth import token_digest

NAMES = ("control.test",)
PIE = {"market": "teaching", "scenario": "teaching/pie", "others": "half", "seed": 7}


class Plane(NamedTuple):
    """A served host with its control plane; `http` has the token."""

    host: Host
    server: HttpServer
    http: httpx2.AsyncClient
    app: ControlApp

    async def create(self, **wanted: Any) -> Any:
        answer = await self.http.post("/episodes", json={**PIE, **wanted})
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def refused(self, status: int, method: str, path: str, **options: Any) -> dict[str, Any]:
        answer = await self.http.request(method, path, **options)
        assert answer.status_code == status, answer.text
        error = answer.json()["error"]
        assert set(error) == {"code", "message", "hint", "retryable"}
        return error


@asynccontextmanager
async def plane(stage: Any, *, extension: ControlExtension | None = None, **options: Any) -> AsyncGenerator[Plane]:
    host = Host(stage.folder, sandbox=stage.sandbox, **options)
    token = new_control_token()
    async with stage.hosted(host) as server:
        app = ControlApp(host, token_digest(token), server.url, NAMES, extension=extension)
        transport = httpx2.ASGITransport(app=app.starlette)
        headers = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(transport=transport, base_url="http://control.test", headers=headers) as http:
            yield Plane(host, server, http, app)
