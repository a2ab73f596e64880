"""A talk of LangChain's, two calls, one of them refused: in a file `runs…` as the runs that LangSmith's tracer keeps,
else as spans of OpenInference's instrumentation, as the SDK prints them."""

import json
import sys
from datetime import datetime
from pathlib import Path

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.load import dumpd
from langchain_core.load.serializable import Serializable
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers.base import BaseTracer


@tool
def get_order(order_id: str) -> dict:
    "Look at an order."
    return {"order_id": order_id, "status": "pending"}


@tool
def cancel_order(order_id: str) -> str:
    "Cancel an order."
    raise ValueError("too late")


def asks(key, name):
    return {"name": name, "args": {"order_id": "W1"}, "id": key, "type": "tool_call"}


def talk(messages):
    replies = [
        AIMessage("Looking.", tool_calls=[asks("c1", "get_order")]),
        AIMessage("", tool_calls=[asks("c2", "cancel_order")]),
        AIMessage("It is too late."),
    ]
    model, messages = GenericFakeChatModel(messages=iter(replies)), list(messages)
    while True:
        reply = model.invoke(messages)
        messages.append(reply)
        if not reply.tool_calls:
            return reply.content
        for call in reply.tool_calls:
            try:
                messages.append({"get_order": get_order, "cancel_order": cancel_order}[call["name"]].invoke(call))
            except ValueError as error:
                messages.append(ToolMessage(str(error), tool_call_id=call["id"], status="error"))


class Kept(BaseTracer):
    """Runs as `langsmith.schemas.Run` has them, children first."""

    def __init__(self, file):
        super().__init__(_schema_format="original+chat")
        self.file = file

    def _persist_run(self, run):
        from langsmith.schemas import Run

        def plain(value):
            if isinstance(value, Serializable):
                return dumpd(value)
            return value.isoformat() if isinstance(value, datetime) else str(value)

        for child in run.child_runs:
            self._persist_run(child)
        names = ("id", "name", "run_type", "inputs", "outputs", "error", "start_time", "end_time", "extra",
                 "parent_run_id", "trace_id", "dotted_order", "tags")  # fmt: skip
        line = json.dumps({name: getattr(run, name) for name in names}, default=plain)
        Run.model_validate_json(line)
        self.file.write(line + "\n")
        self.file.flush()


said, config = [SystemMessage("Help customers."), HumanMessage("Cancel W1.")], {"metadata": {"thread_id": "thread-1"}}
with open(sys.argv[1], "w", encoding="utf-8") as file:
    if Path(sys.argv[1]).name.startswith("runs"):
        RunnableLambda(talk).invoke(said, {**config, "callbacks": [Kept(file)]})
    else:
        from openinference.instrumentation.langchain import LangChainInstrumentor
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor

        provider, one_line = TracerProvider(), lambda span: span.to_json(indent=None) + "\n"
        provider.add_span_processor(SimpleSpanProcessor(ConsoleSpanExporter(out=file, formatter=one_line)))
        LangChainInstrumentor().instrument(tracer_provider=provider)
        RunnableLambda(talk).invoke(said, config)
