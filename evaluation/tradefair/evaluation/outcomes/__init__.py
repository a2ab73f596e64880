"""Outcomes, one module per market; found through the entry-point group `tradefair.evaluators`."""
