"""Strategies at which learners came to rest."""
