"""What a comparison says: plain records that `--json` prints and reports show. Differences are B − A throughout."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from pydantic import Field

from tradefair.contract import SeatId
from tradefair.evaluation.read.accounts import Account
from tradefair.evaluation.record import Record
from tradefair.evaluation.verdict.verdict import Verdict

# Two-sided sign flips give p >= 2/2^n: of 8 pairs 0.0078, which Holm keeps below 0.05 for up to six metrics.
MIN_PAIRS = 8
"""Below this many pairs nothing is tested."""

Conclusion = Literal["identical", "exploratory", "b_better", "a_better", "mixed", "no_difference", "no_pairs"]


class Attribute(Record):
    """Something about how the runs were made. `a`, `b`: the values met, in text; equal when it is pinned."""

    name: str
    a: list[str]
    b: list[str]

    # Runs of a folder may hold several values each, so lists are compared, not single values.
    @property
    def differs(self) -> bool:
        """Whether the two sides differ in it."""
        return self.a != self.b


class Decision(Record):
    """One action of a seat, or its lapse (`tool` is null, `arguments` hold the reason and the default action).

    `status` is that of the call (ok, rejected, …), `lapsed` for a lapse; `error` the code of a refusal; `result` the
    digest of what an accepted action answered.
    """

    seq: int
    round: int
    phase: str
    seat: SeatId
    tool: str | None
    arguments: Any
    status: str
    error: str | None
    result: str | None


class Divergence(Record):
    """The first decision in which two traces differ; null on the side that decided nothing more in that phase.

    `what` says in words what differs: tool, arguments, outcome, result, or that one side did not act.
    """

    round: int
    phase: str
    seat: SeatId
    what: str
    a: Decision | None
    b: Decision | None


class Run(Record):
    """One episode that was compared. `metrics` are numbers of the compared seats, null where undefined.

    With several compared seats a number is the mean over them: seats cluster in episodes. `at_stake` is what there was
    to win in the first primary metric; null where the market does not say. `moves`: digest of what was played, the same
    for equal play of players who are called otherwise.
    """

    path: str
    label: str
    policy_key: int
    head: str | None
    moves: str
    outcome_digest: str | None
    rounds_closed: int
    end_reason: str | None
    censored: bool
    early: bool
    metrics: dict[str, float | None]
    account: Account
    at_stake: float | None = None


class Pair(Record):
    """The same market, scenario, seed, seats and opponents, played by A and by B.

    `a` and `b` are one run each, or several that differ in the policy key only (trials); numbers of trials enter by
    their mean. `identical`: the same was played.
    `divergence` is null where no decision differs or there are trials.
    """

    seed: int
    scenario: str
    seats: list[SeatId] = Field(default=[])
    a: list[Run]
    b: list[Run]
    identical: bool
    differences: dict[str, float | None]
    divergence: Divergence | None


class Dropped(Record):
    """A trace that could not be compared. `lacking` is the side that has no run to compare on that seed.

    `seed` is null, and `scenario` empty, for a file that cannot say which it is.
    """

    side: Literal["a", "b"]
    scenario: str = ""
    seed: int | None
    path: str
    reason: str
    lacking: Literal["a", "b"]

    @property
    def unfinished(self) -> bool:
        """Whether an agent began the episode and did not end it."""
        return self.reason.startswith("unfinished")


class Metric(Record):
    """One number over all pairs in which both sides have it; `undefined` pairs are left out.

    `mean_difference` is B − A. The 95 % t interval and the sign-flip `p` are null under 8 pairs; `p_holm` is set for
    primary metrics only. `wins` counts pairs in which B is better (`higher_is_better`; null: B is higher).
    Tenth percentile, minimum and maximum are over runs, in the metric's unit.
    """

    name: str
    unit: str | None
    higher_is_better: bool | None
    primary: bool
    n: int
    undefined: int
    mean_a: float | None
    mean_b: float | None
    mean_difference: float | None
    sd_difference: float | None
    interval: tuple[float, float] | None
    p: float | None
    p_method: str | None
    p_holm: float | None
    wins: int
    ties: int
    losses: int
    minimum_a: float | None
    minimum_b: float | None
    tenth_percentile_a: float | None
    tenth_percentile_b: float | None
    maximum_a: float | None
    maximum_b: float | None


class SurvivalPoint(Record):
    """Share of episodes that had not ended early after `round` rounds (Kaplan & Meier 1958)."""

    round: int
    share: float


class EarlyEnds(Record):
    """Episodes that ended before their time (bankruptcies): counts, the exact McNemar test, survival curves.

    `only_a`: pairs in which A alone ended early. `p` is null under 8 pairs.
    """

    a: int
    b: int
    only_a: int
    only_b: int
    p: float | None
    survival_a: list[SurvivalPoint]
    survival_b: list[SurvivalPoint]


class PassHatK(Record):
    """Chance that k trials of a task all succeed: mean over tasks of C(successes, k)/C(trials, k).

    `task` says what was repeated: a seed (trials differ in the policy key) or the scenario (trials are seeds).
    """

    k: int
    task: Literal["seed", "scenario"]
    success: str
    a: float | None
    b: float | None


class Missing(Record):
    """Pairs that should exist (`expected`) and do not: an episode was never ended, or is not there, or is damaged."""

    expected: int
    unfinished: int
    absent: int


class Bound(Record):
    """Between which means of B − A the missing pairs could bring the result, by the extremes that were seen."""

    metric: str
    low: float
    high: float


class Gap(Record):
    """Seeds that one side lacks: not there, not ended (`unfinished` of them), or damaged (`unread` files more).

    `worst`: the mean of B − A in `metric`, had this side scored the worst value there that was seen on either side;
    null where nothing was seen.
    """

    side: Literal["a", "b"]
    seeds: list[int]
    unfinished: int
    unread: int
    metric: str
    worst: float | None


class Shares(Record):
    """The first primary metric over what there was to win, in the `n` pairs with something; `nothing`: pairs without.

    Means over pairs, the difference is B − A; the 95 % t interval is null under 8 pairs.
    """

    n: int
    nothing: int
    mean_a: float | None
    mean_b: float | None
    mean_difference: float | None
    interval: tuple[float, float] | None


class Skew(Record):
    """Differences that a few pairs carry: their skewness, the largest one's share of all sizes."""

    metric: str
    skewness: float
    largest: float


class Regret(Record):
    """(best − agent)/(best − passive) of one metric, mean over the seeds where references are there.

    `best` is the best of the references that were played in the same seats on the same seed. Undefined where the
    denominator is not positive: `undefined` counts those seeds; `missing` those without references.
    """

    metric: str
    n: int
    undefined: int
    missing: int
    a: float | None
    b: float | None


class Arm(Record):
    """One side: where it lies and what it spent per episode, in the mean over its compared runs (null: not known)."""

    name: str
    label: str
    traces: int
    calls: float | None
    refused: float | None
    model_calls: float | None
    input_tokens: float | None
    output_tokens: float | None
    model_seconds: float | None
    wall_seconds: float | None
    cost_usd: float | None


class Judgement(NamedTuple):
    """The conclusion, and what limits the tests behind it."""

    conclusion: Conclusion
    notes: list[str]


class Comparison(Record):
    """All of `tradefair compare A B`. `verdict.text` is the conclusion in words, `seats` are the compared ones.

    `attributes` hold what differs and what is pinned; `gaps` the seeds that a side lacks; `notes` what limits the
    tests; `findings` name traces that are damaged or prove nothing. `proof`: "re-executed", or "not asked".
    """

    verdict: Verdict
    conclusion: Conclusion
    notes: list[str]
    market: str
    seats: list[SeatId]
    a: Arm
    b: Arm
    attributes: list[Attribute]
    pairs: list[Pair]
    dropped: list[Dropped]
    metrics: list[Metric]
    early_ends: EarlyEnds | None
    reliability: list[PassHatK]
    regret: list[Regret]
    missing: Missing
    gaps: list[Gap]
    bounds: list[Bound]
    shares: Shares | None
    skewed: list[Skew]
    findings: list[str]
    proof: str = "not asked"

    def to_json(self) -> dict[str, Any]:
        """Plain data, `verdict` first."""
        return self.model_dump(mode="json", by_alias=True)

    @property
    def differs(self) -> list[Attribute]:
        """What is not the same on both sides."""
        return [attribute for attribute in self.attributes if attribute.differs]

    @property
    def pinned(self) -> list[Attribute]:
        """What is the same on both sides."""
        return [attribute for attribute in self.attributes if not attribute.differs]

    @property
    def first_divergence(self) -> Divergence | None:
        """The first diverging decision of the first pair that has one."""
        # Pairs are in the order of scenario and seed, so equal folders name the same decision.
        return next((pair.divergence for pair in self.pairs if pair.divergence is not None), None)
