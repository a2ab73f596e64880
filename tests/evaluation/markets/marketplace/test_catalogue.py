"""The catalogue in the trace: written once, small, exported as tables, and enough to compute every baseline again."""

from __future__ import annotations

import subprocess
import sys
import zlib
from pathlib import Path

import orjson
import pytest
from tests.evaluation.markets.marketplace.modes.playing import Episode, play_market
from tests.evaluation.mutations import parts_of as trace_parts
from tests.evaluation.mutations import write_parts

from tradefair.catalog import load_scenario
from tradefair.contract.kernel.event import parts_named
from tradefair.evaluation.markets.marketplace.evaluator import EVALUATOR
from tradefair.evaluation.markets.marketplace.play import read_marketplace
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.store.rows import gather
from tradefair.host.episode.prefix import copied_records
from tradefair.marketplace.data import written
from tradefair.marketplace.data.data_source import catalogue_of
from tradefair.marketplace.model import Catalogue
from tradefair.tracestore import open_trace

PRESETS = ("small_demo", "near_fits", "contractors_10", "manipulation_high")
_ALONE = """
import sys
for name in ("generator", "designs"):
    sys.modules[f"tradefair.marketplace.data.{name}"] = None
from tradefair.evaluation.markets.marketplace.evaluator import EVALUATOR
from tradefair.tracestore import open_trace
with open_trace(sys.argv[1]) as trace:
    print(EVALUATOR.outcomes(trace).model_dump_json())
"""


def catalogue(preset: str) -> Catalogue:
    return catalogue_of(load_scenario("marketplace", preset), 1)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("preset", PRESETS)
def test_baselines_and_losses_follow_from_the_file_alone(tmp_path: Path, preset: str) -> None:
    path = play_market(tmp_path / "a.trace", Episode(f"marketplace/{preset}"))
    alone = subprocess.run([sys.executable, "-c", _ALONE, str(path)], check=True, capture_output=True)
    with open_trace(path) as trace:
        outcome = EVALUATOR.outcomes(trace)
    assert orjson.loads(alone.stdout) == orjson.loads(outcome.model_dump_json())
    market = outcome.market_outcome
    assert None not in (market.optimal, market.random_items, market.ceiling_item_names, market.loss_query)
    assert any(seat.list_price_optimum for seat in outcome.seats.values())


@pytest.mark.parametrize("preset", PRESETS)
def test_the_parts_give_back_the_catalogue_and_are_small(preset: str) -> None:
    known = catalogue(preset)
    parts = written.parts_of(known)
    assert written.catalogue_from(map(orjson.loads, parts)) == known
    lines = sum(len(shop.menu) for shop in known.businesses)
    # In a catalogue of three businesses the requests weigh more than the menus.
    assert sum(len(zlib.compress(part)) for part in parts) <= 40 * max(lines, 50)


def test_large_catalogues_are_cut_into_parts_that_follow_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(written, "MAX_PART", 4_000)
    path = play_market(tmp_path / "a.trace", Episode("marketplace/small_demo"))
    with open_trace(path) as trace:
        first = orjson.loads(next(iter(trace.events())).body)
        names = parts_named(first)
        bodies = [trace.blob(name) or b"" for name in names]
        assert read_marketplace(trace).reading.findings == []
        copied = [record.blob for record in copied_records(trace, trace_length(path) + 1) if record.blob]
        assert {name for name, _ in copied} == {name for name, _ in trace.blobs()}
    assert len(names) > 2
    assert max(map(len, bodies)) <= 4_000
    assert written.catalogue_from(map(orjson.loads, bodies)) == catalogue("small_demo")
    assert verify_file(path).verdict == "reproduced"


def trace_length(path: Path) -> int:
    with open_trace(path) as trace:
        return sum(1 for _ in trace.events())


def test_a_part_that_is_missing_or_another_is_damage(tmp_path: Path) -> None:
    path = play_market(tmp_path / "a.trace", Episode("marketplace/small_demo"))
    for number, change in enumerate((b"", b'{"menu":[]}')):
        parts = trace_parts(path)
        (name,) = parts_named(orjson.loads(parts.bodies[0]))
        parts.blobs = {key: body for key, body in parts.blobs.items() if key != name}
        if change:
            parts.blobs[name] = change
        found = verify_file(write_parts(parts, tmp_path / f"{number}.trace"))
        assert (found.verdict, "catalogue" in found.sentence) == ("damaged", True), found.sentence


def test_the_tables_hold_businesses_menus_and_requests(tmp_path: Path) -> None:
    path = play_market(tmp_path / "a.trace", Episode("marketplace/near_fits"))
    rows: dict[str, list[tuple[object, ...]]] = {}
    for item in gather(path):
        rows.setdefault(item.table, []).append(item.row[1:])
    known = catalogue("near_fits")
    assert [row[0] for row in rows["businesses"]] == [shop.id for shop in known.businesses]
    assert rows["menu"] == [
        (shop.id, line.item, line.price_cents / 100) for shop in known.businesses for line in shop.menu
    ]
    assert [row[:3] for row in rows["requests"]] == [(who.id, who.name, who.request) for who in known.customers]
    assert "findings" not in rows


def test_no_seat_sees_the_catalogue(tmp_path: Path) -> None:
    path = play_market(tmp_path / "a.trace", Episode("marketplace/near_fits"))
    tables = {item.table for item in gather(path, seat="customer_0001")}
    assert not tables & {"businesses", "menu", "requests"}
