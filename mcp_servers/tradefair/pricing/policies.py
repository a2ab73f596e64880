"""Scripted seats: the registry."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradefair.contract import PolicySpec, ScenarioError
from tradefair.contract.errors import unknown
from tradefair.pricing.model import PricingScenario
from tradefair.pricing.seats import controls
from tradefair.pricing.seats.desk import Firm
from tradefair.pricing.seats.firms import RULES, FirmSpec, plain, spec_of
from tradefair.pricing.seats.learning import q_learning, q_limit
from tradefair.pricing.seats.planner import Planner


def _control(make: Callable[[], Firm], does: str, *, knows: bool = False) -> FirmSpec:
    name = "".join(f"_{char.lower()}" if char.isupper() else char for char in make.__name__)[1:]
    return FirmSpec(name, plain(make), f"control: {does}", knows=knows)


_FIRMS: tuple[FirmSpec, ...] = (
    *RULES,
    FirmSpec("q_learning", q_learning, "learns from its profits while it plays", knows=True, sales=True),
    FirmSpec("q_limit", q_limit, "a strategy at which two learners came to rest (session=0)"),
    FirmSpec(
        "planner",
        plain(Planner),
        "the best plan against a rival whose law it knows; else best replies",
        told=True,
        reference=True,
    ),
    _control(controls.BelowCost, "sells a tenth below its cost"),
    _control(controls.Sleeper, "posts once, then never again"),
    _control(controls.Stuck, "the same price in every round"),
    _control(controls.Joiner, "always 3 % below the lowest rival", knows=True),
    _control(controls.Jumpy, "a low and a very high price in turn"),
)
POLICIES: Mapping[str, PolicySpec] = {spec.name: spec for spec in (*map(spec_of, _FIRMS), *controls.OVER_TOOLS)}


def check_laws(scenario: PricingScenario) -> None:
    """Raises ScenarioError where `rival_laws` names a policy that a `rival` cannot follow."""
    laws = [rule.name for rule in RULES if not rule.told]
    for law in scenario.rival_laws:
        if law not in laws:
            raise ScenarioError(f"rival_laws: {unknown('law', law, laws, of='rival')}")
