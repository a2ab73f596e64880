"""The embedder `wordllama`: the mean of a text's token vectors, from the files that the wheel of that library carries.

The library is the extra `words` (MIT licence; Lee Miller, https://github.com/dleemiller/WordLlama). Its code is not
imported: release 0.4.0.post1 looks for its tokenizer in a folder that the wheel does not have, and then downloads it.
The two files are read where they are installed. A vector is that of its `embed` for the text in lower case.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import struct
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import ScenarioError
from tradefair.contract.errors import needs_extra

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_LIBRARY = "wordllama"
_WEIGHTS, _TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"
# Numbers in half precision are whole multiples of 2^-24, so that as integers their sum is exact.
_UNIT = 2**24
_DECIMALS = 6
_TYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}


def wordllama_installed() -> bool:
    """Whether the library and what it needs can be imported."""
    return all(importlib.util.find_spec(name) is not None for name in (_LIBRARY, "tokenizers"))


class WordLlama:
    """Vectors of 256 dimensions from the installed library. ScenarioError where it, or one of its files, is missing.

    `id` is `wordllama/` and twelve digits of the SHA-256 of weights and tokenizer. Reads two local files, asks nothing.
    """

    def __init__(self) -> None:
        if not wordllama_installed():
            raise ScenarioError(needs_extra("embedder = wordllama", "words"))
        spec = importlib.util.find_spec(_LIBRARY)
        home = Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else Path()
        for file in (home / _WEIGHTS, home / _TOKENIZER):
            if not file.is_file():
                raise ScenarioError(needs_extra(f"embedder = wordllama: {file} is missing; it", "words"))
        self.id, self._tokens, self._rows = _loaded(home)
        self.dimensions = self._rows.shape[1]

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One vector per text, each component rounded to six decimals; zeros for a text without a token.

        `[text][dimension]`, not scaled to length 1. The same bytes with every processor and numpy.
        """
        # Lower case: the tokens of "CHEAP" and "Cheap" are not those of "cheap", and mean less.
        return [self._mean(self._tokens.encode(text.lower(), add_special_tokens=False).ids) for text in texts]

    def _mean(self, tokens: Sequence[int]) -> list[float]:
        # In integers: the order in which a processor adds floats would decide the last bit.
        units = (self._rows[list(tokens)].astype(np.float64) * _UNIT).astype(np.int64).sum(axis=0)
        whole = max(1, len(tokens)) * _UNIT
        return [round(int(unit) / whole, _DECIMALS) for unit in units]


# Once a process: a sweep opens an embedder for each episode.
@cache
def _loaded(home: Path) -> tuple[str, Tokenizer, NDArray[np.float32]]:
    """The id, the tokenizer and the vectors `[token][dimension]` of an installed library."""
    # Imported here: the extra may be missing.
    from tokenizers import Tokenizer

    weights, tokenizer = home / _WEIGHTS, home / _TOKENIZER
    tokens = Tokenizer.from_file(str(tokenizer))
    tokens.no_truncation()
    digest = hashlib.sha256(weights.read_bytes() + tokenizer.read_bytes()).hexdigest()
    return f"wordllama/{digest[:12]}", tokens, read_tensor(weights, _TENSOR)


def read_tensor(path: Path, name: str) -> NDArray[np.float32]:
    """One F32 or F16 tensor of a safetensors file, as float32. ScenarioError for a damaged file or another type."""
    try:
        raw = path.read_bytes()
        (length,) = struct.unpack_from("<Q", raw)
        entry: dict[str, Any] = json.loads(raw[8 : 8 + length])[name]
        first, last = entry["data_offsets"]
        kind, shape, start = _TYPES[entry["dtype"]], tuple(entry["shape"]), 8 + length
        # A slice from before the tensors would read the header's letters as numbers.
        if not 0 <= first <= last:
            raise ValueError(f"offsets {first} to {last}")
        return np.frombuffer(raw[start + first : start + last], dtype=kind).reshape(shape).astype(np.float32)
    except (OSError, struct.error, ValueError, KeyError, TypeError, IndexError) as error:
        raise ScenarioError(f"{path}: not a safetensors file with {name}: {error!r}"[:300]) from None
