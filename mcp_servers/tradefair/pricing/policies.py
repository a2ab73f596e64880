"""Scripted seats: the registry, and play by rules and firms alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tradefair.contract import Draw, PolicySpec, ScenarioError, SeatId
from tradefair.contract.errors import unknown
from tradefair.contract.policy import parse_policy
from tradefair.pricing.model import PricingScenario
from tradefair.pricing.rules import Pricing
from tradefair.pricing.seats import controls, desk
from tradefair.pricing.seats.desk import FastPlayer, Firm
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
_BY_NAME = {rule.name: rule for rule in _FIRMS}


def check_laws(scenario: PricingScenario) -> None:
    """Raises ScenarioError where `rival_laws` names a policy that a `rival` cannot follow."""
    laws = [rule.name for rule in RULES if not rule.told]
    for law in scenario.rival_laws:
        if law not in laws:
            raise ScenarioError(f"rival_laws: {unknown('law', law, laws, of='rival')}")


def play_fast(scenario: PricingScenario, seed: int, policies: Mapping[SeatId, str], policy_key: int = 0) -> Pricing:
    """A whole episode by rules and firms alone, no tools and no events; the finished market.

    `policies` names one policy per seat. The prices are those that the same policies post over tools; `policy_key`
    gives them other draws. ScenarioError for a missing seat, an unknown policy or one that lives on tools alone.
    """
    check_laws(scenario)
    market = Pricing(scenario, seed)
    if missing := [seat for seat in market.seats if seat not in policies]:
        raise ScenarioError(f"no policy for {', '.join(missing)}")
    players = [_player(market, seat, policies[seat], Draw.of(seed, seat, policy_key)) for seat in market.seats]
    return desk.play_fast(market, players)


def _player(market: Pricing, seat: SeatId, policy: str, draw: Draw) -> FastPlayer:
    name, params = parse_policy(policy)
    rule = _BY_NAME.get(name)
    if rule is None:
        raise ScenarioError(unknown("policy", name, _BY_NAME, of="pricing"))
    # What the scenario publishes every firm knows; the rest only those that are told.
    return FastPlayer(market, seat, rule.make(params, draw), told=POLICIES[name].knows_hidden(market.scenario))
