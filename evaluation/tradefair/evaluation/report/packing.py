"""Texts of a trace: cut to a size that a page can hold, and compressed in chunks that a browser opens one by one.

A browser that had to inflate all texts at once would show nothing for seconds.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import orjson

from tradefair.evaluation.report.page_data import Packed

LIMITS = (65_536, 16_384, 8_192, 4_096, 2_048, 1_024, 256)
"""Characters at which texts are cut. The first limit under which all texts fit the budget is taken."""
BUDGET = 24_000_000
"""Characters of all texts together; compressed they take about a tenth."""
# Small enough to be opened at once when a reader clicks an event; smaller chunks compress worse.
_CHUNK = 200_000  # characters before compression

Row = Sequence[str | None]


def fitting_limit(sizes: Iterable[int], budget: int = BUDGET) -> int:
    """The longest of `LIMITS` under which texts of these lengths stay within the budget, else the shortest."""
    # Read several times below, and callers pass iterators.
    known = list(sizes)
    for limit in LIMITS:
        if sum(min(size, limit) for size in known) <= budget:
            return limit
    return LIMITS[-1]


def pack_texts(rows: Iterable[Row], limit: int) -> Packed:
    """Rows of texts as chunks of some 200 kB before compression.

    `limit` is in characters. A text that is cut keeps its original length next to it, so that the page
    can say so.
    """
    starts: list[int] = []
    chunks: list[str] = []
    number = cut = 0
    for chunk in _chunked(rows, limit):
        starts.append(number)
        chunks.append(_squeeze(chunk))
        number += len(chunk)
        cut += sum(length is not None for row in chunk for _, length in row)
    return Packed(starts=starts, chunks=chunks, rows=number, limit=limit, cut=cut)


def pack_json(content: Any) -> Packed:
    """Any JSON value as a single row that is never cut."""
    return Packed(starts=[0], chunks=[_squeeze(content)], rows=1, limit=0, cut=0)


_Cut = list[list[str | int | None]]


def _chunked(rows: Iterable[Row], limit: int) -> Iterator[list[_Cut]]:
    """Lists of rows, closed as soon as their texts reach `_CHUNK` characters; a single long row makes one chunk."""
    chunk: list[_Cut] = []
    size = 0
    for row in rows:
        chunk.append([_shortened(text, limit) for text in row])
        size += sum(min(len(text), limit) for text in row if text)
        if size >= _CHUNK:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _shortened(text: str | None, limit: int) -> list[str | int | None]:
    """A text cut at `limit`, and its length before; null where nothing was cut."""
    if text is None or len(text) <= limit:
        return [text, None]
    return [text[:limit], len(text)]


def _squeeze(content: Any) -> str:
    """JSON, raw deflate, base64: what a browser opens with `DecompressionStream("deflate-raw")`."""
    # Level and window are fixed, so that the same trace gives the same page.
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(deflate.compress(orjson.dumps(content)) + deflate.flush()).decode()
