"""The gate: whether a change has made an agent worse. Its plugin of pytest imports this package and no more."""
