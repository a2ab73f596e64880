"""The soak and the benchmark of many seats run, and keep what they promise."""

from __future__ import annotations

from pathlib import Path

import orjson
from benchmarks.hosting import measure
from benchmarks.soak import soak
from benchmarks.soak_audit import Acknowledged, Told, audit

from tradefair.catalog import load_scenario, market_type
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats


def test_a_minute_of_bad_clients_and_two_kills_breaks_no_promise(tmp_path: Path) -> None:
    figures, broken = soak(1, 2, 5, tmp_path / "soak")
    assert broken == []
    told = {figure.name: figure.value for figure in figures}
    assert (told["soak: kills"], told["soak: lost"], told["soak: doubled"]) == (2, 0, 0)
    assert told["soak: acknowledged"] > 100


def test_many_seats_over_http_end_and_verify() -> None:
    figures = {figure.name: figure for figure in measure(tiny=True)}
    assert [figure.name for figure in figures.values() if figure.met is False] == []
    assert figures["hosting: HTTP 5xx"].value == 0


async def test_the_audit_of_a_soak_names_what_was_lost_doubled_or_answered_otherwise(tmp_path: Path) -> None:
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "smoke")
    plan = plan_seats(kind, scenario, agents=["B1"], others="truthful")
    episode = await new_episode(kind, scenario, 7, plan, tmp_path)
    result = await episode.call("B1", "submit_quote", {"price": 50}, call_key="kept")
    await episode.close()
    assert result.body is not None
    answer = orjson.loads(result.body)
    place = (episode.path.stem, "B1", "kept")
    assert audit(episode.path, {place: Acknowledged(answer, 0)}).complaints == []
    wrong: list[tuple[Told, str]] = [
        ({(*place[:2], "gone"): Acknowledged(answer, 0)}, "acknowledged and not there"),
        ({place: Acknowledged({}, 0)}, "another answer"),
        ({place: Acknowledged(answer, 3)}, "3 reads were answered before it"),
    ]
    for told, word in wrong:
        (complaint,) = audit(episode.path, told).complaints
        assert word in complaint
    damaged = bytearray(episode.path.read_bytes())
    at = damaged.index(b'"price":50')
    damaged[at + 8 : at + 10] = b"51"
    episode.path.write_bytes(damaged)
    assert any("damaged" in complaint for complaint in audit(episode.path, {}).complaints)
