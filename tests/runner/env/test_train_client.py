"""The client: forty lines of the standard library; what the example plays with it scores as `evaluate` says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from release.hubs import blocks
from tests.release.test_hubs import code_lines
from tests.runner.env.conftest import CLIENT, MODULE, REPO, Served
from tests.waiting import LONG

from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.runner.tasks.tasks import load_tasks

MARKETS = ("bargaining", "double_auction", "marketplace", "order_book", "pricing", "retail", "supply_chain")
EXAMPLE = REPO / "examples" / "train_stdlib.py"
CLIENT_LINES = 40


def first_tasks() -> list[str]:
    """One task of each market, the shortest."""
    split = load_tasks().split("train")
    first = {choice.market: place * split.seeds for place, choice in reversed(list(enumerate(split.choices)))}
    assert set(first) == set(MARKETS)
    return [f"train/{first[market]}" for market in MARKETS]


def played(served: Served, tasks: Sequence[str]) -> list[dict[str, Any]]:
    """What the example prints, run by itself with the client: without site packages, another variable or our folder."""
    return [json.loads(line) for line in printed(served, str(EXAMPLE), *tasks).splitlines()]


def printed(served: Served, *arguments: str) -> str:
    variables = {
        "PYTHONPATH": str(MODULE.parent),
        "TRADEFAIR_CONTROL_URL": served.ready["control"]["url"],
        "TRADEFAIR_CONTROL_TOKEN": served.ready["control"]["token"],
        # A proxy that is not there: tokens go to the host and nowhere else.
        "http_proxy": "http://127.0.0.1:9",
    }
    done = subprocess.run(
        [sys.executable, "-S", *arguments],
        capture_output=True,
        text=True,
        timeout=LONG,
        check=False,
        env={**{name: value for name, value in os.environ.items() if name == "SYSTEMROOT"}, **variables},
        cwd="/",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def differences(served: Served, rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Each reward that is not, to the last character, what `tradefair evaluate --json` prints of the same trace."""
    for row in rows:
        seats = json.loads(json.dumps(evaluate_file(served.trace(row["episode"])).to_json()))["outcome"]["seats"]
        printed = seats[row["seat"]][row["metric"]]
        if repr(row["reward"]) != repr(printed):
            yield f"{row['task']}: {row['reward']!r} is not {printed!r}"


@pytest.fixture(scope="session")
def rows(served: Served) -> list[dict[str, Any]]:
    return played(served, first_tasks())


def test_an_episode_of_each_market_is_played_and_scored(rows: list[dict[str, Any]]) -> None:
    assert [row["task"] for row in rows] == first_tasks()
    assert all(isinstance(row["reward"], int | float) for row in rows)
    assert all(-1 <= row["score"] <= 1 for row in rows)
    # Quotes at the own value and prices above cost earn something; whoever lets every turn pass gets what that gets.
    earning = {"bargaining", "double_auction", "pricing"}
    assert [row["score"] > 0 for row in rows] == [market in earning for market in MARKETS]
    assert [row["components"]["refused"] for row in rows] == [0] * len(MARKETS)


def test_a_reward_is_what_evaluate_prints_to_the_last_character(
    served: Served, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert list(differences(served, rows)) == []
    # The control: with another coefficient in one formula the comparison must fail, for that market and no other.
    evaluator = evaluator_of("double_auction")
    own = evaluator.outcomes

    def otherwise(trace: Any) -> Any:
        outcome = own(trace)
        seats = {seat: found.model_copy(update={"payoff": 2 * found.payoff}) for seat, found in outcome.seats.items()}
        return outcome.model_copy(update={"seats": seats})

    monkeypatch.setattr(evaluator, "outcomes", otherwise)
    found = list(differences(served, rows))
    assert [line.partition(":")[0] for line in found] == [rows[MARKETS.index("double_auction")]["task"]]


def test_the_client_has_forty_lines_and_both_import_the_standard_library_alone() -> None:
    text = MODULE.read_text(encoding="utf-8")
    assert code_lines(text) <= CLIENT_LINES
    assert imported(text) <= sys.stdlib_module_names
    assert imported(EXAMPLE.read_text(encoding="utf-8")) <= {*sys.stdlib_module_names, "tradefair_client"}


def imported(text: str) -> set[str]:
    return {line.split()[1].partition(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))}


def test_what_the_clients_readme_shows_runs(served: Served) -> None:
    ((_, block),) = blocks((CLIENT / "README.md").read_text(encoding="utf-8"))
    assert printed(served, "-c", block) == "speak_first bargaining\n"
