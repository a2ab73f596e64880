"""loop: the same look with the same answer, again and again."""

from __future__ import annotations

from collections.abc import Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.play import SeatPlay
from tradefair.evaluation.modes.sign import Sign, sign_of


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Repeats in runs of equal looks within a round; an accepted action, of any kind, begins anew."""
    looks, open_round = 0, -1
    runs: dict[tuple[bytes, str | None], list[int]] = {}
    repeats: list[int] = []

    def end_runs() -> None:
        for run in runs.values():
            if len(run) >= limits["repeats"]:
                repeats.extend(run[1:])
        runs.clear()

    for step in play.direct():
        if step.round != open_round or (step.acts and step.accepted):
            open_round = step.round
            end_runs()
        if step.reads and step.accepted:
            looks += 1
            runs.setdefault((step.key, step.result), []).append(step.seq)
    end_runs()
    counted = share(len(repeats), looks, sorted(repeats))
    high = counted.value is not None and counted.value >= limits["share"]
    return sign_of(high and bool(repeats), counted)
