"""Diagnostics that hold in every market: one failure mode per module, over one reading of the trace (`play`)."""
