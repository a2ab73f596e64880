"""The benchmarks run; what they measure is no matter of tests.

Also here:
- The soak and the benchmark of many seats run, and keep what they promise.
"""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import orjson
import pytest
from benchmarks import frameworks, gate, importing, luck, sites, walk
from benchmarks.__main__ import main
from benchmarks.hosting import measure
from benchmarks.soak import soak
from benchmarks.soak_audit import Acknowledged, Told, audit

from tradefair.catalog import load_scenario, market_type
from tradefair.evaluation.site.plan import Wanted
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats

NAMES = (
    *("startup", "api", "walk", "verifying", "rounds", "recording", "calls", "calls_at_scale", "frameworks", "retail"),
    *("long_episode", "prompts", "tokens", "quotes", "tournament", "sweep", "evaluating", "sites", "ledger", "pricing"),
    *("order_book", "marketplace", "marketplace_load", "episodes"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_measures_something_beside_its_goals(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([name, "--tiny", "--json"])
    (measured,) = json.loads(capsys.readouterr().out).values()
    assert all(figure["value"] > 0 or figure["goal"] == 0 for figure in measured)
    assert any(figure["goal"] is not None for figure in measured)


def test_a_site_that_is_made_again_has_the_same_bytes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", "")
    assert sites.main(["--bundles", "2"]) == 0
    assert "0 files differ" in capsys.readouterr().out
    # It would see a difference.

    def elsewhere(title: str) -> Wanted:
        return Wanted(f"{title} in {os.environ['TRADEFAIR_CACHE']}")

    monkeypatch.setattr(sites, "Wanted", elsewhere)
    assert sites.main(["--bundles", "2"]) == 1
    assert "index.html" in capsys.readouterr().out.splitlines()


@pytest.mark.skipif("TRADEFAIR_DATA" not in os.environ, reason="TRADEFAIR_DATA names no sample data")
def test_the_rate_of_importing_is_that_of_each_kind_of_game_log(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = importing.measure(tiny=True)
    assert [figure.name.partition(":")[0] for figure in figures] == ["pact-log", "bazaar-log", "collusion-log"]
    assert all(figure.value > 0 for figure in figures)
    monkeypatch.delenv("TRADEFAIR_DATA")
    assert importing.measure(tiny=True) == []


def test_the_benchmark_of_frameworks_measures_what_is_installed_and_names_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = [name for name in ("langchain", "pydantic_ai", "agents") if find_spec(name) is None]
    figures = {figure.name: figure for figure in frameworks.measure(tiny=True)}
    assert {"react", "openai_loop"} <= figures.keys()
    assert all(figure.value > 0 for figure in figures.values())
    assert ("react over create_agent" in figures) == ("langchain" not in missing)
    assert ("not installed" in figures["react"].how) == bool(missing)


def test_the_table_shows_figure_and_goal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    main(["quotes", "--tiny"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "quotes by rules" in shown
    assert "50,000" in shown


def test_a_row_of_luck_is_measured_once_and_stands_in_its_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "luck.md"
    page.write_text("before\n\n<!-- begin luck -->\nof before\n<!-- end luck -->\nafter\n")
    luck.main(["teaching/pie", "--seconds", "0", "--write", str(page)])
    # No CPU second: the smallest size alone.
    (row,) = [line for line in page.read_text().splitlines() if line.startswith("| teaching/pie")]
    assert [cell.strip() for cell in row.split("|")[2:4]] == ["random_legal", "P1"]
    assert "| 20 x 2 |" in row
    assert "of before" not in page.read_text()
    # Kept: neither played nor measured again.
    monkeypatch.setattr(luck, "play_luck", None)
    luck.main(["teaching/pie", "--write", str(page)])
    assert row in page.read_text().splitlines()
    assert capsys.readouterr().out.count("teaching/pie | random_legal") == 2


@pytest.mark.parametrize("kind", gate.KINDS)
def test_a_deterioration_of_the_gate_changes_what_is_earned(kind: str) -> None:
    setting = gate.Side(gate.sides_of("pricing")[1][0].setting)
    assert gate.reward(setting._replace(name=kind, size=0.4), 1001)[0] != gate.reward(setting, 1001)[0]


def test_gates_are_counted_by_true_loss_and_equal_agents_lose_nothing_on_the_mean() -> None:
    rows = list(gate.power_table([gate.Gates("pricing", "own", 0.3, [("worse", 6), ("unknown", 32)])]))
    assert "| own, > 20 % | 1 | 0.500 | 0.500 | 0.000 | 0.500 | 19.0 |" in rows
    assert "| own, 5 to 20 % | 0 | – | – | – | – | – |" in rows
    # Of the plays 0, 3 and 9, two are the baseline's and the third is judged.
    losses = [gate.own_losses([[0.0] * 40, [3.0] * 40, [9.0] * 40], [0.0] * 40, "test", 0)]
    scale = {(a + b) / 2 - c for a, b, c in ((0, 3, 9), (0, 9, 3), (3, 9, 0))}
    assert len({round(loss, 9) for loss in losses[0]}) == len(scale)


def test_an_episode_walks_straight_through_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [figure.name for figure in walk.measure(tiny=True) if not figure.met] == []


def test_half_a_minute_of_bad_clients_and_two_kills_breaks_no_promise(tmp_path: Path) -> None:
    figures, broken = soak(0.5, 2, 5, tmp_path / "soak")
    assert broken == []
    told = {figure.name: figure.value for figure in figures}
    assert (told["soak: kills"], told["soak: lost"], told["soak: doubled"]) == (2, 0, 0)
    assert told["soak: acknowledged"] > 100


def test_many_seats_over_http_end_and_verify() -> None:
    figures = {figure.name: figure for figure in measure(tiny=True)}
    assert [figure.name for figure in figures.values() if figure.met is False] == []
    assert figures["hosting: HTTP 5xx"].value == 0


async def test_the_audit_of_a_soak_names_what_was_lost_doubled_or_answered_otherwise(tmp_path: Path) -> None:
    kind, scenario = market_type("double_auction"), load_scenario("double_auction", "smoke")
    plan = plan_seats(kind, scenario, agents=["B1"], others="truthful")
    episode = await new_episode(kind, scenario, 7, plan, tmp_path)
    result = await episode.call("B1", "submit_quote", {"price": 50}, call_key="kept")
    await episode.close()
    assert result.body is not None
    answer = orjson.loads(result.body)
    place = (episode.path.stem, "B1", "kept")
    assert audit(episode.path, {place: Acknowledged(answer, 0)}).complaints == []
    wrong: list[tuple[Told, str]] = [
        ({(*place[:2], "gone"): Acknowledged(answer, 0)}, "acknowledged and not there"),
        ({place: Acknowledged({}, 0)}, "another answer"),
        ({place: Acknowledged(answer, 3)}, "3 reads were answered before it"),
    ]
    for told, word in wrong:
        (complaint,) = audit(episode.path, told).complaints
        assert word in complaint
    damaged = bytearray(episode.path.read_bytes())
    at = damaged.index(b'"price":50')
    damaged[at + 8 : at + 10] = b"51"
    episode.path.write_bytes(damaged)
    assert any("damaged" in complaint for complaint in audit(episode.path, {}).complaints)
