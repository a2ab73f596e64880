"""Seeds that nobody knows before the games: a secret, and a commitment to it that can be published at once.

Who holds the secret can make the seeds; who holds the commitment can check afterwards that these were the seeds. A
label, such as a plan's name, gives each plan seeds of its own from one secret.
"""

from __future__ import annotations

import hashlib

from pydantic import BaseModel, ConfigDict, Field

from tradefair.contract.bounds import MAX_SEALED

_PURPOSE = "tradefair-seed/1"
_SPLIT = "tradefair-split/1"
SALT_BYTES = (32, 64)
"""The fewest and the most bytes of a salt: fewer could be guessed, and BLAKE2b takes no longer key."""


def commitment_of(secret: bytes) -> str:
    """BLAKE2b-256 of the secret, in hex."""
    return hashlib.blake2b(secret, digest_size=32).hexdigest()


def seed_of(secret: bytes, label: str, number: int) -> int:
    """Seed `number` (0, 1, …) of a label: first 63 bits of BLAKE2b(`tradefair-seed/1|<label>|<number>`, key=secret)."""
    text = f"{_PURPOSE}|{label}|{number}".encode()
    return int.from_bytes(hashlib.blake2b(text, key=secret, digest_size=8).digest()) >> 1


def split_seed(split: str, scenario: str, seats: str, number: int, salt: bytes = b"") -> int:
    """Seed `number` (0, 1, …) of a split for a scenario and its played seats; with a salt nobody else can make it.

    First 63 bits of BLAKE2b(`tradefair-split/1|<split>|<scenario>|<seats>|<number>`, key=salt): equal on every machine.
    """
    text = f"{_SPLIT}|{split}|{scenario}|{seats}|{number}".encode()
    return int.from_bytes(hashlib.blake2b(text, key=salt, digest_size=8).digest()) >> 1


class SealedSeeds(BaseModel):
    """A file of sealed seeds: the secret in hex (32 bytes), the label, and how many seeds it stands for.

    Whoever has read it knows every seed: it stays with one person until the games are over.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    secret: str = Field(pattern=r"^[0-9a-f]{64}$")
    label: str = Field(max_length=80, pattern=r"^[^|\x00-\x1f\x7f]*$")
    count: int = Field(ge=1, le=MAX_SEALED)

    @property
    def commitment(self) -> str:
        """What may be published before the games."""
        return commitment_of(bytes.fromhex(self.secret))

    @property
    def seeds(self) -> list[int]:
        """The seeds, 0 to 2^63 - 1, in order."""
        secret = bytes.fromhex(self.secret)
        return [seed_of(secret, self.label, number) for number in range(self.count)]
