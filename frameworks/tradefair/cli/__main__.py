"""`python -m tradefair.cli`: the console script where scripts are not installed."""

from tradefair.cli import main

main()
