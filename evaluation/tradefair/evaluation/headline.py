"""One figure per market that says how good an agent is: 0 is the naive reference, 1 the best known one."""

from __future__ import annotations

from typing import NamedTuple


class Headline(NamedTuple):
    """What a market's headline is measured by.

    H = (mean x - mean naive) / (mean best - mean naive) of the seat field `metric`, on the same seeds and seats of
    `preset`. Below `min_seeds` seeds it has no interval. `field`: the unprivileged policies whose means rank references
    and whose findings give the base rates, `naive` and `best` among them. A change of anything is a new `version`;
    boards of different versions are never merged. H may pass 1: the next version may then name a new best.
    """

    version: int
    preset: str
    metric: str
    naive: str
    best: str
    min_seeds: int
    field: tuple[str, ...]
