"""Graphs are drawn from what is compiled, on this machine."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tradefair.cli import HARNESS_FAILURE, USAGE, run
from tradefair.frameworks.langgraph import GRAPHS

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize("name", list(GRAPHS))
def test_a_graph_is_printed_as_mermaid_text(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "agents", name]) == 0
    text = capsys.readouterr().out
    assert "graph TD;" in text
    assert {"react": "agent -.-> tools;", "reflection": "reflect --> __end__;", "plan_and_act": "tools -.-> planner;"}[
        name
    ] in text
    assert "approve" not in text


def test_a_persons_word_is_a_node_before_the_tools(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "agents", "reflection", "--approve"]) == 0
    text = capsys.readouterr().out
    assert "approve --> tools;" in text
    assert "agent -.-> tools;" not in text


def test_without_a_name_the_graphs_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", "agents"]) == 0
    assert capsys.readouterr().out.split() == list(GRAPHS)
    assert run(["show", "agents", "--approve"]) == USAGE
    assert "name the graph: react, reflection, plan_and_act" in capsys.readouterr().err


@pytest.mark.process
@pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
def test_a_png_is_drawn_by_the_local_graphviz(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "graph.png"
    assert run(["show", "agents", "plan_and_act", "--png", str(path)]) == 0
    assert path.read_bytes().startswith(PNG)
    assert run(["show", "agents", "react", "--png", str(tmp_path / "nowhere" / "graph.png")]) == HARNESS_FAILURE
    assert "dot could not write graph.png" in capsys.readouterr().err


def test_without_graphviz_the_message_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert run(["show", "agents", "react", "--png", str(tmp_path / "graph.png")]) == HARNESS_FAILURE
    assert "needs graphviz's dot on this machine; without it, print the mermaid text" in capsys.readouterr().err
    assert run(["show", "agents", "nobody"]) == USAGE
    assert "there are plan_and_act, react, reflection" in capsys.readouterr().err
