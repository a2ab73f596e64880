"""The command `check`: the conformance kit for an installed market."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tradefair.catalog import market_names, market_type
from tradefair.cli.terminal import print_json, say, tell
from tradefair.contract.errors import ScenarioError, unknown

if TYPE_CHECKING:
    from tradefair.contract import MarketType
    from tradefair.testing.bench import Failure
    from tradefair.testing.kit import Check

# Seconds without progress lines: the checks of a small market are done by then.
_QUIET_S = 5.0


def check(
    market: Annotated[str, typer.Argument(metavar="MARKET", help="A market's name, as `tradefair markets` shows it.")],
    slow: Annotated[bool, typer.Option("--slow", help="Long scenarios too, and more of each episode.")] = False,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only this check (repeatable).")
    ] = None,
    snapshot: Annotated[
        Path | None, typer.Option("--snapshot", metavar="FILE", help="Compare the tools with this recorded file.")
    ] = None,
    write_snapshot: Annotated[
        Path | None, typer.Option("--write-snapshot", metavar="FILE", help="Record the tools, and check nothing.")
    ] = None,
    write_listing: Annotated[
        Path | None, typer.Option("--write-listing", metavar="FILE", help="Write listing.toml, and check nothing.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the checks and failures as JSON.")] = False,
) -> None:
    """Test a market against the contract: every check of the conformance kit on its bundled scenarios.

    Exit code 0 when the market keeps the contract, 1 when a check has found something.
    """
    # Imported here: the kit brings all that plays.
    from tradefair.catalog.listing import listing_of, listing_toml
    from tradefair.testing.kit import CHECKS, check_market
    from tradefair.testing.snapshot import snapshot_bytes

    _known("market", market, market_names())
    chosen = list(dict.fromkeys(only or CHECKS))
    for name in chosen:
        # Names first: a market may take seconds to load, and a misspelt check is known at once.
        _known("check", name, list(CHECKS))
    kind = _loaded(market)
    # No checks: a market under construction may record its tools and its policies before it keeps the contract.
    if write_snapshot is not None:
        write_snapshot.write_bytes(snapshot_bytes(kind))
    if write_listing is not None:
        write_listing.write_text(listing_toml(listing_of(kind)), encoding="utf-8", newline="\n")
    if write_snapshot or write_listing:
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
