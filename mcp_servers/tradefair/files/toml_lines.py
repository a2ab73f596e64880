"""Where in a TOML text a key stands, for complaints. It looks at lines: that they are TOML is known already."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_HEADER = re.compile(r"\s*(\[\[?)([^\[\]]+)\]")
_KEY = re.compile(
    r"""\s*((?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'))*)\s*="""
)
_PART = re.compile(r"""[A-Za-z0-9_-]+|"[^"\n]*"|'[^'\n]*'""")


def line_of(text: str, keys: Sequence[str]) -> int | None:
    """The line, from 1, of the key at this path (tables of lists by their place: `rule`, `0`, `look`).

    The line of the nearest table or key around it where it stands in none of its own; None where nothing is near.
    """
    table: list[str] = []
    met: Counter[str] = Counter()
    best, found = 0, None
    for number, line in enumerate(text.split("\n"), 1):
        if header := _HEADER.match(line):
            table = _parts(header[2])
            if header[1] == "[[":
                name = ".".join(table)
                table.append(str(met[name]))
                met[name] += 1
            path = table
        elif key := _KEY.match(line):
            path = [*table, *_parts(key[1])]
        else:
            continue
        if best < len(path) <= len(keys) and path == list(keys[: len(path)]):
            best, found = len(path), number
    return found


def _parts(dotted: str) -> list[str]:
    return [part.strip("\"'") for part in _PART.findall(dotted)]
