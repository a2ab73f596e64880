"""Public games of the collusion study: everything that their logs say comes out of re-execution, messages too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.evaluation.tampering import PAYOFF, SEED, Change, Rows, row_of, setter, tampered, traded_quote
from tests.sample import check_traces, sample_logs

from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.foreign.importers.report import ImportReport
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.double_auction.collusion_log import import_game
from tradefair.evaluation.markets.double_auction.evaluator import EVALUATOR
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.store.seat_view import seat_lines
from tradefair.tracestore import open_trace


@pytest.fixture(scope="module")
def logs() -> list[Path]:
    return sample_logs("emergent_collusion")


@pytest.fixture(scope="module")
def imported(logs: list[Path], tmp_path_factory: pytest.TempPathFactory) -> ImportReport:
    return run_importer("collusion-log", logs, tmp_path_factory.mktemp("collusion"))


@pytest.mark.many
def test_every_sample_game_is_reproduced_in_every_fact(imported: ImportReport) -> None:
    report = imported.to_json()
    assert (report["games"], report["imported"], report["findings"]) == (45, 45, [])
    assert (report["rounds"], report["trades"]) == (360, 264)
    checks = report["checks"]
    assert all(check["matched"] == check["total"] for check in checks.values())
    totals = {name: check["total"] for name, check in checks.items()}
    assert (totals["values"], totals["speaking_orders"], totals["quote_orders"]) == (270, 360, 360)
    assert (totals["messages"], totals["recipients"], totals["visibility"]) == (2_049, 2_049, 270)
    assert (totals["half_ticks"], totals["makers"], totals["payoffs"]) == (98, 264, 528)
    assert {game.chance for game in imported.games} == {"log_maker_draw"}


def test_the_traces_verify_and_say_where_they_come_from(imported: ImportReport) -> None:
    check_traces(imported.games[::9], "collusion-log")


def test_what_one_seat_saw_holds_its_own_messages_and_no_trace_of_others(
    logs: list[Path], imported: ImportReport
) -> None:
    rows = [json.loads(line) for line in logs[0].read_text().splitlines()]
    said = [row for row in rows if row["type"] == "conversation"]
    secret = [row["message"] for row in said if row["recipient_id"] in ("S1", "S2", "S3", "all_sellers")]
    assert secret
    game = imported.games[0]
    assert game.trace is not None
    with open_trace(game.trace) as trace:
        seen = b"\n".join(seat_lines(trace, "B1")).decode()
    own = [row["message"] for row in said if row["player_id"] == "B1"]
    assert all(json.dumps(message, ensure_ascii=False)[1:-1] in seen for message in own)
    assert not any(json.dumps(message, ensure_ascii=False)[1:-1] in seen for message in set(secret) - set(own))
    events = [json.loads(line) for line in seen.splitlines()[1:]]
    assert {json.dumps(event["public"]) for event in events if event["event"] == "phase_closed"} == {
        json.dumps({"round": number}) for number in range(1, 9)
    }


@pytest.mark.many
def test_told_costs_are_found_in_real_talk(imported: ImportReport) -> None:
    game = imported.games[0]
    assert game.trace is not None
    with open_trace(game.trace) as trace:
        insight = EVALUATOR.insight(trace)
    assert isinstance(insight, Insight)
    assert insight.messages == {"send_message": "message"}
    leaks = 0
    for other in imported.games:
        diagnosis = evaluate_file(Path(str(other.trace))).diagnosis
        assert diagnosis is not None
        leaks += sum(diagnosis.of_seat(seat)["leak"].count or 0 for seat in ("S1", "S2", "S3"))
    assert leaks > 0


# --- damaged logs -----------------------------------------------------------------------------------------------------


def _talk(rows: Rows) -> list[int]:
    return [place for place, row in enumerate(rows) if row["type"] == "conversation"]


def _other_speaking_order(rows: Rows) -> None:
    first, second = _talk(rows)[:2]
    rows[first], rows[second] = rows[second], rows[first]


def _to_itself(rows: Rows) -> None:
    row = row_of(rows, "conversation")
    row["recipient_id"] = row["player_id"]


def _says(message: str) -> Change:
    return setter("conversation", "message", lambda _: message)


def _other_coin(rows: Rows) -> None:
    trade = next(row for row in rows if row["type"] == "trade" and (row["bid"] + row["ask"]) % 2)
    trade["clearing_random_pick"] = not trade["clearing_random_pick"]


def _twice(rows: Rows) -> None:
    place = _talk(rows)[0]
    rows.insert(place, dict(rows[place]))


@pytest.mark.parametrize(
    "change",
    [
        SEED,
        PAYOFF,
        setter("init", "data.agents.S1.cost", lambda cost: cost + 1),
        setter("conversation", "recipient_id", lambda _: "S9"),
        _to_itself,
        *map(_says, ("x" * 1_000_000, "a\u0000b", "  ")),
        _other_coin,
        traded_quote,
        _twice,
    ],
)
def test_a_changed_fact_is_a_finding_with_its_line(logs: list[Path], tmp_path: Path, change: Change) -> None:
    report = import_game(tampered(logs[0], tmp_path, change), tmp_path / "out")
    assert not report.sound
    assert all(finding.file == logs[0].name and finding.line >= 1 for finding in report.findings)


def test_a_game_whose_stream_is_left_is_fed_its_luck(logs: list[Path], tmp_path: Path) -> None:
    """A swapped speaking order is a warning, and the game can still be re-executed as recorded."""
    report = import_game(tampered(logs[0], tmp_path, _other_speaking_order), tmp_path / "out")
    assert (report.chance, report.sound) == ("recorded", True)
    (warning,) = report.to_json()["warnings"]
    assert "player_id, as log_maker_draw: the seed lets " in warning
    assert report.trace is not None
    assert verify_file(report.trace).verdict == "reproduced"


def test_a_silenced_message_leaves_a_sound_game(logs: list[Path], tmp_path: Path) -> None:
    """Silence is possible in every round: that a row is missing cannot be seen once the lines are numbered anew."""
    report = import_game(tampered(logs[0], tmp_path, lambda rows: rows.pop(_talk(rows)[-1])), tmp_path / "out")
    assert report.sound


def test_importers_refuse_the_other_kind_of_game(logs: list[Path], tmp_path: Path) -> None:
    as_bazaar = run_importer("bazaar-log", logs[:1], tmp_path)
    assert "is not a bazaar-log" in as_bazaar.games[0].findings[0].message

    def without_talk(rows: Rows) -> None:
        rows[0]["data"]["communication_enabled"] = False
        rows[:] = [row for row in rows if row["type"] != "conversation"]

    copy = tampered(logs[0], tmp_path, without_talk)
    assert "is not a collusion-log" in run_importer("collusion-log", [copy], tmp_path).games[0].findings[0].message

    pact = sample_logs("pact")[0]
    (refused,) = run_importer("collusion-log", [pact], tmp_path).games
    assert "that is a pact-log" in refused.findings[0].message
    assert refused.trace is None


def test_a_file_that_is_no_log_is_a_finding(tmp_path: Path) -> None:
    for content in (b"", b"{}\n", b"\xff\xfe\n", b'{"type":"init"}\n' * 3):
        path = tmp_path / "game.jsonl"
        path.write_bytes(content)
        report = import_game(path, tmp_path / "out")
        assert report.trace is None
        assert report.findings
