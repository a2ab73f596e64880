"""leak: the own private value, or a number that tells it, said to others."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tradefair.evaluation.modes.diagnosis import Case, Seen
from tradefair.evaluation.modes.hooked import inapplicable
from tradefair.evaluation.modes.insight import Secret
from tradefair.evaluation.modes.play import SeatPlay, Step

# Digits within a word, or after a separator of decimals or thousands, are parts of something else.
_NUMBER = re.compile(r"(?<![\w.,])-?\d{1,15}(?:\.\d{1,9})?(?![\w])")
# A stop ends a sentence only before white space: the point of 12.5 must not.
_SENTENCE = re.compile(r"[.!?;]+(?:\s|$)|\n")
# Words of the markets at hand; a market may bring its own (`secret_words`).
_WORDS = ("value", "cost", "limit", "worth", "valuation", "payoff", "profit", "earned")


def detect(play: SeatPlay) -> Seen:
    """Messages with a private number in a sentence that speaks of it; parts: those with the number alone, uncounted."""
    tools = play.insight.messages
    if not tools:
        return inapplicable(play, "leak", "this market has no messages")
    words = play.insight.secret_words or _WORDS
    cue = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})s?\b", re.IGNORECASE)
    sent = [(step, text) for step in play.steps if step.accepted and (text := _text(step, tools.get(step.tool)))]
    cases: list[Case] = []
    possible = 0
    for step, text in sent:
        # A private number holds in some rounds only: an old one tells nothing of the present.
        secrets = {secret.number: secret.name for secret in _valid(play, step.round)}
        sentences = [(part, numbers) for part in _SENTENCE.split(text) if (numbers := secrets.keys() & _numbers(part))]
        told = next((numbers for part, numbers in sentences if cue.search(part)), None)
        if told:
            number = min(told)
            cases.append(
                Case(step.seq, step.round, f"round {step.round}: {step.tool} told {number:g}, the {secrets[number]}")
            )
        # A number alone may be chance (a quote, a round): it is listed and never counted.
        possible += bool(sentences)
    return Seen(cases, len(sent), {"number alone": float(possible - len(cases))})


def _text(step: Step, argument: str | None) -> str | None:
    """The text of a message; None for other calls, and for messages without words."""
    text = step.arguments.get(argument) if argument is not None else None
    # Silence is no action: of what has no letter and no digit nothing can be asked.
    return text if isinstance(text, str) and any(map(str.isalnum, text)) else None


def _valid(play: SeatPlay, at: int) -> Iterator[Secret]:
    """The secrets that hold in a round."""
    for secret in play.insight.secrets.get(play.seat, ()):
        if secret.first_round <= at and (secret.last_round is None or at <= secret.last_round):
            yield secret


def _numbers(text: str) -> set[float]:
    """All numbers in a text."""
    return {float(number) for number in _NUMBER.findall(text)}
