"""What OpenEnv's own validators ask, against a real `tradefair host --tasks bundled`, which `make hubs` starts."""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest
import yaml
from openenv.core.generic_client import GenericEnvClient
from openenv.validation import run_validation
from openenv.validation.graders import GraderRegistry, Subject
from openenv.validation.parsers.openenv_yaml import OpenEnvYamlParser
from openenv.validation.report import CheckResult
from openenv.validation.runtime.scheduler import execute_graders
from openenv.validation.types import CheckStatus, Level, ProviderCapability
from tests.waiting import LONG, until
from tradefair_client import Refused, control

pytestmark = pytest.mark.skipif(
    "TRADEFAIR_CONTROL_URL" not in os.environ, reason="no tradefair host --tasks bundled is named"
)
ROOT = Path(__file__).resolve().parent.parent
PLAN = json.loads((ROOT / "validation" / "runtime.json").read_text(encoding="utf-8"))
OURS = {"runtime.seed_control", "runtime.episode_determinism", "runtime.episode_isolation"}


@contextmanager
def running(*command: str, **variables: str) -> Iterator[str]:
    """A server, ready, at the address that it is told."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    server = subprocess.Popen([sys.executable, *command, "--port", port], env={**os.environ, **variables, "PORT": port})
    try:
        until(lambda: _answers(f"http://127.0.0.1:{port}/openapi.json"), "a server that answers", while_runs=server)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(LONG)


def _answers(url: str) -> bool:
    try:
        with urlopen(url, timeout=LONG):
            return True
    except OSError:
        return False


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with running("-m", "uvicorn", "tradefair_openenv.server.app:app") as found:
        yield found


@pytest.fixture(scope="module")
def mutants() -> Iterator[str]:
    with running("-m", "uvicorn", "--app-dir", str(Path(__file__).parent), "mutants:app") as found:
        yield found


def openenv(*words: str) -> subprocess.CompletedProcess[str]:
    program = shutil.which("openenv", path=str(Path(sys.executable).parent))
    assert program is not None
    return subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True, check=False)


# --- OpenEnv's validators -------------------------------------------------------------------------------------------


def test_the_package_is_valid() -> None:
    done = openenv("validate", ".", "--level", "static")
    assert (done.returncode, "PASS  static.manifest" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_running_server_is_valid(url: str) -> None:
    done = openenv("validate", url)
    assert (done.returncode, done.stdout.count("  PASS  ")) == (0, 6), done.stdout + done.stderr


def test_all_runtime_graders_of_openenv_that_need_no_docker_pass(url: str) -> None:
    """OpenEnv's own runner, with a provider that starts nothing, measures nothing and leads to our server."""
    subject = SimpleNamespace(base_url=url, inspect=dict, stop=lambda: None)
    provider = SimpleNamespace(
        name="here",
        capabilities=frozenset({ProviderCapability.IMAGE_BUILD}),
        supported_network_modes=frozenset({"no-network"}),
        build=lambda root, execution: "sha256:" + "0" * 64,
        start=lambda spec: subject,
    )
    report = run_validation(ROOT, max_level=Level.RUNTIME, provider=provider)
    found = {result.check_id: result.status for result in report.results}
    for name in ("startup", "observation_schema", "reward_well_formed", "state_contract"):
        assert found[f"runtime.{name}"] is CheckStatus.PASS, report.results
    failed = set(found.values()) - {CheckStatus.PASS, CheckStatus.SKIP}
    assert not failed, "what is left open is said to be"


# --- the three graders ----------------------------------------------------------------------------------------------


def graded(url: str) -> dict[str, CheckStatus]:
    registry = GraderRegistry()
    assert registry.load_entry_points() == len(OURS)
    manifest = OpenEnvYamlParser().parse(ROOT)
    graders = registry.select(manifest, Level.RUNTIME)
    assert {grader.check_id for grader in graders} == OURS
    served: Any = SimpleNamespace(base_url=url)
    subject = Subject(root=ROOT, manifest=manifest, image_ref=None, running=served, outputs_dir=ROOT)
    started = CheckResult(check_id="runtime.startup", status=CheckStatus.PASS, evidence=[], duration_s=0)
    results = execute_graders(graders, subject, prior=[started])
    return {result.check_id.removeprefix("runtime."): result.status for result in results}


PASS, FAIL, SKIP = CheckStatus.PASS, CheckStatus.FAIL, CheckStatus.SKIP


def test_the_markets_pass_all_three(url: str) -> None:
    assert graded(url) == {"episode_determinism": PASS, "seed_control": PASS, "episode_isolation": PASS}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Sound", (PASS, PASS, PASS)),
        ("Unseeded", (PASS, FAIL, PASS)),
        # What cannot be repeated is told apart by nothing: the other two are left out, with the reason.
        ("Clock", (FAIL, SKIP, SKIP)),
        ("Shared", (PASS, PASS, FAIL)),
    ],
)
def test_each_mistake_fails_its_grader_by_name(mutants: str, name: str, found: tuple[CheckStatus, ...]) -> None:
    names = ("episode_determinism", "seed_control", "episode_isolation")
    assert graded(f"{mutants}/{name}") == dict(zip(names, found, strict=True))


# --- the environment ------------------------------------------------------------------------------------------------


def played(url: str, **options: Any) -> list[Any]:
    with GenericEnvClient(base_url=url).sync() as client:
        results = [client.reset(**options)]
        while not results[-1].done:
            results.append(client.step({"tool": "submit_quote", "arguments": {"price": 70}}))
        return results


def test_the_last_step_carries_the_hosts_score_and_no_answer_a_token(url: str) -> None:
    results = played(url, seed=7, scenario="double_auction/smoke", seat="B1")
    assert [result.reward for result in results[:-1]] == [0.0, 0.0, 0.0]
    assert "submit_quote" in {tool["name"] for tool in results[0].metadata["tools"]}
    outcome = control(f"/episodes/{results[-1].metadata['episode']}/outcome")
    assert results[-1].reward == outcome["seats"]["B1"]["score"] > 0
    assert "tf_" not in "".join(map(repr, results))


def test_a_task_is_played_and_a_bad_call_is_an_answer(url: str) -> None:
    index = next(
        row["task"] for row in control("/tasks/train?limit=1000&start=1000")["items"] if "smoke" in row["scenario"]
    )
    with GenericEnvClient(base_url=url).sync() as client:
        client.reset(task=index)
        wrong = client.step({"tool": "nonsense", "arguments": {}})
        assert wrong.observation["is_error"]
        assert "tool_unavailable" in wrong.observation["text"]
        assert client.state()["scenario"] == control(f"/tasks/{index}")["scenario"]


def test_an_episode_that_the_host_has_ended_is_done_and_scored(url: str) -> None:
    with GenericEnvClient(base_url=url).sync() as client:
        control(f"/episodes/{client.reset(seed=7).metadata['episode']}", method="DELETE")
        last = client.step({"tool": "view_turn", "arguments": {}})
        assert (last.done, -1 <= last.reward <= 1) == (True, True)
        assert last.metadata["outcome"]["censored"]


def test_a_session_that_is_closed_frees_its_slot(url: str) -> None:
    with GenericEnvClient(base_url=url).sync() as client:
        episode = client.reset(seed=7).metadata["episode"]
        assert control(f"/episodes/{episode}")["state"] == "running"

    def over() -> bool:
        try:
            return control(f"/episodes/{episode}")["state"] in ("ended", "closed")
        except Refused:
            return True  # retired and forgotten

    until(over, f"{episode}, over")


def asked(url: str, path: str, **body: Any) -> Any:
    import urllib.request

    request = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=LONG) as answer:
        return json.loads(answer.read())


def test_tasks_are_found_and_there_are_as_many_as_declared(url: str) -> None:
    declared = yaml.safe_load((ROOT / "openenv.yaml").read_text())["validation"]["capabilities"]["declared_task_count"]
    with urlopen(f"{url}/tradefair/splits") as answer:
        splits = [split["name"] for split in json.loads(answer.read())]
    assert {split: asked(url, "/tradefair/num_tasks", split=split)["num_tasks"] for split in splits} == declared
    assert asked(url, "/tradefair/task", split="train", index=17)["task"]["task"] == "train/17"
    few = asked(url, "/tradefair/task_range", split="train", start=3, stop=5)["tasks"]
    assert [task["task"] for task in few] == ["train/3", "train/4"]


def test_what_the_container_runs_runs_and_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("tradefair") is None:
        pytest.skip("tradefair is not on PATH")
    monkeypatch.delenv("TRADEFAIR_CONTROL_URL")
    monkeypatch.chdir(tmp_path)
    with running(str(ROOT / "start.py")) as found:
        assert played(found, seed=7)[-1].done
        assert len(working_in(tmp_path)) == 3, "itself, the markets and OpenEnv's server"
    assert not working_in(tmp_path)


def working_in(folder: Path) -> set[int]:
    """Processes other than this one whose working folder it is."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if os.readlink(entry / "cwd") == str(folder) and int(entry.name) != os.getpid():
                found.add(int(entry.name))
        except OSError:
            continue  # over, or another user's
    return found
