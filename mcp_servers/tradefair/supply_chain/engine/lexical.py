"""The built-in embedder: shared words and listed synonyms, not meaning (supply-chain page, 6.5). Pure.

A text becomes a sparse vector: 1 for each distinct stem, √k for each concept of the lexicon with k of its stems in it.
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
"""Every similarity is rounded to this many decimals before anything is made of it."""

EMBEDDER_ID = f"lexical-1/{lexicon_digest()[:12]}"
CAVEAT = "lexical embedder: word overlap, not meaning"

GROUPS: Mapping[str, tuple[str, ...]] = {
    "thrifty": ("price", "saving", "value"),
    "ethical": ("environment", "fairness"),
    "hype": ("novelty", "exclusivity", "trend", "urgency"),
    "quality": ("quality", "craft", "durability"),
}
"""Concepts whose stems are cues, by the tribe that they court (section 10)."""

_SUFFIXES = ("ing", "ed", "ly", "es", "s")
_SHORTEST_STEM = 4
_SHORTEST_WORD = 2
_TEMPERATURE_PER_GAP = 0.2


class Cues(NamedTuple):
    """What a slogan is made of: distinct stems, how many of them are cues, and the groups that these court."""

    stems: int
    cues: int
    groups: tuple[str, ...]


def stem(word: str) -> str:
    """The stem of one folded word: `ies` to `y`, one of five endings, then final `e`s."""
    if word.endswith("ies") and len(word) >= 6:
        word = word[:-3] + "y"
    elif not word.endswith("ss"):
        for suffix in _SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
                word = word.removesuffix(suffix)
                break
    while len(word) >= 5 and word.endswith("e"):
        word = word[:-1]
    return word


def stems(text: str) -> list[str]:
    """Distinct stems in order of appearance; stop words and single characters are left out."""
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
            if concept_of.setdefault(stem(member), concept) != concept:
                raise ValueError(f"lexicon: {member!r} of {concept} has a stem of {concept_of[stem(member)]}")
    return _Lexicon(concept_of, frozenset(stop))


@lru_cache(maxsize=4096)
def vector(text: str) -> Mapping[str, float]:
    """The sparse unit vector of a text; empty when no word is left."""
    found, concept_of = stems(text), _lexicon().concept_of
    features = dict.fromkeys((f"w:{one}" for one in found), 1.0)
    concepts = Counter(concept_of[one] for one in found if one in concept_of)
    features |= {f"c:{concept}": math.sqrt(count) for concept, count in concepts.items()}
    norm = math.sqrt(math.fsum(weight * weight for weight in features.values()))
    return {feature: weight / norm for feature, weight in features.items()}


@lru_cache(maxsize=65536)
def cosine(one: str, other: str) -> float:
    """Similarity of two texts in 0..1, rounded to six decimals; 0 if either has no word."""
    left, right = vector(one), vector(other)
    if len(left) > len(right):
        left, right = right, left
    return round(math.fsum(weight * right[feature] for feature, weight in left.items() if feature in right), DECIMALS)


@lru_cache(maxsize=4096)
def cues(text: str) -> Cues:
    """How far a slogan is made of words that court a tribe."""
    found, concept_of = stems(text), _lexicon().concept_of
    courted = [group for one in found for group, names in GROUPS.items() if concept_of.get(one) in names]
    return Cues(len(found), len(courted), tuple(group for group in GROUPS if group in courted))


def knows(text: str) -> bool:
    """Whether a word of the text is in the lexicon."""
    return any(one in _lexicon().concept_of for one in stems(text))


def calibration_gap(tribes: Mapping[str, Sequence[str]], rows: Mapping[str, Sequence[float]] | None = None) -> float:
    """How much closer the calibration slogans are to their own tribe than to the others, on average (6.5).

    `tribes` holds persona texts by tribe id; `rows` an embedder's similarities of each slogan with all texts in tribe
    order, by default those of this module. 0 when no tribe has a calibration slogan.
    """
    texts = [text for group in tribes.values() for text in group]
    gaps: list[float] = []
    for own, slogans in bundled_slogans().items():
        if own == GENERIC or own not in tribes or len(tribes) < 2:
            continue
        for slogan in slogans:
            row = rows[slogan] if rows is not None else [cosine(slogan, text) for text in texts]
            means = _means(tribes, row)
            gaps.append(means.pop(own) - _mean(means.values()))
    return round(_mean(gaps), DECIMALS) if gaps else 0.0


def _means(tribes: Mapping[str, Sequence[str]], row: Sequence[float]) -> dict[str, float]:
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
    """τ = 0.2·gap to four decimals: λ = 0.8 then gives odds of e⁴ between a slogan on target and one off it."""
    return round(_TEMPERATURE_PER_GAP * gap, 4)
