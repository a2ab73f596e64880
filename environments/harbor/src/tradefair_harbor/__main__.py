"""`python -m tradefair_harbor OUT --split train --limit 100`."""

from tradefair_harbor.export import main

main()
