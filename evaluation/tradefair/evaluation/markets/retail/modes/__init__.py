"""Diagnostics of the retail market (retail page, 10): four stages of conduct, twelve failure modes."""
