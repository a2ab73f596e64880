"""How thorough property tests are, which kind each test is of, what Windows leaves out; detectors fail loudly."""

from __future__ import annotations

import inspect
import os
import re
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.kinds import Watch, mark_kinds
from tests.outcomes import gather

pytest_plugins = ["tests.traces"]

settings.register_profile("fast", max_examples=40, deadline=None)
settings.load_profile("fast")
# A typo in a detector is to fail a test instead of reading "cannot be computed"; tests of damaged traces take it away.
os.environ["TRADEFAIR_STRICT"] = "1"

# A shell makes what it puts in the background deaf to Ctrl-C, and children inherit that: some tests send it to them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

_WINDOWS = os.sep == "\\"
# Files that need terminals, locks or limits of POSIX, and tests that make a FIFO or a link, or kill by a signal.
_POSIX_FILE = re.compile(
    r"^(?:import|from) (?:pty|fcntl|resource|termios|tests\.outside|tests\.corpus)\b", re.MULTILINE
)
_POSIX = re.compile(
    r"\b(?:mkfifo|symlink_to|chmod|st_mode|fork|killpg|SIGKILL|SIGTERM|SIGINT|send_signal)\b|/(?:dev|bin|proc)/"
)


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What tests have proven and listed is no business of the user's cache folder."""
    os.environ["TRADEFAIR_CACHE"] = str(tmp_path_factory.mktemp("cache"))


def pytest_configure(config: pytest.Config) -> None:
    """Watch what tests do, and gather how they went."""
    config.pluginmanager.register(Watch())
    gather(config)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Whether a file of tests cannot be imported on this system."""
    if not _WINDOWS or collection_path.suffix != ".py":
        return None
    return _POSIX_FILE.search(collection_path.read_text(encoding="utf-8")) is not None or None


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its kind; skip on Windows what it has not."""
    mark_kinds(items)
    for item in items if _WINDOWS else ():
        function = getattr(item, "function", None)
        if function is not None and _POSIX.search(inspect.getsource(function)):
            item.add_marker(pytest.mark.skip(reason="needs files or signals of POSIX"))
