"""`python -m benchmarks.verdicts`."""

from benchmarks.verdicts.page import main

if __name__ == "__main__":
    main()
