"""The reader of replies: whatever came, a clean chat completion or one of two refusals, and nothing else."""

from __future__ import annotations

import json
import random
from copy import deepcopy
from typing import Any

import orjson
import pytest
from openai.types.chat import ChatCompletion
from tests.frameworks.models.standins import DRESSES, Json, plain_reply

from tradefair.frameworks.models.reply import (
    MOST_CALLS,
    Completion,
    Failed,
    NotUnderstood,
    calls_in,
    completion,
    parse,
    text_of,
    usage_of,
)
from tradefair.frameworks.models.responses import from_responses

BODIES = 3_000
_CALL: Json = {"id": "a", "type": "function", "function": {"name": "look", "arguments": '{"at": 1}'}}
_SAID: Json = {"role": "assistant", "content": "Well.", "tool_calls": [_CALL, {**_CALL, "id": "b"}]}
_REPLY = plain_reply("tiny", _SAID, 5)
_OUTPUT: Json = {
    "id": "resp_1",
    "model": "tiny",
    "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Well."}]},
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{}"},
    ],
    "usage": {"input_tokens": 1, "output_tokens": 2},
}
# What servers put where something else belongs.
_NO_TEXTS: list[Any] = [None, True, -1, 7, 1.5, 2**70, [], [None], {}, {"a": {}}, [[[]]]]
_ODD: list[Any] = [*_NO_TEXTS, "", "x", "\ud83c", '"{}"', "{" * 50]


def read(body: Json, *taken: str) -> Completion:
    return completion(parse(json.dumps(body).encode()), taken)


def with_call(**fields: Any) -> Json:
    call = {**_CALL, **{name: fields.pop(name) for name in ("id", "type") if name in fields}}
    call["function"] = {**_CALL["function"], **fields}
    return plain_reply("tiny", {"role": "assistant", "content": None, "tool_calls": [call]})


def _keys(place: Any) -> list[Any]:
    return [*place] if isinstance(place, dict) else [*range(len(place))]


def damaged(chance: random.Random) -> bytes:
    """A reply of either API with some of its values, or of its bytes, replaced."""
    body = deepcopy(chance.choice([_REPLY, _OUTPUT]))
    for _ in range(chance.randint(1, 3)):
        place: Any = body
        while True:
            key: Any = chance.choice(_keys(place))
            if not (isinstance(place[key], dict | list) and place[key]) or chance.random() < 0.2:
                break
            place = place[key]
        place[key] = deepcopy(chance.choice(_ODD))
        if not body:
            break
    content = bytearray(json.dumps(body).encode())
    for _ in range(chance.choice([0, 0, 0, 1, 4])):
        content[chance.randrange(len(content))] = chance.randrange(256)
    return bytes(content)


def is_clean(content: bytes, taken: set[str]) -> bool:
    """Whether a body is read; what it is read as is then checked."""
    try:
        body = completion(from_responses(parse(content)), taken).body
    except (NotUnderstood, Failed):
        return False
    ChatCompletion.model_validate(orjson.loads(orjson.dumps(body)), strict=True)
    ids = [call.id for call in calls_in(body)]
    assert len({*ids, *taken}) == len(ids) + len(taken)
    assert all(count is None or 0 <= count <= 2**53 for count in usage_of(body)[:3])
    return True


def test_a_damaged_body_is_clean_or_refused_and_never_anything_else() -> None:
    chance = random.Random(11)
    read = sum(is_clean(damaged(chance), {"a", "call-1"}) for _ in range(BODIES))
    assert 0.2 < read / BODIES < 0.9


@pytest.mark.parametrize("dress", DRESSES)
def test_a_dress_says_what_the_plain_reply_says(dress: str) -> None:
    plain = plain_reply("tiny", {"role": "assistant", "content": "Well.", "tool_calls": [deepcopy(_CALL)]}, 5)
    worn = DRESSES[dress](deepcopy(plain))
    clean = completion(parse((worn if isinstance(worn, str) else json.dumps(worn)).encode()))
    assert [(call.name, call.arguments) for call in calls_in(clean.body)] == [("look", {"at": 1})]


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        ({"at": 1}, {"at": 1}),
        ('"{\\"at\\": 1}"', {"at": 1}),
        (None, {}),
        ("", {}),
        ('{"t": "\\ud83c"}', {"t": "\ufffd"}),
        ('{"t": "\\ud83c\\udf83"}', {"t": "🎃"}),
        ('{"t": "\ud83c"}', {"t": "\ufffd"}),
        ("[1]", None),
        ([1], None),
        (7, None),
        ('"x"', None),
        ("{", None),
        ('{"a": NaN}', None),
    ],
)
def test_arguments_are_an_object_or_a_malformed_call(written: Any, arguments: Json | None) -> None:
    (call,) = calls_in(read(with_call(arguments=written)).body)
    assert call.arguments == arguments


@pytest.mark.parametrize(
    ("given", "taken", "is_read_as"),
    [
        ("x", (), "x"),
        (7, (), "7"),
        (None, (), "call-0"),
        ("", (), "call-0"),
        (True, (), "call-0"),
        ("\ud83c", (), "call-0"),
        ("x", ("x",), "call-1"),
        (None, ("call-1",), "call-2"),
    ],
)
def test_an_id_is_text_that_nothing_else_in_the_talk_has(given: Any, taken: tuple[str, ...], is_read_as: str) -> None:
    clean = read(with_call(id=given), *taken)
    assert [call.id for call in calls_in(clean.body)] == [is_read_as]
    assert ("tool_calls[0].id" in clean.repaired) is (given != is_read_as)


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 10.0, "completion_tokens": 2}, (10, 2)),
        ({"prompt_tokens": 10}, (None, None)),
        ({"prompt_tokens": -1, "completion_tokens": 2}, (None, None)),
        ({"prompt_tokens": True, "completion_tokens": 2}, (None, None)),
        ({"prompt_tokens": 2**60, "completion_tokens": 2}, (None, None)),
        ({"prompt_tokens": float("nan"), "completion_tokens": 2}, (None, None)),
        ("many", (None, None)),
        (None, (None, None)),
    ],
)
def test_what_is_no_count_is_not_counted_and_never_zero(usage: Any, counts: tuple[int | None, int | None]) -> None:
    found = usage_of(read({**_REPLY, "usage": usage}).body)
    assert (found.input_tokens, found.output_tokens) == counts


_BROKEN: list[tuple[bytes, str]] = [
    (b"hello", "the body is 'hello'"),
    (b"[]", "the body is []"),
    (b'data: {"choices": []}', "the body (a stream, which was not asked for) is"),
    (b"{}", "choices is None"),
    (b'{"choices": [7]}', "choices[0] is 7"),
    (b'{"choices": [{"message": "nothing"}]}', "choices[0].message is 'nothing'"),
    (b'{"choices": [{"message": {"tool_calls": [{"id": "a"}]}}]}', "choices[0].message.tool_calls[0] is {'id': 'a'}"),
    (b'{"choices": [{"message": {"tool_calls": 7}}]}', "choices[0].message.tool_calls is 7"),
    (b"[" * 100_000, "the body is '[[["),
    (json.dumps({"choices": "x" * 10_000}).encode(), "…"),
]


@pytest.mark.parametrize(("content", "said"), _BROKEN)
def test_what_is_no_reply_is_refused_in_one_short_line_that_names_the_field(content: bytes, said: str) -> None:
    with pytest.raises(NotUnderstood) as refused:
        completion(parse(content))
    assert f"the reply is not understood: {said}"[:40] in str(refused.value) or said in str(refused.value)
    assert len(str(refused.value)) < 300
    assert "\n" not in str(refused.value)


def test_a_thousand_calls_are_read_and_no_more() -> None:
    def many(count: int) -> Json:
        return plain_reply("tiny", {"role": "assistant", "content": None, "tool_calls": [_CALL] * count})

    assert len({call.id for call in calls_in(read(many(MOST_CALLS)).body)}) == MOST_CALLS
    with pytest.raises(NotUnderstood, match="1001 calls"):
        read(many(MOST_CALLS + 1))


@pytest.mark.parametrize(
    ("error", "status"),
    [({"message": "slow", "code": 429}, 429), ("slow", 500), ({"code": "rate_limit_exceeded"}, 429), ({"x": 1}, 500)],
)
def test_an_error_inside_a_reply_is_that_error(error: Any, status: int) -> None:
    for body in ({"error": error}, {"choices": [{"error": error}]}):
        with pytest.raises(Failed) as failed:
            read(body)
        assert failed.value.status == status


def test_parts_are_joined_and_thoughts_stand_beside_the_words() -> None:
    parts = [{"type": "text", "text": "<think>Hm.</think>Wel"}, {"type": "image"}, {"type": "text", "text": "l."}]
    clean = read(plain_reply("tiny", {"role": "assistant", "content": parts})).body
    assert (text_of(clean), clean["choices"][0]["message"]["reasoning_content"]) == ("Well.", "Hm.")
