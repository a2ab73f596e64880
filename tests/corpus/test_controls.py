"""What the corpus would show if a rule were missing: with any one of them switched off, a case passes that must not."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.corpus.bases import Bases
from tests.corpus.cases import CASES
from tests.corpus.runner import Runner
from tests.corpus.test_corpus import EXPECTED
from tests.corpus.test_corpus import bases as bases

from tradefair.contract import errors
from tradefair.contract.arguments import Remains
from tradefair.contract.kernel import call_ids, core, replay
from tradefair.contract.kernel.call_ids import CallBook, Program
from tradefair.contract.kernel.core import Done, Record
from tradefair.contract.kernel.replay import Replayed, Step
from tradefair.evaluation.prove.verify import verify_file

Switch = Callable[[pytest.MonkeyPatch], None]


def _compared_without(*fields: str) -> Switch:
    """Bytes are compared, but these fields are taken over from the log; without any, nothing is compared."""

    def compare(self: Any, body: bytes, command: bool) -> Step:
        record: Record = self._due.popleft()
        event = orjson.loads(body)
        here = {**orjson.loads(record.body), **{name: event[name] for name in fields if name in event}}
        if fields and orjson.dumps(here) != body:
            raise replay.Divergence(record.seq, "another event", in_log=body, re_executed=record.body)
        return Step(record.seq, body, command, record.closes, record.blob is not None)

    return lambda patch: patch.setattr(Replayed, "_compare", compare)


def _any_parent(patch: pytest.MonkeyPatch) -> None:
    def show(self: CallBook, seat: str, call: str, now: int) -> None:
        self.programs[seat] = Program((call,))

    patch.setattr(CallBook, "show", show)
    patch.setattr(CallBook, "child", _nothing)


def _any_refusal_of_a_host(patch: pytest.MonkeyPatch) -> None:
    for module in (core, replay):
        patch.setattr(module, "may_deny", _yes)


def _any_refusal_of_arguments(patch: pytest.MonkeyPatch) -> None:
    def in_its_words(done: Done, message: object, body: bytes, tool: object) -> Done:
        return Done([*done.records[:-1], done.records[-1]._replace(body=body)], done.answer)

    patch.setattr(replay, "_in_its_words", in_its_words)


def _set(module: object, name: str, value: object) -> Switch:
    return lambda patch: patch.setattr(module, name, value)


def _yes(*_: object) -> bool:
    return True


def _nothing(*_: object) -> bytes:
    return b""


RULES: Mapping[str, tuple[str, Switch]] = {
    "a core follows from scenario and seed": ("core", _set(core, "canonical", _nothing)),
    "every byte is compared": ("refusals", _compared_without()),
    "calls are numbered": ("calls", _compared_without("call")),
    "kinds are those of tools": ("refusals", _compared_without("kind")),
    "what a result shows is read from it": ("programs", _compared_without("refs")),
    "only running programs ask": ("calls", _any_parent),
    "programs make 200 calls": ("calls", _set(call_ids, "MAX_INNER_CALLS", 10**6)),
    "programs end as sandboxes end them": ("programs", _set(errors.Template, "fits", _yes)),
    "hosts refuse in their own words": ("refusals", _any_refusal_of_a_host),
    "refusals of arguments are made again": ("refusals", _any_refusal_of_arguments),
    "their words have a bound": ("refusals", _set(replay, "may_explain", _yes)),
    "cut arguments have one form": ("refusals", _set(replay, "remains_of", Remains)),
}
"""A rule of re-execution -> the group of cases that shows its absence, and how it is switched off."""


@pytest.fixture(scope="module")
def forgeries(bases: Bases, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, list[Path]]:
    """By group, the forgeries that re-execution must not reproduce."""
    folder = tmp_path_factory.mktemp("forgeries")
    wrong = {
        group: [made(group, name, bases, folder / group) for name, case in EXPECTED[group].items() if _diverges(case)]
        for group in {group for group, _ in RULES.values()}
    }
    assert all(wrong.values())
    return wrong


def _diverges(case: Mapping[str, Any]) -> bool:
    return case["verdict"] == "diverged"


@pytest.mark.parametrize("rule", RULES)
def test_without_a_rule_a_forgery_passes(
    rule: str, forgeries: Mapping[str, list[Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    group, switch = RULES[rule]
    switch(monkeypatch)
    # Without the policies, which take longer than the rules; a test of their own follows.
    passing = [path for path in forgeries[group] if verify_file(path, seats=False).verdict == "reproduced"]
    assert passing, f"no case of {group} needs this rule"


def test_without_the_policies_a_forgery_of_who_played_passes(bases: Bases, tmp_path: Path) -> None:
    path = made("identity", "another_policy", bases, tmp_path)
    assert verify_file(path).verdict == "diverged"
    assert verify_file(path, seats=False).verdict == "reproduced"


def made(group: str, name: str, bases: Bases, folder: Path) -> Path:
    """The files of one case, in a folder of its own."""
    place = folder / name
    place.mkdir(parents=True)
    return CASES[group][name](bases, place)


def test_a_reader_that_takes_any_schema_fails_within_its_limits(bases: Bases, tmp_path: Path) -> None:
    (tmp_path / "runs").mkdir()
    (tmp_path / "cases").mkdir()
    names = ("view_without_end", "trigger_more", "column_more")
    with Runner(tmp_path / "runs", "--any-schema") as runner:
        found = [list(_verdicts(made("schema", name, bases, tmp_path / "cases"), runner)) for name in names]
    # The first has no end: the limit of CPU seconds ended it, or the budget of the reader.
    assert found[0] != ["not_a_trace"]
    assert found[1:] == [["reproduced"], ["reproduced"]]


def _verdicts(path: Path, runner: Runner) -> Iterator[str]:
    (ran,) = runner.run([["verify", "--json", path]]).ran
    if ran.out:
        yield orjson.loads(ran.out)["verdicts"][0]["verdict"]


def test_a_signature_counts_only_where_its_key_is_listed(bases: Bases, tmp_path: Path) -> None:
    signed = made("beside", "signature_of_a_listed_key", bases, tmp_path)
    unlisted = made("beside", "signature_of_an_unlisted_key", bases, tmp_path)
    signers, runs = tmp_path / "signers", tmp_path / "runs"
    runs.mkdir()
    with closing(sqlite3.connect(signed)) as database:
        ((stored,),) = database.execute("SELECT value FROM meta WHERE key = 'signature'").fetchall()
    signers.write_text(f"{orjson.loads(stored)['key']} board@example.org\n")
    with Runner(runs) as runner:
        found = [
            runner.run([["verify", "--json", "--signers", signers, path]]).ran[0]
            for path in (signed, unlisted, bases.auction)
        ]
    assert [ran.code for ran in found] == [0, 1, 1]
    assert all(b"not signed by the key in signers" in ran.out for ran in found[1:])
