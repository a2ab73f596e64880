"""One trace against what its clients were told: is every acknowledged call there once, and every read before it?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from tradefair.contract import TradefairError
from tradefair.evaluation.verify import verify_file
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
    counts: Counter[str] = Counter()
    complaints = [] if found.verdict == "reproduced" else [f"{path.stem}: {found.verdict}"]
    try:
        with open_trace(path) as trace:
            end = str(trace.manifest.about.get("end_reason", "not over"))
            keys = {row.seq: row.call_key for row in trace.side() if row.call_key is not None}
            events = list(trace.decoded())
    except TradefairError as error:
        return Held(path.stem, found.verdict, "unreadable", counts, [*complaints, f"{path.stem}: {error}"])
    reads: Counter[str] = Counter()
    seen: dict[tuple[str, str, str], Any] = {}
    for event in events:
        if event["event"] == "seat_lapsed":
            counts["lapses"] += 1
        if event["event"] != "tool_called" or event["status"] != "ok":
            continue
        # Those of its programs are the host's: nobody was told of them.
        if event["tool"] == READ and event["parent"] is None:
            reads[event["seat"]] += 1
        elif event["tool"] in KEYED:
            if event["seq"] not in keys:
                continue  # a scripted seat's: clients send keys
            counts["accepted"] += 1
            place = (path.stem, event["seat"], keys[event["seq"]])
            if place in seen:
                counts["doubled"] += 1
                complaints.append(f"{place}: carried out twice")
            seen[place] = event["result"]
            known = told.get(place)
            if known is None:
                counts["unanswered"] += 1
            elif reads[event["seat"]] < known.reads_before:
                counts["reads_lost"] += known.reads_before - reads[event["seat"]]
                complaints.append(f"{place}: {known.reads_before} reads were answered before it, fewer are there")
    for place, known in told.items():
        if place[0] != path.stem:
            continue
        if place not in seen:
            counts["lost"] += 1
            complaints.append(f"{place}: acknowledged and not there")
        elif seen[place] != known.answer:
            complaints.append(f"{place}: the trace holds another answer than the client was given")
    return Held(path.stem, found.verdict, end, counts, complaints)
