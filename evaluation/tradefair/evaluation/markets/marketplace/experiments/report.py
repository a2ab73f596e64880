"""Everything that a folder of traces is an experiment of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

from tradefair.evaluation.markets.marketplace.experiments.bias import Choice, order_bias
from tradefair.evaluation.markets.marketplace.experiments.manipulation import CONTROL, OFF, manipulation_cells
from tradefair.evaluation.markets.marketplace.experiments.model import BiasRow, ExperimentReport
from tradefair.evaluation.markets.marketplace.experiments.overload import overload_rows
from tradefair.evaluation.markets.marketplace.experiments.runs import Episode, Shopper, cells, read_episodes
from tradefair.evaluation.markets.marketplace.experiments.search import search_rows
from tradefair.evaluation.progress import Progress

By = Literal["list position", "arrival"]


def experiment_report(paths: Iterable[Path], progress: Progress | None = None) -> ExperimentReport:
    """Bias where orders are permuted, manipulation where texts are planted, overload and search where these differ.

    Never raises for a trace that cannot be used: `left_out` says why, by path.
    """
    read = read_episodes(paths, progress)
    return ExperimentReport(
        episodes=len(read.episodes),
        bias=[*bias_rows(read.episodes, "list position"), *bias_rows(read.episodes, "arrival")],
        manipulation=list(manipulation_cells(read.episodes)),
        overload=list(overload_rows(read.episodes)),
        search=list(search_rows(read.episodes)),
        left_out={str(path): why for path, why in read.left_out},
    )


def bias_rows(episodes: Sequence[Episode], by: By) -> Iterator[BiasRow]:
    """One row per scenario and agent that was played under several orders; of manipulated ones the control only."""
    # A text that sways would show as a preference for the manipulator's rank.
    neutral = [episode for episode in episodes if episode.scenario.manipulation.condition in (OFF, CONTROL)]
    arm = "listing_permutation" if by == "list position" else "arrival_permutation"
    permuted = [episode for episode in neutral if _permutes(episode, by)]
    for cell, group in cells(permuted, frozenset({arm})).items():
        choices = [_choice(episode, shopper, by) for episode in group for shopper in episode.shoppers]
        # Under the free clock real time decides who comes first: runs that share a seed are not alike in the rest.
        tested = all(episode.scenario.clock == "turns" for episode in group)
        yield BiasRow(
            scenario=cell.scenario, agent=cell.agent, where=cell.where, by=by, bias=order_bias(choices, tested=tested)
        )


def _permutes(episode: Episode, by: By) -> bool:
    if by == "list position":
        return episode.scenario.listing_order == "explicit"
    return episode.scenario.arrival_order == "permutation"


def _choice(episode: Episode, shopper: Shopper, by: By) -> Choice:
    return Choice(
        # Arms are permuted within a seed and a customer: both have the same data and the same luck.
        block=(episode.seed, episode.trial, shopper.seat),
        arm=episode.arm[0] if by == "list position" else episode.arm[1],
        ranked=shopper.listed if by == "list position" else shopper.arriving,
        chosen=shopper.chosen,
        worth={business: worth / 100 for business, worth in shopper.worths.items()},
        utility=shopper.utility / 100,
    )
