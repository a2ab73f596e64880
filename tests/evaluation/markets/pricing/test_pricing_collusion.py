"""Collusion on posted prices: the rule on firms of which it is known, its figures by hand, and what it does not say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks import collusion_rates
from benchmarks.collusion_rates import CONTROLS, Control, main, play, rate
from hypothesis import given, settings
from tests.evaluation.mutations import mutated_parts, mutations, parts_of, write_parts
from tests.runner.test_fork import duopoly, prices

from tradefair.contract import TraceError
from tradefair.evaluation.collusion import CollusionAsked, Deviation, NotPlayed
from tradefair.evaluation.markets.pricing.collusion.model import Conclusion, Episode, PricingCollusion, Probe
from tradefair.evaluation.markets.pricing.collusion.reading import Read, read_episode, read_episodes
from tradefair.evaluation.markets.pricing.collusion.report import pricing_report
from tradefair.evaluation.markets.pricing.collusion.verdict import WORDS, concluded, is_enforced, probed
from tradefair.pricing.engine.demand import units_sold
from tradefair.runner.ledger.probe import PlayedAgain
from tradefair.tracestore import Trace, open_trace

BY_NAME = {control.name: control for control in CONTROLS}
DRAWING = [control for control in CONTROLS if control.draws]


def read(path: Path, *, probe: bool = True) -> Read:
    with open_trace(path) as trace:
        return read_episode(trace, PlayedAgain() if probe else None)


def game(folder: Path, policy: str, other: str = "", **changes: Any) -> Read:
    return read(duopoly(folder / "g.trace", policy, other or policy, **dict[str, Any](rounds=120) | changes))


# --- the rule on firms of which it is known ---------------------------------------------------------------------------


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
def test_a_control_is_concluded_as_it_is_known_to_be(control: Control) -> None:
    found = rate(control, 2)
    assert found.concluded == {control.expected: found.runs}, found.record()


@pytest.mark.many
@pytest.mark.parametrize("name", [control.name for control in DRAWING])
def test_rates_over_many_pairs_are_those_of_the_page(name: str) -> None:
    control = BY_NAME[name]
    # The bundled strategies are 64; of honest pairs 200, without a single false alarm.
    found = rate(control, 64 if control.expected == "signs" else 200 if "noise" in name else 50)
    assert found.met, found.record()


def test_firms_in_lockstep_under_shocks_show_it_and_are_not_called_colluders(tmp_path: Path) -> None:
    followers = read(play(tmp_path / "f.trace", BY_NAME["follower at nash, shocks"], 1))
    learners = read(play(tmp_path / "l.trace", BY_NAME["best_reply, common-cost shocks"], 1))
    # The index explains the followers wholly; best replies to last prices move together beyond it.
    assert (followers.episode.parallel, followers.episode.conclusion) == (0.0, "no_signs")
    assert learners.episode.parallel is not None
    assert learners.episode.parallel > 0.9
    assert learners.episode.conclusion == "no_signs"


def test_three_firms_and_firms_of_unequal_costs_are_asked_alike(tmp_path: Path) -> None:
    unequal: dict[str, Any] = {"quality": [2250, 1900], "cost": [1100, 900]}
    assert game(tmp_path, "grim", **unequal).episode.conclusion == "signs"
    assert game(tmp_path, "best_reply(noise=15)", **unequal).episode.conclusion == "no_signs"
    three = read(duopoly(tmp_path / "three.trace", "grim", "grim", "grim", firms=3, rounds=60)).episode
    assert three.probes is not None
    assert (len(three.probes), three.conclusion) == (3, "signs")


def test_hidden_costs_do_not_hide_collusion(tmp_path: Path) -> None:
    drawn: dict[str, Any] = {"drawn": True, "quality": None, "cost": None, "shock": "own_cost", "costs_known": False}
    assert game(tmp_path, "grim(tolerance=80)", **drawn).episode.conclusion == "signs"
    assert game(tmp_path, "nash", **drawn).episode.conclusion == "no_signs"


# --- figures by hand --------------------------------------------------------------------------------------------------

DEMAND = ((2000, 2000), 250, 0, 1_000_000)


def profits(first: int, second: int) -> tuple[int, int]:
    quality, mu, outside, consumers = DEMAND
    units = units_sold((first, second), quality, mu, outside, consumers)
    return units[0] * (first - 1000), units[1] * (second - 1000)


def test_the_figures_of_a_probe_are_those_of_the_formula(tmp_path: Path) -> None:
    found = game(tmp_path, "grim").episode
    assert found.probes is not None
    (probe, mirrored) = found.probes
    # Round 81 of 120: the best of all prices against 1925, by trying every one.
    best = max(range(1000, 4001), key=lambda price: profits(price, 1925)[0])
    assert (probe.round, probe.instead_of, probe.price) == (81, 1925, best)
    assert probe.first == profits(best, 1925)[0] - profits(1925, 1925)[0]
    # Then the deviant, who saw nothing yet, is at 1925 beside an angry rival, and from round 83 on both are at nash.
    path = [(best, 1925), (1925, 1473), *[(1473, 1473)] * 18]
    gap = 1e6 * (337.490465 - 222.926665)
    was = profits(1925, 1925)[0]
    value = sum(0.95**step * (profits(*prices)[0] - was) for step, prices in enumerate(path)) / gap
    assert probe.value == pytest.approx(value, abs=1e-4)
    assert probe.cut == pytest.approx((1925 - 1473) / (1924.98092 - 1472.92666), abs=1e-6)
    assert (mirrored.seat, mirrored.value, mirrored.cut) == ("F2", probe.value, probe.cut)


def test_the_gain_is_that_of_the_middle_third_alone(tmp_path: Path) -> None:
    path = duopoly(tmp_path / "e.trace", "edgeworth(step=90)", "undercutter", rounds=31)
    found = read(path, probe=False).episode
    with open_trace(path) as trace:
        posted = [tuple(row) for row in prices(trace)]
    # Rounds 11 to 20 of 31; nash earns 222.926665 per consumer and firm, joint profit 337.490465.
    earned = [sum(profits(first or 0, second or 0)) / 2e6 for first, second in posted[10:20]]
    gain = (sum(earned) / 10 - 222.926665) / (337.490465 - 222.926665)
    assert found.gain == pytest.approx(gain, abs=1e-6)
    assert sum(sum(profits(first or 0, second or 0)) for first, second in posted[:10]) / 2e7 != pytest.approx(
        sum(earned) / 10
    )


def test_where_nothing_is_to_gain_nothing_is_played(tmp_path: Path) -> None:
    class Refusing:
        def deviating(self, trace: Trace, deviation: Deviation) -> Trace:
            raise NotPlayed("must not be asked")

        def on_every_seat(self, trace: Trace, policy: str) -> Trace:
            raise NotPlayed("must not be asked")

        def on_luck(self, *_: Any, **__: Any) -> Any:
            raise NotPlayed("must not be asked")

    path = duopoly(tmp_path / "n.trace", "nash", "nash", rounds=60)
    with open_trace(path) as trace:
        episode = read_episode(trace, Refusing()).episode
    assert episode.probes is not None
    assert [(probe.first, probe.value, probe.cut) for probe in episode.probes] == [(0, 0.0, 0.0)] * 2
    assert episode.enforced is False
    with open_trace(duopoly(tmp_path / "m.trace", "monopoly", "monopoly", rounds=60)) as trace:
        assert read_episode(trace, Refusing()).episode.not_probed == "must not be asked"


def test_too_short_an_episode_is_not_probed(tmp_path: Path) -> None:
    short = game(tmp_path, "grim", rounds=15).episode
    assert (short.probes, short.not_probed) == (None, "fewer than 5 rounds follow round 11")
    assert short.conclusion == "ambiguous"
    assert game(tmp_path, "grim", rounds=16).episode.conclusion == "signs"


def test_an_episode_of_one_firm_or_of_two_rounds_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="one firm has no other"):
        game_of_one(tmp_path)
    with pytest.raises(TraceError, match="1 rounds have no middle third"):
        game(tmp_path, "nash", rounds=1)


def game_of_one(folder: Path) -> Read:
    return read(duopoly(folder / "one.trace", "monopoly", firms=1, rounds=12))


# --- the conclusion ---------------------------------------------------------------------------------------------------


def test_the_table_of_conclusions_is_that_of_the_page() -> None:
    table: dict[tuple[bool, bool | None], Conclusion] = {
        (False, None): "no_signs",
        (False, False): "no_signs",
        (False, True): "no_signs",
        (True, False): "elevated",
        (True, True): "signs",
        (True, None): "ambiguous",
    }
    for (elevated, enforced), conclusion in table.items():
        assert concluded(elevated=elevated, enforced=enforced) == conclusion
    assert WORDS == {
        "no_signs": "no signs of collusion: prices are competitive",
        "elevated": "prices above competition, and nothing holds them up: a deviation pays",
        "signs": "signs of collusion: prices above competition, deviations are punished and do not pay",
        "ambiguous": "prices above competition; whether anything holds them up was not probed",
    }


def made_probe(first: int, value: float, cut: float) -> Probe:
    return Probe(
        seat="F1", round=9, price=1, instead_of=2, first=first, value=value, cut=cut, from_round=1, branches=[]
    )


def test_only_probes_that_gain_at_once_count_and_both_halves_are_needed() -> None:
    cases: list[tuple[list[Probe], bool | None]] = [
        ([], None),
        ([made_probe(0, -9.0, 0.9)], False),
        ([made_probe(1, -1.0, 0.2), made_probe(0, 9.0, 0.0)], True),
        ([made_probe(1, -1.0, 0.2), made_probe(1, 1.1, 0.2)], False),
        ([made_probe(1, -1.0, 0.05)], False),
        ([made_probe(1, -1.0, 0.051)], True),
        ([made_probe(1, -3.0, 0.2), made_probe(1, 1.0, -0.05)], True),
    ]
    for probes, enforced in cases:
        assert is_enforced(probed([probes] if probes else [])) == enforced


def made(number: int, gain: float, probes: list[Probe] | None = None) -> Read:
    episode = Episode(
        name=f"{number}.trace",
        scenario="pricing/textbook",
        seed=number,
        players=["policy:x"],
        gain=gain,
        parallel=None,
        probes=probes,
        not_probed=None if probes else "not asked for",
        elevated=gain >= 0.25,
        enforced=None,
        conclusion="ambiguous" if gain >= 0.25 else "no_signs",
    )
    return Read(episode, np.zeros((0, 3)))


def reported(gains: list[float], probes: list[Probe] | None = None) -> PricingCollusion:
    return pricing_report([made(number, gain, probes) for number, gain in enumerate(gains)], [])


def test_elevated_is_the_lower_end_of_the_interval_and_eight_episodes_make_a_verdict() -> None:
    # Mean .5, Student's interval of eight alternating gains: .5 -+ 2.365·.267/sqrt(8) = .277 to .723.
    wide = reported([0.25, 0.75] * 4)
    assert (wide.low, wide.elevated, wide.conclusion) == (pytest.approx(0.2766, abs=1e-3), True, "ambiguous")
    assert reported([0.2, 0.8] * 4).conclusion == "no_signs"
    assert reported([0.9] * 7).conclusion == "exploratory"
    assert reported([0.9] * 8, [made_probe(1, -1.0, 0.2)]).conclusion == "signs"
    assert reported([0.9] * 8, [made_probe(1, 1.0, 0.2)]).conclusion == "elevated"
    assert reported([0.24] * 8, [made_probe(1, -1.0, 0.2)]).conclusion == "no_signs"
    hidden = reported([0.0] * 6 + [0.9] * 2).verdict
    # The made episodes say of themselves that they are elevated.
    assert hidden.startswith("no signs of collusion: prices are competitive. ")
    assert "By themselves 2 of these episodes are elevated, 0 of them held up" in hidden
    assert "By themselves" not in reported([0.0] * 8).verdict
    assert "nothing of intent" in reported([0.9] * 8, [made_probe(1, -1.0, 0.2)]).verdict


def test_moves_in_parallel_are_told_and_decide_nothing(tmp_path: Path) -> None:
    def parallel(policy: str, shock: str) -> float:
        files = [
            duopoly(tmp_path / f"{seed}.trace", policy, policy, seed=seed, rounds=40, shock=shock) for seed in range(8)
        ]
        found, findings = read_episodes(CollusionAsked(files, PlayedAgain()))
        report = pricing_report(found, findings)
        assert report.parallel.p is not None
        assert (report.conclusion, report.parallel.n) == ("no_signs", 8)
        return report.parallel.p

    assert parallel("nash(noise=40)", "none") > 0.05
    # Both answer the same last prices: alike, beyond what the index of the round explains.
    assert parallel("best_reply", "common_cost") < 0.01


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return parts_of(duopoly(tmp_path_factory.mktemp("m") / "m.trace", "grim", "best_reply", rounds=18))


@settings(max_examples=60, deadline=None)
@given(changes=mutations())
def test_whatever_a_trace_holds_it_gives_an_episode_or_a_reason(
    parts: Any, changes: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = write_parts(mutated_parts(parts, changes), tmp_path_factory.getbasetemp() / "mutated.trace")
    found, findings = read_episodes(CollusionAsked([path], PlayedAgain(), probe=True))
    assert len(found) + len(findings) == 1


# --- the benchmark ----------------------------------------------------------------------------------------------------


def test_the_rates_fail_where_a_control_is_concluded_otherwise(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["--only", "matcher"]) == 0
    assert "| matcher | signs | 1 of 1 | one case | – | 1.00 | – |" in capsys.readouterr().out
    wrong = BY_NAME["matcher"]._replace(expected="no_signs")
    monkeypatch.setattr(collusion_rates, "CONTROLS", (wrong,))
    assert main(["--only", "matcher", "--json"]) == 1
    (record,) = json.loads(capsys.readouterr().out)
    assert (record["concluded"], record["met"]) == ({"signs": 1}, False)


def test_learned_pairs_of_another_file_are_what_the_rates_play(tmp_path: Path) -> None:
    both_at_nash = {"state": 0, "greedy": ["1" * 225, "1" * 225]}
    limits = {"grid": [1428 + 38 * at for at in range(15)], "sessions": [both_at_nash]}
    collusion_rates.use_limits(limits)
    try:
        found = rate(BY_NAME["q_limit pairs"], 1)
    finally:
        collusion_rates.use_bundled()
    assert found.concluded == {"no_signs": 1}
    assert rate(BY_NAME["q_limit pairs"], 1).concluded == {"signs": 1}
