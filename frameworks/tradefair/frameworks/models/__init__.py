"""Model endpoints as chat models or as addresses, opened lazily. The names of `__init__.pyi` load on first use."""

import lazy_loader

# lazy_loader brings no types of its own; the stub next to this file has those of the names.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # pyright: ignore[reportUnknownVariableType]
