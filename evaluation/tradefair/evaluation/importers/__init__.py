"""Importers turn foreign logs into traces that everything else here reads. One entry per kind of log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from tradefair.contract.errors import ScenarioError, unknown

if TYPE_CHECKING:
    from tradefair.evaluation.importers.report import ImportReport

__all__ = ["IMPORTED_MARKET", "IMPORTERS", "Importer", "run_importer"]

# A name of its own: no rules are registered under it, and `verify` answers "foreign" for such a trace.
IMPORTED_MARKET = "mcp"
"""The market of traces that no rules have made."""


class Importer(NamedTuple):
    """One kind of log. `target` is `module:function` of a function (files, out) -> ImportReport."""

    help: str
    target: str


# Three of these names lie in the room of a market. They are text, not imports, so that asking for one kind of log loads
# that market and no other, and the help lines cost nothing; whoever adds a kind of log adds a line here.
IMPORTERS: Mapping[str, Importer] = {
    "bazaar-log": Importer(
        "public BAZAAR game logs (JSONL), re-executed by the double auction's rules",
        "tradefair.evaluation.markets.double_auction.bazaar_log:import_games",
    ),
    "pact-log": Importer(
        "public PACT game logs (JSONL), re-executed by the rules of bargaining",
        "tradefair.evaluation.markets.bargaining.pact_log:import_games",
    ),
    "collusion-log": Importer(
        "public game logs of the emergent-collusion study (JSONL), re-executed with their messages",
        "tradefair.evaluation.markets.double_auction.collusion_log:import_games",
    ),
    "mcp-jsonl": Importer(
        "logs of MCP tool calls of any server (JSONL), kept as they are: there are no rules to re-execute",
        "tradefair.evaluation.importers.mcp_jsonl:import_logs",
    ),
}


def run_importer(kind: str, files: list[Path], out: Path) -> ImportReport:
    """Import `files` into the folder `out`. ScenarioError for an unknown kind; damaged logs are findings.

    Every file of the list gets an entry in the report, also one that gave no trace.
    """
    known = IMPORTERS.get(kind)
    if known is None:
        raise ScenarioError(unknown("importer", kind, IMPORTERS))
    # Loaded only now: help and a wrong name should not wait for the models of a market.
    module, _, name = known.target.partition(":")
    function = cast("Callable[[list[Path], Path], ImportReport]", getattr(import_module(module), name))
    return function(files, out)
