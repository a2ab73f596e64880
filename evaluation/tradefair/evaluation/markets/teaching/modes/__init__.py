"""Failure modes of the teaching market: `modes.toml` has words and thresholds; the detectors are in the evaluator."""
