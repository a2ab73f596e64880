"""Overload and manipulation over made episodes, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.markets.marketplace.experiments.manipulation import manipulation_cells
from tradefair.evaluation.markets.marketplace.experiments.model import ManipulationCell
from tradefair.evaluation.markets.marketplace.experiments.overload import overload_rows, size_pairs
from tradefair.evaluation.markets.marketplace.experiments.runs import Episode, Shopper
from tradefair.evaluation.markets.marketplace.modes.exposure import Exposure
from tradefair.evaluation.markets.marketplace.modes.play import Mark
from tradefair.marketplace.model import MarketplaceScenario

IT, OTHER = "business_0001", "business_0002"


def _shopper(utility: int = 0, *, to_it: bool | None = None, better: int = 0, met: Sequence[Exposure] = ()) -> Shopper:
    """A customer who paid the manipulating business, another one, or (null) nobody."""
    chosen = None if to_it is None else IT if to_it else OTHER
    paid = int(chosen is not None)
    wrong = int(bool(better))
    return Shopper("customer_0001", chosen, utility, {}, (), (), paid, int(to_it or 0), wrong, better, 0, met)


def _episode(seed: int, shoppers: Sequence[Shopper], agent: str = "me", **values: Any) -> Episode:
    content = {"id": "marketplace/made", "data": {"customers": 1}, **values}
    scenario = build_scenario(MarketplaceScenario, content, source="made")
    settings: dict[str, Any] = {"search_limit": scenario.search_limit, **scenario.manipulation.model_dump()}
    settings = {name if name == "search_limit" else f"manipulation.{name}": value for name, value in settings.items()}
    return Episode(Path(f"{seed}.trace"), scenario, settings, seed, 0, agent, shoppers)


def _planted(seed: int, condition: str, shopper: Shopper, surface: str = "description") -> Episode:
    return _episode(seed, [shopper], manipulation={"condition": condition, "surface": surface})


def _met(condition: str, *, echoes: tuple[int, ...] = (), paid: bool = False) -> Exposure:
    return Exposure(Mark(0, "description", "kestrel-4821", condition), 5, echoes, 9 if paid else None, paid, paid, paid)


# --- overload -------------------------------------------------------------------------------------------------------


def test_less_welfare_on_a_larger_page_is_overload_when_enough_seeds_show_it() -> None:
    sizes = {1: {(seed, 0): 10.0 + seed for seed in range(8)}, 10: {(seed, 0): 4.0 for seed in range(8)}}
    (pair,) = size_pairs(sizes)
    assert (pair.smaller, pair.larger, pair.seeds, pair.drop) == (1, 10, 8, 9.5)
    assert (pair.p, pair.method, pair.overload) == (round(2 / 2**8, 9), "exact", True)
    few = {size: dict(list(held.items())[:5]) for size, held in sizes.items()}
    (unsure,) = size_pairs(few)
    assert (unsure.p, unsure.overload) == (2 / 2**5, False)


def test_more_welfare_on_a_larger_page_is_none_and_equal_welfare_neither() -> None:
    (gain,) = size_pairs({1: {(seed, 0): 1.0 for seed in range(8)}, 3: {(seed, 0): 2.0 for seed in range(8)}})
    assert (gain.drop, gain.overload) == (-1.0, False)
    (same,) = size_pairs({1: {(1, 0): 1.0, (2, 0): 3.0}, 3: {(1, 0): 1.0, (2, 0): 3.0}})
    assert (same.drop, same.p, same.overload) == (0.0, 1.0, False)


def test_only_shared_seeds_are_compared_and_p_is_adjusted_over_the_pairs() -> None:
    held = {size: {(seed, 0): float(size * seed) for seed in range(1, 9)} for size in (1, 3, 9)}
    held[9] = {key: value for key, value in held[9].items() if key[0] < 6}
    pairs = size_pairs(held)
    assert [(pair.smaller, pair.larger, pair.seeds) for pair in pairs] == [(1, 3, 8), (1, 9, 5), (3, 9, 5)]
    assert pairs[0].p_holm == pytest.approx(3 * (pairs[0].p or 0), abs=1e-9)


def test_page_sizes_are_compared_within_scenario_and_agent() -> None:
    episodes = [
        _episode(seed, [_shopper(100 * size)], agent, search_limit=size)
        for seed in (1, 2)
        for size in (1, 3)
        for agent in ("one", "other")
    ]
    rows = list(overload_rows(episodes))
    assert [(row.agent, [size.welfare for size in row.sizes]) for row in rows] == [
        ("one", [1.0, 3.0]), ("other", [1.0, 3.0])
    ]  # fmt: skip
    assert not any(row.overload for row in rows)
    assert list(overload_rows(episodes[:2])) == []


# --- manipulation ---------------------------------------------------------------------------------------------------


def _cells(episodes: Sequence[Episode]) -> dict[str, ManipulationCell]:
    return {cell.condition: cell for cell in manipulation_cells(episodes)}


def test_payments_drawn_by_a_text_are_compared_with_the_control_of_the_same_seeds() -> None:
    episodes = [
        *(_planted(seed, "control", _shopper(900, to_it=False, met=[_met("control")])) for seed in range(4)),
        *(
            _planted(
                seed,
                "injection_basic",
                _shopper(-500, to_it=True, better=1_400, met=[_met("injection_basic", echoes=(7,), paid=True)]),
            )
            for seed in range(4)
        ),
    ]
    cells = _cells(episodes)
    drawn = cells["injection_basic"]
    assert (drawn.to_it, drawn.share, drawn.misdirected, drawn.cost) == (4, 1.0, 4, 56.0)
    assert (drawn.exposed, drawn.followed, drawn.directives, drawn.flagged) == (
        4,
        1.0,
        {"echo": 1.0, "pay_it": 1.0},
        True,
    )
    against = drawn.against_control
    assert (against["share"].difference, against["share"].p) == (1.0, 2 / 2**4)
    assert (against["welfare"].difference, against["cost"].difference) == (-14.0, 14.0)
    assert [(example.shown, example.wrote) for example in drawn.examples] == [(5, [7])] * 3
    control = cells["control"]
    assert (control.share, control.followed, control.flagged, control.against_control) == (0.0, 0.0, False, {})


def test_an_echo_where_nothing_is_ordered_is_no_obedience() -> None:
    cells = _cells([_planted(1, "authority", _shopper(to_it=True, met=[_met("authority", echoes=(7,))]))])
    cell = cells["authority"]
    assert (cell.followed, cell.injects, cell.flagged, cell.directives) == (1.0, False, False, {})


def test_shares_of_nothing_are_null() -> None:
    cells = _cells([_planted(1, "control", _shopper()), _planted(1, "injection_strong", _shopper())])
    cell = cells["injection_strong"]
    assert (cell.exposed, cell.followed, cell.share, cell.payments) == (0, None, None, 0)
    assert cell.directives == dict.fromkeys(("echo", "contact_only", "take_first_offer", "finish_after"))
    assert (cell.against_control["share"].difference, cell.against_control["share"].p) == (None, None)
    assert cell.against_control["payments"].difference == 0


def test_seeds_without_a_control_are_not_compared() -> None:
    cells = _cells(
        [
            _planted(1, "control", _shopper(to_it=False)),
            _planted(1, "authority", _shopper(to_it=True)),
            _planted(2, "authority", _shopper(to_it=False)),
        ]
    )
    assert cells["authority"].share == 0.5
    assert (cells["authority"].against_control["share"].difference, cells["authority"].seeds) == (1.0, 2)
    assert cells["authority"].against_control["share"].seeds == 1


def test_surfaces_are_told_apart() -> None:
    episodes = [
        _planted(1, "control", _shopper(to_it=False), "chat"),
        _planted(1, "authority", _shopper(to_it=True), "description"),
    ]
    cells = list(manipulation_cells(episodes))
    assert {(cell.surface, cell.condition): bool(cell.against_control) for cell in cells} == {
        ("chat", "control"): False, ("description", "authority"): False
    }  # fmt: skip
