"""Secrets go, whatever they are wrapped in; what only looks like one stays: every row of the published table."""

from __future__ import annotations

import json
import random
import re
import string
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.waiting import Loops

from tradefair.contract import ScenarioError
from tradefair.tracestore.redaction import Redactor, rows

SECRET = "q7Zp-x9Kd2Lm4Wv8"
ROWS = rows()
_SIGNS = {
    "w": string.ascii_letters + string.digits, "A": string.ascii_uppercase + string.digits, "x": "0123456789abcdef",
    "d": string.digits, "l": string.ascii_lowercase + string.digits, "b": string.ascii_letters + string.digits + "+/",
}  # fmt: skip
_FILLED = re.compile(r"\{([wAxdlb])(\d+)\}")


def made(example: str) -> tuple[str, list[str]]:
    """An example of the table, and what must be gone of it: parts that are long enough to be no word."""
    chance, parts = random.Random(example), list[str]()

    def filled(match: re.Match[str]) -> str:
        signs = "".join(chance.choices(_SIGNS[match[1]], k=int(match[2]) - 2)) + ("7a" if match[1] != "A" else "7A")
        parts.append(signs if match[1] != "d" else "7" * int(match[2]))
        return parts[-1]

    return _FILLED.sub(filled, example).replace("{SECRET}", SECRET), parts


SHAPES = [
    *(f"{prefix}{{w30}}" for prefixes in ROWS["prefixes"].values() for prefix in prefixes.split()),
    *(example for shape in ROWS["shapes"] for example in shape["examples"]),
]
HIDDEN = [*ROWS["fields"]["hidden"], *ROWS["fields"]["shown"], *ROWS["fields"]["shaped"]]
PLACES = [
    example.replace("{NAME}", name)
    for place in ROWS["places"]
    for example in place["examples"]
    for name in (("password", "apiKey", "CLIENT_SECRET") if "{NAME}" in example else ("",))
]
WRITTEN: list[Callable[[list[str]], str]] = [
    "_".join, "-".join, " ".join, lambda words: words[0] + "".join(map(str.title, words[1:])),
    lambda words: "DB_" + "_".join(words).upper(), lambda words: "my" + "".join(map(str.title, words)) + "2",
]  # fmt: skip


def test_the_table_is_as_long_as_is_promised() -> None:
    assert min(len(SHAPES) // 100, len(HIDDEN) // 60, len(PLACES) // 40, len(ROWS["harmless"]["examples"]) // 60) >= 1


@pytest.mark.parametrize("wrap", ["{}", "see {} and more", '"{}"', "(x={},y)", "https://h.example/a/{}"])
def test_a_value_of_a_known_shape_is_gone(wrap: str) -> None:
    for example in SHAPES:
        text, parts = made(example)
        if "://" in text and wrap.startswith("https"):
            continue
        shown = Redactor().text(wrap.replace("{}", text))
        # The name of an account, a number of rounds or of a host may stay.
        assert max(parts, key=len) not in shown, (text, shown)
        assert "[redacted:" in shown


@pytest.mark.parametrize("name", HIDDEN)
def test_the_value_of_a_field_is_gone_however_its_name_is_written(name: str) -> None:
    for written in WRITTEN:
        field = written(name.split())
        for value in ({field: SECRET}, {"a": [{field: [SECRET]}]}, {"text": json.dumps({field: SECRET})}):
            assert SECRET not in json.dumps(Redactor().clean(value)), value
        assert SECRET not in Redactor().text(f"set {field.replace(' ', '_')}='{SECRET}' now")


@pytest.mark.parametrize("example", PLACES)
def test_a_secret_in_a_known_place_is_gone(example: str) -> None:
    text, _ = made(example)
    for value in (text, f"before\n{text}\nafter", {"command": text}, [json.dumps({"text": text})]):
        shown = json.dumps(Redactor().clean(value))
        assert SECRET not in shown, shown


@pytest.mark.parametrize(
    "value",
    [
        ["--password", SECRET], ["run", "--api-key", SECRET, "-v"], ["Authorization", SECRET],
        ["curl", "-u", f"a:{SECRET}"],
        [["Accept", "a"], ["X-Api-Key", SECRET]], {"name": "Password", "type": "textbox", "value": SECRET},
        {"k": "api_key", "v": SECRET}, {"Key": "DbPassword", "Value": SECRET}, {"header": "Cookie", "value": SECRET},
        {"key": "db.password", "value": {"stringValue": SECRET}}, {"element": "Password field", "text": SECRET},
        {"secret": {"deep": [1, [SECRET]]}}, {"kind": "Secret", "data": {"a": SECRET}}, {"kty": "EC", "d": SECRET},
        {"password": {"type": "string", "value": SECRET}}, {f"sk-{SECRET}": 1}, {"auth": {"user": "a", "pass": SECRET}},
        '{"password":"' + "".join(f"\\u{ord(sign):04x}" for sign in SECRET) + '"}',
        '{"a":"sk-' + SECRET + '","a":"twice"}',
        {"pin": 4711, "otp": 123456, "x": "4711 redacted"}, {"password_type": f"{SECRET}{SECRET}"},
    ],
)  # fmt: skip
def test_a_secret_in_data_is_gone(value: Any) -> None:
    redactor = Redactor()
    shown = json.dumps(redactor.clean(value))
    assert not [secret for secret in (SECRET, ": 4711", "123456") if secret in shown]
    assert "[redacted:" in shown or "twice" in shown


@pytest.mark.parametrize("unknown", [False, True])
@pytest.mark.parametrize("example", ROWS["harmless"]["examples"])
def test_what_is_no_secret_stays_as_it_is(example: str, unknown: bool) -> None:
    value, redactor = json.loads(example), Redactor(unknown=unknown)
    assert redactor.clean(value) == value
    assert redactor.clean({"text": json.dumps({"a": value})}) == {"text": json.dumps({"a": value})}
    assert not redactor.hits


def test_what_looks_random_goes_where_it_is_asked_for() -> None:
    values = [made(f"{{{sign}{size}}}")[0] for sign in "wb" for size in (28, 32, 40, 64, 88)]
    shown = Redactor(unknown=True).text(" and ".join(values))
    assert [value for value in values if value in shown] == []
    assert Redactor().clean(values) == values
    assert Redactor(unknown=True, keep=["nonce"]).clean({"nonce": values[0]}) == {"nonce": values[0]}


def test_equal_secrets_are_equal_in_one_recording_and_in_no_other() -> None:
    first, second = Redactor(), Redactor()
    one, two, three = (first.clean({"pin": "", "password": text})["password"] for text in ("a", "a", "b"))
    assert one == two != three
    assert second.clean({"password": "a"})["password"] != one
    assert first.hits == {"password": 3}


def test_patterns_and_fields_of_a_user_are_secrets_too() -> None:
    # Longer than a digest, in which any two digits may stand by chance.
    redactor, number = Redactor([r"(?i)case-(\d+)", "q*"], ["ssn", " "], keep=["session"]), "7" * 20
    shown = redactor.clean({"SSN": 123, "text": f"Case-{number} and CASE-{number}", "plain": "y", "session_of": "noon"})
    assert (shown["plain"], shown["session_of"]) == ("y", "noon")
    assert number not in shown["text"]
    assert redactor.hits == {"ssn": 1, "redact 1": 2}
    with pytest.raises(ScenarioError, match="--redact 2: not a regular expression") as refused:
        Redactor(["fine", "(hunter2"])
    assert "hunter2" not in str(refused.value)


@pytest.mark.parametrize(
    "unit",
    [
        "a", "a ", "-", "_", "-a", "password", "password=", "password ", "://", "://a:", "eyJ", "sk-", "A.", "a:b ",
        "<a>", "--a ", "Private-Lines: 1\nab", "-----BEGIN A PRIVATE KEY-----", "name=a ", "hooks/", "machine ", "{",
        "$1$", "?key=", "[redacted:", 'token:"', "token: a", "access-", " is ", "curl -u ", "mysql ", "a=b;", "hook.a/",
        "/hooks/a", '\\"',
    ],
)  # fmt: skip
def test_the_work_grows_as_the_text_does(unit: str) -> None:
    def work(size: int) -> float:
        redactor, text, loops = Redactor(unknown=True), unit * (size // len(unit)), Loops()
        redactor.text(text)
        return loops.taken()

    small = min(work(20_000) for _ in range(3))
    assert min(work(80_000) for _ in range(2)) < 10 * max(small, 0.05)


@given(some.sampled_from(HIDDEN[:20]), some.text("abcXYZ059_+/=", min_size=12, max_size=40), some.integers(0, 3))
def test_whatever_a_named_field_holds_is_gone(name: str, secret: str, layers: int) -> None:
    held: Any = secret
    for _ in range(layers):
        held = json.dumps({"a": [held]})
    wrapped = {"outer": [{name: held}]}
    assert secret not in json.dumps(Redactor().clean(wrapped))
    assert secret not in json.dumps(Redactor().clean({"text": json.dumps(wrapped)}))
