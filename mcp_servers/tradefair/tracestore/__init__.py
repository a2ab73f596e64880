"""Traces in SQLite, JSONL or a PostgreSQL store, read behind one small class; the host writes them, importers whole.

The names of `__init__.pyi` load on first use: every command imports this package, and few of them open a trace.
"""

from tradefair.contract.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
