"""Played traces are kept: each is played once for a tree, comes out as a fresh play would, and cannot be poisoned."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from subprocess import PIPE
from types import SimpleNamespace
from typing import Any

import pytest

from tests import traces
from tests.evaluation.playing import played
from tests.traces import kept, kept_in, tidy, tree_digest
from tradefair.tracestore import open_trace

PLAYED: list[str] = []


@kept
def game(path: Path, text: str, *shares: float, shout: Any = None, **more: Any) -> None:
    """Stands for a play: what it was asked for is the content."""
    PLAYED.append(text)
    path.write_text(f"{text} {shares} {shout is None} {more}", encoding="utf-8")


@kept
def never(path: Path) -> None:
    path.write_bytes(b"half")
    raise ValueError


@kept
def counts(path: Path) -> None:
    PLAYED.append("")
    path.write_bytes(b"%d" % len(PLAYED))


def loud(text: str) -> str:
    return text.upper()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    PLAYED.clear()
    with kept_in(tmp_path / "kept"):
        yield tmp_path / "kept"


def events(path: Path) -> list[tuple[bytes, bytes]]:
    with open_trace(path) as trace:
        return [(event.hash, event.body) for event in trace.events()]


def test_an_episode_is_played_once_and_everybody_has_a_copy(place: Path, tmp_path: Path) -> None:
    first, second = game(tmp_path / "new" / "a", "x", 1.5, b=2), game(tmp_path / "b", "x", 1.5, b=2)
    assert PLAYED == ["x"]
    assert first.read_bytes() == second.read_bytes() == b"x (1.5,) True {'b': 2}"
    first.write_bytes(b"changed by a test")
    assert game(tmp_path / "c", "x", 1.5, b=2).read_bytes() == second.read_bytes()


@pytest.mark.parametrize(
    ("args", "more"),
    [(("y",), {}), (("x", 1), {}), (("x", True), {}), (("x", 1.0), {"b": None}), (("x", 1.0), {"b": [1]}),
     (("x", 1.0), {"b": "1"}), (("x", 1.0), {"c": 1}), (("x", 1.0), {"b": {"1": 1}}), (("x", 1.0), {"shout": loud})],
)  # fmt: skip
def test_what_is_asked_otherwise_is_played(place: Path, tmp_path: Path, args: Any, more: Any) -> None:
    game(tmp_path / "a", "x", 1.0)
    game(tmp_path / "a", "x", 1.0, b=1)
    assert game(tmp_path / "b", *args, **more) == tmp_path / "b"
    assert len(PLAYED) == 3


def test_what_may_read_other_data_is_played(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("one", "two", "one"):
        monkeypatch.setenv("TRADEFAIR_DATA", folder)
        game(tmp_path / "a", "x")
    assert PLAYED == ["x", "x"]


def test_a_function_of_a_module_is_known_and_one_with_values_of_its_own_is_played_each_time(
    place: Path, tmp_path: Path
) -> None:
    for _ in range(2):
        game(tmp_path / "a", "module", shout=loud)
        game(tmp_path / "a", "closure", shout=lambda: tmp_path)
        game(tmp_path / "a", "object", shout=[object()])
    assert PLAYED == ["module", "closure", "object", "closure", "object"]


def test_only_a_function_of_a_module_can_be_kept(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="only a function of a module"):
        kept(lambda path: path.write_text(str(tmp_path)))


def test_a_test_that_may_change_the_product_plays_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    assert traces.place() is None


def test_all_others_share_a_folder_of_the_tree() -> None:
    place = traces.place()
    assert place is not None
    assert place.parent == traces.ROOT / ".pytest_cache" / "played"


def test_a_worker_keeps_to_the_tree_of_its_session(place: Path) -> None:
    node: Any = SimpleNamespace(workerinput={})
    traces.pytest_configure_node(node)
    assert node.workerinput == {"tree": place.name}
    worker: Any = SimpleNamespace(workerinput={"tree": "told"})
    traces.pytest_configure(worker)
    assert traces.place() == traces.ROOT / ".pytest_cache" / "played" / "told"


def test_outside_a_session_nothing_is_kept(place: Path, tmp_path: Path) -> None:
    with kept_in(None):
        for _ in range(2):
            assert game(tmp_path / "a", "x").read_bytes() == b"x () True {}"
    assert PLAYED == ["x", "x"]
    assert traces.place() == place


@pytest.mark.parametrize(
    "change", [zlib.compress(b"another episode"), b"no packed trace", b""], ids=["other", "junk", "cut"]
)
def test_a_kept_trace_that_was_changed_is_refused(place: Path, tmp_path: Path, change: bytes) -> None:
    game(tmp_path / "a", "x")
    (entry,) = place.glob("*.kept")
    assert entry.stat().st_mode & 0o222 == 0
    entry.chmod(0o600)
    entry.write_bytes(entry.read_bytes()[:32] + change)
    with pytest.raises(AssertionError, match="was changed after it was played"):
        game(tmp_path / "b", "x")


def test_a_play_that_fails_is_not_kept(place: Path, tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ValueError):
            never(tmp_path / "a")
    assert list(place.glob("*.kept")) == []
    assert not (tmp_path / "a").exists()


def test_what_is_kept_is_bit_for_bit_a_fresh_play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kept_in(None):
        fresh = played(tmp_path / "fresh.trace", "double_auction/smoke", "zip", 3, rounds=2)
    with kept_in(tmp_path / "kept"):
        for name in ("played.trace", "copied.trace"):
            copy = played(tmp_path / name, "double_auction/smoke", "zip", 3, rounds=2)
            assert events(copy) == events(fresh)
            assert copy.read_bytes() == fresh.read_bytes()
        # As `TRADEFAIR_TESTS_FRESH=1 make test` does for all that tests ask for.
        monkeypatch.setenv(traces.FRESH, "1")
        played(tmp_path / "again.trace", "double_auction/smoke", "zip", 3, rounds=2)


def test_a_play_that_comes_out_otherwise_is_found(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counts(tmp_path / "a")
    monkeypatch.setenv(traces.FRESH, "1")
    with pytest.raises(AssertionError, match="played again it comes out otherwise"):
        counts(tmp_path / "b")


_WORKER = """
import fcntl
import sys
from pathlib import Path
from tests.traces import kept, kept_in

lock = fcntl.flock

def say_and_lock(*asked):
    print("locks", flush=True)
    lock(*asked)

fcntl.flock = say_and_lock

@kept
def play(path: Path) -> None:
    print("plays", flush=True)
    sys.stdin.readline()
    path.write_bytes(b"an episode")

folder = Path(sys.argv[1])
with kept_in(folder / "kept"):
    print(play(folder / sys.argv[2]).read_text(encoding="utf-8"), flush=True)
"""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts a process that asks for an episode, and plays it when it is sent a line."""
    pytest.importorskip("fcntl")
    (tmp_path / "worker.py").write_text(_WORKER, encoding="utf-8")
    command = [sys.executable, str(tmp_path / "worker.py"), str(tmp_path)]
    with ExitStack() as running:

        def start(name: str) -> subprocess.Popen[str]:
            started = subprocess.Popen(
                [*command, name], stdin=PIPE, stdout=PIPE, text=True, env={**os.environ, "PYTHONPATH": str(traces.ROOT)}
            )
            running.enter_context(started)
            running.callback(started.kill)
            return started

        yield start


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def goes_on(process: subprocess.Popen[str]) -> str:
    """What a worker says to its end, after a line for the episode that it may play."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.close()
    return process.stdout.read()


def test_workers_wait_for_the_one_that_plays(worker: Callable[[str], subprocess.Popen[str]]) -> None:
    first = worker("a")
    assert said(first) == "locks"
    assert said(first) == "plays"
    second = worker("b")
    assert said(second) == "locks"
    assert goes_on(first) == "an episode\n"
    assert said(second) == "an episode"


def test_nobody_waits_for_a_worker_that_died(worker: Callable[[str], subprocess.Popen[str]]) -> None:
    first = worker("a")
    assert said(first) == "locks"
    assert said(first) == "plays"
    second = worker("b")
    assert said(second) == "locks"
    first.kill()
    assert goes_on(second) == "plays\nan episode\n"
    assert said(worker("c")) == "an episode"


def test_the_digest_is_of_what_decides_how_an_episode_goes(tmp_path: Path) -> None:
    for name in ("evaluation/a.py", "mcp_servers/x/b.toml", "tests/test_a.py", "tests/playing.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one", encoding="utf-8")
    before = tree_digest(tmp_path)
    for name, counts in (
        ("tests/test_a.py", False), ("evaluation/__pycache__/a.pyc", False), ("evaluation/a.py", True),
        ("mcp_servers/x/b.toml", True), ("tests/playing.py", True),
    ):  # fmt: skip
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("two", encoding="utf-8")
        now = tree_digest(tmp_path)
        assert (now != before) == counts, name
        before = now


def test_the_newest_other_tree_is_left(tmp_path: Path) -> None:
    for age, name in enumerate(["new", "old", "older", "oldest"]):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.kept").write_bytes(b"")
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    tidy(tmp_path, "old")
    assert {path.name for path in tmp_path.iterdir()} == {"new", "old"}
