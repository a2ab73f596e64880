"""Secrets go, whatever they are wrapped in; what only looks like one stays."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tradefair.contract import ScenarioError
from tradefair.recording.redact import Redactor

SECRET = "q7Zp-x9Kd2Lm4Wv8"
FIELDS = ("password", "API_KEY", "X-Auth-Token", "clientSecret", "set-cookie", "Authorization", "private key")


@pytest.mark.parametrize(
    "value",
    [
        *({name: SECRET} for name in FIELDS),
        {"secret": {"deep": [1, [SECRET]]}},
        [{"name": "Password", "type": "textbox", "value": SECRET}],
        {f"sk-{SECRET}": 1},
        f"export DB_PASSWORD={SECRET}",
        f"curl -H 'Authorization: Bearer {SECRET}'",
        f"session\nCookie: a=b; sid={SECRET}; path=/\nnext: line",
        f"mysql --password {SECRET} -e x",
        f"https://u:{SECRET}@h/p",
        f"https://h/p?access_token={SECRET}&y=2",
        f"<password>{SECRET}</password>",
        f"{{'password': '{SECRET} {SECRET}'}}",
        f'Result: {{"apiKey" : "{SECRET}"}} ok',
        f"key sk-proj-{SECRET} end",
        f"ghp_{SECRET.replace('-', '')}{SECRET.replace('-', '')}",
        *(f"{begins}{SECRET}{SECRET}" for begins in ("glpat-", "hf_", "npm_", "pypi-", "sk_live_", "rk_test_")),
        f"-----BEGIN RSA PRIVATE KEY-----\n{SECRET}\n",
        f"eyJhbGciOiJI.{SECRET}.{SECRET}",
        json.dumps({"a": SECRET, "b": {"password": SECRET}}).replace('"a": "' + SECRET, '"a": "x'),
        '{"password":"' + "".join(f"\\u{ord(sign):04x}" for sign in SECRET) + '"}',
        '{"a":"sk-' + SECRET + '","a":"twice"}',
    ],
)
def test_a_secret_is_gone(value: Any) -> None:
    redactor = Redactor()
    shown = json.dumps(redactor.clean(value))
    assert SECRET not in shown
    assert SECRET.replace("-", "") not in shown
    assert "redacted" in shown or "twice" in shown
    assert sum(redactor.hits.values()) > 0 or "twice" in shown


@pytest.mark.parametrize(
    "value",
    [
        {"usage": {"total_tokens": 4096, "maxTokens": 10}, "password": None, "secret": True, "token": ""},
        {"text": '{"total_tokens": 4096}'},
        "total_tokens: 4096, max_tokens=10",
        "I lost my password, what now?",
        "ask-for-permission-now-12, task-1234567890123",
        "npm_config_registry_of_this_user and hf_hub_download_and_then_some, pypi-server",
        "https://example.com/a?id=5 and me@example.com",
        [1, 2.5, None, "text", {"name": "city", "value": "Graz"}],
    ],
)
def test_what_is_no_secret_stays_as_it_is(value: Any) -> None:
    redactor = Redactor()
    kept = redactor.clean(value)
    assert json.dumps(kept).replace(": ", ":") == json.dumps(value).replace(": ", ":")
    assert not redactor.hits


def test_equal_secrets_are_equal_in_one_recording_and_in_no_other() -> None:
    first, second = Redactor(), Redactor()
    one, two, three = (first.clean({"pin": "", "password": text})["password"] for text in ("a", "a", "b"))
    assert one == two != three
    assert second.clean({"password": "a"})["password"] != one
    assert first.hits == {"password": 3}


def test_patterns_and_fields_of_a_user_are_secrets_too() -> None:
    # Longer than a digest, in which any two digits may stand by chance.
    redactor, number = Redactor([r"(?i)case-(\d+)", "q*"], ["ssn", " "]), "7" * 20
    shown = redactor.clean({"SSN": 123, "text": f"Case-{number} and CASE-{number}", "plain": "y"})
    assert shown["plain"] == "y"
    assert number not in shown["text"]
    assert redactor.hits == {"ssn": 1, "redact 1": 2}
    with pytest.raises(ScenarioError, match="--redact 2: not a regular expression") as refused:
        Redactor(["fine", "(hunter2"])
    assert "hunter2" not in str(refused.value)


_TEXTS: list[Callable[[str], Any]] = [
    lambda text: text,
    lambda text: [text, {"a": text}],
    lambda text: json.dumps({"a": [text]}),
    lambda text: json.dumps(json.dumps({"a": text})),
]


@given(some.sampled_from(FIELDS), some.text("abcXYZ059_+/=", min_size=12, max_size=40), some.sampled_from(_TEXTS))
def test_whatever_a_named_field_holds_is_gone(name: str, secret: str, wrap: Callable[[str], Any]) -> None:
    wrapped = {"outer": [{name: wrap(secret)}]}
    assert secret not in json.dumps(Redactor().clean(wrapped))
    assert secret not in json.dumps(Redactor().clean({"text": json.dumps(wrapped)}))
