"""File systems of their own, that can be filled up and made read-only. They need root, and tests skip without."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.waiting import LONG

_SIZE = 400 * 1024


class SmallDisk:
    """A mounted file system of a few hundred kilobytes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._ballast = folder / "ballast"

    def fill(self) -> None:
        """Until not another byte fits."""
        file = os.open(self._ballast, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            for size in (4096, 512, 1):
                try:
                    while os.write(file, b"x" * size):
                        pass
                except OSError:
                    continue
        finally:
            os.close(file)

    def free(self) -> None:
        """There is space again."""
        self._ballast.unlink()

    def read_only(self, whether: bool) -> None:
        """Nothing can be written any more, or again; while nobody has a file open for writing."""
        self._run("mount", "-o", f"remount,{'ro' if whether else 'rw'}", str(self.folder))

    @staticmethod
    def _run(*command: str) -> None:
        subprocess.run(command, capture_output=True, check=True, timeout=LONG)


@contextmanager
def small_disk(folder: Path, size: int = _SIZE) -> Generator[SmallDisk]:
    """A small disk mounted on a new folder."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False, timeout=LONG)
    except FileNotFoundError:
        pytest.skip("there is no mount command")
    if done.returncode:
        pytest.skip("a small file system cannot be mounted here (needs root)")
    try:
        yield SmallDisk(folder)
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], capture_output=True, check=True, timeout=LONG)
