"""The marketplace's own failure modes, and what it tells the general diagnostics."""
