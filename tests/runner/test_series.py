"""`tradefair play --seeds N`: one agent on consecutive seeds, and what is shown of it."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.options_files import options_file

import tradefair.api as tf
from tradefair.catalog import market_type
from tradefair.cli import run
from tradefair.contract import SeatId
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.ledger import Extent
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.reading import agent_seats
from tradefair.runner.ledger.ledger import SERIES_BUDGET, with_ledgers
from tradefair.runner.play import playing
from tradefair.runner.play.references import reference_policies, two_references
from tradefair.runner.play.summary import summarise
from tradefair.tracestore import open_trace

SMOKE = ("play", "double_auction", "--scenario", "smoke", "--seed", "5", "--agent", "policy:zip")


def seats_of_agent(item: Any) -> list[SeatId]:
    """The seats that the agent had in an episode of `--json`; a policy in its place has no account there."""
    with open_trace(Path(item["trace"])) as trace:
        return agent_seats(trace.seating())


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal on which no command of the next steps is broken."""
    monkeypatch.setenv("COLUMNS", "300")


def lines(capture: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capture.readouterr().out.splitlines() if line]


def test_a_series_has_an_episode_per_seed_and_each_is_the_one_that_is_played_alone(
    told: Any, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def played(*arguments: str) -> Any:
        assert run([*SMOKE, "--json", *arguments]) == 0
        return orjson.loads(capsysbinary.readouterr().out)

    series = played("--seeds", "3", "--out", str(tmp_path / "all"))
    assert series["folder"] == str(tmp_path / "all")
    assert [item["outcome"]["outcome"]["seed"] for item in series["episodes"]] == [5, 6, 7]
    assert len(list((tmp_path / "all").glob("*.trace"))) == 3
    # Over several seeds each seat in its turn: seat number 6 mod 4 is that of S1.
    assert [seats_of_agent(item) for item in series["episodes"]] == [["B2"], ["S1"], ["S2"]]
    alone = played("--seed", "6", "--seat", "S1", "--no-references", "--out", str(tmp_path / "one"))
    heads = [told(Path(item["trace"])).about["head_hash"] for item in (series["episodes"][1], alone)]
    assert heads[0] == heads[1]


def test_a_series_says_how_far_it_is_from_the_naive_and_the_best_policy_unless_none_are_wanted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SMOKE, "--seeds", "2", "--out", str(tmp_path / "two")]) == 0
    names = sorted(path.name for path in (tmp_path / "two" / "references").iterdir())
    assert names == [f"{policy}-{seed}.trace" for policy in ("gd", "truthful") for seed in (5, 6)]
    said = " ".join(lines(capsys)).partition("2 of 2 reproduced")[0]
    assert re.search(r"(than|as) truthful \(56\).+(than|as) gd \(20\) on the same seeds\.", said)
    assert run([*SMOKE, "--seeds", "2", "--no-references", "--out", str(tmp_path / "none")]) == 0
    assert not (tmp_path / "none" / "references").exists()
    assert "on the same seeds" not in capsys.readouterr().out


def test_a_headline_says_how_many_seeds_it_has_and_needs_and_passes_over_what_is_none_of_its_games(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bazaar = ("play", "double_auction", "--seed", "5", "--agent", "policy:zip", "--no-references", "--ledger", "off")
    assert run([*bazaar, "--seeds", "2", "--out", str(tmp_path)]) == 0
    assert run([*SMOKE, "--seeds", "2", "--no-references", "--out", str(tmp_path)]) == 0
    scenarios = {trace.path: trace.scenario for trace in tf.load(tmp_path)}
    trace = next(path for path, scenario in scenarios.items() if scenario == "double_auction/bazaar")
    with open_trace(trace) as opened:
        (agent,) = agent_seats(opened.seating())
        at = next(event.seq for event in opened.events() if orjson.loads(event.body).get("seat") == agent)
    tf.fork(trace, at=at, agent="policy:gd", folder=tmp_path / "fork")
    capsys.readouterr()
    assert run(["rate", "--by", "headline", str(tmp_path)]) == 0
    shown = capsys.readouterr()
    assert re.search(r"policy:zip +-?[\d.]+ +needs 80 seeds +2 of 80\n", shown.out)
    assert "passed over: " in shown.err
    assert "2 (another scenario than double_auction/bazaar, unchanged)" in shown.err
    assert "(a fork)" in shown.err


def test_what_a_series_says_to_play_next_is_played_by_the_same_agent(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    idle = ("play", "double_auction", "--seed", "1", "--agent", "react", "--model", "policy:zip")
    assert run([*idle, "--seeds", "4", "--out", str(tmp_path)]) == 0
    again = "tradefair play double_auction --scenario double_auction/duel --seeds 4 --agent react --model policy:zip"
    assert again in capsys.readouterr().out


def test_money_of_minor_units_is_money_in_every_row_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path / "cache"))
    duel = ("play", "pricing", "--scenario", "smoke", "--seed", "1", "--agent", "policy:nash", "--ledger", "off")
    assert run([*duel, "--out", str(tmp_path / "runs")]) == 0
    assert run(["list", str(tmp_path / "runs")]) == 0
    shown = capsys.readouterr().out
    assert "profit, currency units" in shown
    assert "minor units" not in shown
    # The verdict, the row below it and the list say one number.
    same = re.findall(r"(?:earned |^policy:nash  +|\.trace +1 +)([\d.,]+(?: million)?)", shown, re.MULTILINE)
    assert (len(same), len(set(same))) == (3, 1), shown


def test_two_references_can_play_the_seats_and_are_the_headline_s_where_these_can() -> None:
    bazaar, chain = market_type("double_auction"), market_type("marketplace")
    assert two_references(bazaar, "buyer") == two_references(bazaar, "seller") == ["truthful", "gd"]
    assert two_references(chain, "business") == reference_policies(chain, "business")[:2]
    assert two_references(bazaar) == []


def test_references_of_a_series_are_played_when_asked_for_and_named_by_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SMOKE, "--seeds", "2", "--references", "--out", str(tmp_path)]) == 0
    names = sorted(path.name for path in (tmp_path / "references").iterdir())
    assert names == [f"{policy}-{seed}.trace" for policy in ("kaplan", "passive", "truthful") for seed in (5, 6)]
    assert all(verify_file(path).sealed for path in tmp_path.rglob("*.trace"))
    shown = lines(capsys)
    assert shown[0].startswith("policy:zip earned ")
    assert any(line.endswith("2 of 2 reproduced.") for line in shown)
    assert [line.split()[0] for line in shown if line.endswith((" 0", " 0.5", " 1")) and " 2 " in line] == [
        "policy:zip",
        "truthful",
        "kaplan",
        "passive",
    ]
    assert not any(".trace " in line and "tradefair" not in line for line in shown)


def test_a_series_shows_a_row_per_episode_when_all_is_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([*SMOKE, "--seeds", "2", "--all", "--out", str(tmp_path)]) == 0
    shown = lines(capsys)
    assert [line.split()[1:3] for line in shown if ".trace " in line and "tradefair" not in line] == [
        ["B2", "5"],
        ["S1", "6"],
    ]
    assert any(line.startswith("mean ") for line in shown)


@pytest.mark.many
def test_a_series_tells_which_kinds_of_turns_lost_where_it_is_asked_for(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    def printed(*arguments: str) -> Any:
        assert run([*arguments, "--json"]) == 0
        return orjson.loads(capsysbinary.readouterr().out)["verdict"]["seats"][0]

    series = (*SMOKE, "--seat", "B1", "--seeds", "2")
    assert "ledgers" not in printed(*series, "--out", str(tmp_path / "plain"))
    played = printed(*series, "--ledger", "auto", "--out", str(tmp_path / "priced"))
    assert sum(kind["lost"] for kind in played["ledgers"]["kinds"]) == pytest.approx(played["gap"])
    # The same by `evaluate`, which makes none of several by itself.
    assert printed("evaluate", str(tmp_path / "priced"), "--ledger", "auto")["ledgers"] == played["ledgers"]
    assert "ledgers" not in printed("evaluate", str(tmp_path / "priced"))


def test_the_ledgers_of_a_series_share_one_budget_of_events(tmp_path: Path) -> None:
    path = tf.play("teaching", scenario="teaching/pie", seed=1, agent="policy:half", folder=tmp_path).path
    evaluation = evaluate_file(path)
    few = with_ledgers(path, evaluation, episodes=2)
    assert (set(few.ledgers), few.no_ledger) == ({"P1"}, "")
    # So little is left for each of very many that it does not do for this one.
    many = with_ledgers(path, evaluation, episodes=SERIES_BUDGET)
    assert (many.ledgers, "--ledger full" in many.no_ledger) == ({}, True)
    assert with_ledgers(path, evaluation, extent=Extent.OFF) is evaluation


@pytest.mark.network
def test_a_failing_endpoint_ends_the_series_and_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agent = ("--agent", "react", *options_file(tmp_path, faults="500@1.."), "--seeds", "3", "--out", str(tmp_path))
    assert run(["play", "double_auction", "--scenario", "smoke", "--seed", "5", *agent]) == 3
    told = capsys.readouterr().err
    assert "seed 5: " in told
    assert "seeds 6 to 7 were not played" in told
    assert "tradefair play --resume" in told


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--seeds", "2", "--config", "trials.toml"), "leave one out"),
        (("--config", "trials.toml", "--agent", "react"), "reflection"),
        (("--seeds", "2", "--seed", str(2**63 - 1)), "beyond"),
    ],
)
def test_what_makes_no_series_is_usage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: Any, says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trials.toml").write_text("trials = 2", encoding="utf-8")
    assert run(["play", "double_auction", "--out", str(tmp_path / "no"), *arguments]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "no").exists()


def test_a_named_seat_is_kept_on_all_seeds(tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run([*SMOKE, "--json", "--seat", "B2", "--seeds", "6", "--out", str(tmp_path)]) == 0
    every = orjson.loads(capsysbinary.readouterr().out)["episodes"]
    assert [seats_of_agent(item) for item in every] == [["B2"]] * 6


def test_a_series_that_is_interrupted_says_how_the_rest_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scored: list[object] = []

    def interrupted(*given: Any, **options: Any) -> Any:
        scored.append(given)
        if len(scored) == 2:
            # As a person's Ctrl-C while an episode is scored.
            signal.raise_signal(signal.SIGINT)
        return summarise(*given, **options)

    monkeypatch.setattr(playing, "summarise", interrupted)
    assert run([*SMOKE, "--seeds", "3", "--out", str(tmp_path)]) == 130
    told = capsys.readouterr().err
    assert f"2 of 3 episodes are finished; the rest: the same command with --seed 7 --seeds 1 --out {tmp_path}" in told
    assert "--resume" not in told
    assert len(list(tmp_path.glob("*.trace"))) == 2
