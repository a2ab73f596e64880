"""Posted prices: the textbook prices of logit demand, an independent program's anchors, and what learners learn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.fidelity.row import Row
from benchmarks.pricing_learning import TEXTBOOK, cycle_gain
from tradefair.evaluation.statistics.paired import interval
from tradefair.pricing.data.bundled import limit_strategies
from tradefair.pricing.engine.demand import units_sold
from tradefair.pricing.engine.equilibrium import best_reply, monopoly, nash, shares, surplus

# Prices of the baseline duopoly in units of its cost, and the mean profit gain of its learners: Calvano, Calzolari,
# Denicolò & Pastorello 2020, section II; the prices again in Fish, Gonczarowski & Shorrer 2024.
PUBLISHED_NASH = 1.47
PUBLISHED_MONOPOLY = 1.92
PUBLISHED_GAIN = 0.85

_PLAY = "tradefair play pricing --scenario pricing/textbook --agent policy:nash"
_ANCHORS = "pytest tests/pricing/test_engine.py"
_LEARN = "python -m benchmarks pricing_learning --write FILE"
_SAMPLE = "pytest tests/pricing/test_learning.py"
_NEAR = 1e-5


def rows(data: Path | None) -> Iterator[Row]:
    """Prices, the anchors of the sample data, and gains over the exact greedy cycles of limit strategies."""
    for what, published, solved in (
        ("competitive price of the baseline duopoly, in costs", PUBLISHED_NASH, nash),
        ("joint-profit price of the baseline duopoly, in costs", PUBLISHED_MONOPOLY, monopoly),
    ):
        price = solved(TEXTBOOK.quality, TEXTBOOK.costs, TEXTBOOK.mu, TEXTBOOK.outside)[0] / TEXTBOOK.costs[0]
        yield Row(what, published, price, None, None, _PLAY)
    yield from _anchors(data)
    yield _gain("mean profit gain of learners at rest", limit_strategies(), _LEARN)
    file = data / "pricing" / "q_limit.json" if data else None
    if file is not None and file.exists():
        sample = json.loads(file.read_text(encoding="utf-8"))
        yield _gain("the same of an independent program's learners, played here", sample, _SAMPLE)
        met = sum(
            abs(ours - given["gain"]) < 1e-4 for ours, given in zip(_gains(sample), sample["sessions"], strict=True)
        )
        yield _count("its pairs whose stated gain is met within 1e-4", len(sample["sessions"]), met, _SAMPLE)


def _gain(what: str, limits: Any, command: str) -> Row:
    gains = _gains(limits)
    low, high = interval(gains) or (None, None)
    return Row(
        what, PUBLISHED_GAIN, fmean(gains), low, high, command, ".3f", None,
        f"{len(gains)} sessions for 1,000, on integer prices; 400 sessions of a third program: .852",
    )  # fmt: skip


def _gains(limits: Any) -> list[float]:
    grid = tuple(limits["grid"])
    return [
        cycle_gain(grid, [[int(place, 15) for place in row] for row in session["greedy"]], session["state"])
        for session in limits["sessions"]
    ]


def _anchors(data: Path | None) -> Iterator[Row]:
    """How many prices, demands and replies of an independent program come out here."""
    file = data / "pricing" / "anchors.json" if data else None
    if file is None or not file.exists():
        return
    sets: list[dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))["sets"]
    for what, name, solved in (("competitive", "nash", nash), ("joint-profit", "monopoly", monopoly)):
        met = sum(_met(given, given[name], solved(*_market(given))) for given in sets)
        what = f"parameter sets whose {what} prices, profits and surplus are met within 1e-5"
        yield _count(what, len(sets), met, _ANCHORS)
    demands = [(given, asked) for given in sets for asked in given["demand"]]
    equal = sum(
        [*units_sold(asked["prices"], given["quality"], given["mu"], given["outside"], 1_000_000)] == asked["units"]
        for given, asked in demands
    )
    yield _count("integer demands that are equal", len(demands), equal, _ANCHORS)
    yield _count("best replies met within 1e-5", len(sets), sum(map(_reply_met, sets)), _ANCHORS)


def _market(given: dict[str, Any]) -> tuple[Sequence[int], Sequence[int], int, int]:
    return given["quality"], given["cost"], given["mu"], given["outside"]


def _met(given: dict[str, Any], wanted: dict[str, Any], prices: Sequence[float]) -> bool:
    quality, cost, mu, outside = _market(given)
    parts = shares(prices, quality, mu, outside)
    profits = [part * (price - c) for part, price, c in zip(parts, prices, cost, strict=True)]
    found = [*prices, *profits, surplus(prices, quality, mu, outside)]
    stated = [*wanted["prices"], *wanted["profits"], wanted["surplus"]]
    return all(abs(ours - theirs) < _NEAR for ours, theirs in zip(found, stated, strict=True))


def _reply_met(given: dict[str, Any]) -> bool:
    reply = given["best_reply"]
    place = int(reply["seat"][1:]) - 1
    prices = [*reply["others"][:place], 0, *reply["others"][place:]]
    return abs(best_reply(place, prices, *_market(given)) - reply["price"]) < _NEAR


def _count(what: str, published: int, ours: int, command: str) -> Row:
    return Row(what, float(published), float(ours), None, None, command, ".0f")
