"""Whether packages can be had here: what installs the wheel with all that it needs asks an index for it."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from tests.interop import environments
from tests.waiting import LONGER


@cache
def _reached() -> bool:
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "idna"]
        try:
            return subprocess.run(command, capture_output=True, timeout=LONGER, check=False).returncode == 0
        except subprocess.TimeoutExpired:
            return False


def needs_packages() -> None:
    """Skip the test where no package can be had."""
    if not _reached():
        pytest.skip("no index of packages can be reached from here")


def uv() -> Path:
    """The program uv, in an environment of its own; skips the test where it cannot be had."""
    needs_packages()
    try:
        return environments.uv()
    except environments.Unavailable as reason:
        pytest.skip(str(reason))
