"""The package's own texts: tribes of buyers, slogans of scripted retailers, the lexicon.

They are constants, as good as code: another text is another market, and the digest of the lexicon is part of the
embedder's id.
"""

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
    """The text of a file of the package's folder `data`."""
    return files("tradefair.supply_chain").joinpath("data", name).read_text(encoding="utf-8")


def bundled_tribes() -> list[dict[str, Any]]:
    """The tables of `data/personas.toml`, as content for `Tribe`; original texts, written for this project."""
    return tomllib.loads(_text("personas.toml"))["tribes"]


@cache
def bundled_slogans() -> Mapping[str, tuple[str, ...]]:
    """The fifteen slogans by group: three for each bundled tribe and three `generic` ones, in file order."""
    return {group: tuple(texts) for group, texts in tomllib.loads(_text("slogans.toml")).items()}


def bundled_lexicon() -> tuple[Mapping[str, list[str]], list[str]]:
    """(words by concept, stop words), as they stand in `data/lexicon.toml`; words are not stemmed yet."""
    content = tomllib.loads(_text("lexicon.toml"))
    return {concept: words.split() for concept, words in content["concepts"].items()}, content["stop"]["words"].split()


@cache
def lexicon_digest() -> str:
    """SHA-256 of the lexicon file as hex."""
    # `read_text` turns CRLF into LF, so the digest is the same wherever the package was installed.
    return hashlib.sha256(_text("lexicon.toml").encode()).hexdigest()
