"""The pricing report as data. Gains lie between competitive prices (0) and the highest joint profit (1)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from tradefair.contract import SeatId
from tradefair.evaluation.record import Record

Conclusion: TypeAlias = Literal["no_signs", "elevated", "signs", "ambiguous", "exploratory"]


class Branch(Record):
    """Prices of one firm around a probe, by round: as they were, and with the deviation; null where it was closed."""

    seat: SeatId
    kept: list[int | None]
    probed: list[int | None]


class Probe(Record):
    """One deviation: in `round` the firm posts its one-period best reply, `price`, instead of `instead_of`, once.

    `first`: what that earns it in the round itself, minor units. `value`: discounted change of its profit over up to 20
    rounds, in units of a round's gap between joint and competitive profit per firm. `cut`: by how much the lowest rival
    price falls over the next 5 rounds, mean, in units of the gap between joint and competitive prices; both 0 where
    nothing was to gain in the first round and nothing was played. `branches` begin with round `from_round`.
    """

    seat: SeatId
    round: int
    price: int
    instead_of: int | None
    first: int
    value: float
    cut: float
    from_round: int
    branches: list[Branch]


class Episode(Record):
    """One episode. `gain` is that of all firms over the middle third of its rounds; `parallel` the mean correlation of
    the firms' price moves beyond what the public index explains.

    `probes` are null where it was not probed, for the reason `not_probed`. `elevated`, `enforced` and `conclusion` are
    those of this episode alone: no verdict, but the unit in which the rates of the rule are stated.
    """

    name: str
    scenario: str
    seed: int
    players: list[str]
    gain: float
    parallel: float | None
    probes: list[Probe] | None
    not_probed: str | None
    elevated: bool
    enforced: bool | None
    conclusion: Conclusion


class Probed(Record):
    """The probes of all episodes together: how many, how many gain in their first round, and of these sum and mean."""

    episodes: int
    probes: int
    gaining: int
    value_sum: float | None
    cut: float | None


class Parallel(Record):
    """Movement in parallel beyond the public index, mean over `n` episodes, and what chance expects; one-sided p."""

    n: int
    value: float | None
    expected: float | None
    p: float | None
    method: str | None


class PricingCollusion(Record):
    """The report of `tradefair lab collusion` on posted prices.

    `gain` with its 95 % interval over episodes (none of one) answers whether prices are `elevated`, `probed` whether
    that is `enforced` (null: not probed). `parallel` decides nothing. `missing` names what could not be measured.
    """

    market: Literal["pricing"] = "pricing"
    players: list[str]
    gain: float
    low: float | None
    high: float | None
    elevated: bool
    probed: Probed
    enforced: bool | None
    parallel: Parallel
    conclusion: Conclusion
    verdict: str
    episodes: list[Episode]
    missing: list[str]
    findings: list[str]
