"""Programs in seats: started, told of their seat, ended with their children; which ends are their own."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

import pytest
from tests.kinds import of_kind
from tests.play_specs import preset_spec
from tests.programs import program
from tests.waiting import LONG, LONGER, eventually, in_time

from tradefair.contract import HarnessFailure, ScenarioError, TraceError
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.read.accounts import account
from tradefair.frameworks.command import shown_command
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import Played, play_episode, recorded_agent
from tradefair.tracestore import open_trace


@of_kind("network")
async def played(folder: Path, command: str, **options: float) -> Played:
    agent = AgentSpec(f"command:{command}", timeout_s=options.get("game_s", LONGER))
    return await play_episode(preset_spec("teaching", "pie", agent, folder / "runs"))


def notes(path: Path, kind: str) -> list[dict[str, object]]:
    with open_trace(path) as trace:
        return [dict(note) for note in trace.agent_events() if note.get("kind") == kind]


async def test_a_program_plays_its_seat_and_ends_by_itself(tmp_path: Path) -> None:
    run = await played(tmp_path, program(tmp_path, "print(TOKEN := seat.token, file=sys.stderr)\nplay()"))
    assert run.end_reason.startswith("terminated:")
    assert verify_file(run.path).sound
    with open_trace(run.path) as trace:
        own = account(trace).seats["P1"]
        assert (own.actions, own.lapses, own.given_up) == (3, {}, {})
        assert trace.seating().labels["P1"] == "command:python agent.py".replace("python", Path(sys.executable).name)


async def test_the_clients_file_names_the_seat_and_is_gone_afterwards(tmp_path: Path) -> None:
    body = """
import json
server = json.load(open(sys.argv[1]))["mcpServers"]["tradefair"]
assert server == {"type": "http", "url": seat.url, "headers": {"Authorization": "Bearer " + seat.token}}
assert os.stat(os.path.dirname(sys.argv[1])).st_mode & 0o077 == 0
open("seen", "w").write(sys.argv[1])
play()
"""
    (tmp_path / "runs").mkdir()
    seen = tmp_path / "seen"
    run = await played(tmp_path, program(tmp_path, body.replace('"seen"', repr(str(seen)))) + " {config}")
    assert not notes(run.path, "broke_off")
    assert not Path(seen.read_text(encoding="utf-8")).exists()


@pytest.mark.parametrize(
    ("leaves", "how"),
    [
        ("raise ValueError('no idea')", "ended with exit code 1; it printed: Traceback"),
        ("sys.exit(0)", "ended with exit code 0, and it printed nothing"),
        ("os.abort()", "was ended by SIGABRT"),
        ("for _ in range(5_000): print('x' * 1_000)\nprint('the last line')\nsys.exit(3)", "the last line"),
        ("print('key', seat.token); sys.exit(1)", "it printed: key [key]"),
        ("time.sleep(3_600)", "did not end its game in"),
    ],
    ids=["exception", "too early", "crash", "megabytes", "secret", "hang"],
)
async def test_what_a_program_leaves_passes_and_counts_as_its_own(tmp_path: Path, leaves: str, how: str) -> None:
    command = program(tmp_path, f"play(1)\n{leaves}")

    async def attempt(seconds: float) -> Played | None:
        try:
            run = await played(tmp_path, command, game_s=seconds if "3_600" in leaves else LONGER)
        except ScenarioError:
            return None  # it had no time for its first call
        return run if notes(run.path, "broke_off") else None

    run = await in_time(attempt)
    assert run.end_reason.startswith("terminated:")
    (note,) = notes(run.path, "broke_off")
    assert how in str(note["message"])
    assert len(str(note["message"])) <= 2_000
    with open_trace(run.path) as trace:
        own = account(trace).seats["P1"]
    assert sum(own.given_up.values()) == own.given_up["broke_off"] == 3 - own.actions
    assert run.reports["P1"].given_up == own.given_up


@pytest.mark.parametrize(
    ("leaves", "how"),
    [
        ("sys.exit(75)", "exit code 75"),
        ("sys.exit(137)", "exit code 137"),
        ("os.kill(os.getpid(), 15)", "was ended by SIGTERM"),
        ("os.kill(os.getpid(), 9)", "was ended by SIGKILL"),
    ],
)
async def test_an_end_that_is_not_its_own_makes_no_game(tmp_path: Path, leaves: str, how: str) -> None:
    with pytest.raises(HarnessFailure, match=how):
        await played(tmp_path, program(tmp_path, f"play(1)\n{leaves}"))
    (trace,) = (tmp_path / "runs").glob("*.trace")
    with open_trace(trace) as opened:
        assert account(opened).end_reason is None
    # The trace names the program and is not trusted with it.
    with pytest.raises(TraceError, match="name it with --agent"):
        recorded_agent(trace)


async def test_an_end_after_the_game_is_no_matter(tmp_path: Path) -> None:
    run = await played(tmp_path, program(tmp_path, "play()\nsys.exit(75)"))
    assert not notes(run.path, "broke_off")


async def test_a_program_that_has_never_called_is_a_wrong_command(tmp_path: Path) -> None:
    silent = program(tmp_path, "sys.exit('where is my key?')")
    with pytest.raises(ScenarioError, match=r"exit code 1; it printed: where is my key\?\. .*TRADEFAIR_URL"):
        await played(tmp_path, silent)
    # Once it has called, a later game in which it does not is its own.
    program(tmp_path, "play()")
    await played(tmp_path, silent)
    program(tmp_path, "sys.exit('where is my key?')")
    assert notes((await played(tmp_path, silent)).path, "broke_off")


@pytest.mark.parametrize("command", ["", "  ", "nobody-has-this-program", "./here.py", "'unbalanced"])
async def test_what_cannot_be_started_is_refused_before_anything_is_written(tmp_path: Path, command: str) -> None:
    with pytest.raises(ScenarioError, match=r"no such program|no command|cannot be split"):
        await played(tmp_path, command)
    assert not (tmp_path / "runs").exists()


async def test_children_are_ended_with_their_program(tmp_path: Path) -> None:
    child = tmp_path / "child"
    body = f"""
sleeper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(3_600)"])
open({str(child)!r}, "w").write(str(sleeper.pid))
play()
"""
    await asyncio.wait_for(played(tmp_path, program(tmp_path, body)), LONG)
    number = int(child.read_text(encoding="utf-8"))

    def gone() -> bool:
        # Its parent is dead: whoever inherits it may be slow to bury it.
        state = Path(f"/proc/{number}/stat")
        return not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z"

    await eventually(gone, "the child's end")


async def test_a_game_that_is_stopped_ends_its_program(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    body = f"play(1)\nopen({str(begun)!r}, 'w').write(str(os.getpid()))\ntime.sleep(3_600)"
    playing = asyncio.create_task(played(tmp_path, program(tmp_path, body)))
    await eventually(lambda: begun.exists() and begun.read_text(encoding="utf-8"), "the program's first turn")
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    with pytest.raises(ProcessLookupError):
        os.kill(int(begun.read_text(encoding="utf-8")), 0)


def test_a_label_holds_no_path_and_no_secret() -> None:
    assert shown_command("/opt/py/python agents/mine.py --depth 3 {config}") == "python mine.py --depth 3 {config}"
    assert shown_command("node agent.mjs --api-key sk-proj-abcdefghijklmnopqrstuvwxyz012345") == (
        "node agent.mjs --api-key [secret]"
    )
    assert len(shown_command("x " * 500)) == 80


@pytest.mark.parametrize("option", [{"model": "policy:half"}, {"window": "full_round"}, {"faults": "429@1"}])
async def test_options_of_models_are_none_of_a_programs(tmp_path: Path, option: dict[str, str]) -> None:
    agent = AgentSpec(f"command:{sys.executable}", **option)  # pyright: ignore[reportArgumentType]
    with pytest.raises(ScenarioError, match=r"makes none|option of our graphs"):
        await play_episode(preset_spec("teaching", "pie", agent, tmp_path))
