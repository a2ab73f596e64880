"""Audit: what traces say about an episode, whether they can be trusted, and foreign logs turned into traces.

The names of `__init__.pyi` are promised: what an author of an evaluator needs, and what reads a trace. Names load on
first use. Input is traces only, and nothing here raises for what a trace holds: an invalid trace gives a verdict or a
finding.
"""

from tradefair.contract.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
