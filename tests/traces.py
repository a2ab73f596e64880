"""Traces that scripted seats played for tests: each is played once for a source tree, whoever asks for it.

`@kept` stands above a function that plays an episode into the path that it is given first. The first worker that asks
for an episode plays it; everybody else, in this session and in later ones of the same tree, gets a copy of the file.
What is kept stands in `.pytest_cache/played/<digest of the tree>` and may be removed at any time. An entry is no trace
itself but a digest and the packed trace: no test can open it by mistake, and one that was changed is refused.

A test with the fixture `monkeypatch` plays everything itself: others would get what a changed product played.
"""

from __future__ import annotations

import inspect
import os
import platform
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, wraps
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeGuard, cast

import orjson
import pytest

P = ParamSpec("P")

ROOT = Path(__file__).parent.parent
ROOTS = ("mcp_servers", "agent_graphs", "frameworks", "evaluation")
FRESH = "TRADEFAIR_TESTS_FRESH"
"""Set to anything: what is kept is played again all the same, and must come out as it was kept."""

# Trees whose traces are left at the start of a session: this one, and the one before a change that may be undone.
_LEFT = 2
_SIZE = 32
_place: Path | None = None


def place() -> Path | None:
    """The folder of what is kept for this tree; None outside a session of pytest, where nothing is kept."""
    return _place


# --- the session ------------------------------------------------------------------------------------------------------


def pytest_configure(config: pytest.Config) -> None:
    """Name the folder; a worker is told the digest of the tree that the whole session is about."""
    told: Mapping[str, Any] = getattr(config, "workerinput", {})
    tree = str(told["tree"]) if "tree" in told else tree_digest(ROOT)
    folder = ROOT / ".pytest_cache" / "played"
    if not told:
        tidy(folder, tree)
    _keep_in(folder / tree)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell a worker of pytest-xdist the tree."""
    if _place is not None:
        node.workerinput["tree"] = _place.name


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    """Where a test may change the product while it runs, what it plays is its own."""
    patches = "monkeypatch" in getattr(item, "fixturenames", ())
    with kept_in(None if patches else _place):
        return (yield)


def _keep_in(folder: Path | None) -> None:
    global _place
    _place = folder


@contextmanager
def kept_in(folder: Path | None) -> Generator[None]:
    """Keep played traces elsewhere for a while, or nowhere: for tests of this module."""
    before = _place
    _keep_in(folder)
    try:
        yield
    finally:
        _keep_in(before)


def tree_digest(root: Path) -> str:
    """What decides how an episode goes: the product's files, the helpers of tests, and what is installed beside."""
    content = blake2b(digest_size=16)
    installed = {path.name for folder in sys.path for path in Path(folder).glob("*.dist-info")}
    for name in (sys.version, platform.platform(), *sorted(installed)):
        content.update(name.encode() + b"\0")
    for path in _sources(root):
        content.update(f"{path.relative_to(root).as_posix()}\0{path.stat().st_size}\0".encode())
        content.update(path.read_bytes())
    return content.hexdigest()


def _sources(root: Path) -> Iterator[Path]:
    """The files of the four roots, and the modules of tests that are not tests but are shared by them."""
    for name in (*ROOTS, "tests"):
        for folder, folders, files in os.walk(root / name):
            folders[:] = sorted(each for each in folders if each not in ("__pycache__", "node_modules"))
            for file in sorted(files):
                if name != "tests" or (file.endswith(".py") and not file.startswith("test_")):
                    yield Path(folder, file)


def tidy(folder: Path, tree: str) -> None:
    """Remove what was kept for other trees, except the newest."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / tree).mkdir(exist_ok=True)
    os.utime(folder / tree)
    others = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in [path for path in others if path.name != tree][_LEFT - 1 :]:
        shutil.rmtree(old, ignore_errors=True)


# --- what is kept -----------------------------------------------------------------------------------------------------


def kept(play: Callable[Concatenate[Path, P], object]) -> Callable[Concatenate[Path, P], Path]:
    """Let a function that plays an episode into a path play it once; every call gives its path, with an own copy there.

    It must play by its arguments alone. Where one of them is neither plain data nor a function of a module, as is a
    closure, it is played each time. TypeError for a function that is itself no function of a module.
    """
    if not _is_of_a_module(play):
        raise TypeError("only a function of a module can be kept, with all that it depends on among its arguments")

    @wraps(play)
    def taken(path: Path, /, *args: P.args, **kwargs: P.kwargs) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        what = None if _place is None else _key(play, args, kwargs)
        if _place is None or what is None:
            play(path, *args, **kwargs)
            return path
        entry = _place / f"{what}.kept"
        if not entry.exists():
            _place.mkdir(parents=True, exist_ok=True)
            with _alone(entry):
                # Another worker may have played it while this one waited.
                if not entry.exists():
                    _enter(entry, lambda fresh: play(fresh, *args, **kwargs))
        elif os.environ.get(FRESH):
            _check_fresh(entry, lambda fresh: play(fresh, *args, **kwargs))
        path.write_bytes(_content(entry))
        return path

    return taken


MADE: list[Path] = []
"""What is being played to be kept: whoever asks first for an episode that others share has not begun it alone."""


def _enter(entry: Path, play: Callable[[Path], object]) -> None:
    """Play an episode and keep it; who reads sees a whole entry or none."""
    with tempfile.TemporaryDirectory(prefix=f"{entry.stem}-", dir=entry.parent) as folder:
        fresh = Path(folder, "fresh.trace")
        MADE.append(entry)
        try:
            play(fresh)
        finally:
            MADE.pop()
        content = fresh.read_bytes()
        whole = fresh.with_name("whole")
        # A seventh of the size, for a millisecond.
        whole.write_bytes(blake2b(content, digest_size=_SIZE).digest() + zlib.compress(content, 1))
        whole.chmod(0o444)
        # On Windows it is not replaced while another worker reads it, which then is the same.
        with suppress(PermissionError):
            os.replace(whole, entry)


def _content(entry: Path) -> bytes:
    whole = entry.read_bytes()
    with suppress(zlib.error):
        content = zlib.decompress(whole[_SIZE:])
        if blake2b(content, digest_size=_SIZE).digest() == whole[:_SIZE]:
            return content
    raise AssertionError(f"{entry} was changed after it was played: find the test that writes there, and remove it")


def _check_fresh(entry: Path, play: Callable[[Path], object]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder, "fresh.trace")
        MADE.append(entry)
        try:
            play(fresh)
        finally:
            MADE.pop()
        if fresh.read_bytes() != _content(entry):
            raise AssertionError(f"{entry} is kept, and played again it comes out otherwise")


@contextmanager
def _alone(entry: Path) -> Generator[None]:
    """One worker at a time: the system gives the lock back when who has it dies.

    Without locks of POSIX two workers may play the same episode; the second one replaces it by the same bytes.
    """
    try:
        locks = import_module("fcntl")
    except ImportError:
        yield
        return
    with entry.with_suffix(".lock").open("wb") as file:
        locks.flock(file, locks.LOCK_EX)
        yield


# --- its name ---------------------------------------------------------------------------------------------------------


class _NotPlainError(Exception):
    """An argument that does not say by itself how an episode goes."""


def _key(play: Callable[..., object], args: Collection[object], kwargs: Mapping[str, object]) -> str | None:
    """The name of an entry, the same for calls that mean the same; None where an argument is not plain."""
    # The path is no part of what is played.
    bound = inspect.signature(play).bind(Path(), *args, **kwargs)
    bound.apply_defaults()
    try:
        # Scenarios may read data there.
        said = [
            os.environ.get("TRADEFAIR_DATA"),
            _plain(play),
            *(_plain(value) for value in bound.args[1:]),
            _plain(bound.kwargs),
        ]
    except _NotPlainError:
        return None
    # Scenarios may read data in this folder.
    said.append(os.environ.get("TRADEFAIR_DATA"))
    return blake2b(orjson.dumps(said), digest_size=20).hexdigest()


def _plain(value: object) -> object:
    """A value as JSON that no other value has: 1, 1.0 and True are three."""
    if value is None or type(value) in (str, int, float, bool):
        return repr(value)
    if isinstance(value, Mapping):
        entries = cast(Mapping[object, object], value)
        return [["mapping"], *([_plain(key), _plain(entries[key])] for key in entries)]
    if isinstance(value, list | tuple):
        items = cast(Collection[object], value)
        return [["list"], *(_plain(item) for item in items)]
    if _is_of_a_module(value):
        return [["function"], value.__module__, value.__qualname__, _digest_of(inspect.getfile(value))]
    raise _NotPlainError


def _is_of_a_module(value: object) -> TypeGuard[Callable[..., object]]:
    """Whether a function is what its module says, without values that were bound elsewhere."""
    return inspect.isfunction(value) and value.__closure__ is None and "<" not in value.__qualname__


@cache
def _digest_of(file: str) -> str:
    return blake2b(Path(file).read_bytes(), digest_size=16).hexdigest()
