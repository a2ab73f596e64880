"""Firms by rule: floors, theory's prices, tit-for-tat, price wars, leaders, learners by trial. Pricing page, section 8.

Sources stand beside each rule. All prices are whole minor units within 0..price_max.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tradefair.contract import Draw, Params, PolicySpec, ScenarioError
from tradefair.pricing.analysis import WINDOW, Sold, fitted
from tradefair.pricing.engine import equilibrium
from tradefair.pricing.model import ROLE
from tradefair.pricing.seats.desk import Desk, Firm, FirmPolicy, number, only, told_where

_FIRM = frozenset({ROLE})


class Passive:
    """Never posts a price."""

    def price(self, desk: Desk) -> None:
        """None: closed."""
        return


class RandomLegal:
    """A uniform price of the grid."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def price(self, desk: Desk) -> int:
        """0..price_max, keyed by the round."""
        return int((desk.price_max + 1) * self._draw.uniform("price", desk.round))


class FixedMarkup:
    """The unit cost of the round and a fixed percentage of it (Hall & Hitch 1939)."""

    def __init__(self, percent: int) -> None:
        self._percent = percent

    def price(self, desk: Desk) -> int:
        """cost·(100 + percent)/100, rounded half to even."""
        whole, rest = divmod(desk.cost_now * (100 + self._percent), 100)
        return whole + (rest > 50 or (rest == 50 and whole % 2 == 1))


class Noise:
    """Whole minor units added to a price: -most..most, equally likely, drawn afresh each round."""

    def __init__(self, most: int, draw: Draw) -> None:
        self._most, self._draw = most, draw

    def of(self, desk: Desk) -> int:
        """Keyed by the round; 0 where `most` is 0."""
        if not self._most:
            return 0
        return int((2 * self._most + 1) * self._draw.uniform("noise", desk.round)) - self._most


class Nash:
    """The competitive price of the round's costs."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    def price(self, desk: Desk) -> float:
        """Rounded, and the noise on top."""
        return round(desk.nash()) + self._noise.of(desk)


class Monopoly:
    """The price of the highest joint profit."""

    def price(self, desk: Desk) -> float:
        """Rounded by the driver."""
        return desk.monopoly()


class BestReply:
    """The best price of the grid against the rivals' last prices (Cournot adjustment)."""

    def __init__(self, noise: Noise) -> None:
        self._noise = noise

    def price(self, desk: Desk) -> int:
        """The competitive price in round 1; the noise on top."""
        return desk.best_reply() + self._noise.of(desk)


class Matcher:
    """Tit-for-tat with a floor (Axelrod 1984): the lowest rival price, kept between nash and monopoly."""

    def price(self, desk: Desk) -> float:
        """Monopoly first."""
        low, high = round(desk.nash()), round(desk.monopoly())
        rival = desk.lowest_rival()
        return high if rival is None else min(max(low, rival), high)


class Edgeworth:
    """One step below the lowest rival, back to monopoly where that leaves less than mu/2 (Maskin & Tirole 1988)."""

    def __init__(self, step: int) -> None:
        self._step = step

    def price(self, desk: Desk) -> float:
        """Monopoly first."""
        rival = desk.lowest_rival()
        below = -math.inf if rival is None else rival - self._step
        # In doubled units: mu may be odd.
        return desk.monopoly() if 2 * below < 2 * desk.cost_now + desk.truth.mu else below


class Undercutter:
    """One step below the lowest rival, at least one unit above cost."""

    def __init__(self, step: int) -> None:
        self._step = step

    def price(self, desk: Desk) -> float:
        """Monopoly first."""
        rival = desk.lowest_rival()
        return desk.monopoly() if rival is None else max(desk.cost_now + 1, rival - self._step)


class Grim:
    """Monopoly until a rival is below its own monopoly price by more than the tolerance; then nash for ever.

    The trigger strategy of Friedman 1971.
    """

    def __init__(self, tolerance: int) -> None:
        self._tolerance = tolerance
        self._angry = False

    def price(self, desk: Desk) -> float:
        """Looks at each closed round with the costs of that round."""
        if desk.prices:
            known = desk.past[len(desk.prices) - 1]
            if known is not None:
                due = known.monopoly()
                self._angry |= any(
                    price is not None and price < due[at] - self._tolerance
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


class HillClimber:
    """Starts at 1.5·cost, moves by a step, turns round when its profit fell; knows nothing of demand."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._last = 0

    def price(self, desk: Desk) -> int:
        """Compares the last two rounds."""
        if not desk.prices:
            self._last = 3 * desk.cost // 2
            return self._last
        if len(desk.own) >= 2 and desk.own[-1].profit < desk.own[-2].profit:
            self._step = -self._step
        self._last = min(max(0, self._last + self._step), desk.price_max)
        return self._last


class Follower:
    """A benchmark price without shocks, and the public index on top; never looks at rivals.

    The hard negative of collusion: prices move in lockstep and nobody reacts to anybody.
    """

    def __init__(self, level: str) -> None:
        self._level = level

    def price(self, desk: Desk) -> float:
        """Level and index."""
        if desk.unshocked is None:
            raise ScenarioError("follower needs demand_known and costs_known, or to be told")
        level = desk.unshocked.nash() if self._level == "nash" else desk.unshocked.monopoly()
        return round(level[desk.place]) + desk.index


class Rival:
    """Plays the law that the seed has drawn for its seat."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._chosen: Firm | None = None

    def price(self, desk: Desk) -> float | None:
        """The law's price."""
        if self._chosen is None:
            self._chosen = FIRMS[desk.law].make({}, self._draw)
        return self._chosen.price(desk)


class FirmSpec(NamedTuple):
    """A rule by name: how it is made, what it is, what it has to know."""

    name: str
    make: Callable[[Params, Draw], Firm]
    description: str
    knows: bool = False
    told: bool = False
    sales: bool = False
    reference: bool = False
    stand_in: bool = False


def plain(make: Callable[[], Firm]) -> Callable[[Params, Draw], Firm]:
    """A rule without parameters and draws."""

    def made(params: Params, draw: Draw) -> Firm:
        only(params)
        return make()

    return made


def _drawing(make: Callable[[Draw], Firm]) -> Callable[[Params, Draw], Firm]:
    def made(params: Params, draw: Draw) -> Firm:
        only(params)
        return make(draw)

    return made


def sized(
    make: Callable[[int], Firm], name: str, default: int, lowest: int, highest: int
) -> Callable[[Params, Draw], Firm]:
    """A rule with one whole number."""

    def made(params: Params, draw: Draw) -> Firm:
        only(params, name)
        return make(number(params, name, default, lowest, highest))

    return made


def _noisy(make: Callable[[Noise], Firm]) -> Callable[[Params, Draw], Firm]:
    def made(params: Params, draw: Draw) -> Firm:
        only(params, "noise")
        return make(Noise(number(params, "noise", 0, 0, MOST), draw))

    return made


def _follower(params: Params, draw: Draw) -> Firm:
    only(params, "level")
    level = params.get("level", "nash")
    if level not in ("nash", "monopoly"):
        raise ScenarioError(f"level = {level}: nash or monopoly")
    return Follower(str(level))


MOST = 1_000_000
TOLERANCE = 20
"""How far below its monopoly price a rival may be before a grim firm is angry for ever, in minor units."""

RULES: tuple[FirmSpec, ...] = (
    FirmSpec("passive", plain(Passive), "never posts a price: sells nothing", reference=True),
    FirmSpec("random_legal", _drawing(RandomLegal), "a uniform price of 0..price_max"),
    FirmSpec("fixed_markup", sized(FixedMarkup, "percent", 35, 0, 1_000), "cost and a fixed percentage (percent=35)"),
    FirmSpec("nash", _noisy(Nash), "the competitive price of the round (noise=0)", knows=True, reference=True),
    FirmSpec("monopoly", plain(Monopoly), "the price of the highest joint profit", knows=True),
    FirmSpec(
        "best_reply",
        _noisy(BestReply),
        "the best price against the rivals' last ones (noise=0)",
        knows=True,
        stand_in=True,
    ),
    FirmSpec(
        "matcher", plain(Matcher), "the lowest rival price, between nash and monopoly", knows=True, reference=True
    ),
    FirmSpec(
        "edgeworth", sized(Edgeworth, "step", 25, 1, MOST), "undercuts by a step (step=25), then resets", knows=True
    ),
    FirmSpec("undercutter", sized(Undercutter, "step", 1, 1, MOST), "undercuts down to its cost (step=1)", knows=True),
    FirmSpec(
        "grim",
        sized(Grim, "tolerance", TOLERANCE, 0, MOST),
        "monopoly until undercut (tolerance=20), then nash",
        knows=True,
    ),
    FirmSpec("leader", plain(Leader), "leads to monopoly, follows where nobody follows", knows=True, reference=True),
    # Needs nothing that a scenario may hide: the second to stand in, where best replies would have to be told.
    FirmSpec("prober", plain(Prober), "tries five prices, keeps the one that earned most", sales=True, stand_in=True),
    FirmSpec(
        "hill_climber", sized(HillClimber, "step", 40, 1, MOST), "moves by a step (step=40) while it pays", sales=True
    ),
    FirmSpec("follower", _follower, "level=nash|monopoly and the public index; ignores rivals", knows=True),
    FirmSpec("rival", _drawing(Rival), "a law that the seed draws and nobody is told", told=True, sales=True),
)
FIRMS = {rule.name: rule for rule in RULES}


def spec_of(rule: FirmSpec) -> PolicySpec:
    """The policy that plays a rule over tools."""

    def make(params: Params, draw: Draw) -> FirmPolicy:
        # Made once for nothing: parameters are checked when a scenario is, not in the first round.
        rule.make(params, draw)
        return FirmPolicy(lambda: rule.make(params, draw), sales=rule.sales)

    return PolicySpec(
        rule.name,
        make,
        _FIRM,
        rule.description,
        privileged=rule.told,
        hidden_where=told_where if rule.knows else None,
        reference=rule.reference,
        stand_in=rule.stand_in,
        fast=rule.make,
    )
