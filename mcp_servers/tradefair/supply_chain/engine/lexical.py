"""The built-in embedder: shared words and listed synonyms, not meaning (supply-chain page, 6.5). Pure.

A text becomes a sparse vector: `w:<stem>` is 1 for each distinct stem, `c:<concept>` is √k for each concept of the
lexicon with k of its stems in the text. The vector is scaled to length 1; the similarity of two texts is their cosine.
It needs no model and no network, which is why it is the default; every answer that rests on it says what it is.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from tradefair.supply_chain.data.bundled import GENERIC, bundled_lexicon, bundled_slogans, lexicon_digest

DECIMALS = 6
"""Every similarity is rounded to this many decimals before it is used: machines differ in the last bits of a sum."""

# The digest is in the id: scores of two lexicons must not be pooled (6.5).
EMBEDDER_ID = f"lexical-1/{lexicon_digest()[:12]}"
CAVEAT = "lexical embedder: word overlap, not meaning"

GROUPS: Mapping[str, tuple[str, ...]] = {
    "thrifty": ("price", "saving", "value"),
    "ethical": ("environment", "fairness"),
    "hype": ("novelty", "exclusivity", "trend", "urgency"),
    "quality": ("quality", "craft", "durability"),
}
"""Concepts with stems that are cues, by the tribe that they speak to (10); stems of other concepts are no cues."""

# In the order in which they are tried (6.5).
_SUFFIXES = ("ing", "ed", "ly", "es", "s")
_SHORTEST_STEM = 4
_SHORTEST_WORD = 2
_TEMPERATURE_PER_GAP = 0.2


class Cues(NamedTuple):
    """What a slogan is made of: distinct stems, how many of them are cues, and the groups that the cues speak to."""

    stems: int
    cues: int
    groups: tuple[str, ...]


def stem(word: str) -> str:
    """The stem of one case-folded word: `ies` becomes `y`, or one of five endings goes; then final `e`s go."""
    if word.endswith("ies") and len(word) >= 6:
        word = word[:-3] + "y"
    # "less" and "glass" keep their s. The order of the endings matters: `es` before `s`.
    elif not word.endswith("ss"):
        for suffix in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
                word = word.removesuffix(suffix)
                break
    # Both `e`s of "committee" go, so that it meets "committees", of which `es` went before.
    while len(word) >= 5 and word.endswith("e"):
        word = word[:-1]
    return word


def stems(text: str) -> list[str]:
    """Distinct stems in order of appearance. Stop words and single characters are left out."""
    # NFKC first: full-width and other compatibility letters must not make a known word unknown.
    folded = unicodedata.normalize("NFKC", text).casefold()
    words = "".join(char if char.isalnum() else " " for char in folded).split()
    stop = _lexicon().stop
    kept = (stem(word) for word in words if len(word) >= _SHORTEST_WORD and word not in stop)
    return list(dict.fromkeys(kept))


class _Lexicon(NamedTuple):
    concept_of: Mapping[str, str]
    stop: frozenset[str]


@cache
def _lexicon() -> _Lexicon:
    words, stop = bundled_lexicon()
    concept_of: dict[str, str] = {}
    for concept, members in words.items():
        for member in members:
            # A stem of two concepts would count twice in every cosine; the file must say which one is meant.
            if concept_of.setdefault(stem(member), concept) != concept:
                raise ValueError(f"lexicon: {member!r} of {concept} has a stem of {concept_of[stem(member)]}")
    return _Lexicon(concept_of, frozenset(stop))


# Slogans and personas are compared over and over: each is taken apart once.
@lru_cache(maxsize=4096)
def vector(text: str) -> Mapping[str, float]:
    """The sparse unit vector of a text by feature name; empty when no word is left."""
    found, concept_of = stems(text), _lexicon().concept_of
    features = dict.fromkeys((f"w:{word}" for word in found), 1.0)
    concepts = Counter(concept_of[word] for word in found if word in concept_of)
    features |= {f"c:{concept}": math.sqrt(count) for concept, count in concepts.items()}
    norm = math.sqrt(math.fsum(weight * weight for weight in features.values()))
    return {feature: weight / norm for feature, weight in features.items()}


@lru_cache(maxsize=65536)
def cosine(one: str, other: str) -> float:
    """Similarity of two texts, from 0 to 1 in six decimals; 0 if either has no word left."""
    left, right = vector(one), vector(other)
    # Only shared features count, so the shorter vector is walked.
    if len(left) > len(right):
        left, right = right, left
    return round(math.fsum(weight * right[feature] for feature, weight in left.items() if feature in right), DECIMALS)


@lru_cache(maxsize=4096)
def cues(text: str) -> Cues:
    """How many of a slogan's stems are cue words, and which groups they speak to."""
    found, concept_of = stems(text), _lexicon().concept_of
    courted = [group for word in found for group, names in GROUPS.items() if concept_of.get(word) in names]
    return Cues(len(found), len(courted), tuple(group for group in GROUPS if group in courted))


def knows(text: str) -> bool:
    """Whether at least one word of the text is in the lexicon."""
    return any(word in _lexicon().concept_of for word in stems(text))


def calibration_gap(tribes: Mapping[str, Sequence[str]], rows: Mapping[str, Sequence[float]] | None = None) -> float:
    """How much closer the calibration slogans are to their own tribe than to the others, on average (6.5).

    `tribes` holds persona texts by tribe id. `rows` holds an outside embedder's similarities by slogan, each over all
    texts in tribe order; by default those of this module are taken. The gap is the mean over slogans of [mean
    similarity to the texts of the own tribe − mean over the other tribes of their means], and 0 when no tribe has a
    calibration slogan.
    """
    texts = [text for group in tribes.values() for text in group]
    gaps: list[float] = []
    for own, slogans in bundled_slogans().items():
        # Generic slogans suit no tribe. A user's own tribes have no calibration slogans unless they carry a bundled id.
        if own == GENERIC or own not in tribes or len(tribes) < 2:
            continue
        for slogan in slogans:
            row = rows[slogan] if rows is not None else [cosine(slogan, text) for text in texts]
            means = _means(tribes, row)
            gaps.append(means.pop(own) - _mean(means.values()))
    return round(_mean(gaps), DECIMALS) if gaps else 0.0


def _means(tribes: Mapping[str, Sequence[str]], row: Sequence[float]) -> dict[str, float]:
    """Mean similarity by tribe id; `row` is over all texts in tribe order."""
    means: dict[str, float] = {}
    start = 0
    for tribe, texts in tribes.items():
        means[tribe] = _mean(row[start : start + len(texts)])
        start += len(texts)
    return means


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return math.fsum(listed) / len(listed)


def temperature_of_gap(gap: float) -> float:
    """τ = 0.2·gap in four decimals.

    With λ = 0.8 the odds between a slogan on target and one off it are then exp(λ·gap/τ) = e⁴.
    """
    return round(_TEMPERATURE_PER_GAP * gap, 4)
