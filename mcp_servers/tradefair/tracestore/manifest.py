"""The manifest of a trace: the core, which begins the chain of hashes, and what is noted outside the chain."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from tradefair.contract import TraceError
from tradefair.contract.chain import first_hash, seal
from tradefair.contract.kernel.event import ManifestCore
from tradefair.files.user_files import MIB

# Bytes. Decoded JSON takes up to 24 times as much; the largest core of a scenario of ours has 166 kB.
MAX_CORE, MAX_ABOUT = 8 * MIB, 4 * MIB


class Manifest(NamedTuple):
    """`core_bytes` are hashed as `hash_0`; `about` holds name, times, software and, once sealed, the head.

    The bytes are kept, because another encoding of the same core would have another hash. `about` after sealing:
    `head_seq`, `head_hash`, `outcome_digest`, `end_reason`, `finished`, `awaits`, `beside` (what lies beside the chain:
    rows and digest by table) and `seal`, the digest of the rest.
    """

    core_bytes: bytes
    about: dict[str, Any]

    @classmethod
    def read(cls, place: object, core: bytes, raw: bytes) -> Manifest:
        """A manifest as it is stored; `raw` is the JSON of `about`.

        TraceError, which names `place`, where either is too large or `about` is no JSON object.
        """
        for name, size, most in (("core", len(core), MAX_CORE), ("about", len(raw), MAX_ABOUT)):
            if size > most:
                raise TraceError(f"{place}: the manifest's {name} has {size:,} bytes; at most {most:,} are read")
        try:
            about: Any = orjson.loads(raw)
            # As it was written: deeper than can be written again is damage too, and so is a key that is there twice.
            sound = isinstance(about, dict) and orjson.dumps(about) == raw
        except (orjson.JSONDecodeError, orjson.JSONEncodeError):
            about, sound = {}, False
        if not sound:
            raise TraceError(f"{place}: the manifest's about is damaged")
        return cls(core, about)

    @property
    def core(self) -> ManifestCore:
        """The typed core; TraceError naming the first field that is damaged."""
        try:
            return ManifestCore.model_validate_json(self.core_bytes)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "core"
            raise TraceError(f"the manifest's core is damaged: {where}: {first['msg']}") from None

    @property
    def first_hash(self) -> bytes:
        """hash_0, the digest that the first event continues."""
        return first_hash(self.core_bytes)

    @property
    def sealed(self) -> bool:
        """Whether `about` carries a seal."""
        return "seal" in self.about

    @property
    def seal_holds(self) -> bool:
        """Whether the seal is the digest of the rest of `about`; False without a seal."""
        return self.about.get("seal") == seal(self.about)

    def to_json(self) -> bytes:
        """One line of JSON, the first of a `.jsonl` trace."""
        # Joined by hand: encoding the core again could change its bytes. It comes last, so that a reader finds its end.
        return b'{"about":' + orjson.dumps(self.about) + b',"core":' + self.core_bytes + b"}"
