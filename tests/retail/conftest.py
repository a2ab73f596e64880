from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import orjson
import pytest
from benchmarks.retail_play import manage_day, manager_of

from tradefair.contract import Chance, ErrorInfo, IllegalAction, ToolAnswer
from tradefair.contract.kernel.core import Answer, Core
from tradefair.contract.scenario import build_scenario, with_overrides
from tradefair.files.user_files import parse_toml
from tradefair.retail import MARKET
from tradefair.retail.engine.luck import Floats, Luck, normal
from tradefair.retail.model import SEAT, RetailScenario, Streams, product_id, supplier_id
from tradefair.retail.rules import LineAsked, Retail


class ScriptedLuck(Luck):
    """The luck of an episode in which some streams draw listed uniforms, the last one for ever."""

    def __init__(self, seed: int, fixed: Mapping[Streams, Sequence[float]]) -> None:
        super().__init__(Chance(seed), history=False)
        self._fixed = {stream: list(values) for stream, values in fixed.items()}

    def uniforms(self, stream: Streams, *key: int, n: int) -> list[float]:
        fixed = self._fixed.get(stream)
        if fixed is None:
            return super().uniforms(stream, *key, n=n)
        return [fixed[min(place, len(fixed) - 1)] for place in range(n)]

    def normals(self, stream: Streams, day_key: int, n: int) -> Floats:
        return normal(np.array(self.uniforms(stream, day_key, n=n)))


@pytest.fixture(scope="session")
def scripted_luck() -> Callable[..., Luck]:
    """`scripted_luck({Streams.FEEDBACK: [0.7]})`: listed uniforms on those streams."""

    def made(fixed: Mapping[Streams, Sequence[float]], seed: int = 1) -> Luck:
        return ScriptedLuck(seed, fixed)

    return made


@pytest.fixture(scope="session")
def scenario_of() -> Callable[..., RetailScenario]:
    """A bundled preset with overrides: `scenario_of("smoke", {"horizon_days": 3})`."""

    def built(preset: str, overrides: Mapping[str, Any] | None = None) -> RetailScenario:
        text = files("tradefair.retail").joinpath("scenarios", f"{preset}.toml").read_text(encoding="utf-8")
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
    """`live(market, days)`: the oracle runs the store for some days, checked every day."""

    def lived(market: Retail, days: int) -> None:
        oracle = manager_of("oracle", market.seed)
        for _ in range(days):
            if market.terminated is None:
                manage_day(market, oracle)
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


@pytest.fixture(scope="session")
def ask() -> Callable[..., Any]:
    """`ask(market, tool, **arguments)`: the result as JSON shows it, or its IllegalAction."""

    def asked(market: Retail, tool: str, /, **arguments: Any) -> Any:
        declared = MARKET.tools[tool]
        given = declared.parameters.model_validate_json(orjson.dumps(arguments), strict=True)
        values = {name: getattr(given, name) for name in type(given).model_fields}
        return orjson.loads(declared.function(market, SEAT, **values).model_dump_json())

    return asked


@pytest.fixture(scope="session")
def refusal(ask: Callable[..., Any]) -> Callable[..., ErrorInfo]:
    """As `ask`, for calls that must be refused: the refusal; the state must not move."""

    def refused(market: Retail, tool: str, /, **arguments: Any) -> ErrorInfo:
        before = market.digest()
        with pytest.raises(IllegalAction) as caught:
            ask(market, tool, **arguments)
        assert market.digest() == before
        assert caught.value.info.hint
        return caught.value.info

    return refused


@pytest.fixture(scope="session")
def open_core(scenario_of: Callable[..., RetailScenario]) -> Callable[..., Core]:
    """A started Core of a preset: `open_core("smoke", seed=1, overrides={...})`."""

    def opened(preset: str, seed: int = 1, overrides: Mapping[str, Any] | None = None) -> Core:
        core = Core.create(MARKET, scenario_of(preset, overrides), seed)
        core.start()
        return core

    return opened


@pytest.fixture(scope="session")
def day_of() -> Callable[..., list[tuple[str, dict[str, Any], Answer]]]:
    """`day_of(core, policy)`: one turn of a policy object over tools; its calls and answers in order."""

    def played(core: Core, policy: Any) -> list[tuple[str, dict[str, Any], Answer]]:
        if hasattr(policy, "see"):
            policy.see(core.market.privileged())
        turn = policy.turn(core.turn_view(SEAT))
        calls: list[tuple[str, dict[str, Any], Answer]] = []
        wanted = next(turn, None)
        while wanted is not None:
            answer = core.call(SEAT, wanted.tool, dict(wanted.arguments)).answer
            assert answer is not None
            assert answer.fault is None
            calls.append((wanted.tool, dict(wanted.arguments), answer))
            if answer.turn.turn_over:
                turn.close()
                break
            try:
                wanted = turn.send(ToolAnswer(answer.body, answer.error, False))
            except StopIteration:
                wanted = None
        return calls

    return played


@pytest.fixture(scope="session")
def policy_of() -> Callable[..., Any]:
    """`policy_of("oracle(price_key=unit_sum)")`: a fresh policy object."""

    def made(spelling: str, seed: int = 1) -> Any:
        return manager_of(spelling, seed)

    return made
