"""All that must play: one episode with agents in its seats, resuming it, and references for the same luck."""
