"""Traces in SQLite, JSONL or a PostgreSQL store, read behind one small class; the host writes them, importers whole.

The names of `__init__.pyi` load on first use: every command imports this package, and few of them open a trace.
"""

import lazy_loader

# lazy_loader brings no types of its own; the stub next to this file has those of the names.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # pyright: ignore[reportUnknownVariableType]
