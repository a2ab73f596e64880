"""What opening a stranger's trace may cost and do, and what of a forged one is found: the cases of expected.toml.

Commands read every hostile file in a child with limits (runner.py): in the default suite those that judge it and one or
two of the others in turn, in the slow group all of them.
"""

from __future__ import annotations

import os
import re
import shutil
import tomllib
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.corpus import forged, hostile_content, hostile_imports, hostile_logs, hostile_prompts, hostile_tables
from tests.corpus.bases import Bases, play_bases
from tests.corpus.cases import CASES
from tests.corpus.forge import Forge
from tests.corpus.runner import LOOPS, MEMORY, Case, Ran, Runner

from tradefair.evaluation.foreign.importers.detect import game_readers
from tradefair.evaluation.prove.verify import Check, verify_file

# Importing them registers their cases.
FILLED = (hostile_tables, hostile_content, hostile_prompts, hostile_logs, hostile_imports, forged)
EXPECTED: Mapping[str, Mapping[str, Mapping[str, Any]]] = tomllib.loads(
    Path(__file__).with_name("expected.toml").read_text()
)
FORGERIES = ("core", "identity", "beside", "calls", "programs", "refusals", "order")
# What a terminal obeys, and what turns text round: no command may print one of these.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f]")


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Bases:
    """The honest traces."""
    return play_bases(tmp_path_factory.mktemp("bases"))


@pytest.fixture(scope="module")
def honest(bases: Bases) -> Check:
    """What verify says of the auction: forgeries are told from it by head or seal where nothing else tells them."""
    return verify_file(bases.auction)


@pytest.fixture(scope="module")
def runner(bases: Bases, tmp_path_factory: pytest.TempPathFactory) -> Generator[Runner]:
    """One warmed parent for all cases of this process."""
    with Runner(tmp_path_factory.mktemp("runs"), known=bases) as runner:
        yield runner


def test_the_bases_are_sound_before_and_after_they_are_taken_apart(bases: Bases, tmp_path: Path) -> None:
    for base in bases:
        again = Forge.load(base).save(tmp_path / base.name)
        assert again.read_bytes() == base.read_bytes()
        for path in (base, again):
            check = verify_file(path)
            assert (check.verdict, check.sealed, check.findings) == ("reproduced", True, []), check


def test_two_sessions_play_the_same_bases(bases: Bases, tmp_path: Path) -> None:
    assert [path.read_bytes() for path in play_bases(tmp_path)] == [path.read_bytes() for path in bases]


def test_every_case_says_why_it_exists_and_what_must_be_found() -> None:
    assert {group: set(cases) for group, cases in CASES.items()} == {
        group: set(cases) for group, cases in EXPECTED.items()
    }
    for cases in EXPECTED.values():
        for name, case in cases.items():
            assert case["why"].endswith("."), name
            assert case["verdict"] in ("reproduced", "refused", "used") or case["says"], name
    assert sum(map(len, (EXPECTED[group] for group in FORGERIES))) >= 60
    assert sum(len(cases) for group, cases in EXPECTED.items() if group not in FORGERIES) >= 60


@pytest.mark.parametrize("group", [group for group in EXPECTED if group not in FORGERIES])
def test_every_command_reads_every_hostile_file_within_its_limits(
    group: str, bases: Bases, honest: Check, runner: Runner, tmp_path: Path
) -> None:
    check_group(group, bases, honest, runner, tmp_path, whole=True)


# Exit codes of `import`.
_USED = {"used": 0, "used_in_part": 1, "refused": 2}


@pytest.mark.parametrize("group", EXPECTED)
def test_every_case_is_found_within_its_limits(
    group: str, bases: Bases, honest: Check, runner: Runner, tmp_path: Path
) -> None:
    check_group(group, bases, honest, runner, tmp_path)


def check_group(
    group: str, bases: Bases, honest: Check, runner: Runner, tmp_path: Path, *, whole: bool = False
) -> None:
    shutil.copy(bases.auction, tmp_path / "canary.trace")
    complaints: list[str] = []
    for place, (name, make) in enumerate(CASES[group].items()):
        folder = tmp_path / name
        folder.mkdir()
        forged = group in FORGERIES
        path = make(bases, folder)
        made = _seen(tmp_path)
        # A forgery costs what its re-execution costs; what a file may do to any command is for the other groups.
        foreign = group in ("logs", "imports")
        commands = _of_others(path, group) if foreign else _commands(path, folder, bases)
        if forged or not (whole or foreign):
            # What judges it, and of the others those whose turn it is: over the cases of a group each has one.
            others, turns = (commands[2:4], 1) if forged else (commands[2:], 2)
            commands = commands[:2] + [others[(turns * place + turn) % len(others)] for turn in range(turns)]
        case = runner.run(commands)
        changed = [f"outside its folder: {change}" for change in _changes(made, _seen(tmp_path))]
        wrong = _wrong(EXPECTED[group][name], case, honest if forged else None)
        complaints += [f"{name}: {complaint}" for complaint in (*changed, *_unbounded(case), *wrong)]
        shutil.rmtree(folder)
    assert not complaints, "\n".join(complaints)


def _of_others(path: Path, group: str) -> list[list[str | Path]]:
    """Every command that reads what others have logged."""
    if group == "imports":
        return _of_imports(path)
    imports = [["import", *kind, path, "--out", "imported"] for kind in ((), *((name,) for name in game_readers()))]
    return [*imports, ["gateway", "--replay", path], ["request", path]]


def _of_imports(path: Path) -> list[list[str | Path]]:
    """An import, and what reads its traces."""
    return [
        ["import", path, "--out", "imported", "--json"],
        ["import", path, "--out", "imported"],
        ["verify", "--chain", "imported"],
        ["evaluate", "imported", "--json"],
    ]


def _commands(path: Path, folder: Path, bases: Bases) -> list[list[str | Path]]:
    """Every command that opens traces, on one file."""
    return [
        ["verify", "--json", path],
        ["row", folder],
        ["verify", path],
        ["evaluate", "--json", path],
        ["trace", path, "messages"],
        ["trace", path, "summary"],
        ["report", path, "-o", "page.html"],
        ["rate", path],
        ["compare", "--seat", "S1", path, bases.auction],
        ["export", path, "-o", "copy.jsonl"],
        ["export", path, "--format", "parquet", "-o", "tables"],
        ["export", path, "--format", "openai", "-o", "talk.jsonl"],
        ["import", path, "--out", "imported"],
    ]


def _seen(folder: Path) -> dict[str, tuple[int, ...]]:
    """Every file below a folder with its mode, size and time, no link followed."""
    found: dict[str, tuple[int, ...]] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            known = os.lstat(path)
            found[path] = (known.st_mode, known.st_size, known.st_mtime_ns)
    return found


def _changes(before: Mapping[str, object], after: Mapping[str, object]) -> list[str]:
    names = sorted(before.keys() | after.keys())
    return [os.fsencode(name).decode(errors="replace") for name in names if before.get(name) != after.get(name)]


def _unbounded(case: Case) -> Iterator[str]:
    if case.code:
        yield f"the child ended with {case.code} in {case.ran[-1].command if case.ran else 'no command'}"
    if case.memory > MEMORY:
        yield f"{case.memory // 1024**2} MiB of memory"
    for ran in case.ran:
        if ran.loops > LOOPS:
            yield f"{ran.command[0]} took {ran.loops:.0f} loops of CPU time"

        yield from _unclean(ran)


def _unclean(ran: Ran) -> Iterator[str]:
    name = ran.command[0]
    if ran.code not in (0, 1, 2, None):
        yield f"{name} ended with {ran.code}"
    if b"Traceback" in ran.out + ran.err:
        yield f"{name}: {ran.err[-300:].decode(errors='replace')}"
    # As JSON for a program only what is no text at all is an error; a person's terminal is another matter.
    forbidden = _CONTROL if ran.out.startswith((b"{", b"[")) else _OBEYED
    for stream in (ran.out, ran.err):
        if found := forbidden.search(stream.decode(errors="surrogateescape")):
            yield f"{name} prints {found.group()!r}"


def _wrong(expected: Mapping[str, Any], case: Case, honest: Check | None) -> Iterator[str]:
    """Where the verdict, its sentence or the row of the list is not what it should be."""
    if case.ran and case.ran[0].command[-1] == "--json" and case.ran[0].command[0] == "import":
        yield from _wrong_import(expected, case)
        return
    if expected["verdict"] == "refused":
        yield from (f"{ran.command[:2]} ended with {ran.code}" for ran in case.ran if ran.code == 0)
        return
    # A command that was killed or failed has been complained about.
    if len(case.ran) < 2 or not case.ran[1].out:
        return
    verify, row, *_ = case.ran
    rows = orjson.loads(row.out)
    if expected["verdict"] == "unlisted":
        if verify.out or expected["says"] not in verify.err.decode() or rows:
            yield f"verify says {verify.err!r}, and the list has {len(rows)} rows"
        return
    if verify.out:
        yield from _wrong_verdict(expected, verify, rows, honest)


def _wrong_import(expected: Mapping[str, Any], case: Case) -> Iterator[str]:
    done, _, verify, *_ = case.ran
    found = [odd["message"] for file in orjson.loads(done.out)["files"] for odd in file["odd"]]
    if done.code != _USED[expected["verdict"]]:
        yield f"import ended with {done.code}: {found[:3]}"
    if not any(expected.get("says", "") in message for message in found or [""]):
        yield f"import says {found[:5]}"
    if verify.code and done.code != 2:
        yield f"verify says {verify.out[-300:]!r}"


def _wrong_verdict(expected: Mapping[str, Any], verify: Ran, rows: Any, honest: Check | None) -> Iterator[str]:
    check = orjson.loads(verify.out)["verdicts"][0]
    sentence, findings = check["sentence"], [item["message"] for item in check["findings"]]
    if check["verdict"] != expected["verdict"] or expected.get("says", "") not in sentence:
        yield f"{check['verdict']}: {sentence}; findings {findings}"
    elif "\n" in sentence or "password@" in sentence:
        yield f"the sentence is no line, or quotes a secret: {sentence}"
    elif verify.code != (check["verdict"] != "reproduced"):
        yield f"verify ended with {verify.code}"
    elif honest is not None and check["verdict"] == "reproduced":
        yield from _untold(expected, check, findings, honest)
    # Pipes, devices and folders are not listed at all.
    for listed in rows:
        yield from _disagreeing(check, listed)


def _untold(expected: Mapping[str, Any], check: Mapping[str, Any], findings: list[str], honest: Check) -> Iterator[str]:
    """Where a forgery that re-executes is not told from the honest trace as it should be."""
    other = "head" if check["head_hash"] != honest.head_hash else "seal" if check["seal"] != honest.seal else None
    finding, copied = expected.get("finding"), expected.get("copied", {})
    if other != expected.get("other") and finding is None and not copied:
        yield f"another {other}"
    if finding is not None and not any(finding in said for said in findings):
        yield f"findings {findings}"
    if {name: check["copied"][name] for name in copied} != copied:
        yield f"copied {check['copied']}"


def _disagreeing(check: Mapping[str, Any], listed: Mapping[str, Any]) -> Iterator[str]:
    """Where the viewer's list says something else of a file than verify."""
    sound, opened = check["verdict"] == "reproduced", listed["problem"] is None
    # What cannot be opened has no verdict in the list.
    if opened and listed["check"] != check["verdict"]:
        yield f"the list says {listed['check']}"
    if check["verdict"] == "not_a_trace" and opened:
        yield "the list says no problem"
    if sound and listed["sealed"] != check["sealed"]:
        yield f"the list says sealed: {listed['sealed']}"
    if sound and check["sealed"] and listed["events"] != check["events"]:
        yield f"the list says {listed['events']} events"
