from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.core import Record
from tradefair.contract.kernel.event import ManifestCore
from tradefair.tracestore import Written, open_trace, write_trace

Play = Callable[..., Path]


@pytest.fixture
def written(play: Play) -> Path:
    return play("teaching/pie", "half")


def _core(path: Path) -> ManifestCore:
    with open_trace(path) as trace:
        return trace.manifest.core


def test_a_trace_appears_whole_or_not_at_all(written: Path) -> None:
    before = written.read_bytes()

    def broken() -> Iterator[Written]:
        yield Written(Record(1, b"{}"))
        raise RuntimeError("the source broke off")

    for place in (written, written.with_name("fresh.trace")):
        with pytest.raises(RuntimeError):
            write_trace(place, _core(written), {}, broken())
    assert [path.name for path in written.parent.iterdir()] == [written.name]
    assert written.read_bytes() == before


def test_side_data_stands_beside_the_events(written: Path, tmp_path: Path) -> None:
    path = tmp_path / "new" / "side.trace"
    manifest = write_trace(path, _core(written), {}, [Written(Record(1, b"{}"), "P1", 1_000, 250, "import")])
    assert (manifest.sealed, manifest.seal_holds, manifest.about["head_seq"]) == (True, True, 1)
    with open_trace(path) as trace:
        (row,) = trace.side()
        assert (row.seat, row.at_ms, row.latency_us, row.transport) == ("P1", 1_000, 250, "import")
        assert trace.manifest.core == _core(written)


def test_a_place_that_cannot_be_written_is_said_so(written: Path) -> None:
    with pytest.raises(StorageUnavailable, match="cannot be written"):
        write_trace(written / "below.trace", _core(written), {}, [])
