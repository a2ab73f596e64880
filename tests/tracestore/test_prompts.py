"""Prompts of a stranger's file are counted, measured and unpacked within bounds; each fault is one sentence."""

from __future__ import annotations

import resource
import sqlite3
from collections import deque
from contextlib import closing
from typing import Any

import pytest
from tests.corpus.hostile_prompts import CASES_OF_PROMPTS

from tradefair.contract import TraceError
from tradefair.evaluation.store.replies import paired
from tradefair.tracestore import SCHEMA, Exchange, Ledger, PromptCall, sqlite_rows
from tradefair.tracestore.prompts import read_prompts

SAYS = {
    "a_bomb_of_a_message": "message 1 of a model unpacks to more than 2,097,152 bytes",
    "a_bomb_of_an_answer": "answer 1 of a model unpacks to more than 2,097,152 bytes",
    "messages_that_add_up": "unpacks to more than 134,217,728 bytes",
    "lists_without_end": "hold more than 10,000,000 messages",
    "requests_without_end": "more than 50,000 requests to models",
    "messages_without_end": "more than 200,000 messages to models",
    "a_message_that_is_missing": "message 7 to a model is missing",
    "more_taken_over_than_there_was": "request 1 to a model is damaged",
    "lists_in_lists_in_a_message": "message 1 of a model is damaged",
    "other_types": "request 1 to a model is damaged",
}


@pytest.mark.parametrize("name", CASES_OF_PROMPTS)
def test_what_no_writer_writes_is_refused_in_one_sentence(name: str) -> None:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        CASES_OF_PROMPTS[name](database)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        calls = read_prompts(sqlite_rows(database, "prompt_parts"), sqlite_rows(database, "prompt_calls"), "S1")
        if name not in SAYS:
            assert len([call.messages for call in calls]) == 1
            return
        # Each message is looked at where it is new, as a page does.
        looks = (call.part(number) for call in calls for number in call.numbers[call.same :])
        with pytest.raises(TraceError) as refused:
            deque(looks, maxlen=0)
        assert SAYS[name] in str(refused.value)
        # Kilobytes. A bomb that was opened would take a gigabyte.
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_rows_give_back_what_was_written_whatever_the_requests_share() -> None:
    def exchange(*texts: str, **fields: Any) -> Exchange:
        return Exchange({"model": "m", **fields, "messages": [{"role": "user", "content": text} for text in texts]}, {})

    told = [
        ("B1", exchange("a", "b")),
        ("B2", exchange("b")),
        ("B1", exchange("a", "c", tools=[{"type": "function"}])),
        ("B1", exchange("a", "c", "a", tools=[])),
        ("B2", exchange("b", stop=None)),
    ]
    ledger = Ledger()
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(SCHEMA)
        for seat, asked in told:
            rows = ledger.rows(seat, [asked])
            database.executemany("INSERT INTO prompt_parts VALUES (?, ?, ?)", rows.parts)
            columns = "seat, call, same, parts, tools, params, answer"
            database.executemany(f"INSERT INTO prompt_calls ({columns}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows.calls)
            ledger.wrote(seat, rows)
        for seat in ("B1", "B2", None):
            calls = read_prompts(sqlite_rows(database, "prompt_parts"), sqlite_rows(database, "prompt_calls"), seat)
            found = [call.request for call in calls]
            wanted = [asked.request for owner, asked in told if seat in (None, owner)]
            assert found == wanted
            assert [list(request) for request in found] == [list(request) for request in wanted]
        # Fields that are as before are not written again.
        assert [len(params) for (params,) in database.execute("SELECT params FROM prompt_calls")][3:] == [
            0,
            len(b'{"model":"m","stop":null,"messages":null}'),
        ]


def test_requests_and_notes_are_paired_by_id_and_order() -> None:
    def call(named: str) -> PromptCall:
        return PromptCall("B1", named, (), 0, None, {}, {}, lambda number: number)

    def pairs(calls: str, notes: str) -> list[tuple[str | None, int | None]]:
        return [(prompt and prompt.call, place) for prompt, place in paired(map(call, calls), list(notes))]

    assert pairs("abc", "abc") == [("a", 0), ("b", 1), ("c", 2)]
    # An id may come twice, and either side may miss some.
    assert pairs("aba", "aba") == [("a", 0), ("b", 1), ("a", 2)]
    assert pairs("c", "abcd") == [(None, 0), (None, 1), ("c", 2), (None, 3)]
    assert pairs("axb", "ab") == [("a", 0), ("x", None), ("b", 1)]
    # In another order no note is shown twice.
    assert pairs("ba", "ab") == [(None, 0), ("b", 1), ("a", None)]
