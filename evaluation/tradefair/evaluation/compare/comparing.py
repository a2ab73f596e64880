"""`compare_folders`: from two folders of traces to one `Comparison`.

The tests are in `numbers`, the conclusion in `judgement`, the words in `verdict`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from tradefair.contract import ScenarioError, SeatId, TraceError
from tradefair.contract.errors import unknown
from tradefair.contract.kernel.players import AgentRecord, Seating
from tradefair.evaluation.compare.comparison import Attribute, Comparison, Pair, Regret
from tradefair.evaluation.compare.judgement import judge
from tradefair.evaluation.compare.metric_tables import metric_title
from tradefair.evaluation.compare.missing import bound_of, gaps_of, missing_of, shares_of, skew_of
from tradefair.evaluation.compare.numbers import Success, arm_of, early_ends, metrics_of, reliability
from tradefair.evaluation.compare.pairing import pair_across, pair_up
from tradefair.evaluation.compare.regret import references_of, regret_of
from tradefair.evaluation.compare.runs import (
    Loaded,
    Seats,
    Side,
    compared_seats,
    label_of,
    load_side,
    metric_names,
    roles_of,
)
from tradefair.evaluation.compare.verdict import verdict_of_comparison
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.evaluation.judge.reward import primary_metrics
from tradefair.evaluation.outcome import PrimaryMetric, refused_note
from tradefair.evaluation.phrases import phrases_for
from tradefair.evaluation.prove.proving import NOT_ASKED, ONCE_MORE, proof_said
from tradefair.evaluation.verdict.verdict import Verdict

_MAX_FINDINGS = 20  # named in the result; more would hide the verdict
_MAX_NAMED = 4  # seeds or policy keys named in a sentence


@dataclass(frozen=True)
class Options:
    """What may be asked in addition to the two sides.

    `seats` are compared (default: where the agent sat). `reference` and `passive` are folders of references. `success`
    is what pass^k counts. With `across_scenarios` each side holds one scenario, and equal seeds of the two are paired.
    `proven`: traces are re-executed first (None: where that takes a minute at most), and those that prove nothing are
    left out.
    """

    seats: Sequence[SeatId] | None = None
    reference: Path | None = None
    passive: Path | None = None
    success: Success | None = None
    across_scenarios: bool = False
    proven: bool | None = None


def compare_folders(path_a: Path, path_b: Path, options: Options | None = None) -> Comparison:
    """Compare B with A on all tasks that both played. Differences are B − A.

    Raises TraceError where nothing can be read, markets are mixed or a seed occurs twice; SeatError for an unknown
    seat; ScenarioError for a folder without traces and for a success that names no metric.
    """
    asked = options or Options()
    return compare_sides(load_side(path_a, proven=asked.proven), load_side(path_b, proven=asked.proven), asked)


def _market_of(a: Side, b: Side) -> str:
    """The market of both sides. Raises TraceError where one has no trace, or where they have two markets."""
    if not a.runs or not b.runs:
        # The first damaged trace is named: a folder of damaged traces only would otherwise look like an empty one.
        first = next(iter([*a.damaged, *b.damaged]), None)
        because = f": {first[0].name}: {first[1]}" if first else ""
        raise TraceError(f"{b.path if a.runs else a.path}: no trace here can be read{because}")
    market, other = a.runs[0].core.market, b.runs[0].core.market
    if market != other:
        raise TraceError(f"{a.path} holds traces of {market}, {b.path} of {other}: only one market can be compared")
    return market


def compare_sides(a: Side, b: Side, asked: Options) -> Comparison:
    """Compare side B with side A, as `compare_folders` does with what it has read."""
    # Named folders are read first, so that a wrong path fails before anything is computed.
    named = [_named(path) for path in (asked.reference, asked.passive)]
    market = _market_of(a, b)
    if asked.across_scenarios:
        _check_across(asked)
        # Before tasks are built: pairing goes by the scenario's name and digest, which this replaces.
        a, b = pair_across(a, b)
    seats = compared_seats(a, b, asked.seats)
    roles = roles_of([*a.runs, *b.runs], seats)
    primary = primary_metrics(market, roles)
    # Roles see different columns: a number that no compared seat can have would be a row of dashes.
    told = metric_names(market, roles)
    success = _success(asked.success, primary, told, market)
    pairs, dropped = pair_up(a, b, seats)
    metrics = metrics_of(pairs, primary, left_out=set(metric_names(market)).difference(told))
    attributes = _attributes(a.runs, b.runs, seats)
    told_seats = seats.of_all([*a.runs, *b.runs])
    missing = missing_of(a, b, pairs, dropped)
    bounds = [bound for metric in primary if (bound := bound_of(pairs, metric, missing)) is not None]
    shares = shares_of(pairs, primary[0]) if primary else None
    skewed = [skew for metric in primary if (skew := skew_of(pairs, metric)) is not None]
    luck = _luck(attributes, paired=bool(pairs))
    titled = partial(metric_title, market)
    judged = judge(pairs, metrics, bounds, luck=luck, named=titled)
    found = Comparison(
        # Replaced below: its sentences are made of all the rest.
        verdict=Verdict(status="failed", market=market, scenario=""),
        conclusion=judged.conclusion,
        notes=[*judged.notes, *_counted(a, b), *_senders("A", a, seats), *_senders("B", b, seats)],
        market=market,
        proof=proof_said(a.proven and b.proven),
        seats=told_seats,
        a=arm_of(str(a.path), [(pair.a, pair.seats) for pair in pairs]),
        b=arm_of(str(b.path), [(pair.b, pair.seats) for pair in pairs]),
        attributes=attributes,
        pairs=pairs,
        dropped=dropped,
        metrics=metrics,
        early_ends=early_ends(pairs),
        reliability=reliability(pairs, success) if success is not None else [],
        # A reference of one scenario says nothing about what could be reached in the other.
        regret=[] if asked.across_scenarios else _regret(pairs, primary, [a, b], seats, named[0], named[1]),
        missing=missing,
        gaps=gaps_of(a, b, pairs, dropped, seats, primary[0] if primary else None),
        bounds=bounds,
        shares=shares,
        skewed=skewed,
        findings=_findings(a, b),
    )
    versions = {"rules": a.runs[0].core.rules_version, "evaluator": evaluator_of(market).version}
    verdict = verdict_of_comparison(found, versions=versions, said=_said(market, roles))
    return found.model_copy(update={"verdict": verdict})


def _counted(a: Side, b: Side) -> Iterator[str]:
    """What was left out as a copy, and what the figures rest on."""
    for name, side in (("A", a), ("B", b)):
        if side.copies:
            yield f"{name}: left out {len(side.copies)} ({ONCE_MORE}), such as {side.copies[0].name}"
    if not (a.proven and b.proven):
        yield NOT_ASKED


def _said(market: str, roles: Collection[str]) -> str:
    """How the market says a score; plainly where roles say it in several ways."""
    verbs = {phrases_for(evaluator_of(market).phrases, role)["verb"] for role in sorted(roles)}
    return f"{verbs.pop() if len(verbs) == 1 else 'scored'} {{value}}"


def parse_success(text: str) -> Success:
    """Read a condition of success such as `gain>100`. Raises ScenarioError."""
    metric, sign, bound = text.partition(">")
    try:
        if not sign:
            raise ValueError
        return Success(metric.strip(), float(bound))
    except ValueError:
        raise ScenarioError(f"--success {text!r}: write METRIC>NUMBER, such as gain>0") from None


def _luck(attributes: Sequence[Attribute], *, paired: bool) -> str:
    """Name the draws that differ between the sides, as a sentence; empty where none do.

    With `paired`, seeds that differ are no reason: pairs share their seeds, and the others are left out anyway.
    """
    differing = {item.name: item for item in attributes if item.differs}
    if "scenario values" in differing:
        # The scenarios were meant to differ (--across-scenarios); seeds are then the same by construction.
        item = differing["scenario values"]
        return f"the scenarios differ (A {', '.join(item.a)}; B {', '.join(item.b)}), the seeds are the same"
    for name, needed, consequence in (
        ("seeds", not paired, "the luck of the market and of scripted opponents differs"),
        ("policy key", True, "the luck of scripted opponents differs"),
    ):
        item = differing.get(name)
        if item is not None and needed:
            a, b = (", ".join(values[:_MAX_NAMED]) + " …" * (len(values) > _MAX_NAMED) for values in (item.a, item.b))
            return f"the {name.removesuffix('s')}s differ (A {a}; B {b}): {consequence}"
    return ""


def _check_across(asked: Options) -> None:
    """Refuse options that belong to one scenario. Raises ScenarioError."""
    if asked.reference is not None or asked.passive is not None:
        raise ScenarioError("--across-scenarios pairs two scenarios: --reference, --passive are of one: leave them out")


def _named(path: Path | None) -> Side | None:
    """The traces of a folder that was asked for; None where none was. Raises as `load_side` does."""
    return None if path is None else load_side(path)


def _success(
    asked: Success | None, primary: Sequence[PrimaryMetric], known: Sequence[str], market: str
) -> Success | None:
    """The condition of pass^k: the one asked for, else "first primary metric above 0". Raises ScenarioError."""
    if asked is not None:
        if asked.metric not in known:
            raise ScenarioError(unknown("figure", asked.metric, known))
        return asked
    # Above 0 is a success only where more is better; of a cost or a loss no bound is natural.
    return Success(primary[0].name, 0.0) if primary and primary[0].higher_is_better else None


def _regret(
    pairs: Sequence[Pair],
    primary: Sequence[PrimaryMetric],
    sides: Sequence[Side],
    seats: Seats,
    reference: Side | None,
    passive: Side | None,
) -> list[Regret]:
    """Regret in the first primary metric; empty where no reference was played."""
    # A metric of which less is better would turn the sign of the formula; none is declared first today.
    if not primary or not primary[0].higher_is_better:
        return []
    references = references_of(primary[0].name, sides, seats, reference, passive)
    asked = reference is not None or passive is not None
    # References in a folder next to the traces are a bonus: half of them is no reason for a table of dashes.
    if not asked and not (references.best and references.passive):
        return []
    return [regret_of(pairs, primary[0].name, references)]


def _findings(a: Side, b: Side) -> list[str]:
    """What is wrong with traces of either side, at most 20 lines: damaged files first, then findings of evaluators."""
    damaged = [f"{path}: {reason}" for side in (a, b) for path, reason in side.damaged]
    unusable = [
        f"{run.path}: {finding.message}"
        for side in (a, b)
        for run in side.runs
        for finding in run.outcome.findings
        # An unfinished trace has findings by nature; the list of dropped traces already says so.
        if run.outcome.end_reason is not None
    ]
    return [*damaged, *unusable][:_MAX_FINDINGS]


# --- what differs and what is pinned --------------------------------------------------------------------------------


def _attributes(a: Sequence[Loaded], b: Sequence[Loaded], seats: Seats) -> list[Attribute]:
    """The rows above the table: how the runs of both sides were made, by name of what may differ."""
    # The order is that of the printed table: what people change on purpose comes first, versions last.
    readers: Mapping[str, Callable[[Loaded], str | list[str]]] = {
        "agent": lambda run: label_of(run, seats.of(run)),
        "framework": lambda run: [agent.framework for agent in run.agents(seats)] or "–",
        "model": lambda run: [agent.model or "–" for agent in run.agents(seats)] or "–",
        "endpoint": lambda run: [agent.endpoint or "–" for agent in run.agents(seats)] or "–",
        "agent limits": lambda run: [_limits(agent) for agent in run.agents(seats)] or "–",
        "prompt": lambda run: _prompts(run, seats),
        "agent options": lambda run: [_options(agent) for agent in run.agents(seats)] or "–",
        "policy key": lambda run: _keys(run.seating),
        # By task: these names are what pairs are matched by, so the row explains why runs have no partner.
        "opponents": lambda run: [f"{seat} {who}" for seat, who in run.task(seats).opponents] or "none",
        # The digest too, because overrides (--set) change a scenario's content and keep its id.
        "scenario": lambda run: f"{run.core.scenario.get('id')} {run.scenario_digest[:12]}",
        "seeds": lambda run: str(run.core.seed),
        "market and rules": lambda run: f"{run.core.market} {run.core.rules_version}",
        "tools": lambda run: run.core.tool_schema_digest[:12],
        "written by": lambda run: run.seating.written_by or "–",
        "python": lambda run: _python(run.about),
    }
    found = [Attribute(name=name, a=_values(a, read), b=_values(b, read)) for name, read in readers.items()]
    # Set by `pair_across` only; then each side holds one scenario, so the first run speaks for all.
    if any(run.paired_as for run in a):
        first, second = a[0].core.scenario, b[0].core.scenario
        found.append(Attribute(name="scenario values", a=_unlike(first, second), b=_unlike(second, first)))
    return found


def _unlike(scenario: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The values in which the other scenario differs, as `key = value`. Names and descriptions do not change play."""
    keys = sorted((scenario.keys() | other.keys()) - {"id", "version", "description"})
    differing = [key for key in keys if scenario.get(key) != other.get(key)]
    return [f"{key} = {orjson.dumps(scenario.get(key)).decode()}"[:80] for key in differing]


def _values(runs: Sequence[Loaded], read: Callable[[Loaded], str | list[str]]) -> list[str]:
    """The distinct values met on one side, in text, sorted."""
    met = (read(run) for run in runs)
    found = {text for value in met for text in ([value] if isinstance(value, str) else value)}
    # Numbers sort by their size: 9 comes before 10, as a reader of seeds expects.
    return sorted(found, key=lambda text: (len(text), text) if text.isdecimal() else (0, text))


def _senders(name: str, side: Side, seats: Seats) -> list[str]:
    """The note that a side's counts of refused calls are those of its clients; none where none was refused."""
    seated = [run.outcome.seats.get(seat) for run in side.runs for seat in seats.of(run)]
    note = refused_note(f"of {name}", (client for seat in seated if seat for client in seat.refused_by))
    return [note] if note else []


def _limits(agent: AgentRecord) -> str:
    """The limits of an agent as "key value" pairs."""
    return ", ".join(f"{key} {value}" for key, value in sorted(asdict(agent.limits).items()))


def _options(agent: AgentRecord) -> str:
    """What else tells an agent apart, as "key value" pairs; digests cut to 12 digits. A dash where nothing does."""
    said = {"window": agent.window, "approve": agent.approve, "timeout_s": agent.timeout_s, **agent.options}
    digests = {"trials": agent.trials, "replay": agent.replay}
    said |= {name: value[:12] for name, value in digests.items() if value}
    return ", ".join(f"{name} {value}" for name, value in said.items() if value)[:120] or "–"


def _keys(seating: Seating) -> str:
    """The key of all scripted seats, and that of the seat under test where it is another."""
    own = f", agent {seating.agent_key}" if seating.agent_key != seating.policy_key else ""
    return f"{seating.policy_key}{own}"


def _python(about: Mapping[str, Any]) -> str:
    """The Python that ran the host; `about` may hold anything."""
    software: Any = about.get("software")
    return str(software.get("python", "–"))[:120] if isinstance(software, dict) else "–"  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]


def _prompts(run: Loaded, seats: Seats) -> str:
    """The digests of the prompts that the compared seats were given; a dash where none is recorded."""
    prompts = [run.account.seats[seat].prompt for seat in seats.of(run) if seat in run.account.seats]
    return ", ".join(dict.fromkeys(prompt for prompt in prompts if prompt)) or "–"
