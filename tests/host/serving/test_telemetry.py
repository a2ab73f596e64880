"""Spans of a served seat, in a process where OpenTelemetry is set up as an operator would."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
from mcp import Client, StdioServerParameters

from tradefair.tracestore import open_trace

# Spans go to a file, one JSON object a line; everything else is the command as it is.
SERVER = """
import sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import ConsoleSpanExporter, SimpleSpanProcessor
out = open(sys.argv.pop(1), "w", buffering=1)
provider = TracerProvider()
exporter = ConsoleSpanExporter(out=out, formatter=lambda span: span.to_json(None) + "\\n")
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from tradefair.cli import main
main()
"""
SERVE = ("serve", "teaching", "--scenario", "pie", "--seat", "P1", "--others", "half", "--seed", "7")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


async def test_a_calls_span_names_the_event_that_it_became_and_holds_nobodys_words(stage: Any, tmp_path: Path) -> None:
    spans = tmp_path / "spans.jsonl"
    told = ["-c", SERVER, str(spans), *SERVE, "--out", str(tmp_path)]
    async with Client(StdioServerParameters(command=sys.executable, args=told)) as client:
        await stage.within(client.call_tool("claim", {"slices": 5}, meta={"traceparent": PARENT}))
        refused = await stage.within(client.call_tool("claim", {"slices": "all of the secret pie"}))
        assert refused.is_error
        await stage.within(client.call_tool("add_note", {"text": "words of the diary"}))
        noted = await stage.within(client.call_tool("view_notes"))
        assert "words of the diary" in noted.content[0].text
        await stage.within(client.read_resource("market://view_notes"))
        failed = await stage.within(client.call_tool("execute_code", {"code": "raise ValueError('words of code')"}))
        assert "words of code" in failed.structured_content["message"]
    found = [orjson.loads(line) for line in spans.read_text().splitlines()]
    claimed, wrong = (span for span in found if span["name"] == "tools/call claim")
    assert claimed["context"]["trace_id"] == "0x" + PARENT.split("-")[1]
    assert claimed["parent_id"] == "0x" + PARENT.split("-")[2]

    (path,) = tmp_path.glob("*.trace")
    with open_trace(path) as trace:
        episode = str(trace.manifest.about["episode"])
        events = {event["call"]: event for event in trace.decoded() if event["event"] == "tool_called"}
    for span, status, code in ((claimed, "ok", None), (wrong, "invalid", "invalid_arguments")):
        said = span["attributes"]
        event = events[said["gen_ai.tool.call.id"]]
        assert (said["tradefair.seat"], event["seat"], event["tool"]) == ("P1", "P1", "claim")
        assert (said["tradefair.market"], said["tradefair.scenario"]) == ("teaching", "teaching/pie")
        assert said["gen_ai.conversation.id"] == episode
        assert (said["tradefair.status"], said.get("tradefair.error_code")) == (status, code)
        assert said["network.transport"] == "pipe"
    assert not any(words in spans.read_text() for words in ("secret", "words of", "integer 0..1000"))
