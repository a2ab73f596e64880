"""Scripted seats: the registry."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.contract import PolicySpec, ScenarioError
from tradefair.contract.errors import unknown
from tradefair.contract.policy import scripted
from tradefair.pricing.model import ROLE, PricingScenario
from tradefair.pricing.seats import controls
from tradefair.pricing.seats.firms import FIRMS, firm
from tradefair.pricing.seats.learning import QLearning, QLimit
from tradefair.pricing.seats.planner import Planner

_FURTHER = (
    firm(QLearning, knows=True, sales=True),
    firm(QLimit),
    firm(Planner, privileged=True, reference=True),
    firm(controls.BelowCost),
    firm(controls.Sleeper),
    firm(controls.Stuck),
    firm(controls.Joiner, knows=True),
    firm(controls.Jumpy),
    scripted(controls.Blind, frozenset({ROLE})),
    scripted(controls.Contrary, frozenset({ROLE})),
)
POLICIES: Mapping[str, PolicySpec] = {**FIRMS, **{spec.name: spec for spec in _FURTHER}}


def check_laws(scenario: PricingScenario) -> None:
    """Raises ScenarioError where `rival_laws` names a policy that a `rival` cannot follow."""
    laws = [name for name, law in FIRMS.items() if not law.privileged]
    for law in scenario.rival_laws:
        if law not in laws:
            raise ScenarioError(f"rival_laws: {unknown('law', law, laws, of='rival')}")
