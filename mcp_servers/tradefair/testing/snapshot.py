"""The schema snapshot: a market's tool declarations as a file, so that a change of what agents see is a readable diff.

tradefair check double_auction --write tests/snapshots/double_auction.json
"""

from __future__ import annotations

from pathlib import Path

import orjson

from tradefair.contract import MarketType
from tradefair.testing.bench import Failure


def snapshot_bytes(market_type: MarketType) -> bytes:
    """The market's own tools in order: names, descriptions, schemas of arguments and results; two-space JSON."""
    content = {"market": market_type.name, "version": market_type.version, "tools": market_type.tools.declarations()}
    return orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def schema_snapshot(market_type: MarketType, path: Path) -> list[Failure]:
    """Compare the declarations with those of the file at `path`.

    At most one failure, which names the first line that differs and the command that records the file again.
    """
    again = f"tradefair check {market_type.name} --write {path.name}"
    if not path.exists():
        return [Failure("schema_snapshot", "", None, f"{path.name} does not exist; write it: {again}")]
    # By lines, so that line ends of another system are no difference.
    recorded, now = path.read_bytes().splitlines(), snapshot_bytes(market_type).splitlines()
    if recorded == now:
        return []
    place = next((i for i, (old, new) in enumerate(zip(recorded, now, strict=False)) if old != new), None)
    if place is None:
        text = f"{len(recorded)} lines in the file, {len(now)} now"
    else:
        old, new = (lines[place].decode(errors="replace").strip()[:120] for lines in (recorded, now))
        text = f"line {place + 1} is {old} in the file and {new} now"
    return [Failure("schema_snapshot", "", None, f"{text}; when that is meant: {again}")]
