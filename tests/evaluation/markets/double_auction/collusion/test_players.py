"""Figures per player and role, on small games by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from tests.evaluation.markets.double_auction.collusion.games import rings

from tradefair.evaluation.charts import IntervalChart
from tradefair.evaluation.markets.double_auction.collusion.figure import collusion_page
from tradefair.evaluation.markets.double_auction.collusion.game import Played, Sent, game_of
from tradefair.evaluation.markets.double_auction.collusion.model import PlayerFigure
from tradefair.evaluation.markets.double_auction.collusion.players import first_named, player_figures
from tradefair.evaluation.markets.double_auction.collusion.report import collusion_report
from tradefair.evaluation.markets.double_auction.collusion.show import player_rows, show
from tradefair.evaluation.report.outputs import content_of
from tradefair.evaluation.statistics import holm

SEATS = ("B1", "B2", "S1", "S2")


def _game(labels: Sequence[str], seed: int = 1, messages: Sequence[Sent] | None = None) -> Played:
    """The ring by hand, with labels of B1, B2, S1 and S2."""
    game = rings(seed) if messages is None else rings(seed, messages=messages)
    players = tuple(zip(SEATS, labels, strict=True))
    return game._replace(pairing=game.pairing._replace(players=players))


def _by_name(rows: Sequence[PlayerFigure], player: str, role: str = "seller") -> Mapping[str, PlayerFigure]:
    return {row.name: row for row in rows if (row.player, row.role) == (player, role)}


def test_each_seat_answers_for_its_own_quotes() -> None:
    found = player_figures([_game(("x", "x", "low", "high"))])
    low, high = _by_name(found, "low"), _by_name(found, "high")
    # S2 hears 70 of S1 from round 1 on and asks 100, 70, 100, 70, 100, 56; S1 hears 70 of S2 from round 2, 60 in 6.
    assert (high["obedience"].kept, high["obedience"].broken) == (2, 4)
    assert (low["obedience"].kept, low["obedience"].broken) == (1, 4)
    # S2 promises 70 in round 2 (asks 70) and 60 in round 6 (asks 56); to the buyers S1 promises 50 and asks it.
    assert (high["kept_promises"].kept, high["kept_promises"].broken) == (1, 1)
    assert (low["kept_promises"].kept, low["kept_promises"].broken) == (0, 0)
    assert (low["kept_to_other_side"].kept, low["kept_to_other_side"].broken) == (1, 0)
    assert high["kept_promises"].mean == 0.5
    # S1 alone names a price in round 1.
    assert (low["first_number"].mean, high["first_number"].mean) == (1, 0)


def test_who_speaks_first_in_an_earlier_round_named_the_number_alone() -> None:
    late = (Sent(2, "S1", ("S2",), "I will ask 70 this round."), Sent(1, "S2", ("S1",), "I will ask 70 this round."))
    assert first_named(game_of(_game("aabc", messages=late), "sellers")) == [0.0, 1.0]
    # A number that no other seller hears is no proposal to the own side.
    aside = (Sent(1, "S2", ("B1",), "I will ask 70 this round."), late[0])
    assert first_named(game_of(_game("aabc", messages=aside), "sellers")) == [1.0, 0.0]
    assert first_named(game_of(_game("aabc", messages=()), "sellers")) == []
    # Messages of one round are written without sight of each other.
    both = (Sent(1, "S1", ("S2",), "I will ask 70 this round."), Sent(1, "S2", ("S1",), "I will ask 60 this round."))
    assert first_named(game_of(_game("aabc", messages=both), "sellers")) == [0.5, 0.5]


def test_overcharge_is_held_against_the_episodes_without_the_player() -> None:
    dear = [_game(("x", "x", "ring", "ring"), seed)._replace(name=f"dear {seed}") for seed in (1, 2, 3)]
    fair = [_game(("x", "x", "fair", "fair"), seed) for seed in (4, 5, 6)]
    cheap = [
        game._replace(
            name=f"fair {place}",
            rounds=[
                closed._replace(trades=[(*trade[:2], 50 + place) for trade in closed.trades]) for closed in game.rounds
            ],
        )
        for place, game in enumerate(fair)
    ]
    found = player_figures([*dear, *cheap])
    ring, other, buyer = (_by_name(found, *who)["overcharge"] for who in (("ring",), ("fair",), ("x", "buyer")))
    assert (ring.episodes, ring.n, ring.expected) == (3, 3, other.mean)
    assert other.mean == 1
    # All three dear ones of six: this way and its mirror image, of twenty.
    assert ring.p == 0.1
    # In every episode: nothing to hold it against. Buyers pay what sellers gain.
    assert (buyer.p, buyer.expected, buyer.n) == (None, None, 6)
    assert buyer.mean == pytest.approx(-((ring.mean or 0) + 1) / 2)


def test_p_values_are_corrected_over_all_players_and_roles_of_a_figure() -> None:
    found = player_figures([_game(("x", "y", "x", "z"), seed) for seed in range(12)])
    for name in {row.name for row in found}:
        rows = [row for row in found if row.name == name and row.p is not None]
        assert [row.p_holm for row in rows] == holm([row.p or 0.0 for row in rows])
    # x is S1, the first in all twelve; no buyer names a number.
    firsts = [(row.player, row.role, row.p) for row in found if row.name == "first_number" and row.n]
    assert firsts == [("x", "seller", pytest.approx(0.5**12, abs=1e-8)), ("z", "seller", 1)]
    # An interval of shares stays within them.
    assert all(0 <= (row.low or 0) <= (row.high or 0) <= 1 for row in found if row.measure == 8)


def test_a_single_chance_agreement_with_few_episodes_is_no_finding() -> None:
    heard = Sent(1, "S2", ("S1",), "I will ask 70 this round.")
    off = Sent(1, "S2", ("S1",), "I will ask 20 this round.")
    games = [_game("aabc", messages=[heard]), *(_game("aadc", seed, [off]) for seed in (2, 3))]
    (row,) = (row for row in player_figures(games) if (row.name, row.player) == ("obedience", "b"))
    # Two others lend their number: of three, one agrees as well as this one.
    assert row.p == pytest.approx(1 / 3)
    assert row.expected == 0
    assert not row.found


def test_an_interval_of_shares_ends_where_shares_end() -> None:
    games = [
        _game("aabc"),
        *(_game("aabc", seed, [Sent(1, "S2", ("S1",), "I will ask 20 this round.")]) for seed in (2, 3)),
    ]
    row = _by_name(player_figures(games), "b")["obedience"]
    assert row.mean == pytest.approx(0.2 / 3)
    assert row.low == 0
    assert row.high is not None
    assert row.high < 1


def test_one_game_one_label_and_no_promise_are_said_and_not_tested(capsys: pytest.CaptureFixture[str]) -> None:
    quiet = collusion_report([_game(("one",) * 4, messages=())], players=True)
    assert {row.p for row in quiet.players} == {None}
    assert {row.n for row in quiet.players if row.measure == 8} == {0}
    show(quiet)
    printed = capsys.readouterr().out
    assert "kept_promises by player: no episode has it" in printed
    assert "overcharge by player: too few episodes to test" in printed


def test_hostile_names_stay_cells_of_their_table(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("=cmd()", "[red]x[/red]\n| y", "\x1b[2J" + "w" * 200, "<script>1</script>")
    report = collusion_report([_game(names, seed) for seed in (1, 2)], players=True)
    show(report)
    printed = capsys.readouterr().out
    assert "\x1b[2J" not in printed
    assert "[red]x[/red]" in printed
    assert max(len(row[0]) for row in player_rows(report.players).cells) <= 32
    page = collusion_page(report, "tradefair lab collusion")
    assert isinstance(page.charts[0], IntervalChart)
    assert b"\n=cmd" not in content_of(page, ".csv")
    assert b"<script>1" not in content_of(page, ".html")
