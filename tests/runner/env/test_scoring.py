"""Scores of stored episodes: which references make a scale, and what is answered where there is none."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.playing import played, played_by

from tradefair.catalog import load_scenario, market_type
from tradefair.contract import TraceError
from tradefair.contract.kernel.players import seat_roles
from tradefair.evaluation.modes.base_rates import References, shipped
from tradefair.runner.tasks.scoring import Scaled, scale_of, score_file
from tradefair.runner.tasks.tasks import load_tasks


def scale(name: str, role: str, rules: str | None = None, **overrides: Any) -> Scaled | None:
    kind = market_type(name.partition("/")[0])
    content = load_scenario(kind.name, name, overrides).model_dump(mode="json")
    return scale_of(kind.name, content, rules or kind.version, role)


def test_the_floor_does_nothing_and_the_top_is_the_best_known_even_if_it_knows_hidden_facts() -> None:
    # Rows of the shipped file: passive 0, adaptive 36.8, oracle 88.1 (privileged).
    found = scale("supply_chain/first", "retailer")
    assert found is not None
    assert found.scale.floor == 0
    assert found.scale.top > 80
    # A shop that does nothing pays rent.
    rented = scale("retail/middle", "manager")
    assert rented is not None
    assert rented.scale.floor == -26_000


def test_a_seat_that_does_nothing_scores_0_and_a_good_one_more(tmp_path: Path) -> None:
    quiet, keen = (
        score_file(
            played_by(tmp_path / f"{mine}.trace", "bargaining/smoke", {"B1": mine}, others=other), mine, every_seat=True
        )
        for mine, other in (("passive", "truthful"), ("linear_equilibrium", "linear_concession"))
    )
    assert quiet.seats["B1"].score == 0
    assert 0.5 < (keen.seats["B1"].score or 0) <= 1
    assert (quiet.task, quiet.verify, quiet.findings) == (None, None, [])


def test_only_the_scenario_and_the_rules_of_the_references_have_a_scale() -> None:
    assert scale("double_auction/smoke", "buyer") is not None
    assert scale("double_auction/smoke", "buyer", rounds=4) is None
    assert scale("double_auction/smoke", "buyer", rules="2") is None
    # Who plays is no part of it.
    assert scale("double_auction/smoke", "buyer", seats={"B2": "agent", "buyer": "zip", "seller": "zip"}) is not None
    assert scale("teaching/pie", "claimant") is None


def test_a_role_with_another_metric_has_rewards_and_no_scores(tmp_path: Path) -> None:
    assert scale("marketplace/first", "customer") is not None
    assert scale("marketplace/first", "business") is None
    path = played_by(tmp_path / "m.trace", "marketplace/first", {"customer_0001": "item_searcher"}, others="honest")
    found = score_file(path, "m", every_seat=True).seats
    businesses = [seat for seat in found.values() if seat.role == "business"]
    assert len(businesses) == 3
    assert {(seat.metric, seat.score, seat.score_range) for seat in businesses} == {("revenue", None, None)}
    assert found["customer_0001"].metric == "utility"


def test_every_bundled_task_has_a_scale_for_each_of_its_seats() -> None:
    for choice in load_tasks().split("train").choices:
        kind = market_type(choice.market)
        roles = seat_roles(kind, load_scenario(kind.name, choice.scenario), choice.seats)
        for role in roles.values():
            found = scale(choice.scenario, role)
            assert found is not None, choice
            assert found.scale.top > found.scale.floor


def test_a_better_reference_or_floor_is_another_digest_and_a_base_rate_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def ships(references: References) -> None:
        def found(*_: object) -> References:
            return references

        monkeypatch.setattr("tradefair.runner.tasks.scoring.shipped", found)

    first = scale("bargaining/pact", "seller")
    assert first is not None
    package = "tradefair.evaluation.markets.bargaining"
    known = shipped(package, load_scenario("bargaining", "pact").model_dump(mode="json"), "2")
    assert known is not None
    assert known.modes
    same = known.model_copy(update={"modes": {}})
    ships(same)
    assert scale("bargaining/pact", "seller") == first
    rows = {**known.rows, "oracle_of_tomorrow": known.rows["passive"]}
    other = known.model_copy(update={"rows": rows})
    ships(other)
    found = scale("bargaining/pact", "seller")
    assert found is not None
    # A policy that nobody has cannot play the role, so it is not the top; the digest knows the file.
    assert found.scale == first.scale
    assert found.references != first.references
    without = known.model_copy(update={"rows": {"truthful": known.rows["truthful"]}})
    ships(without)
    assert scale("bargaining/pact", "seller") is None


def test_a_reward_keeps_its_type_and_every_digit(tmp_path: Path) -> None:
    found = score_file(
        played(tmp_path / "d.trace", "double_auction/smoke", "truthful"), "d", every_seat=True, check=True
    )
    assert {type(seat.reward) for seat in found.seats.values()} == {int}
    assert found.verify is not None
    assert (found.verify.verdict, found.versions.rules) == ("reproduced", market_type("double_auction").version)
    assert found.seats["B1"].score_range == (-1, 1)


def test_what_is_no_trace_has_no_score(tmp_path: Path) -> None:
    with pytest.raises(TraceError):
        score_file(tmp_path / "none.trace", "x")
