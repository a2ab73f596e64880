"""

Also here:
- Our rules re-execute every public game of the sample data folder (double_auction page, 13, "exact replay").
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tradefair.trading.chance import Generation, LogSeedChance, RecordedChance
from tradefair.trading.clearing import Match, benchmarks, clear, potentials
from tradefair.trading.game_log import MAX_FINDINGS, Final, Finding, GameLog, Init, LoggedRound, read_game
from tradefair.trading.values import Acceptance, LawShape

Rows = list[dict[str, Any]]
NAME = "auction_made_1.jsonl"


def encoded(rows: Rows) -> list[bytes]:
    return [json.dumps(row).encode() + b"\n" for row in rows]


def read(rows: Rows) -> GameLog:
    return read_game(encoded(rows), NAME)


def first(rows: Rows, kind: str, round_number: int = 1) -> int:
    """Index of the first row of a kind in a round."""
    return next(index for index, row in enumerate(rows) if row["type"] == kind and row.get("round") == round_number)


def test_a_sound_log_gives_typed_records_and_no_finding(game_rows: Rows) -> None:
    log = read(game_rows)
    assert log.findings == ()
    assert log.sound
    init, final = log.init, log.final
    assert init is not None
    assert final is not None
    assert (init.law, init.seed, init.line) == ("uniform", 20250713, 1)
    assert init.seat_order == ("S2", "B1", "B2", "S1")
    assert list(init.values) == ["B1", "B2", "S1", "S2"]
    assert init.labels["S2"] == "truthful"
    assert not init.shares_stream
    assert [logged.number for logged in log.rounds] == [1, 2, 3]
    assert final.line == len(game_rows)
    for logged in log.rounds:
        assert set(logged.quote_order) == {"B1", "B2", "S1", "S2"}
        assert logged.bids | logged.asks == {quote.agent_id: quote.price for quote in logged.quotes}
        assert len(logged.speakers) == 1
        assert len(logged.payoff_changes) == 2 * len(logged.trades) > 0
        assert logged.end is not None


def test_whole_amounts_are_integers_whether_the_log_writes_floats_or_not(game_rows: Rows) -> None:
    changed = copy.deepcopy(game_rows)
    trade = changed[first(changed, "trade")]
    trade["cleared_price"] = int(trade["cleared_price"])
    for log in (read(game_rows), read(changed)):
        price = log.rounds[0].trades[0].cleared_price
        assert type(price) is int
        assert price == trade["cleared_price"]


def test_unknown_fields_and_the_newer_schemas_additions_are_kept(game_rows: Rows) -> None:
    quote = first(game_rows, "bid_ask")
    game_rows[quote]["raw_response"] = "<price>5</price>"
    game_rows[0]["data"]["sequential_communication"] = False
    violation = {"type": "communication_violation", "round": 1, "player_id": "B2", "reason": "no tag"}
    game_rows.insert(1, {**game_rows[0], "recipient_id": None, "raw_response": "hm", **violation})
    for number, row in enumerate(game_rows, 1):
        row.update(schema_version="1.7.0", log_sequence=number)
    log = read(game_rows)
    assert log.findings == ()
    assert log.rounds[0].quotes[0].model_extra is not None
    assert log.rounds[0].quotes[0].model_extra["raw_response"] == "<price>5</price>"
    assert [violation.reason for violation in log.rounds[0].violations] == ["no tag"]
    assert log.init is not None
    assert log.init.data.model_extra is not None
    assert log.init.data.model_extra["sequential_communication"] is False


def test_snapshots_are_ignored(game_rows: Rows) -> None:
    end = first(game_rows, "round_end")
    game_rows.insert(end + 1, {**game_rows[end], "type": "propensity_snapshot"})
    for number, row in enumerate(game_rows, 1):
        row["log_sequence"] = number
    assert read(game_rows).findings == ()


def test_a_baseline_that_shares_the_stream_is_recognised_unless_a_model_bears_its_name(game_rows: Rows) -> None:
    agent = game_rows[0]["data"]["agents"]["B1"]
    agent["model_name"] = "roth_erev"
    shared = read(game_rows).init
    agent["is_llm"] = True
    alone = read(game_rows).init
    assert shared is not None
    assert alone is not None
    assert (shared.shares_stream, alone.shares_stream) == (True, False)


def test_recorded_luck_of_a_round_names_coins_only_where_one_was_due(game_rows: Rows) -> None:
    for logged in read(game_rows).rounds:
        recorded = logged.recorded(chat=True)
        assert recorded.quote_order == list(logged.quote_order)
        assert recorded.speaking_order is not None
        assert sorted(recorded.speaking_order) == sorted(logged.quote_order)
        assert recorded.speaking_order[0] == logged.speakers[0]
        assert logged.recorded(chat=False).speaking_order is None
        for pair, trade in zip(recorded.pairs, logged.trades, strict=True):
            odd = (trade.bid + trade.ask) % 2 == 1
            assert pair.up == (trade.clearing_random_pick if odd else None)
            assert (pair.buyer, pair.seller, pair.maker) == (trade.buyer_id, trade.seller_id, trade.maker_id)


Damage = Callable[[Rows], int]


def change(kind: str, **fields: Any) -> Damage:
    """Change fields of round 1's first row of a kind; returns its line."""

    def damage(rows: Rows) -> int:
        index = first(rows, kind)
        rows[index].update(fields)
        return index + 1

    return damage


def change_data(kind: str, round_number: int | None, **fields: Any) -> Damage:
    def damage(rows: Rows) -> int:
        index = next(i for i, row in enumerate(rows) if row["type"] == kind and row.get("round") == round_number)
        rows[index]["data"].update(fields)
        return index + 1

    return damage


def change_agent(seat: str, **fields: Any) -> Damage:
    def damage(rows: Rows) -> int:
        rows[0]["data"]["agents"][seat].update(fields)
        return 1

    return damage


def drop(kind: str, name: str) -> Damage:
    def damage(rows: Rows) -> int:
        index = first(rows, kind)
        del rows[index][name]
        return index + 1

    return damage


def remove(kind: str, round_number: int = 1) -> Damage:
    """Remove a row; returns the line that now shows the gap."""

    def damage(rows: Rows) -> int:
        index = first(rows, kind, round_number)
        del rows[index]
        return index + 1

    return damage


def renumbered(damage: Damage) -> Damage:
    """The damage of somebody who also mended the sequence numbers."""

    def damaged(rows: Rows) -> int:
        line = damage(rows)
        for number, row in enumerate(rows, 1):
            row["log_sequence"] = number
        return line

    return damaged


def repeat(source: int, target: int) -> Damage:
    """Insert a copy of one row before another place; returns the copy's line."""

    def damage(rows: Rows) -> int:
        place = target if target >= 0 else len(rows) + 1 + target
        rows.insert(place, copy.deepcopy(rows[source]))
        return place + 1

    return damage


def truncate(rows: Rows) -> int:
    del rows[-3:]
    return len(rows)


def swap_seat(rows: Rows) -> int:
    agents = rows[0]["data"]["agents"]
    agents["B7"] = agents.pop("B2")
    return 1


def forget_round_end(rows: Rows) -> int:
    line = renumbered(remove("round_end"))(rows)
    return line


def second_quote(rows: Rows) -> int:
    index = first(rows, "bid_ask")
    rows[index + 1] = {**rows[index], "log_sequence": index + 2}
    return index + 2


def late_message(rows: Rows) -> int:
    index = first(rows, "conversation")
    rows[index], rows[index + 1] = rows[index + 1], rows[index]
    rows[index]["log_sequence"], rows[index + 1]["log_sequence"] = index + 1, index + 2
    return index + 2


DAMAGES: dict[str, tuple[Damage, str]] = {
    "type missing": (drop("bid_ask", "type"), "type"),
    "type unknown": (change("bid_ask", type="order"), "type"),
    "type is a list": (change("bid_ask", type=["bid_ask"]), "type"),
    "price missing": (drop("bid_ask", "price"), "price"),
    "price a text": (change("bid_ask", price="50"), "price"),
    "price a bool": (change("bid_ask", price=True), "price"),
    "price a fraction": (change("bid_ask", price=50.5), "price"),
    "price a float": (change("bid_ask", price=50.0), "price"),
    "price null": (change("bid_ask", price=None), "price"),
    "price NaN": (change("bid_ask", price=float("nan")), "price"),
    "price infinite": (change("bid_ask", price=float("inf")), "price"),
    "price above the grid": (change("bid_ask", price=101), "price"),
    "price negative": (change("bid_ask", price=-1), "price"),
    "price huge": (change("bid_ask", price=10**30), "price"),
    "quote of a stranger": (change("bid_ask", agent_id="B9"), "agent_id"),
    "quote of the wrong role": (change("bid_ask", role="auctioneer"), "role"),
    "two quotes of one seat": (second_quote, "agent_id"),
    "no quote of a seat": (renumbered(remove("bid_ask")), "agent_id"),
    "round zero": (change("bid_ask", round=0), "round"),
    "round beyond the game": (change("bid_ask", round=4), "round"),
    "round a text": (change("bid_ask", round="1"), "round"),
    "round skipped": (change("bid_ask", round=2), "round"),
    "row missing": (remove("bid_ask"), "log_sequence"),
    "sequence missing": (drop("bid_ask", "log_sequence"), "log_sequence"),
    "sequence a float": (change("bid_ask", log_sequence=3.0), "log_sequence"),
    "sequence repeated": (change("bid_ask", log_sequence=2), "log_sequence"),
    "schema unknown": (change("bid_ask", schema_version="2.0.0"), "schema_version"),
    "another game's row": (change("bid_ask", game_id="other_2"), "game_id"),
    "trade without buyer": (drop("trade", "buyer_id"), "buyer_id"),
    "trade of a stranger": (change("trade", seller_id="S9"), "seller_id"),
    "trade with roles swapped": (change("trade", buyer_id="S1"), "buyer_id"),
    "trade made by a stranger": (change("trade", maker_id="X"), "maker_id"),
    "trade at a fraction": (change("trade", cleared_price=50.5), "cleared_price"),
    "trade off the grid": (change("trade", cleared_price=130.0), "cleared_price"),
    "midpoint NaN": (change("trade", midpoint_exact=float("nan")), "midpoint_exact"),
    "coin a number": (change("trade", clearing_random_pick=1), "clearing_random_pick"),
    "payoff of a stranger": (change("payoff_change", seat_id=""), "seat_id"),
    "payoff a text": (change("payoff_change", delta="3"), "delta"),
    "payoff a fraction": (change("payoff_change", new_payoff=0.5), "new_payoff"),
    "message by a stranger": (change("conversation", player_id="Z1"), "player_id"),
    "message to nobody": (change("conversation", recipient_id="all"), "recipient_id"),
    "message not a text": (change("conversation", message=["hi"]), "message"),
    "message with half a surrogate": (change("conversation", message="\ud83d"), "message"),
    "message after quotes": (late_message, "type"),
    "round end of another round": (change_data("round_end", 1, round=2), "data.round"),
    "round end without totals": (change_data("round_end", 1, payoff_map=None), "data.payoff_map"),
    "round end lacks a seat": (
        change_data("round_end", 1, payoff_map={"B1": 0, "B2": 0, "S1": 0}),
        "data.payoff_map.S2",
    ),
    "round end missing": (forget_round_end, "round"),
    "init twice": (renumbered(repeat(0, 1)), "type"),
    "init not first": (renumbered(lambda rows: (rows.insert(0, rows.pop(1)), 1)[1]), "type"),
    "init missing": (lambda rows: (rows.pop(0), 1)[1], "type"),
    "law unknown": (change_data("init", None, distribution="cauchy"), "data.distribution"),
    "seed too large": (change_data("init", None, random_seed_value=2**32), "data.random_seed_value"),
    "seed a text": (change_data("init", None, random_seed_value="7"), "data.random_seed_value"),
    "rounds huge": (change_data("init", None, num_rounds=10**9), "data.num_rounds"),
    "buyers huge": (change_data("init", None, num_buyers=10**9), "data.num_buyers"),
    "more buyers than agents": (change_data("init", None, num_buyers=3), "data.agents.B3"),
    "agents a list": (change_data("init", None, agents=[]), "data.agents"),
    "agent unknown": (swap_seat, "data.agents.B7"),
    "agent's role swapped": (change_agent("B1", role="seller"), "data.agents.B1.role"),
    "buyer without value": (change_agent("B1", valuation=None), "data.agents.B1.valuation"),
    "buyer with a cost": (change_agent("B1", cost=3), "data.agents.B1.cost"),
    "value off the grid": (change_agent("B1", valuation=101), "data.agents.B1.valuation"),
    "chat in a silent game": (
        lambda rows: (change_data("init", None, communication_enabled=False)(rows), first(rows, "conversation") + 1)[1],
        "type",
    ),
    "truncated": (truncate, "type"),
    "row after final": (renumbered(repeat(1, -1)), "type"),
    "final too early": (renumbered(repeat(-1, 1)), "type"),
    "final aborted": (change_data("final", None, aborted=True), "data.aborted"),
    "final lacks a seat": (change_data("final", None, final_payoff_map={}), "data.final_payoff_map.B1"),
    "share NaN": (
        change_data("final", None, seat_surplus_share_map={"B1": float("nan")}),
        "data.seat_surplus_share_map.B1",
    ),
    "total missing": (lambda rows: (rows[-1]["data"].pop("max_surplus"), len(rows))[1], "data.max_surplus"),
}


def is_named(rows: Rows, damage: Damage, path: str, *, at_its_line: bool) -> bool:
    """Whether a log is refused after `damage`, by a finding with the file, the field and the line that was damaged."""
    line = damage(rows)
    log = read(rows)
    lines = [found.line for found in log.findings if (found.file, found.field) == (NAME, path)]
    named = line in lines if at_its_line else bool(lines)
    return named and not log.sound and all(found.message for found in log.findings)


def test_a_damaged_log_is_a_finding_that_names_file_line_and_field(game_rows: Rows) -> None:
    assert not is_named(copy.deepcopy(game_rows), len, "event_type", at_its_line=True)  # not damaged
    missed = [
        name
        for name, (damage, path) in DAMAGES.items()
        # A quote that is missing has no line: another test says where it is named.
        if not is_named(copy.deepcopy(game_rows), damage, path, at_its_line=name != "no quote of a seat")
    ]
    assert missed == []


def test_a_missing_quote_is_named_at_the_end_of_its_round(game_rows: Rows) -> None:
    index = first(game_rows, "bid_ask")
    seat = game_rows[index]["agent_id"]
    renumbered(remove("bid_ask"))(game_rows)
    assert read(game_rows).findings == (
        Finding(NAME, first(game_rows, "round_end") + 1, "agent_id", f"no quote of {seat} in round 1"),
    )


def test_a_gap_names_the_missing_numbers(game_rows: Rows) -> None:
    del game_rows[-3:-1]
    gap = read(game_rows).findings[0]
    last = len(game_rows)
    assert gap == Finding(NAME, last, "log_sequence", f"gap: {last} to {last + 1} missing before {last + 2}")


def test_a_finding_says_what_was_there_instead(game_rows: Rows) -> None:
    line = change("bid_ask", price="fifty")(game_rows)
    found = read(game_rows).findings[0]
    assert (found.line, found.field) == (line, "price")
    assert "integer" in found.message
    assert "'fifty'" in found.message


@pytest.mark.parametrize(
    "line",
    [b"", b"\n", b"{", b"null\n", b"[1]", b"7", b'"init"', b"\xff\xfe", b'{"type": "bid_ask"', b"NaN", b"[" * 5000],
)
def test_a_line_that_is_no_json_object_is_one_finding_on_that_line(game_rows: Rows, line: bytes) -> None:
    lines = encoded(game_rows)
    place = first(game_rows, "conversation")
    lines[place] = line
    assert [(found.line, found.file) for found in read_game(lines, NAME).findings] == [(place + 1, NAME)]


def test_deep_nesting_in_a_typed_field_is_a_finding(game_rows: Rows) -> None:
    lines = encoded(game_rows)
    place = first(game_rows, "conversation")
    lines[place] = lines[place].replace(b'"hello"', b"[" * 900 + b"]" * 900)
    assert [(found.line, found.field) for found in read_game(lines, NAME).findings] == [(place + 1, "message")]


def test_a_finding_is_short_whatever_a_seat_is_called(game_rows: Rows) -> None:
    game_rows[-1]["data"]["seat_surplus_share_map"]["B" * 10_000] = 0.5
    (finding,) = read(game_rows).findings
    assert finding.field.startswith("data.seat_surplus_share_map.BBB")
    assert len(finding.field) + len(finding.message) < 300


@pytest.mark.parametrize("name", ["seat_csa_map", "seat_surplus_share_map"])
def test_a_name_that_stands_twice_in_the_totals_is_a_finding(game_rows: Rows, name: str) -> None:
    lines = encoded(game_rows)
    where = f'"{name}": '.encode()
    for twice, field in ((b'{"B1": 1, "B1": 1}, "other": ', f"data.{name}.B1"), (b"{}, " + where, f"data.{name}")):
        damaged = lines[-1].replace(where, where + twice)
        (finding,) = read_game([*lines[:-1], damaged], NAME).findings
        assert (finding.line, finding.field) == (len(lines), field)
        assert "twice" in finding.message


def test_an_empty_file_is_a_finding_on_line_one() -> None:
    assert [(found.line, found.field) for found in read_game([], NAME).findings] == [(1, "type")]


def test_findings_are_capped() -> None:
    log = read_game([b"x"] * 10_000, NAME)
    assert len(log.findings) == MAX_FINDINGS + 1
    assert "left out" in log.findings[-1].message


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=60)
@given(data=st.data())
def test_no_content_makes_the_parser_raise(data: st.DataObject, base_rows: Rows) -> None:
    rows = copy.deepcopy(base_rows)
    for _ in range(data.draw(st.integers(1, 3))):
        row = rows[data.draw(st.integers(0, len(rows) - 1))]
        holder = row["data"] if isinstance(row.get("data"), dict) and data.draw(st.booleans()) else row
        holder[data.draw(st.sampled_from(sorted(holder)))] = data.draw(JSON)
    lines = encoded(rows)
    cut = data.draw(st.integers(0, len(lines) - 1))
    lines[cut] = lines[cut][: data.draw(st.integers(0, len(lines[cut])))]
    log = read_game(lines, NAME)
    assert all(found.file == NAME and found.line >= 1 and found.message for found in log.findings)


@given(lines=st.lists(st.binary(max_size=40), max_size=6))
def test_no_bytes_make_the_parser_raise(lines: list[bytes]) -> None:
    assert not read_game(lines, NAME).sound


Logs = dict[str, list[GameLog]]


class PlayedRound(NamedTuple):
    speaking_order: tuple[str, ...] | None
    quote_order: tuple[str, ...]
    matches: list[Match]


class Replay(NamedTuple):
    """One game played again by our rules: luck from its seed (or recorded), quotes from its log."""

    log: GameLog
    init: Init
    final: Final
    values: dict[str, int]
    rounds: list[PlayedRound]

    @property
    def paired(self) -> Iterator[tuple[LoggedRound, PlayedRound]]:
        return zip(self.log.rounds, self.rounds, strict=True)


def seeded(init: Init, generation: Generation = "maker_draw", shape: LawShape | None = None) -> LogSeedChance:
    chat = init.data.communication_enabled
    return LogSeedChance(init.seed, init.roster, init.seat_order, generation, chat=chat, shape=shape)


def play(log: GameLog, generation: Generation = "maker_draw") -> Replay:
    init, final = log.init, log.final
    assert init is not None
    assert final is not None
    chat = init.data.communication_enabled
    chance = RecordedChance(init.seed, init.roster) if init.shares_stream else seeded(init, generation)
    values = chance.limits(init.law, Acceptance()).values
    rounds: list[PlayedRound] = []
    for logged in log.rounds:
        number = logged.number
        if isinstance(chance, RecordedChance):
            chance.feed(logged.recorded(chat=chat).payload())
        speaking_order = chance.speaking_order(number) if chat else None
        quote_order = chance.quote_order(number)
        luck = partial(chance.round_up, number), partial(chance.maker, number)
        rounds.append(PlayedRound(speaking_order, quote_order, clear(logged.bids, logged.asks, quote_order, *luck)))
    return Replay(log, init, final, values, rounds)


@pytest.fixture(scope="module")
def bazaar(sample_logs: Logs) -> list[Replay]:
    return [play(log) for log in sample_logs["bazaar"]]


@pytest.fixture(scope="module")
def collusion(sample_logs: Logs) -> list[Replay]:
    return [play(log) for log in sample_logs["emergent_collusion"]]


@pytest.fixture(scope="module")
def games(bazaar: list[Replay], collusion: list[Replay]) -> list[Replay]:
    return bazaar + collusion


@pytest.fixture(scope="module")
def followed(bazaar: list[Replay]) -> list[Replay]:
    """The BAZAAR games without the five baselines that drew from the game's stream."""
    return [game for game in bazaar if not game.init.shares_stream]


def counts(games: list[Replay]) -> tuple[int, int, int, int]:
    """Games, rounds, trades, half ticks."""
    matches = [match for game in games for played in game.rounds for match in played.matches]
    rounds = sum(len(game.rounds) for game in games)
    return len(games), rounds, len(matches), sum(match.coin is not None for match in matches)


def test_every_public_game_parses_without_a_finding(sample_logs: Logs) -> None:
    assert {study: len(logs) for study, logs in sample_logs.items()} == {
        "bazaar": 16,
        "emergent_collusion": 45,
        "pact": 37,
    }
    assert [finding for logs in sample_logs.values() for log in logs for finding in log.findings] == []


def test_the_samples_hold_the_stated_numbers_of_rounds_trades_and_half_ticks(
    bazaar: list[Replay], collusion: list[Replay], followed: list[Replay]
) -> None:
    assert counts(bazaar) == (16, 480, 523, 217)
    assert counts(collusion) == (45, 360, 264, 98)
    assert counts(followed) == (7, 210, 244, 101)
    assert not any(game.init.shares_stream for game in collusion)


def test_values_and_their_seats_follow_from_the_seed_in_all_games(games: list[Replay]) -> None:
    assert [game.log.name for game in games if game.values == game.init.values] == [game.log.name for game in games]


def test_quote_orders_follow_from_the_seed(followed: list[Replay], collusion: list[Replay]) -> None:
    for game in followed + collusion:
        assert [played.quote_order for played in game.rounds] == [logged.quote_order for logged in game.log.rounds]


def test_logged_speakers_are_a_subsequence_of_the_speaking_order(collusion: list[Replay]) -> None:
    chat_rounds = 0
    for game in collusion:
        for logged, played in game.paired:
            assert played.speaking_order is not None
            assert logged.speakers == tuple(seat for seat in played.speaking_order if seat in logged.speakers)
            chat_rounds += 1
    assert chat_rounds == 360


def test_matches_prices_coins_and_makers_are_those_of_the_log(games: list[Replay]) -> None:
    for game in games:
        for logged, played in game.paired:
            ours = [(m.buyer, m.seller, m.bid, m.ask, m.price, m.coin == "up", m.maker) for m in played.matches]
            assert ours == [
                (t.buyer_id, t.seller_id, t.bid, t.ask, t.cleared_price, t.clearing_random_pick, t.maker_id)
                for t in logged.trades
            ]
            assert all(2 * t.midpoint_exact == t.bid + t.ask for t in logged.trades)


def gains(match: Match, values: dict[str, int]) -> list[tuple[str, int]]:
    return [(match.buyer, values[match.buyer] - match.price), (match.seller, match.price - values[match.seller])]


def test_payoffs_and_round_totals_are_those_of_the_log(games: list[Replay]) -> None:
    for game in games:
        payoffs = dict.fromkeys(game.init.seat_order, 0)
        for logged, played in game.paired:
            paid = [gain for match in played.matches for gain in gains(match, game.values)]
            assert [(row.seat_id, row.delta) for row in logged.payoff_changes] == paid
            for row in logged.payoff_changes:
                assert row.old_payoff == payoffs[row.seat_id]
                payoffs[row.seat_id] += row.delta
                assert row.new_payoff == payoffs[row.seat_id]
            assert logged.end is not None
            data = logged.end.data
            assert data.payoff_map == payoffs
            assert data.clearing_prices == [match.price for match in played.matches]
            assert (data.round_surplus, data.trade_count) == (sum(gain for _, gain in paid), len(played.matches))
        assert game.final.data.final_payoff_map == payoffs


def test_benchmarks_and_final_totals_are_those_of_the_log(games: list[Replay]) -> None:
    for game in games:
        roster, values, data = game.init.roster, game.values, game.final.data
        buyers, sellers = ({seat: values[seat] for seat in side} for side in roster)
        best = benchmarks(buyers.values(), sellers.values(), 100).max_surplus
        ends = [logged.end.data.max_surplus for logged in game.log.rounds if logged.end]
        assert ends == [best] * game.init.data.num_rounds
        assert data.max_surplus == best * len(ends)
        bound = potentials(buyers, sellers)
        assert data.seat_max_potential_surplus_map == bound
        total = sum(gain for r in game.rounds for m in r.matches for _, gain in gains(m, values))
        assert data.total_surplus == total
        assert data.market_efficiency == pytest.approx(total / data.max_surplus, abs=1e-12)
        for seat, share in data.seat_surplus_share_map.items():
            possible = len(ends) * bound[seat]
            assert share == pytest.approx(max(0, data.final_payoff_map[seat]) / possible if possible else 0, abs=1e-12)


@pytest.mark.parametrize(
    ("acceptance", "shape"),
    [
        (Acceptance(min_buyer_value=0), LawShape()),
        (Acceptance(min_buyer_value=2), LawShape()),
        (Acceptance(max_seller_cost=100), LawShape()),
        (Acceptance(), LawShape(jitter=9)),
        (Acceptance(), LawShape(jitter=11)),
        (Acceptance(), LawShape(spread=19)),
        (Acceptance(), LawShape(spread=21)),
        (Acceptance(), LawShape(high_peak_from=81)),
        (Acceptance(), LawShape(centre=51)),
    ],
)
def test_the_samples_refute_every_other_constant(sample_logs: Logs, acceptance: Acceptance, shape: LawShape) -> None:
    inits = [log.init for log in sample_logs["bazaar"] + sample_logs["emergent_collusion"] if log.init]
    redrawn = [seeded(init, shape=shape).limits(init.law, acceptance).values for init in inits]
    assert redrawn != [init.values for init in inits]


def test_the_samples_refute_the_generation_that_draws_no_maker(sample_logs: Logs, followed: list[Replay]) -> None:
    for game in followed:
        other = play(game.log, "maker_order")
        assert [played.quote_order for played in other.rounds] != [logged.quote_order for logged in game.log.rounds]


def test_values_of_the_bilateral_games_follow_from_the_seed_too(sample_logs: Logs) -> None:
    for log in sample_logs["pact"]:
        assert log.init is not None
        assert seeded(log.init).limits(log.init.law, Acceptance()).values == log.init.values
