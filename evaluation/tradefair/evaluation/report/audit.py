"""What seats looked at: evidence before actions, looks by round, and the tools they could have used.

These are counts of habits, not judgements: the general diagnostics (`modes/evidence.py`) say which looks were
missing, with the windows of the market's evidence map. Here a look counts until the round ends.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tradefair.catalog import market_type
from tradefair.contract import MarketType, Scenario, ToolTable, TradefairError
from tradefair.contract.kernel.event import ManifestCore
from tradefair.contract.scenario import build_scenario
from tradefair.evaluation.charts import Axis, HeatChart
from tradefair.evaluation.modes.evidence import needs_of
from tradefair.evaluation.report.events import CallRow
from tradefair.evaluation.report.page_data import AuditRow, EvidenceRow


class Audit(NamedTuple):
    """Evidence before actions, looks by round (per seat), tools that show something. Empty for unknown markets."""

    categories: list[str]
    evidence: list[EvidenceRow]
    looks: list[HeatChart]
    tools: list[AuditRow]


class _Known(NamedTuple):
    """A market that is installed, and the scenario where it can be read."""

    kind: MarketType
    scenario: Scenario | None
    tools: ToolTable

    def evidence(self, tool: str) -> tuple[str, ...]:
        """Categories of evidence that a tool shows; none for an action, whatever its answer contains."""
        found = self.tools.get(tool)
        return found.evidence if found is not None and found.read_only else ()

    def needed(self, role: str) -> Mapping[str, set[str]]:
        """Action -> the categories of evidence that it should rest on, for a role. Of alternatives, all are named."""
        if self.scenario is None:
            return {}
        needs = needs_of(self.kind.evidence_map, self.scenario, self.tools, role)
        return {action: {category for need in own for category in need.any_of} for action, own in needs.items()}


def audit(core: ManifestCore, calls: Sequence[CallRow]) -> Audit:
    """Count calls against what the market's tools show. A market that is not installed has no audit.

    `calls` are in the order of the trace. The rows come seat by seat, in the manifest's order; a call
    by a seat that the manifest does not name is left out.
    """
    known = _known(core)
    if known is None:
        return Audit([], [], [], [])
    roles = {seat.id: seat.role for seat in core.seats}
    # Needs depend on the role only. A market of 200 seats with two roles works them out twice, not 200 times.
    needed = {role: known.needed(role) for role in dict.fromkeys(roles.values())}
    categories = list(dict.fromkeys(name for tool in known.tools.values() for name in tool.evidence))
    by_seat: dict[str, list[CallRow]] = {seat: [] for seat in roles}
    for call in calls:
        # An edited trace can name a seat that the manifest does not have.
        if call.seat in by_seat:
            by_seat[call.seat].append(call)
    return Audit(
        categories,
        [row for seat, own in by_seat.items() for row in _evidence(known, seat, needed[roles[seat]], own)],
        [chart for seat, own in by_seat.items() if (chart := _looks(known, seat, own, categories))],
        [row for seat, own in by_seat.items() for row in _tools(known, seat, roles[seat], own)],
    )


def _known(core: ManifestCore) -> _Known | None:
    """The market of a trace with its scenario, as far as they are there; None without the market."""
    try:
        # Two separate questions: without the market nothing is known of its tools; without a readable
        # scenario the tools are still known, and only what was offered is not.
        kind = market_type(core.market)
    except TradefairError:
        return None
    try:
        scenario = build_scenario(kind.scenario_model, core.scenario, source="manifest")
    except TradefairError:
        scenario = None
    return _Known(kind, scenario, kind.tools)


def _evidence(
    known: _Known, seat: str, needed_by: Mapping[str, set[str]], calls: Iterable[CallRow]
) -> list[EvidenceRow]:
    """Per executed action its count and how many of these had a look at each category earlier in the round."""
    count: Counter[str] = Counter()
    looked: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seen: set[str] = set()
    current = 0
    for call in calls:
        if call.round != current:
            # Evidence counts for the round in which it was seen: the page shows habits, not the map's windows.
            current = call.round
            seen.clear()
        # A refused call shows nothing to the seat and changes nothing in the market.
        if call.status != "ok":
            continue
        # In the order of the calls: a look counts for the actions after it, never for those before.
        seen.update(known.evidence(call.tool))
        tool = known.tools.get(call.tool)
        if tool is not None and tool.kind == "action":
            count[call.tool] += 1
            looked[call.tool].update(seen)
    rows: list[EvidenceRow] = []
    for action in known.tools:
        needed = needed_by.get(action, set())
        # An action that only ends the turn needs no look, so its row would say nothing. Without an
        # evidence map nothing is known of needs, and all actions are listed.
        if action in count and (needed or not known.tools[action].ends_turn or not known.kind.evidence_map):
            rows.append(
                EvidenceRow(
                    seat=seat, action=action, count=count[action], looked=dict(looked[action]), needed=sorted(needed)
                )
            )
    return rows


def _looks(known: _Known, seat: str, calls: Sequence[CallRow], categories: Sequence[str]) -> HeatChart | None:
    """A seat's looks as a calendar: a row per category, a column per round; None when the seat looked at nothing."""
    row_of = {category: row for row, category in enumerate(categories)}
    counted: Counter[tuple[int, int]] = Counter()
    for call in calls:
        if call.status == "ok":
            counted.update((row_of[category], call.round) for category in known.evidence(call.tool))
    if not counted:
        return None
    return HeatChart(
        id=f"looks_{seat}",
        title=f"What {seat} looked at, by round",
        note="Answered calls that gave evidence of a category.",
        x=Axis(label="round"),
        y=Axis(label="evidence"),
        rows=[category.replace("_", " ") for category in categories],
        first_column=min(call.round for call in calls),
        last_column=max(call.round for call in calls),
        cells=[(row, column, count) for (row, column), count in sorted(counted.items())],
    )


def _tools(known: _Known, seat: str, role: str, calls: Sequence[CallRow]) -> list[AuditRow]:
    """Read-only tools that the seat was offered or has called, in the order of the market's table."""
    own: defaultdict[str, list[CallRow]] = defaultdict(list)
    for call in calls:
        own[call.tool].append(call)
    rows: list[AuditRow] = []
    for tool in known.tools.values():
        offered = known.scenario is not None and tool.visible(known.scenario, role)
        # A tool that was called is listed even where the scenario does not offer it: the refusals are of interest.
        if tool.read_only and not tool.observer and (offered or tool.name in own):
            rows.append(_tool_row(seat, tool.name, tool.title, tool.evidence, offered, own.get(tool.name, ())))
    return rows


def _tool_row(
    seat: str, tool: str, title: str, evidence: Sequence[str], offered: bool, calls: Sequence[CallRow]
) -> AuditRow:
    """How a seat used one tool. Rounds are those with an answered call; refused calls are counted apart."""
    rounds = [call.round for call in calls if call.status == "ok"]
    return AuditRow(
        seat=seat,
        tool=tool,
        title=title,
        evidence=list(evidence),
        offered=offered,
        answered=len(rounds),
        refused=len(calls) - len(rounds),
        rounds=len(set(rounds)),
        first=min(rounds, default=None),
        last=max(rounds, default=None),
    )
