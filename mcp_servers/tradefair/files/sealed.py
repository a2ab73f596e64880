"""Files of sealed seeds, which may be a stranger's once they are published."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from tradefair.contract.errors import ScenarioError
from tradefair.contract.sealed_seeds import SealedSeeds
from tradefair.files.user_files import read_regular

_MAX_FILE = 4_096


def read_sealed(file: Path) -> SealedSeeds:
    """The sealed seeds of a file, which may be a stranger's. Raises ScenarioError."""
    # Published files come from strangers: a size first, then the shape.
    try:
        return SealedSeeds.model_validate_json(read_regular(file, _MAX_FILE))
    except OSError as error:
        raise ScenarioError(
            f"{file}: {error.strerror}; a file of sealed seeds has one secret, label and count"
        ) from None
    except ValidationError as fault:
        first = fault.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ScenarioError(f"{file} holds no sealed seeds: {where}{': ' * bool(where)}{first['msg']}") from None
