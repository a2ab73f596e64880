"""What tradefair costs, in CPU time: `python -m benchmarks [name …] [--json]`."""
