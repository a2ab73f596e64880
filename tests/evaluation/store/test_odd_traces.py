"""Cut, reordered, doubled, future, empty or hostile traces give findings and exit codes, never a crash."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import orjson
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.evaluation.mutations import (
    DAMAGES,
    Damage,
    Mutation,
    Parts,
    damage,
    mutated_parts,
    mutations,
    parts_of,
    write_parts,
)
from tests.evaluation.playing import played as played_trace

from tradefair.cli import run
from tradefair.evaluation.foreign.export.to_files import export_files
from tradefair.evaluation.store import QUERIES, TraceTables, gather
from tradefair.evaluation.store.in_duckdb import ParquetTables

PLAYED = (("retail/smoke", "fumbler", {"horizon_days": 1}), ("double_auction/smoke", "zip", {"rounds": 2}))


@pytest.fixture(scope="module")
def played() -> Sequence[Parts]:
    """A short trace of either market, taken apart."""
    with TemporaryDirectory() as place:
        return [_parts(Path(place) / "x.trace", *given) for given in PLAYED]


def _parts(path: Path, scenario: str, policy: str, overrides: dict[str, int]) -> Parts:
    parts = parts_of(played_trace(path, scenario, policy, 5, seats={}, **overrides))
    note = orjson.dumps({"kind": "model_call", "calls": ["view_my_value"], "text": "x"})
    about = {**parts.about, "episode": "e"}
    return Parts(parts.core, about, parts.bodies, parts.numbers, parts.blobs, [("B1", note), ("manager", note)])


class Printed(NamedTuple):
    code: int
    errors: str


def ran(*arguments: object) -> Printed:
    errors, out = io.StringIO(), io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = run([str(argument) for argument in arguments])
    return Printed(code, errors.getvalue())


def ask_everything(path: Path) -> None:
    """Every command of ours on one file: fine, findings or usage (a seat that it has not), and never our fault."""
    for seat in ((), ("--seat", "B1")):
        for form in ("jsonl", "otlp", "openai"):
            told = ran("export", path, "--format", form, *seat)
            assert told.code in (0, 1, 2), (form, told)
            assert told.code != 2 or "there is no seat" in told.errors
    for query in ("summary", "errors", "evidence", "follow_up", "loops"):
        told = ran("trace", path, query, "--json")
        assert told.code in (0, 1), (query, told)
    for query in ("show", "evidence"):
        assert ran("trace", path, query, 4).code in (0, 1, 2)


@pytest.mark.many
@settings(deadline=None, max_examples=12)
@given(which=st.integers(0, 1), changes=mutations(), plain=st.booleans())
@example(which=0, changes=[Mutation("future_schema", 0, 0)], plain=False)
@example(which=1, changes=[Mutation("empty", 0, 0)], plain=True)
def test_a_mutated_trace_is_answered(
    which: int, changes: Sequence[Mutation], plain: bool, played: Sequence[Parts]
) -> None:
    with TemporaryDirectory() as place:
        ask_everything(
            write_parts(mutated_parts(played[which], changes), Path(place) / ("x.jsonl" if plain else "x.trace"))
        )


@settings(deadline=None, max_examples=10)
@given(how=st.tuples(st.sampled_from(DAMAGES), st.integers(0, 10**7)), plain=st.booleans())
def test_a_damaged_file_is_answered(how: Damage, plain: bool, played: Sequence[Parts]) -> None:
    with TemporaryDirectory() as place:
        ask_everything(damage(write_parts(played[1], Path(place) / ("x.jsonl" if plain else "x.trace")), how))


@pytest.mark.many
@settings(deadline=None, max_examples=4)
@given(changes=mutations(8))
def test_tables_of_mutated_traces_are_the_same_in_both_engines(
    changes: Sequence[Mutation], played: Sequence[Parts]
) -> None:
    with TemporaryDirectory() as place:
        files = [
            write_parts(mutated_parts(parts, changes), Path(place) / f"{number}.trace")
            for number, parts in enumerate(played)
        ]
        exported = export_files(files, form="parquet", output=Path(place) / "tables")
        if not exported.traces:
            return
        with ParquetTables(Path(place) / "tables", threads=1) as parquet:
            for query in QUERIES.values():
                rows = parquet.run(query).rows
                assert all(cell is not None for row in rows for cell in row)
                if exported.traces == len(files) and query.name != "outcomes":
                    assert len(rows) == sum(len(_rows(file, query.name)) for file in files)


def _rows(path: Path, name: str) -> Sequence[object]:
    with TraceTables(gather(path)) as tables:
        return tables.run(QUERIES[name]).rows


def test_what_could_not_be_used_is_named_with_its_event(played: Sequence[Parts], tmp_path: Path) -> None:
    parts = played[1].copy()
    call = orjson.loads(parts.bodies[2])
    parts.bodies[2] = orjson.dumps({**call, "round": "first"})
    parts.bodies[4] = b"{"
    parts.bodies[5] = orjson.dumps({**orjson.loads(parts.bodies[5]), "event": "message_sent"})
    path = write_parts(parts, tmp_path / "odd.trace")
    with TraceTables.of_file(path) as tables:
        found = {row[0]: str(row[1]) for row in tables.select("SELECT seq, message FROM findings").rows}
    assert "round is not a whole number" in found[3]
    assert "no JSON object" in found[5]
    assert "unknown kind: message_sent" in found[6]
    exported = export_files([path], form="parquet", output=tmp_path / "tables")
    assert {problem.seq for problem in exported.problems} >= {3, 5, 6}
    assert ran("export", path, "--format", "parquet", "-o", tmp_path / "tables").code == 1


def test_rules_of_another_version_are_said_not_to_tell_what_actions_needed(
    played: Sequence[Parts], tmp_path: Path
) -> None:
    parts = played[1].copy()
    parts.core = orjson.dumps({**orjson.loads(parts.core), "rules_version": "0"}, option=orjson.OPT_SORT_KEYS)
    with TraceTables.of_file(write_parts(parts, tmp_path / "old.trace")) as tables:
        (found,) = tables.select("SELECT message FROM findings WHERE message LIKE '%version 0%'").rows
        assert "is installed" in str(found[0])
        assert tables.run(QUERIES["evidence"]).rows == []
