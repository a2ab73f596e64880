"""OTLP JSON that Pydantic AI's instrumentation and OpenTelemetry's exporter write: a sub-agent, a refused call."""

import json
import sys

from google.protobuf.json_format import MessageToDict
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from pydantic_ai import Agent, ModelRetry
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ThinkingPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings


class Requests(SpanExporter):
    def export(self, spans):
        with open(sys.argv[1], "a", encoding="utf-8") as file:
            file.write(json.dumps(MessageToDict(encode_spans(spans))) + "\n")
        return SpanExportResult.SUCCESS


def desk(messages, info):
    told = [
        part for message in messages for part in message.parts if isinstance(part, ToolReturnPart | RetryPromptPart)
    ]
    match len(told):
        case 0:
            calls = [
                ToolCallPart("get_order", {"order_id": "W1"}, "c1"),
                ToolCallPart("get_user", {"user": "u1"}, "c2"),
            ]
            return ModelResponse(parts=[ThinkingPart("The order first."), TextPart("Looking."), *calls])
        case 2:
            return ModelResponse(parts=[ToolCallPart("cancel_order", {"order_id": "W1"}, "c3")])
        case 3:
            return ModelResponse(parts=[ToolCallPart("ask_helper", {"question": "why"}, "c4")])
        case _:
            return ModelResponse(parts=[TextPart("Done.")])


def helping(messages, info):
    if len(messages) == 1:
        return ModelResponse(parts=[ToolCallPart("search", {"words": "why"}, "s1")])
    return ModelResponse(parts=[TextPart("It is too late.")])


provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(Requests()))
watched = [Instrumentation(InstrumentationSettings(tracer_provider=provider))]
helper = Agent(FunctionModel(helping), name="helper", capabilities=watched)
agent = Agent(FunctionModel(desk), name="desk", instructions="Help customers.", capabilities=watched)


@helper.tool_plain
def search(words: str) -> int:
    return len(words)


@agent.tool_plain
def get_order(order_id: str) -> dict[str, str]:
    return {"order_id": order_id, "status": "pending"}


@agent.tool_plain
def get_user(user: str) -> str:
    return "Ann"


@agent.tool_plain
def cancel_order(order_id: str) -> str:
    raise ModelRetry("too late")


@agent.tool_plain
async def ask_helper(question: str) -> str:
    return (await helper.run(question)).output


first = agent.run_sync("Please cancel W1.")
agent.run_sync("Thank you.", message_history=first.all_messages())
