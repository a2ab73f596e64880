"""Names of a package that load on first use; a wrong one is told the nearest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lazy_loader


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package, whose names stand in the stub next to its `file`."""
    # lazy_loader brings no types of its own; the stub has those of the names.
    attached: tuple[Any, Any, list[str]] = lazy_loader.attach_stub(package, file)  # pyright: ignore[reportUnknownVariableType]
    load, listed, names = attached

    def find(name: str) -> Any:
        try:
            return load(name)
        except AttributeError:
            # Python and its tools ask for names with underscores that need not be there.
            if name in names or name.startswith("_"):
                raise
            from tradefair.contract.errors import unknown

            raise AttributeError(f"{package}: {unknown('name', name, names)}") from None

    return find, listed, names
