"""Outcomes, one module per market; found through the entry-point group `fairground.evaluators`."""
