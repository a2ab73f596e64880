from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import pytest

from fairground.contract.chance import Chance
from fairground.contract.errors import IllegalAction
from fairground.contract.scenario import build_scenario, parse_toml, with_overrides
from fairground.retail.calibration import oracle_day
from fairground.retail.model import RetailScenario, Streams, product_id, supplier_id
from fairground.retail.rules import LineAsked, Retail
from fairground.retail.world import Luck


class ScriptedLuck(Luck):
    """The luck of an episode in which some streams draw listed uniforms, the last one for ever."""

    def __init__(self, seed: int, fixed: Mapping[Streams, Sequence[float]]) -> None:
        super().__init__(Chance(seed), history=False)
        self._fixed = {stream: list(values) for stream, values in fixed.items()}

    def stream(self, stream: Streams, *key: int | str) -> Callable[..., float]:
        if stream in self._fixed:
            return lambda *rest: self.uniform(stream, *key, *rest)
        return super().stream(stream, *key)

    def uniform(self, stream: Streams, *key: int | str) -> float:
        fixed = self._fixed.get(stream)
        if fixed is None:
            return super().uniform(stream, *key)
        return fixed.pop(0) if len(fixed) > 1 else fixed[0]


@pytest.fixture(scope="session")
def scripted_luck() -> Callable[..., Luck]:
    """`scripted_luck({Streams.RETURNS: [0.7]})`: listed uniforms on those streams."""

    def made(fixed: Mapping[Streams, Sequence[float]], seed: int = 1) -> Luck:
        return ScriptedLuck(seed, fixed)

    return made


@pytest.fixture(scope="session")
def scenario_of() -> Callable[..., RetailScenario]:
    """A bundled preset with overrides: `scenario_of("smoke", {"horizon_days": 3})`."""

    def built(preset: str, overrides: Mapping[str, Any] | None = None) -> RetailScenario:
        text = files("fairground.retail").joinpath("scenarios", f"{preset}.toml").read_text(encoding="utf-8")
        content = with_overrides(parse_toml(text, source=preset), overrides or {})
        return build_scenario(RetailScenario, content, source=preset)

    return built


@pytest.fixture(scope="session")
def open_store(scenario_of: Callable[..., RetailScenario]) -> Callable[..., Retail]:
    """A fresh market: `open_store("smoke", seed=1, overrides={...})`."""

    def opened(preset: str, seed: int = 1, overrides: Mapping[str, Any] | None = None) -> Retail:
        return Retail(scenario_of(preset, overrides), seed)

    return opened


@pytest.fixture(scope="session")
def live() -> Callable[..., None]:
    """`live(market, days)`: the oracle runs the first shelf-full of products for some days, checked every day."""

    def lived(market: Retail, days: int) -> None:
        selected = list(range(market.scenario.shelf_places))
        market.set_shelf([product_id(place) for place in selected])
        for _ in range(days):
            if market.terminated is None:
                oracle_day(market, selected)
                market.advance()
                market.check()

    return lived


@pytest.fixture(scope="session")
def tinker() -> Callable[..., None]:
    """`tinker(market, salt, actions)`: pseudo-random actions, legal and illegal, without closing the day."""

    def tinkered(market: Retail, salt: int, actions: int) -> None:
        chance, products = Chance(salt), len(market.prices)
        for step in range(actions):
            place = int(chance.uniform("place", market.day, step) * products)
            size = chance.uniform("size", market.day, step)
            kind = int(chance.uniform("kind", market.day, step) * 4)
            try:
                if kind == 0:
                    market.set_price(product_id(place), round(market.prices[place] * (0.5 + 1.2 * size)))
                elif kind == 1:
                    shelf = [product_id(other) for other in range(products) if (other * 7 + step) % 10 < 10 * size]
                    market.set_shelf(shelf)
                else:
                    number = int(chance.uniform("supplier", market.day, step) * market.suppliers)
                    units = 1 + int(size * market.scenario.storage_capacity / 3)
                    market.place_order(supplier_id(number), [LineAsked(product_id(place), units)])
            except IllegalAction:
                continue

    return tinkered
