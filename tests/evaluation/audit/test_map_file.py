"""The map file: what it says is taken; what it says wrongly is refused with its line and what was meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from tradefair.contract import ScenarioError
from tradefair.evaluation.foreign.audit.map_file import YES, at, load_map, matches, read_map
from tradefair.files.toml_lines import line_of

_ROOT = Path(__file__).parents[3]
MAP = """version = 1
[tools]
action = ["cancel_order"]
read = ["cancel_*"]
[objects.order]
arguments = ["order_id"]
look = ["get_order"]
fields = { status = "status" }
[confirm]
actions = ["cancel_*"]
[[rule]]
action = ["cancel_*"]
look = ["order"]
state = { "order.status" = "pending" }
[[rule]]
action = ["refund_*"]
money = { argument = "amount", at_most = 500 }
"""


def test_every_key_of_the_design_is_taken_and_the_rest_has_defaults() -> None:
    of = read_map(MAP, source="desk.toml")
    assert of.rule[0].states == (("order", "status", frozenset({"pending"})),)
    assert of.confirm is not None
    assert of.confirm.yes == YES
    assert [place for place, _ in of.rules_of("cancel_order")] == [0]
    assert read_map("version = 1", source="x").rule == ()


def test_a_name_beats_a_pattern_and_an_unlisted_tool_is_what_the_trace_says() -> None:
    of = read_map(MAP, source="desk.toml")
    assert [of.kind_of(tool, "note") for tool in ("cancel_order", "cancel_preview", "pay")] == [
        "action",
        "read",
        "note",
    ]


@pytest.mark.parametrize(
    ("was", "becomes", "told"),
    [
        ('look = ["order"]', 'looks = ["order"]', "line 13: rule.0.looks: unknown key; did you mean look?"),
        ("at_most", "at_mots", "line 17: rule.1.money.at_mots: unknown key; did you mean at_most?"),
        ("[tools]", "[tool]", "line 2: tool: unknown key; did you mean tools?"),
        ("fields", "field", "line 8: objects.order.field: unknown key; did you mean fields?"),
        ('look = ["order"]', 'look = ["oder"]', "line 13: rule.0.look: there is no object 'oder'; did you mean order?"),
        ("order.status", "order.statu", "line 14: rule.0.state: there is no field 'statu'; did you mean status?"),
        ("version = 1", "version = 2", "line 1: version = 2: it should be 1"),
        ("version = 1", 'version = 1\nfailed_answer = "("', "line 2: failed_answer: no regular expression"),
        ('["refund_*"]', '"refund_*"', "line 16: rule.1.action = 'refund_*': it should be a list"),
        (", at_most = 500", "", "line 17: rule.1.money: at_most says how much is allowed"),
        ('money = { argument = "amount", at_most = 500 }', "", "line 16: rule.1.action: nothing is asked of it"),
        ('look = ["get_order"]\n', "", "line 12: rule.0.look: objects.order has no look"),
    ],
)
def test_what_is_wrong_is_refused_with_its_line(was: str, becomes: str, told: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        read_map(MAP.replace(was, becomes, 1), source="desk.toml")
    assert str(refused.value).startswith(f"desk.toml: {told}")


def test_a_map_has_a_name_of_its_content() -> None:
    one, same, other = (read_map(text, source="x").name for text in (MAP, MAP + "# words", MAP.replace("500", "501")))
    assert one == same != other


@pytest.mark.parametrize(
    ("name", "tool", "matched"),
    [
        ("cancel_*", "cancel_order", True),
        ("*", "anything\nat all", True),
        ("cancel_*", "un_cancel_order", False),
        ("get?", "gets", False),
        ("a.c", "abc", False),
        ("*" * 60 + "x", "y" * 200, False),
        ("a*b*c", "a-b-b-c", True),
        ("a*b*c", "a-c-b", False),
        ("a*bb", "abb", True),
        ("*ab*ab", "ab", False),
        ("a*" * 30 + "b", "a" * 20_000, False),
    ],
)
def test_only_a_star_stands_for_something(name: str, tool: str, matched: bool) -> None:
    assert matches([name], tool) is matched


def test_paths_go_into_lists_and_never_raise() -> None:
    value = {"lines": [{"id": "a"}, {"id": "b"}, 7], "one": {"id": None}}
    assert at(value, "lines.id") == ["a", "b"]
    assert at(value, "lines.1.id") == ["b"]
    assert at(value, "lines.99999999999999.id") == at("text", "a.b") == at(None, "a") == at(value, "one.id.x") == []


def test_lines_are_found_by_table_place_and_quoted_key() -> None:
    text = 'a = 1\n[x."y z"]\nb = 1\n[[r]]\nc = 1\n[[r]]\n"d e".f = 1\n'
    places = [["a"], ["x", "y z", "b"], ["r", "0", "c"], ["r", "1", "d e", "f"], ["r", "1", "gone"], ["no"]]
    assert [line_of(text, keys) for keys in places] == [1, 3, 5, 7, 6, None]


def test_the_map_of_the_example_loads_and_names_no_run() -> None:
    of = load_map(_ROOT / "examples/audit/tau_retail.toml")
    assert of.first is not None
    assert "tau_retail-" not in of.model_dump_json()
