"""Signatures of a trace's seal: Ed25519, with keys in the forms of OpenSSH, so that there is no key management of ours.

A signature stands outside the seal: anybody may put theirs in its place, and `verify --signers` says whose counts.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import orjson

from tradefair.contract import SeatError, TraceError
from tradefair.contract.errors import StorageUnavailable
from tradefair.files.folders import drafted
from tradefair.tracestore.jsonl_file import SIGNATURE
from tradefair.tracestore.reader import Trace, open_trace

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

# What is signed begins with a name: a signature that the same key made for something else is none of a seal.
_SIGNED = b"tradefair.seal/1\n"
_KIND = "ssh-ed25519"
# A line of authorized_keys: options may stand before the key, a comment behind it.
_LISTED = re.compile(rf"(?:^|\s){_KIND}\s+(AAAA[0-9A-Za-z+/]+=*)(?:\s|$)")
# Bytes of a key's name, length and 32 bytes in OpenSSH's form, and of what stands before the 32.
_KEY_BYTES, _KEY_STARTS = 51, b"\x00\x00\x00\x0bssh-ed25519\x00\x00\x00 "
_ADVICE = "make one with: ssh-keygen -t ed25519 -N '' -f KEY"


class BadSignature(TraceError):
    """A trace has a signature that is none of its seal."""


class Signers(NamedTuple):
    """The keys that count: fingerprints as ssh-keygen -l shows them, and the file that lists them, for messages."""

    fingerprints: frozenset[str]
    file: str

    def __str__(self) -> str:
        """The end of a sentence that begins with `not signed by`."""
        count = len(self.fingerprints)
        return f"the key in {self.file}" if count == 1 else f"any of the {count} keys in {self.file}"


def signing_key(path: Path) -> Ed25519PrivateKey:
    """The private key in a file of ssh-keygen.

    SeatError where it cannot be read, has a passphrase, or is of another type.
    """
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_ssh_private_key

    try:
        key = load_ssh_private_key(path.read_bytes(), None)
    except OSError as error:
        raise SeatError(f"{path}: cannot be read: {error.strerror}") from None
    # Raised before the type of the key is known, which a passphrase hides too.
    except TypeError:
        raise SeatError(
            f"{path}: this key has a passphrase, and no command here asks for one; sign with a key that has none "
            "(a copy of it: ssh-keygen -p -N '' -f COPY)"
        ) from None
    except (ValueError, UnsupportedAlgorithm):
        raise SeatError(f"{path}: not a private key of OpenSSH; {_ADVICE}") from None
    if not isinstance(key, Ed25519PrivateKey):
        raise SeatError(f"{path}: a key of another type than Ed25519; {_ADVICE}")
    return key


def signers_of(path: Path) -> Signers:
    """The Ed25519 keys of a file in the format of authorized_keys; options before a key have no meaning here.

    SeatError where it cannot be read, or lists no such key.
    """
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise SeatError(f"{path}: cannot be read: {error.strerror}") from None
    found = (_LISTED.search(line) for line in lines if not line.lstrip().startswith("#"))
    raw = (_raw_key(f"{_KIND} {match[1]}") for match in found if match)
    fingerprints = frozenset(fingerprint(key) for key in raw if key is not None)
    if not fingerprints:
        raise SeatError(f"{path}: no line of it is an ssh-ed25519 key, as KEY.pub holds one")
    return Signers(fingerprints, path.name)


def fingerprint(key: bytes) -> str:
    """`SHA256:…` of a key in OpenSSH's binary form."""
    return "SHA256:" + base64.b64encode(hashlib.sha256(key).digest()).decode().rstrip("=")


def signer_of(trace: Trace) -> str | None:
    """The fingerprint of the key that signed the seal; None without one. BadSignature where it does not fit."""
    stored = trace.signature()
    if stored is None:
        return None
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        held = orjson.loads(stored)
        key, signature = _raw_key(held["key"]), base64.b64decode(held["signature"], validate=True)
        if key is None or set(held) != {"key", "signature"}:
            raise ValueError
        public = Ed25519PublicKey.from_public_bytes(key[len(_KEY_STARTS) :])
        public.verify(signature, _SIGNED + trace.manifest.about["seal"].encode())
    # Whatever stands there is not ours: no field of it need be what it should.
    except (InvalidSignature, ValueError, TypeError, KeyError, AttributeError):
        raise BadSignature("the signature does not fit the seal") from None
    return fingerprint(key)


def check_signable(path: Path) -> str:
    """The seal of a trace file. TraceError where it has none that holds."""
    with open_trace(path) as trace:
        # The file is written to: not where its pages contradict each other.
        trace.check_structure()
        manifest = trace.manifest
    if not manifest.sealed:
        raise TraceError(f"{path}: not sealed, since its episode is not over: play it to its end, then sign it")
    if not manifest.seal_holds:
        raise TraceError(f"{path}: its seal does not hold; run tradefair verify")
    return manifest.about["seal"]


def sign_trace(path: Path, key: Ed25519PrivateKey) -> str:
    """Sign the seal of a trace file, in the place of any earlier signature; the key's fingerprint.

    TraceError where it is not sealed, StorageUnavailable where it cannot be written.
    """
    seal, raw = check_signable(path), _KEY_STARTS + key.public_key().public_bytes_raw()
    held = {
        "key": f"{_KIND} {base64.b64encode(raw).decode()}",
        "signature": base64.b64encode(key.sign(_SIGNED + seal.encode())).decode(),
    }
    try:
        _store(path, orjson.dumps(held))
    except (OSError, sqlite3.Error) as error:
        raise StorageUnavailable(f"{path}: cannot be signed: {error}") from None
    return fingerprint(raw)


def _raw_key(text: str) -> bytes | None:
    """The binary form of `ssh-ed25519 AAAA…`; None for what is no such key."""
    kind, _, body = text.partition(" ")
    try:
        raw = base64.b64decode(body, validate=True)
    except (binascii.Error, ValueError):
        return None
    return raw if kind == _KIND and len(raw) == _KEY_BYTES and raw.startswith(_KEY_STARTS) else None


def _store(path: Path, signature: bytes) -> None:
    with path.open("rb") as file:
        plain = file.read(1) == b"{"
    if not plain:
        with closing(sqlite3.connect(path)) as database, database:
            database.execute("INSERT OR REPLACE INTO meta VALUES ('signature', ?)", (signature,))
        return
    with drafted(path) as draft, path.open("rb") as file, draft.open("wb") as copy:
        copy.writelines(_unsigned(file))
        copy.write(SIGNATURE + signature + b"}\n")


def _unsigned(lines: Iterator[bytes]) -> Iterator[bytes]:
    # The last line of a file may lack its end, which the signature's line would otherwise go on with.
    return (line.rstrip(b"\n") + b"\n" for line in lines if not line.startswith(SIGNATURE))
