from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.calling import seating
from tests.evaluation.playing import store

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.core import Core

Talk = Sequence[Mapping[str, str]]
PlayTalk = Callable[..., Path]


@pytest.fixture
def play_talk(tmp_path: Path) -> PlayTalk:
    """Plays one round of bargaining per pair of messages, both quoting `price`; the seats are played by `labels`."""

    def _play(
        talk: Talk, name: str = "talk", labels: Mapping[str, str] | None = None, price: int = 50, **about: Any
    ) -> Path:
        overrides = {"rounds": len(talk), "speaking_order": "buyer_first"}
        core = Core.create(market_type("bargaining"), load_scenario("bargaining", "smoke", overrides), 7)
        who = seating(("B1", "S1"), labels=labels or {"B1": "ann", "S1": "bob"})
        records = list(core.start(who).records)
        for words in talk:
            for seat in ("B1", "S1"):
                records += core.call(seat, "send_message", {"text": words.get(seat, "")}).records
            for seat in ("B1", "S1"):
                records += core.call(seat, "submit_quote", {"price": price}).records
        return store(tmp_path / f"{name}.trace", core, records, **{"episode": name, **about})

    return _play
