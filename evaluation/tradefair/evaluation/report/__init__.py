"""One self-contained HTML page about one or several traces: `build_report(paths)` gives its bytes.

The names of `__init__.pyi` load on first use: commands that write figures need the options of this package alone.
"""

import lazy_loader

# lazy_loader brings no types of its own; the stub next to this file has those of the names.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # pyright: ignore[reportUnknownVariableType]
