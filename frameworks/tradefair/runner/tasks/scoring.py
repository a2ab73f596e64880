"""Scores: the reward of a seat, and where it lies between a seat that does nothing and the best known one.

Nothing of it is stored in a trace: it is worked out of the trace whenever it is asked for, by the formulas of
`tradefair evaluate` and the references that a market ships.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from tradefair.catalog import market_type
from tradefair.contract import SeatId, TraceError
from tradefair.contract.chain import canonical, digest
from tradefair.contract.policy import parse_policy
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import evaluate, evaluate_file
from tradefair.evaluation.judge.reward import (
    SCORE_RANGE,
    RewardScale,
    primary_metrics,
    reward_metric,
    reward_of,
    score_of,
)
from tradefair.evaluation.ledger import Ledger
from tradefair.evaluation.modes.base_rates import References, shipped
from tradefair.evaluation.outcome import Outcome
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.reading import agent_seats, seating_in
from tradefair.evaluation.record import Record
from tradefair.host.episode.orders import Mark
from tradefair.runner.ledger.ledger import with_ledgers
from tradefair.tracestore import open_trace

FLOOR = "passive"
"""The policy whose mean reward is a score of 0: it does nothing."""


class SeatScore(Record):
    """A seat's `reward` in `unit`, as `tradefair evaluate` prints its `metric`, and its `score`, -1 to 1.

    `score` and its range are null where the market ships no references of this very scenario and these rules.
    """

    role: str
    reward: float | int | None
    metric: str
    unit: str
    higher_is_better: bool
    score: float | None
    score_range: tuple[int, int] | None
    components: dict[str, float | int | None]


class Verified(Record):
    """What `tradefair verify --no-seats` says of the trace."""

    verdict: str
    sentence: str
    head_hash: str | None
    seal: str | None


class Versions(Record):
    """What the figures rest on: who wrote the trace, its rules, the formulas, and the digest of the references."""

    tradefair: str
    rules: str
    evaluator: str
    references: str | None


class EpisodeScore(Record):
    """The answer to "how did it go": `censored` says that the rules did not end it; sums are of closed rounds then.

    `seed` is null where it is sealed, `verify` where it was not asked for. `findings` say what could not be used.
    `ledgers` of the seats under test are there where they were asked for, `no_ledger` where one of them has none.
    """

    episode: str
    task: str | None
    market: str
    scenario: str
    seed: int | None
    end_reason: str | None
    censored: bool
    rounds_closed: int
    seats: dict[SeatId, SeatScore]
    verify: Verified | None
    versions: Versions
    findings: list[str]
    ledgers: dict[SeatId, Ledger] | None = Field(default=None, exclude_if=lambda ledgers: ledgers is None)
    no_ledger: str = Field(default="", exclude_if=lambda reason: not reason)


class Scaled(NamedTuple):
    """A scale, and the digest of the references that it comes from."""

    scale: RewardScale
    references: str


def scale_of(market: str, scenario: Mapping[str, Any], rules_version: str, role: str) -> Scaled | None:
    """The scale of a role's rewards in a scenario (its whole content); None where no references are shipped for it.

    `floor` is the mean of the policy that does nothing, `top` the best mean of those that can play the role, the ones
    that know hidden facts among them.
    """
    evaluator = evaluator_of(market)
    found = shipped(type(evaluator).__module__.rpartition(".")[0], scenario, rules_version)
    metric = reward_metric(market, {role})
    # References are of the market's first metric: they say nothing of a role that is measured by another one.
    if found is None or metric is None or metric not in primary_metrics(market)[:1]:
        return None
    means = {name: row.mean for name, row in found.rows.items() if row.n and _can_play(market, name, role)}
    if FLOOR not in means:
        return None
    best = max if metric.higher_is_better else min
    return Scaled(RewardScale(means[FLOOR], best(means.values())), _digest(found))


def _can_play(market: str, spelling: str, role: str) -> bool:
    spec = market_type(market).policies.get(parse_policy(spelling)[0])
    return spec is not None and role in spec.roles


def _digest(references: References) -> str:
    """Of what scores are made of; a new base rate of a failure mode changes no score."""
    return digest(canonical(references.model_dump(mode="json", exclude={"modes", "rated", "usual"})))[:16]


def score_file(
    place: str | Path, episode: str, *, every_seat: bool = False, check: bool = False, ledger: bool = False
) -> EpisodeScore:
    """The score of a stored episode: of the seats under test, or of all; with `check` it is re-executed, too.

    With `ledger` it is replayed what the turns of each seat under test lost, which takes seconds. Raises TraceError
    where no trace can be read there.
    """
    with open_trace(place) as trace:
        # Outcome and seats read the same events, and a live trace may grow meanwhile.
        trace.hold()
        core, mark = trace.manifest.core, Mark.of(trace.manifest.about)
        outcome = evaluate(trace)
        try:
            seating = seating_in(trace)
            tested, written_by = set(agent_seats(seating)), seating.written_by
        except TraceError:
            tested, written_by = set(outcome.seats), ""
    scales = {
        role: scale_of(core.market, core.scenario, core.rules_version, role)
        for role in {found.role for found in outcome.seats.values()}
    }
    digests = {scaled.references for scaled in scales.values() if scaled is not None}
    score = EpisodeScore(
        episode=episode,
        task=mark.task,
        market=core.market,
        scenario=outcome.scenario,
        seed=None if mark.sealed else outcome.seed,
        end_reason=outcome.end_reason,
        censored=outcome.censored,
        rounds_closed=outcome.rounds_closed,
        seats={seat: _seat(outcome, seat, scales) for seat in outcome.seats if every_seat or seat in tested},
        verify=_verified(place) if check else None,
        versions=Versions(
            tradefair=written_by.removeprefix("tradefair "),
            rules=core.rules_version,
            evaluator=outcome.evaluator_version,
            references=min(digests, default=None),
        ),
        findings=[finding.message for finding in outcome.findings],
    )
    return _priced(score, place) if ledger else score


def _priced(score: EpisodeScore, place: str | Path) -> EpisodeScore:
    found = with_ledgers(place, evaluate_file(place))
    return score.model_copy(update={"ledgers": dict(found.ledgers), "no_ledger": found.no_ledger})


def _seat(outcome: Outcome[Any, Any], seat: SeatId, scales: Mapping[str, Scaled | None]) -> SeatScore:
    role = outcome.seats[seat].role
    reward, scaled = reward_of(outcome, seat), scales[role]
    return SeatScore(
        role=role,
        reward=reward.value,
        metric=reward.metric,
        unit=reward.unit,
        higher_is_better=reward.higher_is_better,
        score=score_of(reward, None if scaled is None else scaled.scale),
        score_range=None if scaled is None else SCORE_RANGE,
        components=dict(reward.components),
    )


def _verified(place: str | Path) -> Verified:
    # Without the scripted seats: the host has just played them itself.
    check = verify_file(place, seats=False)
    return Verified(verdict=check.verdict, sentence=check.sentence, head_hash=check.head_hash, seal=check.seal)
