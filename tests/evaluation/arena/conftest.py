"""Honest entries, and a bundle that is changed at will and put together again."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.corpus.forge import Forge
from tests.kinds import of_kind

import tradefair.api as tf
from tradefair.contract.chain import canonical, digest
from tradefair.evaluation.arena.check import pack
from tradefair.evaluation.arena.terms import Arena, Setting
from tradefair.evaluation.evaluator import evaluator_of
from tradefair.tracestore import open_trace

SHORT = {"rounds": 3}


@dataclass
class Bundle:
    """An entry taken apart: its `entry.json` as plain data, and its traces by name."""

    index: dict[str, Any]
    traces: dict[str, bytes]

    @classmethod
    def load(cls, path: Path) -> Bundle:
        with zipfile.ZipFile(path) as archive:
            held = {name: archive.read(name) for name in archive.namelist()}
        return cls(orjson.loads(held.pop("entry.json")), held)

    def forge(self, change: Callable[[Forge], object], folder: Path, place: int = 0) -> None:
        """Let `change` work on one trace; its chain and seal, and what the entry says of it, fit again."""
        name = self.index["episodes"][place]["file"]
        path = folder / f"forged-{place}.trace"
        path.write_bytes(self.traces[name])
        forge = Forge.load(path)
        change(forge)
        self.put(place, forge.save(path))

    def put(self, place: int, path: Path) -> None:
        """Another file in the place of a trace, with its digest and head in the entry."""
        content, episode = path.read_bytes(), self.index["episodes"][place]
        self.traces[episode["file"]] = content
        episode["digest"] = blake2b(content, digest_size=32).hexdigest()
        with open_trace(path) as trace:
            episode["head"] = trace.manifest.about.get("head_hash", "0" * 64)

    def save(self, path: Path, **options: Any) -> Path:
        with zipfile.ZipFile(path, "w", **options) as archive:
            archive.writestr("entry.json", orjson.dumps(self.index))
            for name, content in self.traces.items():
                archive.writestr(name, content)
        return path


@dataclass(frozen=True)
class Field:
    """An arena of two seeds, the traces that were played for it, and honest entries by policy."""

    arena: Arena
    runs: Path
    entries: dict[str, Path]


def arena_of(trace: Path, **changes: Any) -> Arena:
    """The terms that one trace keeps to, on seeds 1 and 2."""
    with open_trace(trace) as opened:
        core, seating = opened.manifest.core, opened.seating()
    setting = Setting(
        id=str(core.scenario["id"]),
        digest=digest(canonical(core.scenario)),
        rules=core.rules_version,
        evaluator=evaluator_of(core.market).version,
    )
    terms: dict[str, Any] = {"name": "try", "seat": seating.compared, "scenarios": (setting,), "seeds": (1, 2)}
    return Arena(**{**terms, **changes})


def play(folder: Path, policy: str, seed: int, **changes: Any) -> Path:
    asked: dict[str, Any] = {
        "scenario": "double_auction/duel",
        "settings": SHORT,
        "agent": f"policy:{policy}",
        **changes,
    }
    return tf.play("double_auction", seed=seed, folder=folder, **asked).path


@pytest.fixture(scope="session")
@of_kind("network")
def duel(tmp_path_factory: pytest.TempPathFactory) -> Field:
    """Three policies on the same two seeds; `models` is a policy that is asked through a model's interface."""
    folder = tmp_path_factory.mktemp("arena")
    for policy in ("truthful", "gd", "zip"):
        for seed in (1, 2):
            play(folder / policy, policy, seed)
    for seed in (1, 2):
        play(folder / "models", "zip", seed, agent="openai_loop", model="policy:zip")
    arena = arena_of(next((folder / "zip").glob("*.trace")))
    entries = {name: folder / f"{name}.tfb" for name in ("truthful", "gd", "zip", "models")}
    for name, path in entries.items():
        assert pack(folder / name, arena, path).accepted
    return Field(arena, folder, entries)
