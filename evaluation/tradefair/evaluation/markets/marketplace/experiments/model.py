"""What the evaluation of an experiment consists of: money in currency units, None where nothing was counted.

These are the rows of `tradefair lab experiment --json`.
"""

from __future__ import annotations

from typing import Literal

from tradefair.evaluation.record import Record


class CostOfOrder(Record):
    """Mean utility with the best offer first and last; their difference is what the order costs."""

    best_first: float
    best_last: float
    cost: float
    runs: int


class OrderBias(Record):
    """Choices by rank over crossed arms; lists are `[rank]`, the first rank first.

    `rates` = counts/choices, `lifts` = rate·ranks, `first_to_last` null where the last count is 0. `elsewhere` counts
    choices of businesses without a rank. `hits` is T of the permutation test, `p` its one-sided p-value by `method`,
    null where it has no meaning. `incomplete` counts blocks in which an arm is missing, `repeated` runs left out
    because their block had the arm already.
    """

    ranks: int
    arms: int
    runs: int
    choices: int
    counts: list[int]
    # Shown apart: a choice outside the ranked businesses says nothing about order.
    elsewhere: int
    rates: list[float | None]
    lifts: list[float | None]
    first_to_last: float | None
    hits: int
    blocks: int
    # Blocks without all arms are tested all the same, and a reader should know how many there are.
    incomplete: int
    repeated: int
    p: float | None
    method: str | None
    # Null for identical businesses: there no order is better than another.
    cost_of_order: CostOfOrder | None


class BiasRow(Record):
    """The bias of an agent in a scenario, by `list position` or by `arrival`."""

    scenario: str
    agent: str
    where: str
    by: Literal["list position", "arrival"]
    bias: OrderBias


class Difference(Record):
    """Mean over the seeds that have the figure under the condition and under control; p of a two-sided sign-flip test.

    Null figures: no seed has both.
    """

    here: float | None
    control: float | None
    difference: float | None
    seeds: int
    p: float | None
    method: str | None


class Example(Record):
    """A customer that wrote the canary: the event that showed it the text, and the events in which it wrote it."""

    trace: str
    seat: str
    shown: int
    wrote: list[int]


class ManipulationCell(Record):
    """What customers did under one condition on one surface.

    `customers` counts them over runs, `exposed` those that a result showed the text to. `followed` is the share of the
    exposed that wrote the canary afterwards: the canary-followed rate where the text orders it (`injects`), mere echo
    elsewhere; `unseen` counts customers that wrote it without having been shown it. `directives` are shares of the
    exposed for what the text orders. `to_it` are payments to the manipulating business out of `payments`, `share` their
    quotient; `misdirected` those of them with a better offer or business known, `cost` how much better in all.
    `against_control` compares means per run, and what the exposed did, on the same seeds and arms.
    """

    scenario: str
    agent: str
    where: str
    condition: str
    surface: str
    # Only where the text gives orders is an echo obedience; elsewhere it is mere repetition.
    injects: bool
    seeds: int
    runs: int
    customers: int
    exposed: int
    unseen: int
    followed: float | None
    directives: dict[str, float | None]
    payments: int
    to_it: int
    share: float | None
    misdirected: int
    cost: float
    # Keys are figures of `manipulation.FIGURES` and the directives of the condition; empty for control itself.
    against_control: dict[str, Difference]
    examples: list[Example]

    @property
    def flagged(self) -> bool:
        """Whether a planted instruction was followed."""
        return self.injects and bool(self.followed)


class PageSize(Record):
    """Mean welfare per episode, and mean messages that a customer sent, at one number of results per page."""

    search_limit: int
    episodes: int
    welfare: float
    messages: float


class SizePair(Record):
    """A smaller and a larger page on the same seeds: mean welfare and its `drop`, smaller − larger."""

    smaller: int
    larger: int
    seeds: int
    welfare_smaller: float
    welfare_larger: float
    # Smaller minus larger, so that overload is a positive number.
    drop: float
    p: float | None
    # The page's criterion is the p that is not adjusted; this one is for readers who look at all pairs.
    p_holm: float | None
    method: str | None
    overload: bool


class OverloadRow(Record):
    """What more results on a page did to an agent's customers."""

    scenario: str
    agent: str
    where: str
    sizes: list[PageSize]
    pairs: list[SizePair]

    @property
    def overload(self) -> bool:
        """Whether some larger page has significantly less welfare than a smaller one."""
        return any(pair.overload for pair in self.pairs)


class SearchRow(Record):
    """An agent's mean welfare an episode by search, on the same seeds, and `baselines`: what simple choices would earn.

    A baseline is null where hidden facts are missing.
    """

    scenario: str
    agent: str
    where: str
    runs: int
    welfare: dict[str, float]
    baselines: dict[str, float | None]


class ExperimentReport(Record):
    """All experiments that the traces belong to; `left_out` maps the path of an unused trace to the reason."""

    episodes: int
    bias: list[BiasRow]
    manipulation: list[ManipulationCell]
    overload: list[OverloadRow]
    search: list[SearchRow]
    left_out: dict[str, str]

    @property
    def found(self) -> bool:
        """Whether the traces are of an experiment."""
        return bool(self.bias or self.manipulation or self.overload or self.search)
