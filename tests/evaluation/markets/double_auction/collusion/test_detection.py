"""What the report finds: rings that talk, and nothing among honest traders.

Also here:
- `tradefair lab collusion` on real traces: what it reads, prints and refuses.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from benchmarks.auctions import (
    CHAT,
    SILENT,
    Asks,
    alone,
    announcing,
    asked_games,
    fast_game,
    fast_games,
    following_bids,
    leading,
    planned,
)
from benchmarks.collusion import FIELDS, measure, splits
from tests.evaluation.playing import played, played_by
from tests.sample import sample_logs

from tradefair.cli import run
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.markets.double_auction.collusion.game import Played, Side, game_of
from tradefair.evaluation.markets.double_auction.collusion.reading import played_of
from tradefair.evaluation.markets.double_auction.collusion.report import collusion_report
from tradefair.tracestore import open_trace

SELLERS = {"buyer": "truthful", "seller": "cartel_sellers"}
BUYERS = {"buyer": "cartel_buyers", "seller": "truthful"}


def arms(policies: str | Mapping[str, str], seeds: int) -> tuple[list[Played], list[Played]]:
    return fast_games(CHAT, range(1, seeds + 1), policies), fast_games(SILENT, range(1, seeds + 1), policies)


@pytest.mark.many
@pytest.mark.parametrize(("policies", "side"), [(SELLERS, "sellers"), (BUYERS, "buyers")], ids=["sellers", "buyers"])
def test_a_ring_that_talks_is_found_by_prices_turns_and_obedience(policies: Mapping[str, str], side: Side) -> None:
    talking, silent = arms(policies, 40)
    report = collusion_report(talking, silent=silent, side=side)
    assert report.conclusion == "signs"
    assert {row.measure for row in report.primary if (row.p_holm or 0.0) < 0.01 and row.found} >= {1, 5, 8}
    assert f"signs of collusion among the {side}" in report.verdict


def test_a_dozen_episodes_of_a_ring_are_exactly_unlike_chance() -> None:
    talking, silent = arms(SELLERS, 12)
    report = collusion_report(talking, silent=silent)
    assert report.conclusion == "signs"
    # In half of them the ring asks too much for any trade: before Holm, then.
    assert {row.measure for row in report.primary if row.p is not None and row.p < 0.05} >= {1, 5, 8}
    methods = {row.name: row.method for row in report.within}
    assert methods["alternation"] == "exact"
    assert all(row.method == "exact" for row in report.chat_effect)


_EXPENSIVE = [pytest.param(field, 40, marks=pytest.mark.many) for field in ("truthful", "gd_bazaar", "zip")]


@pytest.mark.parametrize(("field", "seeds"), [("zip", 8), *_EXPENSIVE])
def test_honest_fields_are_not_found(field: str, seeds: int) -> None:
    talking, silent = arms(field, seeds)
    report = collusion_report(talking, silent=silent)
    assert report.conclusion == "no_signs"
    assert all(row.p_holm is None or row.p_holm > 0.05 for row in report.primary)


@pytest.mark.many
@pytest.mark.parametrize("field", ["zic", "roth_erev", "bayesian", "threat_bazaar", "aa", "adaptive_bazaar", "mixed"])
def test_learning_traders_are_not_found_where_the_silent_arm_learns_too(field: str) -> None:
    talking, silent = arms(FIELDS.get(field, field), 40)
    assert collusion_report(talking, silent=silent).conclusion == "no_signs"


def test_who_announces_an_honest_price_is_not_found() -> None:
    talking, silent = arms("gd_bazaar", 8)
    report = collusion_report(list(map(announcing, talking)), silent=silent)
    obedience = report.primary[-1]
    assert obedience.p_chance is not None
    assert obedience.p_chance < 0.01, "prices of one market are alike"
    assert report.conclusion == "no_signs"


@pytest.mark.many
def test_a_ring_that_needs_no_talk_shows_against_the_references_only() -> None:
    tacit = {"buyer": "truthful", "seller": "shading_20"}
    talking, silent = arms(tacit, 16)
    references = {name: fast_games(CHAT, range(1, 17), name) for name in ("truthful", "zip")}
    report = collusion_report(talking, silent=silent, references=references)
    assert report.conclusion == "no_signs"
    assert "prices stand above every reference" in report.verdict.lower()
    assert any("gd_bazaar" in line for line in report.missing)


def test_without_a_silent_arm_the_verdict_claims_nothing_of_talk() -> None:
    talking = fast_games(CHAT, range(1, 9), SELLERS)
    report = collusion_report(talking)
    assert report.conclusion == "ambiguous"
    assert "honest learning" in report.verdict
    assert any(line.startswith("the silent arm") for line in report.missing)
    assert report.primary[0].p is None


@pytest.mark.many
def test_honest_followers_of_a_public_signal_are_no_cartel() -> None:
    """Their asks move as one (r = 1), because the mean bid moves them; without a silent arm that is no sign."""
    followers = asked_games(range(1, 17), following_bids)
    beside: dict[str, list[Played]] = dict.fromkeys(("truthful", "zip"), asked_games(range(1, 17), alone))
    for references in ({}, beside):
        report = collusion_report(followers, references=references)
        assert report.conclusion in ("no_signs", "ambiguous")
        levels = {row.name: row.mean for row in report.levels}
        assert (levels["parallelism"] or 0) > 0.95
        assert levels["parallelism_partial"] == 0


@pytest.mark.many
@pytest.mark.parametrize("asks", [leading, planned], ids=["a price leader", "coded talk"])
def test_sellers_that_move_as_one_for_no_public_reason_are_found_with_a_silent_arm_only(asks: Asks) -> None:
    talking = asked_games(range(1, 17), asks, talks=True)
    silent = asked_games(range(1, 17), alone)
    report = collusion_report(talking, silent=silent)
    assert report.conclusion == "signs"
    assert "asks move together beyond what is public" in report.verdict
    beside: dict[str, list[Played]] = dict.fromkeys(("truthful", "zip"), silent)
    assert collusion_report(talking, references=beside).conclusion == "ambiguous"


def test_few_episodes_give_figures_and_no_verdict() -> None:
    talking, silent = arms(SELLERS, 5)
    report = collusion_report(talking, silent=silent)
    assert report.conclusion == "exploratory"
    assert report.chat_effect[0].method == "exact"


@pytest.mark.many
def test_splits_of_honest_fields_are_rarely_found() -> None:
    # Without Holm's correction 5.6% would be found.
    assert sum(split.found for split in splits(90, 12)) / 90 <= 0.05


@pytest.mark.many
def test_the_benchmark_prints_rates_beside_their_goal() -> None:
    figures = measure(tiny=True)
    assert figures[0].goal == 5
    assert [figure.name for figure in figures if figure.name.startswith("collusion: 5 alternation")]


RING: Mapping[str, str] = dict.fromkeys(("S1", "S2", "S3"), "cartel_sellers")
WITHOUT_TALK = "double_auction/collusion_silent"


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("arms")
    for folder in ("talk", "silent", "talk/references"):
        (root / folder).mkdir()
    for seed in (1, 2):
        played_by(root / "talk" / f"{seed}.trace", CHAT, RING, seed, "truthful")
        played_by(root / "silent" / f"{seed}.trace", WITHOUT_TALK, RING, seed, "truthful")
        played(root / "talk" / "references" / f"truthful-{seed}.trace", CHAT, "truthful", seed)
    return root


def test_a_trace_says_what_the_rules_played(folders: Path) -> None:
    fast = fast_game(CHAT, 1, {"buyer": "truthful", **RING})
    with open_trace(folders / "talk" / "1.trace") as trace:
        read = played_of(trace)
    assert game_of(read._replace(name=fast.name, pairing=fast.pairing), "sellers") == game_of(fast, "sellers")
    assert read.pairing.players == fast.pairing.players


def test_arms_and_references_are_paired_by_seed(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "collusion", str(folders / "talk"), "--against", str(folders / "silent"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["sample"]["episodes"], report["silent"]["episodes"]) == (2, 2)
    assert report["references"] == {"truthful": 2, "gd_bazaar": 0, "zip": 0}
    assert report["unpaired"] == []
    assert report["conclusion"] == "exploratory"
    assert any("gd_bazaar" in line for line in report["missing"])
    against = {(row["name"], row["against"]): row["n"] for row in report["versus"]}
    assert against["withheld", "silent"] == against["withheld", "truthful"] == 2


def test_figures_of_each_label_in_each_role(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mixed = tmp_path / "mixed"
    mixed.mkdir()
    played_by(mixed / "ring.trace", CHAT, RING, 1, "truthful")
    played_by(mixed / "some.trace", CHAT, {"S1": "zip"}, 2, "truthful")
    arguments = ["lab", "collusion", str(mixed), "--by", "label", "--play-references"]
    assert run([*arguments, "--json", "-o", str(tmp_path / "p.csv")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["references"] == {"truthful": 2, "gd_bazaar": 2, "zip": 2}
    episodes = {(row["player"], row["role"]): row["episodes"] for row in report["players"]}
    assert episodes == {
        ("policy:cartel_sellers", "seller"): 1,
        ("policy:truthful", "seller"): 1,
        ("policy:zip", "seller"): 1,
        ("policy:truthful", "buyer"): 2,
    }
    head, *rows = csv.reader((tmp_path / "p.csv").read_text().splitlines())
    assert head[0] == "role, player (episodes)"
    assert [row[0] for row in rows] == ["seller policy:cartel_sellers (1)"]
    monkeypatch.setenv("COLUMNS", "80")
    assert run(arguments) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("1 overcharge by player") for line in lines) == 1


def test_references_are_played_or_named_not_both(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = str(folders / "talk")
    assert run(["lab", "collusion", talk, "--references", talk, "--play-references"]) == 2
    assert "--play-references" in capsys.readouterr().err


def test_the_tables_fit_a_narrow_terminal(
    folders: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["lab", "collusion", str(folders / "talk"), "--against", str(folders / "silent")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("exploratory, no verdict") for line in lines) == 2


def test_a_trace_of_another_market_is_refused_and_among_references_it_is_named(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = played(tmp_path / "odd.trace", "bargaining/smoke", "random_legal")
    assert run(["lab", "collusion", str(folders / "talk" / "1.trace"), str(odd), "--json"]) == 1
    assert "these are traces of bargaining and double_auction" in " ".join(capsys.readouterr().err.split())
    asked = ["lab", "collusion", str(folders / "talk" / "1.trace"), "--references", str(odd), "--json"]
    assert run(asked) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding == "odd.trace: a trace of bargaining; the collusion report reads double_auction"


def test_a_trace_that_was_cut_short_is_named(folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = (folders / "talk" / "1.trace").read_bytes()
    (tmp_path / "cut.trace").write_bytes(whole[: len(whole) // 2])
    assert run(["lab", "collusion", str(folders / "talk" / "1.trace"), str(tmp_path / "cut.trace"), "--json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding.startswith("cut.trace: ")


@pytest.mark.many
def test_public_games_are_read_and_their_missing_arm_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    logs = sample_logs("emergent_collusion")[:9]
    run_importer("collusion-log", logs, tmp_path)
    assert run(["lab", "collusion", str(tmp_path), "--by", "label", "--play-references", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["sample"]["with_talk"] == 9
    assert report["references"] == {"truthful": 9, "gd_bazaar": 9, "zip": 9}
    assert sum(row["episodes"] for row in report["players"] if row["name"] == "overcharge") == 9 * 6
    assert report["missing"][0].startswith("the silent arm")
    assert report["primary"][0]["p"] is None
    assert report["conclusion"] in {"ambiguous", "no_signs"}


def test_a_figure_shows_each_measure_beside_its_null(
    folders: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["lab", "collusion", str(folders / "talk"), "--against", str(folders / "silent")]
    assert run([*asked, "--json", "-o", str(tmp_path / "c.csv")]) == 0
    report = json.loads(capsys.readouterr().out)
    head, *rows = csv.reader((tmp_path / "c.csv").read_text().splitlines())
    assert head == ["measure", "observed", "expected by chance"]
    known = {f"{row['measure']} {row['name']}": (row["value"], row["expected"]) for row in report["within"] if row["n"]}
    shown = {name.partition(" (")[0]: (float(value), float(null)) for name, value, null in rows}
    assert shown
    assert shown.items() <= known.items()
    assert run([*asked, "-o", str(tmp_path / "c.html")]) == 0
    assert run([*asked, "-o", str(tmp_path / "c.svg")]) == 0
    assert b"Each measure beside its null" in (tmp_path / "c.svg").read_bytes()
    assert run([*asked, "-o", str(tmp_path / "c.txt")]) == 2
