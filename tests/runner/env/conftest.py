"""`tradefair host --tasks` as a process, and its answers as they came: bytes are kept, so tests can search them."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from tests.options_files import options_file
from tests.waiting import LONG

REPO = Path(__file__).resolve().parents[3]
CLIENT = REPO / "environments" / "client"
MODULE = CLIENT / "src" / "tradefair_client.py"
TRADEFAIR = Path(sys.executable).parent / "tradefair"
SALT = bytes(range(100, 132))


def client_module() -> ModuleType:
    """The client's one file, as a trainer would copy it."""
    return _loaded("tradefair_client", MODULE)


def play(seat: Any, market: str) -> None:
    """Play a seat of the client to its end, as the example for trainers does."""
    _loaded("train_stdlib", REPO / "examples" / "train_stdlib.py").play(seat, market)


def _loaded(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Found there by the decorators of its classes.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class Answer(NamedTuple):
    """Status, content and headers; `raw` as it came."""

    status: int
    content: Any
    raw: bytes
    headers: Any

    @property
    def error(self) -> dict[str, Any]:
        assert set(self.content) == {"error"}
        assert set(self.content["error"]) == {"code", "message", "hint", "retryable"}
        return self.content["error"]


class Served(NamedTuple):
    """A running server: what it printed, and its folder."""

    ready: Any
    folder: Path
    process: subprocess.Popen[bytes]

    def ask(self, path: str, body: Any = None, method: str | None = None, token: str | None = None) -> Answer:
        """A request to the control plane; `body` as JSON, or as the bytes that it is."""
        content = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        sent = self.ready["control"]["token"] if token is None else token
        headers = {"Authorization": f"Bearer {sent}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.ready["control"]["url"] + path, content, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=LONG) as answer:
                raw = answer.read()
                # The status page is the one answer that is no JSON.
                return Answer(answer.status, None if path == "/" else json.loads(raw), raw, answer.headers)
        except urllib.error.HTTPError as refusal:
            raw = refusal.read()
            return Answer(refusal.code, json.loads(raw), raw, refusal.headers)

    def get(self, path: str) -> Any:
        """What a path holds."""
        answer = self.ask(path)
        assert answer.status == 200, answer.raw
        return answer.content

    def create(self, **order: Any) -> Any:
        """New episodes: the whole answer."""
        answer = self.ask("/episodes", order)
        assert answer.status == 201, answer.raw
        return answer.content

    def trace(self, episode: str) -> Path:
        return self.folder / f"{episode}.trace"


@contextmanager
def serving(folder: Path, salt_file: Path, *options: str) -> Generator[Served]:
    """A server until the end of the block."""
    told = options_file(folder.parent, salt_file=str(salt_file), max_episodes=12)
    command = [str(TRADEFAIR), "host", "--tasks", "bundled", "--json", "--out", str(folder), *told, *options]
    clean = {name: value for name, value in os.environ.items() if name != "TRADEFAIR_CONTROL_TOKEN"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=clean) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, "the server left without a word"
            yield Served(json.loads(line), folder, process)
        finally:
            process.terminate()
            process.wait(LONG)


@pytest.fixture(scope="session")
def salt_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("salt") / "salt"
    file.write_bytes(SALT)
    file.chmod(0o600)
    return file


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory, salt_file: Path) -> Generator[Served]:
    """One server for all tests: each makes episodes of its own and takes them away."""
    folder = tmp_path_factory.mktemp("env") / "run"
    with serving(folder, salt_file) as server:
        yield server


@pytest.fixture
def client(served: Served, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The client, pointed at the server."""
    monkeypatch.setenv("TRADEFAIR_CONTROL_URL", served.ready["control"]["url"])
    monkeypatch.setenv("TRADEFAIR_CONTROL_TOKEN", served.ready["control"]["token"])
    return client_module()
