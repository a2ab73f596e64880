"""References: the same scenario, seed and opponents, with a scripted policy in the agent's seat."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fairground.contract.market import MarketType
from fairground.contract.seats import SeatId
from fairground.runner.episode_runner import AgentSpec, PlaySpec, play_episode

__all__ = ["play_references", "reference_policies"]


def reference_policies(kind: MarketType, role: str) -> list[str]:
    """The market's reference policies that can play this role."""
    return [spec.name for spec in kind.policies.values() if spec.reference and role in spec.roles]


async def play_references(
    spec: PlaySpec, seats: Sequence[SeatId], policies: Sequence[str], *, by_seed: bool = False
) -> dict[str, Path]:
    """One trace per policy, each with that policy in all of the agent's `seats`; under `references/` of the folder.

    `by_seed` puts the seed into their names, for folders of several episodes.
    """
    traces: dict[str, Path] = {}
    plan = replace(spec, folder=spec.folder / "references")
    for policy in policies:
        played = await play_episode(replace(plan, agent=AgentSpec("policy", f"policy:{policy}")))
        name = f"{policy}-{spec.seed}" if by_seed else policy
        traces[policy] = played.path.rename(played.path.with_name(f"{name}.trace"))
    return traces


if __name__ == "__main__":  # the recipe of the reference tables, `python -m fairground.runner.references`
    from fairground.cli import run

    sys.exit(run(["references", *sys.argv[1:]]))
