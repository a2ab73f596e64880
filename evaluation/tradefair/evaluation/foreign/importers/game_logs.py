"""Logs of public games among the readers: recognised by their first row, re-executed by the rules of their market."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from tradefair.evaluation.foreign.importers.items import Odd, Taken, WholeReader
from tradefair.evaluation.foreign.importers.report import GameReport, ImportReport
from tradefair.evaluation.foreign.importers.source import Head
from tradefair.evaluation.read.objects import mapping

GameKind = Literal["silent", "talk", "pair"]
"""A market without messages, one with them, one buyer and one seller who talk."""


def game_reader(name: str, title: str, kind: GameKind, import_game: Callable[[Path, Path], GameReport]) -> WholeReader:
    """The reader of games of one kind, over the importer of one file that lies in the room of their market."""

    def import_games(files: Sequence[Path], out: Path) -> ImportReport:
        # Games are independent of each other: one damaged file does not stop the rest.
        return ImportReport(name, [import_game(file, out) for file in files])

    def take(file: Path, out: Path) -> Taken:
        report = import_games([file], out)
        findings = [Odd(found.line, found.field, found.message) for found in report.findings]
        return Taken(report.games[0].trace, report.to_json(), findings)

    def sniff(head: Head) -> int:
        return 100 if _kind(head) == kind else 0

    return WholeReader(name, title, sniff, take, import_games)


def _kind(head: Head) -> GameKind | None:
    """What the first row says of its game; None for other files."""
    row = mapping(head.value)
    data = mapping(row.get("data"))
    if row.get("type") != "init" or "num_buyers" not in data:
        return None
    if not data.get("communication_enabled"):
        return "silent"
    return "pair" if (data["num_buyers"], data.get("num_sellers")) == (1, 1) else "talk"
