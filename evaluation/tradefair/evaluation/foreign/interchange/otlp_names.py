"""Every name that spans carry, in one table: OpenTelemetry's for generative AI and MCP, OpenInference's, our own.

Exports write the first of several names, readers take any. The conventions are in development; a later version changes
names here and nowhere else.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum

SCHEMA_URL = "https://opentelemetry.io/schemas/gen-ai-dev/1.42.0-dev"
"""Published by the registry of open-telemetry/semantic-conventions-genai."""

# The value that the conventions for MCP prescribe for results with `isError`.
TOOL_ERROR = "tool_error"
"""`error.type` of a call that was answered with an error."""

TOOLS_CALL = "tools/call"
"""`mcp.method.name` of a tool call."""


OWN = "tradefair."
"""What our own attributes begin with; the rest of their names are fields as in `own`."""


class Operation(StrEnum):
    """`gen_ai.operation.name`, and how a span's name begins."""

    INVOKE_AGENT = "invoke_agent"
    CHAT = "chat"
    EXECUTE_TOOL = "execute_tool"


class Name(StrEnum):
    """Attribute names that we write."""

    SERVICE = "service.name"
    OPERATION = "gen_ai.operation.name"
    AGENT_NAME = "gen_ai.agent.name"
    AGENT_ID = "gen_ai.agent.id"
    CONVERSATION = "gen_ai.conversation.id"
    MODEL = "gen_ai.request.model"
    INPUT_MESSAGES = "gen_ai.input.messages"
    OUTPUT_MESSAGES = "gen_ai.output.messages"
    INPUT_TOKENS = "gen_ai.usage.input_tokens"
    OUTPUT_TOKENS = "gen_ai.usage.output_tokens"
    FINISH_REASONS = "gen_ai.response.finish_reasons"
    TOOL_NAME = "gen_ai.tool.name"
    TOOL_TYPE = "gen_ai.tool.type"
    TOOL_CALL_ID = "gen_ai.tool.call.id"
    TOOL_ARGUMENTS = "gen_ai.tool.call.arguments"
    TOOL_RESULT = "gen_ai.tool.call.result"
    TOOLS = "gen_ai.tool.definitions"
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
    KIND = "tradefair.kind"
    STEP = "tradefair.step"
    PARENT = "tradefair.parent"
    STATUS = "tradefair.status"
    ERROR_CODE = "tradefair.error_code"
    ERROR = "tradefair.error"
    REASON = "tradefair.reason"
    TOLD = "tradefair.told"
    REPLY = "tradefair.reply"
    REPLY_ROLE = "tradefair.reply_role"
    TIME = "tradefair.time"
    PASSED = "tradefair.passed"


# Attributes that are read only, by what they mean, the surest first.
SYSTEM = ("gen_ai.system_instructions",)
PROMPT, REPLIED_TEXT, REPLIED_CALLS = "ai.prompt.messages", "ai.response.text", "ai.response.toolCalls"
"""Vercel's: of one call of a model its messages, the text of its reply, and the JSON text of its calls."""
ASKED = (Name.INPUT_MESSAGES, "gen_ai.prompt", PROMPT)
REPLIED = (Name.OUTPUT_MESSAGES, "gen_ai.completion")
INDEXED_ASKED, INDEXED_REPLIED = "gen_ai.prompt", "gen_ai.completion"
"""OpenLLMetry's: flattened keys that begin so."""
ALL_MESSAGES = ("pydantic_ai.all_messages", "all_messages_events")
TOOL = (Name.TOOL_NAME, "ai.toolCall.name", "traceloop.entity.name")
CALL_ID = (Name.TOOL_CALL_ID, "ai.toolCall.id")
ENTITY_INPUT, ENTITY_OUTPUT = "traceloop.entity.input", "traceloop.entity.output"
"""OpenLLMetry's: JSON texts of {"inputs": …} or {"args", "kwargs"}, and of {"output": …}, or the values themselves."""
ARGUMENTS = (Name.TOOL_ARGUMENTS, "tool_arguments", "ai.toolCall.args", "ai.toolCall.input", ENTITY_INPUT)
RESULT = (Name.TOOL_RESULT, "tool_response", "ai.toolCall.result", "ai.toolCall.output", ENTITY_OUTPUT)
AGENT = (Name.AGENT_NAME, "agent_name")
MODELS = ("gen_ai.response.model", Name.MODEL)
CONVERSATIONS = (Name.CONVERSATION, "session.id")
KINDS = ("traceloop.span.kind", "ai.operationId")
"""Attributes by which those who came before the conventions tell a tool's span."""

OF_TOOLS = ("tool.name", "tool_name", "toolname", "tool.call.id", "tool_call_id", "toolcall.id")
"""How attributes end that no span has but a tool's, in every convention."""

MESSAGE_EVENTS = ("gen_ai.system.message", "gen_ai.user.message", "gen_ai.assistant.message", "gen_ai.tool.message")
"""Span events and log records that each hold a message of a prompt; after them the event of the reply."""
CHOICE_EVENT = "gen_ai.choice"
DETAILS_EVENT = "gen_ai.client.inference.operation.details"
"""A log record with the messages of one call of a model, under the same names as a span has them."""
EXCEPTION_MESSAGE = "exception.message"


class Inference:
    """OpenInference: names of attributes. Messages lie in flattened keys that begin with `ASKED` and `REPLIED`."""

    KIND = "openinference.span.kind"
    SESSION = "session.id"
    TOOL = "tool.name"
    CALL_IDS = ("tool_call.id", "tool.id")
    INPUT, INPUT_TYPE = "input.value", "input.mime_type"
    OUTPUT, OUTPUT_TYPE = "output.value", "output.mime_type"
    AGENTS = ("agent.name", "graph.node.id")
    ASKED, REPLIED, TOOLS = "llm.input_messages", "llm.output_messages", "llm.tools"
    MODEL = "llm.model_name"
    TOKENS_IN, TOKENS_OUT = "llm.token_count.prompt", "llm.token_count.completion"
    STOP = "llm.finish_reason"


class SpanKind(IntEnum):
    """`SpanKind` of the protocol."""

    INTERNAL = 1
    SERVER = 2
    CLIENT = 3


class StatusCode(IntEnum):
    """`Status.StatusCode` of the protocol."""

    UNSET = 0
    OK = 1
    ERROR = 2
