"""Lines as one Zstandard frame (extra `zstd`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tradefair.contract.errors import ScenarioError

MISSING_ZSTD = "compressed exports need zstandard: pip install 'tradefair[zstd]'"


def compressed(lines: Iterable[bytes]) -> Iterator[bytes]:
    """The frame, piece by piece. ScenarioError when zstandard is not installed."""
    try:
        import zstandard
    except ImportError:
        raise ScenarioError(MISSING_ZSTD) from None
    packer = zstandard.ZstdCompressor().compressobj()
    for line in lines:
        piece = packer.compress(line + b"\n")
        if piece:
            yield piece
    yield packer.flush()
