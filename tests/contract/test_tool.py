"""The tool table: one typed function becomes strict schemas, a shallow output schema, a digest.

Also here:
- One rule for the hint `destructive`: the act replaces or forfeits something the seat had, or ends its round.
- The tools that every market shares.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from jsonschema import Draft202012Validator
from mcp import Client
from pydantic import BaseModel, Field

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import Tool
from tradefair.contract.errors import ErrorInfo, HarnessFailure
from tradefair.contract.kernel.kernel_tools import KERNEL_TOOLS, MAX_NOTES, CodeResult, full_table
from tradefair.contract.scenario import SeatId
from tradefair.contract.tool import Result, ToolTable, Untrusted, tool
from tradefair.host.episode.setup import new_episode
from tradefair.host.seats.plans import plan_seats
from tradefair.host.server.binding import build_server
from tradefair.teaching import MARKET
from tradefair.teaching.rules import Pie


class Part(Result):
    words: Annotated[str, Untrusted()]
    size: int


class Report(Result):
    number: int
    maybe: int | None
    both: int | str
    part: Part
    parts: list[Part]
    by_name: dict[str, Part]
    side: Literal["left", "right"]
    title: Annotated[str, Untrusted()]
    plain: str


class Order(BaseModel):
    sku: str
    count: Annotated[int, Field(ge=1)]


@tool("analysis", title="Everything", evidence=("a", "b"), roles=("eater",), destructive=False)
def everything(
    market: Pie,
    seat: SeatId,
    *,
    count: Annotated[int, Field(ge=0, le=9)],
    ratio: float = 0.5,
    name: Annotated[str, Field(max_length=5)] = "x",
    flag: bool = False,
    orders: list[Order] | None = None,
    inputs: dict[str, Any] | None = None,
) -> Report:
    """Take one of each."""
    raise NotImplementedError


def _valid(**arguments: Any) -> bool:
    import orjson

    try:
        everything.parameters.model_validate_json(orjson.dumps(arguments), strict=True)
    except ValueError:
        return False
    return True


def test_the_declaration_comes_from_the_function() -> None:
    assert (everything.name, everything.kind, everything.title) == ("everything", "analysis", "Everything")
    assert everything.description == "Take one of each."
    assert everything.evidence == ("a", "b")
    assert list(everything.parameters.model_fields) == ["count", "ratio", "name", "flag", "orders"]
    assert everything.result is Report
    assert everything.read_only


def test_the_input_schema_is_closed_and_carries_the_bounds() -> None:
    schema = everything.input_schema
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["count"]
    assert schema["properties"]["count"] == {"type": "integer", "minimum": 0, "maximum": 9}
    assert schema["properties"]["ratio"] == {"type": "number", "default": 0.5}


@pytest.mark.parametrize(
    "arguments",
    [
        {"count": True},
        {"count": "1"},
        {"count": 1.0},
        {"count": None},
        {"count": 10},
        {"count": -1},
        {"count": [1]},
        {},
        {"count": 1, "extra": 1},
        {"count": 1, "inputs": {}},
        {"count": 1, "seat": "P2"},
        {"count": 1, "name": 1},
        {"count": 1, "name": "xxxxxx"},
        {"count": 1, "flag": 1},
        {"count": 1, "flag": "true"},
        {"count": 1, "ratio": "0.5"},
        {"count": 1, "ratio": True},
        {"count": 1, "orders": [{"sku": "a", "count": 0}]},
        {"count": 1, "orders": [{"sku": "a", "count": "1"}]},
        {"count": 1, "orders": {"sku": "a"}},
    ],
)
def test_arguments_are_strict(arguments: dict[str, Any]) -> None:
    assert not _valid(**arguments)


def test_right_arguments_pass() -> None:
    assert _valid(count=0)
    assert _valid(count=9, ratio=1, name="", flag=True, orders=[{"sku": "a", "count": 1}])
    assert _valid(count=9, orders=None)


def _report(**other: Any) -> dict[str, Any]:
    part = {"words": "w", "size": 1}
    whole = {"number": 1, "maybe": None, "both": "b", "part": part, "parts": [part], "by_name": {"a": part}}
    return {**whole, "side": "left", "title": "t", "plain": "p", **other}


def test_on_the_wire_the_output_schema_names_top_level_types_only() -> None:
    schema = everything.output_schema
    assert set(schema["properties"]) == set(Report.model_fields)
    assert "$defs" in everything.result_schema
    spelled = repr(schema)
    assert "$defs" not in spelled
    assert "$ref" not in spelled
    assert all("properties" not in prop for prop in schema["properties"].values())
    assert schema["properties"]["parts"] == {"type": "array", "items": {"type": "object"}}
    assert schema["properties"]["title"]["x-untrusted"] is True


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        (_report(), True),
        (_report(maybe=3, both=4, parts=[], by_name={}), True),
        (_report(number="1"), False),
        (_report(part=[]), False),
        (_report(parts={}), False),
        (_report(maybe="x"), False),
        ({name: value for name, value in _report().items() if name != "number"}, False),
    ],
)
def test_clients_can_check_results_against_it(answer: dict[str, Any], fits: bool) -> None:
    check: Any = Draft202012Validator(everything.output_schema)
    assert check.is_valid(answer) == fits
    if fits:
        Report.model_validate(answer)


def test_text_by_others_is_found_wherever_it_lies() -> None:
    assert set(everything.untrusted_paths) == {
        ("part", "words"),
        ("parts", "*", "words"),
        ("by_name", "*", "words"),
        ("title",),
    }
    assert MARKET.tools["read_messages"].untrusted_paths == (("messages", "*", "text"),)
    assert MARKET.tools["view_my_value"].untrusted_paths == ()


def test_roles_and_scenario_decide_who_sees_a_tool() -> None:
    silent, talking = (MARKET.scenario_model(id="teaching/x", talk=talk) for talk in (False, True))
    assert MARKET.tools["say"].visible(talking, "eater")
    assert not MARKET.tools["say"].visible(silent, "eater")
    assert not everything.visible(silent, "cook")


def test_the_digest_changes_with_anything_an_agent_can_see() -> None:
    digest = MARKET.tools.schema_digest
    assert digest == ToolTable(*MARKET.tools.values()).schema_digest
    assert digest != ToolTable(*reversed(list(MARKET.tools.values()))).schema_digest
    assert digest != ToolTable(*MARKET.tools.values(), everything).schema_digest
    one, two = (ToolTable(_described(text)).schema_digest for text in ("One thing.", "Another thing."))
    assert one != two


def _described(text: str) -> Any:
    def view(market: Pie, seat: SeatId) -> Part:
        raise NotImplementedError

    view.__doc__ = text
    view.__annotations__["return"] = "Part"
    return tool("read", title="T")(view)


def test_two_tools_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="share a name"):
        ToolTable(everything, everything)


def test_results_are_frozen_and_closed() -> None:
    with pytest.raises(ValueError):
        Part.model_validate({"words": "w", "size": 1, "more": 2})
    with pytest.raises(ValueError):
        Part(words="w", size=1).size = 2  # type: ignore[misc]


MARKETS = ("bargaining", "double_auction", "marketplace", "order_book", "pricing", "retail", "supply_chain", "teaching")


class Effect(Enum):
    """What an act does to its seat, and whether that is destructive."""

    ADDS = False
    DECIDES = "its decision of the round or phase is made: none can follow"
    ENDS = "the seat's turn is over"
    REPLACES = "what stood before is gone"
    SPENDS = "money is gone"
    FORFEITS = "an offer, an order or a note is gone"


# By move and not by market: a name stands for one move everywhere.
MOVES: dict[str, Effect] = {
    "add_note": Effect.ADDS,
    "cancel_order": Effect.FORFEITS,
    "claim": Effect.DECIDES,
    "end_today": Effect.ENDS,
    "end_turn": Effect.ENDS,
    "finish": Effect.ENDS,
    "modify_product_price": Effect.REPLACES,
    "pass_turn": Effect.ENDS,
    "pay_proposal": Effect.SPENDS,
    "place_order": Effect.SPENDS,
    "reject_proposal": Effect.FORFEITS,
    "remove_note": Effect.FORFEITS,
    # Talk closes a phase and leaves the round's decision open.
    "say": Effect.ADDS,
    "send_message": Effect.ADDS,
    "send_proposal": Effect.ADDS,
    "set_price": Effect.DECIDES,
    "set_shelf_products": Effect.REPLACES,
    "skip_phase": Effect.ENDS,
    "submit_bids": Effect.REPLACES,
    "submit_offer": Effect.REPLACES,
    "submit_order": Effect.SPENDS,
    "submit_quote": Effect.DECIDES,
    "withdraw_proposal": Effect.FORFEITS,
}


def _acts() -> dict[str, list[Tool]]:
    """Every tool that is no look, by name, of all markets."""
    found: dict[str, list[Tool]] = {}
    tools = [item for name in MARKETS for item in market_type(name).tools.values()]
    for item in (*KERNEL_TOOLS.values(), *tools):
        if not item.read_only:
            found.setdefault(item.name, []).append(item)
    return found


def test_every_move_has_the_hint_of_its_effect_in_every_market() -> None:
    acts = _acts()
    assert acts.keys() == MOVES.keys()
    wrong = [name for name, items in acts.items() if any(item.destructive != bool(MOVES[name].value) for item in items)]
    assert wrong == []


def test_what_ends_the_turn_is_destructive_and_no_look_is() -> None:
    for name in MARKETS:
        for item in full_table(market_type(name)).values():
            assert item.destructive or not item.ends_turn, item.name
            assert not (item.read_only and item.destructive), item.name


def test_one_move_has_one_hint_of_repeating() -> None:
    assert [name for name, items in _acts().items() if len({item.idempotent for item in items}) > 1] == []


@pytest.mark.parametrize(
    ("market", "preset", "seat"), [("double_auction", "smoke", "B1"), ("bargaining", "smoke", "B1")]
)
async def test_clients_read_the_hint(market: str, preset: str, seat: str, tmp_path: Path) -> None:
    kind, scenario = market_type(market), load_scenario(market, preset)
    episode = await new_episode(kind, scenario, 1, plan_seats(kind, scenario, agents=[seat]), tmp_path)
    try:
        async with Client(build_server(episode, seat)) as client:
            listed = {item.name: item.annotations for item in (await client.list_tools()).tools}
    finally:
        await episode.close()
    assert {name: hint.destructive_hint for name, hint in listed.items() if hint and not hint.read_only_hint} == {
        name: bool(MOVES[name].value) for name in listed if name in MOVES
    }


def test_every_market_has_them_after_its_own(play: Any) -> None:
    table = list(full_table(MARKET))
    assert table == [*MARKET.tools, *KERNEL_TOOLS]
    assert set(KERNEL_TOOLS) == {
        "view_rules", "view_turn", "await_turn", "add_note", "view_notes", "remove_note", "execute_code",
    }  # fmt: skip
    assert list(play().core.tools("P1")) == [name for name in table if name not in ("say", "read_messages")]


def test_view_rules_says_what_the_seat_is_there_for(play: Any) -> None:
    rules = play(rounds=2).data("P2", "view_rules")
    assert rules["role"].startswith("You are P2")
    assert (rules["market"], rules["version"], rules["scenario"], rules["seat"]) == (
        "teaching", "3", "teaching/pie", "P2",
    )  # fmt: skip
    assert rules["rules"] == {"rounds": 2, "slices": 10, "phases": ["claim"]}


def test_view_turn_shows_clock_limits_and_the_markets_word(play: Any) -> None:
    game = play(rounds=2)
    game.call("P1", "claim", {"slices": 4})
    view = game.data("P1", "view_turn")
    assert view == {
        "seat": "P1",
        "role": "eater",
        "round": 1,
        "phase": "claim",
        "revision": 0,
        "awaited": False,
        "actions": [],
        "over": False,
        "end_reason": None,
        "still_open": False,
        "limits": [],
        "market": {"rounds_left": 2, "last": None},
    }
    game.call("P2", "claim", {"slices": 4})
    assert game.data("P1", "view_turn")["market"]["last"]["claims"] == {"P1": 4, "P2": 4}
    game.round()
    over = game.core.turn_view("P1")
    assert (over.over, over.end_reason, over.awaited) == (True, "terminated:rounds_completed", False)


def test_notes_are_a_seats_own_numbered_and_keep_their_round(play: Any) -> None:
    game = play()
    assert game.data("P1", "add_note", text="first") == {"number": 1, "round": 1, "text": "first"}
    game.round()
    assert game.data("P1", "add_note", text="second")["number"] == 2
    assert game.data("P2", "add_note", text="other")["number"] == 1
    assert game.data("P1", "remove_note", number=1)["text"] == "first"
    assert game.data("P1", "add_note", text="third")["number"] == 3
    notes = game.data("P1", "view_notes")
    assert [(note["number"], note["round"], note["text"]) for note in notes["notes"]] == [
        (2, 2, "second"),
        (3, 2, "third"),
    ]
    assert notes["room_for"] == MAX_NOTES - 2
    assert game.replayed() == len(game.bodies)


def test_notes_lie_outside_the_markets_digest_and_take_no_turn(play: Any) -> None:
    game = play()
    before = game.core.market.digest()
    answer = game.call("P1", "add_note", {"text": "x"})
    assert not answer.turn.turn_over
    assert game.core.market.digest() == before


def test_notes_have_bounds(play: Any) -> None:
    game = play()
    for text in ("", "x" * 2_001, 5, None):
        assert game.code("P1", "add_note", {"text": text}) == "invalid_arguments"
    for number in range(MAX_NOTES):
        game.data("P1", "add_note", text=f"{number}")
    assert game.code("P1", "add_note", {"text": "one more"}) == "notes_full"
    assert game.code("P1", "remove_note", {"number": 101}) == "unknown_id"
    game.data("P1", "remove_note", number=50)
    assert game.data("P1", "add_note", text="y" * 2_000)["number"] == 101
    assert game.replayed() == len(game.bodies)


def test_awaiting_in_the_pure_core_answers_at_once(play: Any) -> None:
    game = play()
    assert game.data("P1", "await_turn", timeout_s=45)["awaited"]
    for wrong in (46, -1, "1", True):
        assert game.code("P1", "await_turn", {"timeout_s": wrong}) == "invalid_arguments"


def test_code_is_run_by_a_host_and_its_result_is_recorded(play: Any) -> None:
    game = play()
    with pytest.raises(HarnessFailure):
        game.core.call("P1", "execute_code", {"code": "1"})


@pytest.mark.parametrize("fails", [False, True])
def test_what_the_host_records_is_copied_on_replay(play: Any, fails: bool) -> None:
    game = play()
    ticket = game.core.begin("P1", "execute_code", {"code": "view_my_value()"})
    inner = game.call("P1", "view_my_value", parent=ticket.call)
    result = CodeResult(output="out", value=[1], inner_calls=1)
    error = ErrorInfo("code_error", "line 1", "mend it", True)
    answer = game.keep(game.core.finish(ticket, None if fails else result, error if fails else None))
    assert (answer.call, inner.call) == ("r1.P1.1", "r1.P1.2")
    assert answer.status == ("rejected" if fails else "ok")
    assert game.call("P1", "view_my_value").call == "r1.P1.3"
    assert game.replayed() == len(game.bodies)


def test_code_can_call_no_action_note_or_code(play: Any) -> None:
    game = play()
    game.core.begin("P1", "execute_code", {"code": "1"})
    for name in ("claim", "add_note", "remove_note"):
        answer = game.call("P1", name, {"slices": 1}, parent="r1.P1.1")
        assert (answer.status, answer.error.code) == ("denied", "tool_unavailable")
    assert game.core.awaits("P1")
    assert game.replayed() == len(game.bodies)


def test_wrong_code_arguments_are_refused_before_anything_runs(play: Any) -> None:
    game = play()
    done = game.core.begin("P1", "execute_code", {"code": ""})
    assert game.keep(done).error.code == "invalid_arguments"
    assert game.replayed() == len(game.bodies)
