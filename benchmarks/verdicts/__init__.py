"""Fifty episodes of seven markets, each verdict verbatim beside its numbers: docs/explanation/verdicts.md."""
