"""`tradefair sweep --luck`: known shares are found, replicas differ in the agent's draws alone.

Also here:
- Where a verdict puts an episode between two references, and where it does not.
- `tradefair sweep --rank`: the games of a plan, then who is ahead.
- Plans: what is refused and how, which episodes a plan means, and what the games of a block share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from statistics import NormalDist
from typing import Any

import orjson
import pytest
from tests.options_files import options_file

from tradefair.bargaining.rules import Bargaining
from tradefair.catalog import market_names, market_type, plan_ids
from tradefair.cli import run
from tradefair.contract import Chance, ScenarioError
from tradefair.evaluation.compare.comparing import compare_folders
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.statistics.luck import GROUPS, LuckShare, luck_share
from tradefair.runner.plans import shard as sweep_shard
from tradefair.runner.plans.episodes import LAW_CYCLE, Workload, workload_of
from tradefair.runner.plans.plan import AgentEntry, Plan, PlanEntry, Seating, SourcedPlan, load_plan
from tradefair.runner.plans.play import SweepResult, Table
from tradefair.tracestore import find_traces, open_trace

Luck = Callable[..., dict[str, Any]]


@pytest.fixture
def luck(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Luck:
    """Measures in this process, twenty seeds by two unless told otherwise; what `--json` prints, and the exit code."""

    def measured(scenario: str, agent: str, *options: str, folder: str = "out") -> dict[str, Any]:
        many = () if "--group" in options else ("--group", "2")
        out = ("--out", str(tmp_path / folder), "--executor", "local", "--json", "--seeds", "20")
        capsys.readouterr()
        code = run(["sweep", scenario, "--luck", agent, *out, *many, *options])
        return {**orjson.loads(capsys.readouterr().out), "code": code}

    return measured


def planted(share: float, draw: int, seeds: int = 100, games: int = 8) -> list[list[float]]:
    """Scores of two normal components, of which the seed's has this share of the variance."""
    chance, normal = Chance("planted luck"), NormalDist()
    common = [normal.inv_cdf(value) for value in chance.uniforms("seeds", draw, n=seeds)]
    own = [normal.inv_cdf(value) for value in chance.uniforms("games", draw, n=seeds * games)]
    return [
        [share**0.5 * luck + (1 - share) ** 0.5 * own[seed * games + game] for game in range(games)]
        for seed, luck in enumerate(common)
    ]


# --- the estimator ----------------------------------------------------------------------------------------------------


@pytest.mark.many
def test_a_planted_share_lies_in_its_interval() -> None:
    # Four hundred draws, because a hundred of them would say 89 to 94 by chance.
    found = [known for draw in range(400) if (known := luck_share(planted(0.5, draw))) is not None]
    assert sum(known.low <= 0.5 <= known.high for known in found) >= 360
    # The ratio of population variances would be too high by about (1 - share) / games: several times this bound.
    assert sum(known.share for known in found) / 400 == pytest.approx(0.5, abs=0.01)


def test_a_reward_that_is_its_own_coin_has_no_luck() -> None:
    for draw in range(20):
        coins = Chance("coins").uniforms("game", draw, n=400)
        found = luck_share([[float(coin < 0.5) for coin in coins[seed * 4 : seed * 4 + 4]] for seed in range(100)])
        assert found is not None
        assert (found.low, found.share < 0.1) == (0.0, True)


def test_small_groups_do_not_raise_the_share() -> None:
    wide, narrow = luck_share(planted(0.3, 1, seeds=1_000, games=16)), luck_share(planted(0.3, 1, seeds=1_000, games=2))
    assert wide is not None
    assert narrow is not None
    assert (wide.share, narrow.share) == (pytest.approx(0.3, abs=0.04), pytest.approx(0.3, abs=0.06))


def test_only_seeds_that_differ_are_luck_and_equal_scores_are_none() -> None:
    assert luck_share([[seed / 3] * 3 for seed in range(20)]) == (1.0, 1.0, 1.0)
    # Thirteen equal numbers may have another mean, and a resample may lack the one seed that differs: then there is
    # no share, whatever the last bits say.
    assert luck_share([*([[1.772112589385827] * 13] * 19), [5.844608707784413] * 13]) == (1.0, 1.0, 1.0)
    assert luck_share([[0.1] * 3] * 20) is None
    # Games of a seed that failed are missing: the others of it count, and a seed with one game does not.
    short = [games[: 1 + seed % 3] for seed, games in enumerate(planted(0.9, 2, seeds=60, games=3))]
    assert luck_share(short) == luck_share([games for games in short if len(games) > 1])


def test_the_interval_is_the_same_every_time_and_does_not_depend_on_the_unit() -> None:
    scores = planted(0.5, 3)
    first, large = luck_share(scores), luck_share([[1e6 * score + 1e9 for score in games] for games in scores])
    assert luck_share(scores) == first
    assert first is not None
    assert large == pytest.approx(first)


@pytest.mark.parametrize(
    ("share", "recommended", "left"),
    [
        # 1 + 5 (1 - share) / share, rounded up to a power of two; (1 - share)(1 + 1 / (group - 1)).
        (1.0, 2, [0.0, 0.0, 0.0]),
        (0.97, 2, [0.06, 0.04, 0.0342857]),
        (5 / 6, 2, [1 / 3, 2 / 9, 4 / 21]),
        (0.83, 4, [0.34, 0.2266667, 0.1942857]),
        (0.5, 8, [1.0, 2 / 3, 4 / 7]),
        (0.25, 16, [1.5, 1.0, 6 / 7]),
        (0.05, None, [1.9, 1.2666667, 1.0857143]),
        (0.0, None, [2.0, 4 / 3, 8 / 7]),
    ],
)
def test_what_a_group_leaves_and_which_is_recommended(share: float, recommended: int | None, left: list[float]) -> None:
    luck = LuckShare(share, share, share)
    assert [luck.left(group) for group in (2, 4, 8)] == pytest.approx(left)
    assert luck.recommended == recommended
    # A group pays where it has more members than 1 / share.
    assert all((luck.left(group) < 1) == (group * share > 1) for group in GROUPS if group * share != 1)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.mark.many
def test_replicas_differ_in_the_draws_of_the_agent_alone(luck: Luck, tmp_path: Path) -> None:
    found = luck("double_auction/duel", "policy:zic", "--set", "rounds=3", "--group", "3")
    assert (found["code"], found["seat"], found["sweep"]["done"]) == (0, "B1", 60)
    assert 0 < found["share"]["low"] < found["share"]["share"] < 1
    first: dict[int, list[tuple[int, int, int]]] = {}
    for path in find_traces(tmp_path / "out"):
        with open_trace(path) as trace:
            seating = trace.seating()
            assert (seating.policy_key, seating.compared) == (0, ("B1",))
            quotes = [event for event in trace.decoded() if event.get("tool") == "submit_quote"]
            own, other = (
                next(event["arguments"]["price"] for event in quotes if event["seat"] == seat) for seat in ("B1", "S1")
            )
            first.setdefault(trace.manifest.core.seed, []).append((seating.agent_key, own, other))
    replicas = [sorted(found) for found in first.values()]
    assert {tuple(key for key, _, _ in found) for found in replicas} == {(1, 2, 3)}
    assert all(len({other for _, _, other in found}) == 1 for found in replicas)
    assert all(len({own for _, own, _ in found}) > 1 for found in replicas)
    assert verify_file(next(iter(find_traces(tmp_path / "out")))).verdict == "reproduced"
    # Two such folders are compared: replicas of a seed are its trials.
    luck("double_auction/duel", "policy:truthful", "--set", "rounds=3", "--group", "3", folder="other")
    compared = compare_folders(tmp_path / "out", tmp_path / "other")
    assert len(compared.pairs) == 20


@pytest.mark.many
def test_an_agent_without_draws_never_differs(luck: Luck, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = luck("bargaining/one_shot", "policy:truthful", "--seat", "S1")
    assert (found["code"], found["seat"], found["recommended"]) == (0, "S1", 2)
    assert found["share"] == {"share": 1.0, "low": 1.0, "high": 1.0}
    measured = "sweep bargaining/one_shot --luck policy:truthful --seat S1 --seeds 20 --group 2 --out"
    run([*measured.split(), str(tmp_path / "out")])
    said = capsys.readouterr().out
    assert "this agent never differs: share 1  (20 seeds x 2, seat S1, profit in ticks, sd " in said
    assert "fewer than 100 seeds" in said


@pytest.mark.many
def test_where_nothing_varies_there_is_no_share(luck: Luck, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    found = luck("bargaining/smoke", "policy:passive")
    assert (found["code"], found["share"], found["sd"]) == (0, None, 0.0)
    options = ("--luck", "policy:passive", "--seeds", "20", "--group", "2", "--out", str(tmp_path / "out"))
    assert run(["sweep", "bargaining/smoke", *options]) == 0
    assert "no variance  (20 seeds x 2, seat B1, profit in ticks, always 0)" in capsys.readouterr().out


@pytest.mark.process
def test_it_goes_on_where_it_was_and_grows(luck: Luck, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    few = luck("bargaining/one_shot", "policy:random_within_value", *options_file(tmp_path, max_episodes=11))
    assert (few["sweep"]["done"], few["sweep"]["stopped"] is not None) == (11, True)
    rest = luck("bargaining/one_shot", "policy:random_within_value")
    assert rest["sweep"]["played_now"] == 29
    # A larger group finds the replicas of a smaller one.
    more = luck("bargaining/one_shot", "policy:random_within_value", "--group", "4")
    assert more["sweep"]["played_now"] == 40
    whole = luck("bargaining/one_shot", "policy:random_within_value", "--group", "4", folder="at once")
    assert (more["share"], more["mean"], more["sd"]) == (whole["share"], whole["mean"], whole["sd"])
    # Stopped by a limit, it says how far it is and measures nothing.
    options = ("--luck", "policy:random_within_value", "--seeds", "20", *options_file(tmp_path, max_episodes=5))
    assert run(["sweep", "bargaining/one_shot", *options, "--out", str(tmp_path / "new")]) == 0
    said = capsys.readouterr().out
    assert "5 of 80 episodes done" in said
    assert "share" not in said


@pytest.mark.many
@pytest.mark.parametrize(("every", "code"), [(20, 0), (10, 3)])
def test_what_failed_is_left_out_and_counted(
    luck: Luck, monkeypatch: pytest.MonkeyPatch, every: int, code: int
) -> None:
    play_one = sweep_shard.play_one

    async def failing(table: Any, episode: Any, folder: Path) -> SweepResult:
        if episode.place % every == 0:
            return SweepResult(episode.digest, "failed", problem="its provider is gone")
        return await play_one(table, episode, folder)

    monkeypatch.setattr(sweep_shard, "play_one", failing)
    found = luck("bargaining/one_shot", "policy:random_within_value")
    # A seed of which one of two replicas failed says nothing of what replicas differ by.
    assert (found["code"], found["failed"], found["seeds"]) == (code, 40 // every, 20 - 40 // every)
    assert found["share"] is not None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["double_auction/smoke", "--luck", "policy:zic", "--seeds", "19"], "at least 20"),
        (["double_auction/smoke", "--luck", "policy:zic", "--seeds", "1001"], "at most 1000"),
        (["double_auction/smoke", "--luck", "policy:zic", "--group", "1"], "at least 2"),
        (["double_auction/smoke", "--luck", "policy:zic", "--group", "65"], "at most 64"),
        (["double_auction/smoke", "--luck", "policy:zic", "--seat", "Z9"], "there is no seat 'Z9'"),
        (["double_auction/smoke", "--luck", "policy:zic", "--rank"], "without --rank"),
        (["double_auction/smoke", "--luck", "external"], "players from outside come by themselves"),
        (["double_auction/smoke", "--luck", "policy:" + "x" * 400], "model"),
        (["marketplace/small_demo", "--luck", "policy:honest", "--seat", "customer_0001"], "does not play a customer"),
        (["nowhere/smoke", "--luck", "policy:zic"], "nowhere"),
        (["bargaining/round_robin", "--group", "3"], "it is of --luck: add that, or leave it out"),
    ],
)
def test_what_cannot_be_measured_is_refused_before_anything_is_played(
    options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["sweep", *options, "--out", str(tmp_path / "out")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_nobody_else_has_to_come_and_stand_ins_draw_with_the_market() -> None:
    entry = AgentEntry(model="policy:random_legal")
    plan = Plan(
        plan=PlanEntry(name="three customers", scenarios=["marketplace/small_demo"], replicas=2),
        agent=[entry],
        seating=Seating(seats=["customer_0002"]),
    )
    work = workload_of(SourcedPlan(plan, None))
    seatings = [Table.of(work).players(episode).seating for episode in work.episodes()]
    assert [(seating.agent_key, seating.policy_key) for seating in seatings] == [(1, 0), (2, 0)]
    for seating in seatings:
        assert seating.agents == []
        assert seating.late == {"customer_0002"}
        assert seating.players["customer_0001"].policy == "item_searcher"
    same, other = (seatings[0].draw(1, "customer_0001"), seatings[1].draw(1, "customer_0001"))
    assert same.uniform("x") == other.uniform("x")
    own, again = (seating.draw(1, "customer_0002").uniform("x") for seating in seatings)
    assert own != again


def seat(
    capsysbinary: pytest.CaptureFixture[bytes],
    folder: Path,
    seed: int,
    *options: str,
    market: str = "order_book",
    policy: str = "gd",
) -> Any:
    """The seat under test in the verdict of a played episode, of `order_book/smith` unless told otherwise."""
    command = ["play", market, "--agent", f"policy:{policy}", "--seed", str(seed), "--out", str(folder), *options]
    assert run([*command, "--json"]) == 0
    return orjson.loads(capsysbinary.readouterr().out)["verdict"]["seats"][0]


@pytest.mark.many
def test_an_episode_of_the_headlines_preset_stands_between_its_references(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    found = seat(capsysbinary, tmp_path, 3)
    assert (found["headline"] is not None, found["between"]) == (True, ["truthful", "kaplan"])


@pytest.mark.many
def test_where_the_best_reference_earned_less_than_the_naive_one_there_is_no_scale(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    found = seat(capsysbinary, tmp_path, 31)
    earned = {row["name"]: row["value"] for row in found["beside"]}
    assert earned["kaplan"] < earned["truthful"]
    assert (found["headline"], found["between"]) == (None, [])


def test_a_changed_preset_has_no_place_on_the_presets_scale(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    found = seat(capsysbinary, tmp_path, 3, "--set", "periods=1")
    assert (found["headline"], found["between"]) == (None, [])


def test_far_beyond_two_references_that_nearly_tie_there_is_no_scale(
    capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    found = seat(capsysbinary, tmp_path, 3, market="pricing", policy="jumpy")
    earned = {row["name"]: row["value"] for row in found["beside"]}
    assert found["score"]["value"] < earned["nash"] < earned["planner"] < 1.01 * earned["nash"]
    assert (found["headline"], found["between"]) == (None, [])


def held(capture: pytest.CaptureFixture[bytes], *arguments: str) -> Any:
    """What the command says as JSON; it ends well."""
    assert run(["sweep", "--rank", *arguments, "--json"]) == 0
    return orjson.loads(capture.readouterr().out)


@pytest.mark.many
def test_a_tournament_ends_with_leaderboards_of_all_who_played(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    plan = ["bargaining/round_robin_small", "--seeds", "1", "--set", "rounds=3", "--processes", "1"]
    page = tmp_path / "boards.html"
    said = held(capsysbinary, *plan, "--out", str(tmp_path / "out"), "-o", str(page))
    assert b"bargaining/pact" in page.read_bytes()
    assert next(iter(said)) == "verdict"
    assert said["verdict"]["kind"] == "ranking"
    assert "24 of 24 traces rated" in said["verdict"]["text"]
    assert (said["sweep"]["done"], said["sweep"]["played_now"], said["sweep"]["failures"]) == (24, 24, [])
    boards = said["leaderboards"]["boards"]
    assert {board["scenario"]: board["games"] for board in boards} == {"bargaining/pact": 12, "bargaining/silent": 12}
    labels = {row["label"] for board in boards for row in board["rows"]}
    assert labels == {f"policy:{name}" for name in ("linear_concession", "conceder", "tit_for_tat", "fair_split")}
    assert run(["sweep", *plan, "--out", str(tmp_path / "out"), "--json"]) == 0
    assert orjson.loads(capsysbinary.readouterr().out)["played_now"] == 0


def test_a_plan_that_is_not_there_is_a_matter_of_usage(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["sweep", "bargaining/round_robbin"]) == 2
    assert "did you mean bargaining/round_robin" in capsys.readouterr().err
    assert run(["sweep", "x/0"]) == 2
    assert "there are bargaining/headline, bargaining/round_robin, " in capsys.readouterr().err
    assert run(["sweep", str(tmp_path / "none.toml")]) == 2
    assert "cannot be read" in capsys.readouterr().err


def test_the_bundled_plans_are_listed_with_their_size(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["show", "plans", "--json"]) == 0
    listed = {row["plan"]: row for row in orjson.loads(capsysbinary.readouterr().out)}
    assert (listed["double_auction/field"]["agents"], listed["double_auction/field"]["episodes"]) == (29, 24_000)
    assert all(row["description"] for row in listed.values())


@pytest.mark.process
def test_a_tournament_of_2_000_games_ranks_every_baseline_of_the_field(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    plan = ["double_auction/field", "--seeds", "2000", "--set", "rounds=8"]
    said = held(capsysbinary, *plan, "--out", str(tmp_path))
    assert (said["sweep"]["episodes"], said["sweep"]["done"]) == (2_000, 2_000)
    (board,) = said["leaderboards"]["boards"]
    rank = {row["label"]: place for place, row in enumerate(board["rows"])}
    assert len(rank) == 29
    # Chance alone comes last, and who reads the market's history beats it by far.
    assert max(rank, key=lambda label: rank[label]) == "policy:random_bazaar"
    assert min(row["episodes"] for row in board["rows"]) > 400
    for row in board["rows"]:
        assert {"efficiency", "convergence"} <= {name for name, value in row["figures"].items() if value is not None}


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
