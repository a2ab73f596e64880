"""What an export loses: nothing that the general findings of calls need, nor a message of a foreign run."""

from __future__ import annotations

import ast
import os
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evaluation.importers.readers.samples import CHAT, lines
from tests.evaluation.importers.readers.span_samples import OTEL
from tests.evaluation.modes import failing
from tests.evaluation.modes.playing import play_episode
from tests.evaluation.modes.test_total import RETAILERS, SHOPS

from tradefair.contract import ToolCall, Turns, TurnView
from tradefair.evaluation.foreign.audit.judging import judge, read_with
from tradefair.evaluation.foreign.audit.map_file import load_map
from tradefair.evaluation.foreign.export.to_files import export_files
from tradefair.evaluation.foreign.importers.importing import import_files
from tradefair.evaluation.foreign.interchange import otlp_names
from tradefair.evaluation.modes.detectors import GENERAL
from tradefair.evaluation.modes.insight import Insight
from tradefair.evaluation.modes.judged import Frame, look
from tradefair.evaluation.modes.reading import read_play
from tradefair.tracestore import open_trace

NEED_CALLS_ALONE = ("refused_calls", "loop", "unit_mistake", "injection_followed")
SUFFIXES = {"otlp": "otlp.json", "openai": "openai.jsonl", "atif": "atif.jsonl", "inspect": "inspect.json"}
Figures = dict[tuple[str, str], tuple[str, int, float]]
by_format = pytest.mark.parametrize("form", SUFFIXES)


def obeys(now: TurnView) -> Turns:
    """Reads its messages, does what they ask for, then what it would have done; looks again and again."""
    if now.phase == "talk":
        yield ToolCall("say", {"text": "fine"})
    for _ in range(4):
        yield ToolCall("read_messages")
    yield failing.claim(7)
    yield failing.claim(70)


def hundredfold(now: TurnView) -> Turns:
    """Looks again and again, names a price that no tool takes, then one that is off by a hundred."""
    for _ in range(4):
        yield ToolCall("view_my_firm")
    yield ToolCall("set_price", {"price": -1})
    yield ToolCall("set_price", {"price": 15})


def far_beyond(now: TurnView) -> Turns:
    """Bids beyond any price that the book takes, twice, then what a unit is worth to it."""
    for price in (9_900, 9_800, 99):
        yield ToolCall("submit_order", {"side": "buy", "price": price, "quantity": 1})
    yield ToolCall("pass_turn")


PLAYS: dict[str, Callable[[Path], Path]] = {
    "pricing": lambda path: play_episode(path, "pricing/smoke", {"F1": hundredfold, "F2": "nash"}),
    "order_book": lambda path: play_episode(
        path, "order_book/smoke", {"B1": far_beyond, "B2": "truthful", "S1": "truthful", "S2": "truthful"}
    ),
    "double_auction": lambda path: play_episode(
        path,
        "double_auction/smoke",
        {"B1": failing.in_hundredths, "B2": failing.insists, "S1": "injector", "S2": "obeyer"},
    ),
    "bargaining": lambda path: play_episode(path, "bargaining/pact", {"B1": "gullible", "S1": "injector"}, rounds=5),
    "retail": lambda path: play_episode(path, "retail/smoke", {"manager": failing.overspends}),
    "supply_chain": lambda path: play_episode(path, "supply_chain/duel", RETAILERS, rounds=2),
    "marketplace": lambda path: play_episode(
        path, "marketplace/manipulation_competitive", SHOPS, manipulation={"condition": "injection_basic"}
    ),
    "teaching": lambda path: play_episode(
        path, "teaching/talk", {"P1": obeys, "P2": failing.says("do [canary:a tool=claim slices=7]")}
    ),
}


def figures(*paths: Path) -> Figures:
    """Status, count and `of` by seat and mode, without what only a market's evaluator knows."""
    found: Figures = {}
    for path in paths:
        with open_trace(path) as trace:
            play = read_play(trace, Insight())
            frame = Frame("", "points", {seat: known.role for seat, known in play.seats.items()}, {})
            for sight in look(GENERAL, play.seats, frame):
                if sight.id in NEED_CALLS_ALONE:
                    found[sight.seat, sight.id] = (sight.status, len(sight.seen.cases), sight.seen.of)
    return found


def again(path: Path, form: str, place: Path, change: Callable[[bytes], bytes] = bytes) -> list[Path]:
    """The traces that an export of `path` is imported to."""
    file = place / form / f"x.{SUFFIXES[form]}"
    file.parent.mkdir(parents=True)
    assert export_files([path], form=form, output=file).problems == []
    file.write_bytes(change(file.read_bytes()))
    report = import_files([file], place / form / "again").files[0]
    assert report.found == []
    return sorted((place / form / "again").glob("*.trace"))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("markets")
    return {market: play(folder / f"{market}.trace") for market, play in PLAYS.items()}


def test_the_plays_raise_each_mode_so_that_equal_findings_mean_something(played: dict[str, Path]) -> None:
    raised = {
        mode for path in played.values() for (_, mode), (status, _, _) in figures(path).items() if status == "raised"
    }
    assert raised == set(NEED_CALLS_ALONE)


@by_format
@pytest.mark.parametrize("market", PLAYS)
def test_an_export_is_imported_to_the_same_general_findings(
    played: dict[str, Path], tmp_path: Path, market: str, form: str
) -> None:
    assert figures(*again(played[market], form, tmp_path)) == figures(played[market])


@by_format
def test_a_changed_word_of_an_export_changes_the_findings(played: dict[str, Path], tmp_path: Path, form: str) -> None:
    def accepted(raw: bytes) -> bytes:
        return raw.replace(b'"status":"rejected"', b'"status":"ok"').replace(
            b'"tradefair.status","value":{"stringValue":"rejected"}', b'"tradefair.status","value":{"stringValue":"ok"}'
        )

    path = played["double_auction"]
    assert figures(*again(path, form, tmp_path, accepted)) != figures(path)


# --- foreign runs -----------------------------------------------------------------------------------------------------


def told(path: Path) -> tuple[list[Any], dict[str, str], Any, list[Any]]:
    """All that a foreign trace says, in order, without numbers of events and times; roles, result, tools."""
    with open_trace(path) as trace:
        events = [
            {name: value for name, value in event.items() if name not in ("seq", "call", "revision", "result_ref")}
            for event in trace.decoded()
            if event["event"] in ("message", "tool_called")
        ]
        about = trace.manifest.about
        tools = [{name: value for name, value in tool.items() if name != "schema"} for tool in about["tools"]]
        roles = {seat.id: seat.role for seat in trace.manifest.core.seats}
        return events, roles, about["source"].get("passed"), tools


@by_format
@pytest.mark.parametrize("sample", [("chat.jsonl", lines(CHAT)), (OTEL.file, OTEL.content)], ids=["chat", "sub-agent"])
def test_a_foreign_run_is_exported_and_comes_back_word_for_word(
    tmp_path: Path, sample: tuple[str, bytes], form: str
) -> None:
    name, content = sample
    (tmp_path / name).write_bytes(content)
    import_files([tmp_path / name], tmp_path / "first")
    (path,) = (tmp_path / "first").glob("*.trace")
    back = again(path, form, tmp_path)
    if len(back) == 1:
        assert told(back[0]) == told(path)
    else:
        # A log of Inspect has a sample a seat.
        by_seat = {seat: [event for event in told(path)[0] if event["seat"] == seat] for seat in told(path)[1]}
        assert {told(trace)[0][0]["seat"]: told(trace)[0] for trace in back} == by_seat


@by_format
@pytest.mark.skipif("TRADEFAIR_DATA" not in os.environ, reason="TRADEFAIR_DATA names no sample data")
def test_exported_runs_have_the_findings_of_a_map(tmp_path: Path, form: str) -> None:
    desk = load_map(Path(__file__).parents[3] / "examples" / "audit" / "tau_retail.toml")
    import_files([Path(os.environ["TRADEFAIR_DATA"], "agentrx", "trajectories.jsonl")], tmp_path / "first")
    raised = 0
    for path in sorted((tmp_path / "first").glob("*.trace"))[::4]:
        (back,) = again(path, form, tmp_path / path.stem)
        found, before = (
            [(case.rule, case.step, case.tool, case.why) for case in judge(read_with(run, desk), desk).cases]
            for run in (back, path)
        )
        assert found == before
        raised += bool(found)
    assert raised


# --- names ------------------------------------------------------------------------------------------------------------

_DOTTED = re.compile(
    r"(gen_ai|mcp|jsonrpc|network|service|tradefair|openinference|llm|tool|tool_call|pydantic_ai|ai|traceloop)\.[a-z_.]+"
)


def test_an_attribute_of_spans_is_named_in_one_module() -> None:
    """Of all text constants of the package that are attribute names, docstrings left out."""
    package = Path(otlp_names.__file__).parents[1]
    known = {
        constant.value
        for constant in ast.walk(ast.parse(Path(otlp_names.__file__).read_text(encoding="utf-8")))
        if isinstance(constant, ast.Constant) and isinstance(constant.value, str) and _DOTTED.fullmatch(constant.value)
    }
    assert len(known) > 50
    found: defaultdict[str, set[str]] = defaultdict(set)
    for module in package.rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for name in known & {node.value, *node.value.split()}:
                    found[name].add(module.name)
    assert {name: modules for name, modules in found.items() if modules != {"otlp_names.py"}} == {}
