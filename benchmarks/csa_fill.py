"""`python -m benchmarks.csa_fill [--check]`: fill the keys of `csa_source_table.csv` that no public log determines.

Within a law and role, a key's mean share is a level over the value, a local line through the solved keys, plus what
solved keys near it in value and spread are off that level; ln sd likewise. Writes the filled rows, and prints how far
solved keys are off where each is left out. The evaluator only reads the table.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tradefair.contract.chain import digest
from tradefair.evaluation.markets.double_auction.source_table import COLUMNS, FILE, Key, SourceRow, read_source_table
from tradefair.evaluation.markets.double_auction.surplus_alpha import NONE, SIGMA_FLOOR, spread_bucket, value_bucket

Floats = NDArray[np.float64]
_LEVEL, _VALUE, _SPREAD = 2.5, 7.5, 5.0
"""Widths of the Gaussians, in points: of the line in the value, of what is off it in value and spread."""
_RIDGE = 4.0
"""Of the line's slope, in square points, per weight."""
_LEAST = 1e-9
"""Solved keys that weigh less say nothing of a key."""
_NO_SPREAD = -1_000.0
"""Far from every spread: no spread is near no spread alone."""
_GRID = range(101)


class _Known(NamedTuple):
    """Solved keys of a law and role, as columns."""

    value: Floats
    spread: Floats
    mean: Floats
    log_sd: Floats
    weight: Floats


class Left(NamedTuple):
    """A solved key, and by how much its score is off where it is left out, in standard deviations; None: no score."""

    key: Key
    error: float | None


def filled(solved: Mapping[Key, SourceRow]) -> tuple[dict[Key, SourceRow], list[Left]]:
    """Rows of the keys that the solved ones lack, and the error of each solved key that is left out."""
    rows: dict[Key, SourceRow] = {}
    left: list[Left] = []
    groups: dict[tuple[str, str], list[Key]] = defaultdict(list)
    for key in solved:
        groups[key.law, key.side].append(key)
    for keys in groups.values():
        own, own_left = _filled([*keys], [solved[key] for key in keys])
        rows |= own
        left += own_left
    return rows, left


def _filled(keys: Sequence[Key], solved: Sequence[SourceRow]) -> tuple[dict[Key, SourceRow], list[Left]]:
    known = _Known(
        *_places(keys),
        np.array([row.mean for row in solved]),
        np.log([row.sd for row in solved]),
        np.array([row.seats for row in solved]) ** 0.25,
    )
    others = 1 - np.eye(len(keys))
    mean, sd, near = _smoothed(known, known.value, known.spread, others)
    missed = np.where(near.max(axis=1) > _LEAST, np.abs(known.mean - mean) / sd, np.nan)
    law, side = keys[0][:2]
    values = dict.fromkeys(value_bucket("source", side, value) for value in _GRID)
    spreads = dict.fromkeys((NONE, *map(spread_bucket, _GRID)))
    wanted = [key for value in values for spread in spreads if (key := Key(law, side, value, spread)) not in {*keys}]
    mean, sd, near = _smoothed(known, *_places(wanted), np.ones((len(keys), 1)))
    sound = near * np.isfinite(missed)
    errors = np.sqrt(sound @ np.nan_to_num(missed) ** 2 / np.maximum(sound.sum(axis=1), _LEAST))
    rows = {
        key: SourceRow(round(own, 6), round(spread, 6), 0, "filled", round(error, 6))
        for key, own, spread, error, weights in zip(
            wanted, mean.tolist(), sd.tolist(), errors.tolist(), near, strict=True
        )
        if weights.max() > _LEAST
    }
    return rows, [Left(key, None if np.isnan(off) else off) for key, off in zip(keys, missed.tolist(), strict=True)]


def _places(keys: Sequence[Key]) -> tuple[Floats, Floats]:
    """Values and spreads of keys, in points."""
    spreads = [_NO_SPREAD if key.spread_bucket == NONE else float(key.spread_bucket) for key in keys]
    return np.array([float(key.value_bucket) for key in keys]), np.array(spreads)


def _smoothed(known: _Known, value: Floats, spread: Floats, kept: Floats) -> tuple[Floats, Floats, Floats]:
    """Mean, sd and the weights of solved keys at each place.

    `kept` has a column per place, or one for all: 1 for the solved keys that count there, else 0.
    """
    near = known.weight * _bell(known.value[None, :] - value[:, None], _VALUE) * kept.T
    near *= _bell(known.spread[None, :] - spread[:, None], _SPREAD)
    mean = _at(known, known.mean, value, near, kept)
    sd = np.exp(_at(known, known.log_sd, value, near, kept))
    return np.clip(mean, 0, 1), np.clip(sd, SIGMA_FLOOR, 1), near


def _at(known: _Known, figure: Floats, value: Floats, near: Floats, kept: Floats) -> Floats:
    """The level at each place, and what the solved keys near it are off theirs, drawn to 0 by a weight of 1."""
    own = _level(known, figure, known.value, kept)
    off, whole = figure[:, None] - own, near.sum(axis=1) + 1
    if kept.shape[1] == 1:
        return _level(known, figure, value, kept)[:, 0] + (near @ off)[:, 0] / whole
    # The places are the solved keys, each without itself.
    return np.diag(own) + np.einsum("pk,kp->p", near, off) / whole


def _level(known: _Known, figure: Floats, value: Floats, kept: Floats) -> Floats:
    """A local line through a figure of the solved keys, at each value and for each column of `kept`."""
    away = known.value[None, :] - value[:, None]
    local = known.weight * _bell(away, _LEVEL)
    ones, first, second = local @ kept, (local * away) @ kept, (local * away**2) @ kept
    flat, sloped = (local * figure) @ kept, (local * away * figure) @ kept
    second += _RIDGE * ones
    return (flat * second - sloped * first) / (ones * second - first**2)


def _bell(away: Floats, width: float) -> Floats:
    return np.exp(-(away**2) / (2 * width**2))


def table_text(rows: Mapping[Key, SourceRow], head: str) -> str:
    """The file: its remarks, the columns, a line per key in the order of its cells."""
    lines = sorted(",".join(map(str, (*key, *row))) for key, row in rows.items())
    return "\n".join([head.rstrip(), ",".join(COLUMNS), *lines, ""])


def lines(left: Sequence[Left], *, every: bool) -> Iterator[str]:
    """The errors of solved keys that are left out: by law and role, in all, with `every` key by key."""
    groups: dict[str, list[float]] = defaultdict(list)
    for key, error in left:
        if error is not None:
            for name in (f"{key.law} {key.side}", "all"):
                groups[name].append(error)
    yield f"{'law and role':<22} {'keys':>5} {'mean':>6} {'median':>6} {'90 %':>6} {'worst':>6}"
    for name, errors in sorted(groups.items(), key=lambda one: (one[0] == "all", one[0])):
        ninth = sorted(errors)[int(0.9 * len(errors))]
        yield f"{name:<22} {len(errors):>5} {fmean(errors):6.3f} {median(errors):6.3f} {ninth:6.3f} {max(errors):6.3f}"
    if every:
        yield from (f"{','.join(key)} {'no score' if error is None else f'{error:.3f}'}" for key, error in left)


def main(arguments: Sequence[str]) -> int:
    """Write or check the file, and print the errors."""
    if unknown := {*arguments} - {"--check"}:
        raise SystemExit(f"{', '.join(sorted(unknown))}: there is --check alone")
    path = Path(str(files("tradefair.evaluation.markets.double_auction") / "data" / FILE))
    content = path.read_bytes()
    solved = {key: row for key, row in read_source_table(content, FILE).items() if row.basis == "solved"}
    rows, left = filled(solved)
    print("\n".join(lines(left, every="--check" not in arguments)))
    head = "".join(line for line in content.decode().splitlines(keepends=True) if line.startswith("#"))
    text = table_text({**solved, **rows}, head).encode()
    print(f"{len(solved):,} solved keys, {len(rows):,} filled; digest {digest(text)}")
    if "--check" in arguments:
        print("the file is up to date" if text == content else f"{FILE} is stale: python -m benchmarks.csa_fill")
        return int(text != content)
    path.write_bytes(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
