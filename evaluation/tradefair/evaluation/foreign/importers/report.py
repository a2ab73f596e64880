"""The report of an import: how much of each kind of fact in the logs re-execution has reproduced, and what is wrong.

What only samples of the source have told is never enforced: where it differs, that is a warning, and the log is kept.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from tradefair.contract import SeatId
from tradefair.contract.kernel.players import Player, Seating, outside_label
from tradefair.tracestore import WRITTEN_BY
from tradefair.trading.game_log import MAX_FINDINGS, Finding

_TOLERANCE = 1e-12
"""Relative and absolute; the floats of a log were summed in another order than ours."""

Basis = Literal["rule", "sample"]
"""What a kind of fact stands on: the source's text or an identity of the log's own numbers; or what logs have told."""

_KINDS: Mapping[Basis, str] = {
    "rule": """values limits messages message_counts recipients visibility violations quotes trade_quotes matches
        trade_counts prices midpoints payoffs round_payoffs round_prices round_surplus round_max_surplus
        round_normalized_surplus round_trade_counts round_mean_prices final_payoffs final_surplus final_max_surplus
        final_efficiency""",
    "sample": """generations speaking_orders quote_orders makers half_ticks round_price_sds final_potentials
        final_shares scores""",
}
BASIS = {kind: basis for basis, kinds in _KINDS.items() for kind in kinds.split()}
OPTIONAL = {
    "seat_csa_map": "seats have no score in their log: csa_logged is null",
    "raw_response": "quotes at the own limit came without the answer: who put them there is not known",
}
"""What a log may lack, and what is null then."""


@dataclass
class Tally:
    """How many facts of one kind there were, how many of them were reproduced, and the first that was not."""

    matched: int = 0
    total: int = 0
    first: Finding | None = None

    def add(self, odd: Finding | None) -> None:
        """Count one fact; `odd` says how it differs."""
        self.total += 1
        self.matched += odd is None
        self.first = self.first or odd

    def to_json(self) -> dict[str, Any]:
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
    optional: dict[str, Tally] = field(default_factory=dict[str, Tally])
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def sound(self) -> bool:
        """Whether the log was imported and nothing in it breaks a rule."""
        return self.trace is not None and not self.findings

    def found(self, line: int, path: str, message: str) -> None:
        """Keep a finding; `path` is the dotted field in the row."""
        # A log of another engine differs in every row; the first ones say why.
        if len(self.findings) < MAX_FINDINGS:
            self.findings.append(Finding(self.file, line, path, message))

    def compare(
        self, kind: str, logged: object, here: object, line: int, path: str, tolerance: float = _TOLERANCE
    ) -> None:
        """Count one fact of `kind`, a key of BASIS; a rule that differs is a finding.

        `logged` and `here` are compared by value, floats within the tolerance, relative and absolute; `line` and `path`
        locate the fact in the log.
        """
        same = _same(logged, here, tolerance)
        self.count(kind, line, path, "" if same else f"the log says {_shown(logged)}, we {_shown(here)}")

    def count(self, kind: str, line: int, path: str, differs: str) -> None:
        """As `compare`, of a fact that was compared already; `differs` is empty where it is as logged."""
        odd = Finding(self.file, line, path, differs) if differs else None
        self.checks.setdefault(kind, Tally()).add(odd)
        if odd is not None and BASIS[kind] == "rule":
            self.found(line, path, f"{kind}: {differs}")

    def lacks(self, name: str, line: int, path: str, *, missing: bool) -> None:
        """Count one place of something that a log may lack, a key of OPTIONAL."""
        self.optional.setdefault(name, Tally()).add(Finding(self.file, line, path, "") if missing else None)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        names = ("file", "game_id", "chance", "rounds", "trades", "trace")
        return {**{name: getattr(self, name) for name in names}, **_tallies([self])}


@dataclass
class ImportReport:
    """A whole import, one game per file."""

    importer: str
    games: list[GameReport]

    @property
    def sound(self) -> bool:
        """Whether every game was imported, and none breaks a rule."""
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
            **_tallies(self.games),
            "findings": [finding._asdict() for finding in self.findings],
            "per_game": [game.to_json() for game in self.games],
        }


def merged(tallies: Iterable[Mapping[str, Tally]]) -> dict[str, Tally]:
    """The tallies of all games, by kind."""
    sums: dict[str, Tally] = {}
    for kind, tally in (item for of_game in tallies for item in of_game.items()):
        total = sums.setdefault(kind, Tally())
        total.matched += tally.matched
        total.total += tally.total
        total.first = total.first or tally.first
    return sums


def warnings(games: Sequence[GameReport]) -> Iterator[str]:
    """A sentence per kind of fact that samples have told and these games do not bear out, and per thing they lack."""
    for kind, tally in merged(game.checks for game in games).items():
        if tally.first is not None and BASIS[kind] == "sample":
            counted = f"{kind} differ in {tally.total - tally.matched:,} of {tally.total:,} facts"
            told = f"{_place(tally.first)}, {tally.first.message}"
            yield f"warning: {counted} (read off samples, no rule of the source); first: {told}"
    for name, tally in merged(game.optional for game in games).items():
        if tally.first is not None:
            counted = f"{tally.total - tally.matched:,} of {tally.total:,} {OPTIONAL[name]}"
            yield f"note: {name}: {counted}; first: {_place(tally.first)}"


def _place(finding: Finding) -> str:
    return f"{finding.file}:{finding.line} {finding.field}"


def _tallies(games: Sequence[GameReport]) -> dict[str, Any]:
    """What was compared, on which basis, and what was only noted, as JSON."""
    checks = merged(game.checks for game in games)
    optional = merged(game.optional for game in games)
    return {
        "checks": {kind: {**tally.to_json(), "basis": BASIS[kind]} for kind, tally in checks.items()},
        "optional": {name: tally.to_json() for name, tally in optional.items()},
        "warnings": list(warnings(games)),
    }


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
