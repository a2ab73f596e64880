"""What a map asks of a run: each rule has a run that provokes it, one that differs in the one thing, one made good.

Also here:
- The map file: what it says is taken; what it says wrongly is refused with its line and what was meant.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.evaluation.audit.runs import Did, did, run_of

from tradefair.contract import ScenarioError
from tradefair.evaluation.foreign.audit.judging import judge
from tradefair.evaluation.foreign.audit.map_file import YES, Map, at, load_map, matches, read_map
from tradefair.evaluation.foreign.audit.rules import CHECKS
from tradefair.evaluation.foreign.audit.run import Run
from tradefair.files.toml_lines import line_of

DESK = read_map(
    """version = 1
[tools]
action = ["cancel_*", "return_*", "refund_*"]
note = ["think"]
hand_over = ["transfer_*"]
[first]
one_of = ["find_user_*"]
[objects.order]
arguments = ["order_id"]
look = ["get_order", "list_orders"]
fields = { status = "status" }
[objects.item]
arguments = ["item_ids"]
look = ["get_order"]
[[rule]]
action = ["return_*", "cancel_*"]
look = ["order", "item"]
[[rule]]
action = ["return_*"]
state = { "order.status" = "delivered" }
once = true
[[rule]]
action = ["cancel_*"]
state = { "order.status" = ["pending", "new"] }
never_after = ["return_*", "transfer_*"]
[[rule]]
action = ["refund_*"]
money = { argument = "amount", at_most = 500 }
retries = 2
""",
    source="desk.toml",
)
ASKS = DESK.model_copy(update={"confirm": read_map('version=1\n[confirm]\nactions=["cancel_*"]', source="x").confirm})

USER = did("find_user_by_mail", "u1", mail="a@b")


def order(name: str = "W1", status: str = "pending", *items: str) -> Did:
    record = {"order_id": name, "status": status, "items": [{"item_id": item} for item in items]}
    return did("get_order", record, order_id=name)


def cancel(name: str = "W1", answer: Any = None) -> Did:
    return did("cancel_order", {"order_id": name, "status": "cancelled"} if answer is None else answer, order_id=name)


def back(name: str = "W1", answer: Any = None, **more: Any) -> Did:
    record = {"order_id": name, "status": "return requested"} if answer is None else answer
    return did("return_items", record, order_id=name, **more)


def refund(amount: Any, answer: Any = "done", name: str = "W1") -> Did:
    return did("refund_order", answer, order_id=name, amount=amount)


def raised(run: Run, of: Map = DESK) -> list[tuple[str, int | None]]:
    return [(case.rule.removeprefix("map."), case.step) for case in judge(run, of).cases]


REFUSED = "Error: no"
DELIVERED = order("W1", "delivered", "i1")

PROVOKED: dict[str, tuple[list[Did | str], list[tuple[str, int]]]] = {
    "a look before anybody is known": ([order(), USER], [("first", 1)]),
    "a note before is none": ([did("think", "", thought="?"), USER, order()], []),
    "somebody who was not found": ([did("find_user_by_mail", REFUSED, mail="x"), order()], [("first", 3)]),
    "an order never looked at": ([USER, cancel()], [("look", 3)]),
    "ids of signs alone are two": ([USER, order("#"), cancel("%")], [("look", 5)]),
    "another order was looked at": ([USER, order("W2"), cancel()], [("look", 5)]),
    "a look that was refused": ([USER, did("get_order", REFUSED, order_id="W1"), cancel()], [("look", 5)]),
    "a refused action unseen, made good later": ([USER, cancel("W1", REFUSED), order(), cancel()], [("look", 3)]),
    "an item that the look did not show": ([USER, DELIVERED, back(item_ids=["i1", "i9"])], [("look", 5)]),
    "an answer that was not kept has shown it": (
        [USER, did("get_order", {"size": 9, "digest": "f"}, order_id="W1"), back(item_ids=["i9"])],
        [],
    ),
    "an item that it showed": ([USER, DELIVERED, back(item_ids=["i1"])], []),
    "a list of orders shows each with its state": (
        [USER, did("list_orders", [{"order_id": "W1", "status": "sent"}, {"order_id": "W2", "status": "new"}]),
         cancel("W2"), cancel("W1", REFUSED)],
        [("state", 7), ("unrecovered", 7)],
    ),
    "the wrong state, refused": ([USER, order(), back(answer=REFUSED)], [("state", 5), ("unrecovered", 5)]),
    "the wrong state, accepted": ([USER, order(), back()], [("state", 5)]),
    "the wrong state, made good": ([USER, order(), back(answer=REFUSED), cancel()], []),
    "an id that was mistyped and put right": ([USER, order("#W1"), cancel("w1", REFUSED), cancel("#W1")], []),
    "made good on another order is not": (
        [USER, order(), order("W2"), back(answer=REFUSED), cancel("W2")],
        [("state", 7), ("unrecovered", 7)],
    ),
    "a state that nobody has seen": ([USER, did("get_order", {"id": "W1"}, order_id="W1"), back()], []),
    "the newest look counts": ([USER, order(), order("W1", "delivered"), back()], []),
    "an action's answer is a look": (
        [USER, DELIVERED, back(), cancel(answer=REFUSED)],
        [("state", 7), ("unrecovered", 7), ("never_after", 7)],
    ),
    "refused and never made good": ([USER, refund(5, REFUSED)], [("unrecovered", 3)]),
    "refused, then accepted": ([USER, refund(5, REFUSED), refund(5)], []),
    "handed over with nothing done": ([USER, did("transfer_to_human")], [("gave_up", 3)]),
    "handed over after a refusal": (
        [USER, refund(5, REFUSED), did("transfer_to_human")],
        [("unrecovered", 3), ("gave_up", 5)],
    ),
    "handed over after something": ([USER, refund(5), did("transfer_to_human")], []),
    "twice on one order": ([USER, DELIVERED, back(), DELIVERED, back()], [("once", 9)]),
    "once on each of two": ([USER, DELIVERED, back(), order("W2", "delivered"), back("W2")], []),
    "after a transfer": ([USER, order(), refund(5), did("transfer_to_human"), cancel()], [("never_after", 9)]),
    "after a return of another order": ([USER, DELIVERED, back(), order("W2"), cancel("W2")], []),
    "three refusals in a row": (
        [USER, refund(1, REFUSED), refund(2, REFUSED), refund(3, REFUSED), refund(4)],
        [("retries", 7)],
    ),
    "two, and an accepted one between": (
        [USER, refund(1, REFUSED), refund(2, REFUSED), refund(3), refund(4, REFUSED), refund(5)],
        [],
    ),
    "too much": ([USER, refund(501)], [("money", 3)]),
    "too much in words": ([USER, refund("$1,200")], [("money", 3)]),
    "as much as allowed": ([USER, refund(500), refund("500"), refund(True), refund("a lot")], []),
}  # fmt: skip


@pytest.mark.parametrize("name", PROVOKED)
def test_a_rule_is_raised_by_what_provokes_it_and_by_nothing_else(name: str) -> None:
    turns, expected = PROVOKED[name]
    assert raised(run_of(*turns)) == expected


def test_a_case_cites_the_call_and_what_proves_it_in_one_sentence() -> None:
    case = judge(run_of(USER, order(), back(answer=REFUSED)), DESK).cases[0]
    assert (case.seq, case.step, case.seat, case.shown_by) == (4, 5, "agent", 3)
    assert (case.tool, case.about) == ("return_items", "W1")
    assert case.why == "return_items on order W1, whose status was 'pending' at step 3, not delivered"


def test_a_call_that_failed_was_turned_down_by_nobody() -> None:
    run = run_of(USER, refund(5, REFUSED))
    for status, found in (("rejected", 1), ("invalid", 1), ("denied", 1), ("failed", 0), ("withdrawn", 0)):
        turns = (run.turns[0], run.turns[1]._replace(status=status))
        assert len(judge(run._replace(turns=turns), DESK).cases) == found


# --- confirmation -----------------------------------------------------------------------------------------------------

_ASKED = "Shall I cancel W1?"


@pytest.mark.parametrize(
    ("words", "agreed"),
    [
        ("yes", True),
        ("Yes, can you do it today?", True),
        ("Great. Please go ahead!", True),
        ("This works perfectly—please go ahead! And one more thing.", True),
        ("Can you go ahead and process it?", True),
        ("If that is the only way, then please proceed.", True),
        ("I don't like it, but go ahead.", True),
        ("YES", True),
        ("That’s fine with me.", True),
        ("No.", False),
        ("Please do not proceed.", False),
        ("I'm not sure about that.", False),
        ("Wait until I say yes.", False),
        ("Is it okay to keep the box?", False),
        ("Before we proceed I need the amount.", False),
        ("Tell me if that works for a gift.", False),
        ("My eyes are on the surety bonds; that okayish one.", False),
        ("All of them. Cancel everything.", False),
        ("", False),
    ],
)
def test_a_yes_counts_where_it_says_yes(words: str, agreed: bool) -> None:
    run = run_of(USER, order(), _ASKED, f"> {words}", cancel())
    assert raised(run, ASKS) == ([] if agreed else [("confirm", 7)])


@pytest.mark.parametrize(
    ("turns", "steps"),
    [
        ([_ASKED, "> yes", cancel(), order("W2"), cancel("W2")], []),
        ([_ASKED, "> yes", cancel(), "> And W2 too.", order("W2"), cancel("W2")], [12]),
        ([_ASKED, "> yes", "> It was for my son.", cancel()], []),
        ([_ASKED, "> yes", cancel(), "Done. W2 too?", "> yes", order("W2"), cancel("W2")], []),
        (["I look it up.", "> yes", cancel()], [7]),
        (["> yes", cancel()], [6]),
        ([cancel("W1", REFUSED), _ASKED, "> yes", cancel()], [5]),
        ([_ASKED, "> no", "Sure? Let me know.", "> yes", cancel()], []),
    ],
)
def test_a_yes_holds_for_what_was_asked(turns: list[Did | str], steps: list[int]) -> None:
    run = run_of("> hello", USER, order(), *turns)
    found = [step for rule, step in raised(run, ASKS) if rule == "confirm"]
    assert found == [step + 1 for step in steps]


def test_nobody_agrees_before_being_known() -> None:
    run = run_of("May I ask who you are?", "> Sure, a@b.", USER, order(), cancel())
    assert raised(run, ASKS) == [("confirm", 7)]


def test_where_no_user_speaks_a_yes_cannot_be_missed() -> None:
    judged = judge(run_of(USER, order(), "Cancelling.", cancel()), ASKS)
    assert judged.cases == []
    assert judged.silent == {"map.confirm": "the run holds no word of a user"}


def test_what_a_sub_agent_is_told_is_no_word_of_the_user() -> None:
    run = run_of(USER, order(), _ASKED, "> yes", cancel())
    told = [turn._replace(seat="helper") if not hasattr(turn, "tool") else turn for turn in run.turns]
    aside = run._replace(turns=tuple(told), roles={"agent": "agent", "helper": "subagent"})
    assert [case.rule for case in judge(aside, ASKS).cases] == ["map.confirm"]


def test_a_map_may_have_words_of_its_own() -> None:
    own = read_map('version=1\n[confirm]\nactions=["cancel_*"]\nyes=["ja", "mach es"]', source="x")
    of = DESK.model_copy(update={"confirm": own.confirm})
    asked = (USER, order(), "Soll ich?")
    assert raised(run_of(*asked, "> Ja, mach  es", cancel()), of) == []
    assert raised(run_of(*asked, "> yes", cancel()), of) == [("confirm", 7)]


# --- all of them ------------------------------------------------------------------------------------------------------


def test_a_user_with_tools_of_its_own_is_no_agent() -> None:
    run = run_of(USER, cancel())._replace(roles={"agent": "user"})
    assert judge(run, DESK).cases == []


def test_calls_that_were_looked_at_are_counted_by_rule_and_seat() -> None:
    judged = judge(run_of(USER, order(), back(answer=REFUSED), cancel(), refund(1)), DESK)
    assert {name.removeprefix("map."): counts["agent"] for name, counts in judged.of.items() if counts["agent"]} == {
        "first": 4, "look": 2, "state": 2, "unrecovered": 3, "once": 1, "never_after": 1, "retries": 1, "money": 1,
    }  # fmt: skip
    assert set(judged.of) == {check.id for check in CHECKS}


_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.sampled_from(["W1", "i1"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["order_id", "status", "x"]), inner),
    max_leaves=8,
)
_TOOLS = st.sampled_from(["find_user_x", "get_order", "cancel_a", "return_b", "refund_c", "transfer_d", "think", "\0"])
_CALLS = st.builds(Did, _TOOLS, st.dictionaries(st.sampled_from(["order_id", "item_ids", "amount"]), _JSON), _JSON)


@given(st.lists(_CALLS | st.text(max_size=30).map("> {}".format), max_size=8))
def test_no_run_breaks_a_rule_and_no_sentence_is_long(turns: list[Did | str]) -> None:
    for case in judge(run_of(*turns), ASKS).cases:
        assert len(case.why) <= 160
        assert case.rule in {check.id for check in CHECKS}


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
