"""`python -m fairground.cli`, for places where the console script is not on the path."""

from fairground.cli import main

main()
