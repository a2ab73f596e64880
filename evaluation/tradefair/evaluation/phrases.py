"""The words of a market: those that its modes' sentences use, and those in which a verdict says how a seat did.

`phrases.toml` beside an evaluator has a table per role, and one named `all`. In a verdict's phrases a placeholder is
`{value}` (the first primary metric with its unit), `{verb}`, a field of the seat's outcome, `{FIELD_rank}` (1 for the
highest), or `{seats}` (how many seats have this role).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from importlib.resources import files
from string import Formatter

from pydantic import TypeAdapter, ValidationError

from tradefair.contract import ScenarioError

EVERY_ROLE = "all"
SCORED = "scored"
"""Key of the phrase that says how a seat did, without it `{verb} {value}`; `scored:FIELD=VALUE` is taken instead where
the field has this value. Further keys: `verb` stands before a score, `loss` before a negative one, whose sign it takes;
`unit` names that of the first primary metric,
where the metric's own would be misread; `part` is the field of a share, `part_of` says of what; `informative` is the
scenario in which every seed has something to win.
"""

Phrases = Mapping[str, Mapping[str, str]]
NO_PHRASES: Phrases = {}
_TABLE = TypeAdapter(dict[str, dict[str, str]])
_DEFAULT = {"verb": "scored", "loss": "", SCORED: "{verb} {value}"}


def load_phrases(package: str | None) -> Phrases:
    """The tables of `phrases.toml` in a package. Raises ScenarioError where it cannot be used."""
    try:
        return _TABLE.validate_python(
            tomllib.loads((files(package or "") / "phrases.toml").read_text(encoding="utf-8"))
        )
    except (OSError, tomllib.TOMLDecodeError, ValidationError) as error:
        raise ScenarioError(f"{package}: phrases.toml cannot be used: {error}") from None


def phrases_for(phrases: Phrases, role: str) -> Mapping[str, str]:
    """The phrases of a role: its own before those of all roles, before the ones of a market that has none."""
    return {**_DEFAULT, **phrases.get(EVERY_ROLE, {}), **phrases.get(role, {})}


def placeholders(phrases: Mapping[str, str]) -> Iterator[str]:
    """The figures that a role's phrases of the verdict name: placeholders, fields of conditions, and the share."""
    for key, phrase in phrases.items():
        key, _, condition = key.partition(":")
        if key == SCORED:
            yield from (name for _, name, _, _ in Formatter().parse(phrase) if name is not None)
            yield from filter(None, [condition.partition("=")[0]])
        elif key == "part":
            yield phrase
