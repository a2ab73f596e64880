"""No agent sends what it does to a tracing service, whatever the environment asks for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.outside import Answer, Asked, endpoint
from tests.waiting import LONG


@pytest.mark.parametrize("framework", ["react", "reflection", "plan_and_act", "langchain_agent", "openai_loop"])
def test_an_agent_is_traced_to_nobody(framework: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tradefair.cli", "play", "teaching", "--agent", framework, "--out", str(tmp_path)]
    sent: list[Asked] = []
    with endpoint(lambda asked: sent.append(asked) or Answer(200, "{}")) as address:
        wished = {"LANGSMITH_TRACING": "true", "LANGSMITH_ENDPOINT": address, "LANGSMITH_API_KEY": "none"}
        command += ["--model", "policy:half"]
        done = subprocess.run(command, env=os.environ | wished, capture_output=True, check=False, timeout=LONG)
    assert (done.returncode, sent) == (0, []), done.stderr
