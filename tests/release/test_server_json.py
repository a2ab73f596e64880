"""The entry for the MCP registry: its form, one version and name everywhere, arguments that serve takes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from jsonschema import Draft202012Validator
from tests.cli.test_options import today

from tradefair.catalog import market_names

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SCHEMA = orjson.loads((ROOT / "tests" / "release" / "server_schema.json").read_bytes())


PLANTED: list[Callable[[Any], object]] = [
    lambda found: found.pop("description"),
    lambda found: found.update(description="x" * 101),
    lambda found: found.update(name="tradefair"),
    lambda found: found["packages"][0].update(version="latest"),
    lambda found: found["packages"][0].pop("transport"),
    lambda found: found["packages"][0].update(registry_type="pypi"),
    lambda found: found["packages"][0]["packageArguments"].append({"type": "positional"}),
    lambda found: found["packages"][0]["packageArguments"].append({"type": "named", "value": "x"}),
]


def entry() -> Any:
    return orjson.loads((ROOT / "server.json").read_bytes())


def faults(found: Any) -> list[str]:
    validator: Any = Draft202012Validator(SCHEMA)
    return [error.message for error in validator.iter_errors(found)]


def test_the_entry_has_the_registrys_form() -> None:
    assert faults(entry()) == []


@pytest.mark.parametrize("spoil", PLANTED)
def test_a_planted_fault_is_found(spoil: Callable[[Any], object]) -> None:
    found = entry()
    spoil(found)
    assert faults(found) != []


def test_it_says_what_the_project_says() -> None:
    found, (package,) = entry(), entry()["packages"]
    assert (found["version"], package["version"]) == (PROJECT["version"], PROJECT["version"])
    assert (found["title"], package["identifier"]) == (PROJECT["name"], PROJECT["name"])
    assert found["description"] == PROJECT["description"]
    # The registry looks for this line in the description that PyPI shows, which is the README.
    assert re.findall(r"mcp-name: (\S+)", (ROOT / "README.md").read_text(encoding="utf-8")) == [found["name"]]
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == PROJECT["version"]


def test_its_arguments_are_those_of_serve() -> None:
    command, market, *named = entry()["packages"][0]["packageArguments"]
    assert command["value"] == "serve"
    assert (sorted(market["choices"]), market["default"] in market["choices"]) == (market_names(), True)
    known = {word for option in today()["serve"] for word in option.split(", ")}
    assert {argument["name"] for argument in named} <= known
