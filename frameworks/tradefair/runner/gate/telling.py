"""A gate in words: sentences for people, JUnit for machines, Markdown for a pull request."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from datetime import date
from statistics import fmean
from xml.etree import ElementTree as xml

from tradefair.contract.text import clean_line
from tradefair.evaluation.ledger import Action
from tradefair.evaluation.verdict.amounts import amount, count, number, percent
from tradefair.evaluation.verdict.ledger_text import actions_apart, actions_text, called
from tradefair.runner.gate.baseline import Baseline
from tradefair.runner.gate.deciding import Rule, Sight, sight
from tradefair.runner.gate.gate_file import Place
from tradefair.runner.gate.judging import Difference, GateResult, ScenarioResult, rule_of

_TITLES = {"worse": "WORSE", "not_worse": "NOT WORSE", "unknown": "COULD NOT TELL"}
_MOST_MISSING = 3
KEEP = "Keep it as a case: "


def verdict_text(result: GateResult) -> str:
    """What a gate found, in a few lines: what is broken first, then each scenario that decides."""
    lines = [*_broken(result)]
    deciding = [scenario for scenario in result.scenarios if scenario.status == result.status]
    # Beside what is broken, scenarios that are fine would only confuse.
    for scenario in deciding or ([] if lines else result.scenarios):
        lines += _scenario(result, scenario)
    problems = [f"Case {case.name} could not be played: {case.problem}." for case in result.cases if case.problem]
    if result.status == "not_worse":
        held = [
            "Limits kept." * bool(result.limits),
            f"{count(len(result.cases), 'case')} passed." * bool(result.cases),
        ]
        lines[-1] = " ".join(filter(None, [lines[-1], *held]))
    if result.stopped and result.status == "unknown":
        problems.append(f"{result.stopped}; the same command plays on.")
    return "\n".join([*lines, *problems])


def _broken(result: GateResult) -> Iterator[str]:
    for case in result.cases:
        if case.broken:
            yield f"WORSE · case {case.name}: {case.found}."
    for limit in result.limits:
        if limit.broken:
            of = (
                f"{count(limit.value, 'call')} of {number(limit.of)}"
                if limit.name == "refused"
                else (f"{number(limit.value)} of {count(limit.of, 'game')}")
            )
            yield f"WORSE · limit {limit.name} = {limit.most}: {of}, first in {limit.where}."


def _scenario(result: GateResult, scenario: ScenarioResult) -> list[str]:
    if not scenario.played:
        return [*_missing(scenario)]
    if scenario.missing and scenario.status == "unknown":
        return [*_missing(scenario)]
    if scenario.status == "worse":
        return [*_worse(result, scenario)]
    games = f"{count(scenario.games, 'game')} of {scenario.scenario}"
    if scenario.status == "not_worse":
        little = " (surely, within the margin)" if scenario.deciding.sure and scenario.loss > 0 else ""
        within = f"a loss of {_size(scenario, scenario.deciding.rule.margin)} is excluded"
        return [f"NOT WORSE · {games}: {_less(scenario, scenario.loss, 'the baseline')}{little}, {within}."]
    return [*_unknown(result, scenario, games)]


def _worse(result: GateResult, scenario: ScenarioResult) -> Iterator[str]:
    recorded = scenario.recorded
    rule = scenario.deciding.rule
    most = rule.first if scenario.games <= rule.first else rule.most
    yield f"WORSE · {scenario.scenario}, after {scenario.games} of {most} games"
    low, high = scenario.between
    most_lost = "at least" if high is None else f"to {_size(scenario, high)}"
    between = "" if low is None else f" ({_size(scenario, low)} {most_lost})"
    own, before = amount(scenario.own, recorded.unit), number(scenario.before)
    yield (
        f"{clean_line(result.label)} {recorded.verb} {own} a game, {_whose(result)} {before} on the same luck: "
        f"{_less(scenario, scenario.loss)}{between}."
    )
    if scenario.first is not None:
        yield from _difference(scenario, scenario.first)
    if recorded.noise:
        yield "The agent's own draws differ from game to game: `--against` plays both sides now."


def _whose(result: GateResult) -> str:
    day = date.fromisoformat(result.baseline.recorded)
    if result.label == result.baseline.label:
        return f"its baseline of {day.day} {day:%B}"
    return f"the baseline {clean_line(result.baseline.label)} of {day.day} {day:%B}"


def _difference(scenario: ScenarioResult, first: Difference) -> Iterator[str]:
    mine, theirs, other = list(first.turn.did), list[Action](), "the baseline did otherwise"
    if first.before is not None:
        mine, theirs = actions_apart(first.turn.did, first.before)
        other = f"the baseline {called(actions_text, theirs, 'nothing')}"
    where = f"seed {first.seed}, seat {first.turn.seat}, round {first.turn.round}"
    lost = "Look"
    if first.lost is not None:
        verb = "lost" if first.lost >= 0 else "gained"
        lost = f"That turn {verb} {amount(abs(first.lost), scenario.recorded.unit)}"
    path = shlex.quote(str(first.trace))
    did = called(actions_text, mine, "did nothing")
    yield f"First difference: {where}: it {did}, {other}. {lost} (tradefair evaluate {path})."
    yield f"{KEEP}tradefair gate add {path}"


def _unknown(result: GateResult, scenario: ScenarioResult, games: str) -> Iterator[str]:
    rule = scenario.deciding.rule
    low, high = scenario.between
    ends = [_less(scenario, end) for end in (low, high) if end is not None]
    between = f"between {' and '.join(ends)} than the baseline"
    found = between if len(ends) == 2 else _less(scenario, scenario.loss, "the baseline")
    yield f"COULD NOT TELL · {games}: {found}; the margin is {_size(scenario, rule.margin)}."
    deviation = scenario.deciding.deviation
    if deviation:
        seen = sight(deviation, rule)
        yield f"Single games differ by {_size(scenario, deviation)}: {would_tell(scenario.share, seen)} would tell."


def _missing(scenario: ScenarioResult) -> Iterator[str]:
    if not scenario.missing:
        yield f"COULD NOT TELL · {scenario.scenario}: no game was played."
        return
    of = scenario.games + len(scenario.missing)
    why = "; ".join(clean_line(text) for text in scenario.missing[:_MOST_MISSING])
    verb = "is" if len(scenario.missing) == 1 else "are"
    lacking = f"{len(scenario.missing)} of {count(of, 'game')} {verb} missing"
    yield f"COULD NOT TELL · {lacking} ({why}). The same command plays them."


def _size(scenario: ScenarioResult, loss: float) -> str:
    return percent(loss) if scenario.share else amount(loss, scenario.recorded.unit)


def _less(scenario: ScenarioResult, loss: float, than: str = "") -> str:
    """`31 % less than the baseline`, or `as much as`; of what less is better of, more."""
    if not loss:
        return f"as much as {than}" if than else "as much"
    fewer = (loss > 0) is scenario.recorded.higher_is_better
    return f"{_size(scenario, abs(loss))} {'less' if fewer else 'more'}{f' than {than}' if than else ''}"


def would_tell(share: bool, seen: Sight) -> str:
    """How many games tell a loss of the margin from none, and the margin that those of the gate do for, rounded up."""
    if share and seen.margin > 1:
        return count(seen.games, "game")
    margin = f'"{math.ceil(100 * seen.margin)} %"' if share else f"{seen.margin:.3g}"
    return f"{count(seen.games, 'game')} or margin = {margin}"


def noise_text(noise: float, rule: Rule, share: bool, unit: str) -> str:
    """What a gate will see of an agent that differs from itself."""
    seen = sight(noise, rule)
    size = percent(noise) if share else amount(noise, unit)
    tenths = max(0, min(9, round(10 * seen.power)))
    text = f"It differs from itself by {size} a game: equal agents would be told so in {tenths} of 10 gates"
    if tenths >= 9:
        return f"{text}."
    return f"{text}; for 9 of 10, {would_tell(share, seen)}."


def junit(result: GateResult) -> bytes:
    """A suite per scenario: `not worse`, and behind them each limit and each case. Could not tell is an error."""
    root = xml.Element("testsuites", name="tradefair gate")
    for scenario in result.scenarios:
        text = "\n".join(_scenario(result, scenario))
        _suite(root, scenario.scenario, [("not worse", scenario.status, text)])
    if result.limits:
        rows = [
            (limit.name, "worse" if limit.broken else "not_worse", f"{limit.value} of {limit.of}; {limit.where}")
            for limit in result.limits
        ]
        _suite(root, "limits", rows)
    if result.cases:
        states = {
            case.name: "worse" if case.broken else "unknown" if case.problem else "not_worse" for case in result.cases
        }
        _suite(root, "cases", [(case.name, states[case.name], case.found or case.problem) for case in result.cases])
    xml.indent(root)
    return xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _suite(root: xml.Element, name: str, rows: list[tuple[str, str, str]]) -> None:
    states = [state for _, state, _ in rows]
    counts = {"tests": len(rows), "failures": states.count("worse"), "errors": states.count("unknown")}
    suite = xml.SubElement(root, "testsuite", {"name": name, **{key: str(value) for key, value in counts.items()}})
    for test, state, text in rows:
        case = xml.SubElement(suite, "testcase", {"classname": f"gate.{name}", "name": test})
        if state != "not_worse":
            said = clean_line(text)
            kind = "failure" if state == "worse" else "error"
            xml.SubElement(case, kind, {"type": state, "message": said[:500]}).text = said


def markdown(result: GateResult) -> str:
    """For the summary of a step, or a comment on a pull request."""
    found = [(row, _less(row, row.loss) if row.played else "–") for row in result.scenarios]
    rows = [f"| {row.scenario} | {_TITLES[row.status].lower()} | {less} | {row.games} |" for row, less in found]
    head = ["| scenario | found | than the baseline | games |", "|---|---|---|---|"]
    return "\n".join([f"### Gate: {_TITLES[result.status].lower()}", "", *_quoted(result), "", *head, *rows, ""])


def _quoted(result: GateResult) -> list[str]:
    return ["```text", *(line.replace("```", "'''") for line in result.verdict.split("\n")), "```"]


def recorded_text(made: Baseline, place: Place) -> Iterator[str]:
    """What was recorded, and what a gate will see of an agent that differs from itself."""
    for scenario in made.scenarios:
        earned = amount(fmean(game.reward for game in scenario.games), scenario.unit)
        passive = amount(scenario.passive, scenario.unit)
        yield (
            f"{scenario.scenario}: {clean_line(made.label)} {scenario.verb} {earned} a game over "
            f"{len(scenario.games)} seeds, doing nothing {passive}."
        )
        if scenario.noise:
            share = place.gate.share is not None
            yield noise_text(scenario.noise, rule_of(place.gate, len(scenario.games)), share, scenario.unit)
    yield f"{place.baseline}: commit it with the gate. Next: tradefair gate run"
