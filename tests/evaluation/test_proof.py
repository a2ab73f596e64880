"""Forged traces of a game that was won against a weaker rival: no table counts one, and honest traces all count."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.cli.test_audit_commands import Shell
from tests.cli.test_audit_commands import shell as shell
from tests.corpus.forge import Forge
from tests.evaluation.arena.conftest import Bundle, arena_of
from tests.evaluation.arena.test_arena import toml_of
from tests.evaluation.playing import played_by
from tests.evaluation.ratings.playing import play_seats

from tradefair.contract import TraceError
from tradefair.contract.errors import INTERNAL_ERROR
from tradefair.contract.kernel.players import Seating
from tradefair.evaluation.arena.check import check_entry, pack
from tradefair.evaluation.hands import changed_hands, handovers
from tradefair.evaluation.prove.verify import verify_file
from tradefair.evaluation.reading import shown_seating
from tradefair.evaluation.report import build_report
from tradefair.evaluation.site.build import build_site
from tradefair.evaluation.site.plan import Wanted
from tradefair.evaluation.viewer.row import row_of
from tradefair.tracestore import WRITTEN_BY, open_trace

SCENARIO, AGENT, RIVAL = "bargaining/pact", "B1", "S1"
POLICIES = {"strong": "linear_concession", "weak": "truthful"}
_STRONG = {"policy": POLICIES["strong"], "label": f"policy:{POLICIES['strong']}"}
_IN_THE_SENTENCE = ("origin_unknown", "changed_hands", "values_untrue")
FORGED: Mapping[str, Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("forged_games.toml").read_text())


def forged(path: Path, target: Path, case: Mapping[str, Any]) -> Path:
    """The game with what forged_games.toml says of a case."""
    forge = Forge.load(path)
    seating: dict[str, Any] = forge.event(1)["seating"]
    start = dict(case.get("start", {}))
    fields = {RIVAL: _STRONG if case.get("strong") else {}}
    for seat, more in start.pop("players", {}).items():
        fields[seat] = {**fields.get(seat, {}), **more}
    players = {seat: _player(player, fields.get(seat, {})) for seat, player in seating["players"].items()}
    seating |= {"written_by": WRITTEN_BY, **start, "players": players}
    forge.change(1, seating=seating)
    for change in case.get("seated", ()):
        _seat(forge, seating, **change)
    if "failed" in case:
        error = dict(zip(("code", "message", "hint", "retryable"), INTERNAL_ERROR, strict=True))
        nothing = dict.fromkeys(("result", "result_ref", "result_digest", "result_size", "refs"))
        forge.change(forge.seq_of(case["failed"], seat=RIVAL, kind="read"), status="failed", error=error, **nothing)
    if "argument" in case:
        place: int = case["argument"]
        seq, name, value = list(_whole_numbers(forge))[place]
        forge.change(seq, arguments={**forge.event(seq)["arguments"], name: float(value)})
    for event, row in case.get("side", {}).items():
        forge.side[int(event) - 1] |= row
    forge.about |= case.get("about", {})
    forge.notes += [(seat, record.encode()) for seat, record in case.get("notes", ())]
    return forge.save(target)


def _whole_numbers(forge: Forge) -> Iterator[tuple[int, str, int]]:
    for seq, event in forge.events():
        arguments: dict[str, Any] = event.get("arguments") or {}
        if event.get("seat") == RIVAL and event.get("kind") == "action":
            yield from ((seq, name, value) for name, value in arguments.items() if isinstance(value, int))


def _player(player: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    made = {**player, **fields}
    # TOML has no null: "" names no policy.
    return {**made, "policy": made["policy"] or None}


def _seat(forge: Forge, first: Mapping[str, Any], at: int, seat: str = RIVAL, **said: Any) -> None:
    place = at if at > 0 else [number for number, event in forge.events() if event["event"] == "tool_called"][at]
    fields = _STRONG if said.pop("strong", False) else said.pop("player", {})
    seating: dict[str, Any] = {
        **first,
        "players": {seat: _player(first["players"][seat], fields)},
        "compared": [],
        "origin": None,
        **said,
    }
    head = {name: forge.event(place)[name] for name in ("round", "phase", "revision")}
    forge.insert(place, {"seq": 0, "event": "seated", **head, "seat": None, "seating": seating})


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The agent against either rival, by the name of that."""
    folder = tmp_path_factory.mktemp("honest")
    for name, rival in POLICIES.items():
        play_seats(folder / f"{name}.trace", SCENARIO, {AGENT: "shade_5", RIVAL: rival}, 1, compared=[AGENT])
    return {name: folder / f"{name}.trace" for name in POLICIES}


@pytest.fixture(scope="module")
def cheats(honest: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The forgeries, by name."""
    folder = tmp_path_factory.mktemp("cheats")
    return {name: forged(honest[case["played"]], folder / f"{name}.trace", case) for name, case in FORGED.items()}


@pytest.mark.many
@pytest.mark.parametrize("name", FORGED)
def test_a_forged_trace_proves_nothing_and_the_refusal_has_its_name(name: str, cheats: dict[str, Path]) -> None:
    check = verify_file(cheats[name])
    refusal = check.proof.proves([AGENT])
    assert refusal is not None
    assert refusal.code == FORGED[name]["code"], (check.sentence, refusal)
    # It says where: the seat and the event, as far as what cannot be true has one.
    assert refusal.code in ("origin_unknown", "values_untrue") or (
        refusal.event and (refusal.seat or refusal.event == 1)
    ), refusal
    # The word says it too where a policy is named that did not play so; else the sentence does.
    assert check.verdict != "reproduced" or refusal.code in _IN_THE_SENTENCE, check.sentence


@pytest.mark.many
def test_no_table_counts_a_forged_trace(cheats: dict[str, Path], honest: dict[str, Path], shell: Shell) -> None:
    folder, every = next(iter(cheats.values())).parent, len(FORGED)
    boards = shell.json("rate", folder, code=1)
    left_out = sum(left["count"] for left in boards["left_out"])
    assert (boards["rated"], boards["proof"], left_out) == (0, "re-executed", every)
    assert all("(S1, event " in place for place in _examples(boards["left_out"], "rival not replayed"))
    headlines = shell.json("rate", folder, "--by", "headline", code=1)
    # What changes the scenario is none of the headline's games.
    passed = sum(headlines["passed_over"].values())
    assert (headlines["headlines"], len(headlines["problems"]) + passed) == ([], every)
    evaluated = shell.json("evaluate", folder, code=1)
    assert (evaluated["traces"], sum(map(len, evaluated["left_out"].values()))) == ([], every)
    assert "no trace here can be read" in shell.error(["compare", honest["strong"], folder, "--seat", AGENT], 1)
    arena = arena_of(honest["strong"], seeds=(1,))
    for path in cheats.values():
        alone = path.parent / "alone" / path.stem
        alone.mkdir(parents=True)
        shutil.copy(path, alone)
        # One that does not say who plays is no entry at all.
        with suppress(TraceError):
            assert not pack(alone, arena, alone / "entry.tfb").accepted, path


def _examples(left_out: Sequence[Mapping[str, Any]], reason: str) -> Sequence[str]:
    return next(left["examples"] for left in left_out if left["reason"] == f"proves nothing: {reason}")


@pytest.mark.many
def test_no_board_of_an_arena_has_a_forged_trace(
    cheats: dict[str, Path], honest: dict[str, Path], shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "fair").mkdir()
    shutil.copy(honest["strong"], tmp_path / "fair")
    arena = arena_of(honest["strong"], seeds=(1,))
    fair, terms = tmp_path / "fair.tfb", toml_of(arena, tmp_path / "arena.toml", seeds="[1]")
    assert pack(tmp_path / "fair", arena, fair).accepted
    entries: list[Path] = []
    for name, path in cheats.items():
        bundle = Bundle.load(fair)
        with suppress(TraceError):
            bundle.put(0, path)
            entries.append(bundle.save(tmp_path / f"{name}.tfb"))
            assert not check_entry(entries[-1], arena).accepted, name
    assert len(entries) > 40
    for accepted in ([fair], []):
        shell.out("arena", "build", *entries, *accepted, "--arena", terms, "-o", tmp_path / "site", code=1)
        held = orjson.loads((tmp_path / "site" / "boards" / "1.json").read_bytes())
        assert len(held["boards"][0]["rows"]) == len(accepted)
        assert len(held["refused"]) == len(entries)


@pytest.mark.many
def test_no_board_of_a_site_has_a_forged_trace(
    cheats: dict[str, Path], honest: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRADEFAIR_CACHE", str(tmp_path / "cache"))
    runs = tmp_path / "runs"
    runs.mkdir()
    for path in (*cheats.values(), honest["strong"]):
        shutil.copy(path, runs)
    built = build_site(runs, tmp_path / "site", Wanted("Games"))
    assert (built.episodes, len(built.left_out)) == (1, len(cheats))
    assert any("rival not replayed (S1, event " in reason for _, reason in built.left_out)
    (board,) = (tmp_path / "site" / "data").glob("bargaining-*-1.csv")
    assert {line.split(",")[0] for line in board.read_text().splitlines()[1:]} <= {
        "shade_5", "linear_concession",
    }  # fmt: skip


@pytest.mark.many
def test_luck_counts_no_forged_trace(cheats: dict[str, Path], shell: Shell, tmp_path: Path) -> None:
    # Two games a seed: of none both are left.
    seeds = (len(cheats) + 1) // 2
    asked = ("sweep", SCENARIO, "--luck", "policy:shade_5", "--seat", AGENT, "--seeds", seeds, "--group", 2)
    asked = (*asked, "--out", tmp_path / "out", "--executor", "local")
    assert shell.json(*asked)["seeds"] == seeds
    for place, path in zip(sorted((tmp_path / "out").rglob("*.trace")), cheats.values(), strict=False):
        shutil.copy(path, place)
    found = shell.json(*asked, code=3)
    assert (found["seeds"], sum(map(len, found["left_out"].values()))) == (0, len(cheats))


@pytest.mark.many
def test_measures_of_collusion_count_no_forged_trace_and_compare_with_none(shell: Shell, tmp_path: Path) -> None:
    scenario = "double_auction/collusion_silent"
    ring = {"buyer": "truthful", **dict.fromkeys(("S1", "S2", "S3"), "cartel_sellers")}
    for folder in ("fair", "cheat"):
        (tmp_path / folder).mkdir()
        played_by(
            tmp_path / folder / "1.trace", scenario, {name: ring[name] for name in ("S1", "S2", "S3")}, 1, "truthful"
        )
    path = tmp_path / "cheat" / "1.trace"
    forge = Forge.load(path)
    seating = forge.event(1)["seating"]
    said = {"policy": "zip", "label": "policy:zip"}
    forge.change(1, seating={**seating, "players": {**seating["players"], "S1": {**seating["players"]["S1"], **said}}})
    forge.save(path)
    assert "proves nothing: rival not replayed), such as 1.trace (S1, event " in shell.error(
        ["lab", "collusion", path], 1
    )
    both = shell.json("lab", "collusion", tmp_path / "fair", "--against", tmp_path / "cheat", code=1)
    assert (both["sample"]["episodes"], both["silent"]["episodes"]) == (1, 0)


@pytest.mark.many
def test_a_game_counts_once_however_often_it_lies_there(honest: dict[str, Path], shell: Shell, tmp_path: Path) -> None:
    for number in range(12):
        forged(honest["strong"], tmp_path / f"{number}.trace", {"start": {"agent_key": number}})
    boards = shell.json("rate", tmp_path)
    assert (boards["rated"], boards["left_out"][0]["count"]) == (1, 11)
    assert [len(shell.json("evaluate", tmp_path)[key]) for key in ("traces", "left_out")] == [1, 1]
    headlines = shell.json("rate", tmp_path, "--by", "headline")
    assert (headlines["headlines"][0]["seeds"], headlines["copies"]) == (1, 11)
    compared = shell.json("compare", honest["strong"], tmp_path, "--seat", AGENT)
    assert [len(pair["b"]) for pair in compared["pairs"]] == [1]
    unasked = shell.json("rate", tmp_path, "--no-verify")
    assert (unasked["rated"], unasked["proof"]) == (1, "not asked")
    assert b"these figures are what the files say" in shell.out("rate", tmp_path, "--no-verify")


@pytest.mark.parametrize(
    "case", [{}, {"start": {"written_by": "tradefair 9.9.9"}}, {"seated": [{"at": 6, "origin": {"resumed": True}}]}]
)
def test_an_honest_game_of_another_release_or_one_that_was_resumed_is_proven(
    case: dict[str, Any], honest: dict[str, Path], tmp_path: Path
) -> None:
    check = verify_file(forged(honest["strong"], tmp_path / "a.trace", case))
    assert (check.verdict, check.proof.proves([AGENT])) == ("reproduced", None), check.sentence


def test_a_seat_that_changed_hands_is_called_so_everywhere_and_no_table_counts_it(
    honest: dict[str, Path], shell: Shell, tmp_path: Path
) -> None:
    (tmp_path / "runs").mkdir()
    path = forged(honest["strong"], tmp_path / "runs" / "a.trace", FORGED["the_agent_is_called_otherwise_at_the_end"])
    shutil.copy(honest["strong"], tmp_path / "runs")
    (change,) = verify_file(path).proof.changes
    called = f"shade_5 (shade_5), key 0 until event {change.seq}, then the best (shade_5), key 0"
    with open_trace(path) as trace:
        assert list(handovers(trace)) == [change]
        assert shown_seating(trace).labels[AGENT] == called
    evaluated = shell.json("evaluate", path)["traces"][0]
    assert evaluated["outcome"]["seats"][AGENT]["label"] == called
    assert called in build_report([path]).data.episodes[0].model_dump_json()
    assert row_of(path).players == [called]
    boards = shell.json("rate", tmp_path / "runs", "--no-verify")
    assert (boards["rated"], boards["boards"][0]["left_out"][0]["reason"]) == (1, "a seat changed hands")
    said = shell.error(["compare", honest["strong"], path, "--seat", AGENT, "--no-verify"], 1)
    assert f"changed hands, and no pair counts it: {called}" in " ".join(said.split())
    # What nobody had played yet is taken, not handed over; and what follows a fork is the fork's.
    taken: dict[str, Any] = {"at": 2, "seat": AGENT, "player": {"label": "the best"}}
    for more in ({}, {"at": -1, "origin": {"forked_from": "a trace"}}):
        case: dict[str, Any] = {"seated": [{**taken, **more}]}
        with open_trace(forged(honest["strong"], tmp_path / "b.trace", case)) as trace:
            assert handovers(trace) == []
            # An event may name a seat that a later one only then seats.
            assert changed_hands(Seating(players={}), trace.seating(), [AGENT], 3) == []
