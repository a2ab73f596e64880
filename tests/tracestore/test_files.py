"""Exports line by line, folders of traces, and what is opened of other files."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.evaluation.playing import played

from tradefair.catalog import load_scenario
from tradefair.contract import TraceError
from tradefair.contract.chain import digest
from tradefair.contract.kernel.core import Core
from tradefair.evaluation.viewer.folder import Folder
from tradefair.teaching import MARKET
from tradefair.tracestore import Manifest, find_traces, jsonl_lines, open_trace, reader

_EMPTY_EVENT = b'{"hash":"' + b"0" * 64 + b'","event":{}}'


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """The lines of an export that has results of its own."""
    folder = tmp_path_factory.mktemp("exported")
    path = played(
        folder / "x.trace", "double_auction/bazaar", rounds=3, n_buyers=20, n_sellers=20, acceptance="per_seat"
    )
    with open_trace(path) as trace:
        found = list(jsonl_lines(trace))
        assert len(list(trace.blobs())) > 1
    return found


def write(path: Path, content: list[bytes]) -> Path:
    path.write_bytes(b"".join(line + b"\n" for line in content))
    return path


def test_an_export_gives_every_result_by_its_digest(exported: list[bytes], tmp_path: Path) -> None:
    with open_trace(write(tmp_path / "x.trace.jsonl", exported)) as trace:
        for name, body in trace.blobs():
            assert trace.blob(name) == body
            assert digest(body) == name
        assert trace.blob("0" * 64) is None
        assert trace.blob("odd") is None


def _shorter(line: bytes) -> bytes:
    return line[:-40] + b'"}}'


def _under_another_name(line: bytes) -> bytes:
    return line[:20] + b"x" + line[21:]


@pytest.mark.parametrize("change", [_shorter, _under_another_name])
def test_a_result_that_has_changed_is_not_given(
    exported: list[bytes], tmp_path: Path, change: Callable[[bytes], bytes]
) -> None:
    with open_trace(write(tmp_path / "whole.jsonl", exported)) as trace:
        names = [name for name, _ in trace.blobs()]
    changed = [change(line) if line.startswith(b'{"blob"') else line for line in exported]
    with open_trace(write(tmp_path / "x.jsonl", changed)) as trace, pytest.raises(TraceError):
        trace.blob(names[0])


def test_a_folder_lists_its_regular_files_and_no_link_out_of_it(tmp_path: Path) -> None:
    folder, outside = tmp_path / "folder", tmp_path / "outside.trace"
    (folder / "below" / "deeper").mkdir(parents=True)
    for path in (outside, folder / "b.trace", folder / "below" / "deeper" / "a.trace.jsonl", folder / "other.txt"):
        path.write_bytes(b"x")
    (folder / "inside.trace").symlink_to(folder / "b.trace")
    (folder / "out.trace").symlink_to(outside)
    (folder / "nowhere.trace").symlink_to(folder / "nowhere.trace")
    (folder / "below" / "round").symlink_to(folder)
    (folder / "named.trace").mkdir()
    os.mkfifo(folder / "pipe.trace")
    names = [str(path.relative_to(folder)) for path in find_traces(folder)]
    assert names == ["b.trace", "below/deeper/a.trace.jsonl", "inside.trace"]


def test_a_folder_of_too_many_traces_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(3):
        (tmp_path / f"{number}.trace").write_bytes(b"x")
    monkeypatch.setattr(reader, "MAX_TRACES", 3)
    assert len(find_traces(tmp_path)) == 3
    monkeypatch.setattr(reader, "MAX_TRACES", 2)
    with pytest.raises(TraceError, match="more than 2 traces"):
        find_traces(tmp_path)


def test_folders_that_lie_very_deep_are_listed(tmp_path: Path) -> None:
    depth, top = 1_500, tmp_path / "top"
    top.mkdir()
    here = Path.cwd()
    try:
        os.chdir(top)
        for _ in range(depth):
            Path("d").mkdir()
            os.chdir("d")
        Path("x.trace").write_bytes(b"x")
        os.chdir(here)
        deep = top.joinpath(*["d"] * depth, "x.trace")
        assert find_traces(top) == [deep]
        assert [place.path for place in Folder(top).scan()] == [deep]
    finally:
        os.chdir(here)
        # pytest's own clearing away calls itself for each level.
        subprocess.run(["rm", "-r", str(top)], check=True)


def test_an_export_whose_first_event_does_not_say_who_plays_is_read_no_further(tmp_path: Path) -> None:
    core = Core.create(MARKET, load_scenario("teaching", "pie"), 1).manifest
    path = tmp_path / "a.trace.jsonl"
    # Read further, the last line would be refused for what it is.
    lines = [Manifest(core.model_dump_json().encode(), {}).to_json(), _EMPTY_EVENT, _EMPTY_EVENT, b"no event"]
    path.write_bytes(b"\n".join(lines))
    with open_trace(path) as trace, pytest.raises(TraceError, match="does not say who plays"):
        trace.seating()


@pytest.mark.parametrize("head", ["[1e308,'00']", "[80]", "{'80':1,'00':2}", "['80','00']", "[1e3,'00']", "[[1],'00']"])
def test_a_closed_head_in_an_export_is_a_number_and_a_hash(tmp_path: Path, head: str) -> None:
    path = tmp_path / "a.trace.jsonl"
    line = f'{{"closed_head":{head}}}'.replace("'", '"')
    path.write_bytes(b'{"about":{},"core":{}}\n' + line.encode())
    with open_trace(path) as trace, pytest.raises(TraceError, match="line 2 is not a closed head"):
        trace.closed_head()
