"""Presets to learn from: a tier is true of every preset that names it, and its first ones tell policies apart."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.seated import play_seated
from tradefair.api import load
from tradefair.catalog import load_scenario, market_names, market_type, scenario_ids, scenario_tier
from tradefair.contract import ScenarioError
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.evaluation.reward import reward_of

# Calls of the briefest competent policy, most of three seeds.
MOST_CALLS = {"first": 30, "short": 300}
# Where the stand-in is not the briefest.
BRIEF = {"retail": "reorder_point"}


def presets(*tiers: str) -> Iterator[tuple[str, str]]:
    for market in market_names():
        for scenario in scenario_ids(market):
            if scenario_tier(market, scenario) in tiers:
                yield market, scenario


def stand_in(market: str, scenario: str) -> str:
    """The policy that takes an agent's seat, of the scenario's first agent."""
    kind, found = market_type(market), load_scenario(market, scenario)
    roles = {found.seats.get(seat) and spec.role for seat, spec in kind.create(found, 1).seats.items()}
    named = [spec.name for spec in kind.policies.values() if spec.stand_in and (roles - {None} or roles) & spec.roles]
    return named[0]
