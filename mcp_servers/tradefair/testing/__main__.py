"""`python -m tradefair.testing` was the kit's command once: it names the one of today."""

import sys

if __name__ == "__main__":
    print(
        "python -m tradefair.testing is now `tradefair check MARKET`; "
        "a snapshot is recorded with `tradefair check MARKET --write-snapshot FILE`",
        file=sys.stderr,
    )
    sys.exit(2)
