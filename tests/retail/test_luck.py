"""The chance of a day: the same bytes with every build of numpy, and draws that no action shifts."""

from __future__ import annotations

import hashlib
import math
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradefair.contract import Chance
from tradefair.retail.data.generator import past_of
from tradefair.retail.engine.luck import Luck, normal
from tradefair.retail.engine.world import World
from tradefair.retail.model import RetailScenario, Streams

_EDGES = [2.0**-53, 1e-15, 1.38e-11, 1.39e-11, 1e-5, 0.01, 0.075, math.nextafter(0.075, 0), 0.5, 0.925, 1 - 2.0**-53]


# Met by numpy 2.0 and by the newest one, on x86-64 and on arm64: a digest that differs is other luck for old traces.
@pytest.mark.parametrize(
    ("stream", "days", "expected"), [(Streams.QUOTE, 40, "e67294744a659452"), (Streams.NOISE, 40, "590b446770c55f0c")]
)
def test_normal_draws_have_pinned_bytes(stream: Streams, days: int, expected: str) -> None:
    luck, past = hashlib.sha256(), Luck.of_history("store")
    for day in range(1, days + 1):
        luck.update(past.normals(stream, day, n=480).astype("<f8").tobytes())
    assert luck.hexdigest()[:16] == expected


def test_quotes_and_qualities_have_pinned_bytes() -> None:
    scenario = RetailScenario(id="retail/pinned", history_days=14)
    world, luck, found = World(scenario, past_of(scenario).store), Luck.of_episode(1), hashlib.sha256()
    for day in range(1, 61):
        world.open_day(luck, day, day, history=False)
        found.update(repr((world.quotes, world.qualities)).encode())
    assert found.hexdigest()[:16] == "935dc6446277d4d6"


def test_the_quantile_is_that_of_the_standard_library_to_twelve_decimals() -> None:
    uniforms = [*_EDGES, *Chance("quantile").uniforms("grid", n=20_000)]
    found = normal(np.array(uniforms))
    exact = list(map(NormalDist().inv_cdf, uniforms))
    assert np.abs(found - np.array(exact)).max() < 0.6e-12
    assert found.tolist() == [float(f"{value:.12f}") for value in found.tolist()]


@settings(max_examples=200, deadline=None)
@given(st.floats(2.0**-53, 1 - 2.0**-53), st.floats(2.0**-53, 1 - 2.0**-53))
def test_the_quantile_never_falls(u: float, v: float) -> None:
    low, high = normal(np.array([min(u, v), max(u, v)])).tolist()
    assert low <= high


def test_the_draws_of_a_day_do_not_depend_on_which_days_were_asked_for() -> None:
    forward, backward = Luck.of_episode(3), Luck.of_episode(3)
    days = range(1, 40)
    ascending = [forward.normals(Streams.QUOTE, day, n=7).tolist() for day in days]
    descending = [backward.normals(Streams.QUOTE, day, n=7).tolist() for day in reversed(days)]
    assert ascending == descending[::-1]
    assert len({tuple(day) for day in ascending}) == len(days)


def test_a_larger_store_begins_with_the_draws_of_a_smaller_one() -> None:
    luck = Luck.of_episode(3)
    assert luck.normals(Streams.NOISE, 5, n=96)[:12].tolist() == luck.normals(Streams.NOISE, 5, n=12).tolist()
    assert luck.uniforms(Streams.ALLOCATION, 5, n=96)[:12] == luck.uniforms(Streams.ALLOCATION, 5, n=12)


def test_normal_draws_are_the_quantiles_of_the_uniforms() -> None:
    luck = Luck.of_episode(9)
    uniforms = luck.uniforms(Streams.TRAFFIC, 20, n=30)
    assert luck.normals(Streams.TRAFFIC, 20, n=30).tolist() == normal(np.array(uniforms)).tolist()


def test_the_past_has_luck_of_its_own() -> None:
    past, episode = Luck(Chance(1), history=True), Luck(Chance(1), history=False)
    assert past.uniforms(Streams.CATEGORY, 1, n=4) != episode.uniforms(Streams.CATEGORY, 1, n=4)
