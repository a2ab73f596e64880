"""Why a score says little: what kept a seat from playing, or stopped it, with the exit code of a command."""

from __future__ import annotations

import re
from typing import NamedTuple

from tradefair.contract.text import clean_line
from tradefair.evaluation.read.accounts import SeatAccount
from tradefair.evaluation.verdict.amounts import count, cut, name, number, often
from tradefair.evaluation.verdict.verdict import SeatVerdict, Trouble

_MAX_WHY = 90
_WHY_GIVEN_UP = {
    "no_call": "its replies called no tool",
    "call_limit": "its limit of calls was used up",
    "token_limit": "its limit of tokens was used up",
    "framework_error": "its framework failed",
    "broke_off": "its program had ended",
}
_LIMITS = {"cost": 3, "tokens_total": 3, "idle_rounds": 1}
"""Limits of an episode with the exit code of a run that they stopped: nothing carried out is the agent's doing."""
_SILENT = {"text": "text only", "empty": "empty", "cut": "cut at the token limit of a reply (--limit reply)"}
# As `provider_failure` of the frameworks puts it.
_STATUS = re.compile(r"status (\d{3})\b")
_RETRIES = re.compile(r"after (\d{1,3}) retries")


class Stage(NamedTuple):
    """What troubles need to know of the episode.

    `round` is the last closed one of `rounds` (null: not known), `ended` whether the rules or a limit ended it, `cut`
    why it stopped before its time ("" if it did not); `word` is what the market calls a round, `foreign` whether the
    game was imported.
    """

    round: int
    rounds: int | None
    ended: bool
    cut: str = ""
    word: str = "round"
    foreign: bool = False


def unsound(sentence: str) -> Trouble:
    """A trace that does not hold, or that the rules play otherwise."""
    return Trouble(
        kind="unsound",
        text=f"Not reproduced: {cut(clean_line(sentence).rstrip('.'), 180)}. The figures below may be false.",
        exit=1,
    )


def trouble_of(seat: SeatVerdict, took: SeatAccount, stage: Stage, where: str) -> Trouble | None:
    """The first trouble of a seat in order of precedence; None for a seat that played. `where` is "in seat … of …"."""
    if took.failure is not None and not stage.ended:
        return _failure(seat, took, took.failure, stage, where)
    # A recorded game has no calls of its own.
    if not stage.foreign and (stage.ended or (stage.cut and stage.round)):
        idle = _idle(seat, took, where)
        if idle is not None:
            # A script does so by design.
            return idle.model_copy(update={"exit": 0}) if seat.kind == "script" else idle
    if took.given_up_rounds:
        why = max(took.given_up, key=took.given_up.__getitem__)
        rounds = count(max(stage.round, took.given_up_rounds), stage.word)
        passed = f"{name(seat.player)} let {number(took.given_up_rounds)} of {rounds} pass"
        return Trouble(kind="gave_up", text=f"{passed} ({_WHY_GIVEN_UP.get(why, clean_line(why))}).", exit=0)
    return stopped(stage)


def _failure(seat: SeatVerdict, took: SeatAccount, why: str, stage: Stage, where: str) -> Trouble:
    """What ended the run before the episode: a limit of it, or the provider."""
    if took.stop not in _LIMITS:
        return Trouble(kind="provider_failed", text=_failed(seat, why, stage), exit=3)
    idle = _idle(seat, took, where) if took.stop == "idle_rounds" else None
    return idle or _stopped(stage, why, _LIMITS[took.stop])


def stopped(stage: Stage) -> Trouble | None:
    """An episode that ended before its time; None for one that did not."""
    return _stopped(stage, stage.cut, 0) if stage.cut else None


def _stopped(stage: Stage, why: str, code: int) -> Trouble:
    text = f"Stopped after {_round(stage.round, stage)} ({clean_line(why)}); figures run over closed {stage.word}s."
    return Trouble(kind="stopped", text=text, exit=code)


def _round(at: int, stage: Stage) -> str:
    return f"{stage.word} {at}" + (f" of {stage.rounds}" if stage.rounds else "")


def _failed(seat: SeatVerdict, message: str, stage: Stage) -> str:
    status, retries = _STATUS.search(message), _RETRIES.search(message)
    if status:
        why = f"the provider answered {status[1]} {often(int(retries[1]) + 1 if retries else 1)}"
    elif "the reply is not understood" in message or "not a chat completion" in message:
        why = "the provider's answer was no chat completion"
    elif "Timeout" in message:
        why = "the provider did not answer in time"
    elif "Connection" in message:
        why = "the provider could not be reached"
    else:
        why = cut(clean_line(message), _MAX_WHY)
    at = _round(stage.round + 1, stage)
    return f"{name(seat.player)} stopped in {at}: {why}; `tradefair play --resume` goes on."


def _idle(seat: SeatVerdict, took: SeatAccount, where: str) -> Trouble | None:
    """Nothing that the seat asked for was carried out."""
    player = name(seat.player)
    if not took.calls and not took.invalid_calls:
        text = f"{player} never called a tool {where}: {_replies(took)}."
        return Trouble(kind="never_called", text=text, exit=1)
    if not took.calls:
        many = count(took.invalid_calls, "call")
        text = f"{player} wrote {many} {where}, all with arguments that are no JSON; none was carried out."
        return Trouble(kind="malformed", text=text, exit=1)
    if took.refused < took.calls:
        return None
    if sum(took.unknown_tools.values()) == took.calls:
        tools = sorted(took.unknown_tools.items(), key=lambda item: -item[1])
        shown = ", ".join(f"{cut(name(tool), 40)} {often(times)}" for tool, times in tools[:2])
        more = f" and {len(tools) - 2} more" if tools[2:] else ""
        text = f"{player} called only tools that do not exist {where} ({shown}{more})."
        return Trouble(kind="unknown_tools", text=text, exit=1)
    code, times = max(took.refusals.items(), key=lambda item: item[1])
    mostly = "" if times == took.calls == 1 else f"{'all' if times == took.calls else 'mostly'} "
    begin = f"All {count(took.calls, 'call')}" if took.calls > 1 else "The only call"
    text = f"{begin} of {player} {where} {'were' if took.calls > 1 else 'was'} refused, {mostly}as {name(code)}"
    return Trouble(kind="all_refused", text=f"{text}{f' ({number(times)})' if times < took.calls else ''}.", exit=1)


def _replies(took: SeatAccount) -> str:
    replies = sum(took.silent.values())
    if not replies:
        return "no call came in"
    (kind, times), *_ = sorted(took.silent.items(), key=lambda item: -item[1])
    how = _SILENT.get(kind, kind)
    if replies == 1:
        return f"its only reply was {how}"
    if times == replies:
        return f"all {number(replies)} replies were {how}"
    return f"none of {number(replies)} replies called one ({number(times)} were {how})"
