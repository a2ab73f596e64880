"""A sweep whose episodes are logged in a shared store ends with the files of one that has none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.host.postgres import Server, missing, running_server
from tests.options_files import options_file
from tests.waiting import LONGER, until

from tradefair.contract.errors import StorageUnavailable
from tradefair.evaluation.prove.verify import verify_file
from tradefair.runner.plans.episodes import Workload, workload_of
from tradefair.runner.plans.plan import load_plan
from tradefair.runner.sweep.sweep import SweepSpec, sweep
from tradefair.tracestore import find_traces, open_trace, stored_traces

pytestmark = pytest.mark.skipif(missing() is not None, reason=str(missing()))

PLAN = "bargaining/ten_thousand"


@pytest.fixture
def server() -> Iterator[Server]:
    with running_server() as running:
        yield running


def meant(seeds: int) -> Workload:
    return workload_of(load_plan(PLAN, seeds=seeds))


def heads(out: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    for path in find_traces(out):
        with open_trace(path) as trace:
            found[str(path.relative_to(out))] = str(trace.manifest.about["head_hash"])
    return found


def test_a_sweep_in_a_store_leaves_the_same_files(server: Server, tmp_path: Path) -> None:
    shared, files = tmp_path / "shared", tmp_path / "files"
    spec = SweepSpec(meant(1), shared, 2, executor="process", store=server.dsn)
    done = sweep(spec)
    assert (done.counts, done.failures) == ((25, 25, 0), [])
    sweep(SweepSpec(meant(1), files, 1))
    assert heads(shared) == heads(files)
    assert all(verify_file(path).verdict == "reproduced" for path in find_traces(shared))
    assert len(stored_traces(server.dsn)) == 25
    assert sweep(spec).played == 0
    lost = find_traces(shared)[0]
    lost.unlink()
    assert sweep(spec).played == 1
    assert heads(shared) == heads(files)


def test_a_store_that_is_not_there_is_said_before_anything_is_played(server: Server, tmp_path: Path) -> None:
    nowhere = server.dsn.replace("/postgres", "/nowhere")
    with pytest.raises(StorageUnavailable, match='database "nowhere" does not exist'):
        sweep(SweepSpec(meant(1), tmp_path, 1, store=nowhere))


def test_a_killed_sweep_in_a_store_goes_on_where_its_logs_end(server: Server, tmp_path: Path) -> None:
    shared, files = tmp_path / "shared", tmp_path / "files"
    command = [sys.executable, "-m", "tradefair.cli", "sweep", PLAN, "--seeds", "4", "--out", str(shared)]
    process = subprocess.Popen(
        [*command, "--executor", "local", *options_file(tmp_path, store=server.dsn)], stdout=subprocess.DEVNULL
    )
    until(lambda: len(list(shared.rglob("*.trace"))) >= 5, "five traces", LONGER, process)
    process.kill()
    process.wait(LONGER)
    done = sweep(SweepSpec(meant(4), shared, 1, store=server.dsn))
    assert (done.counts, done.failures) == ((100, 100, 0), [])
    sweep(SweepSpec(meant(4), files, 1))
    assert heads(shared) == heads(files)


@pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed (extra: ray)")
def test_actors_of_a_cluster_need_no_folder_in_common_with_the_command(server: Server, tmp_path: Path) -> None:
    shared, files = tmp_path / "shared", tmp_path / "files"
    done = sweep(SweepSpec(meant(1), shared, 2, executor="ray", store=server.dsn))
    assert (done.counts, done.failures) == ((25, 25, 0), [])
    sweep(SweepSpec(meant(1), files, 1))
    assert heads(shared) == heads(files)
