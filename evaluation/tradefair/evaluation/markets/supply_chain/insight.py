"""What only this market's facts tell the general failure modes: money, costs, prices out of scale, idle rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tradefair.contract import TradefairError
from tradefair.contract.money import currency, to_minor
from tradefair.evaluation.markets.supply_chain.modes.play import Retail, SeatRound
from tradefair.evaluation.markets.supply_chain.modes.prices import below_cost
from tradefair.evaluation.markets.supply_chain.modes.reading import read_game
from tradefair.evaluation.markets.supply_chain.modes.stock import idle_rounds
from tradefair.evaluation.modes.insight import Insight, Scale, Secret
from tradefair.evaluation.modes.table import Fact
from tradefair.evaluation.read.objects import mapping, sequence
from tradefair.evaluation.read.rounds import Did
from tradefair.tracestore import Trace

_UNIT = "currency units"
_VECTORS = "actions are whole vectors of bids and prices, not about single objects"
_ABSENT = {
    "value_breach": "retailers have no private value: see supply_chain.overpay and below_cost",
    **dict.fromkeys(("narrow_attention", "follow_up", "resolved"), _VECTORS),
}
# Arguments that hold ids although their names do not end in `_id`.
_IDS = frozenset({"item", "items", "retailers"})
_SPEAKS = {"submit_offer": "slogan"}
_DECIDES: Mapping[str, Fact] = {"submit_bids": "order", "submit_offer": "price"}


def supply_chain_insight(trace: Trace) -> Insight:
    """Everything that the closed rounds tell, by seat; what does not fit is left out."""
    game = read_game(trace)
    if game.problem is not None:
        # Both need closed rounds; the rest is known from the rules alone.
        untold = dict.fromkeys(("idle_drift", "below_cost"), f"could not be computed: {game.problem}")
        return Insight(unit=_UNIT, id_arguments=_IDS, messages=_SPEAKS, absent={**_ABSENT, **untold})
    seats = game.seats
    return Insight(
        unit=_UNIT,
        facts=_DECIDES,
        id_arguments=_IDS,
        messages=_SPEAKS,
        secrets={name: list(_secrets(seat)) for name, seat in seats.items()},
        secret_words=("funds", "cash", "capital", "budget"),
        scales={name: list(_scales(seat)) for name, seat in seats.items()},
        idle={name: idle_rounds(seat) for name, seat in seats.items()},
        below_cost={name: below_cost(seat) for name, seat in seats.items()},
        absent=_ABSENT,
    )


def _secrets(seat: Retail) -> Iterator[Secret]:
    """Own money before and after procurement of each round: the amounts that a slogan must not give away."""
    for row in seat.rounds:
        # Once where nothing was spent: both amounts are then the same secret.
        for cents in dict.fromkeys((row.funds, row.funds - row.own.spend)):
            yield Secret("own funds", currency(cents), row.round, row.round)


def _scales(seat: Retail) -> Iterator[Scale]:
    """Bids and retail prices, each with the reserve that it is compared with."""
    for row in seat.rounds:
        for act in row.actions("submit_bids"):
            yield from _beside(row, act, "bids")
        for act in row.actions("submit_offer"):
            yield from _beside(row, act, "prices")


def _beside(row: SeatRound, act: Did, argument: str) -> Iterator[Scale]:
    """The prices of one call with the base price of each item; lines that cannot be read are left out."""
    rules = row.seat.game.rules
    for line in map(mapping, sequence(act.arguments.get(argument))):
        name, price = line.get("item"), line.get("price")
        if not isinstance(name, str) or name not in rules.item_places or not isinstance(price, int | float):
            continue
        try:
            cents = to_minor(price)
        # An edited trace may hold anything as a price.
        except (TradefairError, ArithmeticError, ValueError):
            continue
        base = rules.items[rules.item_places[name]].base_cents
        yield Scale(act.seq, act.round, currency(cents), currency(base), name)
