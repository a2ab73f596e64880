"""The conformance kit finds what is wrong with a market: one deliberately broken market per check.

Also here:
- `tradefair check`: exit codes, names with a hint, JSON, snapshots.
- A seat of a fresh episode as an MCP client in this process, and whole episodes without any host.
- `tradefair new-market`: the copy plays, verifies, is scored and keeps the contract; bad names are refused.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest
from tests.testing.foreign import SCENARIO, BoxType, MintsMoney, Passive
from tests.waiting import LONGER

from tradefair import catalog
from tradefair.catalog import load_scenario, market_listing
from tradefair.catalog.listing import LISTING
from tradefair.cli import run
from tradefair.contract import (
    Closure,
    Draw,
    IllegalAction,
    Params,
    PolicySpec,
    Result,
    ScenarioError,
    SeatError,
    SeatId,
    ToolCall,
    ToolTable,
    Turns,
    TurnView,
    tool,
)
from tradefair.teaching import MARKET
from tradefair.teaching.rules import Pie
from tradefair.testing import (
    CHECKS,
    Bench,
    Failure,
    check_command,
    check_market,
    new_market,
    play_scripted,
    schema_snapshot,
    snapshot_bytes,
)
from tradefair.testing.checks import declarations
from tradefair.testing.client import open_seat

PieType = type(MARKET)


class Seen(Result):
    seen: Any


@tool("read", title="Leaks the other's value")
def leak_value(market: Pie, seat: SeatId) -> Seen:
    """Everybody's values."""
    return Seen(seen=sum(market.values.values()))


@tool("read", title="Leaks what the other sealed")
def leak_sealed(market: Pie, seat: SeatId) -> Seen:
    """Everything that is sealed."""
    return Seen(seen=[market.sealed.get(other) for other in sorted(market.seats)])


@tool("action", title="Leaks in its refusal")
def leak_refusal(market: Pie, seat: SeatId) -> Seen:
    """Is refused with a secret."""
    raise IllegalAction("unknown_id", f"values are {sorted(market.values.values())}")


@tool("action", title="Leaks the order of arrival")
def claim(market: Pie, seat: SeatId, *, slices: int) -> Seen:
    """Claim, and learn how many have claimed."""
    market.claim(seat, slices)
    return Seen(seen=len(market.sealed))


@tool("action", title="Answers with a number that JSON readers lose")
def huge_claim(market: Pie, seat: SeatId, *, slices: int) -> Seen:
    """Claim."""
    market.claim(seat, slices)
    return Seen(seen=2**70 + 1)


@tool("action", title="Is refused though it is open", open=lambda market, seat: True)
def early_claim(market: Pie, seat: SeatId, *, slices: int) -> Seen:
    """Claim, with the check of the phase in the rules."""
    if market.clock.phase != "claim":
        raise IllegalAction("wrong_phase", "not yet")
    market.claim(seat, slices)
    return Seen(seen=None)


@tool("action", title="Is taken out of turn")
def claim_again(market: Pie, seat: SeatId, *, slices: int) -> Seen:
    """Claim as often as you like."""
    market.sealed[seat] = slices
    return Seen(seen=None)


def _opened_late(market: Pie, seat: SeatId) -> bool:
    market.payoffs[seat] += 1
    return market.clock.phase == "claim"


@tool("action", title="Leaks through what is open", open=lambda market, seat: len(market.sealed) == 0)
def claim_first(market: Pie, seat: SeatId, *, slices: int) -> Seen:
    """Claim, before anybody else has."""
    market.claim(seat, slices)
    return Seen(seen=None)


@tool("read", title="Changes the state")
def nudge(market: Pie, seat: SeatId) -> Seen:
    """A read that pays."""
    market.payoffs[seat] += 1
    return Seen(seen=None)


@tool("read", title="Counts its readers")
def count_reads(market: Pie, seat: SeatId) -> Seen:
    """A read that remembers, outside the digest."""
    reads = vars(market).setdefault("_reads", [0])
    reads[0] += 1
    return Seen(seen=reads[0])


@tool("action", title="Changes the state and refuses")
def half_refuse(market: Pie, seat: SeatId) -> Seen:
    """Too late."""
    market.values[seat] += 1
    raise IllegalAction("insufficient_funds", "no")


@tool("read", title="Too much by default")
def flood(market: Pie, seat: SeatId) -> Seen:
    """Very long."""
    return Seen(seen="x" * 9_000)


@tool("read", title="Fails")
def crash(market: Pie, seat: SeatId) -> Seen:
    """Fails."""
    raise KeyError("a bug")


def _with(*tools: Any) -> ToolTable:
    """The teaching market's tools, those of the same name replaced."""
    return ToolTable(*{**MARKET.tools, **{item.name: item for item in tools}}.values())


def _table(*tools: Any) -> Any:
    class Kind(PieType):
        pass

    Kind.tools = _with(*tools)
    return Kind()


class _Remembering(Pie):
    made = 0

    def __init__(self, scenario: Any, seed: int) -> None:
        super().__init__(scenario, seed)
        type(self).made += 1
        self.values["P1"] = 1 + type(self).made % 9


def _rules(market: type[Pie]) -> Any:
    class Kind(PieType):
        def create(self, scenario: Any, seed: int) -> Pie:
            return market(scenario, seed)

    return Kind()


class _Blind(PieType):
    def perturb_private(self, market: Pie, seat: SeatId, salt: int) -> Pie:
        return market


class _Clumsy(PieType):
    def perturb_private(self, market: Pie, seat: SeatId, salt: int) -> Pie:
        twin = market.perturbed(seat, salt)
        market.values, twin.values = twin.values, dict(market.values)
        return twin


class _Greedy:
    def turn(self, now: TurnView) -> Turns:
        if now.phase == "talk":
            yield ToolCall("say", {"text": ""})
        yield ToolCall("claim", {"slices": 999})


class _Falling:
    def turn(self, now: TurnView) -> Turns:
        yield ToolCall("view_turn")
        raise ValueError("a bug")


def _policy(policy: Callable[[], Any]) -> Any:
    def make(params: Params, draw: Draw) -> Any:
        return policy()

    class Kind(PieType):
        policies = {"random_legal": PolicySpec("random_legal", make, frozenset({"eater"}))}  # noqa: RUF012

    return Kind()


class _Endless(Pie):
    def advance(self) -> Closure:
        closure = super().advance()
        if closure.kind == "round" and len(self.rows) == 3:
            self.terminated = "truncated:bored"
        return closure


BROKEN: list[tuple[str, Any, str]] = [
    ("non_interference", _table(leak_value), "P1 at event .*leak_value.*before others act"),
    ("non_interference", _table(leak_sealed), "leak_sealed"),
    ("non_interference", _table(leak_refusal), "leak_refusal.*in its own turn"),
    ("non_interference", _table(claim), "claim.*as last and as first"),
    ("non_interference", _Blind(), "nothing was put to the test"),
    ("non_interference", _Clumsy(), "perturb_private changed the market that it was given"),
    ("non_interference", _table(crash), "crash.*failed: KeyError"),
    ("reads_change_nothing", _table(nudge), "nudge.* changed the state"),
    ("reads_change_nothing", _table(count_reads), "count_reads.* answered differently when repeated"),
    ("reads_change_nothing", _table(crash), "crash.*failed: KeyError"),
    ("refusals_change_nothing", _table(half_refuse), "half_refuse.* was rejected and yet changed the state"),
    ("open_actions_are_taken", _table(replace(early_claim, name="claim")), "claim of P. was refused as wrong_phase"),
    ("open_actions_are_taken", _table(replace(claim_again, name="claim")), "claim of P. was accepted though"),
    ("open_actions_are_taken", _table(replace(MARKET.tools["claim"], open=_opened_late)), "when re-executed"),
    ("non_interference", _table(claim_first), "claim_first|view_turn"),
    ("default_results_are_small", _table(flood), "flood of P. took 90.. bytes; 8192 are allowed"),
    ("replay_is_identical", _rules(_Remembering), "event .*: "),
    ("random_legal_finishes", _policy(Passive), "never took an action"),
    ("random_legal_finishes", _policy(_Greedy), "random_legal was refused in round 1: claim.*too_many_slices"),
    ("random_legal_finishes", _policy(_Falling), "cannot be played: .*a bug"),
    ("random_legal_finishes", _rules(_Endless), "the episode ended as truncated:bored"),
    ("call_keys", _table(replace(huge_claim, name="claim")), "claim repeated in flight"),
    ("call_keys", _policy(Passive), "took no action in seat P1"),
]


def _bench(market: Any) -> Bench:
    scenarios = [load_scenario("teaching", name) for name in ("pie", "talk")]
    return Bench(market, scenarios=scenarios, seeds=(1, 2), services={"appraisal": lambda payload: "fine"})


@pytest.mark.many
@pytest.mark.parametrize(("check", "market", "complaint"), BROKEN)
def test_a_broken_market_is_found_out(check: str, market: Any, complaint: str) -> None:
    failures = CHECKS[check](_bench(market))
    assert failures
    assert {failure.check for failure in failures} == {check}
    assert any(_matches(complaint, failure) for failure in failures), list(map(str, failures))


def _matches(complaint: str, failure: Failure) -> bool:
    return re.search(complaint, failure.message) is not None


@pytest.mark.many
@pytest.mark.parametrize("check", [name for name in CHECKS if name != "determinism"])
def test_a_sound_market_passes_each_check_on_its_own(check: str) -> None:
    assert CHECKS[check](_bench(MARKET)) == []


_HASHING = """
from tradefair.contract.market import Closure
from tradefair.teaching import MARKET
from tradefair.teaching.rules import Pie


class {name}Pie(Pie):
    def advance(self) -> Closure:
        {body}
        return super().advance()


class {name}(type(MARKET)):
    def create(self, scenario, seed):
        return {name}Pie(scenario, seed)
"""


@pytest.fixture
def importable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], Any]:
    """Makes a market of a module that other processes can import too."""
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])

    def make(name: str, body: str) -> Any:
        (tmp_path / f"{name.lower()}.py").write_text(_HASHING.format(name=name, body=body))
        return getattr(importlib.import_module(name.lower()), name)()

    return make


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("ByHash", 'self.values["P1"] = 1 + hash("P1") % 1000'),
        ("BySet", 'self.values["P1"] = int("".join(str(ord(c) % 10) for c in {"a", "b", "c", "d", "e", "f", "g"}))'),
        ("ByProcess", 'import os; self.values["P1"] = os.getpid()'),
    ],
)
@pytest.mark.process
def test_what_depends_on_hashes_or_the_process_is_found_out(
    importable: Callable[[str, str], Any], name: str, body: str
) -> None:
    bench = Bench(importable(name, body), scenarios=[load_scenario("teaching", "pie")], seeds=(1,))
    failures = CHECKS["determinism"](bench)
    assert failures
    assert "PYTHONHASHSEED=" in failures[0].message


@pytest.mark.process
def test_a_market_that_other_processes_can_import_and_play_is_deterministic(
    importable: Callable[[str, str], Any],
) -> None:
    bench = Bench(importable("Sound", "pass"), scenarios=[load_scenario("teaching", "pie")], seeds=(1,))
    assert CHECKS["determinism"](bench) == []


def test_a_market_that_no_other_process_can_import_is_named() -> None:
    class Local(PieType):
        pass

    bench = Bench(Local(), scenarios=[load_scenario("teaching", "pie")], seeds=(1,))
    (failure,) = CHECKS["determinism"](bench)
    assert "no other process can be given the market" in failure.message


@pytest.mark.many
def test_a_tool_that_needs_an_unknown_service_is_left_out() -> None:
    assert check_market(MARKET, only=["reads_change_nothing", "non_interference"], seeds=(1,)) == []


def test_what_could_not_be_played_is_reported_whatever_was_asked_for() -> None:
    failures = check_market(_policy(_Falling), only=["conservation"], seeds=(1,))
    assert [failure.check for failure in failures] == ["random_legal_finishes"] * 2
    assert str(failures[0]).startswith("random_legal_finishes (teaching/pie, seed 1): cannot be played")


def test_an_unknown_check_is_no_check() -> None:
    with pytest.raises(KeyError):
        check_market(MARKET, only=["luck"])


def test_the_snapshot_shows_what_agents_see_of_the_tools(tmp_path: Path) -> None:
    path = tmp_path / "teaching.json"
    (missing,) = schema_snapshot(MARKET, path)
    assert "does not exist; write it: tradefair check teaching --write teaching.json" in missing.message
    path.write_bytes(snapshot_bytes(MARKET))
    assert schema_snapshot(MARKET, path) == []
    path.write_bytes(snapshot_bytes(MARKET).replace(b'"maximum": 1000', b'"maximum": 999', 1))
    (changed,) = schema_snapshot(MARKET, path)
    assert '"maximum": 999 in the file and "maximum": 1000' in changed.message.replace(",", "")
    path.write_bytes(snapshot_bytes(MARKET)[:-20])
    assert len(check_market(MARKET, only=[], seeds=(1,), snapshot=path)) == 1


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_a_seat_is_played_to_the_end_through_a_client(mode: Literal["auto", "legacy"]) -> None:
    async with open_seat(MARKET, load_scenario("teaching", "pie"), "P1", others="half", mode=mode) as seat:
        for number in (1, 2, 3):
            result = await seat.client.call_tool("claim", {"slices": 5})
            assert result.structured_content == {"round": number, "sealed": "claim"}
        assert seat.episode.core.ended == "terminated:rounds_completed"
        refused = await seat.client.call_tool("claim", {"slices": 5})
        assert refused.is_error


async def test_unknown_seats_and_policies_are_refused() -> None:
    scenario = load_scenario("teaching", "pie")
    with pytest.raises(SeatError):
        async with open_seat(MARKET, scenario, "P3"):
            pass
    with pytest.raises(ScenarioError, match="no policy 'kaplan'"):
        async with open_seat(MARKET, scenario, "P1", others="kaplan"):
            pass


def test_episodes_of_policies_are_played_in_memory() -> None:
    scenario = load_scenario("teaching", "talk")
    played = play_scripted(MARKET, scenario, 3, {"P1": "half(greed=1)", "eater": "random_legal"})
    assert played.core.ended == "terminated:rounds_completed"
    assert played.head == play_scripted(MARKET, scenario, 3, {"P1": "half(greed=1)", "eater": "random_legal"}).head
    assert played.head != play_scripted(MARKET, scenario, 3).head
    with pytest.raises(ScenarioError):
        play_scripted(MARKET, scenario, 3, {"P1": "half"})


def test_a_played_episode_can_be_taken_up_at_every_decision() -> None:
    played = play_scripted(MARKET, load_scenario("teaching", "pie"), 3)
    assert len(played.places) == 3 * 4
    for place in played.places:
        core = played.at(place)
        assert core.seq == place
        assert core.market.awaited()
    assert played.spread(3) == [played.places[0], played.places[5], played.places[-1]]
    assert played.spread(100) == played.places


QUICK = ["--only", "conservation", "--only", "keeps_the_protocol"]


def test_a_sound_market_keeps_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "teaching", *QUICK]) == 0
    assert "keeps the contract (2 checks)" in capsys.readouterr().out


def _one_scenario(kind: object, slow: bool = False) -> list[object]:
    return [SCENARIO]


@pytest.fixture
def minting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command finds a market that makes money under the name of another."""
    kind = BoxType()
    kind.rules = MintsMoney

    def found(name: str) -> BoxType:
        return kind

    monkeypatch.setattr(check_command, "market_type", found)
    monkeypatch.setattr("tradefair.testing.bench.bundled_scenarios", _one_scenario)


@pytest.mark.usefixtures("minting")
def test_findings_are_lines_and_exit_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "teaching", *QUICK]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "conservation (box/three, seed 1): round 1: money was made"
    assert lines[-1] == "teaching 1: 3 failures in 2 checks"


@pytest.mark.usefixtures("minting")
def test_json_lists_the_checks_with_their_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "teaching", "--json", *QUICK]) == 1
    content = json.loads(capsys.readouterr().out)
    assert content["passed"] is False
    assert [entry["name"] for entry in content["checks"]] == ["conservation", "keeps_the_protocol"]
    assert content["checks"][0]["failures"][0] == {
        "check": "conservation",
        "scenario": "box/three",
        "seed": 1,
        "message": "round 1: money was made",
    }
    assert content["checks"][1] == {
        "name": "keeps_the_protocol",
        "sentence": CHECKS["keeps_the_protocol"].sentence,
        "passed": True,
        "failures": [],
    }


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["teachin"], "there is no market 'teachin'; did you mean teaching?"),
        (["zzz"], "there are bargaining, double_auction"),
        (["teaching", "--only", "determinist"], "there is no check 'determinist'; did you mean determinism?"),
    ],
)
def test_unknown_names_come_with_a_hint(arguments: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", *arguments]) == 2
    assert hint in capsys.readouterr().err


def test_a_market_that_cannot_be_imported_is_a_matter_of_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(name: str) -> None:
        raise NameError("name 'Pie' is not defined")

    monkeypatch.setattr(check_command, "market_type", broken)
    assert run(["check", "teaching"]) == 2
    assert "the market teaching cannot be loaded: raised NameError: name 'Pie'" in capsys.readouterr().err


def test_a_snapshot_is_recorded_and_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "teaching.json"
    assert run(["check", "teaching", "--write", str(path)]) == 0
    assert run(["check", "teaching", "--snapshot", str(path), *QUICK]) == 0
    path.write_text(path.read_text().replace("slices", "pieces"))
    assert run(["check", "teaching", "--snapshot", str(path), *QUICK]) == 1
    assert "--write teaching.json" in capsys.readouterr().out


def test_a_listing_is_written_as_the_package_has_it(tmp_path: Path) -> None:
    path = tmp_path / LISTING
    assert run(["check", "teaching", "--write", str(path)]) == 0
    assert path.read_bytes() == files("tradefair.teaching").joinpath(LISTING).read_bytes()


def test_a_listing_that_says_something_else_is_found(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = market_listing("teaching")._replace(title="three seats divide a pie")
    monkeypatch.setattr(declarations, "market_listing", {"teaching": stale}.__getitem__)
    assert run(["check", "teaching", "--only", "listing_is_current"]) == 1
    assert "tradefair check teaching --write listing.toml" in capsys.readouterr().out


def test_progress_is_on_stderr(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check_command, "_QUIET_S", -1.0)
    assert run(["check", "teaching", *QUICK]) == 0
    assert capsys.readouterr().err == "check 1 of 2: conservation\ncheck 2 of 2: keeps_the_protocol\n"


def test_every_check_is_data_with_a_sentence() -> None:
    assert [check.name for check in CHECKS.values()] == list(CHECKS)
    assert [name for name, check in CHECKS.items() if not check.sentence or check.sentence.endswith(".")] == []
    assert next(iter(CHECKS)) == "keeps_the_protocol"


def test_the_guide_lists_every_check_in_its_order() -> None:
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "writing-a-market.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \|$", page.partition("## 7. Prove it")[2], re.MULTILINE)
    assert rows == [check.name for check in CHECKS.values()]


NAME = "cake_2"
_EXPECTED = {
    "README.md",
    "pyproject.toml",
    f"tests/test_{NAME}.py",
    *(f"{NAME}/{room}" for room in ("__init__.py", "model.py", "rules.py", "views.py", "tools.py", "policies.py")),
    *(f"{NAME}/{room}" for room in ("README.md", "py.typed", "scenarios/pie.toml", "evaluation/evaluator.py")),
}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    new_market(NAME, tmp_path)
    return tmp_path / NAME


@pytest.fixture
def installed(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The copy as an installed package: on the path, with the entry points of its pyproject.toml."""
    information = made / f"{NAME}-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 0.1.0\n")
    lines = (made / "pyproject.toml").read_text().splitlines()
    points = [
        line.replace('project.entry-points."', "").replace('"', "")
        for line in lines
        if "tradefair." in line or ":" in line
    ]
    (information / "entry_points.txt").write_text("\n".join(points))
    monkeypatch.setattr(sys, "path", [str(made), *sys.path])
    # Other processes of the kit and of `compare` find it too.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(made), os.environ.get("PYTHONPATH", "")]))
    _forget()
    yield made
    monkeypatch.undo()
    _forget()
    for name in [name for name in sys.modules if name.partition(".")[0] == NAME]:
        del sys.modules[name]


def _forget() -> None:
    catalog._found.cache_clear()  # pyright: ignore[reportPrivateUsage]
    catalog.market_type.cache_clear()


def test_the_package_has_the_rooms_of_a_market_and_nothing_of_the_model(made: Path) -> None:
    files = {path.relative_to(made).as_posix(): path for path in made.rglob("*") if path.is_file()}
    assert set(files) >= _EXPECTED
    # What was measured of the model says nothing of its copy.
    assert not any(path.endswith(".pyc") or "/references/" in path for path in files)
    texts = {name: path.read_text() for name, path in files.items() if name != "README.md"}
    left = [name for name, text in texts.items() if "eaching" in text or "Pie" in text]
    assert left == []
    assert "class Cake2(" in texts[f"{NAME}/rules.py"]
    assert 'version = "1"' in texts[f"{NAME}/tools.py"]


def test_the_command_prints_the_files_and_what_to_do_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new-market", NAME]) == 0
    out = capsys.readouterr().out
    assert f"{NAME}/{NAME}/rules.py\n" in out
    assert out.endswith(f"Next:\n  pip install -e {NAME}\n  tradefair check {NAME}\n  tradefair play {NAME}\n")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("Cake", "a small letter, then"),
        ("c", "a small letter, then"),
        ("c" * 42, "a small letter, then"),
        ("cake-2", "a small letter, then"),
        ("../cake", "a small letter, then"),
        ("lambda", "a keyword of Python"),
        ("retail", "there is a market 'retail' already"),
        ("json", "`import json` finds another package"),
        ("tradefair", "`import tradefair` finds another package"),
        ("pydantic", "`import pydantic` finds another package"),
        ("tests", "`import tests` finds another package"),
        ("chance", "its class would be called Chance, which is another class already"),
    ],
)
def test_a_name_that_cannot_be_used_is_refused_before_anything_is_written(
    name: str, complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["new-market", name, "--into", str(tmp_path)]) == 2
    assert complaint in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_an_existing_folder_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / NAME).mkdir()
    assert run(["new-market", NAME, "--into", str(tmp_path)]) == 2
    assert "exists already" in capsys.readouterr().err
    assert run(["new-market", NAME, "--into", str(tmp_path / "none")]) == 2
    assert "is no folder" in capsys.readouterr().err
    assert list((tmp_path / NAME).iterdir()) == []


@pytest.mark.process
def test_the_copy_keeps_the_contract_plays_and_is_scored(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["check", NAME, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"]
    for command in _COMMANDS:
        assert run(command) == 0, command
    capsys.readouterr()
    assert run(["evaluate", "a", "--json"]) == 0
    scored = json.loads(capsys.readouterr().out)["traces"][0]["outcome"]
    assert (scored["market"], scored["rules_version"]) == (NAME, "1")
    assert scored["seats"]["P1"]["payoff"] > 0


_COMMANDS = (
    ["play", NAME, "--seed", "1", "--out", "a"],
    ["play", NAME, "--seed", "1", "--out", "b", "--agent", "policy", "--model", "policy:random_legal"],
    ["verify", "a", "b"],
    ["compare", "a", "b"],
    ["report", "a", "-o", "a.html"],
    ["show", "tools", NAME],
    ["show", "policies", NAME],
    ["show", "scenarios", NAME],
)


def test_the_copy_works_installed_in_an_environment_of_its_own(made: Path, tmp_path: Path) -> None:
    """`pip install -e` and the commands as a user types them; what is installed here is seen from there."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=LONGER)
    python = tmp_path / "venv" / ("Scripts" if os.name == "nt" else "bin") / "python"
    (site,) = (tmp_path / "venv").rglob("site-packages")
    (site / "here.pth").write_text(f"import site; site.addsitedir({sysconfig.get_path('purelib')!r})\n")

    # The packages lent to it have programs, too: the sandbox looks for its own beside Python, then on the path.
    path = os.pathsep.join((sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)))

    def call(*command: str) -> str:
        done = subprocess.run(
            [str(python), "-m", *command],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=LONGER,
            check=False,
        )
        assert done.returncode == 0, (command, done.stderr[-2_000:])
        return done.stdout

    call("pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "-e", str(made))
    assert "keeps the contract" in call("tradefair.cli", "check", NAME)
    for command in _COMMANDS:
        call("tradefair.cli", *command)
    assert '"payoff"' in call("tradefair.cli", "evaluate", "a", "--json")
    call("pytest", "-q", str(made / "tests"), "-p", "no:cacheprovider")
