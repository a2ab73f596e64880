"""Inspect's own command line plays a market with its mock model, and its log is read back.

Needs TRADEFAIR_CONTROL_URL and TRADEFAIR_CONTROL_TOKEN of a `tradefair host --tasks bundled`: `make hubs`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from inspect_ai import eval as evaluate
from inspect_ai._cli.main import inspect as command
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, get_model
from inspect_ai.tool import ToolChoice, ToolInfo
from tradefair_client import Refused, control
from tradefair_inspect import market
from tradefair_inspect.task import samples

SCENARIO = "double_auction/smoke"


@pytest.fixture(autouse=True)
def counted_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mock model counts tokens with a table that it would fetch from the network."""
    monkeypatch.setattr("inspect_ai.model._model.count_text_tokens", len)


def quoting(
    messages: list[ChatMessage], tools: list[ToolInfo], choice: ToolChoice, config: GenerateConfig
) -> ModelOutput:
    """A mock model's reply: wait for the turn, look up the own value, quote it; stop when the episode is over."""
    said = messages[-1].text
    if '"over":true' in said:
        return ModelOutput.from_content("mockllm/model", "done")
    if '"value":' in said:
        price = int(said.split('"value":')[1].split(",")[0].rstrip("}"))
        return ModelOutput.for_tool_call("mockllm/model", "submit_quote", {"price": price})
    name = "view_my_value" if '"awaited":true' in said else "await_turn"
    return ModelOutput.for_tool_call("mockllm/model", name, {})


def scored(log: EvalLog) -> list[tuple[float, str]]:
    """Value and end of each sample's episode, each equal to what the server says."""
    assert log.status == "success", log.error
    found: list[tuple[float, str]] = []
    for sample in log.samples or []:
        score = (sample.scores or {})["earned"]
        outcome = control(f"/episodes/{sample.store['episode']}/outcome")
        assert score.metadata == outcome
        assert score.value == (outcome["seats"][sample.metadata["seat"]]["score"] or 0)
        found.append((score.as_float(), outcome["end_reason"]))
    return found


def test_a_mock_model_plays_to_the_end_and_epochs_have_the_same_luck(tmp_path: Path) -> None:
    model = get_model("mockllm/model", custom_outputs=quoting)
    task = market("train", limit=1, scenario=SCENARIO)
    (log,) = evaluate(task, model=model, epochs=2, log_dir=str(tmp_path), display="none")
    first, second = scored(log)
    assert first == second
    assert first[1].startswith("terminated:")
    assert len({sample.store["episode"] for sample in log.samples or []}) == 2
    written = (log.model_dump_json(), *(path.read_bytes().decode("latin-1") for path in tmp_path.iterdir()))
    assert not any(secret in text for text in written for secret in ("tf_", os.environ["TRADEFAIR_CONTROL_TOKEN"]))


@pytest.mark.parametrize("scenario", [SCENARIO, "retail/first"])
def test_the_command_line_scores_a_game_that_is_left_as_one_that_does_nothing(scenario: str, tmp_path: Path) -> None:
    named = [f"scenario={scenario}", "split=train", "limit=2"]
    options = ["--log-dir", str(tmp_path), "--display", "none", *(word for value in named for word in ("-T", value))]
    # The mock model's default reply is a text: it never makes a call.
    command.main(["eval", "tradefair_inspect/market", "--model", "mockllm/model", *options], standalone_mode=False)
    (path,) = tmp_path.glob("*.eval")
    assert scored(read_eval_log(str(path))) == [(0.0, "truncated:cancelled")] * 2


def test_samples_are_spread_over_a_split() -> None:
    found = samples("validation", limit=40)
    assert len({sample.id for sample in found}) == 40
    assert {str(sample.metadata["scenario"]).partition("/")[0] for sample in found if sample.metadata} == {
        "bargaining",
        "double_auction",
        "marketplace",
        "order_book",
        "pricing",
        "retail",
        "supply_chain",
    }


def test_what_there_is_not_is_refused() -> None:
    with pytest.raises(ValueError, match="no task of one seat: train, scenario double_auction/none"):
        market("train", scenario="double_auction/none")
    with pytest.raises(Refused, match="tarin"):
        market("tarin")
