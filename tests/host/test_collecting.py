"""The collector of cycles: no pass while a market is made, none through what lives on, and nothing is kept for good."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Generator
from pathlib import Path

import pytest

from tradefair.host.doors.collecting import collect, without_passes
from tradefair.host.doors.hosting import Host
from tradefair.host.episode.orders import Order, checked


class _Ring:
    """Refers to itself."""

    def __init__(self) -> None:
        self.ring = self


@pytest.fixture
def passes() -> Generator[list[int]]:
    """The generations that passes went through; they come after every tenth object."""
    seen, thresholds = list[int](), gc.get_threshold()

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            seen.append(info["generation"])

    gc.callbacks.append(note)
    gc.set_threshold(10)
    try:
        yield seen
    finally:
        gc.set_threshold(*thresholds)
        gc.callbacks.remove(note)
        gc.unfreeze()


def test_no_pass_is_made_inside_and_none_goes_through_what_was_made(passes: list[int]) -> None:
    with without_passes():
        passes.clear()
        with without_passes():
            rings = [_Ring() for _ in range(100)]
        rings += [_Ring() for _ in range(100)]
        assert passes == []
    assert gc.isenabled()
    # Left out: a pass no longer sees it.
    assert not any(ring is seen for seen in gc.get_objects() for ring in rings[:1])
    assert [_Ring() for _ in range(100)]
    assert 0 in passes


def test_what_was_left_out_is_freed_once_nothing_refers_to_it() -> None:
    with without_passes():
        ring = _Ring()
    gone = weakref.ref(ring)
    del ring
    gc.collect()
    assert gone() is not None
    try:
        collect()
        assert gone() is None
    finally:
        gc.unfreeze()


async def test_a_host_makes_its_markets_without_a_pass(tmp_path: Path, passes: list[int]) -> None:
    host = Host(tmp_path)
    host.order(checked(Order(market="teaching", seed=1, seats="all")), "e1")
    passes.clear()
    episode = await host.start("e1")
    assert len(passes) < 20  # thousands of objects: hundreds of passes
    made = weakref.ref(episode.core)
    await episode.end("truncated:cancelled")
    await host.retire("e1")
    await host.close()
    del episode, host
    collect()
    assert made() is None
