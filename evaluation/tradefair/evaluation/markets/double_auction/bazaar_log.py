"""`bazaar-log`: public BAZAAR games, re-executed by our rules and compared with everything that their logs say.

The random stream of a game is followed from its seed where that is possible; a game with baselines that drew from the
same stream is fed its orders, coins and makers round by round.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tradefair.evaluation.foreign.importers.game_logs import game_reader
from tradefair.evaluation.foreign.importers.game_replay import ReplayedGame, open_game, origin_of, write_game
from tradefair.evaluation.foreign.importers.log_stream import pairs_fit, replayed_game
from tradefair.evaluation.foreign.importers.report import GameReport
from tradefair.evaluation.markets.double_auction.bazaar_compare import compare_game
from tradefair.trading.chance import ChanceKind
from tradefair.trading.game_log import Init, LoggedRound

IMPORTER = "bazaar-log"


def import_game(file: Path, out: Path) -> GameReport:
    """Parse, follow, re-execute, compare and write one game.

    The report has a finding, and no trace is written, where the log is damaged or the rules cannot follow it. A game
    that differs in some fact still becomes a trace: its findings say where.
    """
    report = GameReport(file.name)
    opened = open_game(file, report)
    if opened is None:
        return report
    raw, game, init, final = opened
    # Both kinds of log have one format. A game with talk needs `collusion-log`, which sends the messages too.
    if init.data.communication_enabled:
        report.found(init.line, "data.communication_enabled", "a game with messages is not a bazaar-log")
        return report
    # The scores stand in the first event: no replay gives them again, and the chain binds them there.
    origin = {**origin_of(raw, game.name, init, IMPORTER), "seat_csa_map": final.data.seat_csa_map}
    played = None
    # Before anything is played: where pairs differ, neither seed nor recorded chance could follow the game.
    if pairs_fit(game, report):
        played = replayed_game("double_auction", game, init, report, lambda _: origin, log_scenario, _play_round)
    if played is not None:
        for seat in init.seat_order:
            missing = seat not in final.data.seat_csa_map
            report.lacks("seat_csa_map", final.line, f"data.seat_csa_map.{seat}", missing=missing)
        compare_game(game, [written.record.body for written in played.events], report)
        write_game(out, played, game, report)
    return report


def _play_round(played: ReplayedGame, logged: LoggedRound) -> None:
    for quote in logged.quotes:
        # In the logged order, so that the trace stands as the log does; ties are broken by the seed's own order.
        played.act(quote.agent_id, "submit_quote", {"price": quote.price}, quote)


def log_scenario(init: Init, chance: ChanceKind) -> dict[str, Any]:
    """The scenario of a log, without its talk.

    Values, prices and acceptance stay at the defaults of the rules, which are those of the source.
    """
    return {
        "id": "double_auction/bazaar_log",
        "description": "A public BAZAAR game.",
        "n_buyers": init.data.num_buyers,
        "n_sellers": init.data.num_sellers,
        "rounds": init.data.num_rounds,
        "distribution": init.law,
        "chance": chance,
        # The source's engine shuffles its seats in this order: sorted seats would get other quote orders from the same
        # seed.
        "seat_order": list(init.seat_order),
    }


READER = game_reader(
    IMPORTER, "public BAZAAR game logs, re-executed by the rules of double_auction", "silent", import_game
)
