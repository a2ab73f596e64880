"""leak: the own private value, or a number that tells it, said to others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tradefair.evaluation.modes.diagnosis import share
from tradefair.evaluation.modes.hooked import inapplicable
from tradefair.evaluation.modes.insight import Secret
from tradefair.evaluation.modes.play import SeatPlay, Step
from tradefair.evaluation.modes.sign import Sign, sign_of

# Digits within a word, or after a separator of decimals or thousands, are parts of something else.
_NUMBER = re.compile(r"(?<![\w.,])-?\d{1,15}(?:\.\d{1,9})?(?![\w])")
# A stop ends a sentence only before white space: the point of 12.5 must not.
_SENTENCE = re.compile(r"[.!?;]+(?:\s|$)|\n")
# Words of the markets at hand; a market may bring its own (`secret_words`).
_WORDS = ("value", "cost", "limit", "worth", "valuation", "payoff", "profit", "earned")


def detect(play: SeatPlay, limits: Mapping[str, float]) -> Sign:
    """Messages with a private number in a sentence that speaks of it; parts: those with the number alone, uncounted."""
    tools = play.insight.messages
    if not tools:
        return inapplicable(play, "leak", "this market has no messages")
    words = play.insight.secret_words or _WORDS
    cue = re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})s?\b", re.IGNORECASE)
    sent = [(step, text) for step in play.steps if step.accepted and (text := _text(step, tools.get(step.tool)))]
    told: list[int] = []
    possible = 0
    for step, text in sent:
        # A private number holds in some rounds only: an old one tells nothing of the present.
        secrets = {secret.number for secret in _valid(play, step.round)}
        sentences = [part for part in _SENTENCE.split(text) if secrets & set(_numbers(part))]
        if any(cue.search(part) for part in sentences):
            told.append(step.seq)
        # A number alone may be chance (a quote, a round): it is listed and never counted (decision 0018).
        possible += bool(sentences)
    counted = share(len(told), len(sent), told)
    parts = {"number_alone": possible - len(told)}
    return sign_of(len(told) >= limits["leaks"], counted, parts=parts)


def _text(step: Step, argument: str | None) -> str | None:
    """The text of a message; None for other calls, and for messages without words."""
    text = step.arguments.get(argument) if argument is not None else None
    return text if isinstance(text, str) and text.strip() else None


def _valid(play: SeatPlay, at: int) -> Iterator[Secret]:
    """The secrets that hold in a round."""
    for secret in play.insight.secrets.get(play.seat, ()):
        if secret.first_round <= at and (secret.last_round is None or at <= secret.last_round):
            yield secret


def _numbers(text: str) -> Iterator[float]:
    """All numbers in a text."""
    return (float(number) for number in _NUMBER.findall(text))
