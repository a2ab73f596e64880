"""Frameworks by name: ours, those whose package is missing, those of others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tradefair.contract import ScenarioError
from tradefair.frameworks import EXTRAS, FRAMEWORKS, GROUP, load_framework

_MODULE = """
class Mine:
    name = "mine"
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of somebody else that announces a framework and, under the name of one of ours, another."""
    about = tmp_path / "stranger-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[{GROUP}]\nmine = stranger_agent:Mine\nreact = stranger_agent:Mine\n")
    (tmp_path / "stranger_agent.py").write_text(_MODULE)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])


@pytest.mark.usefixtures("installed")
def test_an_installed_package_brings_a_framework_by_its_entry_point_and_replaces_none() -> None:
    assert load_framework("mine")().name == "mine"
    assert load_framework("react")().name == "langgraph"


@pytest.mark.usefixtures("installed")
def test_a_name_that_nobody_announced_is_refused_with_those_there_are() -> None:
    with pytest.raises(ScenarioError, match=r"there is no framework 'os:system'; .*mine"):
        load_framework("os:system")


@pytest.mark.parametrize("framework", EXTRAS)
def test_a_framework_whose_package_is_missing_says_how_to_get_it(
    framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, EXTRAS[framework].module, raising=False)
    with pytest.raises(ScenarioError, match=rf"pip install 'tradefair\[{EXTRAS[framework].name}\]'"):
        load_framework(framework)


def test_every_extra_is_one_of_the_frameworks() -> None:
    assert EXTRAS.keys() <= FRAMEWORKS.keys()
