"""Call keys: what a seat has called under which key, so that a repeat gets the first answer and changes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from tradefair.contract import SeatId, Tool
from tradefair.contract.chain import canonical, digest
from tradefair.contract.errors import MAX_CALL_KEY
from tradefair.contract.kernel.kernel_tools import EXECUTE_CODE
from tradefair.host.episode.waiting import Pending

Key: TypeAlias = tuple[str, str]
"""A call's key and the digest of its request."""


class _Used(NamedTuple):
    """A call key that a seat has used.

    `request` is the digest of its tool and arguments; `seq` its event, 0 before there is one; `pending` is settled
    once that event is committed, and None when it was committed by an earlier process.
    """

    request: str
    seq: int
    pending: Pending | None


class CallKeys:
    """The call keys of one episode's seats; each seat has keys of its own."""

    def __init__(self) -> None:
        self._used: dict[tuple[SeatId, str], _Used] = {}

    def load(self, committed: Mapping[tuple[SeatId, str], tuple[int, str]]) -> None:
        """Know the keys of a log, (seat, key) -> (seq, request digest), and no others."""
        self._used = {place: _Used(request, seq, None) for place, (seq, request) in committed.items()}

    def known(self, seat: SeatId, key: str) -> str | None:
        """The digest of the request that has this key; None while the key is free."""
        used = self._used.get((seat, key))
        return used and used.request

    async def answered(self, seat: SeatId, key: str) -> int:
        """Wait until the call that has this key is committed; the number of its event, 0 when none came of it.

        Raises StorageUnavailable when the event was lost.
        """
        used = self._used[seat, key]
        if used.pending is not None:
            await used.pending.wait()
        return used.seq

    def take(self, seat: SeatId, key: str, request: str) -> Pending:
        """Take a free key, before the call is carried out: a repeat that arrives meanwhile waits for its end."""
        taken = Pending()
        self._used[seat, key] = _Used(request, 0, taken)
        return taken

    def keep(self, seat: SeatId, key: str, request: str, seq: int, committed: Pending) -> None:
        """The call has become an event; its answer is in the log once `committed` is settled."""
        self._used[seat, key] = _Used(request, seq, committed)

    def release(self, seat: SeatId, key: str, taken: Pending) -> None:
        """The call is over: a key of which no event came is free again, and calls that wait for it go on."""
        used = self._used.get((seat, key))
        if used is not None and used.pending is taken:
            del self._used[seat, key]
        taken.settle()


def takes_key(tool: Tool) -> bool:
    """Whether calls of this tool keep their key: actions, notes and programs. Reads change nothing by a repeat."""
    return tool.kind in ("action", "note") or tool.name == EXECUTE_CODE


def bad_key(key: str) -> bool:
    """Whether a client has sent what is no call key: it has 1 to `MAX_CALL_KEY` printable characters."""
    return not (0 < len(key) <= MAX_CALL_KEY and key.isprintable())


def request_digest(tool: str, arguments: object) -> str:
    """What two calls under one key must share: the order of members of an object makes no difference."""
    try:
        return digest(canonical([tool, arguments]))
    except (TypeError, ValueError, RecursionError):
        return "unencodable"
