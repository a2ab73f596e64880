"""Bundled scenarios of the pricing market with changes, and duels by rules alone."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from benchmarks.pricing_fast import play_fast

from tradefair.contract.scenario import build_scenario
from tradefair.pricing.model import PricingScenario
from tradefair.pricing.rules import Pricing

FOLDER = Path(__file__).parents[2] / "mcp_servers" / "tradefair" / "pricing" / "scenarios"
PRESETS = sorted(path.stem for path in FOLDER.glob("*.toml"))


def scenario(preset: str = "textbook", **changes: Any) -> PricingScenario:
    content = {**tomllib.loads((FOLDER / f"{preset}.toml").read_text()), **changes}
    content.pop("tier")
    return build_scenario(PricingScenario, content, source=preset)


def played(preset: str, seed: int, own: str, **changes: Any) -> Pricing:
    """A preset by rules alone with `own` in the first seat."""
    made = scenario(preset, **changes)
    rivals = {seat: made.seats.get(seat, made.seats.get("firm", "best_reply")) for seat in made.seat_ids}
    return play_fast(made, seed, {**rivals, "F1": own})
