"""The evidence index: what a seat had looked at, and of what, when it acted. For every market.

Categories and scopes come from the tool table, needs from the market's evidence map: neither is known here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from tradefair.contract import EvidenceMap, Need, Scenario, ToolTable
from tradefair.evaluation.modes.calls import named_objects
from tradefair.evaluation.modes.insight import EvidenceCase
from tradefair.evaluation.read.rounds import Did


class Look(NamedTuple):
    """A successful read or analysis call that gave evidence. `place` is its place among the seat's calls.

    `objects` are the ids that it was about, None for all.
    """

    place: int
    seq: int
    round: int
    revision: int
    tool: str
    categories: frozenset[str]
    objects: frozenset[str] | None


class Moment(NamedTuple):
    """When an action was taken."""

    round: int
    revision: int


def needs_of(evidence_map: EvidenceMap, scenario: Scenario, tools: ToolTable, role: str) -> dict[str, tuple[Need, ...]]:
    """By action, its needs that exist under this scenario and that a look of this role can meet."""
    # What no tool of this role offers cannot be looked at: such a need would blame the seat for the scenario.
    offered = {category for tool in tools.looks(scenario, role) for category in tool.evidence}
    return {
        action: tuple(
            need for need in needs if (need.when is None or need.when(scenario)) and not offered.isdisjoint(need.any_of)
        )
        for action, needs in evidence_map.items()
    }


class EvidenceIndex:
    """One seat's looks so far; `kind` names the market's objects (`product`), as arguments do (`product_ids`)."""

    def __init__(self, tools: ToolTable, kind: str) -> None:
        self._tools = tools
        self._kind = kind
        self._latest: dict[tuple[str, str | None], Look] = {}
        self._any: dict[str, Look] = {}
        self._round = 0
        self._of_round: dict[str | None, list[Look]] = {}

    def look(self, call: Did, place: int, scene: Any, stale: Collection[str] = ()) -> Look | None:
        """Take in a call; None when it gave no evidence. Categories in `stale` are too old to count."""
        tool = self._tools.get(call.tool or "")
        # Only answers count: a refused look has shown nothing.
        if tool is None or not call.accepted or not tool.read_only or not tool.evidence:
            return None
        categories = frozenset(tool.evidence).difference(stale)
        found = Look(
            place, call.seq, call.round, call.revision, tool.name, categories, self._objects(tool.scope, call, scene)
        )
        self._keep(found)
        return found

    def _objects(self, scope: Any, call: Did, scene: Any) -> frozenset[str] | None:
        if scope == "all":
            # The look was at everything, so it holds for every object.
            return None
        if scope == "args":
            return frozenset(named_objects(call.arguments, self._kind))
        if scene is None:
            # The market's own record is missing: what the arguments name, else everything.
            return frozenset(named_objects(call.arguments, self._kind)) or None
        about = scope(call.arguments, scene)
        return None if about is None else frozenset(about)

    def _keep(self, look: Look) -> None:
        # Only the open round is asked for by `of_round`; earlier ones would grow without bound.
        if look.round != self._round:
            self._round, self._of_round = look.round, {}
        objects: Collection[str | None] = (None,) if look.objects is None else look.objects
        for about in objects:
            self._of_round.setdefault(about, []).append(look)
            for category in look.categories:
                # The latest look replaces earlier ones: windows only ask how recent it is.
                self._latest[category, about] = look
        # Without an object any look of the category counts, whatever it was about.
        self._any.update(dict.fromkeys(look.categories, look))

    def meets(self, need: Need, about: str | None, now: Moment) -> bool:
        """Whether a look at `about` satisfies the need now; integer windows count rounds, the open one included.

        Without an object any look of the category does.
        """
        if now.round < need.from_round:
            return True
        return any(_within(look, need, now) for look in self._candidates(need, about))

    def looked(self, need: Need, about: str | None) -> bool:
        """Whether there was such a look at all, however long ago."""
        return bool(self._candidates(need, about))

    def case(self, seq: int, needs: Sequence[Need], about: str | None, now: Moment) -> EvidenceCase:
        """What an action about an object, or none, rests on. A need that is missing now and was met once is stale."""
        missing = [need for need in needs if not self.meets(need, about, now)]
        if not missing:
            return EvidenceCase(seq, now.round, about, len(needs), (), ())
        stale = [need for need in missing if self.looked(need, about)]
        return EvidenceCase(seq, now.round, about, len(needs), need_names(missing), need_names(stale))

    def _candidates(self, need: Need, about: str | None) -> list[Look]:
        if about is None:
            return [self._any[category] for category in need.any_of if category in self._any]
        found: list[Look] = []
        for category in need.any_of:
            # A look at all objects (None) is a look at this one too.
            for look in (self._latest.get((category, about)), self._latest.get((category, None))):
                if look is not None:
                    found.append(look)
        return found

    def of_round(self, about: str, now: Moment, categories: Collection[str]) -> list[Look]:
        """Looks of the open round at `about` that gave one of `categories`, in order."""
        if now.round != self._round:
            return []
        found = [*self._of_round.get(about, ()), *self._of_round.get(None, ())]
        relevant = [look for look in found if not look.categories.isdisjoint(categories)]
        return sorted(relevant, key=lambda look: look.place)


def need_names(needs: Sequence[Need]) -> tuple[str, ...]:
    """Needs by their categories."""
    return tuple("/".join(need.any_of) for need in needs)


def _within(look: Look, need: Need, now: Moment) -> bool:
    match need.window:
        case "round":
            return look.round == now.round
        case "since_close":
            # The revision rises with every closure: equal revisions have nothing between them.
            return look.revision == now.revision
        case "episode":
            return True
        case rounds:
            return now.round - look.round < rounds
