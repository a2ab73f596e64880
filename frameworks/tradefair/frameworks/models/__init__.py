"""Model endpoints as chat models or as addresses, opened lazily. The names of `__init__.pyi` load on first use."""

from tradefair.contract.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
