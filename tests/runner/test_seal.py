"""What lies beside the chain is under the seal: a change of any column of any table shows, with the rules and without.

Played by an agent in process, so that there are times, transports and model records.

Also here:
- Sealed seeds: who has the secret makes the seeds, who has the commitment checks the secret.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from tests.play_specs import preset_spec

from tradefair.cli import run
from tradefair.contract.chain import seal
from tradefair.contract.sealed_seeds import SealedSeeds, commitment_of, seed_of
from tradefair.evaluation.prove.verify import verify_file
from tradefair.runner.play.agent_spec import AgentSpec
from tradefair.runner.play.episode_runner import play_episode
from tradefair.tracestore import EVENT_COLUMNS, SIDE_TABLES, jsonl_lines, open_trace, sealed
from tradefair.tracestore.schema import SCHEMA_1

CHANGED = "what lies beside the chain has changed since the seal: "
LATER = "rows beside the chain that were added after the seal: "
MISSING = "rows beside the chain that are not in this file: "


def edit(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as database, database:
        for statement in statements:
            database.execute(statement)


ASKED, PARTS = 4, 7
"""Model calls of the trace, and the messages and tools that they were sent."""
PROMPTS_LEFT = f"prompt_parts ({PARTS}), prompt_calls ({ASKED})"


def reseal(path: Path, **changes: object) -> None:
    """A fresh seal over what the file now holds; `changes` replace parts of `about` that it would cover."""
    with open_trace(path) as trace:
        covered = {**sealed(trace.manifest.about, trace.side_rows), **changes}
    covered["seal"] = seal(covered)
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE meta SET value = ? WHERE key = 'about'", (orjson.dumps(covered),))


@pytest.fixture
async def played(tmp_path: Path) -> Path:
    """A sealed trace with rows in every table, as if a call had been pending."""
    path = (await play_episode(preset_spec("teaching", "pie", AgentSpec("react", "policy:half"), tmp_path))).path
    edit(
        path,
        "UPDATE events SET call_key = 'k', request_digest = 'd', request_id = 'i', traceparent = 't' WHERE seq = 3",
        "INSERT INTO pending VALUES (1, 'P1', 'r', 5, x'01', 0)",
    )
    reseal(path)
    return path


def test_the_seal_counts_the_rows_of_every_table(played: Path) -> None:
    verdict = verify_file(played)
    assert (verdict.verdict, verdict.findings) == ("reproduced", [])
    with open_trace(played) as trace:
        counts = {name: count for name, (count, _) in trace.manifest.about["beside"].items()}
        notes = len(list(trace.notes()))
    assert notes == 5  # a read and three claims, and the report
    assert counts == {
        "calls": verdict.events, "agent_events": notes, "prompt_parts": PARTS, "prompt_calls": ASKED, "pending": 1,
    }  # fmt: skip


def test_a_digest_is_over_rows_as_lines_of_json_with_bytes_by_their_own_digest(played: Path) -> None:
    def digest(raw: bytes) -> str:
        return hashlib.blake2b(raw, digest_size=32).hexdigest()

    with open_trace(played) as trace:
        # As docs/reference/trace.md says it, by other means.
        rows = [[seat, {"blob": digest(body)}] for seat, body in trace.notes()]
        beside = trace.manifest.about["beside"]
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows)
    assert beside["agent_events"] == [5, digest(lines.encode())]


def test_what_is_sealed_besides_is_the_end_and_nothing_about_players(played: Path) -> None:
    with open_trace(played) as trace:
        about = trace.manifest.about
    ends = {"finished", "end_reason", "head_seq", "head_hash", "outcome_digest", "awaits", "beside", "seal"}
    assert set(about) == {"episode", "created", "software"} | ends
    assert set(about["software"]) == {"python", "platform"}


def test_a_change_of_any_column_beside_the_chain_is_damage_that_names_its_table(played: Path) -> None:
    tried = 0
    for name, side in SIDE_TABLES.items():
        for column in side.columns:
            path = Path(shutil.copy(played, played.with_name(f"{name}-{column}.trace")))
            row = f"(SELECT {side.key} FROM {side.table} ORDER BY ifnull(call_key, '') DESC LIMIT 1)"
            row = row if name == "calls" else f"(SELECT min({side.key}) FROM {side.table})"
            # Whole numbers and texts and bytes alike: another value, of the kind that the column holds.
            other = f"CASE typeof({column}) WHEN 'integer' THEN {column} + 9 WHEN 'blob' THEN x'ff' ELSE 'other' END"
            edit(path, f"UPDATE {side.table} SET {column} = {other} WHERE {side.key} = {row}")
            for chain_only in (False, True):
                verdict = verify_file(path, chain_only=chain_only)
                assert (verdict.verdict, verdict.sentence) == ("damaged", CHANGED + name), column
            tried += 1
    assert tried == 27


@pytest.mark.parametrize(
    ("statement", "changed"),
    [
        ("DELETE FROM agent_events", "agent_events"),
        ("DELETE FROM agent_events WHERE id = (SELECT max(id) FROM agent_events)", "agent_events"),
        ("INSERT INTO agent_events VALUES (-1, 'P1', x'7b7d')", "agent_events"),
        ("UPDATE agent_events SET id = 99 WHERE id = 1", "agent_events"),
        ("UPDATE agent_events SET body = CAST(body AS TEXT) WHERE id = 1", "agent_events"),
        ("UPDATE events SET at_ms = NULL WHERE seq = 2", "calls"),
        ("UPDATE prompt_parts SET n = 99 WHERE n = 2", "prompt_parts"),
        ("DELETE FROM prompt_calls", "prompt_calls"),
        ("DELETE FROM prompt_parts", "prompt_parts"),
        ("DELETE FROM pending", "pending"),
    ],
)
def test_a_row_removed_added_before_or_moved_is_damage(played: Path, statement: str, changed: str) -> None:
    edit(played, statement)
    assert verify_file(played).sentence == CHANGED + changed


def test_a_fraction_is_no_time_even_where_json_has_no_word_for_it(played: Path) -> None:
    # Infinity is null in JSON: it would have the digest of a time that is not there.
    edit(played, "UPDATE events SET at_ms = NULL WHERE seq = 2")
    reseal(played)
    edit(played, "UPDATE events SET at_ms = 9e999 WHERE seq = 2")
    assert (verify_file(played).verdict, "a fraction" in verify_file(played).sentence) == ("damaged", True)


def test_a_stripped_copy_lacks_prompts_and_nothing_else(played: Path, tmp_path: Path) -> None:
    secret = b"what the model was told" * 5_000
    edit(played, f"UPDATE prompt_parts SET body = x'{secret.hex()}' WHERE n = 1")
    reseal(played)
    assert secret[:40] in played.read_bytes()
    copy = tmp_path / "copies" / "shown.trace"
    assert run(["export", str(played), "--strip", "prompts", "-o", str(copy)]) == 0
    # Where SQLite does not wipe what it deletes, only pages that are gone hold nothing.
    assert secret[:40] not in copy.read_bytes()
    assert copy.stat().st_size < played.stat().st_size - len(secret) + 10_000
    verdict = verify_file(copy)
    assert (verdict.verdict, verdict.seal) == ("reproduced", verify_file(played).seal)
    assert [finding.message for finding in verdict.findings] == [MISSING + PROMPTS_LEFT]
    with open_trace(played) as trace, open_trace(copy) as stripped:
        assert list(stripped.notes()) == list(trace.notes())
    for odd in (["--seat", "P1", "-o", str(copy)], ["--format", "otlp", "-o", str(copy)], []):
        assert run(["export", str(played), "--strip", "prompts", *odd]) == 2


def test_jsonl_leaves_all_of_it_out_and_says_how_much(played: Path) -> None:
    copy = played.with_suffix(".jsonl")
    with open_trace(played) as trace:
        copy.write_bytes(b"".join(line + b"\n" for line in jsonl_lines(trace)))
    verdict = verify_file(copy)
    assert verdict.verdict == "reproduced"
    (finding,) = verdict.findings
    assert finding.message == f"{MISSING}calls ({verdict.events}), agent_events (5), {PROMPTS_LEFT}, pending (1)"


def test_tables_of_an_earlier_schema_are_no_way_around_the_seal(played: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.trace"
    with closing(sqlite3.connect(old)) as database, database:
        database.executescript(SCHEMA_1)
        database.execute("ATTACH ? AS new", (str(played),))
        columns = ", ".join(EVENT_COLUMNS[:-1])
        database.execute(f"INSERT INTO events SELECT {columns} FROM new.events")
        database.execute("INSERT OR REPLACE INTO meta SELECT * FROM new.meta")
        database.execute("INSERT INTO agent_events VALUES (1, 'P1', '{\"kind\":\"model_call\"}')")
    assert verify_file(old).sentence == "its tables are those of an earlier schema than its events"


SECRET = bytes(range(32))


def test_a_seed_is_63_bits_of_a_keyed_digest_of_label_and_number() -> None:
    said = hashlib.blake2b(b"tradefair-seed/1|spring|7", key=SECRET, digest_size=8).digest()
    assert seed_of(SECRET, "spring", 7) == int.from_bytes(said) // 2
    assert seed_of(SECRET, "spring", 7) != seed_of(SECRET, "autumn", 7)
    assert commitment_of(SECRET) == hashlib.blake2b(SECRET, digest_size=32).hexdigest()


def test_seeds_are_what_a_plan_takes() -> None:
    seeds = SealedSeeds(secret=SECRET.hex(), label="spring", count=500).seeds
    assert len(set(seeds)) == 500
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_a_secret_is_written_for_its_owner_alone_and_never_over_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "sealed.json"
    assert run(["seeds", "new", "--count", "3", "--label", "spring", "-o", str(file)]) == 0
    commitment = capsys.readouterr().out.strip()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert run(["seeds", "show", str(file), commitment]) == 0
    assert run(["seeds", "show", str(file)]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert list(map(int, shown[1:])) == SealedSeeds.model_validate_json(file.read_bytes()).seeds
    assert run(["seeds", "new", "-o", str(file)]) == 2
    assert "never overwritten" in capsys.readouterr().err


def test_another_secret_is_told_with_both_digests(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sealed.json"
    file.write_text(SealedSeeds(secret=SECRET.hex(), label="", count=1).model_dump_json())
    assert run(["seeds", "show", str(file), "ab" * 32]) == 1
    said = capsys.readouterr().out
    assert "ab" * 32 in said
    assert commitment_of(SECRET) in said


@pytest.mark.parametrize("content", ["", "[]", '{"secret": "00"}', "x" * 5_000, '{"secret":"%s"}' % ("0" * 64)])
def test_what_holds_no_sealed_seeds_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    file = tmp_path / "odd.json"
    file.write_text(content)
    assert run(["seeds", "show", str(file), "ab"]) == 2
    assert "odd.json" in capsys.readouterr().err
