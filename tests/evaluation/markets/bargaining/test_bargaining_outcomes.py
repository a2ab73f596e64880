"""Outcomes, pictures and general findings of bargaining, from the traces of scripted games.

Also here:
- Public PACT games: everything that their logs say comes out of re-execution, or is a finding with its line.
"""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.playing import played_by
from tests.evaluation.tampering import PAYOFF, SEED, Change, Rows, row_of, setter, tampered, traded_quote, without
from tests.sample import check_traces, sample_logs

from tradefair.cli import run
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.foreign.importers.report import GameReport, ImportReport
from tradefair.evaluation.judge.evaluate import Evaluation, charts_of, evaluate_file
from tradefair.evaluation.markets.bargaining.evaluator import EVALUATOR
from tradefair.evaluation.markets.bargaining.pact_log import import_game
from tradefair.evaluation.prove.verify import verify_file
from tradefair.tracestore import open_trace
from tradefair.trading.statements import read_statements

LIMITS: dict[str, Any] = {"distribution": "fixed", "buyer_value": 90, "seller_cost": 20}


def _game(path: Path, buyer: str, seller: str, preset: str = "pact", seed: int = 1, **overrides: Any) -> Path:
    return played_by(path, f"bargaining/{preset}", {"B1": buyer, "S1": seller}, seed, None, **overrides)


@pytest.fixture
def evaluate(tmp_path: Path) -> Any:
    def _evaluate(buyer: str, seller: str, preset: str = "pact", seed: int = 1, **overrides: Any) -> Evaluation:
        return evaluate_file(_game(tmp_path / f"{buyer}-{seller}.trace", buyer, seller, preset, seed, **overrides))

    return _evaluate


def test_a_game_of_the_specification_has_its_figures(evaluate: Any) -> None:
    """anchor_freeze against conceder, v = 80, c = 30: 18 trades at 47."""
    outcome = evaluate(
        "anchor_freeze", "conceder", "silent", distribution="fixed", buyer_value=80, seller_cost=30
    ).outcome
    buyer, seller, pair = outcome.seats["B1"], outcome.seats["S1"], outcome.market_outcome
    assert (buyer.profit, seller.profit, pair.trades, pair.gap) == (594, 306, 18, 50)
    assert (pair.first_trade_round, pair.trade_frequency, pair.efficiency) == (3, 0.9, 0.9)
    assert (pair.price_mean, pair.price_position) == (47, 0.34)
    assert (buyer.surplus_share, buyer.surplus_share_raw) == (0.594, 0.594)
    # The seller asked 72, 49, then 46: the best replies earn 8 + 31 + 18·34.
    assert (buyer.hindsight_profit, buyer.hindsight_regret) == (651, 57)
    assert buyer.quote_offsets == [32] * 20
    assert outcome.findings == []


def test_the_path_of_a_game_is_told_by_round_from_both_sides(evaluate: Any) -> None:
    """boulware against conceder, v = 80, c = 30: they meet at 35 in rounds 12 to 20."""
    outcome = evaluate("boulware", "conceder", "silent", distribution="fixed", buyer_value=80, seller_cost=30).outcome
    buyer, seller = outcome.seats["B1"], outcome.seats["S1"]
    assert buyer.quote_offsets[:2] == [48, 48]
    assert buyer.opponent_offsets[:2] == seller.quote_offsets[:2] == [42, 19]
    assert buyer.traded == seller.traded == [False] * 11 + [True] * 9
    assert buyer.trade_offsets == [None] * 11 + [45] * 9
    assert seller.trade_offsets == [None] * 11 + [5] * 9
    assert [offset or 0 for offset in buyer.trade_offsets] == buyer.profits


def test_regret_is_normalised_by_references_on_the_same_limits(evaluate: Any) -> None:
    outcomes = {
        label: evaluate(buyer, seller, "silent", **LIMITS).outcome
        for label, buyer, seller in (
            ("agent", "linear_concession", "conceder"),
            ("policy:passive", "passive", "conceder"),
            ("policy:oracle", "oracle", "conceder"),
            ("all:linear_equilibrium", "linear_equilibrium", "linear_equilibrium"),
        )
    }
    profits = {label: outcome.seats["B1"].profit for label, outcome in outcomes.items()}
    assert profits["policy:passive"] == 0 < profits["policy:oracle"]
    found = EVALUATOR.relative("B1", outcomes)
    regret = 1 - profits["agent"] / profits["policy:oracle"]
    assert found["agent"]["normalised_regret"] == pytest.approx(regret, abs=1e-9)
    assert found["policy:oracle"]["normalised_regret"] == 0
    assert found["agent"]["over_equilibrium"] == profits["agent"] - profits["all:linear_equilibrium"]
    alone = EVALUATOR.relative("B1", {"agent": outcomes["agent"]})
    assert alone == {"agent": {"normalised_regret": None, "over_equilibrium": None}}


def test_what_is_not_played_is_not_counted(evaluate: Any) -> None:
    outcome = evaluate("truthful", "silent_lapser").outcome
    assert outcome.seats["S1"].forfeits == 20
    assert outcome.seats["S1"].lapses == {"agent_limit": 20}
    pair = outcome.market_outcome
    assert (pair.trades, pair.any_trade, pair.price_position, pair.first_trade_round) == (0, False, None, 21)


@pytest.mark.parametrize("pair", [("random_legal", "random_within_value"), ("loss_maker", "random_legal")])
def test_accounts_of_a_game_balance(evaluate: Any, pair: tuple[str, str]) -> None:
    for seed in range(1, 4):
        outcome = evaluate(*pair, "silent", seed)
        buyer, seller, both = outcome.outcome.seats["B1"], outcome.outcome.seats["S1"], outcome.outcome.market_outcome
        assert buyer.profit + seller.profit == both.gap * both.trades
        assert both.efficiency == pytest.approx(both.trade_frequency)
        assert min(buyer.hindsight_regret, seller.hindsight_regret) >= 0
        assert both.trades == sum(buyer.traded)


def test_losses_are_floored_in_shares_only(evaluate: Any) -> None:
    outcome = evaluate("loss_maker", "sitter", **LIMITS).outcome
    buyer = outcome.seats["B1"]
    assert buyer.profit == -200
    assert (buyer.losses, buyer.loss_rounds) == (200, 20)
    assert (buyer.surplus_share, buyer.surplus_share_raw) == (0, -0.142857143)
    # G > 0: a trade can cost one side money all the same.
    assert (outcome.market_outcome.gap, outcome.market_outcome.lossy_trades) == (70, 20)


def test_a_share_is_above_one_where_the_other_seat_paid_for_more_than_there_was(evaluate: Any) -> None:
    outcome = evaluate("loss_maker", "sitter", distribution="fixed", buyer_value=90, seller_cost=89).outcome
    seller = outcome.seats["S1"]
    assert seller.profit > outcome.market_outcome.potential == 20
    assert seller.surplus_share == seller.surplus_share_raw == seller.profit / 20 > 1


@pytest.mark.parametrize(
    ("pair", "value", "cost", "losers"),
    [
        (("loss_maker", "sitter"), 90, 20, ["B1"]),
        (("sitter", "loss_maker"), 90, 10, ["S1"]),
        (("loss_maker", "loss_maker"), 50, 51, ["B1", "S1"]),
        (("truthful", "truthful"), 90, 20, []),
    ],
)
def test_every_trade_at_a_loss_is_counted_whoever_loses(
    evaluate: Any, pair: tuple[str, str], value: int, cost: int, losers: list[str]
) -> None:
    limits = {"distribution": "fixed", "buyer_value": value, "seller_cost": cost}
    outcome = evaluate(*pair, **limits).outcome
    both = outcome.market_outcome
    assert both.trades
    assert {seat for seat, seen in outcome.seats.items() if seen.losses} == set(losers)
    assert both.lossy_trades == (both.trades if losers else 0)


def test_words_are_counted_by_seat(evaluate: Any) -> None:
    outcome = evaluate("linear_concession", "passive", **LIMITS).outcome
    buyer, seller = outcome.seats["B1"], outcome.seats["S1"]
    assert (buyer.messages, buyer.words) == (20, 20 * 6)
    assert (seller.messages, seller.words) == (0, 0)


@pytest.mark.parametrize(
    ("found", "positive", "negative"),
    [
        ("leak", ("leaker", "conceder"), ("numeric_talker", "conceder")),
        ("value_breach", ("loss_maker", "sitter"), ("truthful", "truthful")),
        ("idle_drift", ("silent_lapser", "truthful"), ("truthful", "truthful")),
    ],
)
def test_a_general_failure_mode_is_found_where_it_is_and_only_there(
    evaluate: Any, found: str, positive: tuple[str, str], negative: tuple[str, str]
) -> None:
    finding = evaluate(*positive, **LIMITS).diagnosis.of_seat("B1")[found]
    # The market's own modes tell the first two.
    assert finding.status == ("raised" if found == "idle_drift" else "merged")
    assert finding.events
    assert evaluate(*negative, **LIMITS).diagnosis.of_seat("B1")[found].status == "clear"


def test_the_pictures_show_quotes_profits_and_gains(tmp_path: Path) -> None:
    path = _game(tmp_path / "game.trace", "linear_concession", "linear_concession")
    with open_trace(path) as trace:
        drawn, problem = charts_of(trace, EVALUATOR)
    assert ([chart.id for chart in drawn], problem) == (["quotes", "profits", "gains"], None)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> ImportReport:
    return run_importer("pact-log", sample_logs("pact"), tmp_path_factory.mktemp("pact"))


@pytest.mark.many
def test_every_sample_game_is_reproduced_in_every_fact(imported: ImportReport) -> None:
    report = imported.to_json()
    assert (report["games"], report["imported"], report["findings"]) == (37, 37, [])
    assert (report["rounds"], report["trades"]) == (740, 595)
    checks = report["checks"]
    assert all(check["matched"] == check["total"] for check in checks.values())
    # The older engine logged no answers: whether a quote at the limit is the seat's own, nobody knows.
    assert report["optional"] == {"raw_response": {"matched": 0, "total": 178}}
    assert [text[:5] for text in report["warnings"]] == ["note:"]
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
        rows: Rows = [json.loads(line) for line in log.read_text().splitlines()]
        agents, rounds = rows[0]["data"]["agents"], rows[0]["data"]["num_rounds"]
        for row in rows:
            if row["type"] == "conversation":
                role = agents[row["player_id"]]["role"]
                kinds.update(one.kind for one in read_statements(row["message"], role, row["round"], rounds))
    assert kinds.total() > 2_500
    assert kinds["unknown"] / kinds.total() < 0.2
    assert kinds["own_quote"] > 700


@pytest.mark.parametrize(
    "change",
    [
        setter("init", "data.agents.B1.valuation", lambda value: value + 1),
        traded_quote,
        SEED,
        PAYOFF,
        setter("bid_ask", "price", lambda _: 10**6),
    ],
)
def test_a_changed_fact_is_a_finding_with_its_line(tmp_path: Path, change: Change) -> None:
    report = import_game(tampered(sample_logs("pact")[0], tmp_path, change), tmp_path / "out")
    assert not report.sound
    assert all(finding.file == sample_logs("pact")[0].name and finding.line >= 1 for finding in report.findings)


_SHARES = "data.seat_surplus_share_map"
_SHARE = setter("final", f"{_SHARES}.B1", lambda _: 7.75)
_POTENTIAL = setter("final", "data.seat_max_potential_surplus_map.B1", lambda most: most + 1)


@pytest.mark.parametrize(("field", "says"), [(_SHARES, "Field required"), (f"{_SHARES}.B1", "seat B1 is missing")])
def test_a_share_that_is_missing_is_a_finding_with_file_line_and_field(tmp_path: Path, field: str, says: str) -> None:
    finding = import_game(
        tampered(sample_logs("pact")[0], tmp_path, without("final", field)), tmp_path / "out"
    ).findings[0]
    lines = sample_logs("pact")[0].read_text().splitlines()
    assert (finding.file, finding.line, finding.field) == (sample_logs("pact")[0].name, len(lines), field)
    assert says in finding.message


def _maker(rows: Rows) -> None:
    trade = row_of(rows, "trade")
    trade["maker_id"] = "S1" if trade["maker_id"] == "B1" else "B1"


def _unknown(rows: Rows) -> None:
    for row in rows:
        row["mood"] = {"calm": [1]}
    rows[-1]["data"]["mood"] = 0.5


@pytest.mark.parametrize(
    ("change", "kind", "says"),
    [
        (_SHARE, "final_shares", "final_shares differ in 1 of 2 facts (read off samples, no rule of the source); "),
        (_POTENTIAL, "final_potentials", "final_potentials differ in 1 of 2 facts"),
        (_maker, "generations", "generations differ in 1 of 1 facts"),
        (without("final", "data.seat_csa_map"), "", ""),
        (_unknown, "", ""),
    ],
)
def test_what_only_samples_have_told_is_a_warning_and_the_game_is_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Change, kind: str, says: str
) -> None:
    log = tampered(sample_logs("pact")[0], tmp_path, change)
    for words in (["pact-log", str(log)], [str(log)]):
        assert run(["import", *words, "--out", str(tmp_path / "out"), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        told = told if "checks" in told else told["files"][0]["game"]
        differ = {name for name, check in told["checks"].items() if check["matched"] < check["total"]}
        assert differ == ({kind} if kind else set())
        assert not kind or told["checks"][kind]["basis"] == "sample"
        assert told["checks"]["payoffs"]["basis"] == "rule"
        (warning, *more) = [text for text in told["warnings"] if text.startswith("warning")] or [""]
        assert not more
        assert says in warning
        run(["import", *words, "--out", str(tmp_path / "out")])
        assert says.split(";")[0][:30] in capsys.readouterr().out
    assert verify_file(tmp_path / "out" / f"{log.stem}.trace").verdict == "reproduced"


@pytest.mark.parametrize(
    ("answer", "substituted"),
    [("<price>{}</price>", False), ("no price", True), ("<price>{0}</price> <price>{0}</price>", True)],
)
def test_a_quote_at_the_own_limit_without_one_price_tag_was_put_there_by_the_source(
    tmp_path: Path, answer: str, substituted: bool
) -> None:
    def say(rows: Rows) -> None:
        for row in rows:
            if row["type"] == "bid_ask":
                row["raw_response"] = answer.format(row["price"])

    log = next(log for log in sample_logs("pact") if _substituted(import_game(log, tmp_path)) is None)
    report = import_game(tampered(log, tmp_path, say), tmp_path / "told")
    assert report.sound
    assert not report.to_json()["warnings"]
    limits = report.optional["raw_response"].total
    assert _substituted(report) == (limits if substituted else 0)


def _substituted(report: GameReport) -> int | None:
    """How many quotes the trace of a game calls substituted; None where it does not know."""
    with open_trace(str(report.trace)) as trace:
        origin: Any = (trace.seating().origin or {})["imported_from"]
    return None if origin["substituted"] is None else len(origin["substituted"])


def _all_at_100(rows: Rows) -> None:
    """The buyer pays 100 in every round, far above its value."""
    agents = rows[0]["data"]["agents"]
    gains = {"B1": agents["B1"]["valuation"] - 100, "S1": 100 - agents["S1"]["cost"]}
    for row in rows:
        sums = {seat: gain * row.get("round", 20) for seat, gain in gains.items()}
        match row["type"]:
            case "bid_ask":
                row["price"] = 100
            case "trade":
                row.update(bid=100, ask=100, cleared_price=100, midpoint_exact=100.0)
            case "payoff_change":
                gain = gains[row["seat_id"]]
                row.update(new_payoff=sums[row["seat_id"]], old_payoff=sums[row["seat_id"]] - gain, delta=gain)
            case "round_end":
                row["data"].update(payoff_map=sums, clearing_prices=[100])
            case "final":
                shares = {seat: max(0, gain) / sum(gains.values()) for seat, gain in gains.items()}
                row["data"].update(final_payoff_map=sums, seat_surplus_share_map=shares)
            case _:
                pass


def test_a_seat_whose_counterpart_lost_money_has_its_share_as_logged(tmp_path: Path) -> None:
    log = next(log for log in sample_logs("pact") if log.name.startswith("auction_647bda3f_5_"))
    report = import_game(tampered(log, tmp_path, _all_at_100), tmp_path / "out")
    assert report.sound, report.findings
    assert report.checks["final_shares"].first is None
    seller = evaluate_file(str(report.trace)).outcome
    assert seller is not None
    assert seller.seats["S1"].surplus_share == pytest.approx(83 / 71)


def test_a_file_that_is_no_log_is_a_finding(tmp_path: Path) -> None:
    for content in (b"", b"{}\n", b"\xff\xfe\n", b'{"type":"init"}\n' * 3):
        path = tmp_path / "game.jsonl"
        path.write_bytes(content)
        report = import_game(path, tmp_path / "out")
        assert report.trace is None
        assert report.findings
    assert import_game(tmp_path / "absent.jsonl", tmp_path).findings[0].message.startswith("cannot be read")
