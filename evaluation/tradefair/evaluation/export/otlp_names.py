"""Every name that spans carry, in one table: OpenTelemetry's conventions for generative AI and MCP, and our own.

The conventions are in development; a later version changes names here and nowhere else.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"
"""Published by the registry of open-telemetry/semantic-conventions-genai."""

# The value that the conventions for MCP prescribe for results with `isError`.
TOOL_ERROR = "tool_error"
"""`error.type` of a call that was answered with an error."""


class Operation(StrEnum):
    """`gen_ai.operation.name`, and how a span's name begins."""

    INVOKE_AGENT = "invoke_agent"
    CHAT = "chat"
    EXECUTE_TOOL = "execute_tool"


class Name(StrEnum):
    """Attribute names."""

    SERVICE = "service.name"
    OPERATION = "gen_ai.operation.name"
    AGENT_NAME = "gen_ai.agent.name"
    AGENT_ID = "gen_ai.agent.id"
    CONVERSATION = "gen_ai.conversation.id"
    MODEL = "gen_ai.request.model"
    INPUT_TOKENS = "gen_ai.usage.input_tokens"
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
    FINISH_REASONS = "gen_ai.response.finish_reasons"
    TOOL_NAME = "gen_ai.tool.name"
    TOOL_TYPE = "gen_ai.tool.type"
    TOOL_CALL_ID = "gen_ai.tool.call.id"
    TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
    TOOL_RESULT = "gen_ai.tool.call.result"
    MCP_METHOD = "mcp.method.name"
    REQUEST_ID = "jsonrpc.request.id"
    TRANSPORT = "network.transport"
    ERROR_TYPE = "error.type"
    MARKET = "tradefair.market"
    SCENARIO = "tradefair.scenario"
    SEAT = "tradefair.seat"
    BY = "tradefair.by"
    ROLE = "tradefair.role"
    SEQ = "tradefair.seq"
    ROUND = "tradefair.round"
    PHASE = "tradefair.phase"
    STATUS = "tradefair.status"
    ERROR_CODE = "tradefair.error_code"
    REASON = "tradefair.reason"
    REPLY = "tradefair.reply"
    REPLY_ROLE = "tradefair.reply_role"
    TIME = "tradefair.time"


class SpanKind(IntEnum):
    """`SpanKind` of the protocol."""

    INTERNAL = 1
    SERVER = 2
    CLIENT = 3


class StatusCode(IntEnum):
    """`Status.StatusCode` of the protocol."""

    UNSET = 0
    ERROR = 2
