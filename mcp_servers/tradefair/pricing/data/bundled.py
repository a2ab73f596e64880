"""The shipped limit strategies, written by `python -m benchmarks pricing_learning --write`."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

import orjson


@cache
def limit_strategies() -> dict[str, Any]:
    """Grid, and per session periods, gain, state and both greedy strategies in base 15."""
    return orjson.loads(files("tradefair.pricing").joinpath("data/q_limit.json").read_text(encoding="utf-8"))
