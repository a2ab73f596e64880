"""An episode that was recorded is played again offline: the same trace, byte by byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tradefair.contract import Brief, HarnessFailure
from tradefair.contract.kernel.players import Limits
from tradefair.frameworks import load_framework
from tradefair.frameworks.models import Faults, ModelEndpoint, parse_model
from tradefair.frameworks.models.serving import open_address


async def _play(
    teaching: Any, framework: str, endpoint: ModelEndpoint, *, brief: Brief | None = None, **options: Any
) -> Any:
    """P1 played through a gateway; what the trace says."""
    async with teaching.table() as table, open_address(endpoint, seat="P1", **options) as address:
        if brief is None:
            await table.play(framework, address.endpoint(endpoint))
            return table
        async with table.client() as client:
            try:
                agent = load_framework(framework)()
                await agent.play(table.seat(client), address.endpoint(endpoint), brief, Limits())
            except HarnessFailure as error:
                failure = error
            else:
                return table
        raise failure


@pytest.mark.parametrize("framework", ["react", "openai_loop"])
async def test_a_policys_episode_is_replayed_without_the_policy_to_the_same_head(
    teaching: Any, tape: Path, framework: str
) -> None:
    inside = await teaching.native(teaching.policy("random_legal"))
    played = await _play(teaching, framework, teaching.endpoint("random_legal"), record=tape)
    again = await _play(teaching, framework, parse_model(f"replay:{tape}"))
    heads = {teaching.written(table).head for table in (played, again)}
    assert heads == {inside.head}


async def test_a_models_episode_is_replayed_without_the_model_to_the_same_head(
    teaching: Any, serving: Any, answers: Any, tape: Path
) -> None:
    replies = [
        answers.fails(429),
        answers.says("Let me think."),
        answers.says(None, ("view_my_value", "{}"), ("claim", "{")),
        *[answers.says(f"{slices}!", ("claim", f'{{"slices": {slices}}}')) for slices in (4, 99, 1, 2)],
    ]
    async with serving(*replies) as upstream:
        endpoint = upstream.endpoint(temperature=0)
        played = await _play(teaching, "react", endpoint, record=tape, faults=Faults.parse("refusal@4,drop@6"))
        assert upstream.answers == []
    again = await _play(teaching, "react", parse_model(f"replay:{tape}"))
    in_its_name = await _play(teaching, "react", endpoint, replay=tape)
    first, *others = [teaching.written(table) for table in (played, again, in_its_name)]
    assert [call for call in first.calls if call[0] == "claim"] == [("claim", {"slices": n}) for n in (4, 99, 1, 2)]
    assert [other.head for other in others] == [first.head] * 2


async def test_a_changed_prompt_ends_the_replay_and_is_named(teaching: Any, tape: Path) -> None:
    brief = Brief("P1", "earn", "rounds")
    await _play(teaching, "react", teaching.endpoint("half"), record=tape, brief=brief)
    changed = Brief("P1", "give", "rounds")
    with pytest.raises(HarnessFailure, match=r"messages\[0\] \(system\) differs: asked .*give.*recorded .*earn"):
        await _play(teaching, "react", parse_model(f"replay:{tape}"), brief=changed)
    replayed = parse_model(f"replay:{tape}")
    with pytest.raises(HarnessFailure, match=r"messages\[1\] \(user\) differs"):
        async with teaching.table("talk") as table, open_address(replayed, seat="P1") as address:
            await table.play("react", address.endpoint(replayed))
