"""One trace against what its clients were told: is every acknowledged call there once, and every read before it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tradefair.contract import TradefairError
from tradefair.evaluation.prove.verify import verify_file
from tradefair.tracestore import open_trace

ACTION = "submit_quote"
READ = "view_my_value"
KEYED = (ACTION, "add_note", "execute_code")
"""What clients send under a key."""


class Acknowledged(NamedTuple):
    """What a client was told of an action, note or program, and how many reads had been answered before it was sent."""

    answer: Any
    reads_before: int


Told: TypeAlias = Mapping[tuple[str, str, str], Acknowledged]
"""(episode, seat, call key) -> what was acknowledged."""


class Held(NamedTuple):
    """What one trace says of it."""

    episode: str
    verdict: str
    end: str
    counts: Counter[str]
    complaints: list[str]


def audit(path: Path, told: Told) -> Held:
    """Re-execute a trace, then look every acknowledged action up in it."""
    found = verify_file(path)
    complaints = [] if found.verdict == "reproduced" else [f"{path.stem}: {found.verdict}"]
    try:
        with open_trace(path) as trace:
            end = str(trace.manifest.about.get("end_reason", "not over"))
            keys = {row.seq: row.call_key for row in trace.side() if row.call_key is not None}
            events = list(trace.decoded())
    except TradefairError as error:
        return Held(path.stem, found.verdict, "unreadable", Counter(), [*complaints, f"{path.stem}: {error}"])
    looked = _Looked(path.stem, told, complaints)
    for event in events:
        if event["event"] == "seat_lapsed":
            looked.counts["lapses"] += 1
        elif event["event"] == "tool_called" and event["status"] == "ok":
            looked.take(event, keys.get(event["seq"]))
    looked.look_up()
    return Held(path.stem, found.verdict, end, looked.counts, complaints)


class _Looked:
    """The acknowledged actions of one trace, as its events come; `complaints` grows."""

    def __init__(self, episode: str, told: Told, complaints: list[str]) -> None:
        self.counts: Counter[str] = Counter()
        self._episode, self._told, self._complaints = episode, told, complaints
        self._reads: Counter[str] = Counter()
        self._seen: dict[tuple[str, str, str], Any] = {}

    def take(self, event: Mapping[str, Any], key: str | None) -> None:
        """An accepted call, with its key."""
        # Those of its programs are the host's: nobody was told of them.
        if event["tool"] == READ and event["parent"] is None:
            self._reads[event["seat"]] += 1
        # Without a key it is a scripted seat's: clients send keys.
        elif event["tool"] in KEYED and key is not None:
            self._take_keyed((self._episode, event["seat"], key), event)

    def _take_keyed(self, place: tuple[str, str, str], event: Mapping[str, Any]) -> None:
        self.counts["accepted"] += 1
        if place in self._seen:
            self.counts["doubled"] += 1
            self._complaints.append(f"{place}: carried out twice")
        self._seen[place] = event["result"]
        known, reads = self._told.get(place), self._reads[event["seat"]]
        if known is None:
            self.counts["unanswered"] += 1
        elif reads < known.reads_before:
            self.counts["reads_lost"] += known.reads_before - reads
            self._complaints.append(f"{place}: {known.reads_before} reads were answered before it, fewer are there")

    def look_up(self) -> None:
        """What the clients were told and the trace does not hold."""
        for place, known in self._told.items():
            if place[0] != self._episode:
                continue
            if place not in self._seen:
                self.counts["lost"] += 1
                self._complaints.append(f"{place}: acknowledged and not there")
            elif self._seen[place] != known.answer:
                self._complaints.append(f"{place}: the trace holds another answer than the client was given")
