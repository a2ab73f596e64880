"""A dossier as a page of Markdown: where it comes from, which games it is about, a model's words with their marks.

A model's words are text here: no HTML, no picture and no link of theirs becomes one when the page is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tradefair.evaluation.analyst.citations import Checked, Mark, MarkKind
from tradefair.evaluation.analyst.dossier import DossierEvidence
from tradefair.evaluation.analyst.fence import digest_of

_KINDS: dict[MarkKind, str] = {
    "no_citation": "without a citation",
    "no_such_event": "citing what was not shown",
    "words_not_found": "quoting what no seat wrote",
    "words_elsewhere": "quoting from an event that is not cited",
    "heading": "headings missing or out of place",
}
# Labels come from manifests and may hold slashes, dots or characters that a file system refuses.
_UNSAFE_NAME = re.compile(r"[^A-Za-z0-9._-]+")
# Controls move a terminal's cursor; the others are invisible or change the direction of text.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
# `[x]: http://…` defines a link for the whole page and is itself not displayed.
_DEFINITION = re.compile(r"^(\s*)\[([^\]]*)\]:", re.MULTILINE)
# Characters read of an existing page to find its head; the head has a few lines of at most some hundred each.
_MAX_HEAD = 8_192


class Origin(NamedTuple):
    """What makes a dossier the one that it is. `date` is the reader's or the traces', never that of the writing."""

    agent: str
    model: str
    prompt: str
    input_digest: str
    date: str

    def lines(self) -> list[str]:
        """One `name: value` per line."""
        return [f"{name}: {_one_line(value)}" for name, value in self._asdict().items()]

    def same_question(self, other: Origin | None) -> bool:
        """Whether both are about the same input, asked with the same prompt of the same model.

        The date does not count: an older page of the same question is not written again.
        """
        return other is not None and self._replace(date="").lines() == other._replace(date="").lines()


def dossier_file(agent: str, folder: Path) -> Path:
    """Where the dossier of an agent lies: its name where that is a file's name, else cut, with a digest behind it."""
    plain = _UNSAFE_NAME.sub("_", agent).strip("._")[:80]
    # Two labels can become the same safe name; the digest keeps their pages apart.
    return folder / (f"{plain}.md" if plain and plain == agent else f"{plain or 'agent'}-{digest_of(agent, 4)}.md")


def dossier_page(origin: Origin, evidence: DossierEvidence, text: str, checked: Checked) -> str:
    """The whole page as Markdown: head, checks, the games that were shown, then the model's text with its marks."""
    rows = [_game_row(name, *_named(evidence, name)) for name in evidence.chosen]
    head = ["---", *origin.lines(), "---", "", f"# Dossier: {_safe(_one_line(origin.agent))}", ""]
    about = [
        "A model's reading, made from the games below and from nothing else. It is no finding and enters no score.",
        "",
        *_verdict(checked),
        "",
        f"## Games shown ({len(evidence.chosen)} of {evidence.games})",
        "",
        "| game | episode | seat | role | share | chosen | trace |",
        "|---|---|---|---|---|---|---|",
        *rows,
    ]
    return "\n".join([*head, *about, "", *_marked(text, checked.marks), ""])


def read_origin(path: Path) -> Origin | None:
    """The origin of a stored dossier; None where there is no file or it is none."""
    try:
        with path.open(encoding="utf-8") as file:
            lines = file.read(_MAX_HEAD).split("\n")
    # A page that cannot be read has no head, and is simply written again.
    except (OSError, UnicodeDecodeError):
        return None
    found: dict[str, str] = {}
    for line in lines[1 : 1 + len(Origin._fields)] if lines[0] == "---" else ():
        name, _, value = line.partition(": ")
        found[name] = value
    return Origin(**found) if list(found) == list(Origin._fields) else None


def _named(evidence: DossierEvidence, name: str) -> tuple[str, ...]:
    game, why = evidence.chosen[name]
    share = "none" if game.share is None else f"{game.share:.3f}"
    return game.episode, game.seat, game.role, share, why, Path(game.trace).name


def _game_row(*cells: str) -> str:
    """A row of the table; a `|` in a name would end its cell."""
    return "| " + " | ".join(_safe(_one_line(cell)).replace("|", "\\|") for cell in cells) + " |"


def _verdict(checked: Checked) -> list[str]:
    """One line: how many claims passed the check, and how many marks there are of each kind."""
    counts = [f"{count} {what}" for kind, what in _KINDS.items() if (count := checked.count(kind))]
    fine = checked.claims - checked.unsupported
    said = f"Checked without a model: {fine} of {checked.claims} claims cite what was shown and quote what is there"
    return [said + (f"; {', '.join(counts)}." if counts else ".")]


def _marked(text: str, marks: Sequence[Mark]) -> list[str]:
    """The text's lines, with every mark behind the claim that it is about; those about headings come first."""
    at: Mapping[int, list[str]] = {}
    first: list[str] = []
    for mark in marks:
        note = f"**(check: {_safe(mark.detail)})**"
        if mark.kind == "heading":
            first.append(note)
        else:
            at.setdefault(mark.line, []).append(note)
    lines = [" ".join([_safe(line), *at.get(number, ())]) for number, line in enumerate(text.splitlines())]
    return [*first, *([""] if first else []), *lines]


def _safe(text: str) -> str:
    """Words of others without markup that fetches or hides something."""
    # The ampersand first, or the escapes of the next step would be escaped again.
    plain = _CONTROLS.sub("", text).replace("&", "&amp;").replace("<", "&lt;")
    return _DEFINITION.sub(r"\1\\[\2\\]:", plain.replace("](", "] (").replace("![", "! [").replace("][", "] ["))


def _one_line(text: str) -> str:
    return " ".join(_CONTROLS.sub(" ", text).split())[:200]
