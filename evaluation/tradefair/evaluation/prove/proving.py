"""What tables count: traces that prove what they say, each game once; and how a command is asked to check it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from tradefair.contract import TraceError
from tradefair.contract.chain import canonical
from tradefair.contract.kernel.players import Seating
from tradefair.contract.scenario import SeatId
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.progress import show_progress, watched
from tradefair.evaluation.prove.known import is_known, note, question_of
from tradefair.evaluation.prove.proof import Refusal
from tradefair.evaluation.prove.verify import verify
from tradefair.evaluation.read.places import MOST_PROVEN
from tradefair.tracestore import REFERENCES, Trace, is_store, open_trace

NOT_ASKED = "not re-executed: these figures are what the files say"
ONCE_MORE = "the same game once more, counted once"

# Re-execution of so many bytes takes some 60 CPU seconds.
_MOST_BYTES = 600 << 20


def proof_asked(asked: bool | None, places: Iterable[str | Path]) -> bool:
    """Whether traces are re-executed before they are counted: as asked, else where it takes no more than a minute."""
    if asked is not None:
        return asked
    files = list(places)
    sizes = (Path(file).stat().st_size for file in files if not is_store(str(file)) and Path(file).is_file())
    return len(files) <= MOST_PROVEN and sum(sizes) <= _MOST_BYTES


def proof_said(asked: bool) -> str:
    """The value of `proof` in the JSON of tables."""
    return "re-executed" if asked else "not asked"


def rated_seats(seating: Seating) -> list[SeatId]:
    """The seats whose results a table counts as those of a label: under test, outside, or in an agent's place."""
    players = seating.players.items()
    return [seat for seat, player in players if seat in seating.compared or player.policy is None or player.late]


def refusal_of(trace: Trace, seats: Sequence[SeatId] | None = None) -> Refusal | None:
    """Why an opened trace proves nothing of these seats (default: of all that tables count); None where it does.

    Of a run that no rules have made nothing can be proven, and no table takes it for a game. Raises TraceError.
    """
    if is_foreign(trace.manifest.core):
        return None
    question = question_of(trace, seats)
    if is_known(question):
        return None
    proof = verify(trace).proof
    # What is not reproduced may not even say who plays.
    if seats is not None or proof.rules != "reproduced":
        refusal = proof.proves(seats or ())
    else:
        refusal = proof.proves(rated_seats(trace.seating()), imports=True)
    note(question if refusal is None else "")
    return refusal


def game_of(trace: Trace) -> str:
    """Digest of what was played: scenario, seed, rules, and the accepted actions of all seats in their order.

    Who played, under which key, and what was only looked at is not in it: copies of a game are one game. TraceError.
    """
    core = trace.manifest.core
    seen = blake2b(canonical([core.scenario, core.seed, core.rules_version]), digest_size=32)
    for stored in trace.events():
        if b'"kind":"action"' in stored.body and b'"status":"ok"' in stored.body:
            try:
                event: Any = orjson.loads(stored.body)
                told = [event["seat"], event["tool"], event["arguments"]]
                acted = event.get("kind") == "action" and event.get("status") == "ok"
                seen.update(canonical(told) if acted else b"")
            # What a stranger's event cannot be read for is a game of its own.
            except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
                seen.update(stored.body)
    return seen.hexdigest()


class Counted(NamedTuple):
    """What tables count of some traces, and what they do not: by reason their places, with seat and event."""

    kept: Sequence[str | Path]
    left_out: Mapping[str, Sequence[str]]
    proven: bool

    @property
    def notes(self) -> list[str]:
        """A line per reason, then what the figures rest on where nothing was re-executed."""
        said = [f"left out: {len(of)} ({reason}), such as {Path(of[0]).name}" for reason, of in self.left_out.items()]
        return said if self.proven else [*said, NOT_ASKED]

    def to_json(self) -> dict[str, Any]:
        """`proof`, and `left_out`: paths by reason, with seat and event."""
        return {"proof": proof_said(self.proven), "left_out": {reason: [*of] for reason, of in self.left_out.items()}}


def counted(places: Sequence[str | Path], *, proven: bool, once: bool = True) -> Counted:
    """Sort out traces that prove nothing and, with `once`, further traces of a game of the same players.

    What cannot be read is kept: who evaluates it says what is wrong.
    """
    kept: list[str | Path] = []
    left_out: dict[str, list[str]] = {}
    games: set[object] = set()
    for place in watched(places, show_progress if proven else None, lambda place: Path(place).name):
        try:
            with open_trace(place) as trace:
                trace.hold()
                refusal = refusal_of(trace) if proven else None
                # A run that no rules have made has no seed: equal actions are no copy.
                if refusal is None and once and not is_foreign(trace.manifest.core):
                    beside = Path(place).parent.name == REFERENCES
                    game = beside, game_of(trace), *trace.seating().labels.items()
                else:
                    game = place
        except (TraceError, LookupError, TypeError, ValueError, AttributeError):
            kept.append(place)
            continue
        reason = f"proves nothing: {refusal.reason}" if refusal else ONCE_MORE if game in games else ""
        if reason == ONCE_MORE and Path(place).parent.name == REFERENCES:
            # Two folders were read by the same references: each has its own copy, and nobody has to know.
            continue
        if reason:
            left_out.setdefault(reason, []).append(f"{place}{refusal.where if refusal else ''}")
        else:
            games.add(game)
            kept.append(place)
    return Counted(kept, left_out, proven)
