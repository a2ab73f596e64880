"""`tradefair trace T messages`: what each model was sent and what came of it, for a terminal or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, dropwhile, islice
from pathlib import Path
from typing import Any

import orjson
from rich.text import Text

from tradefair.cli.console import Console
from tradefair.cli.terminal import print_json
from tradefair.contract import SeatError, SeatId, TraceError
from tradefair.contract.errors import unknown
from tradefair.contract.text import clean, clean_line
from tradefair.evaluation.origins import is_foreign
from tradefair.evaluation.report.events import read_events
from tradefair.evaluation.report.transcript import Message, SeatTranscript, transcript_of
from tradefair.evaluation.wings import of_wing
from tradefair.tracestore import Trace, open_trace

# Columns before a message: who says it.
_LEAD = 11
_AT_ONCE = 200
# What is told of a step of a foreign run, and how who speaks is set.
_WORDS = ("seat", "role", "part", "speaker")
_STYLES = {"assistant": "green", "system": "dim"}


def show_messages(path: Path, seat: SeatId | None, number: int | None, as_json: bool) -> None:
    """Print the transcript of `seat`, else of every seat with a model, of round `number` or of all rounds.

    Raises SeatError for a seat that the trace does not have, TraceError for what is no trace.
    """
    with open_trace(path) as trace:
        known = [part.id for part in trace.manifest.core.seats]
        if seat is not None and seat not in known:
            raise SeatError(unknown("seat", seat, known))
        if is_foreign(trace.manifest.core):
            return _show_run(trace, path, seat, as_json)
        told = transcript_of(trace, known if seat is None else [seat])
        # Where no seat has a model, the first one says so.
        shown = [talk for talk in told if talk["calls"] or seat] or told[:1]
        for talk in shown:
            talk["calls"] = [call for call in talk["calls"] if number in (None, call["round"])]
        if as_json:
            return print_json({"query": "messages", "trace": str(path), "seats": shown})
        refused = _refusals(trace, [seq for talk in shown for call in talk["calls"] for seq in call["refused"]])
    console = Console(soft_wrap=True)
    # A call begins after an empty line, but the first thing printed is none.
    lines = chain.from_iterable(_lines(talk, refused) for talk in shown)
    _print_all(console, dropwhile(lambda line: not line.plain, lines))
    return None


def _show_run(trace: Trace, path: Path, seat: SeatId | None, as_json: bool) -> None:
    """The steps of a run that no rules have made, of one seat or of all: who said what, calls with their answers."""
    columns = read_events(trace)
    steps: list[dict[str, Any]] = []
    for row, (text, answer) in enumerate(of_wing("foreign.run_page:said_in")(trace, len(columns.seq))):
        words = {name: columns.name(getattr(columns, name), row) for name in (*_WORDS, "event", "tool", "status")}
        if words["event"] in ("message", "tool_called") and seat in (None, words["seat"]):
            step = columns.step[row] if columns.step[row] >= 0 else None
            steps.append({"seq": columns.seq[row], "step": step, **words, "text": text, "answer": answer})
    if as_json:
        return print_json({"query": "messages", "trace": str(path), "steps": steps})
    _print_all(Console(soft_wrap=True), _lines_of(steps))
    return None


def _print_all(console: Console, lines: Iterable[Text]) -> None:
    """Print lines, many at once: each call of rich's costs more than a line of it."""
    left = iter(lines)
    while some := [*islice(left, _AT_ONCE)]:
        console.print(Text("\n").join(some))


def _lines_of(steps: Iterable[dict[str, Any]]) -> Iterator[Text]:
    """The steps of a run: who said what, calls with their answers."""
    for step in steps:
        at = f"{step['step'] or '#' + str(step['seq'])}"
        if step["event"] == "message":
            part = "" if step["part"] == "text" else f"[{step['part']}] "
            yield _said(f"{at} {step['role'][:6]}", part + (step["text"] or ""), _STYLES.get(step["role"], ""))
        else:
            yield _said(f"{at} calls", f"{step['tool']} {step['text']}", "")
            refused = "" if step["status"] == "ok" else f"{step['status']}: "
            answer = "(no answer)" if step["answer"] is None else step["answer"] or "(empty)"
            yield _said("", refused + answer, "red" if refused else "dim")


def _lines(talk: SeatTranscript, refused: dict[int, str]) -> Iterator[Text]:
    """A seat's calls: new messages in full, the others as a count, the reply, and the events that it led to."""
    if talk["remark"]:
        yield _said(talk["seat"], talk["remark"], "dim")
    tools = -1
    reply: Message | None = None
    for call in talk["calls"]:
        yield Text()
        where = f"{talk['seat']} · round {call['round']}, {call['phase']} · {call['id']}"
        yield Text(where, style="bold")
        before = call["same"] + len(call["shown"]) - len(call["new"])
        if before:
            yield _said("as before", f"{before} message{'s' * (before > 1)}", "dim")
        for index in call["new"]:
            message = talk["messages"][index]
            # The reply before, as it is sent back: it was shown when it came.
            if reply is None or (message["role"], message["calls"]) != (reply["role"], reply["calls"]):
                yield from _message(message)
        if call["tools"] not in (-1, tools):
            tools = call["tools"]
            yield _said("tools", ", ".join(talk["tools"][tools]["names"]), "dim")
        reply = call["answer"]
        yield from _message({**reply, "role": "reply" if reply["role"] == "assistant" else reply["role"]})
        for seq in call["events"]:
            why = refused.get(seq)
            yield _said(f"#{seq}", "carried out" if why is None else why, "dim" if why is None else "red")


def _message(message: Message) -> Iterator[Text]:
    style = {"reply": "green", "error": "red"}.get(message["role"], "")
    cut = message["cut"]
    text = message["text"] + ("" if cut is None else f" … (cut; {cut:,} in all)")
    if text or not message["calls"]:
        yield _said(message["role"], text, style)
    for _, tool, arguments in message["calls"]:
        yield _said("calls", f"{tool} {arguments}", style)


def _said(who: str, text: str, style: str) -> Text:
    """Who says it and what, its further lines set in as the first."""
    lines = clean(text).split("\n")
    leads = [f"{clean_line(who):<{_LEAD}}", *[" " * _LEAD] * (len(lines) - 1)]
    # A prompt's own blanks at the end of a line say nothing to a reader, and wrap on a narrow terminal.
    return Text("\n".join((lead + line).rstrip() for lead, line in zip(leads, lines, strict=True)), style=style)


def _refusals(trace: Trace, numbers: Iterable[int]) -> dict[int, str]:
    """By number of an event, why the market refused the call."""
    wanted, found = set(numbers), dict[int, str]()
    try:
        for stored in trace.events() if wanted else ():
            if stored.seq in wanted:
                error: Any = orjson.loads(stored.body).get("error")
                found[stored.seq] = clean_line(f"refused: {error.get('message', '') if error else ''}")
    except (TraceError, orjson.JSONDecodeError, AttributeError):
        return found
    return found
