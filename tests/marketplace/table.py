"""A small market of two customers and three businesses, and calls of its tools as Core makes them."""

from __future__ import annotations

from typing import Any

import orjson

from tradefair.contract.kernel.core import Answer, Core
from tradefair.contract.scenario import build_scenario
from tradefair.marketplace import MARKET
from tradefair.marketplace.model import Amenity, Business, Catalogue, Customer, MarketplaceScenario, MenuItem, Want
from tradefair.marketplace.rules import Marketplace

C1, C2 = "ada", "bob"
B1, B2, B3 = "casa", "dino", "elba"
NASTY = "'; DROP TABLE x; -- \" $1 ${x} \\ %s \U0001f32e \u202eabc\u200f {name}\ttab"
"""Quotes, SQL, templates, an emoji and right-to-left marks: all of it is text."""


def _business(seat: str, rating: int, menu: dict[str, int], patio: bool) -> Business:
    return Business(
        id=seat,
        name=seat.title(),
        description=f"{seat.title()} cooks",
        rating_bp=rating,
        menu=tuple(MenuItem(item=item, price_cents=price) for item, price in menu.items()),
        amenities=(Amenity(name="Patio", offered=patio), Amenity(name="Music", offered=not patio)),
        floor_bp=8_000,
    )


def catalogue() -> Catalogue:
    """Both want two tacos, a flan and a patio: `casa` and `dino` have it all, `elba` has no patio."""
    wants = (Want(item="Taco", quantity=2, mean_cents=350), Want(item="Flan", mean_cents=200))
    one = Customer(id=C1, name="Ada", request="Two tacos and a flan, outside", wants=wants, amenities=("Patio",))
    return Catalogue(
        customers=(one, one.model_copy(update={"id": C2, "name": "Bob"})),
        businesses=(
            _business(B1, 20_000, {"Taco": 325, "Flan": 210, "Soup": 100}, True),
            _business(B2, 10_000, {"Taco": 300, "Flan": 190}, True),
            _business(B3, 30_000, {"Taco": 250, "Flan": 150}, False),
        ),
    )


class Table:
    """A Core over `catalogue()`; handles by registration: c0001, c0002, b0001, b0002, b0003."""

    def __init__(self, seed: int = 1, data: Catalogue | None = None, **content: Any) -> None:
        given: dict[str, Any] = {
            "id": "marketplace/x",
            "data": {"source": "folder", "path": "x"},
            "catalogue": (data or catalogue()).model_dump(mode="json"),
            "alias_ids": False,
            "limits": [],
            **content,
        }
        self.scenario = build_scenario(MarketplaceScenario, given, source="x")
        self.core = Core.create(MARKET, self.scenario, seed)
        self.bodies = [record.body for record in self.core.start().records]

    @property
    def market(self) -> Marketplace:
        """The live market."""
        market = self.core.market
        assert isinstance(market, Marketplace)
        return market

    def call(self, seat: str, tool: str, /, **arguments: Any) -> Answer:
        """One call, whatever comes of it."""
        done = self.core.call(seat, tool, arguments)
        self.bodies += [record.body for record in done.records]
        assert done.answer is not None
        assert done.answer.fault is None
        return done.answer

    def ok(self, seat: str, tool: str, /, **arguments: Any) -> Any:
        """The result of a call that is carried out."""
        answer = self.call(seat, tool, **arguments)
        assert answer.body is not None, answer.error
        return orjson.loads(answer.body)

    def code(self, seat: str, tool: str, /, **arguments: Any) -> str:
        """The code of a call that is refused, and changes nothing, and quotes nobody."""
        before = self.market.digest()
        answer = self.call(seat, tool, **arguments)
        assert answer.error is not None, f"{tool} was carried out"
        assert self.market.digest() == before, "a refusal has changed something"
        assert NASTY not in "".join(map(str, answer.error))
        assert answer.error.hint
        return answer.error.code

    def close(self) -> None:
        """Everybody who is awaited ends the turn; under the free clock, a tick."""
        if self.scenario.clock == "free":
            self.bodies += [record.body for record in self.core.feed("clock_tick", None).records]
        for seat in sorted(self.market.awaited()):
            self.ok(seat, "end_turn")
        MARKET.check(self.market)

    def ask(self, customer: str = C1, *handles: str) -> None:
        """A customer writes to businesses (the first one), and the round closes."""
        self.ok(customer, "send_message", to=list(handles or ("b0001",)), text="Two tacos and a flan, please")
        self.close()

    def offer(self, business: str = B1, to: str = "c0001", **options: Any) -> str:
        """A proposal of two tacos and a flan at 8.60, delivered."""
        name = self.ok(business, "send_proposal", to=to, **{"lines": LINES, **options})["proposal"]
        self.close()
        return name

    def last(self) -> Any:
        """The last `tool_called` event."""
        events = map(orjson.loads, reversed(self.bodies))
        return next(event for event in events if event["event"] == "tool_called")


LINES = [{"item": "Taco", "quantity": 2, "unit_price": 3.25}, {"item": "Flan", "quantity": 1, "unit_price": 2.1}]
"""8.60 in all: the list prices of `casa`."""
