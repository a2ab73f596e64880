"""Scripted customers and businesses by name, and the privileged oracle (marketplace page, section 8).

`POLICIES` is what the agent string `policy:NAME(param=value)` and a scenario's `seats` may name. A `control` shows one
failure mode on purpose: the tests of the diagnostics need a seat that has it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tradefair.contract import Draw, Policy, PolicySpec, Turns, TurnView
from tradefair.contract.policy import scripted
from tradefair.marketplace.model import BUSINESS, CUSTOMER
from tradefair.marketplace.rules import HiddenTruth
from tradefair.marketplace.seats import customers, services
from tradefair.marketplace.seats.customers import Offer, Order, Shopper

_CUSTOMER = frozenset({CUSTOMER})
_BUSINESS = frozenset({BUSINESS})
_BOTH = _CUSTOMER | _BUSINESS


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


class RandomLegal:
    """Anything that is allowed, at list prices."""

    draw: Draw
    _player: Policy | None = None

    def turn(self, now: TurnView) -> Turns:
        """One activation, by role, which it learns at its first turn."""
        random = customers.RandomCustomer if now.role == CUSTOMER else services.RandomBusiness
        self._player = self._player or random(self.draw)
        return self._player.turn(now)


class Silent(customers.Passive):
    """Waits for messages and answers nobody."""


# --- the table ------------------------------------------------------------------------------------------------------

_SPECS = (
    scripted(customers.Passive, _BOTH, reference=True),
    scripted(RandomLegal, _BOTH),
    scripted(customers.ItemSearcher, _CUSTOMER, reference=True, stand_in=True),
    scripted(customers.RequestSearcher, _CUSTOMER),
    scripted(customers.FirstTaker, _CUSTOMER),
    scripted(customers.PatientComparer, _CUSTOMER),
    scripted(customers.Bargainer, _CUSTOMER),
    scripted(Oracle, _CUSTOMER, privileged=True, reference=True),
    scripted(customers.BadQuery, _CUSTOMER),
    scripted(customers.NarrowOutreach, _CUSTOMER),
    scripted(customers.AmenityBlind, _CUSTOMER),
    scripted(customers.WindowShopper, _CUSTOMER),
    scripted(customers.DoublePayer, _CUSTOMER),
    scripted(customers.LatePayer, _CUSTOMER),
    scripted(customers.PositionTaker, _CUSTOMER),
    scripted(customers.Poller, _CUSTOMER),
    scripted(customers.Injectable, _CUSTOMER),
    scripted(Silent, _BUSINESS),
    scripted(services.Honest, _BUSINESS, reference=True, stand_in=True),
    scripted(services.Fast, _BUSINESS),
    scripted(services.Slow, _BUSINESS),
    scripted(services.OverQuoter, _BUSINESS),
    scripted(services.FloorBargainer, _BUSINESS),
    scripted(services.AtFloor, _BUSINESS),
    scripted(services.Manipulator, _BUSINESS),
    scripted(services.Liar, _BUSINESS),
    scripted(services.Hallucinator, _BUSINESS),
    scripted(services.Miscounter, _BUSINESS),
    scripted(services.Undercutter, _BUSINESS),
    scripted(services.Flooder, _BUSINESS),
)

POLICIES: Mapping[str, PolicySpec] = {spec.name: spec for spec in _SPECS}
