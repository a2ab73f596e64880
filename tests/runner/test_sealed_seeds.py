"""Sealed seeds: who has the secret makes the seeds, who has the commitment checks the secret."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

from tradefair.cli import run
from tradefair.contract.sealed_seeds import SealedSeeds, commitment_of, seed_of

SECRET = bytes(range(32))


def test_a_seed_is_63_bits_of_a_keyed_digest_of_label_and_number() -> None:
    said = hashlib.blake2b(b"tradefair-seed/1|spring|7", key=SECRET, digest_size=8).digest()
    assert seed_of(SECRET, "spring", 7) == int.from_bytes(said) // 2
    assert seed_of(SECRET, "spring", 7) != seed_of(SECRET, "autumn", 7)
    assert commitment_of(SECRET) == hashlib.blake2b(SECRET, digest_size=32).hexdigest()


def test_seeds_are_what_a_plan_takes() -> None:
    seeds = SealedSeeds(secret=SECRET.hex(), label="spring", count=500).seeds
    assert len(set(seeds)) == 500
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_secret_is_written_for_its_owner_alone_and_never_over_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sealed.json"
    assert run(["seeds", "new", "--count", "3", "--label", "spring", "-o", str(file)]) == 0
    commitment = capsys.readouterr().out.strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run(["seeds", "show", str(file), commitment]) == 0
    assert run(["seeds", "show", str(file)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert list(map(int, shown[1:])) == SealedSeeds.model_validate_json(file.read_bytes()).seeds
    assert run(["seeds", "new", "-o", str(file)]) == 2
    assert "never overwritten" in capsys.readouterr().err


def test_another_secret_is_told_with_both_digests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sealed.json"
    file.write_text(SealedSeeds(secret=SECRET.hex(), label="", count=1).model_dump_json())
    assert run(["seeds", "show", str(file), "ab" * 32]) == 1
    said = capsys.readouterr().out
    assert "ab" * 32 in said
    assert commitment_of(SECRET) in said


@pytest.mark.parametrize("content", ["", "[]", '{"secret": "00"}', "x" * 5_000, '{"secret":"%s"}' % ("0" * 64)])
def test_what_holds_no_sealed_seeds_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    file = tmp_path / "odd.json"
    file.write_text(content)
    assert run(["seeds", "show", str(file), "ab"]) == 2
    assert "odd.json" in capsys.readouterr().err
