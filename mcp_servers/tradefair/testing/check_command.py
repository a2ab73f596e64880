"""The command `check`: the conformance kit for an installed market; whether a scenario or data can be played."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tradefair.catalog import data_folder, load_scenario, market_names, market_type, scenario_table
from tradefair.catalog.looking import show_rows
from tradefair.cli.terminal import print_json, say, tell
from tradefair.contract.errors import ScenarioError, unknown

if TYPE_CHECKING:
    from tradefair.contract import MarketType
    from tradefair.testing.bench import Failure
    from tradefair.testing.kit import Check

# Seconds without progress lines: the checks of a small market are done by then.
_QUIET_S = 5.0
# Any fixed seed: two checks of one scenario must agree.
_CHECK_SEED = 1


def check(
    name: Annotated[
        str,
        typer.Argument(metavar="MARKET|SCENARIO", help="A market, a scenario's id market/preset, or its .toml file."),
    ],
    slow: Annotated[bool, typer.Option("--slow", help="Long scenarios too, and more of each episode.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only this check (repeatable).")
    ] = None,
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", metavar="FILE", help="Compare the tools with this recorded file.")
    ] = None,
    write: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record the tools (.json) or the listing (.toml); no check.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="DIR", help="Check and measure this folder of data instead.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks and failures as JSON.")] = False,
) -> None:
    """Test a market against the contract: every check of the conformance kit on its bundled scenarios.

    A scenario is opened as an episode opens it; with --data a folder of a market's data is checked. Exit code 1 when
    a check has found something, or the scenario cannot be played.
    """
    a_scenario = name.endswith(".toml") or "/" in name
    if (a_scenario or data) and (slow or only or snapshot or write):
        raise typer.BadParameter("they are for a whole market", param_hint="--slow, --only, --snapshot, --write")
    if a_scenario:
        _check_scenario(name, as_json)
    elif data is not None:
        _check_data(name, data, as_json)
    else:
        _check_market(name, slow, only or (), snapshot, write, as_json)


def _check_market(
    market: str, slow: bool, only: Sequence[str], snapshot: Path | None, write: Path | None, as_json: bool
) -> None:
    # Imported here: the kit brings all that plays.
    from tradefair.testing.kit import CHECKS, check_market

    _known("market", market, market_names())
    chosen = list(dict.fromkeys(only or CHECKS))
    for name in chosen:
        # Names first: a market may take seconds to load, and a misspelt check is known at once.
        _known("check", name, list(CHECKS))
    kind = _loaded(market)
    if write is not None:
        _record(kind, write)
        return
    progress = _Progress(len(chosen))
    failures = check_market(kind, slow=slow, only=chosen, snapshot=snapshot, progress=progress)
    if as_json:
        print_json(_content(kind, progress.begun, failures))
    elif failures:
        tell("\n".join(map(str, failures)))
        tell(f"\n{market} {kind.version}: {_count(len(failures), 'failure')} in {_count(len(chosen), 'check')}")
    else:
        tell(f"{market} {kind.version} keeps the contract ({_count(len(chosen), 'check')})")
    if failures:
        raise typer.Exit(1)


def _record(kind: MarketType, file: Path) -> None:
    """Write the tools or the listing: a market under construction has them before it keeps the contract.

    BadParameter for a name that is neither .json nor .toml.
    """
    from tradefair.catalog.listing import listing_of, listing_toml
    from tradefair.testing.snapshot import snapshot_bytes

    match file.suffix.lower():
        case ".json":
            file.write_bytes(snapshot_bytes(kind))
        case ".toml":
            file.write_text(listing_toml(listing_of(kind)), encoding="utf-8", newline="\n")
        case _:
            raise typer.BadParameter("tools are written to a name in .json, the listing to one in .toml")


def _check_scenario(name: str, as_json: bool) -> None:
    """Open a scenario: it is really created, because some faults show only then."""
    # First: a name that does not exist is a matter of usage, no finding.
    content = scenario_table(name.partition("/")[0], name)
    market = (str(content.get("id", "")) if name.endswith(".toml") else name).partition("/")[0]
    kind, problem = market_type(market), None
    try:
        kind.create(load_scenario(market, name), _CHECK_SEED)
    except ScenarioError as error:
        problem = str(error)
    show_rows([{"id": name, "problem": problem}], as_json)
    if problem:
        raise typer.Exit(1)


def _check_data(market: str, folder: Path, as_json: bool) -> None:
    from tradefair.contract.market import ChecksData

    kind = market_type(market)
    if not isinstance(kind, ChecksData):
        raise ScenarioError(f"{market} reads no data of its own: leave --data out")
    found = kind.check_data(str(data_folder(folder)))
    if as_json:
        print_json(found.report.model_dump(mode="json"))
    elif found.rows:
        shares = any(share for _, _, share in found.rows)
        # Three heads or two: without shares `zip` leaves the third part of each row out.
        heads = ("measure", "figure", "of optimum") if shares else ("measure", "value")
        show_rows([dict(zip(heads, row, strict=False)) for row in found.rows], as_json)
    for problem in found.problems:
        # On stderr, so that --json leaves stdout to the report.
        say(problem)
    if found.problems:
        raise typer.Exit(1)


def _known(what: str, name: str, names: Sequence[str]) -> None:
    """Raise ScenarioError with the nearest known name when there is no such `what`."""
    if name not in names:
        raise ScenarioError(unknown(what, name, names))


def _loaded(market: str) -> MarketType:
    """The market type. Raises ScenarioError with the author's file and line when it cannot be imported."""
    from tradefair.testing.authors_code import collected

    # A module that fails while it is imported is for its author to mend: usage (2), not a failure of the harness (3).
    found, fault = collected(lambda: [market_type(market)])
    if fault is not None:
        raise ScenarioError(f"the market {market} cannot be loaded: {fault}")
    return found[0]


class _Progress:
    """Names the running check on stderr, once the work takes longer than `_QUIET_S` seconds."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._start = monotonic()
        self.begun: list[Check] = []

    def __call__(self, check: Check) -> None:
        self.begun.append(check)
        if monotonic() - self._start > _QUIET_S:
            say(f"check {len(self.begun)} of {self._count}: {check.name}")


def _content(kind: MarketType, begun: Sequence[Check], failures: Sequence[Failure]) -> dict[str, Any]:
    """What `--json` prints: the market, each check with its sentence and failures, and failures of other checks."""
    found = {check.name: [failure._asdict() for failure in failures if failure.check == check.name] for check in begun}
    checks = [
        {"name": check.name, "sentence": check.sentence, "passed": not found[check.name], "failures": found[check.name]}
        for check in begun
    ]
    return {
        "market": kind.name,
        "version": kind.version,
        "passed": not failures,
        "checks": checks,
        # Found on the way by checks that were not asked for, such as a scenario that cannot be played.
        "other_failures": [failure._asdict() for failure in failures if failure.check not in found],
    }


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
