"""Exported folders: Harbor's models take them, and their scripts are run here as a trial runs them, without containers.

Needs TRADEFAIR_CONTROL_URL and TRADEFAIR_CONTROL_TOKEN of a `tradefair host --tasks bundled`: `make hubs`.
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from harbor.models.task.config import TaskConfig
from harbor.models.task.task import Task
from tests.waiting import LONG, LONGER
from tradefair_client import Refused, control
from tradefair_harbor import export

CONTAINERS = {"Dockerfile", "docker-compose.yaml", "market", "ready.sh"}
FIRST = [
    "bargaining/smoke",
    "double_auction/smoke",
    "marketplace/first",
    "order_book/smoke",
    "pricing/smoke",
    "retail/first",
    "supply_chain/first",
]


@contextmanager
def market(folder: Path, **variables: str) -> Iterator[str]:
    """The `market` container of a trial, as a process: the address that the agent's container would call."""
    seat = folder / "environment" / "market" / "seat.py"
    command = [sys.executable, str(seat), "127.0.0.1", "0"]
    door = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables})
    try:
        assert door.stdout is not None
        yield f"http://127.0.0.1:{json.loads(door.stdout.readline())['port']}"
    finally:
        door.terminate()
        door.communicate(timeout=LONG)


def shell(script: Path, url: str, logs: Path) -> None:
    """Run a script of the agent's container, where no token is."""
    hidden = {name: text for name, text in os.environ.items() if not name.startswith("TRADEFAIR_")}
    named = {**hidden, "TRADEFAIR_SEAT": url, "VERIFIER_LOGS": str(logs)}
    subprocess.run(["sh", str(script)], check=True, timeout=LONGER, env=named)


def test_harbor_takes_a_hundred_tasks_and_they_hold_no_token(tmp_path: Path) -> None:
    folders = export(tmp_path / "tasks", "train", limit=100)
    assert len(set(folders)) == 100
    scenarios = set()
    for folder in folders:
        config = TaskConfig.model_validate_toml((folder / "task.toml").read_text())
        scenarios.add(config.metadata["scenario"])
        (server,) = config.environment.mcp_servers
        assert (server.name, server.transport, server.url) == ("market", "streamable-http", "http://market:8000/mcp")
        assert config.environment.healthcheck is not None
        assert config.task is not None
        assert config.task.name == f"tradefair/{folder.name}"
        paths = Task(folder).paths
        assert paths.discovered_test_path_for(config.environment.os) == paths.tests_dir / "test.sh"
        assert paths.discovered_solve_path_for(config.environment.os) == paths.solve_path
        assert {path.name for path in paths.environment_dir.iterdir()} == CONTAINERS
        assert f"seat {config.metadata['seat']}" in paths.instruction_path.read_text()
        assert "@" not in paths.instruction_path.read_text()
        text = "".join(path.read_text() for path in folder.rglob("*") if path.is_file())
        assert os.environ["TRADEFAIR_CONTROL_TOKEN"] not in text
        assert "tf_" not in text
    assert len(scenarios) >= len(FIRST)


@pytest.mark.parametrize("scenario", FIRST)
def test_the_scripts_of_a_trial_play_and_score_its_episode(scenario: str, tmp_path: Path) -> None:
    (folder,) = export(tmp_path / "tasks", "train", 1, scenario)
    with market(folder) as url:
        shell(folder / "environment" / "ready.sh", url, tmp_path)
        shell(folder / "solution" / "solve.sh", url, tmp_path)
        shell(folder / "tests" / "test.sh", url, tmp_path)
    reward = json.loads((tmp_path / "reward.json").read_text())
    said = json.loads((tmp_path / "outcome.json").read_text())
    told = control(f"/episodes/{said['episode']}/outcome")
    assert said == told
    # Shopping has no end of its own where nobody buys.
    assert told["end_reason"].startswith("terminated:") or told["end_reason"] == "truncated:max_rounds"
    assert told["scenario"] == scenario
    (own,) = told["seats"].values()
    assert reward == {"reward": own["score"], "raw": own["reward"], "censored": told["censored"]}
    order = json.loads((folder / "environment" / "market" / "order.json").read_text())
    assert told["seed"] == order["seed"]


@pytest.mark.parametrize(("scenario", "counted"), [("double_auction/smoke", {"raw": 0}), ("retail/first", {})])
def test_a_trial_that_nobody_plays_scores_as_doing_nothing(
    scenario: str, counted: dict[str, int], tmp_path: Path
) -> None:
    (folder,) = export(tmp_path / "tasks", "validation", 1, scenario)
    with market(folder) as url:
        shell(folder / "environment" / "ready.sh", url, tmp_path)
        shell(folder / "tests" / "test.sh", url, tmp_path)
    assert json.loads((tmp_path / "reward.json").read_text()) == {"reward": 0, "censored": 1, **counted}


def test_an_agent_gets_through_to_its_seat_and_to_nothing_else(tmp_path: Path) -> None:
    (folder,) = export(tmp_path / "tasks", "train", 1, "double_auction/smoke")

    def status(url: str, body: bytes | None = None) -> int:
        try:
            return urllib.request.urlopen(urllib.request.Request(url, body), timeout=LONG).status
        except urllib.error.HTTPError as refused:
            return refused.code

    with market(folder) as url:
        assert [status(f"{url}/{path}") for path in ("mcp", "episodes", "tasks", "")] == [405, 404, 404, 404]
        assert status(f"{url}/episodes", b"{}") == 404
        long = http.client.HTTPConnection(url.removeprefix("http://"), timeout=LONG)
        long.request("POST", "/mcp", headers={"Content-Length": str((1 << 20) + 1)})
        assert long.getresponse().status == 413
        assert status(f"{url}/mcp", b"{}") == 400


def test_without_a_server_a_trial_starts_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder,) = export(tmp_path / "tasks", "train", 1, "double_auction/smoke")
    named = {"url": os.environ["TRADEFAIR_CONTROL_URL"], "token": os.environ["TRADEFAIR_CONTROL_TOKEN"]}
    # Stands for the program that the container installs: it notes how it is called, and names the server of the tests.
    program = tmp_path / "tradefair"
    line = json.dumps({"url": "", "control": named})
    program.write_text(f"#!/bin/sh\necho $$ \"$@\" > '{tmp_path}/called'\necho '{line}'\nexec sleep 60\n")
    program.chmod(0o755)
    monkeypatch.delenv("TRADEFAIR_CONTROL_URL")
    with market(folder, PATH=f"{tmp_path}{os.pathsep}{os.environ['PATH']}") as url:
        shell(folder / "environment" / "ready.sh", url, tmp_path)
    pid, *called = (tmp_path / "called").read_text().split()
    assert called == ["host", "--tasks", "bundled", "--json", "--port", "0", "--out", "/traces"]
    with pytest.raises(ProcessLookupError):  # it ends with the trial
        os.kill(int(pid), 0)


def test_what_cannot_be_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no task of one seat: train, scenario retail/none"):
        export(tmp_path, scenario="retail/none")
    with pytest.raises(Refused, match="tarin"):
        export(tmp_path, "tarin")
    export(tmp_path, limit=1)
    with pytest.raises(FileExistsError):
        export(tmp_path, limit=1)
