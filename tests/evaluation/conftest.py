from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

import orjson
import pytest
from tests.evaluation.playing import played, store

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.chain import first_hash, next_hash, seal
from tradefair.contract.kernel.core import Core


class Play(Protocol):
    def __call__(
        self, scenario: str, policy: str = ..., seed: int = ..., name: str = ..., **overrides: Any
    ) -> Path: ...


@pytest.fixture
def play(tmp_path: Path) -> Play:
    """Plays an episode with one policy on all seats and gives its trace."""

    def _play(scenario: str, policy: str = "zip", seed: int = 1, name: str = "played", **overrides: Any) -> Path:
        return played(tmp_path / f"{name}.trace", scenario, policy, seed, **overrides)

    return _play


Quotes = Sequence[Mapping[str, int]]
PlayQuotes = Callable[..., Path]


@pytest.fixture
def play_quotes(tmp_path: Path) -> PlayQuotes:
    """Plays given quotes under given values; `luck` are the recorded_chance inputs of the rounds."""

    def _play(
        buyers: Sequence[int],
        sellers: Sequence[int],
        rounds: Quotes,
        luck: Sequence[Mapping[str, Any]] = (),
        name: str = "quotes",
    ) -> Path:
        kind = market_type("double_auction")
        overrides: dict[str, Any] = {
            "n_buyers": len(buyers),
            "n_sellers": len(sellers),
            "rounds": len(rounds),
            "values": {"buyers": list(buyers), "sellers": list(sellers)},
            "seats": {},
            "chance": "recorded" if luck else "keyed",
        }
        core = Core.create(kind, load_scenario("double_auction", "smoke", overrides), 7)
        records = list(core.start().records)
        for number, quotes in enumerate(rounds):
            if luck:
                records += core.feed("recorded_chance", dict(luck[number])).records
            for seat in core.market.seats:
                records += core.call(seat, "view_my_value", {}).records
                if seat in quotes:
                    records += core.call(seat, "submit_quote", {"price": quotes[seat]}).records
                else:
                    records += core.lapse(seat, "agent_limit").records
        return store(tmp_path / f"{name}.trace", core, records)

    return _play


class Editor:
    """What somebody with a database tool could do to a trace file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, sql: str, *values: object) -> None:
        with closing(sqlite3.connect(self.path)) as database:
            database.execute(sql, values)
            database.commit()

    def rows(self, sql: str) -> list[Any]:
        with closing(sqlite3.connect(self.path)) as database:
            return database.execute(sql).fetchall()

    def bodies(self) -> list[bytes]:
        return [row[0] for row in self.rows("SELECT body FROM events ORDER BY seq")]

    def about(self) -> dict[str, Any]:
        return orjson.loads(self.rows("SELECT value FROM meta WHERE key = 'about'")[0][0])

    def set_about(self, about: object) -> None:
        self.run("UPDATE meta SET value = ? WHERE key = 'about'", orjson.dumps(about))

    def unseal(self) -> None:
        sealed = ("head_seq", "head_hash", "outcome_digest", "end_reason", "seal")
        self.set_about({key: value for key, value in self.about().items() if key not in sealed})

    def close_at(self, seq: int) -> None:
        """Let the head of the last closure name this event."""
        ((head,),) = self.rows(f"SELECT lower(hex(hash)) FROM events WHERE seq = {seq}")
        self.run("UPDATE meta SET value = ? WHERE key = 'closed_head'", f"{seq}:{head}")

    def rewrite(self, bodies: Sequence[bytes], core: bytes | None = None) -> None:
        """Forge everything that can be forged without the rules: chain, heads and seal."""
        stored: bytes = self.rows("SELECT value FROM meta WHERE key = 'core'")[0][0]
        fixed = stored if core is None else core
        head, closed_head = first_hash(fixed), ""
        rows: list[tuple[bytes, bytes, int]] = []
        for seq, body in enumerate(bodies, 1):
            head = next_hash(head, body)
            rows.append((body, head, seq))
            if orjson.loads(body)["event"] in ("round_closed", "phase_closed", "episode_ended"):
                closed_head = f"{seq}:{head.hex()}"
        about = {**self.about(), "head_seq": len(bodies), "head_hash": head.hex()}
        sealed = orjson.dumps({**about, "seal": seal(about)})
        with closing(sqlite3.connect(self.path)) as database:
            database.executemany("UPDATE events SET body = ?, hash = ? WHERE seq = ?", rows)
            meta = [("core", fixed), ("about", sealed), ("closed_head", closed_head)]
            database.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta)
            database.commit()


@pytest.fixture
def editor() -> Callable[[Path], Editor]:
    return Editor


@pytest.fixture
def lenient(monkeypatch: pytest.MonkeyPatch) -> None:
    """As users run it: facts that no rules have made leave a mode unchecked, where other tests fail loudly."""
    monkeypatch.delenv("TRADEFAIR_STRICT", raising=False)
