"""Standard modules that the sandbox's interpreter lacks, as source that runs inside it.

Each file here is ordinary Python, tested against its namesake. `module_source` turns one into a snippet that defines a
single global, so that no name of an agent's program can clash with ours. Inside the sandbox there is no class
inheritance, `yield`, `del` or decorator in classes; imports of the form `from x import y` are for the type checker only
and are left out of the snippet.
"""

from __future__ import annotations

import importlib
import inspect
from functools import cache

__all__ = ["MODULES", "module_name", "module_source", "public_names"]

MODULES: tuple[str, ...] = ("heapq", "operator", "statistics")
_PREFIX = "_tradefair_"


def module_name(module: str) -> str:
    """The global under which a program finds `module` after its snippet has run."""
    return _PREFIX + module


@cache
def public_names(module: str) -> tuple[str, ...]:
    """What `module` offers here: its `__all__`. Each of these files is a face, of a module that programs import."""
    return tuple(importlib.import_module(f"{__name__}.{module}_module").__all__)


@cache
def module_source(module: str) -> str:
    """The snippet that defines `module_name(module)`: the file's body inside one function that hides its names."""
    body = inspect.getsource(importlib.import_module(f"{__name__}.{module}_module"))
    lines = [line for line in body.splitlines() if not line.startswith("from ")]
    name = module_name(module)
    return "\n".join(
        [
            f"def {name}_make():",
            *(f"    {line}" for line in lines),
            "    class Module:",
            "        pass",
            *(f"    Module.{public} = {public}" for public in public_names(module)),
            "    return Module",
            f"{name} = {name}_make()",
        ]
    )
