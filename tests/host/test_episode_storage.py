"""A log that cannot be written: the call is refused, nothing has changed, work goes on when there is space again."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from tests.host.conftest import break_log
from tests.host.disks import SmallDisk, small_disk
from tests.waiting import SOON

from tradefair.contract.errors import StorageUnavailable

pytestmark = pytest.mark.usefixtures("way")


@pytest.fixture
def disk(tmp_path: Path) -> Generator[SmallDisk]:
    with small_disk(tmp_path / "disk") as mounted:
        yield mounted


async def _fill_up(episode: Any, disk: SmallDisk) -> Any:
    """Fill the disk and use up what the log's file still holds; the first refusal."""
    disk.fill()
    for _ in range(200):
        answer = await episode.call("P1", "claim", {"slices": 999})
        if answer.error.code == "storage_unavailable":
            return answer
    raise AssertionError("the disk never filled up")


async def test_on_a_full_disk_calls_are_refused_and_nothing_changes(disk: SmallDisk, table: Any) -> None:
    table.folder = disk.folder
    episode = await table.create()
    await episode.call("P1", "add_note", {"text": "x" * 2000})
    refused = await _fill_up(episode, disk)
    assert (refused.status, refused.error.retryable) == ("failed", True)
    committed, before = len(table.events(episode)), episode.core.market.digest()

    answers = await table.within(
        asyncio.gather(
            *(
                episode.call(seat, "claim", {"slices": 4}, call_key=f"{seat}{n}")
                for seat in ("P1", "P2")
                for n in (1, 2)
            )
        )
    )
    assert {answer.error.code for answer in answers} == {"storage_unavailable"}
    with pytest.raises(StorageUnavailable):
        await table.within(episode.lapse("P1", "agent_limit"))
    seen = await table.within(episode.call("P1", "view_my_value", {}))
    assert seen.status == "ok"
    assert (len(table.events(episode)), episode.core.market.digest()) == (committed, before)

    disk.free()
    claimed = await table.within(episode.call("P1", "claim", {"slices": 4}, call_key="P11"))
    assert claimed.status == "ok"
    assert (await table.within(episode.call("P1", "claim", {"slices": 4}, call_key="P11")))[:5] == claimed[:5]
    for seat, _ in (("P2", 1), ("P1", 2), ("P2", 2), ("P1", 3), ("P2", 3)):
        assert (await episode.call(seat, "claim", {"slices": 4})).status == "ok"
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    # What was refused has not been charged to anybody.
    assert episode.stored == Counter(await episode._log.sizes())
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


async def test_an_episode_cannot_be_begun_on_a_full_disk_and_leaves_no_lease(disk: SmallDisk, table: Any) -> None:
    table.folder = disk.folder
    disk.fill()
    with pytest.raises(StorageUnavailable):
        await table.create()
    disk.free()
    (disk.folder / "pie.trace").unlink(missing_ok=True)
    assert (await (await table.create()).call("P1", "claim", {"slices": 4})).status == "ok"


async def test_while_the_log_cannot_be_read_either_calls_are_refused_and_then_go_on(table: Any) -> None:
    """Append and read both fail once: the second call tries the rebuild again."""
    episode = await table.create()
    log = episode._log
    bodies, mend = log.bodies, break_log(log)
    log.bodies = log.append
    for _ in range(3):
        assert (await table.within(episode.call("P1", "claim", {"slices": 4}))).error.code == "storage_unavailable"
    mend()
    assert (await table.within(episode.call("P1", "claim", {"slices": 4}))).error.code == "storage_unavailable"
    log.bodies = bodies
    assert (await table.within(episode.call("P1", "claim", {"slices": 4}))).status == "ok"
    await episode.close()
    assert table.verdict(episode.path) == "reproduced"


async def test_an_end_that_cannot_be_sealed_is_acknowledged_and_sealed_later(
    table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tradefair.host.episode.episode._SEAL_AGAIN_S", SOON)
    episode = await table.create(table.pie(rounds=1))
    log = episode._log
    seal, tries = log.seal, 0

    async def fail(*_: Any) -> None:
        nonlocal tries
        tries += 1
        if tries == 4:
            log.seal = seal
        raise StorageUnavailable("the disk is full")

    log.seal = fail
    await episode.call("P1", "claim", {"slices": 5})
    assert (await table.within(episode.call("P2", "claim", {"slices": 5}))).status == "ok"
    assert not episode.manifest.sealed
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    assert (tries, episode.manifest.sealed) == (4, True)


@pytest.mark.parametrize("unreadable", [0, 2])
async def test_a_deadline_whose_end_was_lost_comes_again(table: Any, unreadable: int) -> None:
    episode = await table.create(table.pie(rounds=1, **{"timing.decision_deadline_s": SOON}))
    log = episode._log
    bodies, misses, mend = log.bodies, unreadable, break_log(log)

    async def miss() -> Any:
        nonlocal misses
        if misses == unreadable:
            mend()
        misses -= 1
        if misses < 0:
            return await bodies()
        raise StorageUnavailable("the cable is out")

    log.bodies = miss
    assert await table.within(episode.wait_ended()) == "terminated:rounds_completed"
    await episode.close()
    lapsed = [event for event in table.events(episode) if event["event"] == "seat_lapsed"]
    assert [event["seat"] for event in lapsed] == ["P1", "P2"]


_LIMITED = """
import asyncio, resource, signal, sys
from pathlib import Path
from tradefair.catalog import load_scenario
from tradefair.host.episode.episode import Episode
from tradefair.teaching import MARKET

async def main(path):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    episode = await Episode.create(path, MARKET, load_scenario("teaching", "pie"), 7, episode_id="limited")
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (4_096, hard))
    refused = await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    assert refused.error.code == "storage_unavailable", refused
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    claimed = await episode.call("P1", "claim", {"slices": 4}, call_key="k")
    assert claimed.status == "ok", claimed
    await episode.close()

asyncio.run(main(Path(sys.argv[1])))
"""


async def test_a_file_size_limit_is_a_storage_failure_too(table: Any, tmp_path: Path) -> None:
    path = tmp_path / "limited.trace"
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", _LIMITED, str(path), stderr=asyncio.subprocess.PIPE
    )
    _, complaints = await table.within(process.communicate())
    assert process.returncode == 0, complaints.decode()
    assert table.verdict(path) == "reproduced"
    assert [event["event"] for event in table.events(path)] == ["episode_started", "tool_called"]
