"""What a draft of a map finds in runs of a scripted client, and that it finds nothing where nothing flows."""

from __future__ import annotations

import random
import tomllib
from typing import Any

import pytest
from tests.evaluation.audit.runs import did, run_of

from tradefair.contract import ScenarioError
from tradefair.evaluation.foreign.audit.draft import draft_map
from tradefair.evaluation.foreign.audit.run import Call, Run


def desk(number: int, chance: random.Random) -> Run:
    """A desk that looks a customer up, then tickets; those that are open are closed, and others refused."""
    person, tickets = f"cust_{number}", [f"T{chance.randrange(10**6):06}" for _ in range(3)]
    turns: list[Any] = [
        "> please help",
        did("find_customer", {"customer": person, "tickets": tickets}, email=f"a{number}@x.org"),
    ]
    for ticket in tickets:
        status = chance.choice(["open", "open", "done"])
        turns += [
            did("get_ticket", {"ticket_id": ticket, "status": status, "lines": [f"L{ticket}"]}, ticket_id=ticket),
            f"Shall I close {ticket}?",
            "> yes",
            did(
                "close_ticket",
                "Error: not open" if status == "done" else "closed",
                ticket_id=ticket,
                line_ids=[f"L{ticket}"],
            ),
        ]
    return run_of(*turns, name=f"r{number}")


def runs(count: int = 12) -> list[Run]:
    chance = random.Random(7)
    return [desk(number, chance) for number in range(count)]


def shuffled(wanted: list[Run]) -> list[Run]:
    """The same calls with arguments of other calls: what a call names was in no answer of its run."""
    values: dict[str, list[Any]] = {}
    for run in wanted:
        for call in run.calls:
            for name, value in call.arguments.items():
                values.setdefault(name, []).append(value)
    for drawn in values.values():
        random.Random(3).shuffle(drawn)
    return [
        run._replace(
            turns=tuple(
                turn._replace(arguments={name: values[name].pop() for name in turn.arguments})
                if isinstance(turn, Call)
                else turn
                for turn in run.turns
            )
        )
        for run in wanted
    ]


def test_planted_objects_looks_states_and_first_are_found() -> None:
    drafted = draft_map(runs())
    found = tomllib.loads(drafted)
    assert found["tools"] == {"action": ["close_ticket"]}
    assert found["first"] == {"one_of": ["find_customer"]}
    assert found["objects"] == {
        "ticket": {"arguments": ["ticket_id"], "look": ["get_ticket"], "fields": {"status": "status"}},
        "line": {"arguments": ["line_ids"], "look": ["get_ticket"]},
    }
    assert found["confirm"] == {"actions": ["close_ticket"]}
    assert found["rule"] == [
        {"action": ["close_ticket"], "look": ["ticket", "line"], "state": {"ticket.status": "open"}}
    ]
    assert "72 of 72 uses were in an answer before" in drafted
    assert all(
        "#" in line for line in drafted.splitlines() if "=" in line and not line.startswith(("version", "fields"))
    )
    # Drawn, not planted: how many were closed.
    accepted = sum(call.tool == "close_ticket" and call.accepted for run in runs() for call in run.calls)
    assert f"all {accepted} accepted, {36 - accepted} refused had another" in drafted


def test_nothing_is_found_where_ids_are_shuffled() -> None:
    found = tomllib.loads(draft_map(shuffled(runs())))
    assert found.keys() == {"version", "tools", "confirm"}


def test_no_confirmation_is_drafted_where_nobody_says_yes() -> None:
    alone = [run._replace(turns=tuple(run.calls)) for run in runs()]
    assert "confirm" not in tomllib.loads(draft_map(alone))


def test_a_state_that_refused_calls_had_too_or_that_never_differs_is_none() -> None:
    def made(number: int, before: str, answer: str) -> Run:
        ticket = f"T{number:04}"
        look = did("get_ticket", {"status": before, "site": "main"}, ticket_id=ticket)
        return run_of(did("list_tickets", [ticket]), look, did("close_ticket", answer, ticket_id=ticket))

    # Half of the accepted ones were open, and every ticket is of one site.
    mixed = [made(number, "open" if number % 2 else "done", "ok" if number % 3 else "Error: x") for number in range(30)]
    (rule,) = tomllib.loads(draft_map(mixed))["rule"]
    assert rule == {"action": ["close_ticket"], "look": ["ticket"]}


def test_annotations_are_believed_before_names() -> None:
    hints = {"get_ticket": {"readOnlyHint": False}}
    touched = [
        run._replace(
            hints=hints,
            turns=tuple(
                turn._replace(kind="action") if isinstance(turn, Call) and turn.tool == "get_ticket" else turn
                for turn in run.turns
            ),
        )
        for run in runs()
    ]
    drafted = draft_map(touched)
    assert tomllib.loads(drafted)["tools"]["action"] == ["close_ticket", "get_ticket"]
    assert "check: 1 by name" in drafted


@pytest.mark.parametrize("count", [0, 2])
def test_fewer_than_three_runs_are_refused(count: int) -> None:
    with pytest.raises(ScenarioError, match=f"runs with calls: {count}; habits show in 3 or more"):
        draft_map([*runs(count), run_of("> hi", "hello")])


def test_names_of_strangers_cannot_break_the_file() -> None:
    evil = 'x"]\n[rule]\u202e\x7f\U000e0001'
    calls = [[did("list", [f"ID{n}"]), did(evil, "ok", **{evil + "_id": f"ID{n}"})] for n in range(5)]
    hostile = [run_of(*made, name="\n[x]") for made in calls]
    found = tomllib.loads(draft_map(hostile, "a\nb = 1"))
    assert found["tools"]["action"] == [evil]
    assert found["objects"] == {evil: {"arguments": [evil + "_id"], "look": ["list"]}}


def test_one_and_several_ids_of_a_kind_are_one_object() -> None:
    many = [
        run_of(did("list_tickets", [f"T{n}00", f"T{n}01"]), did("get_tickets", "…", ticket_ids=[f"T{n}00"]),
               did("close_ticket", ticket_id=f"T{n}00"))
        for n in range(5)
    ]  # fmt: skip
    found = tomllib.loads(draft_map(many))["objects"]
    assert found == {"ticket": {"arguments": ["ticket_ids", "ticket_id"], "look": ["get_tickets"]}}


@pytest.mark.parametrize(("uses", "drafted"), [(4, False), (5, True)])
def test_nothing_is_drafted_of_an_object_that_was_used_fewer_than_five_times(uses: int, drafted: bool) -> None:
    runs = [run_of(did("list", [f"ID{n}"]), did("get", {"id": f"ID{n}"}, a_id=f"ID{n}")) for n in range(uses)]
    assert ("objects" in tomllib.loads(draft_map(runs))) is drafted


def test_names_that_no_map_can_hold_are_left_out() -> None:
    odd = [
        run_of(did("list", [f"ID{n}"]), did("", a_id=f"ID{n}"), did("x" * 201), did("act", **{"a.b": f"ID{n}"}))
        for n in range(5)
    ]
    found = tomllib.loads(draft_map(odd))
    assert found["tools"]["action"] == ["act"]
    assert found["objects"].keys() == {"a"}
