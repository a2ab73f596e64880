"""Scripted seats: what decides for a firm, one family per module. `policies.POLICIES` names them."""
