"""The named queries once more, as plain Python over rows in their order: what SQL is checked against.

Each is a stream: it takes rows one by one, keeps what it must, and knows nothing of SQL.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from tradefair.evaluation.store.rows import TableRow
from tradefair.evaluation.store.tables import TABLES, Row

Record = Mapping[str, Any]
Tables = Mapping[str, list[Record]]

LOOKS = ("read", "analysis")
REFUSED = ("rejected", "invalid", "denied")


def tables_of(rows: Iterable[TableRow]) -> Tables:
    """Rows by table, as records, in the order of episode and event."""
    tables: dict[str, list[Record]] = {name: [] for name in TABLES}
    for table, row in rows:
        tables[table].append(dict(zip(TABLES[table].names, row, strict=True)))
    for table in ("calls", "objects", "lapses"):
        tables[table].sort(key=lambda record: (record["episode"], record["seq"]))
    return tables


def outcomes(tables: Tables) -> Iterator[Row]:
    episodes = {record["episode"]: record for record in tables["episodes"]}
    counts: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    for call in tables["calls"]:
        count = counts[call["episode"], call["seat"]]
        count[0] += 1
        count[1] += call["status"] != "ok"
        count[2] += call["kind"] == "action" and call["status"] == "ok"
    for lapse in tables["lapses"]:
        counts[lapse["episode"], lapse["seat"]][3] += 1
    for seat in tables["seats"]:
        of = episodes[seat["episode"]]
        said = (of["market"], of["scenario"], of["end_reason"], of["rounds"])
        yield (*seat.values(), *said, *counts[seat["episode"], seat["seat"]])


def evidence(tables: Tables) -> Iterator[Row]:
    gives: dict[tuple[str, str], set[str]] = defaultdict(set)
    for record in tables["gives"]:
        gives[record["market"], record["tool"]].add(record["category"])
    role = {(record["episode"], record["seat"]): record["role"] for record in tables["seats"]}
    needs: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    for record in tables["needs"]:
        needs[record["episode"], record["tool"], record["role"]].append(record)
    looked: dict[tuple[str, str], list[Record]] = defaultdict(list)
    found: dict[tuple[Any, ...], dict[int, bool]] = defaultdict(dict)
    for touch in tables["objects"]:
        if touch["status"] != "ok":
            continue
        if touch["kind"] in LOOKS:
            looked[touch["episode"], touch["seat"]].append(touch)
            continue
        before = [look for look in looked[touch["episode"], touch["seat"]] if look["seq"] < touch["seq"]]
        for need in needs[touch["episode"], touch["tool"], role[touch["episode"], touch["seat"]]]:
            if touch["kind"] != "action" or touch["round"] < need["from_round"]:
                continue
            if need["path"] not in ("", touch["path"]):
                continue
            about = touch["object"] if need["path"] else ""
            met = any(
                need["category"] in gives[look["market"], look["tool"]]
                and look["object"] in ((about, "*") if need["path"] else (look["object"],))
                and _within(look, touch, need["reach"])
                for look in before
            )
            key = (touch["episode"], touch["seat"], touch["seq"], about, touch["round"], touch["tool"])
            found[key][need["need"]] = found[key].get(need["need"], False) or met
    for key, by_need in found.items():
        met_needs = sum(by_need.values())
        yield (*key, len(by_need), met_needs, met_needs / len(by_need))


def _within(look: Record, action: Record, reach: int) -> bool:
    if reach == 0:
        return True
    if reach == -1:
        return look["revision"] == action["revision"]
    return 0 <= action["round"] - look["round"] < reach


def follow_up(tables: Tables, rounds: int) -> Iterator[Row]:
    last = {record["episode"]: record["rounds"] for record in tables["episodes"]}
    actions: dict[tuple[str, str, str], list[Record]] = defaultdict(list)
    touches = [touch for touch in tables["objects"] if touch["status"] == "ok" and touch["object"] != "*"]
    for touch in touches:
        if touch["kind"] == "action":
            actions[touch["episode"], touch["seat"], touch["object"]].append(touch)
    for look in touches:
        if look["kind"] not in LOOKS:
            continue
        later = actions[look["episode"], look["seat"], look["object"]]
        after = next((action for action in later if action["seq"] > look["seq"]), None)
        key = tuple(look[name] for name in ("episode", "seat", "seq", "object", "round", "tool"))
        if after is not None and 0 <= after["round"] - look["round"] <= rounds:
            yield (*key, "followed", after["seq"], after["round"] - look["round"])
        else:
            yield (*key, "open" if look["round"] + rounds > last[look["episode"]] else "none", 0, -1)


def loops(tables: Tables, times: int) -> Iterator[Row]:
    stretch: dict[tuple[str, str], int] = defaultdict(int)
    groups: dict[tuple[Any, ...], list[Record]] = defaultdict(list)
    for call in tables["calls"]:
        who = (call["episode"], call["seat"])
        stretch[who] += call["kind"] == "action" and call["status"] == "ok"
        if call["kind"] in LOOKS and call["status"] == "ok" and call["result_digest"]:
            same = (call["tool"], call["arguments_digest"], call["result_digest"])
            groups[(*who, stretch[who], *same)].append(call)
    for (episode, seat, _, tool, *_rest), calls in groups.items():
        if len(calls) >= times:
            numbers, when = [call["seq"] for call in calls], [call["round"] for call in calls]
            yield episode, seat, min(numbers), max(numbers), tool, min(when), max(when), len(calls)


def repeated_refusals(tables: Tables) -> Iterator[Row]:
    latest: dict[tuple[Any, ...], Record] = {}
    for call in tables["calls"]:
        same = tuple(call[name] for name in ("episode", "seat", "tool", "arguments_digest"))
        before, latest[same] = latest.get(same), call
        if before is None or call["status"] not in REFUSED or before["status"] not in REFUSED:
            continue
        if before["revision"] == call["revision"]:
            key = (call["episode"], call["seat"], call["seq"], before["seq"])
            yield (*key, call["round"], call["tool"], call["status"], call["error_code"])


REFERENCE: Mapping[str, Callable[..., Iterator[Row]]] = {
    function.__name__: function for function in (outcomes, evidence, follow_up, loops, repeated_refusals)
}
