"""`tradefair sweep --rank`: the games of a plan, then who is ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tradefair.cli import run


def held(capture: pytest.CaptureFixture[bytes], *arguments: str) -> Any:
    """What the command says as JSON; it ends well."""
    assert run(["sweep", "--rank", *arguments, "--json"]) == 0
    return orjson.loads(capture.readouterr().out)


@pytest.mark.many
def test_a_tournament_ends_with_leaderboards_of_all_who_played(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    plan = ["bargaining/round_robin_small", "--seeds", "1", "--set", "rounds=3", "--processes", "1"]
    page = tmp_path / "boards.html"
    said = held(capsysbinary, *plan, "--out", str(tmp_path / "out"), "-o", str(page))
    assert b"bargaining/pact" in page.read_bytes()
    assert next(iter(said)) == "verdict"
    assert said["verdict"]["kind"] == "ranking"
    assert "24 of 24 traces rated" in said["verdict"]["text"]
    assert (said["sweep"]["done"], said["sweep"]["played_now"], said["sweep"]["failures"]) == (24, 24, [])
    boards = said["leaderboards"]["boards"]
    assert {board["scenario"]: board["games"] for board in boards} == {"bargaining/pact": 12, "bargaining/silent": 12}
    labels = {row["label"] for board in boards for row in board["rows"]}
    assert labels == {f"policy:{name}" for name in ("linear_concession", "conceder", "tit_for_tat", "fair_split")}
    assert run(["sweep", *plan, "--out", str(tmp_path / "out"), "--json"]) == 0
    assert orjson.loads(capsysbinary.readouterr().out)["played_now"] == 0


def test_a_plan_that_is_not_there_is_a_matter_of_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["sweep", "bargaining/round_robbin"]) == 2
    assert "did you mean bargaining/round_robin" in capsys.readouterr().err
    assert run(["sweep", "x/0"]) == 2
    assert "there are bargaining/headline, bargaining/round_robin, " in capsys.readouterr().err
    assert run(["sweep", str(tmp_path / "none.toml")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_the_bundled_plans_are_listed_with_their_size(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["show", "plans", "--json"]) == 0
    listed = {row["plan"]: row for row in orjson.loads(capsysbinary.readouterr().out)}
    assert (listed["double_auction/field"]["agents"], listed["double_auction/field"]["episodes"]) == (29, 24_000)
    assert all(row["description"] for row in listed.values())


@pytest.mark.process
def test_a_tournament_of_2_000_games_ranks_every_baseline_of_the_field(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    plan = ["double_auction/field", "--seeds", "2000", "--set", "rounds=8"]
    said = held(capsysbinary, *plan, "--out", str(tmp_path))
    assert (said["sweep"]["episodes"], said["sweep"]["done"]) == (2_000, 2_000)
    (board,) = said["leaderboards"]["boards"]
    rank = {row["label"]: place for place, row in enumerate(board["rows"])}
    assert len(rank) == 29
    # Chance alone comes last, and who reads the market's history beats it by far.
    assert max(rank, key=lambda label: rank[label]) == "policy:random_bazaar"
    assert min(row["episodes"] for row in board["rows"]) > 400
    for row in board["rows"]:
        assert {"efficiency", "convergence"} <= {name for name, value in row["figures"].items() if value is not None}
