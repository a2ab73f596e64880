"""The one encoder of foreign events: what it writes are events of the schema, numbered as in a live log."""

from __future__ import annotations

import orjson

from tradefair.contract.chain import INLINE_BYTES, canonical, digest
from tradefair.contract.foreign import IMPORTED, MAX_EVENT, ForeignEvents, foreign_core, reduced
from tradefair.contract.kernel.event import ManifestCore, Message, ToolCalled, parse_event
from tradefair.contract.kernel.players import Seating


def test_a_foreign_trace_is_of_the_schema_event_by_event() -> None:
    core = foreign_core("desk", IMPORTED, {"agent": "agent"})
    assert canonical(ManifestCore.model_validate(core).model_dump(mode="json")) == canonical(core)
    events = ForeignEvents()
    large = "x" * INLINE_BYTES
    written = [
        events.started(Seating.outside(["agent"]).model_dump(mode="json")),
        events.said("agent", "user", "text", "hello", step=1),
        events.called("agent", "look", {"id": 1}, kind="read", status="ok", result=large, step=2)[1],
        events.called("agent", "look", {"id": 1}, kind="read", status="ok", result=large, step=3)[1],
        events.round_closed(),
        events.called("agent", "act", "no json", kind=None, status="failed", step=4)[1],
        events.ended("truncated:log_ended"),
    ]
    parsed = [parse_event(event.body) for event in written]
    assert [event.seq for event in parsed] == [1, 2, 3, 4, 5, 6, 7]
    said, first, last = parsed[1], parsed[2], parsed[5]
    assert isinstance(said, Message)
    assert (said.step, said.content) == (1, "hello")
    assert isinstance(first, ToolCalled)
    assert isinstance(last, ToolCalled)
    name = digest(orjson.dumps(large))
    assert written[2].blob == (name, orjson.dumps(large))
    assert (first.result_ref, written[3].blob) == (name, None)
    assert (last.call, last.round, last.error and last.error.code) == ("r2.agent.1", 2, "no_answer")


def test_content_beyond_an_event_is_kept_as_size_and_digest() -> None:
    text = "y" * MAX_EVENT
    assert reduced("short") == "short"
    assert reduced(text) == {"size": MAX_EVENT + 2, "digest": digest(orjson.dumps(text))}


def test_a_result_that_no_blob_may_hold_stands_in_its_event() -> None:
    events = ForeignEvents()
    text = "y" * 1024 * 1024
    _, event = events.called("agent", "get", {}, kind=None, status="ok", result=text)
    stored = orjson.loads(event.body)
    assert (event.blob, stored["result_ref"], stored["result"]) == (None, None, text)
    assert stored["result_digest"] == digest(orjson.dumps(text))


def test_arguments_and_answer_that_do_not_fit_into_one_event_together_leave_the_answers_digest() -> None:
    arguments, text = {"text": "x" * 5_000_000}, "y" * 5_000_000
    _, event = ForeignEvents().called("agent", "get", arguments, kind=None, status="ok", result=text)
    stored = orjson.loads(event.body)
    assert len(event.body) < MAX_EVENT
    assert (stored["arguments"], stored["result"]) == (
        arguments,
        {"size": 5_000_002, "digest": digest(orjson.dumps(text))},
    )
    assert stored["result_digest"] == digest(orjson.dumps(stored["result"]))
