"""

Also here:
- Public games of the collusion study: everything that their logs say comes out of re-execution, messages too.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.evaluation.mutations import parts_of, reseat, write_parts
from tests.evaluation.tampering import PAYOFF, SEED, Change, Row, Rows, row_of, setter, tampered, traded_quote
from tests.sample import check_traces, sample_logs

from tradefair.contract import ScenarioError
from tradefair.evaluation.foreign.importers import run_importer
from tradefair.evaluation.foreign.importers.report import GameReport, ImportReport
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.double_auction import source_table
from tradefair.evaluation.markets.double_auction.collusion_log import import_game
from tradefair.evaluation.markets.double_auction.evaluator import EVALUATOR
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.read.objects import mapping
from tradefair.evaluation.store.seat_view import seat_lines
from tradefair.tracestore import open_trace
from tradefair.trading.chance import ChanceKind, open_chance
from tradefair.trading.clearing import Match, benchmarks, clear, potentials
from tradefair.trading.values import Acceptance, Roster

_SEATS = ("S2", "B1", "B2", "S1")
_ROUNDS = 4
_LABELS = {"S2": "an-llm", "B1": "truthful", "B2": "gdx", "S1": "shading5"}


class _Source:
    """Plays a public game as its source would, from the log's stream by the shared pieces alone, and tells its rows."""

    def __init__(self, kind: ChanceKind, seed: int) -> None:
        self.roster = Roster.of(2, 2)
        self.seed = seed
        self._chance = open_chance(kind, seed, self.roster, seat_order=_SEATS)
        self.values = self._chance.limits("uniform", Acceptance()).values
        self.demand, self.supply = ({seat: self.values[seat] for seat in side} for side in self.roster)
        self.possible = benchmarks(self.demand.values(), self.supply.values(), 100)
        self.payoffs: dict[str, float] = dict.fromkeys(_SEATS, 0.0)

    def init(self) -> Row:
        agents = {
            seat: {
                "role": "buyer" if seat in self.demand else "seller",
                "model_name": _LABELS[seat],
                "is_llm": seat == "S2",
                "valuation": self.demand.get(seat),
                "cost": self.supply.get(seat),
                "strategy_params": None,
            }
            for seat in _SEATS
        }
        sizes = {"num_rounds": _ROUNDS, "num_buyers": 2, "num_sellers": 2}
        stream = {"distribution": "uniform", "random_seed_value": self.seed, "communication_enabled": False}
        return {"type": "init", "data": {**stream, **sizes, "agents": agents}}

    def round(self, number: int) -> list[Row]:
        order = self._chance.quote_order(number)
        bids = {seat: max(0, self.values[seat] - number) for seat in order if seat in self.demand}
        asks = {seat: min(100, self.values[seat] + 2 * number) for seat in order if seat in self.supply}
        matches = clear(
            bids,
            asks,
            order,
            lambda pair: self._chance.round_up(number, pair),
            lambda pair, earlier: self._chance.maker(number, pair, earlier),
        )
        prices = {**bids, **asks}
        rows = [{"type": "bid_ask", "agent_id": seat, "price": prices[seat], "response_time_s": 1.5} for seat in order]
        for match in matches:
            rows += self._trade(match)
        return [{**row, "round": number} for row in [*rows, self._end(number, matches)]]

    def _trade(self, match: Match) -> Iterator[Row]:
        yield {
            "type": "trade",
            "buyer_id": match.buyer,
            "seller_id": match.seller,
            "bid": match.bid,
            "ask": match.ask,
            "cleared_price": float(match.price),
            "midpoint_exact": (match.bid + match.ask) / 2,
            "clearing_random_pick": match.coin == "up",
            "maker_id": match.maker,
        }
        for seat, sign in ((match.buyer, 1), (match.seller, -1)):
            gain = sign * (self.values[seat] - match.price)
            old = self.payoffs[seat]
            self.payoffs[seat] += gain
            change = {"old_payoff": old, "new_payoff": self.payoffs[seat], "delta": float(gain)}
            yield {"type": "payoff_change", "seat_id": seat, **change}

    def _end(self, number: int, matches: list[Match]) -> Row:
        prices = [match.price for match in matches]
        surplus = sum(self.values[match.buyer] - self.values[match.seller] for match in matches)
        data = {
            "round": number,
            "payoff_map": dict(self.payoffs),
            "clearing_prices": prices,
            "round_surplus": float(surplus),
            "max_surplus": self.possible.max_surplus,
            "normalized_surplus": surplus / self.possible.max_surplus,
            "trade_count": len(prices),
            "avg_price": statistics.fmean(prices) if prices else 0.0,
            "price_volatility": statistics.pstdev(prices) if prices else 0.0,
        }
        return {"type": "round_end", "data": data}

    def final(self) -> Row:
        most, total = potentials(self.demand, self.supply), sum(self.payoffs.values())
        shares = {seat: max(0.0, won) / (_ROUNDS * most[seat] or 1) for seat, won in self.payoffs.items()}
        data = {
            "aborted": False,
            "final_payoff_map": self.payoffs,
            "seat_max_potential_surplus_map": most,
            "seat_surplus_share_map": shares,
            "seat_csa_map": {"S2": 1.25, "B1": -0.5, "B2": 0.0, "S1": -5},
            "total_surplus": total,
            "max_surplus": _ROUNDS * self.possible.max_surplus,
            "market_efficiency": total / (_ROUNDS * self.possible.max_surplus),
        }
        return {"type": "final", "data": data}


def _game(kind: ChanceKind = "log_maker_draw", seed: int = 20250713) -> list[Row]:
    source = _Source(kind, seed)
    rounds = [row for number in range(1, _ROUNDS + 1) for row in source.round(number)]
    return _numbered([source.init(), *rounds, source.final()], source.roster)


def _numbered(rows: list[Row], roster: Roster) -> list[Row]:
    head = {"schema_version": "1.4.0", "game_id": "test_1", "model_name": None, "strategy": None}
    numbered: list[Row] = []
    for number, row in enumerate(rows, 1):
        extra: Row = {}
        if row["type"] == "bid_ask":
            extra = {"role": "buyer" if row["agent_id"] in roster.buyers else "seller"}
            extra["timestamp"] = f"2025-07-16 11:{number % 60:02d}:30"
        numbered.append({**head, **row, **extra, "log_sequence": number})
    return numbered


def _import(rows: list[Row] | bytes, folder: Path, name: str = "game.jsonl") -> GameReport:
    file = folder / name
    file.write_bytes(rows if isinstance(rows, bytes) else b"\n".join(map(orjson.dumps, rows)))
    (game,) = run_importer("bazaar-log", [file], folder / "out").games
    return game


@pytest.fixture(scope="session")
def sample_import(tmp_path_factory: pytest.TempPathFactory) -> tuple[ImportReport, Path]:
    out = tmp_path_factory.mktemp("imported")
    return run_importer("bazaar-log", sample_logs("bazaar"), out), out


def test_every_public_sample_game_is_reproduced_completely(sample_import: tuple[ImportReport, Path]) -> None:
    report, _ = sample_import
    content = report.to_json()
    assert report.sound
    assert (content["games"], content["imported"], content["rounds"], content["trades"]) == (16, 16, 480, 523)
    checks: Mapping[str, Mapping[str, int]] = content["checks"]
    assert all(tally["matched"] == tally["total"] > 0 for tally in checks.values())
    totals = {kind: tally["total"] for kind, tally in checks.items()}
    assert (totals["values"], totals["matches"], totals["prices"], totals["payoffs"]) == (128, 480, 523, 1046)
    # The seven games whose single random stream can be followed (double_auction page, 13).
    assert (totals["quote_orders"], totals["makers"], totals["half_ticks"]) == (210, 244, 101)
    # The published table behind the scores has the keys of 93 of the 128 seats.
    assert totals["scores"] == 93
    assert sorted(game["chance"] for game in content["per_game"]) == ["log_maker_draw"] * 7 + ["recorded"] * 9


def test_every_imported_sample_game_verifies_and_can_be_evaluated(sample_import: tuple[ImportReport, Path]) -> None:
    _, out = sample_import
    traces = sorted(out.glob("*.trace"))
    assert [verify_file(path).verdict for path in traces] == ["reproduced"] * 16
    outcomes = [outcome for path in traces if (outcome := evaluate_file(path).outcome) is not None]
    assert len(outcomes) == 16
    assert not any(outcome.findings for outcome in outcomes)
    seats = [seat for outcome in outcomes for seat in outcome.seats.values()]
    assert {outcome.market_outcome.csa_source_missing for outcome in outcomes} == {0}
    solved, filled = ([seat for seat in seats if seat.csa_source_basis == basis] for basis in ("solved", "filled"))
    assert (len(solved), len(filled)) == (128 - 35, 35)
    assert all(seat.csa_source == pytest.approx(seat.csa_logged, abs=1e-6) for seat in solved)
    assert {seat.csa_source_error for seat in solved} == {0.0}
    # An estimate, and about as far off as it says.
    off = sorted(abs((seat.csa_source or 0) - (seat.csa_logged or 0)) for seat in filled)
    assert off[len(off) // 2] < 0.05
    assert off[len(off) * 9 // 10] < 0.20
    assert all(0 < (seat.csa_source_error or 0) < 0.5 for seat in filled)
    # The all-truthful table is another one: more than a quarter of the seats score otherwise by it.
    assert sum(seat.csa != pytest.approx(seat.csa_logged, abs=0.1) for seat in seats) > 32


@pytest.mark.parametrize("kind", ["log_maker_draw", "log_maker_order"])
def test_a_game_is_followed_from_its_seed_in_both_generations(tmp_path: Path, kind: ChanceKind) -> None:
    game = _import(_game(kind), tmp_path)
    assert game.sound, game.findings
    assert (game.chance, game.rounds) == (kind, _ROUNDS)
    assert game.checks["quote_orders"].matched == _ROUNDS
    assert verify_file(tmp_path / "out" / "game.trace").verdict == "reproduced"


def test_a_game_that_shares_its_stream_is_fed_its_luck(tmp_path: Path) -> None:
    rows = _game()
    row_of(rows, "init")["data"]["agents"]["B2"]["model_name"] = "roth_erev"
    game = _import(rows, tmp_path)
    assert game.sound, game.findings
    assert game.chance == "recorded"
    assert "makers" not in game.checks
    with open_trace(game.trace or "") as trace:
        inputs = [event for event in trace.decoded() if event["event"] == "input"]
    assert [event["source"] for event in inputs] == ["recorded_chance"] * _ROUNDS
    assert verify_file(game.trace or "").verdict == "reproduced"


def test_labels_and_origin_of_a_log_stand_in_its_first_event_and_times_beside_the_chain(tmp_path: Path) -> None:
    game = _import(_game(), tmp_path)
    with open_trace(game.trace or "") as trace:
        about, seating = trace.manifest.about, trace.seating()
        side = [row for row in trace.side() if row.seat is not None]
    assert seating.labels == _LABELS
    origin: Any = (seating.origin or {})["imported_from"]
    assert origin["game_id"] == "test_1"
    assert str(about["created"]).startswith("2025-07-16T11:")
    assert len(side) == 4 * _ROUNDS
    assert {(row.latency_us, row.transport) for row in side} == {(1_500_000, "import")}


def test_importing_twice_gives_the_same_trace(tmp_path: Path) -> None:
    first = verify_file(_import(_game(), tmp_path).trace or "")
    second = verify_file(_import(_game(), tmp_path).trace or "")
    assert first.head_hash == second.head_hash
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["game.trace"]


_MOST, _SHARES = "data.seat_max_potential_surplus_map", "data.seat_surplus_share_map"


@pytest.mark.parametrize(
    ("field", "tamper"),
    [
        ("data.agents.B1.valuation", setter("init", "data.agents.B1.valuation", lambda value: value - 1)),
        ("data.agents.B1.valuation", SEED),
        ("cleared_price", setter("trade", "cleared_price", lambda price: price + 1)),
        ("midpoint_exact", setter("trade", "midpoint_exact", lambda price: price + 0.5)),
        ("bid", setter("trade", "bid", lambda price: price - 1)),
        ("new_payoff", setter("payoff_change", "new_payoff", lambda payoff: payoff + 1)),
        ("data.payoff_map.S1", setter("round_end", "data.payoff_map.S1", lambda payoff: payoff + 1, skip=2)),
        ("data.round_surplus", setter("round_end", "data.round_surplus", lambda total: total + 1)),
        ("data.max_surplus", setter("round_end", "data.max_surplus", lambda total: total + 1)),
        ("data.normalized_surplus", setter("round_end", "data.normalized_surplus", lambda share: share + 1e-6)),
        ("data.clearing_prices", setter("round_end", "data.clearing_prices", lambda prices: [*prices, 1])),
        ("data.trade_count", setter("round_end", "data.trade_count", lambda count: count + 1)),
        ("data.final_payoff_map.B2", setter("final", "data.final_payoff_map.B2", lambda payoff: payoff + 1)),
        ("data.total_surplus", setter("final", "data.total_surplus", lambda total: total + 1)),
        ("data.max_surplus", setter("final", "data.max_surplus", lambda total: total + 1)),
        ("data.market_efficiency", setter("final", "data.market_efficiency", lambda share: share - 1e-6)),
    ],
)
def test_a_number_that_re_execution_does_not_give_is_a_finding_with_line_and_field(
    tmp_path: Path, field: str, tamper: Callable[[list[Row]], Row]
) -> None:
    rows = _game()
    changed = tamper(rows)
    game = _import(rows, tmp_path)
    assert not game.sound
    named = {(finding.file, finding.field) for finding in game.findings}
    assert ("game.jsonl", field) in named
    assert changed["log_sequence"] in {finding.line for finding in game.findings if finding.field == field}


@pytest.mark.parametrize(
    ("kind", "field", "change"),
    [
        ("round_price_sds", "data.price_volatility", setter("round_end", "data.price_volatility", lambda sd: sd + 1)),
        ("final_potentials", f"{_MOST}.B2", setter("final", f"{_MOST}.B2", lambda most: most + 1)),
        ("final_shares", f"{_SHARES}.B1", setter("final", f"{_SHARES}.B1", lambda share: 7.75)),
    ],
)
def test_a_number_whose_form_was_read_off_samples_is_a_warning_with_line_and_field(
    tmp_path: Path, kind: str, field: str, change: Callable[[list[Row]], Row]
) -> None:
    rows = _game()
    changed = change(rows)
    game = _import(rows, tmp_path)
    assert game.sound
    told = game.to_json()
    check = told["checks"][kind]
    assert (check["matched"], check["basis"]) == (check["total"] - 1, "sample")
    (warning,) = told["warnings"]
    assert f"{kind} differ in 1 of {check['total']} facts" in warning
    assert f"game.jsonl:{changed['log_sequence']} {field}, the log says " in warning


def test_the_scores_of_a_log_are_kept_and_no_other_game_has_any(tmp_path: Path, play: Any) -> None:
    game = _import(_game(), tmp_path)
    outcome = evaluate_file(game.trace or "").outcome
    assert outcome is not None
    kept = {seat: result.csa_logged for seat, result in outcome.seats.items()}
    assert kept == {"B1": -0.5, "B2": 0.0, "S1": -5.0, "S2": 1.25}
    # Four seats over four rounds are not what the published table is about.
    assert "scores" not in game.checks
    assert outcome.market_outcome.csa_source_missing is None
    played = evaluate_file(play("double_auction/smoke", "truthful")).outcome
    assert played is not None
    assert {seat.csa_logged for seat in played.seats.values()} == {None}


@pytest.mark.parametrize(
    ("scores", "field"),
    [
        ([1, 2], "data.seat_csa_map"),
        ({"B1": 0, "B2": 0, "S1": 0, "S2": 0, "S9": 0}, "data.seat_csa_map.S9"),
        ({"B1": "0", "B2": 0, "S1": 0, "S2": 0}, "data.seat_csa_map.B1"),
        ({"B1": True, "B2": 0, "S1": 0, "S2": 0}, "data.seat_csa_map.B1"),
        ({"B1": 1e7, "B2": 0, "S1": 0, "S2": 0}, "data.seat_csa_map.B1"),
    ],
)
def test_damaged_scores_are_findings_with_line_and_field(tmp_path: Path, scores: Any, field: str) -> None:
    rows = _game()
    row_of(rows, "final")["data"]["seat_csa_map"] = scores
    (finding,) = _import(rows, tmp_path).findings
    assert (finding.file, finding.line, finding.field) == ("game.jsonl", len(rows), field)


@pytest.mark.parametrize("scores", [{}, None, {"B1": 0.5}, {"B1": None, "S2": 7.75}, ...])
def test_scores_that_a_log_lacks_are_null_and_counted(tmp_path: Path, scores: Any) -> None:
    rows = _game()
    final = row_of(rows, "final")["data"]
    if scores is ...:
        del final["seat_csa_map"]
    else:
        final["seat_csa_map"] = scores
    game = _import(rows, tmp_path)
    assert game.sound
    given = mapping(scores)
    known = {seat: score for seat, score in given.items() if score is not None}
    told = game.to_json()
    assert told["optional"] == {"seat_csa_map": {"matched": len(known), "total": 4}}
    (note,) = told["warnings"]
    assert f"note: seat_csa_map: {4 - len(known)} of 4 seats have no score in their log: csa_logged is null" in note
    outcome = evaluate_file(game.trace or "").outcome
    assert outcome is not None
    assert not outcome.findings
    assert {seat: own.csa_logged for seat, own in outcome.seats.items()} == {seat: known.get(seat) for seat in _LABELS}


def test_a_score_that_its_table_does_not_give_is_a_warning_and_kept(tmp_path: Path) -> None:
    rows = list(map(orjson.loads, sample_logs("bazaar")[0].read_bytes().splitlines()))
    for name in rows[-1]["data"]["seat_csa_map"]:
        rows[-1]["data"]["seat_csa_map"][name] += 2e-6
    game = _import(rows, tmp_path)
    assert game.sound
    tally = game.checks["scores"]
    assert tally.total > tally.matched == 0
    assert tally.first is not None
    assert (tally.first.line, tally.first.field[:18]) == (len(rows), "data.seat_csa_map.")
    outcome = evaluate_file(game.trace or "").outcome
    assert outcome is not None
    assert {seat: own.csa_logged for seat, own in outcome.seats.items()} == rows[-1]["data"]["seat_csa_map"]


def test_a_damaged_table_is_a_finding_and_costs_no_other_figure(
    sample_import: tuple[ImportReport, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = next(sample_import[1].glob("*.trace"))
    sound = evaluate_file(trace).outcome
    table = tmp_path / "table.csv"
    table.write_text(f"{','.join(source_table.COLUMNS)}\nuniform,buyer,60,5,0.4,0,12,solved,0\n")
    monkeypatch.setattr(source_table, "FILE", str(table))
    source_table.source_table.cache_clear()
    outcome = evaluate_file(trace).outcome
    assert sound is not None
    assert outcome is not None
    (finding,) = outcome.findings
    assert finding.message == f"{table}, line 2, sd_share: it should be at least 0.05"
    assert {seat.csa_source for seat in outcome.seats.values()} == {outcome.market_outcome.csa_source_missing} == {None}
    assert [seat.csa_clean for seat in outcome.seats.values()] == [seat.csa_clean for seat in sound.seats.values()]


def test_forged_scores_in_a_trace_are_findings_and_no_figures(tmp_path: Path) -> None:
    parts = parts_of(Path(_import(_game(), tmp_path).trace or ""))
    scores = {"B1": 1e300, "B2": True, "S1": "5", "S2": 2, "Z9": 1.0}
    reseat(parts, origin={"imported_from": {"seat_csa_map": scores}})
    write_parts(parts, tmp_path / "forged.trace")
    outcome = evaluate_file(tmp_path / "forged.trace").outcome
    assert outcome is not None
    assert [seat.csa_logged for seat in outcome.seats.values()] == [None, None, None, 2.0]
    assert [finding.message.split()[4] for finding in outcome.findings] == ["B1", "B2", "S1"]


def test_a_quote_that_does_not_fit_the_trades_names_the_trade_and_gives_no_trace(tmp_path: Path) -> None:
    rows = _game()
    trade = row_of(rows, "trade")
    quote = next(row for row in rows if row["type"] == "bid_ask" and row["agent_id"] == trade["buyer_id"])
    quote["price"] = 0
    game = _import(rows, tmp_path)
    assert (game.trace, game.chance) == (None, None)
    assert trade["log_sequence"] in {finding.line for finding in game.findings}


def test_a_coin_or_maker_that_the_stream_does_not_give_is_a_warning_and_fed(tmp_path: Path) -> None:
    rows = _game()
    trade = row_of(rows, "trade", skip=1)
    trade["maker_id"] = trade["seller_id"] if trade["maker_id"] == trade["buyer_id"] else trade["buyer_id"]
    game = _import(rows, tmp_path)
    assert (game.chance, game.sound) == ("recorded", True)
    (warning,) = game.to_json()["warnings"]
    assert "generations differ in 1 of 1 facts" in warning
    assert f"game.jsonl:{trade['log_sequence']} maker_id, as log_maker_draw: trade" in warning
    assert "as log_maker_order: " in warning


def test_a_game_with_messages_is_not_a_bazaar_log(tmp_path: Path) -> None:
    rows = _game()
    row_of(rows, "init")["data"]["communication_enabled"] = True
    (finding,) = _import(rows, tmp_path).findings
    assert finding.field == "data.communication_enabled"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_log_gives_findings_never_an_exception(tmp_path: Path, data: st.DataObject) -> None:
    lines = list(map(orjson.dumps, _game()))
    place = data.draw(st.integers(0, len(lines) - 1))
    match data.draw(st.sampled_from(["drop", "garbage", "cut", "twice", "byte"])):
        case "drop":
            del lines[place]
        case "garbage":
            lines[place] = data.draw(st.binary(max_size=40)).replace(b"\n", b"")
        case "cut":
            lines[place] = lines[place][: len(lines[place]) // 2]
        case "twice":
            lines.insert(place, lines[place])
        case _:
            at = data.draw(st.integers(0, len(lines[place]) - 1))
            lines[place] = lines[place][:at] + b"\x00" + lines[place][at + 1 :]
    game = _import(b"\n".join(lines), tmp_path, "damaged.jsonl")
    assert game.findings
    assert {finding.file for finding in game.findings} == {"damaged.jsonl"}
    assert orjson.dumps(ImportReport("bazaar-log", [game]).to_json())


def test_an_unknown_importer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match="bazaar-log"):
        run_importer("pact-logg", [], tmp_path)


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
