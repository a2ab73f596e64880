"""The plugin of pytest, with the fixture `tradefair_gate`: imports pytest alone, and tradefair when a test asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option `--gate-record`."""
    parser.getgroup("tradefair").addoption(
        "--gate-record", action="store_true", help="Record the baselines of gates of tradefair in place of judging."
    )


@pytest.fixture
def tradefair_gate(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A function of `tf.gate`'s arguments that fails the test where the agent is worse or it could not be told.

    It is given the agent (default: that of the file); the file is gate.toml beside the test.
    """
    folder = request.path.parent

    def judged(agent: Any = None, file: str = "gate.toml", **options: Any) -> Any:
        from tradefair.cli.table import load_named
        from tradefair.contract import HarnessFailure, ScenarioError

        try:
            if request.config.getoption("gate_record"):
                return load_named("api.gating:gate_record")(folder / file, agent=agent)
            result = load_named("api.gating:gate")(folder / file, agent=agent, **options)
            said = result.verdict if result.exit_code else ""
        except (ScenarioError, HarnessFailure) as problem:
            result, said = None, f"{problem} (in tests: pytest --gate-record)"
        if said:
            pytest.fail(said, pytrace=False)
        return result

    return judged
