"""The words of a market: those that its modes' sentences use, and those in which a verdict says how a seat did.

`phrases.toml` beside an evaluator has a table per role, and one named `all`. In a verdict's phrases a placeholder is
`{value}` (the first primary metric with its unit, and how many rounds it is a total of), `{verb}`, a field of the
seat's outcome with its unit where that is another one, `{FIELD_rank}` (1 for the highest), or `{seats}` (how many seats
have this role).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.resources import files
from string import Formatter

from pydantic import TypeAdapter, ValidationError

from tradefair.contract import ScenarioError
from tradefair.evaluation.modes.table import MODE_WORDS, ModeTable

EVERY_ROLE = "all"
TOGETHER = "together"
SCORED = "scored"
"""Key of the phrase that says how a seat did, without it `{verb} {value}`; `scored:FIELD=VALUE` is taken instead where
the field has this value. Further keys: `verb` stands before a score, `loss` before a negative one, whose sign it takes;
`part` is the field of a share, `part_of` says of what; `together` stands behind a mean over seats or episodes, its
placeholders are fields that `scored` names too; `informative` is the scenario in which every seed has something to win;
`round` is what the market calls a round. Units and aggregation come from `figure(...)`: a phrase cannot state them.
"""

Phrases = Mapping[str, Mapping[str, str]]
NO_PHRASES: Phrases = {}
_TABLE = TypeAdapter(dict[str, dict[str, str]])
_GIVEN = ("value", "verb", "seats")
_DEFAULT = {"verb": "scored", "loss": "", SCORED: "{verb} {value}"}
_SENTENCES = ("verb", "loss", SCORED, TOGETHER, "part_of")
"""Keys of phrases that stand in a verdict."""
_STATED = re.compile(
    r"\b(?:(?:per|an?|each|every) (?:round|day|period|episode|seat)|(?:on|an) average|mean|median|in (?:all|total|sum)"
    r"|totals?|overall|(?:currency |minor )?units?|points?|ticks?|cents?|days?|rounds?|periods?|orders|per ?cent)\b"
    r"|%|\d"
)
"""A unit or an aggregation."""


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


def missing(phrases: Phrases, roles: Iterable[str], modes: ModeTable, figures: Collection[str]) -> Iterator[str]:
    """Complaints: words of modes' sentences that a role lacks, and figures of its verdict that are not in `figures`."""
    for role in sorted(roles):
        said = phrases_for(phrases, role)
        for key, mode in modes.rows.items():
            lacking = [name for name in _named(mode.sentence) if name not in said and name not in MODE_WORDS]
            if lacking and (not mode.judged or role in mode.judged):
                yield f"the sentence of {key} names {', '.join(lacking)}, for which {role} has no phrase"
        for key, phrase in said.items():
            if key.partition(":")[0] in _SENTENCES and (stated := _STATED.search(re.sub(r"\{\w+\}", "", phrase))):
                yield f"the phrase {key} of {role} states {stated[0]!r}, which figure(...) has to say"
        for name in _figures(said):
            if name not in figures and name.removesuffix("_rank") not in figures:
                yield f"the phrases of {role} name {name}, which is no figure of a seat"


def _named(template: str) -> Iterator[str]:
    return (name for _, name, _, _ in Formatter().parse(template) if name is not None)


def _figures(said: Mapping[str, str]) -> Iterator[str]:
    """The figures that the phrases of a verdict name: placeholders, fields of conditions, and the share."""
    for key, phrase in said.items():
        key, _, condition = key.partition(":")
        if key in (SCORED, TOGETHER):
            yield from (name for name in _named(phrase) if name not in _GIVEN)
            yield from filter(None, [condition.partition("=")[0]])
        elif key == "part":
            yield phrase
