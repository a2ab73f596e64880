"""The members of a zip, unpacked one at a time as a stream, within a cap: the one compressed input that is read."""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import IO, BinaryIO, cast

import zstandard

MAX_UNPACKED = 4 << 30
"""Bytes of all members of one file together."""

MAX_MEMBER = 64 << 20
"""Bytes of one member, which is read as a whole."""

_MAX_MEMBERS = 200_000
_ZSTD = 93
_CHUNK = 1 << 20
_LOCAL_HEADER = 30
_FAULTS = (zipfile.BadZipFile, zlib.error, zstandard.ZstdError, EOFError, OSError, RuntimeError, NotImplementedError)


def members_of(file: BinaryIO, odd: Callable[[int, str, str], None]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each JSON member, in the order of the zip; what is refused is given to `odd`."""
    left = MAX_UNPACKED
    try:
        packed = zipfile.ZipFile(file)
        listed = packed.infolist()
    except (*_FAULTS, ValueError) as error:
        odd(0, "", f"not a zip: {error}"[:200])
        return
    for info in listed[:_MAX_MEMBERS]:
        name = info.filename
        if name.startswith("/") or ".." in name.replace("\\", "/").split("/") or ":" in name[:2]:
            odd(0, name[:200], "a path that leads out of the file")
        elif name.endswith(".json"):
            try:
                content = _unpacked(packed, file, info, min(MAX_MEMBER, left))
            except (*_FAULTS, ValueError) as error:
                odd(0, name[:200], f"cannot be unpacked: {error}"[:200])
                continue
            left -= len(content)
            if left <= 0:
                odd(0, name[:200], f"unpacks to more than {MAX_UNPACKED:,} bytes: nothing after this is read")
                return
            if len(content) > MAX_MEMBER:
                odd(0, name[:200], f"longer than {MAX_MEMBER:,} bytes: left out")
                continue
            yield name, content
    if len(listed) > _MAX_MEMBERS:
        odd(0, "", f"more than {_MAX_MEMBERS:,} members: the rest is left out")


def _unpacked(packed: zipfile.ZipFile, file: BinaryIO, info: zipfile.ZipInfo, most: int) -> bytes:
    """The content, or its first `most` and one bytes."""
    opened = _zstandard(file, info) if info.compress_type == _ZSTD else packed.open(info)
    with opened as stream:
        content = bytearray()
        while len(content) <= most and (part := stream.read(min(_CHUNK, most + 1 - len(content)))):
            content += part
        return bytes(content)


def _zstandard(file: BinaryIO, info: zipfile.ZipInfo) -> IO[bytes]:
    """A member of method 93, which zipfile reads from Python 3.14 on."""
    file.seek(info.header_offset)
    header = file.read(_LOCAL_HEADER)
    if header[:4] != b"PK\x03\x04":
        raise zipfile.BadZipFile("no local header")
    file.seek(sum(struct.unpack("<HH", header[26:30])), 1)
    packed = cast("IO[bytes]", _Packed(file, info.compress_size))
    return zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(packed, closefd=False, read_size=_CHUNK)


class _Packed:
    """The bytes of one member: what lies behind them is the next one's, and no frame of this."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def read(self, size: int) -> bytes:
        """The next bytes, none at the member's end."""
        part = self._file.read(min(size, self._left))
        self._left -= len(part)
        return part
