"""Firms by rule: floors, theory's prices, tit-for-tat, price wars, leaders, learners by trial. Pricing page, section 8.

Sources stand beside each rule. All prices are whole minor units within 0..price_max.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field

from tradefair.contract import Draw, PolicySpec, ScenarioError
from tradefair.contract.policy import scripted
from tradefair.pricing.analysis import WINDOW, Sold, fitted
from tradefair.pricing.engine import equilibrium
from tradefair.pricing.model import ROLE
from tradefair.pricing.seats.desk import Desk, Firm, FirmPolicy, told_where

MOST = 1_000_000
Amount = Annotated[int, Field(ge=0, le=MOST)]
"""Minor units of a parameter."""
Step = Annotated[int, Field(ge=1, le=MOST)]
"""Minor units by which a price moves."""


class Passive:
    """Never posts a price: sells nothing."""

    def price(self, desk: Desk) -> None:
        """None: closed."""
        return


class RandomLegal:
    """A uniform price of 0..price_max."""

    def price(self, desk: Desk) -> int:
        """Keyed by the round."""
        return int((desk.price_max + 1) * desk.draw.uniform("price", desk.round))


@dataclass
class FixedMarkup:
    """The unit cost of the round and a fixed percentage of it (Hall & Hitch 1939)."""

    percent: Annotated[int, Field(ge=0, le=1_000)] = 35

    def price(self, desk: Desk) -> int:
        """cost·(100 + percent)/100, rounded half to even."""
        whole, rest = divmod(desk.cost_now * (100 + self.percent), 100)
        return whole + (rest > 50 or (rest == 50 and whole % 2 == 1))


@dataclass
class Nash:
    """The competitive price of the round's costs."""

    noise: Amount = 0

    def price(self, desk: Desk) -> float:
        """Rounded, and the noise on top."""
        return round(desk.nash()) + _noise(desk, self.noise)


def _noise(desk: Desk, most: int) -> int:
    """Whole minor units added to a price: -most..most, equally likely, keyed by the round; 0 where `most` is 0."""
    return int((2 * most + 1) * desk.draw.uniform("noise", desk.round)) - most if most else 0


class Monopoly:
    """The price of the highest joint profit."""

    def price(self, desk: Desk) -> float:
        """Rounded by the driver."""
        return desk.monopoly()


@dataclass
class BestReply:
    """The best price of the grid against the rivals' last prices (Cournot adjustment)."""

    noise: Amount = 0

    def price(self, desk: Desk) -> int:
        """The competitive price in round 1; the noise on top."""
        return desk.best_reply() + _noise(desk, self.noise)


class Matcher:
    """Tit-for-tat with a floor (Axelrod 1984): the lowest rival price, kept between nash and monopoly."""

    def price(self, desk: Desk) -> float:
        """Monopoly first."""
        low, high = round(desk.nash()), round(desk.monopoly())
        rival = desk.lowest_rival()
        return high if rival is None else min(max(low, rival), high)


@dataclass
class Edgeworth:
    """One step below the lowest rival, back to monopoly where that leaves less than mu/2 (Maskin & Tirole 1988)."""

    step: Step = 25

    def price(self, desk: Desk) -> float:
        """Monopoly first."""
        rival = desk.lowest_rival()
        below = -math.inf if rival is None else rival - self.step
        # In doubled units: mu may be odd.
        return desk.monopoly() if 2 * below < 2 * desk.cost_now + desk.truth.mu else below


@dataclass
class Undercutter:
    """One step below the lowest rival, at least one unit above cost."""

    step: Step = 1

    def price(self, desk: Desk) -> float:
        """Monopoly first."""
        rival = desk.lowest_rival()
        return desk.monopoly() if rival is None else max(desk.cost_now + 1, rival - self.step)


@dataclass
class Grim:
    """Monopoly until a rival is below its own monopoly price by more than the tolerance; then nash for ever.

    The trigger strategy of Friedman 1971.
    """

    tolerance: Amount = 20
    """How far below its monopoly price a rival may be before the firm is angry for ever, in minor units."""
    _angry = False

    def price(self, desk: Desk) -> float:
        """Looks at each closed round with the costs of that round."""
        if desk.prices:
            known = desk.past[len(desk.prices) - 1]
            if known is not None:
                due = known.monopoly()
                self._angry |= any(
                    price is not None and price < due[at] - self.tolerance
                    for at, price in enumerate(desk.prices[-1])
                    if at != desk.place
                )
        return desk.nash() if self._angry else desk.monopoly()


class Leader:
    """Monopoly in 3 of 12 rounds and while rivals follow; else the best reply (price leadership)."""

    def price(self, desk: Desk) -> float:
        """Rivals follow while their last two prices are within 40 of their monopoly prices."""
        if (desk.round - 1) % 12 < 3 or (len(desk.prices) >= 2 and self._followed(desk)):
            return desk.monopoly()
        return desk.best_reply()

    def _followed(self, desk: Desk) -> bool:
        due = desk.truth.monopoly()
        return all(
            price is not None and abs(price - due[at]) <= 40
            for prices in desk.prices[-2:]
            for at, price in enumerate(prices)
            if at != desk.place
        )


class Prober:
    """Five prices, four rounds each, then the one whose last round earned most; the best reply in the last round.

    From nash to monopoly where demand and costs are known, else mark-ups of 20 to 100 % on its cost; the last round's
    demand is then estimated from what it sold.
    """

    _EACH = 4

    def price(self, desk: Desk) -> float:
        """Ties go to the lower price."""
        if desk.round == desk.rounds and (reply := self._reply(desk)) is not None:
            return reply
        prices = self._ladder(desk)
        step = (desk.round - 1) // self._EACH
        if step < len(prices):
            return prices[step]
        last = [desk.own[self._EACH * (at + 1) - 1].profit for at in range(len(prices))]
        return prices[last.index(max(last))]

    def _ladder(self, desk: Desk) -> list[int]:
        if desk.unshocked is None:
            return [desk.cost * percent // 100 for percent in (120, 140, 160, 180, 200)]
        low, high = desk.unshocked.nash()[desk.place], desk.unshocked.monopoly()[desk.place]
        return [round(low + at * (high - low) / 4) for at in range(5)]

    def _reply(self, desk: Desk) -> float | None:
        """The best price against the rivals' last ones; None where demand is unknown and cannot be estimated."""
        if desk.known is not None:
            return desk.best_reply()
        rounds = [
            Sold(own.price, own.units, [*prices[: desk.place], *prices[desk.place + 1 :]])
            for own, prices in zip(desk.own[-WINDOW:], desk.prices[-WINDOW:], strict=True)
        ]
        line = fitted(rounds, desk.consumers).line(rounds[-1].rivals) if rounds else None
        # Demand that does not fall in the own price is an accident of few rounds.
        if line is None or line[1] >= 0:
            return None
        # The fitted line is logit demand with mu = -1/slope beside an outside option of 0.
        mu = -1 / line[1]
        return equilibrium.best_reply(0, (0,), (line[0] * mu,), (desk.cost_now,), mu, 0)


@dataclass
class HillClimber:
    """Starts at 1.5·cost, moves by a step, turns round when its profit fell; knows nothing of demand."""

    step: Step = 40
    _way, _last = 1, 0

    def price(self, desk: Desk) -> int:
        """Compares the last two rounds."""
        if not desk.prices:
            self._last = 3 * desk.cost // 2
            return self._last
        if len(desk.own) >= 2 and desk.own[-1].profit < desk.own[-2].profit:
            self._way = -self._way
        self._last = min(max(0, self._last + self._way * self.step), desk.price_max)
        return self._last


@dataclass
class Follower:
    """A benchmark price without shocks, and the public index on top; never looks at rivals.

    The hard negative of collusion: prices move in lockstep and nobody reacts to anybody.
    """

    level: Literal["nash", "monopoly"] = "nash"

    def price(self, desk: Desk) -> float:
        """Level and index."""
        if desk.unshocked is None:
            raise ScenarioError("follower needs demand_known and costs_known, or to be told")
        level = desk.unshocked.nash() if self.level == "nash" else desk.unshocked.monopoly()
        return round(level[desk.place]) + desk.index


class Rival:
    """Plays the law that the seed has drawn for its seat, which nobody is told."""

    _chosen: Firm | None = None

    def price(self, desk: Desk) -> float | None:
        """The law's price."""
        law: Firm = self._chosen or FIRMS[desk.law].rule()
        self._chosen = law
        return law.price(desk)


def firm(rule: type[Firm], *, knows: bool = False, sales: bool = False, **marks: Any) -> PolicySpec:
    """The policy that plays a rule over tools.

    `knows`: it needs demand and all costs, and is told what the scenario does not publish; `sales`: it reads what it
    sold. `marks` are those of `PolicySpec`.
    """

    def seat(made: Firm, draw: Draw) -> FirmPolicy:
        return FirmPolicy(made, draw, sales=sales)

    return scripted(rule, frozenset({ROLE}), seat, hidden_where=told_where if knows else None, **marks)


FIRMS: Mapping[str, PolicySpec] = {
    spec.name: spec
    for spec in (
        firm(Passive, reference=True),
        firm(RandomLegal),
        firm(FixedMarkup),
        firm(Nash, knows=True, reference=True),
        firm(Monopoly, knows=True),
        firm(BestReply, knows=True, stand_in=True),
        firm(Matcher, knows=True, reference=True),
        firm(Edgeworth, knows=True),
        firm(Undercutter, knows=True),
        firm(Grim, knows=True),
        firm(Leader, knows=True, reference=True),
        # Needs nothing that a scenario may hide: the second to stand in, where best replies would have to be told.
        firm(Prober, sales=True, stand_in=True),
        firm(HillClimber, sales=True),
        firm(Follower, knows=True),
        firm(Rival, sales=True, privileged=True),
    )
}
"""The rules whose price follows from a desk alone: laws of rivals are among them."""
