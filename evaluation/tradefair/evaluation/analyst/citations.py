"""What a model wrote about games, held against the games: claims, the events that they cite, the words that they quote.

A claim is a list item or a paragraph. It should cite an event that was shown, `[g3:41]`; words in double quotation
marks should stand in an event that it cites. Case, spacing, and the kind of quotation mark do not count. Whether a
cited event *supports* a claim is not judged here: only a reader can.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from html import unescape
from typing import Any, Literal, NamedTuple, TypeAlias, cast

HEADINGS = (
    "In one paragraph",
    "Opening numbers",
    "How it concedes",
    "Said and done",
    "As buyer",
    "As seller",
    "Under pressure",
    "Last rounds",
    "Costly habits",
    "Three quotations",
    "What this evidence does not show",
)
"""The headings of a dossier, in order. What stands under the last one has nothing to cite."""

Shown: TypeAlias = Mapping[str, Mapping[int, str]]
"""By game and event number the words of the event, as `words_in` gives them; "" for one that was only named."""

MarkKind: TypeAlias = Literal["no_citation", "no_such_event", "words_not_found", "words_elsewhere", "heading"]

# "What this evidence does not show" speaks of what is absent, and no event can be cited for that.
_UNCITED = frozenset({HEADINGS[-1].casefold()})
# Markdown as models write it: one to six #, any bullet or number, up to three spaces before a heading.
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)\s*#*\s*\Z")
_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,3}[.)])\s+")
# Names and numbers are bounded: the text is a model's, and `int` raises for more than 4,300 digits.
_CITATION = re.compile(r"\[([A-Za-z]\w{0,39}):(\d{1,12})\]")
# Double quotation marks only: apostrophes are far too frequent to mean a quotation.
_QUOTED = re.compile(r'"([^"\n]{1,1000})"|“([^”\n]{1,1000})”')
# Models write typographic marks and dashes where the players typed plain ones.
_STRAIGHT = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-"})
# Characters of a quotation that are repeated in a mark.
_MAX_DETAIL = 120


class Mark(NamedTuple):
    """Something wrong with a claim; `line` is the last line of the claim, counted from 0, `detail` says what."""

    line: int
    kind: MarkKind
    detail: str


class Checked(NamedTuple):
    """The result: how many claims there are, and what is wrong with which."""

    claims: int
    marks: list[Mark]

    @property
    def unsupported(self) -> int:
        """Claims with at least one mark."""
        return len({mark.line for mark in self.marks if mark.kind != "heading"})

    def count(self, kind: MarkKind) -> int:
        """How many marks are of one kind."""
        return sum(mark.kind == kind for mark in self.marks)


class _Claim(NamedTuple):
    heading: str
    line: int
    text: str


def check_claims(text: str, shown: Shown) -> Checked:
    """Hold every claim of a dossier against what was shown. Never raises, and gives the same for the same text.

    `shown` maps game and event number to the text of the event. The marks about headings come first,
    then those of the claims in the order of the text.
    """
    lines = text.splitlines()
    claims = list(_claims(lines))
    marks = [mark for claim in claims for mark in _marks(claim, shown)]
    return Checked(len(claims), [*_headings(lines), *marks])


def words_in(content: Any) -> str:
    """All texts and numbers of a JSON value, in order, in the form in which quotations are looked for."""
    return _plain("\n".join(_leaves(content)))


def _claims(lines: Sequence[str]) -> Iterator[_Claim]:
    """The claims of a text: items of lists and paragraphs, each with its heading and its last line."""
    heading, begun = "", list[str]()
    # An empty line at the end closes the last claim.
    for number, line in enumerate([*lines, ""]):
        title = _HEADING.match(line)
        if begun and (title or not line.strip() or _ITEM.match(line)):
            yield _Claim(heading, number - 1, " ".join(begun))
            begun = []
        if title:
            heading = title[1].casefold()
        elif line.strip():
            begun.append(line.strip())


def _marks(claim: _Claim, shown: Shown) -> Iterator[Mark]:
    """What is wrong with one claim: no citation, citations of what was not shown, quotations that stand nowhere."""
    cited: list[str] = []
    places = _CITATION.findall(claim.text)
    if not places and claim.heading not in _UNCITED:
        yield Mark(claim.line, "no_citation", "no event is cited")
    # A claim that cites the same missing event three times has one mistake.
    for game, number in dict.fromkeys(places):
        words = shown.get(game, {}).get(int(number))
        if words is None:
            yield Mark(claim.line, "no_such_event", f"[{game}:{number}] was not shown")
        else:
            cited.append(words)
    # Without the citations: `"…" [g3:41]` must not join two quotations over a citation.
    for quoted in _QUOTED.findall(_CITATION.sub(" ", claim.text)):
        yield from _quotation(claim.line, quoted[0] or quoted[1], cited, shown)


def _quotation(line: int, quoted: str, cited: Sequence[str], shown: Shown) -> Iterator[Mark]:
    """A mark when the quoted text stands in no event that the claim cites."""
    # A comma or full stop of the sentence may stand inside the quotation marks.
    looked_for = _plain(quoted).strip(" .,;:!?")
    if not looked_for:
        return
    # Whole words: "old 70" must not be found in "hold 700".
    whole = re.compile(rf"(?<!\w){re.escape(looked_for)}(?!\w)")
    if any(whole.search(words) for words in cited):
        return
    said = quoted[:_MAX_DETAIL]
    # A true quotation with the wrong citation is a smaller mistake than an invented one, so it has a
    # mark of its own.
    elsewhere = next((f"{game}:{seq}" for game, seq, words in _all(shown) if whole.search(words)), None)
    if elsewhere is None:
        yield Mark(line, "words_not_found", f'no seat wrote "{said}" in what was shown')
    else:
        yield Mark(line, "words_elsewhere", f'"{said}" stands in [{elsewhere}], which is not cited')


def _headings(lines: Sequence[str]) -> Iterator[Mark]:
    """Marks for headings that are missing or out of order; headings of the model's own are let pass."""
    found = [title[1].casefold() for line in lines if (title := _HEADING.match(line))]
    wanted = [heading.casefold() for heading in HEADINGS]
    for heading, name in zip(HEADINGS, wanted, strict=True):
        if name not in found:
            yield Mark(0, "heading", f"the heading {heading!r} is missing")
    if [name for name in dict.fromkeys(found) if name in wanted] != [name for name in wanted if name in found]:
        yield Mark(0, "heading", "the headings are in another order")


def _all(shown: Shown) -> Iterator[tuple[str, int, str]]:
    for game, events in shown.items():
        for seq, words in events.items():
            yield game, seq, words


def _leaves(content: Any) -> Iterator[str]:
    if isinstance(content, Mapping):
        for value in cast("Mapping[Any, Any]", content).values():
            yield from _leaves(value)
    elif isinstance(content, list | tuple):
        for value in cast("Sequence[Any]", content):
            yield from _leaves(value)
    # Numbers count as text: quotations of a price are looked for as well.
    elif content is not None:
        yield str(content)


def _plain(text: str) -> str:
    # Public logs hold texts with HTML entities, which a model writes out.
    return " ".join(unicodedata.normalize("NFKC", unescape(text)).translate(_STRAIGHT).casefold().split())
