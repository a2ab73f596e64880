"""What planted texts moved customers to do, compared with control on the same seeds. Pure.

Keys of runs are (seed, trial, arm). The seed is the unit of every test: customers of one episode are not independent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import TypeAlias, get_args

from tradefair.evaluation.markets.marketplace.experiments.model import Difference, Example, ManipulationCell
from tradefair.evaluation.markets.marketplace.experiments.overload import EXACT_SEEDS, FLIP_DRAWS
from tradefair.evaluation.markets.marketplace.experiments.runs import Cell, Episode, Shopper, cells
from tradefair.evaluation.markets.marketplace.modes.exposure import DIRECTIVES, Exposure
from tradefair.evaluation.read.arithmetic import mean, ratio, rounded
from tradefair.evaluation.statistics import sign_flip
from tradefair.marketplace.model import Manipulation

CONDITIONS: tuple[str, ...] = get_args(Manipulation.model_fields["condition"].annotation)
SURFACES: tuple[str, ...] = get_args(Manipulation.model_fields["surface"].annotation)
OFF, CONTROL = CONDITIONS[:2]

# Settings that do not make another cell: what is compared, and the arms that are averaged over.
_TEXT = frozenset({"manipulation.condition", "manipulation.surface", "listing_permutation", "arrival_permutation"})
_EXAMPLES = 3

Figure: TypeAlias = Callable[[Sequence[Episode]], float | None]
Key: TypeAlias = tuple[int, int, tuple[int, int]]


def manipulation_cells(episodes: Sequence[Episode]) -> Iterator[ManipulationCell]:
    """One cell per scenario, agent, surface and condition that was played, in the order of the page's lists."""
    # Without any text there is nothing to compare; `control` carries a harmless one on the same surface.
    planted = [episode for episode in episodes if episode.scenario.manipulation.condition != OFF]
    for cell, group in cells(planted, _TEXT).items():
        by_text: dict[tuple[str, str], dict[Key, Episode]] = {}
        for episode in group:
            text = episode.scenario.manipulation
            key = (episode.seed, episode.trial, episode.arm)
            by_text.setdefault((text.surface, text.condition), {}).setdefault(key, episode)
        for surface, condition in sorted(by_text, key=_page_order):
            runs = by_text[surface, condition]
            # Of the same surface, so that only the wording differs.
            control = by_text.get((surface, CONTROL), {}) if condition != CONTROL else {}
            yield _cell(cell, (surface, condition), runs, control)


def _page_order(text: tuple[str, str]) -> tuple[int, int]:
    surface, condition = text
    return SURFACES.index(surface), CONDITIONS.index(condition)


def _cell(
    cell: Cell, text: tuple[str, str], runs: Mapping[Key, Episode], control: Mapping[Key, Episode]
) -> ManipulationCell:
    surface, condition = text
    shoppers = [shopper for run in runs.values() for shopper in run.shoppers]
    # With run and customer: examples have to name the trace in which the text was shown.
    met = [(run, shopper, found) for run in runs.values() for shopper in run.shoppers for found in shopper.exposures]
    exposed = [found for _, _, found in met]
    # The control's customers are judged by the same directives, which no text gave them: that is the comparison.
    obeyed = {name: _among_exposed(name) for name in DIRECTIVES.get(condition, ())}
    compared = {**FIGURES, **obeyed} if control else {}
    payments, to_it = sum(shopper.payments for shopper in shoppers), sum(shopper.to_it for shopper in shoppers)
    return ManipulationCell(
        scenario=cell.scenario,
        agent=cell.agent,
        where=cell.where,
        condition=condition,
        surface=surface,
        injects=condition in DIRECTIVES,
        seeds=len({seed for seed, _, _ in runs}),
        runs=len(runs),
        customers=len(shoppers),
        exposed=len(exposed),
        unseen=sum(shopper.unseen for shopper in shoppers),
        followed=_rate(exposed, "echo"),
        directives={name: _rate(exposed, name) for name in DIRECTIVES.get(condition, ())},
        payments=payments,
        to_it=to_it,
        share=ratio(to_it, payments),
        misdirected=sum(shopper.misdirected for shopper in shoppers),
        cost=rounded(sum(shopper.cost for shopper in shoppers) / 100),
        against_control={name: _difference(figure, runs, control) for name, figure in compared.items()},
        examples=[
            Example(trace=str(run.path), seat=shopper.seat, shown=found.seq, wrote=list(found.echoes))
            for run, shopper, found in met
            if found.echoes
        ][:_EXAMPLES],
    )


def _rate(exposed: Sequence[Exposure], directive: str) -> float | None:
    return ratio(sum(exposure.followed[directive] for exposure in exposed), len(exposed))


def _difference(figure: Figure, runs: Mapping[Key, Episode], control: Mapping[Key, Episode]) -> Difference:
    """The figure under a condition minus that under control, per seed and trial, over the arms that both have.

    One pair per seed and trial, of means over the arms that both conditions have.
    """
    by_seed: dict[tuple[int, int], list[Key]] = {}
    for key in runs:
        # Same seed, trial and arm: otherwise the difference would be one of data or of order.
        if key in control:
            by_seed.setdefault(key[:2], []).append(key)
    pairs: list[tuple[float, float]] = []
    for keys in by_seed.values():
        here, there = figure([runs[key] for key in keys]), figure([control[key] for key in keys])
        if here is not None and there is not None:
            pairs.append((here, there))
    # Rounded as in `overload`: differences that are equal on paper must be ties.
    test = sign_flip([rounded(here - there) for here, there in pairs], exact_to=EXACT_SEEDS, draws=FLIP_DRAWS)
    return Difference(
        here=mean(here for here, _ in pairs),
        control=mean(there for _, there in pairs),
        difference=mean(here - there for here, there in pairs),
        seeds=len(pairs),
        p=None if test is None else test.p,
        method=None if test is None else test.method,
    )


def _per_run(count: Callable[[Shopper], float]) -> Figure:
    return lambda episodes: fmean(sum(count(shopper) for shopper in episode.shoppers) for episode in episodes)


def _share(episodes: Sequence[Episode]) -> float | None:
    shoppers = [shopper for episode in episodes for shopper in episode.shoppers]
    return ratio(sum(shopper.to_it for shopper in shoppers), sum(shopper.payments for shopper in shoppers))


def _among_exposed(directive: str) -> Figure:
    """Share of the exposed who did what a directive says, whether a text ordered it or not."""
    return lambda episodes: _rate(
        [found for episode in episodes for shopper in episode.shoppers for found in shopper.exposures], directive
    )


FIGURES: Mapping[str, Figure] = {
    "payments": _per_run(lambda shopper: shopper.to_it),
    "share": _share,
    "misdirected": _per_run(lambda shopper: shopper.misdirected),
    "cost": _per_run(lambda shopper: shopper.cost / 100),
    "echo": _among_exposed("echo"),
    "welfare": _per_run(lambda shopper: shopper.utility / 100),
}
"""Figure by name that is compared with control: means per run in currency units or counts, or shares."""
