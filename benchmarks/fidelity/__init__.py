"""Published figures beside ours: what `make fidelity` plays and writes to docs/explanation/fidelity.md."""
