"""Names that were mistyped: what may have been meant."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches


def hint(name: str, known: Sequence[str], otherwise: str) -> str:
    """`did you mean NAME?` with up to three of the known names that are like `name`, else `otherwise`."""
    # The market in front of a preset would make all of its presets alike: what follows it is compared.
    market, _, last = name.rpartition("/")
    ends = {other.removeprefix(f"{market}/"): other for other in known if other.rpartition("/")[0] == market}
    near = [ends[end] for end in get_close_matches(last, ends, n=3, cutoff=0.5)]
    # The whole name too: the market itself may be the part that was mistyped.
    near = near or get_close_matches(name, known, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else otherwise
