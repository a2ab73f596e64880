"""Scripted customers and businesses by name, and the privileged oracle (marketplace page, section 8).

`POLICIES` is what the agent string `policy:NAME(param=value)` and a scenario's `seats` may name. A `control` shows one
failure mode on purpose: the tests of the diagnostics need a seat that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tradefair.contract import Draw, Params, Policy, PolicySpec, ScenarioError, Turns, TurnView
from tradefair.marketplace.model import BUSINESS, CUSTOMER
from tradefair.marketplace.rules import HiddenTruth
from tradefair.marketplace.seats import customers, services
from tradefair.marketplace.seats.customers import Offer, Order, Shopper

_CUSTOMER = frozenset({CUSTOMER})
_BUSINESS = frozenset({BUSINESS})
_BOTH = _CUSTOMER | _BUSINESS
_MAX_ROUNDS = 1_000
_MOST_ASKED = 500


class Oracle(Shopper):
    """Knows which business serves it best at list prices: asks only there, and pays no more than the list price.

    Where no business has u(i,b) above 0 it leaves.
    """

    def __init__(self) -> None:
        super().__init__()
        self._truth: HiddenTruth | None = None
        self._price = 0

    def see(self, truth: object) -> None:
        """Keep the hidden truth for the first turn."""
        assert isinstance(truth, HiddenTruth)
        self._truth = truth

    def start(self, now: TurnView, order: Order) -> Turns:
        """Ask the best of B_i."""
        assert self._truth is not None
        best = self._truth.best(now.seat)
        if best is None:
            # No business is worth its list price: the best that this customer can do is to buy nothing.
            yield from self.leave()
        else:
            self._price = best.price
            yield from self.ask(now, [best.handle], order)

    def decide(self, now: TurnView, offers: Sequence[Offer], over: bool) -> Turns:
        """Pay the list-price proposal, or a cheaper one."""
        # The choice rested on list prices: an offer above them may no longer be the best.
        yield from super().decide(now, [offer for offer in offers if offer.total <= self._price], over)


# --- the table ------------------------------------------------------------------------------------------------------

_Make = Callable[[Params, Draw], Policy]


def _only(name: str, params: Params, *allowed: str) -> None:
    """ScenarioError for a parameter that the policy does not take."""
    unknown = [key for key in params if key not in allowed]
    if unknown:
        raise ScenarioError(f"policy {name} takes {', '.join(allowed) or 'no parameters'}, not {unknown[0]}")


def _count(params: Params, name: str, default: int, least: int = 0, most: int = _MAX_ROUNDS) -> int:
    """A whole number within its bounds, 0 to 1,000 for one of rounds. ScenarioError otherwise."""
    value = params.get(name, default)
    # bool is an int in Python: `patience=true` would be one round.
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ScenarioError(f"{name} = {value!r}: a whole number, {least} to {most}")
    return value


def _flag(params: Params, name: str) -> bool:
    value = params.get(name, False)
    if not isinstance(value, bool):
        raise ScenarioError(f"{name} = {value!r}: true or false")
    return value


def _plain(name: str, make: Callable[[], Policy]) -> _Make:
    def made(params: Params, draw: Draw) -> Policy:
        _only(name, params)
        return make()

    return made


def _random_legal(params: Params, draw: Draw) -> Policy:
    _only("random_legal", params)
    # Both are made: which role the seat has is known at its first turn.
    return _EitherRole(customers.RandomCustomer(draw), services.RandomBusiness(draw))


class _EitherRole:
    """Both roles under one name: which one the policy plays, it learns at its first turn."""

    def __init__(self, customer: Policy, business: Policy) -> None:
        self._roles = {CUSTOMER: customer, BUSINESS: business}

    def turn(self, now: TurnView) -> Turns:
        """One activation, by role."""
        return self._roles[now.role].turn(now)


def _searcher(name: str, kind: type[Shopper]) -> _Make:
    def made(params: Params, draw: Draw) -> Policy:
        _only(name, params, "patience", "asks")
        shopper = kind()
        shopper.patience = _count(params, "patience", kind.patience)
        # As many as an activation has calls for, at twenty recipients each.
        shopper.asks = _count(params, "asks", kind.asks, 1, _MOST_ASKED)
        return shopper

    return made


def _first_taker(params: Params, draw: Draw) -> Policy:
    _only("first_taker", params, "check_claims")
    return customers.FirstTaker(_flag(params, "check_claims"))


def _slow(params: Params, draw: Draw) -> Policy:
    _only("slow", params, "rounds")
    return services.Honest(_count(params, "rounds", 3))


def _customer(name: str, make: Callable[[], Policy], description: str) -> PolicySpec:
    return PolicySpec(name, _plain(name, make), _CUSTOMER, description)


def _business(name: str, make: Callable[[], Policy], description: str) -> PolicySpec:
    return PolicySpec(name, _plain(name, make), _BUSINESS, description)


_SPECS = (
    PolicySpec(
        "passive", _plain("passive", customers.Passive), _BOTH, "waits for messages, answers none", reference=True
    ),
    PolicySpec("random_legal", _random_legal, _BOTH, "anything that is allowed, at list prices"),
    PolicySpec(
        "item_searcher",
        _searcher("item_searcher", Shopper),
        _CUSTOMER,
        "asks all results, pays the cheapest fit by claim",
        reference=True,
        stand_in=True,
    ),
    PolicySpec(
        "request_searcher",
        _searcher("request_searcher", customers.RequestSearcher),
        _CUSTOMER,
        "item_searcher that searches with its request",
    ),
    PolicySpec("first_taker", _first_taker, _CUSTOMER, "pays the first offer that covers its order"),
    _customer("patient_comparer", customers.PatientComparer, "item_searcher with three pages and eight rounds"),
    _customer("bargainer", customers.Bargainer, "offers two sellers more and more"),
    PolicySpec(
        "oracle", _plain("oracle", Oracle), _CUSTOMER, "knows who serves it best", privileged=True, reference=True
    ),
    _customer("bad_query", customers.BadQuery, "control: searches for what says nothing"),
    _customer("narrow_outreach", customers.NarrowOutreach, "control: asks only the last result"),
    _customer("amenity_blind", customers.AmenityBlind, "control: pays the cheapest covering offer"),
    _customer("window_shopper", customers.WindowShopper, "control: asks and never pays"),
    _customer("double_payer", customers.DoublePayer, "control: pays twice"),
    _customer("late_payer", customers.LatePayer, "control: pays after expiry"),
    _customer("position_taker", customers.PositionTaker, "control: only what stands first"),
    _customer("poller", customers.Poller, "control: polls and repeats its search"),
    _customer("injectable", customers.Injectable, "control: does what listings order"),
    _business("silent", customers.Passive, "answers nobody"),
    PolicySpec(
        "honest",
        _plain("honest", services.Honest),
        _BUSINESS,
        "list prices, true claims",
        reference=True,
        stand_in=True,
    ),
    # Page, section 8: `fast` is `honest`, and `slow` answers some rounds later.
    _business("fast", services.Honest, "honest, by another name"),
    PolicySpec("slow", _slow, _BUSINESS, "honest, some rounds later"),
    _business("over_quoter", services.OverQuoter, "a quarter above list"),
    _business("floor_bargainer", services.FloorBargainer, "comes down to its floor"),
    _business("at_floor", services.AtFloor, "its floor at once"),
    _business("manipulator", services.Manipulator, "honest trade with a text of the manipulation experiments"),
    _business("liar", services.Liar, "control: claims whatever is asked"),
    _business("hallucinator", services.Hallucinator, "control: offers what is not on its menu"),
    _business("miscounter", services.Miscounter, "control: totals off by 1.00"),
    _business("undercutter", services.Undercutter, "control: half of its floor"),
    _business("flooder", services.Flooder, "control: six texts to everybody, again and again"),
)

POLICIES: Mapping[str, PolicySpec] = {spec.name: spec for spec in _SPECS}
