"""The manifest of a trace: the hashed core, and what is said about the episode beside the chain."""

from __future__ import annotations

from typing import Any, NamedTuple

import orjson
from pydantic import ValidationError

from tradefair.contract.chain import first_hash, seal
from tradefair.contract.errors import TraceError
from tradefair.contract.event import ManifestCore


class Manifest(NamedTuple):
    """`core_bytes` are hashed as `hash_0`; `about` holds labels, versions, times and, once sealed, the head.

    `about` after sealing: `head_seq`, `head_hash`, `outcome_digest`, `end_reason`, `finished` and `seal`, the digest of
    the rest.
    """

    core_bytes: bytes
    about: dict[str, Any]

    @property
    def core(self) -> ManifestCore:
        """The typed core; TraceError when it is damaged."""
        try:
            return ManifestCore.model_validate_json(self.core_bytes)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "core"
            raise TraceError(f"the manifest's core is damaged: {where}: {first['msg']}") from None

    @property
    def first_hash(self) -> bytes:
        """hash_0."""
        return first_hash(self.core_bytes)

    @property
    def sealed(self) -> bool:
        """Whether `about` carries a seal."""
        return "seal" in self.about

    @property
    def seal_holds(self) -> bool:
        """Whether the seal fits what `about` says."""
        return self.about.get("seal") == seal(self.about)

    def to_json(self) -> bytes:
        """One line of JSON that keeps the core's bytes as they are."""
        return b'{"about":' + orjson.dumps(self.about) + b',"core":' + self.core_bytes + b"}"
