"""`python -m fairground.cli`: the console script where scripts are not installed."""

from fairground.cli import main

main()
