"""`tradefair gate`: what is red, what is green, and everything that must not be green."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as xml

import orjson
import pytest
from tests.programs import program
from tests.waiting import LONG

import tradefair.api as tf
from tradefair.cli import run
from tradefair.evaluation.reading import agent_seats
from tradefair.runner.gate.baseline import Baseline, read_baseline
from tradefair.runner.gate.gate_file import BASELINE, read_gate
from tradefair.runner.gate.gating import judged_player
from tradefair.runner.gate.sides import raised_in
from tradefair.tracestore import open_trace

SEEDS = "[1, 2, 3, 4, 5, 6, 7, 8]"
GATE = f'agent = "policy:half"\nscenarios = ["teaching/pie"]\nseeds = {SEEDS}\n'
AGENTS = """
from itertools import count
from tradefair.api import HarnessFailure, Refused

async def claims(seat, slices):
    async for turn in seat:
        await seat.call("claim", slices=slices)

async def fair(seat):
    await claims(seat, 5)

async def modest(seat):
    await claims(seat, 4)

async def silent(seat):
    async for turn in seat:
        pass

async def broken(seat):
    raise ValueError("no idea")

async def leaves(seat):
    raise SystemExit(0)

async def asks_in_vain(seat):
    async for turn in seat:
        try:
            await seat.call("claim", slices=99)
        except Refused:
            await seat.call("claim", slices=5)

async def no_provider(seat):
    raise HarnessFailure("provider: 429")

games = count()

async def provider_fails_once(seat):
    if next(games) == 3:
        raise HarnessFailure("provider: 429")
    await claims(seat, 5)

async def provider_fails_on_one_seed(seat):
    number = next(games)
    if number in (3, 4):
        raise HarnessFailure("provider: 429")
    await claims(seat, 5)

async def fickle(seat):
    await claims(seat, (0, 5, 5, 5)[next(games) % 4])

number = 3
"""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a gate, its agents and a baseline of `half`, which takes half of each pie."""
    folder = tmp_path_factory.mktemp("gate")
    (folder / "gate.toml").write_text(GATE)
    (folder / "agents.py").write_text(AGENTS)
    assert run(["gate", "record", str(folder / "gate.toml")]) == 0
    return folder


@pytest.fixture
def here(recorded: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, from where the commands are given."""
    folder = tmp_path / "gate"
    shutil.copytree(recorded, folder)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    return folder


def written(folder: Path, old: str, new: str) -> None:
    """Change the gate."""
    text = (folder / "gate.toml").read_text()
    assert old in text
    (folder / "gate.toml").write_text(text.replace(old, new))


def judging(name: str, *more: str) -> Callable[[Path], None]:
    """Another agent is judged, with further lines in the gate."""

    def changed(folder: Path) -> None:
        written(folder, "policy:half", f"agents.py:{name}")
        (folder / "gate.toml").write_text("\n".join([(folder / "gate.toml").read_text(), *more]) + "\n")

    return changed


def adding(*lines: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "gate.toml").write_text(GATE + "\n".join(lines) + "\n")


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def broken_baseline(folder: Path) -> None:
    (folder / BASELINE).write_text("{")


def changing(old: str, new: str) -> Callable[[Path], None]:
    return lambda folder: written(folder, old, new)


def resealed(**changes: Any) -> Callable[[Path], None]:
    """A baseline that was recorded otherwise, under a digest that fits."""

    def changed(folder: Path) -> None:
        baseline = read_baseline(folder / BASELINE)
        scenario = baseline.scenarios[0].model_copy(update=changes)
        made = baseline.model_copy(update={"scenarios": [scenario]})
        (folder / BASELINE).write_bytes(made.model_copy(update={"digest": made.sealed}).written())

    return changed


def edited(folder: Path) -> None:
    text = (folder / BASELINE).read_text()
    (folder / BASELINE).write_text(text.replace('"rewards":[', '"rewards":[1', 1))


class Way(NamedTuple):
    """What was changed, the exit code, and a part of what is said."""

    change: Callable[[Path], object]
    code: int
    said: str
    options: tuple[str, ...] = ()


WAYS = {
    # Usage: said before anything is played.
    "no file": Way(without("gate.toml"), 2, "tradefair gate init"),
    "no TOML": Way(adding("= 3"), 2, "not valid TOML"),
    "unknown key": Way(adding("sedes = 3"), 2, "sedes"),
    "unknown scenario": Way(changing("teaching/pie", "teaching/pi"), 2, "pie"),
    "unknown market": Way(changing("teaching/pie", "teching/pie"), 2, "did you mean teaching"),
    "unknown policy": Way(changing("policy:half", "policy:halve"), 2, "did you mean half"),
    "unknown framework": Way(changing("policy:half", "reakt"), 2, "did you mean react"),
    "nobody": Way(changing('agent = "policy:half"\n', ""), 2, "agent: required"),
    "no such file of code": Way(changing("policy:half", "missing.py:play"), 2, "cannot be loaded"),
    "no such function": Way(changing("policy:half", "agents.py:play"), 2, "cannot be loaded"),
    "no agent": Way(changing("policy:half", "agents.py:number"), 2, "int"),
    "too few seeds": Way(changing(SEEDS, "7"), 2, "seeds"),
    "a seed twice": Way(changing("[1, 2,", "[1, 1,"), 2, "twice"),
    "a scenario twice": Way(changing('["teaching/pie"]', '["teaching/pie", "teaching/pie"]'), 2, "twice"),
    "no margin": Way(adding('margin = "0 %"'), 2, "a loss of nothing"),
    "a margin in words": Way(adding('margin = "five"'), 2, "margin"),
    "unknown limit": Way(adding("[limits]", "never_act = 0"), 2, "did you mean never_acted"),
    "a limit below 0": Way(adding("[limits]", "never_acted = -1"), 2, "never_acted"),
    "a case that nothing breaks": Way(adding("[[case]]", 'trace = "a.trace"'), 2, "forbid or at_least"),
    "a case without a trace": Way(adding("[[case]]", 'trace = "a.trace"', "at_least = 1"), 2, "gate add"),
    "two baselines": Way(adding(), 2, "leave one out", ("--against", "policy:half", "--against-ref", "main")),
    # Baselines.
    "no baseline": Way(without(BASELINE), 2, "tradefair gate record"),
    "a baseline that is none": Way(broken_baseline, 2, "is no baseline"),
    "edited": Way(edited, 2, "changed by hand"),
    "other seeds": Way(changing("[1, 2,", "[11, 2,"), 2, "other seeds"),
    "another scenario": Way(changing("teaching/pie", "teaching/talk"), 2, "other scenarios"),
    "other rules": Way(resealed(rules="0"), 2, "under rules 0 of teaching, these are rules"),
    "another evaluator": Way(resealed(evaluator="0"), 2, "scored by evaluator 0"),
    "other values": Way(resealed(digest="0"), 2, "other values"),
    "other luck": Way(resealed(canary="0"), 2, "has changed, passive plays the first seed otherwise"),
    "other tools": Way(resealed(tools="0"), 2, "its tools are others"),
    "no better than doing nothing": Way(resealed(scale=0.0), 2, "no better than doing nothing"),
    # Worse.
    "less": Way(judging("modest"), 1, "23 % less"),
    "nothing done": Way(judging("silent", "[limits]", "never_acted = 0"), 1, "limit never_acted = 0: 1 of 1 game"),
    "an exception": Way(judging("broken", "[limits]", "broke_off = 0"), 1, "limit broke_off = 0: 1 of 1 game"),
    "leaving": Way(judging("leaves"), 1, "113 % less"),
    "refused calls": Way(judging("asks_in_vain", "[limits]", 'refused = "10 %"'), 1, "of 48, first in seed 1"),
    # Not known.
    "a provider that fails": Way(judging("no_provider"), 4, "8 of 8 games are missing (seed 1: provider: 429"),
    "a provider that fails on one seed": Way(
        judging("provider_fails_on_one_seed"), 4, "1 of 8 games is missing (seed 4: "
    ),
    "an agent that is two": Way(judging("fickle"), 4, "the margin is 5 %"),
    "a budget": Way(adding("[budget]", "episodes = 3"), 4, "budget.episodes = 3 is used up; the same command plays on"),
    "a share when the budget is used up": Way(
        judging("asks_in_vain", "[limits]", 'refused = "10 %"', "[budget]", "episodes = 3"), 4, "is used up"
    ),
    "a budget that nothing uses": Way(adding("[budget]", "tokens = 3"), 2, "no model call of policy:half is counted"),
}  # fmt: skip


@pytest.mark.parametrize("name", WAYS)
def test_what_must_not_be_green(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    way = WAYS[name]
    way.change(here)
    sys.modules.pop("agents", None)
    code = run(["gate", "run", *way.options])
    out, err = capsys.readouterr()
    said = " ".join((out + err).split())
    assert (code, way.said in said) == (way.code, True), said
    # What is wrong with the question is said before anything is played.
    assert code != 2 or not list((here / "runs" / "gate" / "agent").rglob("*.trace"))


@pytest.mark.parametrize("change", [adding(), judging("fair"), judging("provider_fails_once")])
def test_an_agent_that_plays_as_its_baseline_is_not_worse(
    change: Callable[[Path], object], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(here)
    sys.modules.pop("agents", None)
    assert run(["gate", "run"]) == 0
    assert "NOT WORSE · 8 games of teaching/pie: as much as the baseline" in capsys.readouterr().out


@pytest.mark.many
def test_a_gate_whose_budget_is_used_up_goes_on_where_it_was(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adding("[budget]", "episodes = 3")(here)
    assert [run(["gate", "run"]) for _ in range(3)] == [4, 4, 0]
    capsys.readouterr()
    assert run(["gate", "run", "--json"]) == 4
    found = orjson.loads(capsys.readouterr().out)
    assert (found["reason"], found["scenarios"][0]["games"]) == ("budget.episodes = 3 is used up", 3)
    # What is worse is worse within any budget.
    written(here, "policy:half", "agents.py:modest")
    written(here, "episodes = 3", "episodes = 6")
    assert run(["gate", "run"]) == 1


PROGRAMS = {
    "as its baseline": ("play()", 0, "NOT WORSE · 8 games"),
    "breaks off": ("play(1)\nsys.exit(3)", 1, "less"),
    "its limit": ("play(1)\nsys.exit(3)\n[limits]\nbroke_off = 0", 1, "limit broke_off = 0: 1 of 1 game"),
    "its provider fails": ("play(1)\nsys.exit(75)", 4, "exit code 75"),
    "fails once": ("play(1)\nonce()\nplay()", 0, "NOT WORSE · 8 games"),
    "never calls": ("sys.exit('no key')", 2, "it printed: no key. It has not called a tool"),
}
ONCE = """
def once():
    if not os.path.exists("failed"):
        open("failed", "w").close()
        sys.exit(75)
"""


@pytest.mark.network
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_is_judged_by_the_games_that_are_its_own(
    name: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, code, said = PROGRAMS[name]
    body, _, limits = whole.partition("\n[limits]")
    command = program(here, f"{ONCE}\n{body}")
    written(here, "policy:half", f"command:{command}")
    (here / "gate.toml").write_text((here / "gate.toml").read_text() + (f"[limits]{limits}\n" if limits else ""))
    found = run(["gate", "run"])
    out, err = capsys.readouterr()
    assert (found, said in " ".join((out + err).split())) == (code, True), out + err
    assert code != 2 or not list((here / "runs" / "gate" / "agent").rglob("*.trace"))


def test_what_a_program_was_yesterday_says_nothing_of_it_today(here: Path) -> None:
    place = read_gate(here / "gate.toml")
    players = [judged_player(place, f"command:{sys.executable} agent.py") for _ in range(2)]
    assert players[0].code != players[1].code
    assert players[0].folder == here


def test_a_worse_agent_is_told_where_it_left_the_way_and_machines_are_told_too(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(here / "summary.md"))
    judging("modest")(here)
    assert run(["gate", "run", "--json", "--junit", "gate.xml", "-o", "losses.csv"]) == 1
    out, err = capsys.readouterr()
    found = orjson.loads(out)
    assert (found["status"], found["exit_code"], found["reason"]) == ("worse", 1, "")
    (scenario,) = found["scenarios"]
    # Four fifths of what half of the same six pies was worth.
    assert scenario["own"] == pytest.approx(0.8 * scenario["baseline"])
    first = scenario["first_difference"]
    assert (first["round"], first["did"], first["baseline"]) == (
        1,
        [["claim", {"slices": 4}]],
        [["claim", {"slices": 5}]],
    )
    assert f"tradefair gate add {first['trace']}" in found["verdict"]
    assert (here / "summary.md").read_text().startswith("### Gate: worse\n")
    assert "::error title=tradefair gate::WORSE · teaching/pie" in err
    rows = [line.split(",") for line in (here / "losses.csv").read_text().splitlines()]
    assert [float(row[2]) for row in rows if row[0] == "one game"] == [100 * loss for loss in scenario["losses"]]
    (end,) = (row for row in rows if row[0] == "mean loss" and row[1] == str(scenario["games"]))
    assert float(end[2]) == pytest.approx(100 * scenario["loss"])


# Elements of Jenkins' schema of JUnit files with the attributes that they may have, and those that they must have.
JUNIT = {
    "testsuites": ("name time tests failures disabled errors", ""),
    "testsuite": ("name tests failures errors time disabled skipped timestamp hostname id package", "name tests"),
    "testcase": ("name assertions time classname status", "name"),
    "failure": ("type message", ""),
    "error": ("type message", ""),
}


def test_machines_are_told_in_the_words_of_their_schema(here: Path) -> None:
    judging("asks_in_vain", "[limits]", "refused = 0", "never_acted = 0")(here)
    assert run(["gate", "run", "--junit", "gate.xml"]) == 1
    root = xml.parse(here / "gate.xml").getroot()
    for element in root.iter():
        allowed, needed = JUNIT[element.tag]
        assert set(needed.split()) <= set(element.attrib) <= set(allowed.split())
    for suite in root:
        counted = [len(suite.findall("testcase")), *(len(suite.findall(f"*/{kind}")) for kind in ("failure", "error"))]
        assert counted == [int(suite.attrib[name]) for name in ("tests", "failures", "errors")]
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("errors")) for suite in root] == [
        ("teaching/pie", "1", "0", "1"),
        ("limits", "2", "1", "0"),
    ]


def test_an_agent_is_held_against_its_own_code_at_a_commit_and_the_tree_stays_as_it_is(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def git(*words: str) -> str:
        author = ["-c", "user.name=n", "-c", "user.email=n@example.org"]
        return subprocess.run(["git", *author, *words], check=True, capture_output=True, text=True, timeout=LONG).stdout

    git("init", "-q", "-b", "main")
    (here / BASELINE).unlink()
    (here / "own.py").write_text("from agents import fair as play\n")
    (here / ".gitignore").write_text("__pycache__\n")
    git("add", "own.py", "agents.py", ".gitignore")
    git("commit", "-qm", "one")
    # The question is today's: neither the gate nor its secret is in the commit.
    (here / "own.py").write_text("from agents import modest as play\n")
    assert run(["seeds", "new", "-o", "secret.toml", "--count", "8"]) == 0
    (here / "gate.toml").write_text(GATE.replace("policy:half", "own.py:play").replace(SEEDS, '"sealed:secret.toml"'))
    before = git("status", "--short")
    assert run(["gate", "run", "--against-ref", "main"]) == 1
    assert "own.py:play earned" in capsys.readouterr().out
    assert (git("status", "--short"), len(git("worktree", "list").splitlines())) == (before, 1)
    assert not (here / BASELINE).exists()
    assert run(["gate", "run", "--against-ref", "gone"]) == 2
    assert "there is no such commit here" in " ".join(capsys.readouterr().err.split())


@pytest.mark.many
def test_a_game_that_became_a_case_is_broken_until_it_is_played_better(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judging("modest")(here)
    assert run(["gate", "run"]) == 1
    trace = next((here / "runs" / "gate" / "agent" / "teaching-pie").glob("*.trace"))
    assert run(["gate", "add", str(trace), "--as", "modest"]) == 0
    (case,) = read_gate(here / "gate.toml").gate.case
    assert (case.trace, case.at_least is not None or case.forbid != []) == ("gate_cases/modest.trace", True)
    capsys.readouterr()
    assert run(["gate", "run"]) == 1
    assert "WORSE · case gate_cases/modest.trace: " in capsys.readouterr().out
    written(here, "agents.py:modest", "policy:half")
    assert run(["gate", "run"]) == 0
    assert "1 case passed." in capsys.readouterr().out


def test_what_the_recorded_opening_shows_is_no_mistake_of_the_agent(here: Path) -> None:
    judging("asks_in_vain")(here)
    assert run(["gate", "run"]) in (0, 1)
    path = next((here / "runs" / "gate" / "agent" / "teaching-pie").glob("*.trace"))
    with open_trace(path) as trace:
        trace.hold()
        seats = agent_seats(trace.seating())
        raised = dict(raised_in(trace, seats))
        assert raised
        assert dict(raised_in(trace, seats, since=max(raised.values()))).keys() == raised.keys()
        end = 1 + max(event.seq for event in trace.events())
        assert dict(raised_in(trace, seats, since=end)) == {}


def test_a_game_that_was_changed_meanwhile_is_played_again(here: Path) -> None:
    judging("provider_fails_on_one_seed")(here)
    sys.modules.pop("agents", None)
    assert run(["gate", "run"]) == 4
    kept = here / "runs" / "gate" / "agent" / "teaching-pie"
    before = {path.name: path.read_bytes() for path in kept.glob("*.trace")}
    assert len(before) == 7
    shutil.copyfile(kept / "2.trace", kept / "1.trace")
    # The same command plays what is missing, and what is not what it should be.
    assert run(["gate", "run"]) == 0
    after = {path.name: path.read_bytes() for path in kept.glob("*.trace")}
    assert {name for name in after if after[name] != before.get(name)} == {"1.trace", "4.trace"}
    with open_trace(kept / "1.trace") as trace:
        assert trace.manifest.core.seed == 1


@pytest.mark.many
def test_code_is_judged_without_files_against_a_policy(tmp_path: Path) -> None:
    async def modest(seat: tf.Seat) -> None:
        async for _ in seat:
            await seat.call("claim", slices=4)

    found = tf.gate(
        agent=modest, against="policy:half", scenarios=["teaching/pie"], seeds=list(range(1, 9)), folder=tmp_path
    )
    assert (found.status, found.exit_code, found.scenarios[0].games) == ("worse", 1, 6)
    assert found.verdict.startswith("WORSE · teaching/pie, after 6 of 8 games\nmodest ")


@pytest.mark.many
def test_the_file_of_a_baseline_has_a_line_a_game_and_comes_back_as_it_was(here: Path) -> None:
    content = (here / BASELINE).read_bytes()
    lines = content.splitlines()
    assert sum(line.startswith(b'{"seed":') for line in lines) == 8
    assert Baseline.model_validate_json(content).written() == content
    assert run(["gate", "record"]) == 0
    again = read_baseline(here / BASELINE)
    assert (
        again.scenarios == read_baseline(here / BASELINE).scenarios == Baseline.model_validate_json(content).scenarios
    )


@pytest.mark.many
def test_nothing_is_measured_by_a_baseline_that_does_nothing(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written(here, "policy:half", "policy:passive")
    assert run(["gate", "record"]) == 2
    assert "write an amount, such as margin = 3.5 (points)" in " ".join(capsys.readouterr().err.split())


def test_init_writes_a_gate_that_can_be_recorded_and_never_over_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["gate", "init"]) == 0
    assert read_gate(Path("gate.toml")).gate.agent.startswith("policy:")
    assert run(["gate", "init", "--agent", 'a"b']) == 2
    assert run(["gate", "init"]) == 2
    assert "gate.toml exists" in capsys.readouterr().err
