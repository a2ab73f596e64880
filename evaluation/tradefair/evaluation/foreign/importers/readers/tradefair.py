"""`tradefair`: what one of our seats saw (`export --seat`); other exports of ours are in formats of others."""

from __future__ import annotations

from tradefair.evaluation.foreign.importers.items import Head, Reader
from tradefair.evaluation.foreign.importers.readers.mcp import READER as _MCP
from tradefair.evaluation.foreign.importers.readers.mcp import read
from tradefair.evaluation.read.objects import mapping


def sniff(head: Head) -> int:
    """Sure of the line that begins such a file."""
    return 100 if "seat_view" in mapping(head.value) else 0


READER = Reader("tradefair", "what one of our seats saw (export --seat)", sniff, read, counts=_MCP.counts)
