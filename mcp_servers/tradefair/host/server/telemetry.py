"""What is added to the span of a call where OpenTelemetry is set up: the event and the trace that it became.

The SDK wraps each request in a span and continues a client's `traceparent`; without a configured OpenTelemetry SDK
those spans are no-ops, and so is this. Names are those of `tradefair export --format otlp`. No argument, result or text
is put on a span: a rival of the seat may be able to read the collector.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import get_current_span

from tradefair.contract import SeatId

if TYPE_CHECKING:
    from tradefair.host.episode.looking import CallResult
    from tradefair.host.episode.unbegun import Playable

# OpenTelemetry's names of transports; memory has none.
_NETWORK = {"stdio": "pipe", "http": "tcp"}


def enrich(episode: Playable, seat: SeatId, transport: str, result: CallResult) -> None:
    """Put episode, seat, clock and outcome of a call on the open span, if it is recorded.

    Costs one look-up where no collector is set up.
    """
    span = get_current_span()
    if not span.is_recording():
        return
    core, turn = episode.core, result.turn
    attributes: dict[str, str | int | bool] = {
        "gen_ai.conversation.id": episode.id,
        "tradefair.market": core.market_type.name,
        "tradefair.scenario": core.scenario.id,
        "tradefair.seat": seat,
        "tradefair.round": turn.round,
        "tradefair.phase": turn.phase,
        "tradefair.status": result.status,
    }
    if transport in _NETWORK:
        attributes["network.transport"] = _NETWORK[transport]
    if result.call is not None:
        attributes["gen_ai.tool.call.id"] = result.call
    if result.error is not None:
        attributes["tradefair.error_code"] = result.error.code
    span.set_attributes(attributes)
