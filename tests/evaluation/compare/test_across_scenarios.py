"""Pairs across two scenarios on the same seeds: what talk changes, for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tradefair.cli import run
from tradefair.contract import ScenarioError
from tradefair.evaluation.compare.comparing import Options, compare_folders

PlaySeeds = Callable[..., Path]
ACROSS = Options(across_scenarios=True)


def _arm(play_seeds: PlaySeeds, folder: str, preset: str, seeds: range = range(2), rounds: int = 3) -> Path:
    rest: dict[str, Any] = {"scenario": f"double_auction/{preset}", "seat": "S1"}
    overrides = {"seats": {"buyer": "truthful", "seller": "cartel_sellers"}, "rounds": rounds}
    return play_seeds(folder, "cartel_sellers", seeds, overrides=overrides, **rest)


def test_the_effect_of_talk_is_paired_across_the_two_scenarios(play_seeds: PlaySeeds) -> None:
    talk, silent = _arm(play_seeds, "a", "collusion"), _arm(play_seeds, "b", "collusion_silent")
    assert compare_folders(talk, silent).pairs == []
    found = compare_folders(talk, silent, ACROSS)
    assert [(pair.seed, pair.scenario) for pair in found.pairs] == [
        (seed, "double_auction/collusion and double_auction/collusion_silent") for seed in (0, 1)
    ]
    assert found.dropped == []
    assert found.pairs[0].a[0].label == "policy:cartel_sellers in double_auction/collusion"
    values = next(item for item in found.attributes if item.name == "scenario values")
    assert (values.a[0][:24], len(values.a), len(values.b)) == ('chat = {"enabled":true,"', 1, 1)
    assert found.notes[0].startswith("the scenarios differ")
    assert "B (policy:cartel_s" in found.verdict.sentences[0]
    assert max(map(len, found.verdict.sentences)) <= 240
    assert "market_price_mean" in found.pairs[0].differences
    # The ring talks its price up: without talk the same sellers shade by 5 only.
    assert all((pair.differences["market_price_mean"] or 0) < 0 for pair in found.pairs)


def test_several_scenarios_on_one_side_are_not_guessed_into_pairs(play_seeds: PlaySeeds) -> None:
    silent = _arm(play_seeds, "b", "collusion_silent", range(1))
    _arm(play_seeds, "a", "collusion", range(1))
    mixed = _arm(play_seeds, "a", "collusion", range(1, 2), rounds=2)
    with pytest.raises(ScenarioError, match="several scenario contents"):
        compare_folders(mixed, silent, ACROSS)
    with pytest.raises(ScenarioError, match="leave them out"):
        compare_folders(silent, silent, Options(across_scenarios=True, reference=silent))


def test_the_command_pairs_across_scenarios(play_seeds: PlaySeeds, capsys: pytest.CaptureFixture[str]) -> None:
    talk, silent = _arm(play_seeds, "a", "collusion", range(1)), _arm(play_seeds, "b", "collusion_silent", range(1))
    assert run(["compare", str(talk), str(silent), "--across-scenarios"]) == 0
    assert "1 pair is too few to test" in capsys.readouterr().out
