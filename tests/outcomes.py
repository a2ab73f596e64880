"""What a run of pytest came to, as the file that OUTCOMES names.

`release.ci` reads it: which tests failed, what failed in a way that a second try must not hide, what was skipped.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any, cast

import pytest

VARIABLE = "OUTCOMES"


class Outcomes:
    """Gathers reports in the process that prints the summary, and writes them when the session is over."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._passed: set[str] = set()
        self._failed: dict[str, None] = {}
        self._broken: list[str] = []  # not tests: files that cannot be collected, workers that died
        self._skipped: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep how one phase of a test went."""
        if report.failed and report.when in ("setup", "call", "teardown"):
            self._failed[report.nodeid] = None
        elif report.failed:
            self._broken.append(f"{report.nodeid}: {str(report.longrepr)[-200:]}")
        elif report.skipped:
            self._skipped[_reason(report.longrepr)] += 1
        elif report.when == "call":
            self._passed.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep a file that cannot be collected, or that leaves itself out."""
        if report.failed:
            self._broken.append(f"{report.nodeid} cannot be collected")
        elif report.skipped:
            self._skipped[_reason(report.longrepr)] += 1

    def pytest_sessionfinish(self) -> None:
        """Write the file."""
        content: dict[str, Any] = {
            "passed": len(self._passed - self._failed.keys()),
            "failed": list(self._failed),
            "broken": self._broken,
            "skipped": dict(self._skipped),
        }
        self._path.write_text(json.dumps(content, indent=1), encoding="utf-8")


def _reason(longrepr: Any) -> str:
    """Why a test was skipped: pytest keeps file, line and message."""
    message = cast("tuple[str, int, str]", longrepr)[2] if isinstance(longrepr, tuple) else longrepr
    return str(message).removeprefix("Skipped: ")


def gather(config: pytest.Config) -> None:
    """Gather outcomes in the process that starts the workers. What its tests start shall not write over the file."""
    path = os.environ.pop(VARIABLE, "")
    if path and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Outcomes(Path(path)))
