"""The general failure modes, and the diagnosis of a trace: theirs and its market's, merged, rated and ranked."""

from __future__ import annotations

from tradefair.contract import SeatId
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.importers import IMPORTED_MARKET
from tradefair.evaluation.modes import (
    attention,
    evidence_use,
    hooked,
    injection_followed,
    leak,
    plan_break,
    refused_calls,
    spent_turns,
    unit_mistake,
)
from tradefair.evaluation.modes.base_rates import ranked, rate, references_of
from tradefair.evaluation.modes.diagnosis import Detector, Diagnosis, NotRead
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.judged import Frame, Sight, findings_of, look
from tradefair.evaluation.modes.merged import merge
from tradefair.evaluation.modes.published import map_version
from tradefair.evaluation.modes.reading import read_play
from tradefair.evaluation.modes.table import ModeTable, load_modes
from tradefair.evaluation.reading import agent_seats
from tradefair.tracestore import Trace

_DETECTORS: dict[str, Detector] = {
    "hallucinated_id": refused_calls.hallucinated_id,
    "unit_mistake": unit_mistake.detect,
    "injection_followed": injection_followed.detect,
    "value_breach": hooked.value_breach,
    "below_cost": hooked.below_cost,
    "missing_evidence": evidence_use.missing_evidence,
    "stale_evidence": evidence_use.stale_evidence,
    "plan_break": plan_break.detect,
    "malformed_replies": refused_calls.malformed_replies,
    "budget_exhaustion": spent_turns.budget_exhaustion,
    "refused_calls": refused_calls.refused_calls,
    "idle_drift": hooked.idle_drift,
    "lapse": spent_turns.lapse,
    "loop": spent_turns.loop,
    "narrow_attention": attention.narrow_attention,
    "follow_up": attention.follow_up,
    "resolved": attention.resolved,
    "leak": leak.detect,
}

GENERAL: ModeTable = load_modes("tradefair.evaluation.modes", _DETECTORS)
"""The modes that hold in every market, in the order in which findings are listed."""


def diagnosis_of(trace: Trace, evaluator: Evaluator, insight: Insight) -> Diagnosis:
    """The diagnosis of an opened trace. Raises what the market's own reading raises, TraceError without a manifest."""
    core = trace.manifest.core
    roles: dict[SeatId, str] = {seat.id: seat.role for seat in core.seats}
    own = Frame(f"{evaluator.market}.", evaluator.money, roles, evaluator.phrases, _lacking(trace))
    general = own._replace(prefix="")
    seats = evaluator.seats(trace)
    play = read_play(trace, insight)
    # The market's modes first: of two that judge one decision the one that knows the market tells it.
    sights = [*look(evaluator.modes, seats, own), *look(GENERAL, play.seats, general)]
    version = modes_version(evaluator)
    references = references_of(core, evaluator)
    # Before merging: a condition of the market is no finding, and must not tell the facts of one.
    rate(sights, references, version)
    merge(sights)
    estimates = {(sight.id, sight.seat): sight.estimate for sight in sights if sight.status == "raised"}
    findings = findings_of(sights, [(evaluator.modes, own), (GENERAL, general)])
    return Diagnosis(
        market=core.market,
        modes_version=version,
        evidence_map=map_version(core.market),
        stages=evaluator.stages(trace),
        findings=ranked(findings, estimates, references, agent_seats(core, trace.manifest.about)),
        not_read=_not_read(sights),
        rates=any(sight.rate for sight in sights),
    )


def modes_version(evaluator: Evaluator) -> str:
    """The digest of both tables of modes: the market's own, if it has one, and the general one."""
    return "-".join(filter(None, (evaluator.modes.digest, GENERAL.digest)))


def _lacking(trace: Trace) -> dict[str, str]:
    """What this trace cannot tell, by need."""
    # A foreign server's log holds all calls, looks too; a known market's log from elsewhere holds its actions only.
    imported = trace.manifest.about.get("imported_from") is not None
    if imported and trace.manifest.core.market != IMPORTED_MARKET:
        return {"looks": "the imported log does not hold what the seat looked at"}
    return {}


def _not_read(sights: list[Sight]) -> list[NotRead]:
    """Every message that some mode of talk could not read, once, in the order of the trace."""
    found = {(case.seq, sight.seat): case for sight in sights for case in sight.seen.unread}
    return [
        NotRead(seq=seq, seat=seat, round=found[seq, seat].round, because=found[seq, seat].because)
        for seq, seat in sorted(found)
    ]
