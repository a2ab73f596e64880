"""The outcome digest: what was decided, however it was spelt and whenever it came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.core import Core

Quote = tuple[str, Mapping[str, int | None]]


def outcome_of(quotes: Sequence[Quote]) -> str:
    core = Core.create(market_type("double_auction"), load_scenario("double_auction", "smoke", {"rounds": 1}), 7)
    core.start()
    for seat, arguments in quotes:
        answer = core.call(seat, "submit_quote", dict(arguments)).answer
        assert answer is not None
        assert answer.status == "ok"
    assert core.ended is not None
    return core.outcome_digest


PLAIN: Sequence[Quote] = (("B1", {"price": 60}), ("B2", {"price": 50}), ("S1", {"price": 30}), ("S2", {"price": 55}))


@pytest.mark.parametrize(
    "same",
    [
        tuple(reversed(PLAIN)),
        (("B1", {"price": 60, "round": None}), *PLAIN[1:]),
        (("S1", {"price": 30, "round": None}), ("B2", {"round": None, "price": 50}), PLAIN[0], PLAIN[3]),
    ],
)
def test_spelling_and_arrival_leave_the_outcome_digest_alone(same: Sequence[Quote]) -> None:
    assert outcome_of(same) == outcome_of(PLAIN)


def test_another_quote_is_another_outcome() -> None:
    assert outcome_of((("B1", {"price": 61}), *PLAIN[1:])) != outcome_of(PLAIN)
