"""The MCP Inspector's command line takes a seat of the double auction: over stdio, and over HTTP with a token."""

from __future__ import annotations

from typing import Any

import pytest

from tradefair.evaluation.prove.verify import verify_file

pytestmark = pytest.mark.interop

FOUR_FIELDS = {"code", "message", "hint", "retryable"}


def test_it_finds_no_fault_with_the_schemas(strict_inspector: Any, stdio_seat: Any) -> None:
    said = strict_inspector.run(stdio_seat.reach(), "tools/list", "--strict")
    assert said.code == 0, said.errors
    assert {"submit_quote", "await_turn"} < {tool["name"] for tool in said.result["tools"]}
    findings = [
        (found["toolName"], finding["path"])
        for found in said.output.get("schemaFindings", ())
        for finding in found["findings"]
    ]
    # The value of a seat's own code can be anything, and nothing narrower would be true.
    assert findings == [("execute_code", "properties.value")]


def test_it_plays_a_round_over_stdio(inspector: Any, stdio_seat: Any, record_property: Any) -> None:
    record_property("further", f"{inspector.label}: a round over stdio, a process per call")
    listed = inspector.run(stdio_seat.reach(), "tools/list").result["tools"]
    assert {tool["name"] for tool in listed} > {"submit_quote", "await_turn", "view_my_value", "view_history"}
    value = inspector.call(stdio_seat.reach(), "view_my_value").data
    assert (value["role"], value["round"]) == ("buyer", 1)
    receipt = inspector.call(stdio_seat.reach(), "submit_quote", price=60).data
    assert receipt == {"round": 1, "price": 60, "warning": None}
    (row,) = inspector.call(stdio_seat.reach(), "view_history").data["rounds"]
    assert {"trader": "B1", "role": "buyer", "price": 60} in row["quotes"]
    assert inspector.call(stdio_seat.reach(), "view_book_statistics", window_rounds=1).data["rounds"]
    turn = inspector.call(stdio_seat.reach(), "await_turn", timeout_s=0).data
    assert (turn["round"], turn["awaited"]) == (2, True)
    assert verify_file(stdio_seat.trace).verdict == "reproduced"


def test_it_plays_a_round_over_http_with_a_token(inspector: Any, hosted_game: Any, record_property: Any) -> None:
    record_property("further", f"{inspector.label}: a round over HTTP with a token")
    buyer, seller = hosted_game.reach("B1"), hosted_game.reach("S1")
    listed = inspector.run(buyer, "tools/list").result["tools"]
    assert {tool["name"] for tool in listed} > {"submit_quote", "await_turn", "view_my_value", "view_history"}
    assert inspector.call(buyer, "submit_quote", price=60).data["round"] == 1
    assert inspector.call(buyer, "await_turn", timeout_s=0).data["still_open"] is True
    assert inspector.call(seller, "submit_quote", price=40).data["round"] == 1
    (row,) = inspector.call(buyer, "view_history").data["rounds"]
    own = {(quote["trader"], quote["price"]) for quote in row["quotes"]}
    assert own > {("B1", 60), ("S1", 40)}
    turn = inspector.run(seller, "resources/read", "--uri", "market://view_turn").result
    assert '"round":2' in turn["contents"][0]["text"]
    assert verify_file(hosted_game.trace).verdict == "reproduced"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("submit_quote", {"price": 5_000}, "price_out_of_range"),
        ("submit_quote", {"price": 50, "seat": "S1"}, "invalid_arguments"),
        ("expected_surplus", {}, "no_history"),
    ],
)
def test_it_shows_a_refusal_as_it_was_meant(
    inspector: Any, stdio_seat: Any, tool: str, arguments: dict[str, Any], code: str
) -> None:
    """Its client holds refusals against the output schema and would complain of that instead."""
    said = inspector.call(stdio_seat.reach(), tool, **arguments)
    assert said.result["isError"] is True
    assert set(said.data) == FOUR_FIELDS
    assert said.data["code"] == code


def test_only_a_seats_own_token_opens_it(inspector: Any, hosted_game: Any, foreign_token: str) -> None:
    for token in ("tf_" + "A" * 43, foreign_token, ""):
        said = inspector.call(hosted_game.reach("B1")._replace(token=token), "view_my_value")
        assert said.code != 0
        assert said.output is None
    assert inspector.call(hosted_game.reach("B1"), "view_turn").data["awaited"] is True


def test_a_token_of_one_seat_cannot_act_or_read_for_another(inspector: Any, hosted_game: Any) -> None:
    seller = hosted_game.reach("S1")
    assert inspector.call(seller, "view_my_value").data["role"] == "seller"
    for tool, arguments in (("submit_quote", {"price": 50}), ("view_my_value", {})):
        assert inspector.call(seller, tool, **arguments, seat="B1").data["code"] == "invalid_arguments"
    said = inspector.run(seller, "resources/read", "--uri", "market://view_my_value?seat=B1")
    assert said.code != 0
    assert said.output is None
    turns = [inspector.call(hosted_game.reach(seat), "view_turn").data for seat in ("B1", "S1")]
    assert [(turn["seat"], turn["round"], turn["awaited"]) for turn in turns] == [("B1", 1, True), ("S1", 1, True)]
