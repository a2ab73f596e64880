"""The kernel's pure types and protocols: what every market, host, agent and evaluator stands on.

The names of `__init__.pyi` are promised; a name that stands in a module only may change in any version. Names load on
first use. Imports the standard library, pydantic, orjson and lazy_loader only, and does no I/O (a test installs nothing
else).
"""

from tradefair.contract.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
