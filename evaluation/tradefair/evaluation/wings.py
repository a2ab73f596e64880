"""The wings, *foreign* (runs that no market of ours has made) and *studies*: rooms that may be taken away.

Nothing outside a wing imports it. What is needed of it is asked for here by name; a house without it says so.
"""

from __future__ import annotations

from typing import Any

from tradefair.cli.table import load_named


def of_wing(target: str) -> Any:
    """What `module:name` below `tradefair.evaluation` names. Raises TradefairError where it is not here."""
    return load_named(f"evaluation.{target}")
