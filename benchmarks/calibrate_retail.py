"""`python -m benchmarks.calibrate_retail <preset.toml> [--write]`: fit a synthetic store to the published oracle.

Plays the oracle on eight fixed seeds with changing volume and cost level (retail page, 11.3), prints every run, and
with --write puts both numbers and the store's digest into the preset.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path

from benchmarks.retail_calibration import Calibration, calibrate_store
from tradefair.contract.scenario import build_scenario
from tradefair.contract.user_files import parse_toml
from tradefair.retail.model import RetailScenario


def main(arguments: Sequence[str] | None = None) -> None:
    """Calibrate one preset."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calibrate_retail")
    parser.add_argument("preset", type=Path, help="a scenario file with a [store] table")
    parser.add_argument("--write", action="store_true", help="change the file")
    given = parser.parse_args(arguments)
    text = given.preset.read_text(encoding="utf-8")
    scenario = build_scenario(RetailScenario, parse_toml(text, source=str(given.preset)), source=str(given.preset))
    found = calibrate_store(scenario)
    for run in found.runs:
        worth = run.net_worth_cents / 100
        print(f"seed {run.seed}: net worth {worth:,.2f}, {run.units_sold:,} units, {run.days} days, {run.end_reason}")
    print(f"mean: net worth {found.mean_net_worth:,.2f}, {found.mean_units:,.0f} units")
    print(f"volume_per_product {found.volume_per_product}, cost_level {found.cost_level}, digest {found.digest}")
    if given.write:
        given.preset.write_text(rewritten(text, found), encoding="utf-8")


def rewritten(text: str, found: Calibration) -> str:
    """The preset with the three values of its [store] table replaced; keys that it lacks come after `key`."""
    values = {
        "cost_level": str(found.cost_level),
        "volume_per_product": str(found.volume_per_product),
        "digest": f'"{found.digest}"',
    }
    for name, value in values.items():
        text = re.sub(rf"^{name} = .*\n", "", text, flags=re.MULTILINE)
        text = re.sub(r"^(key = .*\n)", rf"\g<1>{name} = {value}\n", text, count=1, flags=re.MULTILINE)
    return text


if __name__ == "__main__":
    main()
