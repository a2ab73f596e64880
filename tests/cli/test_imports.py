"""Looking costs nothing: lists and help import no market, no model's client, no MCP and no arithmetic on arrays."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.waiting import LONG

from tradefair.catalog import market_listing, market_names, market_type, scenario_ids, scenario_table
from tradefair.catalog.listing import ListedPolicy, Listing, listing_of, listing_toml, parsed_listing
from tradefair.contract import ScenarioError

MARKETS = {f"tradefair.{name}" for name in market_names()}
# What takes long to import; rich and pydantic take a twentieth of a second each.
HEAVY = {*("numpy", "mcp", "langgraph", "langchain_core", "openai", "starlette", "uvicorn", "sqlite3", "aiosqlite")}
# These print tables and check files, or convert their options, which typer does with pydantic.
LISTS = ("show markets", "list", "show scenarios", "show scenarios retail", "show policies retail", "show plans")

# One process carries out many commands, one after another: what none of all has imported, none by itself imports.
_LOOK = """
import contextlib, io, sys
from tradefair.cli import run
for line in sys.argv[1].splitlines():
    with contextlib.redirect_stdout(io.TextIOWrapper(io.BytesIO())):
        assert run(line.split()) == 0, line
print("\\n".join(sys.modules))
"""
_EVERY_HELP = """
import typer
from tradefair.cli.table import COMMANDS
lines = []
for command in COMMANDS:
    lines.append(f"{command.name} --help")
    target = command.load()
    if isinstance(target, typer.Typer):
        lines += [f"{command.name} {name} --help" for name in typer.main.get_command(target).commands]
sys.argv[1:] = ["\\n".join(lines)]
"""


def _imported(program: str, *arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=LONG, check=True
    )
    return set(done.stdout.split())


def test_help_of_every_command_and_subcommand_imports_nothing_that_works() -> None:
    modules = _imported(f"import sys\n{_EVERY_HELP}{_LOOK}")
    # The help of two groups is drawn by rich.
    working = MARKETS | HEAVY | {"asyncio", "tradefair.runner.play.agent_spec", "tradefair.evaluation.judge.evaluate"}
    assert modules & working == set()
    assert "tradefair.host.commands.control_commands" in modules


def test_lists_import_no_market_and_nothing_that_plays() -> None:
    modules = _imported(_LOOK, "\n".join(LISTS))
    assert modules & (MARKETS | HEAVY) == set()
    assert "tradefair.runner.plans.plan" in modules


def test_a_table_of_markets_builds_no_model() -> None:
    modules = _imported(_LOOK, "show markets\nshow markets --json")
    assert modules & {"pydantic", "asyncio", "tradefair.contract.scenario"} == set()


@pytest.mark.parametrize("name", market_names())
def test_a_listing_says_what_the_market_says(name: str) -> None:
    assert market_listing(name) == listing_of(market_type(name))


@pytest.mark.parametrize("name", market_names())
def test_a_list_of_scenarios_says_what_they_say(name: str) -> None:
    for found in scenario_ids(name):
        content = scenario_table(name, found)
        checked = market_type(name).scenario_model.model_fields
        assert content["id"] == found
        assert type(content.get("version", 1)) is checked["version"].annotation
        assert isinstance(content["description"], str)


def test_a_listing_survives_its_file_whatever_the_texts_hold() -> None:
    strange = Listing(
        "1", 'says "hi" \\ \u2192\n\ttwice', 2, {"half": ListedPolicy("é\u2028", ["a"], True, ["n=1 (integer)"])}
    )
    assert parsed_listing(listing_toml(strange), source="file") == strange


@pytest.mark.parametrize(
    "text",
    ["title = 1", 'policies = "none"', "[policies.half]\nroles = []", "version = 1\npolicies = {}\nmore = 2", "="],
)
def test_a_listing_in_another_form_is_refused_with_its_name(text: str) -> None:
    with pytest.raises(ScenarioError, match=r"^listing\.toml of cake: "):
        parsed_listing(text, source="listing.toml of cake")


@pytest.mark.parametrize("content", [b"\xff", b"#" * (2**20 + 1), b"title", None])
def test_a_broken_package_is_missing_from_the_list_of_markets_and_breaks_no_other(
    content: bytes | None, tmp_path: Path
) -> None:
    (tmp_path / "stale").mkdir()
    (tmp_path / "stale" / "__init__.py").write_text("1 / 0")
    if content is not None:
        (tmp_path / "stale" / "listing.toml").write_bytes(content)
    (tmp_path / "stale-1.dist-info").mkdir()
    (tmp_path / "stale-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: stale\nVersion: 1\n")
    announced = "[tradefair.markets]\nstale = stale:MARKET\ngone = not_there.at_all:MARKET\n"
    (tmp_path / "stale-1.dist-info" / "entry_points.txt").write_text(announced)
    listed = subprocess.run(
        [sys.executable, "-m", "tradefair.cli", "show", "markets", "--json"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        check=True,
        timeout=LONG,
    )
    assert {row["name"] for row in json.loads(listed.stdout)} == {*market_names()} - {"stale", "gone"}
    said = listed.stderr.decode().splitlines()
    assert len(said) == 2
    assert "gone" in said[0]
    assert "stale" in said[1]


def test_a_market_without_a_listing_is_asked_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def bare(name: str) -> Path:
        return tmp_path

    monkeypatch.setattr("tradefair.catalog._folder", bare)
    assert market_listing("teaching") == listing_of(market_type("teaching"))
