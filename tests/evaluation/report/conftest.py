"""Pages of one module lie in one folder; the browser is shared by its tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.evaluation.browsing import browser as browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the traces and pages of a module."""
    return tmp_path_factory.mktemp("pages")
