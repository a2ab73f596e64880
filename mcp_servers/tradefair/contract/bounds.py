"""Bounds that command lines show as well: apart from the models that keep them, so that `--help` builds no model."""

from __future__ import annotations

from typing import Literal, TypeAlias

MAX_WAIT_S = 45
"""Seconds that one `await_turn` may wait: below the 60 s after which common MCP clients give a request up."""
MAX_SEED = 2**63 - 1
"""The largest seed: SQLite and JSON readers keep integers of 64 bits with a sign."""
MAX_SEALED = 1_000_000
"""Seeds of one secret and label at most, as many as a plan may have episodes."""

RECORDER_PORT = 8931
"""Where `record --url` listens for clients on this machine."""
Refusals: TypeAlias = Literal["error", "result"]
"""How a refusal reaches a client."""
