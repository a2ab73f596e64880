"""`python -m tradefair.testing` was the kit's command once: it names the one of today."""

import sys

from tradefair.cli.terminal import say

if __name__ == "__main__":
    say(
        "python -m tradefair.testing is now `tradefair check MARKET`; "
        "a snapshot is recorded with `tradefair check MARKET --write-snapshot FILE`"
    )
    sys.exit(2)
