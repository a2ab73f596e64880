"""Runs of each market as they were last measured, so that the page can be renewed for one market alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from benchmarks.planted.bills import Bill
from benchmarks.planted.measure import Part, Run, Twin
from benchmarks.planted.play import PRESETS

FOLDER = Path(__file__).parent / "kept"
_DIGITS = 6


class Kept(NamedTuple):
    """All runs that are kept, their markets in the order of the page, and seeds by market."""

    part: Part
    seeds: dict[str, int]


def keep(part: Part, markets: Iterable[str], seeds: int, folder: Path = FOLDER) -> None:
    """Write these markets' runs, one file each: a run a line, so that a change of one is a change of a line.

    The CPU seconds are shared out by runs, as whole tens: a file should not change with the machine's mood.
    """
    folder.mkdir(exist_ok=True)
    for market in markets:
        runs = [run for run in part.runs if run.market == market]
        twins = [twin for twin in part.twins if twin.market == market]
        cpu = 10 * round(part.cpu * len(runs) / max(1, len(part.runs)) / 10)
        lines: list[Any] = [{"market": market, "seeds": seeds, "cpu": cpu}]
        lines += [{"run": [_plain(value) for value in run]} for run in runs]
        lines += [{"twin": [twin.market, twin.base, twin.found]} for twin in twins]
        (folder / f"{market}.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))


def _plain(value: Any) -> Any:
    if isinstance(value, Bill):
        return [_plain(part) for part in value]
    return round(value, _DIGITS) if isinstance(value, float) else value


def kept(markets: Sequence[str] = tuple(PRESETS), folder: Path = FOLDER) -> Kept:
    """What is kept of these markets; those without a file are left out."""
    runs, twins, seeds, cpu = list[Run](), list[Twin](), dict[str, int](), 0.0
    for market in markets:
        file = folder / f"{market}.jsonl"
        if not file.exists():
            continue
        for line in file.read_bytes().splitlines():
            held: dict[str, Any] = orjson.loads(line)
            if "run" in held:
                runs.append(_run(held["run"]))
            elif "twin" in held:
                name, base, found = held["twin"]
                twins.append(Twin(name, base, tuple(found)))
            else:
                seeds[market] = held["seeds"]
                cpu += held["cpu"]
    return Kept(Part(runs, twins, cpu), seeds)


def _run(row: Sequence[Any]) -> Run:
    run = Run(*row)
    return run._replace(extra=tuple(run.extra), bill=Bill(*run.bill) if run.bill else None)
