"""What a map tells the failure modes that hold everywhere: ids, what actions rested on, amounts, kinds of tools."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tradefair.contract import SeatId
from tradefair.contract.answers import refusal
from tradefair.evaluation.foreign.audit.desk import Desk
from tradefair.evaluation.foreign.audit.map_file import Map, at
from tradefair.evaluation.foreign.audit.rules import numbers
from tradefair.evaluation.foreign.audit.run import Call, Run
from tradefair.evaluation.modes.insight import EvidenceCase, Insight, Scale
from tradefair.evaluation.read.objects import mapping

_KINDS = frozenset({"read", "analysis", "action", "note"})


def insight_of_map(run: Run, of: Map) -> Insight:
    """The Insight of a run: `evidence`, `scales`, `id_arguments`, and how its calls are meant."""
    desk = Desk(of, run)
    evidence: defaultdict[SeatId, list[EvidenceCase]] = defaultdict(list)
    scales: defaultdict[SeatId, list[Scale]] = defaultdict(list)
    for call in run.calls:
        if call.accepted:
            evidence[call.seat] += _evidence(desk, call)
            scales[call.seat] += _scales(desk, call)
        desk.took(call)
    named = (path.rpartition(".")[2] for spec in of.objects.values() for path in spec.arguments)
    return Insight(
        evidence=evidence if any(rule.look for rule in of.rule) else None,
        scales=scales,
        id_arguments=frozenset(named),
        meant=meant_by(of),
    )


def _evidence(desk: Desk, call: Call) -> Iterator[EvidenceCase]:
    """What an accepted action rested on. An action that did not show what it changed makes earlier looks stale."""
    needed = {kind for _, rule in desk.rules(call) for kind in rule.look}
    objects = [about for about in desk.objects(call) if about[0] in needed]
    if not objects:
        return
    looks = {about: desk.look_at(about) for about in objects}
    missing = dict.fromkeys(kind for (kind, _), look in looks.items() if look is None or not look.whole)
    stale = dict.fromkeys(kind for (kind, _), look in looks.items() if look is not None and not look.whole)
    needs = len({kind for kind, _ in objects})
    yield EvidenceCase(call.seq, call.round, objects[0][1], needs, tuple(missing), tuple(stale))


def _scales(desk: Desk, call: Call) -> Iterator[Scale]:
    for _, rule in desk.rules(call):
        if rule.money is None or rule.money.seen is None:
            continue
        kind, _, field = rule.money.seen.partition(".")
        for about in (about for about in desk.objects(call) if about[0] == kind):
            look = desk.look_at(about)
            shown = numbers([look.fields[field]] if look is not None and field in look.fields else [])
            for value, seen in zip(numbers(at(call.arguments, rule.money.argument)), shown, strict=False):
                yield Scale(call.seq, call.round, value, seen, about[1])


def meant_by(of: Map) -> Callable[[Mapping[str, Any]], Mapping[str, Any]]:
    """A `tool_called` event as the map means it: the tool's kind, and a refusal where the answer's words are one."""
    failed = re.compile(of.failed_answer)

    def meant(event: Mapping[str, Any]) -> Mapping[str, Any]:
        kind, result = of.kind_of(str(event.get("tool")), None), event.get("result")
        changed: dict[str, Any] = {"kind": kind} if kind in _KINDS else {}
        words = mapping(result).get("text", result)
        if event.get("status") == "ok" and isinstance(words, str) and failed.search(words):
            error = refusal(words, "tool_error")
            changed |= {"status": "rejected", "error": error, "result": None, "result_digest": None}
        return {**event, **changed} if changed else event

    return meant
