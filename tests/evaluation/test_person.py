"""Two minds in one seat: what tables, verdicts, ratings and arenas say where a person has moved for an agent.

Also here:
- 60.0 for 60 and null for what is left out: however a client writes its calls, the play is the same.
"""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tradefair.catalog import load_scenario, market_type
from tradefair.cli import run
from tradefair.contract.arguments import event_as_meant
from tradefair.contract.kernel.players import AgentRecord
from tradefair.evaluation.compare.runs import load_run
from tradefair.evaluation.foreign.export.otlp import otlp_lines
from tradefair.evaluation.judge.evaluate import diagnose, evaluate
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.ratings.results import read_result
from tradefair.evaluation.reading import person_moves, seating_in
from tradefair.evaluation.report.events import read_events, read_notes
from tradefair.evaluation.verdict.of_trace import verdict_of_file
from tradefair.host.episode.episode import Episode
from tradefair.host.episode.log import Side
from tradefair.host.episode.setup import new_episode, seating_of
from tradefair.host.seats.plans import plan_seats
from tradefair.tracestore import open_trace

MODEL = "react/openai:m"
SAID = "A person made 2 of 3 moves of P1: two minds in one seat."


def played(folder: Path, by: Sequence[str | None], framework: str = "react", *, noted: bool = False) -> Path:
    """An episode in which P1 claims five times; `by` says who made each of the three moves, and a look before."""

    async def play() -> Path:
        kind, scenario = market_type("teaching"), load_scenario("teaching", "pie")
        plan = plan_seats(kind, scenario)
        label = framework if framework == "person" else MODEL
        agent = AgentRecord(framework=framework, model=None if framework == "person" else "openai:m")
        agents = {"P1": agent}
        seating = seating_of(kind, scenario, plan, labels={"P1": label}, agents=agents, compared=["P1"])
        episode: Episode = await new_episode(kind, scenario, 7, seating, folder)
        for number, who in enumerate(by, 1):
            note = {"kind": "model_call", "round": number, "reply": f"r{number}", "calls": ["claim"], "text": ""}
            if noted:
                await episode.note("P1", note)
            await episode.call("P1", "view_my_value", {}, side=Side(by=None))
            result = await episode.call("P1", "claim", {"slices": 5}, side=Side(by=who))
            assert result.status == "ok"
        await episode.close()
        return episode.path

    return asyncio.run(play())


def nothing_is_odd(seq: int, message: str) -> None:
    raise AssertionError((seq, message))


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return played(tmp_path, ["person", None, "person"])


def test_an_agent_that_a_person_has_helped_is_called_so_wherever_it_is_ranked(mixed: Path) -> None:
    label = f"{MODEL} + person"
    with open_trace(mixed) as trace:
        assert trace.seating().labels["P1"] == MODEL  # the chain says what it always said
        assert seating_in(trace).labels["P1"] == label
        outcome = evaluate(trace)
    moves: Any = outcome.seats["P1"].person_moves
    assert (moves.clicked, moves.of) == (2, 3)
    assert outcome.seats["P1"].label == label
    assert outcome.seats["P2"].person_moves is None
    assert "person_moves" not in outcome.model_dump(mode="json")["seats"]["P2"]
    assert load_run(mixed).seating.labels["P1"] == label
    result: Any = read_result(mixed)
    assert {seat.seat: seat.label for seat in result.seats}["P1"] == label


def test_the_verdict_says_it_in_one_sentence(mixed: Path) -> None:
    verdict = verdict_of_file(mixed)
    assert SAID in verdict.sentences
    assert len(verdict.sentences) <= 5
    assert verdict.seats[0].player == f"{MODEL} + person"


def test_a_seat_of_one_mind_is_called_what_it_is(tmp_path: Path) -> None:
    for name, by, framework, label in (
        ("agent", [None] * 3, "react", MODEL),
        ("person", ["person"] * 3, "person", "person"),
        ("told", [None, None, "another"], "react", MODEL),
    ):
        path = played(tmp_path / name, by, framework)
        with open_trace(path) as trace:
            assert seating_in(trace).labels["P1"] == label
        verdict = verdict_of_file(path)
        assert verdict.seats[0].person_moves is None
        assert not any("two minds" in sentence for sentence in verdict.sentences)
        assert verdict.seats[0].kind == ("person" if name == "person" else "model")


def test_no_reply_of_a_model_is_taken_for_what_a_person_clicked(tmp_path: Path) -> None:
    path = played(tmp_path, ["person", None, "person"], noted=True)
    with open_trace(path) as trace:
        events = read_events(trace)
        read_notes(trace, events)
        rows = [row for row in range(len(events.seq)) if events.name(events.tool, row) == "claim"]
        own = [row for row in rows if events.name(events.seat, row) == "P1"]
        assert [row in events.clicked for row in own] == [True, False, True]
        # One reply asked for a claim in each round; only in the second did its model make it.
        assert [events.reply[row] >= 0 for row in own] == [False, True, False]
        spans = b"".join(otlp_lines(trace, None, nothing_is_odd))
    assert spans.count(b'"tradefair.by"') == 2


def test_the_mark_is_sealed_and_shown(mixed: Path, capsys: Any) -> None:
    with open_trace(mixed) as trace:
        clicked = [row.seq for row in trace.side() if row.by]
    assert run(["trace", str(mixed), "calls"]) == 0
    assert capsys.readouterr().out.count("person") == 2
    assert run(["trace", str(mixed), "show", str(clicked[0])]) == 0
    assert '"by": "person"' in capsys.readouterr().out
    with sqlite3.connect(mixed) as database:
        database.execute("UPDATE events SET by = NULL WHERE seq = ?", [clicked[0]])
    check = verify_file(mixed)
    assert (check.verdict, "calls" in check.sentence) == ("damaged", True), check.sentence
    with open_trace(mixed) as trace:
        assert person_moves(trace)["P1"].clicked == 1


Acts = list[tuple[str, dict[str, Any]]]


def _order(number: type[float]) -> dict[str, Any]:
    return {"supplier_id": "supplier_1", "lines": [{"product_id": "P001", "quantity": number(6)}]}


# By market: preset, seat, its acts as whole numbers and as clients of doubles write them.
PLAYS: dict[str, tuple[str, str, Acts, Acts]] = {
    "double_auction": (
        "smoke",
        "B1",
        [("submit_quote", {"price": price}) for price in (90, 20, 99)],
        [("submit_quote", {"price": float(price), "round": None}) for price in (90, 20, 99)],
    ),
    "bargaining": (
        "smoke",
        "B1",
        [("send_message", {}), ("submit_quote", {"price": 90}), ("send_message", {}), ("submit_quote", {"price": 9})],
        [
            ("send_message", {"text": None}),
            ("submit_quote", {"price": 90.0, "round": 1.0}),
            ("send_message", {"text": None, "round": None}),
            ("submit_quote", {"price": 9.0, "round": 2.0}),
        ],
    ),
    "retail": (
        "smoke",
        "manager",
        [("place_order", _order(int)), ("end_today", {}), ("end_today", {"day": 2})],
        [("place_order", _order(float)), ("end_today", {"day": None}), ("end_today", {"day": 2.0})],
    ),
    "pricing": (
        "smoke",
        "F1",
        [("set_price", {"price": price}) for price in (1500, 1473, 900)],
        [("set_price", {"price": float(price), "round": None}) for price in (1500, 1473, 900)],
    ),
    "order_book": (
        "smoke",
        "B1",
        [("submit_order", {"side": "buy", "price": price}) for price in (2, 3, 4)],
        [("submit_order", {"side": "buy", "price": float(price), "quantity": 1.0}) for price in (2, 3, 4)],
    ),
    "supply_chain": (
        "duel",
        "retailer_01",
        [("submit_bids", {"bids": [{"item": "beans", "quantity": 9, "price": 11}]}), ("skip_phase", {})],
        [("submit_bids", {"bids": [{"item": "beans", "quantity": 9.0, "price": 11.0}]}), ("skip_phase", {})],
    ),
}


async def _played(market: str, acts: Acts, folder: Path) -> Path:
    preset, seat = PLAYS[market][:2]
    kind, scenario = market_type(market), load_scenario(market, preset)
    plan = plan_seats(kind, scenario, agents=[seat], others="random_legal")
    episode = await new_episode(kind, scenario, 3, plan, folder)
    try:
        for tool, arguments in acts:
            while not episode.core.awaits(seat) and episode.core.ended is None:
                await episode.await_turn(seat, 5)
            result = await episode.call(seat, tool, arguments)
            assert result.status == "ok", (tool, arguments, result.error)
    finally:
        await episode.close()
    return episode.path


@pytest.mark.parametrize("market", PLAYS)
async def test_doubles_and_nulls_are_the_same_play(market: str, tmp_path: Path) -> None:
    paths = [await _played(market, acts, tmp_path / name) for name, acts in zip("ab", PLAYS[market][2:], strict=True)]
    plain, doubles = (open_trace(path) for path in paths)
    with plain, doubles:
        outcomes = [evaluate(trace).model_dump() for trace in (plain, doubles)]
        assert outcomes[0] == outcomes[1]
        findings = [diagnose(trace).model_dump() for trace in (plain, doubles)]
        assert findings[0] == findings[1]
        # The trace keeps what was sent, and re-execution reproduces it.
        assert any(b".0" in stored.body.partition(b'"read_through"')[0] for stored in doubles.events())
        meant = [
            [event_as_meant(stored.body).get("arguments") for stored in trace.events()] for trace in (plain, doubles)
        ]
        assert len(meant[0]) == len(meant[1])
    assert [verify_file(path).verdict for path in paths] == ["reproduced", "reproduced"]
