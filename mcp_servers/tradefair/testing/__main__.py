"""`python -m tradefair.testing check|snapshot MARKET`: the kit for one installed market on the command line."""

from __future__ import annotations

import argparse
import sys

from tradefair.catalog import market_names, market_type
from tradefair.testing import check_market, snapshot_bytes


def _main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tradefair.testing", description=__doc__)
    parser.add_argument("command", choices=("check", "snapshot"))
    parser.add_argument("market", choices=market_names())
    parser.add_argument("--slow", action="store_true", help="scenarios marked (slow) too")
    given = parser.parse_args()
    kind = market_type(given.market)
    if given.command == "snapshot":
        sys.stdout.buffer.write(snapshot_bytes(kind))
        return 0
    failures = check_market(kind, slow=given.slow)
    print("\n".join(map(str, failures)) or f"{kind.name} keeps the contract")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(_main())
