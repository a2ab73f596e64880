"""A BERT sentence encoder (all-MiniLM-L6-v2 and its like) from a local folder, with numpy alone.

The folder holds `config.json`, `vocab.txt` and `model.safetensors`. A vector is the mean over the attended tokens,
scaled to length 1. Nothing is downloaded. Of the weights, only twelve digits of their digest enter a trace.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tradefair.contract import ScenarioError

Array = NDArray[np.float32]

_MAX_TOKENS = 256  # the model's max_seq_length
_MAX_WORD = 100  # characters; BERT's tokenizer takes longer words for unknown
_EPSILON = 1e-12  # BERT's layer_norm_eps
_TYPES = {"F32": np.dtype("<f4"), "F16": np.dtype("<f2")}
_MAX_HEADER = 10_000_000  # bytes; a damaged length must not be read as gigabytes


def read_safetensors(path: Path) -> dict[str, Array]:
    """The F32 and F16 tensors of a file by name, as float32. Others, such as integer positions, are left out.

    Raises ScenarioError for a file that cannot be read and for a damaged header.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ScenarioError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        (length,) = struct.unpack_from("<Q", raw)
        if length > min(_MAX_HEADER, len(raw) - 8):
            raise ValueError(f"a header of {length} bytes in a file of {len(raw)}")
        header: dict[str, Any] = json.loads(raw[8 : 8 + length])
        header.pop("__metadata__", None)
        known = {name: entry for name, entry in header.items() if entry["dtype"] in _TYPES}
        return {name: _tensor(raw, 8 + length, entry) for name, entry in known.items()}
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ScenarioError(f"{path}: not a safetensors file: {error!r}"[:300]) from None


def _tensor(raw: bytes, start: int, entry: Mapping[str, Any]) -> Array:
    first, last = entry["data_offsets"]
    kind = _TYPES[entry["dtype"]]
    shape = tuple(entry["shape"])
    if not 0 <= first <= last <= len(raw) - start or (last - first) != math.prod(shape) * kind.itemsize:
        raise ValueError(f"offsets {first} to {last} do not fit the shape {shape}")
    return np.frombuffer(raw[start + first : start + last], dtype=kind).reshape(shape).astype(np.float32)


def word_pieces(text: str, vocabulary: Mapping[str, int]) -> list[str]:
    """BERT's uncased WordPiece: lower case, no accents, punctuation and CJK characters alone, longest pieces first.

    A word that the vocabulary cannot be put together from is one `[UNK]`.
    """
    return [piece for word in _words(text) for piece in _pieces(word, vocabulary)]


def _words(text: str) -> Iterator[str]:
    word = ""
    for char in unicodedata.normalize("NFD", text.lower()):
        # Mn are the accents that NFD has split off; control characters are dropped as in BERT's cleaning step.
        kind = unicodedata.category(char)
        if kind == "Mn" or char in "\x00\ufffd" or (kind.startswith("C") and char not in "\t\n\r"):
            continue
        alone = _is_punctuation(char, kind) or _is_cjk(ord(char))
        if (char.isspace() or alone) and word:
            yield word
            word = ""
        if alone:
            yield char
        elif not char.isspace():
            word += char
    if word:
        yield word


def _is_punctuation(char: str, kind: str) -> bool:
    return kind.startswith("P") or (char.isascii() and char.isprintable() and not char.isalnum() and char != " ")


def _is_cjk(code: int) -> bool:
    ranges = ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F))
    return any(low <= code <= high for low, high in ranges)


def _pieces(word: str, vocabulary: Mapping[str, int]) -> list[str]:
    # Not cut into pieces: BERT's own tokenizer makes one unknown token of it.
    if len(word) > _MAX_WORD:
        return ["[UNK]"]
    found: list[str] = []
    start = 0
    while start < len(word):
        for end in range(len(word), start, -1):
            piece = ("##" if start else "") + word[start:end]
            if piece in vocabulary:
                found.append(piece)
                start = end
                break
        else:
            return ["[UNK]"]
    return found


class MiniLM:
    """An encoder read from `folder`. ScenarioError when a file is missing or does not fit.

    The sizes come from config.json, the tensors' names are those of Hugging Face's BERT, with `bert.` before them or
    without.
    """

    def __init__(self, folder: Path) -> None:
        try:
            config: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
            words = (folder / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n").split("\n")
            self._layers = int(config["num_hidden_layers"])
            self._heads = int(config["num_attention_heads"])
            self.dimensions = int(config["hidden_size"])
        except OSError as error:
            raise ScenarioError(f"{folder}: no sentence encoder: {error.filename}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise ScenarioError(f"{folder}: config.json does not describe a BERT encoder: {error!r}"[:300]) from None
        weights = folder / "model.safetensors"
        self._tensors = {name.removeprefix("bert."): tensor for name, tensor in read_safetensors(weights).items()}
        self._vocabulary = {word: index for index, word in enumerate(words)}
        self.id = f"minilm/{hashlib.sha256(weights.read_bytes()).hexdigest()[:12]}"
        # Tried now: weights that do not fit must be named before an episode begins.
        try:
            self._encode("a")
        except (KeyError, ValueError, IndexError) as error:
            raise ScenarioError(f"{folder}: the weights do not fit the configuration: {error!r}"[:300]) from None

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """One unit vector per text.

        `[text][dimension]`, each of length 1.
        """
        return [self._encode(text).tolist() for text in texts]

    def _encode(self, text: str) -> Array:
        known = self._vocabulary
        # Two of the positions belong to [CLS] and [SEP].
        pieces = ["[CLS]", *word_pieces(text, known)[: _MAX_TOKENS - 2], "[SEP]"]
        tokens = np.array([known[piece] for piece in pieces])
        hidden = self._tensors["embeddings.word_embeddings.weight"][tokens]
        hidden = hidden + self._tensors["embeddings.position_embeddings.weight"][: len(tokens)]
        # One sentence: every token is of segment 0.
        hidden = hidden + self._tensors["embeddings.token_type_embeddings.weight"][0]
        hidden = self._norm("embeddings.LayerNorm", hidden)
        for layer in range(self._layers):
            hidden = self._layer(f"encoder.layer.{layer}", hidden)
        mean = hidden.mean(axis=0)
        # A text without tokens still has [CLS] and [SEP]; only broken weights give a mean of 0.
        return mean / max(float(np.linalg.norm(mean)), _EPSILON)

    def _layer(self, name: str, hidden: Array) -> Array:
        attended = self._linear(f"{name}.attention.output.dense", self._attention(f"{name}.attention.self", hidden))
        hidden = self._norm(f"{name}.attention.output.LayerNorm", hidden + attended)
        inner = _gelu(self._linear(f"{name}.intermediate.dense", hidden))
        # After the sum, as in BERT; later encoders normalize before.
        return self._norm(f"{name}.output.LayerNorm", hidden + self._linear(f"{name}.output.dense", inner))

    def _attention(self, name: str, hidden: Array) -> Array:
        count, width = hidden.shape
        size = width // self._heads
        query, key, value = (
            self._linear(f"{name}.{part}", hidden).reshape(count, self._heads, size).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        # Vaswani et al. 2017, equation 1.
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(size)
        # The maximum is subtracted first, or exp would overflow.
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        return (weights @ value).transpose(1, 0, 2).reshape(count, width)

    def _linear(self, name: str, hidden: Array) -> Array:
        return hidden @ self._tensors[f"{name}.weight"].T + self._tensors[f"{name}.bias"]

    def _norm(self, name: str, hidden: Array) -> Array:
        centred = hidden - hidden.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + _EPSILON)
        return scaled * self._tensors[f"{name}.weight"] + self._tensors[f"{name}.bias"]


@cache
def _erf() -> np.ufunc:
    return np.frompyfunc(math.erf, 1, 1)


def _gelu(values: Array) -> Array:
    """x·Φ(x) with the exact error function: the tanh approximation differs in the fourth decimal."""
    return (values * (1 + _erf()(values / math.sqrt(2)).astype(np.float32)) / 2).astype(np.float32)
