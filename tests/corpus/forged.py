"""Forged traces: chain, heads, what lies beside them and seal fit again, and something in them never happened.

Made of the auction unless the case says otherwise; its seller S1 is played from outside.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import orjson
from tests.corpus.bases import Bases
from tests.corpus.cases import Make, add, copied
from tests.corpus.forge import Forge

from tradefair.contract.chain import digest

Change: TypeAlias = Callable[[Forge], object]
Event: TypeAlias = dict[str, Any]


def _made_by(change: Change, base: str = "auction") -> Make:
    def make(bases: Bases, folder: Path) -> Path:
        forge = Forge.load(getattr(bases, base))
        change(forge)
        return forge.save(folder / "case.trace")

    return make


def _add_all(group: str, changes: Mapping[str, Change], base: str = "auction") -> None:
    """Register changes of an honest trace as cases."""
    for name, change in changes.items():
        add(group, name, _made_by(change, base))


def _edit(find: Mapping[str, Any], change: Callable[[Event], object], skip: int = 0) -> Change:
    """A change of the first event with these fields, after `skip` others."""
    return lambda forge: forge.edit(forge.seq_of(skip, **find), change)


def _tampered(group: str, name: str, sql: str, *values: object) -> None:
    """Register a case that changes the file and leaves its seal as it was."""

    def make(bases: Bases, folder: Path) -> Path:
        path = copied(bases.auction, folder)
        with closing(sqlite3.connect(path)) as database:
            assert database.execute(sql, values).rowcount > 0, sql
            database.commit()
        return path

    add(group, name, make)


# --- the core -------------------------------------------------------------------------------------------------------

_LIMIT = {"counts": ["read"], "max": 9, "per": "round", "then": "refuse"}
CORES: Mapping[str, Callable[[Event], object]] = {
    "seat_more": lambda core: core["seats"].append({"id": "B3", "role": "buyer"}),
    "another_role": lambda core: core["seats"][0].update(role="seller"),
    "another_limit": lambda core: core.update(
        limits=[{"counts": ["read"], "max": 9, "per": "round", "then": "refuse"}]
    ),
    "another_record_mode": lambda core: core.update(record="digests"),
    "other_tools": lambda core: core.update(tool_schema_digest="0" * 64),
    "another_schema": lambda core: core.update(trace_schema="tradefair.trace/9"),
    "schema_of_old": lambda core: core.update(trace_schema="tradefair.trace/1"),
    "another_seed": lambda core: core.update(seed=8),
}
for _name, _core in CORES.items():
    add("core", _name, _made_by(lambda forge, change=_core: forge.edit_core(change)))

# --- who played -----------------------------------------------------------------------------------------------------


def _seated(change: Callable[[Event], object], place: int = 1) -> Change:
    """A change of what an event says of who plays."""
    return lambda forge: forge.edit(place, lambda event: change(event["seating"]))


def _player(seat: str, **fields: Any) -> Change:
    return _seated(lambda seating: seating["players"][seat].update(fields))


def _agent(**fields: Any) -> Change:
    return _seated(lambda seating: seating["players"]["S1"]["agent"].update(fields))


PLAYERS: Mapping[str, Change] = {
    "another_label_of_an_agent": _player("S1", label="react/openai:gpt-6"),
    "label_that_controls_a_terminal": _player("S1", label="\x1b]0;title\x07\u202e\x9b31m"),
    "another_label_of_a_policy": _player("B1", label="react/openai:gpt-6"),
    "another_policy": _player("B1", policy="shading_20", label="policy:shading_20"),
    "policy_instead_of_an_agent": _player("S1", policy="truthful", label="policy:truthful"),
    "agent_instead_of_a_policy": _player("S2", policy=None, label="react/openai:gpt-6"),
    "another_policy_key": _seated(lambda seating: seating.update(policy_key=5)),
    "another_agent_key": _seated(lambda seating: seating.update(agent_key=5)),
    "late": _player("B2", late=True),
    "privileged": _player("B1", privileged=True),
    "another_model": _agent(model="openai:gpt-6"),
    "another_endpoint": _agent(endpoint="https://example.org/v1"),
    "endpoint_with_a_password": _agent(endpoint="https://user:password@example.org/v1"),
    "seat_that_is_missing": _seated(lambda seating: seating["players"].pop("B2")),
    "seat_that_is_not_there": _seated(lambda seating: seating["players"].update(B9=seating["players"]["B1"])),
    "field_more": _seated(lambda seating: seating.update(verdict="reproduced")),
    "nobody": lambda forge: forge.change(1, seating=None),
}
_add_all("identity", PLAYERS)


def _seats_changed(change: Callable[[Forge, int], object]) -> Change:
    """A change of the event that says that somebody else plays from now on."""
    return lambda forge: change(forge, forge.seq_of(event="seated"))


def _moved(forge: Forge, place: int) -> None:
    body = forge.event(place)
    forge.remove(place)
    forge.insert(place + 1, body)


def _with_player(seat: str, label: str, policy: str | None) -> Change:
    spoken = {"label": label, "policy": policy, "late": False, "privileged": False, "agent": None}
    return _seats_changed(
        lambda forge, place: forge.edit(place, lambda event: event["seating"]["players"].update({seat: spoken}))
    )


SEATED: Mapping[str, Change] = {
    "seated_event_removed": _seats_changed(lambda forge, place: forge.remove(place)),
    "seated_event_moved": _seats_changed(_moved),
    "seated_event_for_another_policy": _with_player("S2", "policy:truthful", "truthful"),
    "seated_event_of_no_seat": _with_player("B9", "B9", None),
    "seated_event_after_the_end": _seats_changed(
        lambda forge, place: forge.insert(len(forge.bodies) + 1, forge.event(place))
    ),
}
_add_all("identity", SEATED)

# --- beside the chain, and the seal ---------------------------------------------------------------------------------

_tampered("beside", "times", "UPDATE events SET latency_us = 1 WHERE seq = 7")
_tampered("beside", "transports", "UPDATE events SET transport = 'http' WHERE seq = 7")
_tampered("beside", "clients", "UPDATE events SET client = 'somebody' WHERE seq = 7")
_tampered("beside", "call_keys", "UPDATE events SET call_key = 'say-9' WHERE call_key = 'say-1'")
_tampered("beside", "a_click", """UPDATE events SET "by" = 'person' WHERE seq = 7""")
_tampered(
    "beside",
    "model_record_changed",
    "UPDATE agent_events SET body = CAST(replace(body, '900', '9') AS BLOB) WHERE id = 1",
)
_tampered("beside", "model_record_removed", "DELETE FROM agent_events WHERE id = 1")
_tampered("beside", "model_record_of_another_seat", "UPDATE agent_events SET seat = 'S2' WHERE id = 1")
_tampered("beside", "model_record_before_all", "INSERT INTO agent_events VALUES (-1, 'S1', '{\"kind\":\"plan\"}')")
_tampered("beside", "model_record_after_the_seal", "INSERT INTO agent_events VALUES (9, 'S1', '{\"kind\":\"plan\"}')")
_tampered("beside", "prompt_after_the_seal", "INSERT INTO prompt_parts VALUES (1, x'00', x'00')")
_tampered(
    "beside",
    "end_reason",
    "UPDATE meta SET value = replace(value, 'rounds_completed', 'agreement') WHERE key = 'about'",
)
_tampered(
    "beside", "signature_of_no_form", 'INSERT INTO meta VALUES (\'signature\', \'{"key":"\\u001b[31m","signature":1}\')'
)


def _about(**said: Any) -> Change:
    return lambda forge: forge.about.update(said)


def _amended(amend: Callable[[Event], object]) -> Change:
    return lambda forge: setattr(forge, "amend", amend)


def _cheaper(forge: Forge) -> None:
    forge.notes[0] = (forge.notes[0][0], forge.notes[0][1].replace(b"0.01", b"0.00"))


SEALED: Mapping[str, Change] = {
    "times_sealed_anew": lambda forge: forge.side[6].update(latency_us=1),
    "costs_sealed_anew": _cheaper,
    "end_reason_sealed_anew": _about(end_reason="terminated:agreement"),
    "outcome_digest_sealed_anew": _about(outcome_digest="0" * 64),
    "line_less": _amended(lambda about: about["beside"].pop("calls")),
    "line_more": _amended(lambda about: about["beside"].update(verdicts=[0, "0" * 64])),
    "line_of_nothing": _amended(lambda about: about.update(beside=None)),
    "count_that_is_no_number": _amended(lambda about: about["beside"].update(calls=["79", "0" * 64])),
    "no_line": _amended(lambda about: about.pop("beside")),
    "never_sealed": lambda forge: forge.unseal(),
}
_add_all("beside", SEALED)


def _signed(by: int, of_another: bool = False) -> Make:
    def make(bases: Bases, folder: Path) -> Path:
        path = Forge.load(bases.auction).save(folder / "case.trace", signer=by)
        if of_another:
            other = Forge.load(bases.bargain).save(folder / "other", signer=by)
            with closing(sqlite3.connect(other)) as database:
                ((stored,),) = database.execute("SELECT value FROM meta WHERE key = 'signature'").fetchall()
            other.unlink()
            with closing(sqlite3.connect(path)) as database:
                database.execute("UPDATE meta SET value = ? WHERE key = 'signature'", (stored,))
                database.commit()
        return path

    return make


add("beside", "signature_of_a_listed_key", _signed(1))
add("beside", "signature_of_an_unlisted_key", _signed(2))
add("beside", "signature_of_another_trace", _signed(1, of_another=True))

# --- calls ----------------------------------------------------------------------------------------------------------

_READ: Mapping[str, Any] = {"seat": "S1", "tool": "view_my_value", "parent": None, "round": 1}
_CHILD: Mapping[str, Any] = {"seat": "S1", "tool": "view_history", "round": 1}
_PROGRAM: Mapping[str, Any] = {"seat": "S1", "tool": "execute_code", "status": "ok"}
# The one read too many of the bargain's first round.
_DENIED: Mapping[str, Any] = {"seat": "B1", "status": "denied", "round": 1}


def _set(**fields: Any) -> Callable[[Event], object]:
    return lambda event: event.update(fields)


CALLS: Mapping[str, Change] = {
    "id_skipped": _edit(_READ, _set(call="r1.S1.9")),
    "id_doubled": _edit(_READ, _set(call="r1.S1.1")),
    "id_of_another_seat": _edit(_READ, _set(call="r1.B1.2")),
    "id_of_a_later_round": _edit(_READ, _set(call="r2.S1.1")),
    "id_with_escapes": _edit(_READ, _set(call="r1.S1.2\x1b]0;title\x07")),
    "id_that_is_a_number": _edit(_READ, _set(call=2)),
    "parent_invented": _edit(_READ, _set(parent="r1.S1.99")),
    "parent_of_another_seat": _edit(_CHILD, _set(parent="r1.B1.1")),
    "parent_with_escapes": _edit(_CHILD, _set(parent="\x1b[31m")),
    "parent_that_has_ended": _edit({"tool": "add_note", "seat": "S1"}, _set(parent="r1.S1.4")),
    "parent_from_a_later_round": _edit({**_READ, "round": 2}, _set(parent="r1.S1.4")),
    "parent_of_an_action": _edit({"seat": "S1", "tool": "send_message", "status": "ok"}, _set(parent="r1.S1.4")),
    "child_without_its_parent": _edit(_CHILD, _set(parent=None)),
}
_add_all("calls", CALLS)


def _words(code: str, message: str, hint: str) -> Event:
    return {"code": code, "message": message, "hint": hint, "retryable": True}


FAULT = _words("internal_error", "the server failed; the call changed nothing", "try again or go on")
_NOTHING: Mapping[str, Any] = dict.fromkeys(("result", "result_ref", "result_digest", "result_size", "refs"))


def _invalid(message: str) -> Event:
    return _words("invalid_arguments", message, "call it again")


def _denied(**fields: Any) -> Change:
    """The denied call otherwise."""
    return lambda forge: forge.change(forge.seq_of(**_DENIED), **fields)


def _answered(**fields: Any) -> Change:
    """The denied call with the fields of one that was carried out."""
    names = ("status", "error", "result", "result_ref", "result_digest", "result_size", "refs", "parent")

    def change(forge: Forge) -> None:
        event = forge.event(forge.seq_of(seat="B1", tool="view_my_value"))
        _denied(**{**{name: event[name] for name in names}, **fields})(forge)

    return change


LIMITS: Mapping[str, Change] = {
    "read_beyond_a_limit": _answered(),
    "read_beyond_a_limit_in_a_program": _answered(parent="r1.B1.9"),
    # What a host refuses counts against no limit.
    "read_beyond_a_limit_called_busy": _denied(
        error=_words("busy", "your code is still running", "wait for the answer of execute_code")
    ),
    "read_beyond_a_limit_called_a_fault": _denied(status="failed", error=FAULT),
    "read_beyond_a_limit_called_invalid": _denied(status="invalid", error=_invalid("arguments must be an object")),
}
_add_all("calls", LIMITS, "bargain")


def _open_at_the_end(forge: Forge, children: int) -> None:
    """The log breaks off in the first program, which has made this many calls."""
    first = forge.seq_of(parent="r1.S1.4")
    forge.remove(forge.seq_of(**_PROGRAM), len(forge.bodies))
    forge.unseal()
    child = next(event for _, event in forge.events() if event.get("parent") and event["tool"] == "view_my_value")
    forge.remove(first, len(forge.bodies))
    for number in range(children):
        # 4 is the program's own number; 5 was its seat's call that found it busy.
        forge.insert(first + number, {**child, "call": f"r1.S1.{6 + number}"})


def _lost_program(times: int) -> Change:
    """As a host leaves it that was killed and restarted."""

    def change(forge: Forge) -> None:
        _open_at_the_end(forge, 3)
        for _ in range(times):
            forge.insert(len(forge.bodies) + 1, _lost(forge, "r1.S1.4"))

    return change


def _lost(forge: Forge, call: str) -> Event:
    return {
        **forge.event(len(forge.bodies)),
        "call": call,
        "parent": None,
        "tool": "execute_code",
        "kind": "analysis",
        "arguments": {},
        "status": "rejected",
        "error": _words(
            "code_lost", "the host was restarted while your program ran; nothing of it was kept", "run it again"
        ),
        **_NOTHING,
    }


_NO_LIMIT = _words("call_limit", "at most 3 calls (read) per round are allowed", "tools that end the turn still work")
OPEN: Mapping[str, Change] = {
    # Seats that were refused nothing look as if they had used up something.
    "limit_that_does_not_exist": lambda forge: forge.change(
        forge.seq_of(**_READ), status="denied", error=_NO_LIMIT, **_NOTHING
    ),
    "two_hundred_children": lambda forge: _open_at_the_end(forge, 200),
    "two_hundred_and_one_children": lambda forge: _open_at_the_end(forge, 201),
    # Its seat goes on as if nothing ran.
    "program_that_stays_open": lambda forge: forge.remove(forge.seq_of(**_PROGRAM)),
    "program_that_is_lost": _lost_program(1),
    "program_that_is_lost_twice": _lost_program(2),
}
_add_all("calls", OPEN)

# --- programs -------------------------------------------------------------------------------------------------------


def _result(change: Callable[[Event], object]) -> Change:
    """A program's result changed, with digest and size that fit."""

    def forge_it(forge: Forge) -> None:
        place = forge.seq_of(**_PROGRAM)
        result = orjson.loads(forge.blobs[forge.event(place)["result_ref"]])
        forge.set_result(place, change(result) or result)

    return forge_it


_FAILED: Mapping[str, Any] = {"seat": "S1", "tool": "execute_code", "status": "rejected"}


def _error(**fields: Any) -> Callable[[Event], object]:
    return lambda event: event["error"].update(fields)


PROGRAMS: Mapping[str, Change] = {
    "result_that_is_a_list": _result(lambda result: [result]),
    "result_with_a_field_more": _result(lambda result: result.update(verdict="sound")),
    "result_with_a_field_less": _result(lambda result: result.pop("output") and None),
    "count_of_calls": _result(lambda result: result.update(inner_calls=0)),
    "invented_answer": _result(lambda result: result.update(output="42", value=42)),
    "digest": _edit(_PROGRAM, _set(result_digest="0" * 64)),
    "size": _edit(_PROGRAM, _set(result_size=1)),
    "field_more": _edit(_PROGRAM, _set(verdict="reproduced")),
    "refs_invented": _edit(_PROGRAM, _set(refs=["P001"])),
    "unknown_code": _edit(_FAILED, _error(code="no_such_code")),
    "hint_that_is_no_text": _edit(_FAILED, _error(hint=["a"])),
    "message_that_controls_a_terminal": _edit(_FAILED, _error(message="\x1b]0;title\x07\u202e\x9b31m")),
    "failure_with_a_result": _edit(_FAILED, _set(result={"output": "42", "value": 42, "inner_calls": 1})),
}
_add_all("programs", PROGRAMS)

# --- refusals and faults --------------------------------------------------------------------------------------------

_INVALID: Mapping[str, Any] = {"seat": "S1", "status": "invalid"}
_UNKNOWN: Mapping[str, Any] = {"seat": "S1", "tool": "no_such_tool"}
_REUSED: Mapping[str, Any] = {"seat": "S1", "status": "denied", "tool": "send_message"}


def _cut(**fields: Any) -> Change:
    """The arguments of the refused call that are kept in part."""
    return _edit(_INVALID, lambda event: event["arguments"].update(fields), skip=1)


def _fitting(forge: Forge) -> None:
    """Nothing but the word of the host says that a key was used before."""
    refusal = forge.event(forge.seq_of(**_REUSED))
    place = forge.seq_of(**_UNKNOWN)
    forge.change(place, **{name: refusal[name] for name in ("tool", "kind", "arguments", "error")})


REFUSALS: Mapping[str, Change] = {
    "valid_arguments_called_invalid": _edit(
        _READ, _set(status="invalid", error=_invalid("arguments must be an object"), **_NOTHING)
    ),
    "invalid_with_an_unknown_code": _edit(_INVALID, _error(code="no_such_code")),
    "invalid_with_another_hint": _edit(_INVALID, _error(hint="pay first")),
    "invalid_in_other_words": _edit(_INVALID, _error(message="price: not like this")),
    "invalid_with_a_long_message": _edit(_INVALID, _error(message="x" * 100_000)),
    "invalid_of_another_kind": _edit(_INVALID, _set(kind="read")),
    "invalid_of_another_tool": _edit(_INVALID, _set(tool="view_rules", kind="read")),
    "invalid_with_a_result": _edit(_INVALID, _set(result={"price": 61})),
    "cut_arguments_that_are_small": _cut(size=10),
    "cut_arguments_of_no_digest": _cut(digest="none"),
    "cut_arguments_with_a_field_more": _cut(more=1),
    "cut_arguments_of_a_megabyte": _cut(cut="x" * 2**20),
    "other_cut_arguments": _cut(digest=digest(b"other arguments")),
    "unknown_tool_that_exists": _edit(_UNKNOWN, _set(tool="view_rules", kind="read")),
    "host_refusal_with_another_hint": _edit(_REUSED, _error(hint="pay first")),
    "host_refusal_with_an_unknown_code": _edit(_REUSED, _error(code="no_money")),
    "host_refusal_of_an_action_as_full": _edit(
        _REUSED, _error(code="storage_unavailable", message="the log could not be written; nothing has changed")
    ),
    "read_called_a_fault": _edit(_READ, _set(status="failed", error=FAULT, **_NOTHING)),
    "fault_in_other_words": _edit(_READ, _set(status="failed", error={**FAULT, "message": "no"}, **_NOTHING)),
    "fault_of_no_tool": _edit(_UNKNOWN, _set(status="failed", error=FAULT)),
    "fault_of_another_kind": _edit(_READ, _set(status="failed", kind="action", error=FAULT, **_NOTHING)),
    "status_of_no_kind": _edit(_READ, _set(status="lost")),
    "a_fitting_host_refusal": _fitting,
}
_add_all("refusals", REFUSALS)

# --- order and ends -------------------------------------------------------------------------------------------------


def _tail_off(group: str, name: str, closed: bool) -> None:
    """The last events deleted, heads and seal as they were; or unsealed, with the tail behind the last closure."""

    def make(bases: Bases, folder: Path) -> Path:
        forge = Forge.load(bases.auction)
        if closed:
            forge.unseal()
            forge.remove(len(forge.bodies))
        path = forge.save(folder / "case.trace")
        with closing(sqlite3.connect(path)) as database:
            database.execute("DELETE FROM events WHERE seq > (SELECT max(seq) - 2 FROM events)")
            database.commit()
        return path

    add(group, name, make)


_tail_off("order", "tail_off_a_sealed_trace", closed=False)
_tail_off("order", "tail_off_an_unsealed_trace", closed=True)


def _within_a_batch(forge: Forge) -> None:
    """The last act of a round without the closure that it brings."""
    forge.unseal()
    forge.remove(forge.seq_of(event="round_closed", round=3), len(forge.bodies))


def _exchanged(**find: Any) -> Change:
    """An event before the one that it follows."""

    def change(forge: Forge) -> None:
        place = forge.seq_of(**find)
        forge.bodies[place - 2 : place] = [forge.bodies[place - 1], forge.bodies[place - 2]]
        forge.renumber()

    return change


ORDERS: Mapping[str, Change] = {
    "tail_off_and_sealed_anew": lambda forge: forge.remove(len(forge.bodies) - 5, len(forge.bodies)),
    "tail_off_within_a_batch": _within_a_batch,
    "closure_moved": _exchanged(event="round_closed"),
    "calls_in_another_order": _exchanged(**_READ),
    "event_missing": lambda forge: forge.remove(forge.seq_of(tool="send_message", seat="B2")),
    "second_start": lambda forge: forge.insert(5, forge.event(1)),
    "event_after_the_end": lambda forge: forge.insert(len(forge.bodies) + 1, forge.event(forge.seq_of(**_READ))),
    "unknown_event": lambda forge: forge.insert(5, {**forge.event(1), "event": "message_sent"}),
    "no_event": lambda forge: forge.remove(1, len(forge.bodies)),
}
_add_all("order", ORDERS)


def _with_the_other(joined: bool) -> Make:
    def make(bases: Bases, folder: Path) -> Path:
        forge, other = Forge.load(bases.auction), Forge.load(bases.bargain)
        forge.bodies = [*forge.bodies, *other.bodies] if joined else other.bodies
        forge.side = [*forge.side, *other.side] if joined else other.side
        forge.renumber()
        return forge.save(folder / "case.trace")

    return make


add("order", "two_traces_joined", _with_the_other(joined=True))
add("order", "events_of_the_other_market", _with_the_other(joined=False))
