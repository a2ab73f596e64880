"""Every agent plays every endpoint's model to the same trace: the door says the question, and reads the reply."""

from __future__ import annotations

from typing import Any

import pytest
from tests.frameworks.models.standins import DRESSES, INSTEAD, NAMES, Json, StandIn

from tradefair.frameworks.models import parse_model


def _filtered(reply: Json) -> Json:
    choice = {"index": 0, "message": {"role": "assistant", "content": None}, "finish_reason": "content_filter"}
    return reply | {"choices": [choice]}


AGENTS = ("react", "reflection", "plan_and_act", "langchain_agent", "openai_loop", "openai_agents", "pydantic_ai")

_INSTEAD = {**INSTEAD, "stopped by a filter": _filtered}


async def played(teaching: Any, agent: str, standin: StandIn, text: str = "openai:tiny", **options: Any) -> Any:
    """What the trace says of an episode that an agent plays with the stand-in's model."""
    with standin.served() as url:
        async with teaching.table() as table:
            model = parse_model(text, base_url=f"{url}/v1", **options)
            await table.play(agent, model)
    return teaching.written(table)


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("name", NAMES)
async def test_every_agent_plays_every_endpoint_to_the_trace_of_the_policy_behind_it(
    teaching: Any, agent: str, name: str
) -> None:
    standin = StandIn(name, teaching.policy("random_legal"))
    written = await played(teaching, agent, standin)
    inside = await teaching.native(teaching.policy("random_legal"))
    assert written.head == inside.head
    assert len(standin.refused) == len({*standin.refused}) <= 6
    assert (standin.thoughts > 0) is (name in ("newest", "responses_only"))


@pytest.mark.parametrize("agent", AGENTS)
@pytest.mark.parametrize("dress", [*DRESSES, *_INSTEAD])
async def test_a_reply_in_any_dress_is_played_and_counted(teaching: Any, agent: str, dress: str) -> None:
    standin = StandIn("chat", teaching.policy("random_legal"), dress=DRESSES.get(dress), instead=_INSTEAD.get(dress))
    written = await played(teaching, agent, standin)
    notes = [note for note in written.notes if note["kind"] == "model_call"]
    assert [call for note in notes for call in note["calls"]] == [tool for tool, _ in written.calls]
    assert written.head == (await teaching.native(teaching.policy("random_legal"))).head
