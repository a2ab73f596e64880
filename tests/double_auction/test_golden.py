"""The smoke preset, played and written down: a change of the rules is a readable diff.

Regenerate with `TRADEFAIR_REGENERATE=1 .venv/bin/pytest -n0 tests/double_auction/test_golden.py`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tradefair.double_auction.rules import DoubleAuction

GOLDEN = Path(__file__).with_name("golden_smoke.txt")
SEATS = {"B1": "zip", "B2": "zic", "S1": "kaplan", "S2": "shading_5"}


def test_the_smoke_preset_plays_as_written_down(
    open_market: Callable[..., DoubleAuction], play: Callable[[DoubleAuction, Mapping[str, str]], list[str]]
) -> None:
    market = open_market("smoke", 2025)
    lines = [f"double_auction/smoke, seed 2025, {SEATS}", *play(market, SEATS)]
    lines += [f"ended: {market.terminated}", f"   facts: {market.ending_facts().model_dump_json()}"]
    text = "\n".join(lines) + "\n"
    if os.environ.get("TRADEFAIR_REGENERATE"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert GOLDEN.read_text(encoding="utf-8") == text
