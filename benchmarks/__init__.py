"""What fairground costs, in CPU time: `python -m benchmarks [name …] [--json]`."""
