"""Public PACT games: everything that their logs say comes out of re-execution, or is a finding with its line."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sample import check_traces, sample_logs

from tradefair.evaluation.foreign.importers.report import ImportReport
from tradefair.evaluation.markets.bargaining.pact_log import import_game, import_games
from tradefair.trading.statements import read_statements


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> ImportReport:
    return import_games(sample_logs("pact"), tmp_path_factory.mktemp("pact"))


@pytest.mark.many
def test_every_sample_game_is_reproduced_in_every_fact(imported: ImportReport) -> None:
    report = imported.to_json()
    assert (report["games"], report["imported"], report["findings"]) == (37, 37, [])
    assert (report["rounds"], report["trades"]) == (740, 595)
    checks = report["checks"]
    assert all(check["matched"] == check["total"] for check in checks.values())
    totals = {name: check["total"] for name, check in checks.items()}
    assert (totals["messages"], totals["violations"], totals["quote_orders"]) == (1_390, 3, 740)
    assert (totals["speaking_orders"], totals["payoffs"], totals["half_ticks"]) == (650, 1_190, 65)


@pytest.mark.many
def test_the_generation_of_the_engine_is_found_by_replay(imported: ImportReport) -> None:
    assert Counter(game.chance for game in imported.games) == {"log_maker_draw": 29, "log_maker_order": 8}


def test_the_traces_verify_and_say_where_they_come_from(imported: ImportReport) -> None:
    check_traces(imported.games[::6], "pact-log")


def test_real_talk_is_read_within_the_stated_limits() -> None:
    """Every own_limit that hits the limit is a true disclosure; at most a fifth of the numbers stay unknown."""
    kinds: Counter[str] = Counter()
    for log in sample_logs("pact"):
        rows: list[dict[str, Any]] = [json.loads(line) for line in log.read_text().splitlines()]
        agents, rounds = rows[0]["data"]["agents"], rows[0]["data"]["num_rounds"]
        for row in rows:
            if row["type"] == "conversation":
                role = agents[row["player_id"]]["role"]
                kinds.update(one.kind for one in read_statements(row["message"], role, row["round"], rounds))
    assert kinds.total() > 2_500
    assert kinds["unknown"] / kinds.total() < 0.2
    assert kinds["own_quote"] > 700


def _tampered(log: Path, out: Path, change: Callable[[list[dict[str, Any]]], None]) -> Path:
    rows = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    change(rows)
    copy = out / log.name
    copy.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return copy


def _first(rows: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(row for row in rows if row["type"] == kind)


def _other_limit(rows: list[dict[str, Any]]) -> None:
    rows[0]["data"]["agents"]["B1"]["valuation"] += 1


def _other_quote(rows: list[dict[str, Any]]) -> None:
    traded = _first(rows, "trade")["round"]
    next(row for row in rows if row["type"] == "bid_ask" and row["round"] == traded)["price"] += 1


def _other_seed(rows: list[dict[str, Any]]) -> None:
    rows[0]["data"]["random_seed_value"] += 1


def _other_payoff(rows: list[dict[str, Any]]) -> None:
    rows[-1]["data"]["final_payoff_map"]["B1"] += 1


def _huge_price(rows: list[dict[str, Any]]) -> None:
    _first(rows, "bid_ask")["price"] = 10**6


@pytest.mark.parametrize("change", [_other_limit, _other_quote, _other_seed, _other_payoff, _huge_price])
def test_a_changed_fact_is_a_finding_with_its_line(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], None]
) -> None:
    report = import_game(_tampered(sample_logs("pact")[0], tmp_path, change), tmp_path / "out")
    assert not report.sound
    assert all(finding.file == sample_logs("pact")[0].name and finding.line >= 1 for finding in report.findings)


def _no_shares(rows: list[dict[str, Any]]) -> None:
    del rows[-1]["data"]["seat_surplus_share_map"]


def _one_share(rows: list[dict[str, Any]]) -> None:
    del rows[-1]["data"]["seat_surplus_share_map"]["B1"]


def _share_above_one(rows: list[dict[str, Any]]) -> None:
    rows[-1]["data"]["seat_surplus_share_map"]["B1"] = 1.45


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        (_no_shares, "data.seat_surplus_share_map", "Field required"),
        (_one_share, "data.seat_surplus_share_map.B1", "seat B1 is missing"),
        (_share_above_one, "data.seat_surplus_share_map.B1", "the log says 1.45"),
    ],
)
def test_a_share_that_is_missing_or_wrong_is_a_finding_with_file_line_and_field(
    tmp_path: Path, change: Callable[[list[dict[str, Any]]], None], field: str, says: str
) -> None:
    finding = import_game(_tampered(sample_logs("pact")[0], tmp_path, change), tmp_path / "out").findings[0]
    lines = sample_logs("pact")[0].read_text().splitlines()
    assert (finding.file, finding.line, finding.field) == (sample_logs("pact")[0].name, len(lines), field)
    assert says in finding.message


def test_a_file_that_is_no_log_is_a_finding(tmp_path: Path) -> None:
    for content in (b"", b"{}\n", b"\xff\xfe\n", b'{"type":"init"}\n' * 3):
        path = tmp_path / "game.jsonl"
        path.write_bytes(content)
        report = import_game(path, tmp_path / "out")
        assert report.trace is None
        assert report.findings
    assert import_game(tmp_path / "absent.jsonl", tmp_path).findings[0].message.startswith("cannot be read")
