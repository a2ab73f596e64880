"""Hostile files for whatever else is read from strangers: logs to import, recordings of models, requests to a gateway.

Each file is given to every importer, to `tradefair gateway --replay`, and its bytes as a request to a gateway.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import orjson
from tests.corpus.bases import Bases
from tests.corpus.cases import CASES, add
from tests.corpus.hostile_content import DEEP, MIB
from tests.corpus.hostile_imports import written_file

_INIT = {
    "distribution": "uniform",
    "communication_enabled": True,
    "num_rounds": 10**9,
    "num_buyers": 500,
    "num_sellers": 500,
    "random_seed_value": 1,
    "agents": {"B1": {"model_name": "\x1b]0;title\x07", "valuation": 10**18}},
}
_ESCAPES = "\x1b]0;title\x07\u202e\x9b31m"

LOGS: Mapping[str, bytes] = {
    "nothing": b"",
    "null_characters": b"\0" * 4_096,
    "too_deep": b'{"event":' + DEEP + b"}\n",
    "a_number_of_ten_thousand_digits": b'{"round":' + b"9" * 10_000 + b"}\n",
    "a_number_beyond_doubles": b'{"round":1e999}\n',
    "half_a_character": b'{"model":"\\ud800"}\n',
    "no_utf_8": b'{"model":"\xff\xfe"}\n',
    "utf_16": '{"model":"x"}\n'.encode("utf-16"),
    "a_list": b"[]\n" * 1_000,
    "a_number": b"7\n" * 1_000,
    "keys_twice": b'{"event":"init","event":"round"}\n',
    "keys_that_are_methods": b'{"__class__":{"__init__":1},"__proto__":{}}\n',
    "escapes": orjson.dumps({"event": _ESCAPES, _ESCAPES: _ESCAPES}) + b"\n",
    "a_line_of_17_mib": b'{"model":"' + b"x" * 17 * MIB + b'"}\n',
    "a_hundred_thousand_lines": b"\n" * 10**5,
    "a_billion_rounds": orjson.dumps({"event_type": "init", "round": 0, "data": _INIT}) + b"\n",
    "a_page": b"<!doctype html><script>alert(1)</script>\n",
}
"""Name of a case -> the bytes of a file that is no log, recording or request."""


for _name, _content in LOGS.items():
    add("logs", _name, written_file(_content))


def _five_gibibytes(bases: Bases, folder: Path) -> Path:
    path = folder / "case.jsonl"
    path.touch()
    os.truncate(path, 5 * 1024**3)
    return path


add("logs", "five_gibibytes_of_nothing", _five_gibibytes)
for _kind in ("a_pipe", "a_device", "a_socket", "a_folder", "a_link_to_itself", "no_rights"):
    add("logs", _kind, CASES["files"][_kind])
