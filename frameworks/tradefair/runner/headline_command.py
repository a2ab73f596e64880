"""The command `headline`."""

from __future__ import annotations

from tradefair.evaluation.audit_commands import AsJson
from tradefair.evaluation.places import Places


def headline(paths: Places, as_json: AsJson = False) -> None:
    """How good an agent is: 0 is the naive reference, 1 the best known one, on the same seeds and in the same seats.

    Reads the traces of a market's headline preset and replays both references in the agent's seats; no model is asked.
    Several episodes of one seed are one block; the 95 % interval is over seeds, and there is none below the least
    number of seeds that the market's headline asks for. Exit code 1 where a trace could not be used.
    """
    # Imported here: what replays takes long to import.
    from tradefair.runner.headlines import print_headlines

    print_headlines(paths, as_json=as_json)
