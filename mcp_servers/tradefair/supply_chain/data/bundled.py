"""The package's own texts: tribes of buyers, slogans of scripted retailers, the lexicon. Constants, as good as code."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

GENERIC = "generic"
"""Group of the slogans that suit no tribe; they are left out when the temperature is calibrated."""


def _text(name: str) -> str:
    return files("tradefair.supply_chain").joinpath("data", name).read_text(encoding="utf-8")


def bundled_tribes() -> list[dict[str, Any]]:
    """Tables of `data/personas.toml`, for `Tribe`."""
    return tomllib.loads(_text("personas.toml"))["tribes"]


@cache
def bundled_slogans() -> Mapping[str, tuple[str, ...]]:
    """The fifteen slogans by group: the four bundled tribes and `generic`, in file order."""
    return {group: tuple(texts) for group, texts in tomllib.loads(_text("slogans.toml")).items()}


def bundled_lexicon() -> tuple[Mapping[str, list[str]], list[str]]:
    """Words by concept, and stop words."""
    content = tomllib.loads(_text("lexicon.toml"))
    return {concept: words.split() for concept, words in content["concepts"].items()}, content["stop"]["words"].split()


@cache
def lexicon_digest() -> str:
    """SHA-256 of the lexicon file as hex; lines end in LF wherever it was installed."""
    return hashlib.sha256(_text("lexicon.toml").encode()).hexdigest()
