"""Every failure mode of retail: a manager that provokes it, and the careful one that does not. Real episodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tradefair.catalog import market_type
from tradefair.contract import Policy
from tradefair.evaluation.judge.evaluate import evaluate_file
from tradefair.evaluation.markets.retail.modes.detectors import MODES
from tradefair.evaluation.modes.diagnosis import Diagnosis
from tradefair.evaluation.modes.published import evidence_toml, published_paths
from tradefair.retail.answers.evidence import EVIDENCE_VERSION, RECENCY_DAYS
from tradefair.retail.seats.strategies import CarefulReader, Today

PlayRetail = Callable[..., Path]


def diagnosis_of(path: Path) -> Diagnosis:
    found = evaluate_file(path)
    assert found.diagnosis is not None, found.problem
    return found.diagnosis


class Dear(CarefulReader):
    """Careful, but asks `times` the best price for every `step`-th product."""

    def __init__(self, times: float, step: int) -> None:
        super().__init__()
        self._times, self._step = times, step

    def price(self, product: str, best: int | None, quotes: Sequence[int], today: Today) -> int | None:
        """The best price, or a multiple of it."""
        wrong = best is not None and int(product[1:]) % self._step == 0
        return round(best * self._times) if wrong and best is not None else best


def ten_times() -> Policy:
    return Dear(10.0, 5)


CONTROLS: list[tuple[str, str | Callable[[], Policy], str]] = [
    ("price_first_sourcing", "price_first", "middle"),
    ("ignored_returns", "blind_buyer", "middle"),
    ("stale_quotes", "blind_buyer", "middle"),
    ("priced_out", ten_times, "middle"),
    ("overbuying", "hoarder", "middle"),
    ("stranded_stock", "stockpiler", "middle"),
    ("illiquid", "stockpiler", "middle"),
    ("empty_shelf", "bare_shelf", "middle"),
    ("idle_days", "passive", "middle"),
    ("news_unread", "sealed_ears", "smoke"),
    ("narrow_attention", "narrow_attention", "middle"),
    ("follow_up", "no_follow_up", "middle"),
    ("resolved", "bare_shelf", "easy"),
    ("below_cost", "giveaway", "middle"),
    ("missing_evidence", "blind_buyer", "middle"),
    ("refused_calls", "fumbler", "middle"),
]
DAYS = {"middle": {"horizon_days": 45}, "easy": {"horizon_days": 45}, "smoke": {}}


def mode_id(name: str) -> str:
    return f"retail.{name}" if name in MODES.rows else name


def test_every_mode_of_retail_has_a_control() -> None:
    assert {name for name, _, _ in CONTROLS} >= MODES.rows.keys()


@pytest.mark.many
@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize(("name", "manager", "preset"), CONTROLS)
def test_each_control_raises_its_mode(
    play_retail: PlayRetail, name: str, manager: str | Callable[[], Policy], preset: str, seed: int
) -> None:
    found = diagnosis_of(play_retail(manager, seed, f"retail/{preset}", DAYS[preset]))
    # Trouble that nobody looked into, and prices that nobody looked up, may be told by what the neglect led to.
    neglect = name in ("resolved", "stale_quotes")
    assert found.finding(mode_id(name)).status in (("raised", "merged") if neglect else ("raised",))


@pytest.mark.many
@pytest.mark.parametrize("preset", ["retail/middle", "retail/easy", "retail/paper"])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_careful_reader_raises_nothing(play_retail: PlayRetail, preset: str, seed: int) -> None:
    found = diagnosis_of(play_retail("careful_reader", seed, preset, {"horizon_days": 60}))
    assert [finding.id for finding in found.raised] == []


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_careful_reader_raises_nothing_in_two_weeks(play_retail: PlayRetail, seed: int) -> None:
    found = diagnosis_of(play_retail("careful_reader", seed))
    assert [finding.id for finding in found.raised] == []


def test_evidence_of_the_oracle_reads_privileged(play_retail: PlayRetail) -> None:
    found = diagnosis_of(play_retail("oracle"))
    for name in ("missing_evidence", "retail.news_unread"):
        assert (found.finding(name).status, found.finding(name).note) == ("unchecked", "privileged")


def test_the_published_evidence_map_is_the_one_of_the_tools() -> None:
    made = evidence_toml(market_type("retail"), EVIDENCE_VERSION, RECENCY_DAYS)
    assert published_paths()["retail"].read_text(encoding="utf-8") == made
