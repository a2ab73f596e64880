"""One self-contained HTML page about one or several traces: `build_report(paths)` gives its bytes.

The names of `__init__.pyi` load on first use: commands that write figures need the options of this package alone.
"""

from tradefair.contract.faces import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
