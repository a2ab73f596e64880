"""Scripted seats: what decides for a trader, one family per module. `policies.POLICIES` names them."""
