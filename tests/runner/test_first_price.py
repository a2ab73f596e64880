"""`play --price` replays what the first finding cost and the verdict says it; no other episode is replayed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

import tradefair.api as tf
from tradefair.cli import run
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.runner.price import price, with_first_price
from tradefair.runner.replays import Replays

ZIC = (
    "play",
    "double_auction",
    "--scenario",
    "bazaar",
    "--agent",
    "policy",
    "--model",
    "policy:zic",
    "--no-references",
)


@pytest.fixture
def played(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> Any:
    """The JSON of `play` on seed 7, and its trace."""

    def _played(*more: str) -> tuple[Any, Path]:
        out = tmp_path / "-".join(["run", *more])
        assert run([*ZIC, "--seed", "7", "--out", str(out), "--json", *more]) == 0
        said = orjson.loads(capsysbinary.readouterr().out)
        return said, next(out.glob("*.trace"))

    return _played


def test_the_mistake_of_the_verdict_has_the_replayed_price_of_the_finding_that_comes_first(played: Any) -> None:
    said, path = played("--price")
    mistake = said["verdict"]["seats"][0]["mistake"]
    assert mistake["kind"] == "replay"
    assert f"{mistake['amount']:g} points (replayed" in said["verdict"]["text"]
    found = evaluate_file(path)
    assert found.diagnosis is not None
    (finding,) = [item for item in found.diagnosis.raised if (item.id, item.seats) == (mistake["mode"], ["B1"])]
    assert price(path, finding).amount == mistake["amount"]


def test_without_the_price_the_cost_says_that_it_is_none(played: Any) -> None:
    said, _ = played()
    assert said["verdict"]["seats"][0]["mistake"]["kind"] != "replay"
    assert "replayed" not in said["verdict"]["text"]


def test_a_series_replays_nothing(played: Any) -> None:
    said, _ = played("--price", "--seeds", "1")
    (episode,) = said["episodes"]
    assert episode["verdict"]["seats"][0]["mistake"]["kind"] != "replay"


def test_the_next_finding_is_priced_where_a_price_puts_it_first(tmp_path: Path) -> None:
    path = tf.play("bargaining", scenario="bargaining/pact", seed=5, agent="policy:gifter", folder=tmp_path).path
    before = evaluate_file(path).diagnosis
    found = with_first_price(Replays(path), evaluate_file(path)).diagnosis
    assert before is not None
    assert found is not None
    # The first price moved its finding back, and the one that took its place has a price as well.
    assert found.raised[0].id != before.raised[0].id
    assert found.raised[0].price is not None
    assert sum(item.price is not None for item in found.raised) == 2
    # One account is closed, however often was priced.
    assert sum(item.id == "unexplained_loss" for item in found.findings) == 1
