"""The diagnosis of a trace: the failure modes of its market and the general ones, merged, rated and ranked."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from tradefair.contract import SeatId
from tradefair.contract.kernel.event import ManifestCore
from tradefair.evaluation.evaluator import Evaluator
from tradefair.evaluation.modes.base_rates import Played, References, ranked, rate, shipped
from tradefair.evaluation.modes.detectors import GENERAL
from tradefair.evaluation.modes.diagnosis import Diagnosis, NotRead
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.judged import Frame, Sight, findings_of, look
from tradefair.evaluation.modes.merged import merge
from tradefair.evaluation.modes.published import map_version
from tradefair.evaluation.modes.reading import read_play
from tradefair.evaluation.origins import ADDS_NOT_UP, origin_of
from tradefair.evaluation.reading import agent_seats, foreign, imported, seating_in
from tradefair.tracestore import Trace


def diagnosis_of(trace: Trace, evaluator: Evaluator, insight: Insight, played: Played | None = None) -> Diagnosis:
    """The diagnosis of an opened trace; `played` in place of base rates where none are shipped for its scenario.

    Raises what the market's own reading raises, TraceError without a manifest.
    """
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
    rate(sights, references, played)
    merge(sights)
    findings = findings_of(sights, [(evaluator.modes, own), (GENERAL, general)])
    return Diagnosis(
        market=core.market,
        modes_version=version,
        evidence_map=evaluator.evidence_version or map_version(core.market),
        stages=evaluator.stages(trace),
        findings=ranked(findings, agent_seats(seating_in(trace))),
        not_read=_not_read(sights),
        reading=talk_reading() if _judges_talk(sights) else {},
        rates=played is None and any(sight.rate for sight in sights),
        played=list(played.policies) if played else [],
    )


def references_of(core: ManifestCore, evaluator: Evaluator) -> References | None:
    """The base rates of a trace's preset; null where none are shipped for this very scenario and these rules."""
    # The files lie in the room of the market's evaluator.
    return shipped(type(evaluator).__module__.rpartition(".")[0], core.scenario, core.rules_version)


def mode_versions(evaluator: Evaluator) -> dict[str, int]:
    """The version of every row, by the id of its findings."""
    own = {f"{evaluator.market}.{name}": mode.version for name, mode in evaluator.modes.rows.items()}
    return own | {name: mode.version for name, mode in GENERAL.rows.items()}


def modes_version(evaluator: Evaluator) -> str:
    """The digest of both tables of modes: the market's own, if it has one, and the general one."""
    return "-".join(filter(None, (evaluator.modes.digest, GENERAL.digest)))


@cache
def talk_reading() -> dict[str, dict[str, float]]:
    """Recall, precision and n per class of statement on the sentences written before the rules of the reader of talk.

    With the prefixes `dev_` and `test_` the same of the halves of the corpus (`python -m benchmarks.talk`).
    """
    return json.loads((files("tradefair.evaluation.modes") / "talk_reading.json").read_text(encoding="utf-8"))


def _judges_talk(sights: list[Sight]) -> bool:
    # Without a message there was nothing to read, and no figure tells how well.
    seen = (sight.seen for sight in sights if "talk" in sight.mode.needs)
    return any(talk.unchecked is None and (talk.of > 0 or len(talk.unread) > 0) for talk in seen)


def _lacking(trace: Trace) -> dict[str, str]:
    """What this trace cannot tell, by need, and by the name of a mode."""
    # A foreign server's log holds all calls, looks too; a known market's log from elsewhere holds its actions only.
    if imported(seating_in(trace)) and not foreign(trace.manifest.core):
        return {"looks": "the imported log does not hold what the seat looked at"}
    if foreign(trace.manifest.core) and not origin_of(trace).reconciled:
        # Of calls that are missing or told twice none can be said to be repeated or refused.
        return dict.fromkeys(("refused_calls", "loop"), f"the run {ADDS_NOT_UP}")
    return {}


def _not_read(sights: list[Sight]) -> list[NotRead]:
    """Every message that some mode of talk could not read, once, in the order of the trace."""
    found = {(case.seq, sight.seat): case for sight in sights for case in sight.seen.unread}
    return [
        NotRead(seq=seq, seat=seat, round=found[seq, seat].round, because=found[seq, seat].because)
        for seq, seat in sorted(found)
    ]
