"""The supply chain's own failure modes, and what it tells the general diagnostics."""
