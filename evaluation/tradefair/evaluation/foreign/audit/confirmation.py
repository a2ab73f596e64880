"""Whether the user has agreed to what the agent does next."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from tradefair.evaluation.foreign.audit.run import Run, Said

_SENTENCE = re.compile(r"[^.!?;\n]+[.!?;]*")
_ASKS = re.compile(r"\?|\bconfirm|\blet me know\b", re.IGNORECASE)
# What stands before a yes in its clause and takes it back: "not sure", "before I say yes", "if that is okay".
_HELD_BACK = re.compile(r"\b(?:not|never|cannot|without|before|until|unless|if|whether|when)\b|n['’]t\b", re.IGNORECASE)
_CLAUSE = re.compile(r"[,:()—–]|\b(?:but|then)\b", re.IGNORECASE)
# "Can you go ahead and do it?" asks for it; "Is that okay?" asks something else.
_REQUEST = re.compile(r"\b(?:can|could|would|will) you (?:please |just |kindly )?$", re.IGNORECASE)
_MAX_WORDS = 20_000
_MAX_YES = 20
"""Characters of a message, and words of a sentence that may be a yes, that are looked at."""


class Confirmation:
    """Open from a user's yes to what the agent asked, until the user says something else after it was used."""

    def __init__(self, yes: Sequence[str]) -> None:
        # Longest first, and with either apostrophe.
        escaped = (re.escape(word.strip()) for word in sorted(yes, key=len, reverse=True))
        words = "|".join(word.replace(r"\ ", r"\s+").replace("'", "['’]") for word in escaped)
        self._yes = re.compile(rf"(?<!\w)(?:{words})(?!\w|\s+(?:not|nothing)\b)", re.IGNORECASE)
        self.open = False
        self.last: Said | None = None
        """The user's last message."""
        self._asked = False
        self._used = False

    def heard(self, said: Said, *, identified: bool) -> None:
        """A message goes by; nothing is agreed to before the user is known."""
        if said.role == "assistant":
            self._asked = _ASKS.search(said.text[:_MAX_WORDS]) is not None
        elif said.role == "user":
            self.last = said
            if self._asked and identified and self._agrees(said.text):
                self.open, self._used = True, False
            elif self._used:
                self.open = self._used = False

    def used(self) -> None:
        """An action was accepted under it."""
        self._used = True

    def _agrees(self, text: str) -> bool:
        """Whether a sentence says yes, neither taking it back nor asking something that only holds the word."""
        return any(self._says_yes(found[0].strip()) for found in _SENTENCE.finditer(text[:_MAX_WORDS]))

    def _says_yes(self, sentence: str) -> bool:
        found = islice(self._yes.finditer(sentence), _MAX_YES)
        return any(self._holds(sentence, yes.start()) for yes in found)

    def _holds(self, sentence: str, start: int) -> bool:
        before = sentence[:start]
        if before and sentence.endswith("?") and not _REQUEST.search(before):
            return False
        return not _HELD_BACK.search(_CLAUSE.split(before)[-1])


def talk_of(run: Run) -> Iterator[Said]:
    """What the user and the agent say to each other; what a sub-agent is told is no word of the user."""
    return (said for said in run.said if said.seat is None or run.roles.get(said.seat) != "subagent")
