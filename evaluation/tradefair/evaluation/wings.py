"""The wings, *foreign* (runs that no market of ours has made) and *studies*: rooms that may be taken away.

Nothing outside a wing imports it. What is needed of it is asked for here by name; a house without it says so.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tradefair.contract import TradefairError


def of_wing(target: str) -> Any:
    """What `module` or `module:name` below `tradefair.evaluation` names. Raises TradefairError where it is not here."""
    module, _, name = target.partition(":")
    whole = f"tradefair.evaluation.{module}"
    try:
        found = import_module(whole)
    except ModuleNotFoundError as error:
        # A library that is missing is another fault: its own error says more.
        if not whole.startswith(f"{error.name}"):
            raise
        raise TradefairError(f"this installation has no {whole}: the whole package `tradefair` has it") from error
    return getattr(found, name) if name else found
