"""What a person gets from one line: a market that plays at once, extras that errors and pages name by one line each."""

from __future__ import annotations

import asyncio
import re
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.evaluation.report.test_outputs import PAIRS
from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run
from tradefair.contract import TradefairError
from tradefair.evaluation.charts.draw import draw_svg
from tradefair.evaluation.store.in_duckdb import open_duckdb
from tradefair.frameworks import load_framework
from tradefair.frameworks.models.endpoint import parse_model
from tradefair.frameworks.models.local.weights import find_weights
from tradefair.host.seats.wordllama import WordLlama
from tradefair.runner.sweep.ray import play_on_ray
from tradefair.tracestore import find_traces, open_trace

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = sorted(PROJECT["optional-dependencies"])


def _bm25() -> None:
    scenario = load_scenario("marketplace", "marketplace/small_demo", {"search_algorithm": "bm25"})
    market_type("marketplace").create(scenario, 1)


def _ray() -> None:
    work: Any = None
    asyncio.run(play_on_ray(work, None))


# Module that is looked for, and what asks for it; the argument is a folder with one trace in it.
ASKING: dict[str, tuple[str, Callable[[Path], object]]] = {
    "openai-agents": ("agents", lambda _: load_framework("openai_agents")),
    "pydantic-ai": ("pydantic_ai", lambda _: load_framework("pydantic_ai")),
    "langchain": ("langchain", lambda _: load_framework("langchain_agent")),
    "anthropic": ("langchain_anthropic", lambda _: parse_model("anthropic:some-model")),
    "google": ("langchain_google_genai", lambda _: parse_model("google_genai:some-model")),
    "analytics": ("duckdb", lambda folder: open_duckdb(folder)),
    "search": ("bm25s", lambda _: _bm25()),
    "words": ("wordllama", lambda _: WordLlama()),
    "ray": ("ray", lambda _: _ray()),
    "figures": ("quickjs", lambda _: draw_svg(PAIRS)),
    "local-model": ("xllamacpp", lambda _: find_weights("model.gguf")),
    "postgres": ("psycopg", lambda _: open_trace("postgresql://host.example/markets#0f3a6c1be2d4")),
}


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("played")
    assert run(["play", "teaching", "--seed", "1", "--no-references", "--out", str(folder)]) == 0
    return folder


def test_the_table_below_asks_for_every_extra() -> None:
    assert sorted(ASKING) == EXTRAS


@pytest.mark.parametrize("extra", EXTRAS)
def test_what_misses_an_extra_names_the_one_line_that_brings_it(
    extra: str, played: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module, ask = ASKING[extra]
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(TradefairError) as refused:
        ask(played)
    assert str(refused.value).endswith(f" needs an extra: pip install 'tradefair[{extra}]'")


def test_the_page_on_installing_names_every_extra_by_its_line() -> None:
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"`pip install 'tradefair\[([a-z-]+)\]'`", page)) == EXTRAS


def test_no_code_spells_the_line_of_an_extra_by_itself() -> None:
    """One function does: a line of its own would not follow a renamed extra."""
    spelled = re.compile(r"pip install '?tradefair\[")
    roots = ("mcp_servers", "agent_graphs", "frameworks", "evaluation")
    files = [path for root in roots for path in (ROOT / root).rglob("*.py") if spelled.search(path.read_text())]
    assert [path.name for path in files] == ["errors.py"]


def test_play_without_a_market_plays_one_and_says_which(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["play", "--seed", "7", "--no-references", "--out", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "no market was named: double_auction, seed 7. All: tradefair show markets\n" in said.err
    assert "seat B1 of double_auction/bazaar" in " ".join(said.out.split())
    assert len(find_traces(tmp_path)) == 1
