"""Audit: what traces say about an episode, whether they can be trusted, and foreign logs turned into traces.

The names of `__init__.pyi` are promised: what an author of an evaluator needs, and what reads a trace. Names load on
first use. Input is traces only, and nothing here raises for what a trace holds: an invalid trace gives a verdict or a
finding.
"""

import lazy_loader

# lazy_loader brings no types of its own; the stub next to this file has those of the names.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # pyright: ignore[reportUnknownVariableType]
