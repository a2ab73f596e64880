"""Three graders that OpenEnv 0.10 names and leaves open: can an episode be repeated, steered by its seed, disturbed?

They play the package's own runtime plan over its WebSocket, so they grade anybody's environment. They are registered as
entry points, for `GraderRegistry.load_entry_points`; by hand: `python -m tradefair_openenv.graders URL PLAN.json`.
"""

import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import zip_longest
from pathlib import Path
from typing import Any

from openenv.core.generic_client import GenericEnvClient
from openenv.validation.graders import Subject
from openenv.validation.manifest import ExecutionDeclaration
from openenv.validation.report import CheckResult
from openenv.validation.runtime.contracts import RuntimePlan, load_runtime_plan
from openenv.validation.types import CheckStatus, Level

_SEEDS = 4  # other seeds of which one has to make a difference
_GAP_S = 1.1  # between two episodes that have to be equal: a clock of whole seconds moves on


def episodes(url: str, plan: RuntimePlan, seeds: Sequence[int]) -> list[list[Any]]:
    """What sessions of these seeds answered, all open at once and taking turns: observation, reward and done, in order.

    Metadata is left out: it may name an episode, or say when it was.
    """
    begin = {**plan.reset.options, "episode_id": plan.reset.episode_id}
    with ExitStack() as stack:
        clients = [stack.enter_context(GenericEnvClient(base_url=url).sync()) for _ in seeds]
        heard = [[_shown(client.reset(seed=seed, **begin))] for client, seed in zip(clients, seeds, strict=True)]
        for action in plan.actions:
            for client, answers in zip(clients, heard, strict=True):
                if not answers[-1]["done"]:
                    answers.append(_shown(client.step(action)))
    return heard


def _shown(result: Any) -> dict[str, Any]:
    seen = {key: value for key, value in result.observation.items() if key != "metadata"}
    return {"observation": seen, "reward": result.reward, "done": result.done}


def _difference(name: str, first: list[Any], second: list[Any]) -> list[str]:
    """Nothing, or where two episodes that should be equal differ."""
    both = enumerate(zip_longest(first, second))
    return [f"{name}: answer {step} differs" for step, (left, right) in both if left != right][:1]


class _Grader:
    """What the three share; `problems` says what is wrong."""

    check_id: str
    problems: Callable[..., list[str]]  # (url, plan)
    level = Level.RUNTIME
    requires_capabilities: frozenset[str] = frozenset()
    requires_provider: frozenset[Any] = frozenset()
    depends_on: tuple[str, ...] = ("runtime.startup", "runtime.episode_determinism")
    remediation: str

    def applies_to(self, manifest: Any) -> bool:
        """To every package with a runtime plan."""
        return hasattr(manifest, "execution")

    def run(self, subject: Subject) -> CheckResult:
        """Grade a started subject by its own plan."""
        assert subject.running is not None, "runtime.startup passed"
        return self.grade(subject.running.base_url, load_runtime_plan(subject.root, subject.manifest.execution))

    def grade(self, url: str, plan: RuntimePlan) -> CheckResult:
        """Grade whatever answers at `url`."""
        begun, wrong = time.monotonic(), self.problems(url, plan)
        status, took = CheckStatus.FAIL if wrong else CheckStatus.PASS, time.monotonic() - begun
        found = {"check_id": self.check_id, "status": status, "evidence": wrong or ["holds for the plan's actions"]}
        return CheckResult(**found, remediation=self.remediation if wrong else None, duration_s=took)


class EpisodeDeterminism(_Grader):
    """The same seed and actions are answered the same, in another session and at another time."""

    check_id = "runtime.episode_determinism"
    depends_on = ("runtime.startup",)
    remediation = "Draw all chance from the seed of reset; keep clocks and process state out of answers and rewards."

    def problems(self, url: str, plan: RuntimePlan) -> list[str]:
        """Two episodes, a second apart."""
        [first] = episodes(url, plan, [plan.reset.seed])
        time.sleep(_GAP_S)
        [second] = episodes(url, plan, [plan.reset.seed])
        return _difference("the same seed twice", first, second)


class SeedControl(_Grader):
    """Another seed is another episode."""

    check_id = "runtime.seed_control"
    remediation = (
        "Draw the chance of an episode from the seed of reset, or let the plan's actions reach what it decides."
    )

    def problems(self, url: str, plan: RuntimePlan) -> list[str]:
        """Episodes of some other seeds, one after another."""
        seeds = [(plan.reset.seed + step) % 2**32 for step in range(_SEEDS + 1)]
        heard = [episodes(url, plan, [seed])[0] for seed in seeds]
        return [] if any(one != heard[0] for one in heard) else [f"{_SEEDS} other seeds change nothing"]


class EpisodeIsolation(_Grader):
    """What another session does meanwhile changes nothing."""

    check_id = "runtime.episode_isolation"
    remediation = "Keep the state of an episode in its environment instance, none on the class or the module."

    def problems(self, url: str, plan: RuntimePlan) -> list[str]:
        """Each of three sessions that take turns, beside the same one alone."""
        seeds = [plan.reset.seed, (plan.reset.seed + 1) % 2**32, plan.reset.seed]
        alone = [episodes(url, plan, [seed])[0] for seed in seeds]
        pairs = zip(seeds, alone, episodes(url, plan, seeds), strict=True)
        return [one for seed, left, right in pairs for one in _difference(f"seed {seed}, beside others", left, right)]


if __name__ == "__main__":
    read = load_runtime_plan(Path(sys.argv[2]).parent, ExecutionDeclaration(probe_path=Path(sys.argv[2]).name))
    results = [grader().grade(sys.argv[1], read) for grader in (EpisodeDeterminism, SeedControl, EpisodeIsolation)]
    print(*(result.model_dump_json(exclude_none=True) for result in results), sep="\n")
    sys.exit(any(result.status is not CheckStatus.PASS for result in results))
