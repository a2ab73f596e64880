"""Pages of one module lie in one folder; the browser is shared by its tests; no list is kept in the user's cache."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.evaluation.browsing import browser as browser
from tests.evaluation.viewer.serving import Client, serving


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for the traces and pages of a module."""
    return tmp_path_factory.mktemp("pages")


@pytest.fixture(scope="module", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRADEFAIR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def viewer(runs: Path) -> Iterator[Client]:
    """A viewer of the folder `runs` of the module."""
    with serving(runs) as client:
        yield client
