"""Clients from elsewhere, each installed once into a folder of its own in a cache outside the repository.

What cannot be had here is Unavailable, with the reason: tests skip with it, the table shows it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeAlias

from tests.waiting import LONG, LONGER

NODE_22 = "node@22"
UV = "uv>=0.9,<1"

Installer: TypeAlias = Callable[[Path, tuple[str, ...]], None]


class Unavailable(Exception):
    """Why a client cannot be had here."""


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tradefair-interop"


def environment_folder(name: str, packages: tuple[str, ...]) -> Path:
    """Where these packages are, or would be. Other packages are another folder."""
    digest = hashlib.sha256(" ".join(packages).encode()).hexdigest()[:8]
    return cache_folder() / f"{name.replace(' ', '-')}-{digest}"


def environment(name: str, installer: Installer, packages: tuple[str, ...]) -> Path:
    """The folder with these packages, installed now unless it exists. Raises Unavailable."""
    folder = environment_folder(name, packages)
    if not folder.is_dir():
        reason = _install(folder, installer, packages)
        if reason:
            raise Unavailable(reason)
    return folder


@cache
def _install(folder: Path, installer: Installer, packages: tuple[str, ...]) -> str:
    """Install wholly or not at all; why that failed. Tried once: a dead registry is slow."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as parent:
        draft = Path(parent) / "packages"
        try:
            installer(draft, packages)
        except Unavailable as reason:
            return str(reason)
        os.rename(draft, folder)
    return ""


def node_packages(folder: Path, packages: tuple[str, ...]) -> None:
    """Put npm packages into `folder`."""
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable("npm is not installed")
    options = ("--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(folder))
    _install_with("npm", [npm, "install", *options, *packages])


def npm_version(folder: Path, package: str) -> str:
    """The version of a package that npm put into `folder`; "unknown" where there is none."""
    manifest = folder / "node_modules" / package / "package.json"
    return json.loads(manifest.read_text())["version"] if manifest.exists() else "unknown"


def python_packages(folder: Path, packages: tuple[str, ...]) -> None:
    """Make a venv of this Python in `folder`, with PyPI packages."""
    # Relocatable: it is renamed when it is complete.
    _install_with("uv", [str(uv()), "venv", "--quiet", "--relocatable", "--python", sys.executable, str(folder)])
    _install_with("uv", [str(uv()), "pip", "install", "--quiet", "--python", str(folder / "bin/python"), *packages])


def newer_python_packages(folder: Path, packages: tuple[str, ...], *, alone: int = 0) -> None:
    """As `python_packages`, with Python 3.12 or newer; the first `alone` packages come without what they need.

    Raises Unavailable where this machine has no such Python.
    """
    _install_with("uv", [str(uv()), "venv", "--quiet", "--relocatable", "--python", _newer_python(), str(folder)])
    install = [str(uv()), "pip", "install", "--quiet", "--python", str(folder / "bin/python")]
    for part, needs in ((packages[:alone], ["--no-deps"]), (packages[alone:], list[str]())):
        if part:
            _install_with("uv", [*install, *needs, *part])


def _newer_python() -> str:
    named = [shutil.which(f"python3.{minor}") for minor in (12, 13, 14)]
    for found in [sys.executable, *named, *sorted(Path.home().glob(".pyenv/versions/3.1[2-9]*/bin/python"))]:
        # A name on the path may be a shim that leads nowhere.
        check = [str(found), "-c", "import sys; sys.exit(sys.version_info < (3, 12))"]
        if found and subprocess.run(check, capture_output=True, timeout=LONG, check=False).returncode == 0:
            return str(found)
    raise Unavailable("no Python 3.12 or newer here")


def uv() -> Path:
    """The program uv, beside which lies uvx. Raises Unavailable."""
    return environment("uv", _pip_packages, (UV,)) / "bin" / "uv"


def _pip_packages(folder: Path, packages: tuple[str, ...]) -> None:
    _install_with("venv", [sys.executable, "-m", "venv", str(folder)])
    _install_with("pip", [str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *packages])


def _install_with(tool: str, command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, timeout=LONGER, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{tool}: the registry does not answer") from None
    if done.returncode:
        lines = (done.stderr.decode().strip() or "no reason given").splitlines()
        raise Unavailable(f"{tool} cannot install: {'; '.join(lines[:3])[:300]}")


def system_node() -> str:
    node = shutil.which("node")
    if node is None:
        raise Unavailable("Node is not installed")
    return node


@cache
def node_at_least(major: int, minor: int = 0) -> str:
    """A Node of this version: the machine's, or one that npm brings. Raises Unavailable."""
    node = system_node()
    shown = subprocess.run([node, "--version"], capture_output=True, timeout=LONG, check=True).stdout.decode()
    if tuple(map(int, re.findall(r"\d+", shown))) >= (major, minor):
        return node
    brought = environment("node", node_packages, (NODE_22,)) / "node_modules/.bin/node"
    if not os.access(brought, os.X_OK):
        raise Unavailable("npm did not bring Node 22 (its install scripts may be switched off)")
    return str(brought)
