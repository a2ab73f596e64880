"""Costs of two findings may be of one fact: no output adds them, neither of one seat nor over seats."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator
from itertools import combinations
from pathlib import Path

import pytest

from tradefair.api import Trace
from tradefair.cli import run
from tradefair.evaluation.evaluate import evaluate_file
from tradefair.evaluation.report.build import build_report

_NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
# Amounts are in hundredths of the money unit, shown as they are or rounded to a hundredth.
_SAME = 0.006


def _sums(costs: Collection[float]) -> Iterator[float]:
    for count in range(2, len(costs) + 1):
        yield from map(math.fsum, combinations(costs, count))


def _outputs(path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[tuple[str, str]]:
    for form in ([], ["--all"], ["--json"]):
        assert run(["evaluate", str(path), *form]) == 0
        yield f"evaluate {form}", capsys.readouterr().out
    yield "report", build_report([path], check=False).data.model_dump_json()
    yield "findings of the API", repr(dict(Trace(path).findings()))


@pytest.mark.parametrize(
    ("market", "scenario", "policy", "seed", "seats"),
    [
        pytest.param("marketplace", "small_demo", "first_taker", 2, 2, id="over seats"),
        # Half a year of a shop, evaluated in every way that there is.
        pytest.param("retail", "easy", "price_first", 1, 1, id="of one seat", marks=pytest.mark.many),
    ],
)
def test_no_output_holds_the_sum_of_two_costs(
    market: str, scenario: str, policy: str, seed: int, seats: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said: dict[str, str] = {}
    for form in ([], ["--json"]):
        folder = tmp_path / "".join(form)
        chosen = ["--scenario", scenario, "--agent", "policy", "--model", f"policy:{policy}", "--seed", str(seed)]
        assert run(["play", market, *chosen, "--out", str(folder), "--no-references", *form]) == 0
        said[f"play {form}"] = capsys.readouterr().out
    path = next(folder.rglob("*.trace"))
    diagnosis = evaluate_file(path).diagnosis
    assert diagnosis is not None
    known = [finding for finding in diagnosis.raised if finding.cost and finding.cost.amount]
    costs = [finding.cost.amount for finding in known if finding.cost and finding.cost.amount]
    assert len(costs) >= 2
    assert len({seat for finding in known for seat in finding.seats}) == seats
    said |= _outputs(path, capsys)
    sums = list(_sums(costs))
    shown: set[float] = set()
    for name, text in said.items():
        numbers = {float(number.replace(",", "")) for number in _NUMBER.findall(text)}
        added = [total for total in sums if any(abs(total - number) < _SAME for number in numbers)]
        assert not added, f"{name} adds costs of findings: {added} of {costs}"
        shown |= {cost for cost in costs if any(abs(cost - number) < _SAME for number in numbers)}
    # The costs themselves are there: a reading of numbers that missed them would miss their sums, too.
    assert shown == set(costs)
