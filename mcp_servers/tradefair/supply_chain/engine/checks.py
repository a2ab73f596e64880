"""What the rules accept: bid lines, posted prices, slogans and item ids, each refused with everything that is wrong.

A call with one bad line is refused as a whole and leaves the state as it was, so the message names every bad line:
the seat can mend all of them in one retry. (The paper leaves invalid lines open; see section 12 of the page.)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tradefair.contract import IllegalAction
from tradefair.contract.money import from_minor
from tradefair.supply_chain.model import Line, SupplyChainScenario
from tradefair.supply_chain.state import State

SUPPLIER_TOOL = "list_supplier_offers"
"""The tool that shows items, units and price limits: the hint of most refusals."""


class Asked(NamedTuple):
    """A bid line as a client sent it: item id, units, price per unit in cents."""

    item: str
    quantity: int
    price: int


class Checked(NamedTuple):
    """A bid line after its checks: the line, or the error code and the message that say what is wrong."""

    line: Line | None
    code: str = ""
    message: str = ""


def checked(state: State, asked: Sequence[Asked]) -> list[Checked]:
    """Each bid line in the order of `asked`, or what is wrong with it. Funds are not looked at here."""
    return [_checked(state, line) for line in asked]


def _checked(state: State, asked: Asked) -> Checked:
    """One bid line after its checks, in the order in which a seat would mend it."""
    scenario = state.scenario
    index = scenario.item_places.get(asked.item)
    if index is None:
        # Cut: a client may send any text as an id.
        return Checked(None, "unknown_id", f"there is no item {asked.item[:40]!r}")
    # This round's supply, not the catalogue's: after a shock fewer units may be bid for.
    item, offered = scenario.items[index], state.supply[index]
    highest = item.base_cents * scenario.ceiling
    if not 0 <= asked.quantity <= offered:
        return Checked(None, "quantity_out_of_range", f"{item.id}: {asked.quantity} units; 0 to {offered} are offered")
    if asked.price < item.base_cents:
        reserve = from_minor(item.base_cents)
        return Checked(None, "price_below_reserve", f"{item.id}: {from_minor(asked.price)} is below {reserve}")
    if asked.price > highest:
        return Checked(
            None, "price_out_of_range", f"{item.id}: {from_minor(asked.price)} is above {from_minor(highest)}"
        )
    # Last: a price out of bounds may be off the tick too, and the bounds have to be mended first.
    if asked.price % scenario.tick_cents:
        return Checked(None, "price_off_tick", f"{item.id}: {from_minor(asked.price)} is off the tick {scenario.tick}")
    return Checked(Line(index, asked.quantity, asked.price))


def posted_prices(scenario: SupplyChainScenario, asked: Sequence[tuple[str, int]]) -> tuple[int | None, ...]:
    """Prices in cents by item index, None for items that are not for sale; `asked` holds (item id, cents).

    Raises IllegalAction that names every wrong price. Stock is not looked at: an item without stock may be posted.
    """
    prices: list[int | None] = [None] * len(scenario.items)
    wrong: list[tuple[str, str]] = []
    for name, price in asked:
        index = scenario.item_places.get(name)
        if index is None:
            wrong.append(("unknown_id", f"there is no item {name[:40]!r}"))
            continue
        highest = scenario.items[index].base_cents * scenario.ceiling
        # Unlike a bid, a retail price may lie below the base price: selling at a loss is a decision, no mistake.
        if not scenario.tick_cents <= price <= highest:
            allowed = f"{scenario.tick} to {from_minor(highest)}"
            wrong.append(("price_out_of_range", f"{name}: {from_minor(price)}; allowed is {allowed}"))
        elif price % scenario.tick_cents:
            wrong.append(("price_off_tick", f"{name}: {from_minor(price)} is off the tick {scenario.tick}"))
        prices[index] = price
    refuse(wrong)
    return tuple(prices)


def refuse(wrong: Sequence[tuple[str, str]]) -> None:
    """Raise IllegalAction with the first (code, message) and all messages; do nothing when `wrong` is empty."""
    if wrong:
        message = "; ".join(text for _, text in wrong)
        raise IllegalAction(wrong[0][0], message, hint=f"{SUPPLIER_TOOL} shows items, units and price limits")


def require_short(scenario: SupplyChainScenario, slogan: str) -> int:
    """The number of words of a slogan. Raises IllegalAction message_too_long when it has too many words or letters."""
    # Words as a reader counts them, by white space; the bound is the scenario's and not a model's tokens.
    words = len(slogan.split())
    if words <= scenario.slogan_words and len(slogan) <= scenario.slogan_chars:
        return words
    size = f"{words} words; at most {scenario.slogan_words}"
    if words <= scenario.slogan_words:
        size = f"{len(slogan)} characters; at most {scenario.slogan_chars}"
    raise IllegalAction("message_too_long", f"the slogan has {size}", hint="score_slogan counts the words of a draft")


def item_places(scenario: SupplyChainScenario, items: Sequence[str] | None) -> list[int]:
    """Indices of the named items in the order of the names, of all items for None. Raises IllegalAction unknown_id."""
    if items is None:
        return list(range(len(scenario.items)))
    refuse([("unknown_id", f"there is no item {name[:40]!r}") for name in items if name not in scenario.item_places])
    return [scenario.item_places[name] for name in items]
