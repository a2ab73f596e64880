"""Whether a log can be continued: its chain of hashes, and the heads that are noted outside the chain.

This is less than verify, which also re-executes: it is what a writer must know before it appends.
"""

from __future__ import annotations

from tradefair.contract import TraceError
from tradefair.contract.chain import next_hash
from tradefair.tracestore.reader import Trace


def sound_head(trace: Trace) -> tuple[int, bytes]:
    """(number, hash) of the last event. TraceError where the chain breaks, or a noted head names a missing event."""
    # One snapshot: a closure between two readings would look like a missing event.
    trace.freeze()
    # The heads first, so that one pass over the events can note the hash at each of them.
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
    # A log that was cut at its end still has a sound chain; only a head that it had noted shows the loss.
    for name, (at, kept_hash) in kept.items():
        if hashes.get(at) != kept_hash:
            raise TraceError(f"{trace.path.name}: the {name} names an event that is not there; run tradefair verify")
    return seq, head


def _kept_heads(trace: Trace) -> dict[str, tuple[int, str]]:
    """Name -> (seq, hash) of the last closure and, once sealed, of the last event."""
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
