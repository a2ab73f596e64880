"""Canonical bytes, digests and the hash chain of a trace.

The chain covers the stored bytes: a reader never re-encodes an event to check it. Keys are sorted only for the
manifest's core, request digests and other things that are compared across writers.
"""

from __future__ import annotations

import copyreg
import hashlib
from typing import Any

import orjson

HASH_SIZE = 32

TRACE_SCHEMA = "tradefair.trace/2"

INLINE_BYTES = 2_048
"""Larger results go into a blob that is stored once per episode, and larger arguments of refused calls are cut."""

# A copy of a market goes on from its hashes; `copy` leaves them to their own method.
copyreg.pickle(type(hashlib.blake2b()), lambda state: (state.copy, ()))


def canonical(value: Any) -> bytes:
    """Plain data as JSON in its one form: UTF-8, no spaces, sorted keys. TypeError for other data."""
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def digest(data: bytes) -> str:
    """BLAKE2b-256 as hex: the address of a blob and the digest of a result."""
    return hashlib.blake2b(data, digest_size=HASH_SIZE).hexdigest()


def first_hash(core: bytes) -> bytes:
    """hash_0 = BLAKE2b-256 of the canonical manifest core."""
    return hashlib.blake2b(core, digest_size=HASH_SIZE).digest()


def next_hash(previous: bytes, body: bytes) -> bytes:
    """hash_n = BLAKE2b-256(hash_(n-1) || body_n)."""
    # The previous hash has a fixed length, so no two pairs of hash and body share their bytes.
    return hashlib.blake2b(previous + body, digest_size=HASH_SIZE).digest()


def seal(about: dict[str, Any]) -> str:
    """Digest (hex) of the manifest's `about` without its own `seal` field."""
    return digest(canonical({key: value for key, value in about.items() if key != "seal"}))
