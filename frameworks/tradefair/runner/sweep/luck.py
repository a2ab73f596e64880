"""How much of a reward's variance the seed explains: a sweep of seeds by replicas, and two lines on it.

Replicas of a seed differ in the draws of the agent alone (`agent_key`, which a model is sent as `seed`). The formulas
are those of `evaluation.statistics.luck`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from tradefair.catalog import use_data
from tradefair.cli.console import Console
from tradefair.cli.options import PlayerFlags
from tradefair.contract import ScenarioError, SeatId
from tradefair.contract.scenario import checked_content, parse_override
from tradefair.evaluation.judge.evaluate import evaluate
from tradefair.evaluation.judge.reward import Reward, reward_of
from tradefair.evaluation.progress import show_progress, watched
from tradefair.evaluation.prove.proving import Counted, counted, proof_asked
from tradefair.evaluation.statistics import mean_sd
from tradefair.evaluation.statistics.luck import GROUPS, MIN_GAMES, MIN_SEEDS, LuckShare, luck_share
from tradefair.evaluation.table import number_text
from tradefair.frameworks import FRAMEWORKS
from tradefair.runner.plans.done import SweepTable
from tradefair.runner.plans.episodes import file_name, first_seat, variant_of
from tradefair.runner.plans.plan import AgentEntry, Plan, PlanEntry, Seating, SourcedPlan, check_plan
from tradefair.runner.play.agent_spec import agent_of
from tradefair.runner.sweep.flags import How
from tradefair.runner.sweep.lines import print_sweep
from tradefair.runner.sweep.of_plan import play_loaded
from tradefair.runner.sweep.sweep import Sweep
from tradefair.tracestore import open_trace

ENOUGH_SEEDS = 100
"""Of fewer the interval is wide, and a line says so."""

_MAX_MISSING = 0.05
# Below twenty seeds an interval says nothing; a thousand by 64 are episodes enough.
_FEWEST, _MOST = 20, 1_000
_SHOWN = GROUPS[:3]


@dataclass(frozen=True)
class LuckSpec:
    """What is measured: an agent in a seat (None: the first agent's seat that it can play), `group` times a seed."""

    scenario: str
    agent: AgentEntry
    seat: SeatId | None
    seeds: int
    group: int


class Luck(NamedTuple):
    """The seed's share of the variance of one reward; it belongs to scenario, agent and seat.

    `share` is None where nothing varies. `reward` says what it is the reward of, `mean` and `sd` are of all rewards, in
    its unit. `failed` episodes have no whole trace, `unscored` ones no reward; both are left out.
    """

    scenario: str
    agent: str
    seat: SeatId
    seeds: int
    group: int
    reward: Reward | None
    share: LuckShare | None
    mean: float | None
    sd: float | None
    failed: int
    unscored: int
    sweep: Sweep
    counted: Counted

    @property
    def exit_code(self) -> int:
        """3 where more than 5 % of the episodes are left out."""
        unproven = sum(map(len, self.counted.left_out.values()))
        return 3 if self.failed + self.unscored + unproven > _MAX_MISSING * self.sweep.counts.total else 0

    def to_json(self) -> dict[str, Any]:
        """Plain data: the share, and what it leaves of the variance by size of group."""
        reward, share = self.reward, self.share
        return {name: value for name, value in self._asdict().items() if name != "counted"} | {
            "reward": reward and {name: getattr(reward, name) for name in ("metric", "unit", "higher_is_better")},
            "share": share and share._asdict(),
            "left": {str(group): share.left(group) for group in GROUPS} if share else {},
            "recommended": share and share.recommended,
            "sweep": self.sweep.to_json(),
            **self.counted.to_json(),
        }

    def print_tables(self, *, whole: bool) -> None:
        """The share and what groups leave, whole either way; of a sweep that a budget has stopped, how far it is."""
        if self.sweep.stopped is not None:
            print_sweep(self.sweep)
        for line in () if self.sweep.stopped else self.lines():
            Console(soft_wrap=True).print(line, markup=False, highlight=False)

    def lines(self) -> Iterator[str]:
        """What a person reads."""
        named = f"{self.reward.metric} in {self.reward.unit}" if self.reward else "no reward"
        played = f"{self.seeds} seeds x {self.group}, seat {self.seat}, {named}"
        deviation = number_text(self.sd)
        if self.seeds < MIN_SEEDS:
            yield f"too little was played to tell  ({played})"
        elif self.share is None:
            yield f"no variance  ({played}, always {number_text(self.mean)})"
        elif self.share.share == 1:
            yield f"this agent never differs: share 1  ({played}, sd {deviation})"
        else:
            share, low, high = self.share
            yield f"luck share {share:.2f}  (95 % interval {low:.2f} to {high:.2f}; {played}, sd {deviation})"
            first, *more = (f"{group}: {self.share.left(group):.2f}" for group in _SHOWN)
            groups = " · ".join([f"group of {first} of the variance is left", *more])
            yield f"{groups}        recommended group: {self.share.recommended or f'none up to {GROUPS[-1]}'}"
        yield from self.counted.notes
        if self.seeds < ENOUGH_SEEDS:
            yield f"fewer than {ENOUGH_SEEDS} seeds: the interval is wide, play more"
        if self.failed or self.unscored:
            yield f"left out of {self.sweep.counts.total:,} episodes: {self.failed} failed, {self.unscored} unscored"


def luck_of(scenario: str, agent: str, seat: SeatId | None, seeds: int | None, group: int) -> LuckSpec:
    """What a command line asks for; `agent` as it is written there: `policy:zic`, `openai:m`, `react/openai:m`.

    ScenarioError for an agent that cannot be one, and for fewer than 20 or more than 1,000 seeds.
    """
    count = seeds or ENOUGH_SEEDS
    if not _FEWEST <= count <= _MOST:
        raise ScenarioError(f"--seeds {count}: --luck takes at least {_FEWEST} and at most {_MOST}")
    # Models have slashes in their names, too.
    framework, _, model = agent.partition("/")
    player = PlayerFlags(framework, model) if framework in FRAMEWORKS else PlayerFlags(model=agent)
    found = agent_of(player)
    named = {"framework": found.framework, "model": found.model, "base_url": found.base_url}
    return LuckSpec(scenario, checked_content(AgentEntry, named, source="--luck"), seat, count, group)


def play_luck(spec: LuckSpec, how: How, verify: bool | None = None) -> Luck:
    """Play what the folder does not hold yet, and measure. Raises as `sweep`, before it for what cannot be played.

    `verify`: episodes are re-executed first (None: where that takes a minute at most), and count if they prove it.
    """
    use_data(how.data)
    point = dict(map(parse_override, how.overrides or []))
    seat = spec.seat or first_seat(variant_of(spec.scenario, None, point), spec.agent.spec)
    name = f"luck-{spec.scenario}-{seat}-{spec.agent.called}"
    plan = Plan(
        plan=PlanEntry(name=name[:80], scenarios=[spec.scenario], seeds=spec.seeds, replicas=spec.group),
        grid={key: [value] for key, value in point.items()},
        agent=[spec.agent],
        seating=Seating(seats=[seat]),
    )
    check_plan(plan, "luck")
    done = play_loaded(SourcedPlan(plan, None), replace(how, out=how.out or Path("runs") / file_name(name)[:160]))
    with SweepTable(done.folder) as table:
        seeds: dict[str | Path, int] = {
            done.folder / path: seed for _, seed, _, path, state in table.states() if state == "done"
        }
    # Replicas of a policy that never draws are one game, and that is what is measured.
    kept = counted([*seeds], proven=proof_asked(verify, seeds), once=False)
    rewards: dict[int, list[float]] = defaultdict(list)
    kind: Reward | None = None
    for path in watched(kept.kept, show_progress, lambda path: Path(path).name):
        with open_trace(path) as trace:
            kind = reward_of(evaluate(trace), seat)
        if kind.value is not None:
            rewards[seeds[path]].append(kind.value)
    every = [value for values in rewards.values() for value in values]
    return Luck(
        spec.scenario,
        spec.agent.called,
        seat,
        sum(len(values) >= MIN_GAMES for values in rewards.values()),
        spec.group,
        kind,
        luck_share([*rewards.values()]),
        *mean_sd(every),
        done.counts.failed,
        len(kept.kept) - len(every),
        done,
        kept,
    )
