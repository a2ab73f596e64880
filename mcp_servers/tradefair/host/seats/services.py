"""Named services that answer a market's input requests (kernel §5). Rules fetch nothing themselves.

An answer is recorded with the call that needed it, so that re-execution asks no service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol, TypeAlias, runtime_checkable

from pydantic import JsonValue

from tradefair.contract import InputRequest, SeatId
from tradefair.contract.arguments import accepted_arguments
from tradefair.contract.errors import no_service
from tradefair.contract.kernel.core import Core

Service: TypeAlias = Callable[[JsonValue], Awaitable[JsonValue]]
"""Payload of a request -> answer, both JSON."""


@runtime_checkable
class AnswersAtOnce(Protocol):
    """A service that can also answer without an event loop."""

    def answer(self, payload: JsonValue) -> JsonValue:
        """The answer that the service gives, computed in the caller's thread."""
        ...


class ServiceUnavailable(Exception):
    """A service gave no answer; `info` is what the agent reads (`<source>_unavailable`).

    Written for the agent: it does not say which address was asked or what it answered.
    """

    def __init__(self, source: str) -> None:
        super().__init__(source)
        self.info = no_service(source)


class Services:
    """Services by source name. An answer may take `timeout_s` seconds; a late one counts as none."""

    def __init__(self, services: Mapping[str, Service] | None = None, *, timeout_s: float = 30) -> None:
        self._services = dict(services or {})
        self._timeout_s = timeout_s

    def __bool__(self) -> bool:
        return bool(self._services)

    def at_once(self, request: InputRequest) -> JsonValue:
        """The answer for a scripted seat, which plays synchronously. Raises ServiceUnavailable where there is none."""
        service = self._services.get(request.source)
        if not isinstance(service, AnswersAtOnce):
            raise ServiceUnavailable(request.source)
        try:
            return service.answer(request.payload)
        except Exception:  # whatever a service raises, its caller learns one thing: there is no answer
            raise ServiceUnavailable(request.source) from None

    async def answer(self, request: InputRequest) -> JsonValue:
        """The service's answer. Raises ServiceUnavailable when there is none, or not in time."""
        service = self._services.get(request.source)
        if service is None:
            raise ServiceUnavailable(request.source)
        try:
            # A late answer would hold up the seat's call, and with it the market.
            async with asyncio.timeout(self._timeout_s):
                return await service(request.payload)
        # Without the cause: its text may name addresses and keys.
        except Exception:
            raise ServiceUnavailable(request.source) from None


def request_of(core: Core, seat: SeatId, name: str, arguments: object) -> InputRequest | None:
    """What the market asks of outside services before this call; None: nothing, or Core will refuse the arguments."""
    tool = core.tools(seat).get(name)
    if tool is None or tool.needs is None:
        return None
    given = accepted_arguments(arguments, tool)
    return None if given is None else core.market_type.request(core.market, seat, name, given)
