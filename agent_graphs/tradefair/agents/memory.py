"""What an agent carries from one round to the next: the market's notes and a mechanical record of the last rounds."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from tradefair.agents.bridge import Act, Bridge, ToolOutcome, error_info
from tradefair.agents.rounds import is_fenced
from tradefair.contract import HarnessFailure

# The server's mark on answers that hold strangers' words (host/server/wire.py).
_UNTRUSTED = "tradefair/untrusted"
# Tools that change notes; only after one of these are the notes read again.
_WRITERS = frozenset({"add_note", "remove_note"})
_PROGRAM = "execute_code"
# Characters of one line of a record.
_LINE_CHARS = 240
_LEFT_OUT = "({}; words of others are left out here)"
_PASSED_OVER = "the turn passed without you: no_call"


@dataclass(frozen=True)
class RoundRecord:
    """What a seat did in one round: reads by number, everything else by line."""

    round: int
    reads: int
    lines: tuple[str, ...]
    stop: str | None

    def __str__(self) -> str:
        # Said outright: an empty list would look like a record that is missing.
        lines = self.lines or ("(no action)",)
        words = _PASSED_OVER if self.stop == "no_call" else f"the round was given up: {self.stop}"
        end = f"\n  {words}" if self.stop else ""
        return f"round {self.round}, after {self.reads} reads:\n  " + "\n  ".join(lines) + end

    def joined(self, rest: RoundRecord) -> RoundRecord:
        """This record and that of the rest of the same round as one."""
        between = (_PASSED_OVER,) if self.stop == "no_call" else ()
        return RoundRecord(self.round, self.reads + rest.reads, (*self.lines, *between, *rest.lines), rest.stop)


def round_record(bridge: Bridge, round_number: int, acts: Sequence[Act], stop: str | None) -> RoundRecord:
    """The mechanical record of a round; `stop` says why it was given up, if it was."""
    doing = [act for act in acts if not bridge.read_only(act.tool)]
    # Reads are counted and not listed: what they said is in the next turn's view or can be asked again.
    return RoundRecord(round_number, len(acts) - len(doing), tuple(map(act_line, doing)), stop)


class Memory:
    """The last `keep` rounds and the notes of one seat; its size, hence its cost, does not grow."""

    def __init__(self, bridge: Bridge, *, keep: int = 3) -> None:
        self._bridge = bridge
        # A deque: records older than the last rounds go by themselves, so the cost of a round stays flat.
        self._records: deque[RoundRecord] = deque(maxlen=keep)
        self._notes = ""
        self._stale = False
        self._begun = False

    async def open_round(self, round_number: int) -> str:
        """The carry-over that opens a round; "" where there is none. Notes are read only when they may have changed."""
        # A seat that is resumed in mid-episode may find notes of its predecessor.
        self._stale = self._stale or (not self._begun and round_number > 1)
        self._begun = True
        # A server of another market may have no notes.
        if self._stale and "view_notes" in self._bridge.tools:
            self._notes = await self._read_notes()
        self._stale = False
        return "\n\n".join(filter(None, (self._notes, self.digest())))

    def close_round(self, round_number: int, acts: list[Act], stop: str | None) -> None:
        """Record what was done in a round, or in the rest of one; `stop` says why it was given up, if it was."""
        # A refused note has changed nothing.
        self._stale = any(act.tool in _WRITERS and not act.outcome.is_error for act in acts)
        record = round_record(self._bridge, round_number, acts, stop)
        # The rest of a round in which a phase was passed over belongs to the same record
        # (docs/explanation/why/frameworks.md).
        if self._records and self._records[-1].round == round_number:
            record = self._records.pop().joined(record)
        self._records.append(record)

    async def _read_notes(self) -> str:
        outcome = await self._bridge.call("view_notes", {})
        if outcome.is_error:
            # Notes are the agent's own: to go on without them would change how it plays.
            raise HarnessFailure(f"view_notes refused: {outcome.text}")
        return f"Your notes:\n{outcome.text}"

    def digest(self) -> str:
        """The records of the last rounds; "" where there is none."""
        if not self._records:
            return ""
        return "What you did in the last rounds:\n" + "\n".join(map(str, self._records))


def act_line(act: Act) -> str:
    """A call and its answer on one line, cut; an answer that holds words of others is left out, as is its fence."""
    arguments = orjson.dumps(dict(act.arguments)).decode()
    told = act.outcome.text
    if _holds_words_of_others(act.outcome):
        told = _LEFT_OUT.format("refused" if act.outcome.is_error else "answered")
    elif act.outcome.is_error:
        info = error_info(told)
        told = f"refused, {info.code}: {info.message}"
    return _cut(f"{act.tool} {arguments} -> {told}")


def _holds_words_of_others(outcome: ToolOutcome) -> bool:
    # Cut and flattened, a fence would no longer close. A program may print such words, and its answer has no mark; the
    # error of one is marked where it can quote any.
    program = outcome.tool == _PROGRAM and not outcome.is_error
    return program or bool(outcome.meta.get(_UNTRUSTED)) or is_fenced(outcome.text)


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _LINE_CHARS else flat[: _LINE_CHARS - 1] + "…"
