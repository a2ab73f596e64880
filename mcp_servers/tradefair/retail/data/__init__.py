"""Loaders, generators, and the bundled texts and tables."""
