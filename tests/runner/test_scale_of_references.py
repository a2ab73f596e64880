"""Where a verdict puts an episode between two references, and where it does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tradefair.cli import run


def seat(
    capsysbinary: pytest.CaptureFixture[bytes],
    folder: Path,
    seed: int,
    *options: str,
    market: str = "order_book",
    policy: str = "gd",
) -> Any:
    """The seat under test in the verdict of a played episode, of `order_book/smith` unless told otherwise."""
    command = ["play", market, "--agent", f"policy:{policy}", "--seed", str(seed), "--out", str(folder), *options]
    assert run([*command, "--json"]) == 0
    return orjson.loads(capsysbinary.readouterr().out)["verdict"]["seats"][0]


@pytest.mark.many
def test_an_episode_of_the_headlines_preset_stands_between_its_references(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    found = seat(capsysbinary, tmp_path, 3)
    assert (found["headline"] is not None, found["between"]) == (True, ["truthful", "kaplan"])


@pytest.mark.many
def test_where_the_best_reference_earned_less_than_the_naive_one_there_is_no_scale(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    found = seat(capsysbinary, tmp_path, 31)
    earned = {row["name"]: row["value"] for row in found["beside"]}
    assert earned["kaplan"] < earned["truthful"]
    assert (found["headline"], found["between"]) == (None, [])


def test_a_changed_preset_has_no_place_on_the_presets_scale(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    found = seat(capsysbinary, tmp_path, 3, "--set", "periods=1")
    assert (found["headline"], found["between"]) == (None, [])


def test_far_beyond_two_references_that_nearly_tie_there_is_no_scale(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    found = seat(capsysbinary, tmp_path, 3, market="pricing", policy="jumpy")
    earned = {row["name"]: row["value"] for row in found["beside"]}
    assert found["score"]["value"] < earned["nash"] < earned["planner"] < 1.01 * earned["nash"]
    assert (found["headline"], found["between"]) == (None, [])
