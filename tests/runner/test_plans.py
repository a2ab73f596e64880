"""Plans: what is refused and how, which episodes a plan means, and what the games of a block share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest

from tradefair.bargaining.rules import Bargaining
from tradefair.catalog import market_names, market_type, plan_ids
from tradefair.contract import ScenarioError
from tradefair.runner.plans.episodes import LAW_CYCLE, Workload, workload_of
from tradefair.runner.plans.plan import load_plan

BUNDLED = [name for market in market_names() for name in plan_ids(market)]
PLAN = """
[plan]
name = "mine"
scenarios = ["bargaining/pact"]
seeds = 2

[[agent]]
model = "policy:truthful"

[[agent]]
label = "slow"
model = "policy:boulware"
"""
ROUND_ROBIN = '\n[seating]\nkind = "round_robin"\n'


@pytest.fixture
def planned(tmp_path: Path) -> Callable[[str], Workload]:
    """What a plan of this text means."""

    def made(text: str) -> Workload:
        (tmp_path / "mine.toml").write_text(text)
        return workload_of(load_plan(str(tmp_path / "mine.toml")))

    return made


def agents(*policies: str) -> str:
    return "".join(f'\n[[agent]]\nmodel = "policy:{name}"\n' for name in policies)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("seeds = 2", "seed = 2", "plan.seed: unknown key"),
        ("seeds = 2", "seeds = 0", "plan.seeds"),
        ("seeds = 2", "seeds = true", "plan.seeds"),
        ("seeds = 2", "seeds = 1000000000", "plan.seeds = 1000000000: it should be at most 1000000 or a list"),
        ("seeds = 2", "seeds = [7, -1]", "; plan.seeds.1 = -1: it should be at least 0"),
        ("seeds = 2", "seeds = [1, 2, 1]", "plan.seeds: 1 is there twice"),
        ("seeds = 2", "seeds = 2\nfirst_seed = 9223372036854775807", "beyond 2^63 - 1"),
        ("bargaining/pact", "bargaining/nowhere", "there is no scenario 'bargaining/nowhere'"),
        ("bargaining/pact", "nowhere/pact", "there is no market 'nowhere'"),
        ("policy:truthful", "policy:nobody", "[[agent]] policy:nobody: there is no policy 'nobody'"),
        ('label = "slow"', 'label = "policy:truthful"', "agent.label: policy:truthful is there twice"),
        ('label = "slow"', 'framework = "external"', "players from outside come by themselves"),
        ('label = "slow"', 'framework = "nothing"', "nothing"),
        ("seeds = 2", "seeds = 2\n[grid]\nrounds = []", "grid.rounds"),
        ("seeds = 2", "seeds = 2\n[grid]\nrounds = [5, 1000]", "rounds = 1000"),
        ("seeds = 2", "seeds = 600000", "1,200,000 episodes; at most 1,000,000"),
    ],
)
def test_a_wrong_plan_is_refused_with_key_value_and_what_is_allowed(
    planned: Callable[[str], Workload], old: str, new: str, said: str
) -> None:
    assert old in PLAN
    with pytest.raises(ScenarioError) as refused:
        planned(PLAN.replace(old, new))
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("seating", "said"),
    [
        ('kind = "ladder"', "seating.kind = ladder"),
        ('kind = "field"\nseat_swap = true', 'belong to kind = "round_robin"'),
        ('kind = "field"\nseats = ["B1"]', 'seating.seats belongs to kind = "fixed"'),
        ('seats = ["B9"]', "no seat 'B9'"),
        ("law_cycle = 1", "seating.law_cycle = 1"),
    ],
)
def test_a_wrong_seating_is_refused(planned: Callable[[str], Workload], seating: str, said: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        planned(f"{PLAN}\n[seating]\n{seating}\n")
    assert said in str(refused.value)


def test_agents_that_cannot_fill_the_seats_are_refused(planned: Callable[[str], Workload]) -> None:
    field = '[plan]\nname = "f"\nscenarios = ["double_auction/duel"]\n[seating]\nkind = "field"\n'
    with pytest.raises(ScenarioError, match="2 seats need as many"):
        planned(field + agents("zip"))
    with pytest.raises(ScenarioError, match="too few agents play a seller"):
        planned(field + agents("cartel_buyers") + agents("cartel_buyers").replace("model", 'label = "again"\nmodel'))
    with pytest.raises(ScenarioError, match="cartel_buyers does not play a seller"):
        planned(field.replace("field", "round_robin") + agents("zip", "cartel_buyers"))
    with pytest.raises(ScenarioError, match="law_cycle sets distribution"):
        planned('[plan]\nname = "r"\nscenarios = ["retail/smoke"]\n[seating]\nlaw_cycle = true\n' + agents("oracle"))


def test_a_bundled_plan_means_as_many_different_episodes_as_it_says() -> None:
    assert BUNDLED
    for name in BUNDLED:
        work = workload_of(load_plan(name, seeds=20))
        episodes = list(work.episodes())
        ids, paths = {episode.id for episode in episodes}, {episode.path for episode in episodes}
        assert len(episodes) == work.count == len(ids) == len(paths), name
        assert work.name == name
        assert [episode.place for episode in episodes] == list(range(work.count)), name


def test_the_field_of_the_public_logs_is_24_000_games_and_its_try_out_plays_the_first_of_them() -> None:
    whole, first = workload_of(load_plan("double_auction/field")), workload_of(load_plan("double_auction/field_small"))
    assert (whole.count, len(whole.agents), first.count) == (24_000, 29, 100)
    assert [episode.digest for episode, _ in zip(whole.episodes(), range(100), strict=False)] == [
        episode.digest for episode in first.episodes()
    ]


def test_a_round_robin_plays_every_pair_both_ways_round_on_every_seed_and_scenario() -> None:
    work = workload_of(load_plan("bargaining/round_robin"))
    agents, seeds, scenarios = 15, 10, 2
    assert work.count == agents * (agents - 1) * seeds * scenarios
    met = Counter((episode.variant, episode.seed, *episode.players.values()) for episode in work.episodes())
    assert set(met.values()) == {1}
    assert all((variant, seed, seller, buyer) in met for variant, seed, buyer, seller in met)


def test_a_block_of_a_round_robin_has_one_pair_of_limits_whoever_sits_where_with_or_without_words() -> None:
    work = workload_of(load_plan("bargaining/round_robin_small"))
    limits: dict[int, set[tuple[int, int]]] = {}
    for episode in work.episodes():
        market = market_type("bargaining").create(work.flat[episode.variant].scenario, episode.seed)
        assert isinstance(market, Bargaining)
        limits.setdefault(episode.seed, set()).add((market.state.private.value, market.state.private.cost))
    assert all(len(block) == 1 for block in limits.values())
    assert len({pair for block in limits.values() for pair in block}) > 5


def test_seeds_are_the_outermost_loop_and_fix_the_law() -> None:
    work = workload_of(load_plan("bargaining/round_robin_small", seeds=12))
    blocks = [(seed, list(block)) for seed, block in groupby(work.episodes(), key=lambda episode: episode.seed)]
    assert [seed for seed, _ in blocks] == list(range(1, 13))
    assert {len(block) for _, block in blocks} == {4 * 3 * 2}
    laws = [{getattr(work.flat[e.variant].scenario, "distribution", None) for e in block} for _, block in blocks]
    assert laws == [{law} for law in (*LAW_CYCLE, *LAW_CYCLE[:2])]


def test_a_field_is_drawn_without_replacement_alike_in_paired_scenarios_and_by_role() -> None:
    work = workload_of(load_plan("double_auction/chat", seeds=40))
    for _, block in groupby(work.episodes(), key=lambda episode: episode.seed):
        talking, silent = block
        assert talking.players == silent.players
        assert len(set(talking.players.values())) == 6
        seats = {label: seat for seat, label in talking.players.items()}
        assert seats.get("policy:cartel_sellers", "S")[0] == "S"
        assert seats.get("policy:cartel_buyers", "B")[0] == "B"
    often = Counter(label for episode in work.episodes() for label in episode.players.values())
    assert len(often) == 12
    assert max(often.values()) < 3 * min(often.values())


def test_self_play_and_grid_multiply_a_plan(planned: Callable[[str], Workload]) -> None:
    assert planned(PLAN).count == 2 * 2
    assert planned(PLAN + ROUND_ROBIN).count == 2
    assert planned(PLAN + ROUND_ROBIN + "self_play = true\nseat_swap = true\n").count == 2 * (2 + 2)
    assert planned(PLAN + "[grid]\nrounds = [2, 5, 9]\nmax_words = [10, 20]\n").count == 4 * 6


def test_an_episode_is_another_when_anything_that_decides_it_is_another(planned: Callable[[str], Workload]) -> None:
    plans = [
        PLAN,
        PLAN.replace("seeds = 2", "seeds = [7, 8]"),
        PLAN.replace('"slow"', '"quick"').replace("truthful", "shade_5"),
        PLAN.replace("boulware", "conceder").replace("truthful", "shade_10"),
        PLAN + "[grid]\nrounds = [5]\n",
        PLAN.replace("pact", "silent"),
    ]
    digests = [episode.digest for text in plans for episode in planned(text).episodes()]
    assert len(digests) == len(set(digests)) == 4 * len(plans)


def test_a_scenario_file_is_found_beside_the_plan(planned: Callable[[str], Workload], tmp_path: Path) -> None:
    (tmp_path / "short.toml").write_text(
        'id = "bargaining/short"\nrounds = 2\n[seats]\nB1 = "agent"\nseller = "sitter"\n'
    )
    work = planned(PLAN.replace("bargaining/pact", "short.toml"))
    assert [variant.scenario.id for variant in work.flat] == ["bargaining/short"]
    with pytest.raises(ScenarioError, match="cannot be read"):
        planned(PLAN.replace("bargaining/pact", "missing.toml"))


def test_the_documented_plan_means_what_its_page_says(planned: Callable[[str], Workload]) -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "tournaments.md").read_text(encoding="utf-8")
    work = planned(page.partition("```toml\n")[2].partition("```")[0])
    assert list(work.agents) == ["policy:conceder", "thinker"]
    assert work.count == 10 * 2 * 2 * 2
    for name in BUNDLED:
        assert name.removesuffix("_small").partition("/")[2] in page
        if not name.endswith("_small"):
            assert f"| `{name}` | {workload_of(load_plan(name)).count:,} |" in page
