"""Diagnostics of the retail market: four stages of conduct, twelve failure modes."""
