"""What an episode took: calls, tokens, seconds and cost per seat, and how it ended. Counted from the trace alone.

Calls come from the chained events, model calls and tokens from what the runner noted with them, seconds from the
side rows: those two are not re-executed by verify, and seconds differ from run to run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict

from tradefair.contract import SeatId, TraceError
from tradefair.tracestore import Trace


class SeatAccount(BaseModel):
    """One seat. Tokens, seconds and cost are null where no model call was noted (cost also where one has no price).

    `inner_calls` are those that `execute_code` made; they are part of `calls`. `person_calls` are those that somebody
    clicked. `refusals` are refused calls by code, `unknown_tools` those of tools that do not exist by name.
    `usage_estimated`: some tokens were estimated, not stated by the provider. `silent` counts replies of the actor that
    called nothing: `text`, `empty`, or `cut` at the token limit. `given_up` counts what the agent gave up, by reason,
    `given_up_rounds` the rounds in which it did, `lapsed_rounds` those in which the seat lapsed. `failure` is why the
    runner stopped, where provider or connection failed last or a limit of the episode was reached, which `stop` then
    names; else `stop` and `prompt` are what the runner reported of it.
    """

    model_config = ConfigDict(extra="forbid")

    calls: int = 0
    actions: int = 0
    inner_calls: int = 0
    person_calls: int = 0
    refused: int = 0
    refusals: dict[str, int] = {}
    unknown_tools: dict[str, int] = {}
    lapses: dict[str, int] = {}
    lapsed_rounds: int = 0
    model_calls: int = 0
    invalid_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    usage_estimated: bool = False
    model_seconds: float | None = None
    cost_usd_micro: int | None = None
    finish_reasons: dict[str, int] = {}
    silent: dict[str, int] = {}
    given_up: dict[str, int] = {}
    given_up_rounds: int = 0
    failure: str | None = None
    stop: str | None = None
    prompt: str | None = None


class Account(BaseModel):
    """A whole episode; `events` is how many are stored. `wall_seconds` runs from the first to the last stored event.

    `censored`: the rules did not end it. `findings` say what could not be read.
    """

    model_config = ConfigDict(extra="forbid")

    seats: dict[SeatId, SeatAccount] = {}
    events: int = 0
    rounds_closed: int = 0
    end_reason: str | None = None
    wall_seconds: float | None = None
    findings: list[str] = []

    @property
    def censored(self) -> bool:
        """Whether something other than the rules ended the episode, or nothing did yet: sums are of a part only."""
        return not (self.end_reason or "").startswith("terminated:")


def account(trace: Trace) -> Account:
    """Count one trace: calls, tokens, seconds and cost per seat, and how the episode ended.

    Never raises: what cannot be read is listed in `findings`, and the rest is counted.
    """
    counted = Account()
    # Each part is read alone, so that damaged notes do not take the calls with them.
    for reader in (_calls, _times, _notes):
        try:
            reader(trace, counted)
        except (TraceError, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
            counted.findings.append(f"{reader.__name__.strip('_')} cannot be read: {error!r}"[:300])
    return counted


def _calls(trace: Trace, counted: Account) -> None:
    counted.seats = {seat.id: SeatAccount() for seat in trace.manifest.core.seats}
    lapsed: set[tuple[SeatId, int]] = set()
    for stored in trace.events():
        counted.events = stored.seq
        event = orjson.loads(stored.body)
        match event["event"]:
            case "tool_called":
                seat = counted.seats[event["seat"]]
                seat.calls += 1
                seat.actions += event["kind"] == "action"
                # `parent` is null for a call that a client made itself.
                seat.inner_calls += event["parent"] is not None
                seat.refused += event["status"] != "ok"
                if event["status"] != "ok":
                    _add(seat.refusals, event["error"]["code"])
                # The kind of a tool that does not exist is null.
                if event["kind"] is None:
                    _add(seat.unknown_tools, event["tool"])
            case "seat_lapsed":
                seat = counted.seats[event["seat"]]
                _add(seat.lapses, event["reason"])
                # A round has several phases, in each of which a seat may lapse.
                seat.lapsed_rounds += (event["seat"], event["round"]) not in lapsed
                lapsed.add((event["seat"], event["round"]))
            case "round_closed":
                counted.rounds_closed += 1
            case "episode_ended":
                counted.end_reason = str(event["reason"])
            case _:
                pass


def _times(trace: Trace, counted: Account) -> None:
    """Seconds between the first and the last stored event, as the machine's clock gave them; who clicked."""
    # Clocks of machines may be set back between two parts of an episode: less than nothing is shown as 0.
    first = last = None
    for row in trace.side():
        # SQLite lets any type stand in any column, and JSONL exports have no times.
        if isinstance(row.at_ms, int):
            first, last = (row.at_ms if first is None else first), row.at_ms
        if row.by == "person" and row.seat in counted.seats:
            counted.seats[row.seat].person_calls += 1
    if first is not None and last is not None:
        counted.wall_seconds = max(0, last - first) / 1000


def _notes(trace: Trace, counted: Account) -> None:
    given_up: set[tuple[SeatId, str]] = set()
    for note in trace.agent_events():
        # Notes are not part of the chain: a seat that the manifest does not know is left out, not an error.
        seat = counted.seats.get(note["seat"])
        if seat is None:
            continue
        match note.get("kind"):
            case "model_call":
                _model_call(counted, note["seat"], note)
            case "round_given_up":
                _add(seat.given_up, note.get("reason"))
                seat.given_up_rounds += (note["seat"], repr(note.get("round"))) not in given_up
                given_up.add((note["seat"], repr(note.get("round"))))
            case "harness_failure":
                seat.failure = _text(note.get("message"), 400)
            case "stopped":
                seat.failure, seat.stop = _text(note.get("message"), 400), _text(note.get("why"))
            case "seat_report":
                seat.stop, seat.prompt = _text(note.get("stop")), _text(note.get("prompt"))
            case _:
                pass


def _model_call(counted: Account, name: SeatId, note: Mapping[str, Any]) -> None:
    """Add one model call of a seat. Money is in millionths of a US dollar, latency in seconds."""

    def amount(field: str, value: object) -> int | float | None:
        # Beyond 2^53 a sum in floats would no longer be exact; less than nothing was never taken.
        if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 2**53):
            return value
        finding = f"a model call of {name} notes no number of {field}, so there is no sum"
        if finding not in counted.findings:
            counted.findings.append(finding)
        return None

    seat = counted.seats[name]
    # Who goes on after a failure has got over it.
    seat.failure = seat.stop = None
    # Planners and reflectors are asked for text; notes of older versions name no role and are an actor's.
    if note.get("role", "actor") == "actor" and not note.get("calls") and not note.get("invalid_calls"):
        cut = note.get("finish_reason") == "length"
        _add(seat.silent, "cut" if cut else "text" if str(note.get("text") or "").strip() else "empty")
    # Tells "no call yet" from "an earlier call did not say": both leave the sum at null.
    first = seat.model_calls == 0
    seat.model_calls += 1
    seat.invalid_calls += int(amount("invalid_calls", note.get("invalid_calls")) or 0)
    seat.input_tokens = _sum(first, seat.input_tokens, amount("input_tokens", note["input_tokens"]))
    seat.output_tokens = _sum(first, seat.output_tokens, amount("output_tokens", note["output_tokens"]))
    seat.usage_estimated = seat.usage_estimated or bool(note.get("usage_estimated"))
    seat.model_seconds = (seat.model_seconds or 0.0) + float(amount("latency_s", note.get("latency_s")) or 0.0)
    seat.cost_usd_micro = _sum(first, seat.cost_usd_micro, amount("cost_usd_micro", note.get("cost_usd_micro")))
    if note.get("finish_reason") is not None:
        _add(seat.finish_reasons, note["finish_reason"])


def _sum(first: bool, before: int | None, amount: int | float | None) -> int | None:
    """A sum so far and one more amount; null once a call does not say: a sum of some calls would pass for all."""
    if amount is None or (before is None and not first):
        return None
    return (before or 0) + int(amount)


def _add(counts: dict[str, int], name: object) -> None:
    # Names come from a provider or a forged trace: cut, or one of them could fill a table.
    key = str(name)[:80]
    counts[key] = counts.get(key, 0) + 1


def _text(value: object, most: int = 80) -> str | None:
    return value[:most] if isinstance(value, str) else None
