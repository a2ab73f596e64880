"""Whether a log can be gone on with: its chain from the manifest on, and the heads that are kept beside it.

Less than verify, which also re-executes: what a writer must know before it appends.
"""

from __future__ import annotations

from tradefair.contract.chain import next_hash
from tradefair.contract.errors import TraceError
from tradefair.tracestore.reader import Trace


def sound_head(trace: Trace) -> tuple[int, bytes]:
    """Number and hash of the last event. TraceError where the chain breaks, or a kept head names what is not there."""
    trace.freeze()
    kept = _kept_heads(trace)
    wanted = {at for at, _ in kept.values()}
    hashes: dict[int, str] = {}
    seq, head = 0, trace.manifest.first_hash
    for stored in trace.events():
        seq, head = seq + 1, next_hash(head, stored.body)
        if (stored.seq, stored.hash) != (seq, head):
            raise TraceError(f"{trace.path.name}: event {seq} has changed or is missing; run tradefair verify")
        if seq in wanted:
            hashes[seq] = head.hex()
    for name, (at, kept_hash) in kept.items():
        if hashes.get(at) != kept_hash:
            raise TraceError(f"{trace.path.name}: the {name} names an event that is not there; run tradefair verify")
    return seq, head


def _kept_heads(trace: Trace) -> dict[str, tuple[int, str]]:
    """(seq, hash) of the last closure and, once sealed, of the last event."""
    about, closed = trace.manifest.about, trace.closed_head()
    kept: dict[str, tuple[int, str]] = {}
    if closed is not None:
        kept["head of the last closure"] = closed
    if trace.manifest.sealed:
        try:
            kept["seal"] = (int(about["head_seq"]), str(about["head_hash"]))
        except (KeyError, TypeError, ValueError):
            raise TraceError(f"{trace.path.name}: the seal names no event; run tradefair verify") from None
    return kept
