"""Keyed chance: every draw is a pure function of (key, stream, key parts).

Two agents in the same seat on the same seed meet the same luck, because no draw depends on how many draws came before.
An action may change what is made of a uniform (a distribution's parameters), never which uniform is used.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from functools import lru_cache

from tradefair.contract import salts

KeyPart = int | str

# 64-bit words, of which 52 bits make a uniform: with a last bit of 1, so that none is 0, 53 bits are exact in a double.
_TOP_53_BITS = 11
_UNIT = 2.0**-53


@lru_cache(maxsize=4096)
def _encode(part: KeyPart) -> bytes:
    """Type-tagged and length-prefixed, so that no two different keys share their bytes."""
    if isinstance(part, str):
        raw = part.encode()
        return b"s%d:" % len(raw) + raw
    raw = b"%d" % part
    return b"i%d:" % len(raw) + raw


def _to_unit(word: int) -> float:
    """(2k + 1) * 2^-53 with k the top 52 bits: exact, never 0 or 1."""
    return (word >> _TOP_53_BITS | 1) * _UNIT


def encode_key(*key: KeyPart) -> bytes:
    """Key parts as `Branch.each` takes them: encode once, draw on many days."""
    return b"".join(map(_encode, key))


class Branch:
    """`Chance.uniform` with its stream and first key parts fixed, for many draws that share them."""

    __slots__ = ("_state",)

    def __init__(self, state: hashlib.blake2b) -> None:
        self._state = state

    def __deepcopy__(self, memo: object) -> Branch:
        # No draw changes it.
        return self

    def uniform(self, *key: KeyPart) -> float:
        """The uniform under the fixed key parts followed by `key`."""
        state = self._state.copy()
        state.update(b"".join(map(_encode, key)))
        return _to_unit(int.from_bytes(state.digest()[:8], "big"))

    def each(self, keys: Iterable[bytes]) -> list[float]:
        """`uniform` under every key of `keys`, which `encode_key` made once for many days."""
        # `uniform` written out, without a Python call per draw: a day of a large market draws thousands.
        fork, take = self._state.copy, int.from_bytes
        values: list[float] = []
        for key in keys:
            state = fork()
            state.update(key)
            values.append((take(state.digest()[:8], "big") >> _TOP_53_BITS | 1) * _UNIT)
        return values


class Chance:
    """A source of uniforms in the open interval (0, 1), addressed by stream and key.

    `key` is the episode's seed (or a text for constants of a scenario). A stream always uses `uniform` or always
    `uniforms`, never both: the two forms draw from separate spaces.
    """

    def __init__(self, key: int | str) -> None:
        # 64 bytes, where one uniform needs 8: `uniforms` takes eight from each digest.
        self._root = hashlib.blake2b(salts.CHANCE + _encode(key), digest_size=64)
        self._streams: dict[str, hashlib.blake2b] = {}

    def _stream(self, stream: str, form: bytes) -> hashlib.blake2b:
        # A copy of the hash state after salt, key and stream: each draw then hashes its own key only.
        cached = self._streams.get(stream)
        if cached is None:
            cached = self._root.copy()
            cached.update(form + _encode(stream))
            self._streams[stream] = cached
        return cached.copy()

    def __deepcopy__(self, memo: object) -> Chance:
        # No draw changes it.
        return self

    def uniform(self, stream: str, *key: KeyPart) -> float:
        """One uniform of `stream` under `key`, in (0, 1); equal for equal arguments, whatever was drawn before."""
        state = self._stream(stream, b"one")
        state.update(b"".join(map(_encode, key)))
        return _to_unit(int.from_bytes(state.digest()[:8], "big"))

    def under(self, stream: str, *key: KeyPart) -> Branch:
        """The draws of `uniform(stream, *key, …)` with the first key parts fixed: equal values, sooner."""
        state = self._stream(stream, b"one")
        state.update(b"".join(map(_encode, key)))
        return Branch(state)

    def uniforms(self, stream: str, *key: KeyPart, n: int) -> list[float]:
        """`n` uniforms of `stream` under `key`; a longer list starts with the shorter one."""
        words = struct.unpack_from(f">{n}Q", self.words(stream, *key, n=n))
        return [(word >> _TOP_53_BITS | 1) * _UNIT for word in words]

    def words(self, stream: str, *key: KeyPart, n: int) -> bytes:
        """At least `n` big-endian 64-bit words: what `uniforms` makes its numbers of, for vectorised callers."""
        # Another tag than `uniform`: the same key gives unrelated numbers in both forms.
        state = self._stream(stream, b"many")
        start = b"".join(map(_encode, key))
        # A digest of 64 bytes gives eight words; the block number makes as many digests as are needed.
        if n <= 8:
            state.update(start + b"#0")
            return state.digest()
        state.update(start)
        fork, blocks = state.copy, bytearray()
        for counter in _counters((n + 7) // 8):
            piece = fork()
            piece.update(counter)
            blocks += piece.digest()
        return bytes(blocks)


@lru_cache(maxsize=64)
def _counters(blocks: int) -> tuple[bytes, ...]:
    """The block numbers as they are hashed."""
    return tuple(b"#%d" % block for block in range(blocks))
