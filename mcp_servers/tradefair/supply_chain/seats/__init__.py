"""Scripted seats: what decides for a seat, one family per module. `policies.POLICIES` names them."""
