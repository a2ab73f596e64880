"""The report of an import: how much of each kind of fact in the logs re-execution has reproduced, and what is wrong."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tradefair.contract import SeatId
from tradefair.contract.kernel.players import Player, Seating, outside_label
from tradefair.tracestore import WRITTEN_BY
from tradefair.trading.game_log import MAX_FINDINGS, Finding

_TOLERANCE = 1e-12
"""Relative and absolute; the floats of a log were summed in another order than ours."""


@dataclass
class Tally:
    """How many facts of one kind there were, and how many of them were reproduced."""

    matched: int = 0
    total: int = 0

    def to_json(self) -> dict[str, int]:
        """Plain data."""
        return {"matched": self.matched, "total": self.total}


@dataclass
class GameReport:
    """One log file. `trace` is null when it could not be imported; `chance` says how its luck was followed."""

    file: str
    game_id: str | None = None
    chance: str | None = None
    rounds: int = 0
    trades: int = 0
    trace: str | None = None
    checks: dict[str, Tally] = field(default_factory=dict[str, Tally])
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def sound(self) -> bool:
        """Whether the log was imported and everything in it was reproduced."""
        return self.trace is not None and not self.findings

    def found(self, line: int, path: str, message: str) -> None:
        """Keep a finding; `path` is the dotted field in the row."""
        # A log of another engine differs in every row; the first ones say why.
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(self.file, line, path, message))

    def compare(
        self, kind: str, logged: object, here: object, line: int, path: str, tolerance: float = _TOLERANCE
    ) -> None:
        """Count one fact of `kind`; a finding when the log says something else than re-execution.

        `logged` and `here` are compared by value, floats within the tolerance, relative and absolute; `line` and `path`
        locate the fact in the log.
        """
        tally = self.checks.setdefault(kind, Tally())
        tally.total += 1
        if _same(logged, here, tolerance):
            tally.matched += 1
        else:
            self.found(line, path, f"{kind}: the log says {_shown(logged)}, re-execution gives {_shown(here)}")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "file": self.file,
            "game_id": self.game_id,
            "chance": self.chance,
            "rounds": self.rounds,
            "trades": self.trades,
            "trace": self.trace,
            "checks": {kind: tally.to_json() for kind, tally in self.checks.items()},
        }


@dataclass
class ImportReport:
    """A whole import, one game per file."""

    importer: str
    games: list[GameReport]

    @property
    def sound(self) -> bool:
        """Whether every game was imported and reproduced."""
        # An import of no files has reproduced nothing.
        return bool(self.games) and all(game.sound for game in self.games)

    @property
    def findings(self) -> list[Finding]:
        """All findings, in the order of the files."""
        return [finding for game in self.games for finding in game.findings]

    def to_json(self) -> dict[str, Any]:
        """Plain data for `--json`.

        Totals first, findings in the order of the files, and one entry per file under `per_game`.
        """
        # Rounds and trades count imported games only; the checks are of all.
        imported = [game for game in self.games if game.trace is not None]
        return {
            "importer": self.importer,
            "games": len(self.games),
            "imported": len(imported),
            "rounds": sum(game.rounds for game in imported),
            "trades": sum(game.trades for game in imported),
            "checks": {kind: tally.to_json() for kind, tally in merged(self.games).items()},
            "findings": [finding._asdict() for finding in self.findings],
            "per_game": [game.to_json() for game in self.games],
        }


def merged(games: Iterable[GameReport]) -> dict[str, Tally]:
    """The tallies of all games, by kind."""
    sums: dict[str, Tally] = {}
    for game in games:
        for kind, tally in game.checks.items():
            total = sums.setdefault(kind, Tally())
            total.matched += tally.matched
            total.total += tally.total
    return sums


def _same(logged: object, here: object, tolerance: float) -> bool:
    # Floats only: whole numbers of the log have to be met exactly.
    if isinstance(logged, float) and isinstance(here, int | float):
        return math.isclose(logged, here, rel_tol=tolerance, abs_tol=tolerance)
    return logged == here


def _shown(value: object) -> str:
    text = "nothing" if value is None else str(value)
    # Findings are printed one per line, and a value may be a whole message.
    return text if len(text) <= 100 else text[:97] + "..."


def imported_seating(seats: Iterable[SeatId], labels: Mapping[SeatId, str], origin: Mapping[str, Any]) -> Seating:
    """Who played a foreign log, as it says itself, and where it came from; seats without a label keep their ids."""
    players = {seat: Player(label=outside_label(labels.get(seat, seat))) for seat in seats}
    return Seating(players=players, written_by=WRITTEN_BY, origin={"imported_from": dict(origin)})
