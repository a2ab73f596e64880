"""What a desktop client starts: one seat of one market, as the person has set it in the client's dialog."""

import sys
from pathlib import Path

from tradefair.cli import run

MARKET = "double_auction"


def arguments(given: list[str], home: Path) -> list[str]:
    """The words of `tradefair serve` for `--market=…`, `--seat=…` and `--out=…`, of which any may be empty."""
    chosen = dict(word.removeprefix("--").split("=", 1) for word in given)
    # A client that knows no value may leave its place as it stands, and defaults of folders as they are written.
    chosen = {name: value for name, value in chosen.items() if value and not value.startswith("${user_config.")}
    folder = chosen.get("out", "${HOME}/tradefair").replace("${HOME}", str(home))
    options = [f"--out={Path(folder)}", "--continue", *(f"--seat={seat}" for seat in [chosen.get("seat")] if seat)]
    return ["serve", chosen.get("market", MARKET), *options]


if __name__ == "__main__":
    sys.exit(run(arguments(sys.argv[1:], Path.home())))
