"""What only this market's facts tell the general failure modes: money, costs, prices out of scale, idle rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tradefair.contract import SeatId, TradefairError
from tradefair.contract.money import currency, to_minor
from tradefair.evaluation.markets.supply_chain.modes.conduct import idle_rounds, proof_of_idleness
from tradefair.evaluation.markets.supply_chain.modes.play import Act, Retail, SeatRound, SupplyGame
from tradefair.evaluation.markets.supply_chain.modes.prices import below_cost_hits
from tradefair.evaluation.markets.supply_chain.modes.reading import read_game
from tradefair.evaluation.markets.supply_chain.modes.rules import PREFIX
from tradefair.evaluation.markets.supply_chain.seat import mean_price
from tradefair.evaluation.modes.calls import listed, mapped
from tradefair.evaluation.modes.insight import Case, Counted, Insight, Scale, Secret
from tradefair.tracestore import Trace

_UNIT = "currency units"
_VECTORS = "actions are whole vectors of bids and prices, not about single objects"
_ABSENT = {
    "value_breach": "retailers have no private value: see supply_chain.overpay and supply_chain.below_cost",
    **dict.fromkeys(("narrow_attention", "follow_up", "resolved"), _VECTORS),
}
# These modes exist here under their own thresholds: the general ones are not raised a second time.
_COUNTED_BY = {name: PREFIX + name for name in ("overspend", "below_cost", "idle_drift")}
# Arguments that hold ids although their names do not end in `_id`.
_IDS = frozenset({"item", "items", "retailers"})
_SPEAKS = {"submit_offer": "slogan"}


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
        id_arguments=_IDS,
        messages=_SPEAKS,
        secrets={name: list(_secrets(seat)) for name, seat in seats.items()},
        secret_words=("funds", "cash", "capital", "budget"),
        scales={name: list(_scales(seat)) for name, seat in seats.items()},
        idle=_idle(game),
        below_cost=_below_cost(game),
        absent=_ABSENT,
        counted_by=_COUNTED_BY,
    )


def _secrets(seat: Retail) -> Iterator[Secret]:
    """Own money before and after procurement of each round: the amounts that a slogan must not give away."""
    for row in seat.rounds:
        # Once where nothing was spent: both amounts are then the same secret.
        for cents in dict.fromkeys((row.funds, row.funds - row.own.spend)):
            yield Secret("own funds", currency(cents), row.round, row.round)


def _below_cost(game: SupplyGame) -> Counted:
    """Items sold below average cost, out of all that were sold before the last round."""
    cases: dict[SeatId, Sequence[Case]] = {}
    of: dict[SeatId, int] = {}
    for name, seat in game.seats.items():
        hits, of[name] = below_cost_hits(seat)
        # A hit cites the offer, where there is one, and the closure last.
        cases[name] = [Case(hit.events[0], currency(round(hit.cents or 0)), hit.events[-1]) for hit in hits]
    return Counted(cases, of)


def _idle(game: SupplyGame) -> Counted:
    """Idle rounds in which a unit that no seat took at the reserve could have been sold above it."""
    cases = {
        # No cost: what the unit would have sold for at another price is not known.
        name: [Case(proof_of_idleness(row)[0], None, row.closed) for row in idle_rounds(seat) if _pays(row)]
        for name, seat in game.seats.items()
    }
    return Counted(cases, {name: len(seat.rounds) for name, seat in game.seats.items()})


def _pays(row: SeatRound) -> bool:
    """Whether a unit was left at a reserve that the seat could pay, and others sold the item above it."""
    # The settling pass: earlier passes move no goods.
    last = row.facts.passes[-1]
    return any(
        # At the reserve the unit was there for the taking, since some of the supply was left.
        last.won[item] < row.facts.supply[item] and row.funds >= rule.base_cents < mean_price(row.facts, item)
        for item, rule in enumerate(row.seat.game.rules.items)
    )


def _scales(seat: Retail) -> Iterator[Scale]:
    """Bids and retail prices, each with the reserve that it is compared with."""
    for row in seat.rounds:
        for act in row.actions("submit_bids"):
            yield from _beside(row, act, "bids")
        for act in row.actions("submit_offer"):
            yield from _beside(row, act, "prices")


def _beside(row: SeatRound, act: Act, argument: str) -> Iterator[Scale]:
    """The prices of one call with the base price of each item; lines that cannot be read are left out."""
    rules = row.seat.game.rules
    for line in map(mapped, listed(act.arguments.get(argument))):
        name, price = line.get("item"), line.get("price")
        if not isinstance(name, str) or name not in rules.item_places or not isinstance(price, int | float):
            continue
        try:
            cents = to_minor(price)
        # An edited trace may hold anything as a price.
        except (TradefairError, ArithmeticError, ValueError):
            continue
        yield Scale(act.seq, currency(cents), currency(rules.items[rules.item_places[name]].base_cents))
