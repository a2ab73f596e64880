from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from tests.marketplace.conftest import BUSINESS
from tests.waiting import LONG

from tradefair.cli import run as tradefair

PROGRAM = """
class _Market:
    name = "probe"
    def check_data(self, folder):
        from tradefair.marketplace.data.data_report import check_folder
        return check_folder(folder)

MARKET = _Market()
"""


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`check(folder, *options)`: the command, on a market that a stranger's package announces."""
    package = tmp_path / "site"
    info = package / "probe-1.dist-info"
    info.mkdir(parents=True)
    (package / "probe.py").write_text(PROGRAM)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: probe\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[tradefair.markets]\nprobe = probe:MARKET\n")

    def checked(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "tradefair.cli", "check", "probe", "--data", str(folder)]
        return subprocess.run(
            [*command, *options],
            env={**os.environ, "PYTHONPATH": str(package)},
            capture_output=True,
            text=True,
            timeout=LONG,
            check=False,
        )

    return checked


def test_the_check_prints_the_four_baselines_of_a_published_set(
    check: Callable[..., subprocess.CompletedProcess[str]], published: Callable[[str], Path]
) -> None:
    done = check(published("mexican_3_9"), "--json")
    assert done.returncode == 0, done.stderr
    report = orjson.loads(done.stdout)
    measures = report["measures"]
    assert {name: each["expected"] for name, each in measures["baselines"].items()} == {
        "random_items": "16.83",
        "cheapest": "63.78",
        "random_items_and_amenities": "61.16",  # 61.155 exactly
        "optimal": "63.78",
    }
    assert measures["baselines"]["random_items_and_amenities"]["exact_cents"] == "12231/2"
    assert [(each["query"], each["page_size"], each["welfare"]) for each in measures["ceilings"]][:2] == [
        ("item_names", 1, "58.88"),
        ("item_names", 3, "63.78"),
    ]
    assert (report["problems"], measures["first_best"]) == ([], "70.70")


def test_a_malformed_file_is_named_and_the_exit_code_is_one(
    check: Callable[..., subprocess.CompletedProcess[str]], data_set: Callable[..., Path]
) -> None:
    done = check(data_set({"businesses/b.yaml": BUSINESS.replace("3.25", "cheap")}))
    assert done.returncode == 1
    assert "businesses/b.yaml: menu_features.taco = 'cheap': must be a number" in done.stderr


def test_a_market_without_data_of_its_own_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert tradefair(["check", "teaching", "--data", str(tmp_path)]) == 2
    assert "teaching reads no data of its own" in capsys.readouterr().err
