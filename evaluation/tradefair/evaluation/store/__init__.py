"""Traces as tables: the same SQL in SQLite on one trace and in DuckDB over the Parquet of a sweep.

The names of `__init__.pyi` load on first use: named queries are asked for by those who need no table.
"""

from tradefair.contract.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
