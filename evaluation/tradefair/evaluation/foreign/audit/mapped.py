"""A map as an evaluator: what a market's room says of its own traces, a map says of those that no rules have made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from tradefair.contract import SeatId
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.foreign.audit.insight import insight_of_map
from tradefair.evaluation.foreign.audit.judging import judge
from tradefair.evaluation.foreign.audit.map_file import Map
from tradefair.evaluation.foreign.audit.rules import CHECKS
from tradefair.evaluation.foreign.audit.run import Run, run_of_trace
from tradefair.evaluation.modes.diagnosis import Case, Seen, unchecked
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.table import load_modes
from tradefair.tracestore import Trace


class SeatUnderMap(NamedTuple):
    """What a map finds in one seat: by id, the cases, how many calls were looked at, and why nothing could be said."""

    cases: Mapping[str, list[Case]]
    of: Mapping[str, int]
    silent: Mapping[str, str]


def _detector(name: str) -> Callable[[SeatUnderMap], Seen]:
    def seen(seat: SeatUnderMap) -> Seen:
        if name in seat.silent:
            return unchecked(seat.silent[name])
        return Seen(seat.cases.get(name, []), seat.of.get(name, 0))

    return seen


_IDS = [check.id for check in CHECKS]
MAP_MODES = load_modes(__package__ or "", {name.removeprefix("map."): _detector(name) for name in _IDS})
"""The findings of maps, `map.*`, as rows like those of every market."""


class MapEvaluator(Evaluator):
    """The failure modes of a map, and what it tells the general ones. Its findings' ids begin with `map.`."""

    market = "map"
    modes = MAP_MODES

    def __init__(self, of: Map) -> None:
        """`of`: the map."""
        super().__init__()
        self.evidence_version = of.name
        self._map = of
        self._runs: WeakKeyDictionary[Trace, Run] = WeakKeyDictionary()

    def seats(self, trace: Trace) -> Mapping[SeatId, Any]:
        """What each seat did against the map."""
        judged = judge(self._run(trace), self._map)
        found: dict[SeatId, SeatUnderMap] = {}
        for seat in trace.manifest.core.seats:
            cases: dict[str, list[Case]] = {}
            for case in judged.cases:
                if case.seat == seat.id:
                    told = Case(case.seq, case.round, case.why, shown_by=case.shown_by, about=case.about)
                    cases.setdefault(case.rule, []).append(told)
            of = {name: counts[seat.id] for name, counts in judged.of.items()}
            found[seat.id] = SeatUnderMap(cases, of, judged.silent)
        return found

    def insight(self, trace: Trace) -> Insight:
        """Ids, evidence and amounts as the map names them."""
        return insight_of_map(self._run(trace), self._map)

    def _run(self, trace: Trace) -> Run:
        if trace not in self._runs:
            self._runs[trace] = run_of_trace(trace, self._map.kind_of, self._map.failed_answer, whole=False)
        return self._runs[trace]
