"""The kind of a test follows from its code; a test that does more than its kind says fails."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.kinds import MOST_EPISODES, kinds_in

ROOT = Path(__file__).resolve().parent.parent


class Child:
    """A helper that starts a process in one of its methods."""

    def end(self) -> None:
        pass

    @property
    def code(self) -> int:
        return subprocess.run([sys.executable, "-c", ""], check=False).returncode


def _starts() -> int:
    return Child().code


async def _starts_later() -> None:
    await asyncio.create_subprocess_exec(sys.executable)


def _opens() -> socket.socket:
    return socket.socket()


def _in_a_lambda() -> Callable[[], Any]:
    return lambda: subprocess.run([], check=False)


def _through_another() -> int:
    return partial(_starts)()


def _pure() -> int:
    return len("subprocess")


@pytest.mark.parametrize(
    ("function", "kinds"),
    [
        (_pure, set[str]()),
        (_starts, {"process"}),
        (_starts_later, {"process"}),
        (_opens, {"network"}),
        (_in_a_lambda, {"process"}),
        (_through_another, {"process"}),
        (Child, {"process"}),
    ],
)
def test_what_a_function_does_is_read_from_its_code_and_its_helpers(function: Any, kinds: set[str]) -> None:
    assert kinds_in(function) == kinds


_PLANTED = """
import os, subprocess, sys
import pytest
from hypothesis import given, settings, strategies as st

@pytest.fixture
def child():
    return subprocess.run([sys.executable, "-c", ""])

def test_alone(): pass
def test_with_a_child(child): pass
def test_hidden(): getattr(os, "sys" + "tem")("true")
@settings(max_examples=41)
@given(st.integers())
def test_examples(number): pass
def test_episodes(tmp_path):
    for seed in range(%d):
        core = __import__("tradefair.contract.kernel.core").contract.kernel.core.Core.create(*made(seed))
        core.start()
def made(seed):
    from tradefair.catalog import load_scenario, market_type
    return market_type("teaching"), load_scenario("teaching", "pie"), seed
@pytest.mark.network
def test_marked(): pass
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What pytest prints of a planted file, with the conftest of this folder."""
    folder = tmp_path_factory.mktemp("planted")
    conftest = f"import sys; sys.path.insert(0, {str(ROOT)!r})\nfrom tests.conftest import *\n"
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    (folder / "test_planted.py").write_text(_PLANTED % (MOST_EPISODES + 1), encoding="utf-8")
    settings = ["-p", "no:cacheprovider", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder)]
    command = [sys.executable, "-m", "pytest", *settings, "-v", "test_planted.py"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize(
    "line",
    [
        "ERROR test_planted.py::test_hidden - Failed: this test of the kind unit starts",
        f"ERROR test_planted.py::test_episodes - Failed: this test begins {MOST_EPISODES + 1} episodes",
        "6 passed, 2 errors",
    ],
)
def test_a_test_that_does_more_than_its_kind_says_fails(shown: str, line: str) -> None:
    assert line[:60] in shown
