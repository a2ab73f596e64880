"""Audits of anybody's agent: what actions should have rested on, divergence from references, and their controls."""
