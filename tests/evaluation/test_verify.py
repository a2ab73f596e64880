from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.host.disks import small_disk

from tradefair.catalog import load_scenario, market_type
from tradefair.contract.kernel.replay import Replayed, Step
from tradefair.evaluation.prove.verify import Check, Checker, verify, verify_file
from tradefair.host.episode.episode import Episode
from tradefair.tracestore import Trace, jsonl_lines, open_trace

Play = Callable[..., Path]
Edit = Callable[[Path], Any]


_TABLES = ("meta", "events", "agent_events", "prompt_parts", "prompt_calls", "pending")
_ROUNDS = 'events WHERE CAST(body AS TEXT) LIKE \'%"event":"round_closed"%\''
_ODD: list[Any] = [None, True, -1, 2**62, 1e300, "", "P1", "tool_called", [], {}, [[]], "r1.P1.x"]
_WIDE: dict[str, Any] = {"seats": {}, "rounds": 3, "n_buyers": 20, "n_sellers": 20, "acceptance": "per_seat"}
"""Histories that are too large to stand in their event."""


def _changed(path: Path, name: str = "changed.trace") -> Path:
    return Path(shutil.copy(path, path.with_name(name)))


def _flip(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def _spelt(event: dict[str, Any]) -> bytes:
    return orjson.dumps(event)


@pytest.mark.parametrize(
    ("scenario", "policy"),
    [("double_auction/smoke", "zip"), ("double_auction/bazaar", "random_legal"), ("teaching/talk", "half")],
)
def test_a_played_trace_is_reproduced(play: Play, scenario: str, policy: str) -> None:
    path = play(scenario, policy, seats={})
    verdict = verify_file(path)
    assert (verdict.verdict, verdict.sealed, verdict.findings) == ("reproduced", True, [])
    with open_trace(path) as trace:
        assert verdict.events == trace.manifest.about["head_seq"] > 10
        assert verdict.head_hash == trace.manifest.about["head_hash"]


def test_what_a_killed_writer_left_half_written_is_taken_back(play: Play, tmp_path: Path) -> None:
    path = play("double_auction/smoke", seats={})
    whole = verify_file(path)
    cut = _cut_off(path, tmp_path)
    assert _closed(cut) == _closed(path)
    cut = _cut_off(path, tmp_path)
    assert (verify_file(cut).verdict, verify_file(cut).head_hash) == ("reproduced", whole.head_hash)


def test_a_copy_without_its_log_is_truncated_and_says_what_to_copy(play: Play, tmp_path: Path, editor: Edit) -> None:
    live, copy = editor(play("teaching/pie", "half")), tmp_path / "copy.trace"
    live.unseal()
    with closing(sqlite3.connect(live.path)) as writer:
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("SELECT 1 FROM meta").fetchall()
        assert verify_file(live.path).sound
        shutil.copy(live.path, copy)
    for chain_only in (True, False):
        verdict = verify_file(copy, chain_only=chain_only)
        assert verdict.verdict == "truncated"
        assert "copy both" in verdict.sentence
    with closing(sqlite3.connect(copy)) as begun:
        begun.executescript("".join(f"DROP TABLE {name};" for name in _TABLES) + "VACUUM")
    assert verify_file(copy).verdict == "truncated"


def _closed(path: Path) -> tuple[int, str] | None:
    with open_trace(path) as trace:
        return trace.closed_head()


def test_a_half_written_trace_in_a_folder_that_is_read_only_is_read(play: Play, tmp_path: Path) -> None:
    path = play("double_auction/smoke", seats={})
    with small_disk(tmp_path / "small") as disk:
        cut = _cut_off(path, disk.folder)
        disk.read_only(True)
        assert verify_file(cut).verdict == "reproduced"


def _cut_off(path: Path, folder: Path) -> Path:
    """A copy as a writer leaves it that is killed while it changes the file, its rollback journal beside it."""
    cut = folder / "cut.trace"
    with closing(sqlite3.connect(path)) as writer:
        writer.execute("PRAGMA cache_size = 1")  # pages are written before the transaction ends
        writer.execute("UPDATE events SET body = zeroblob(2000)")
        for suffix in ("", "-journal"):
            shutil.copy(f"{path}{suffix}", f"{cut}{suffix}")
    assert cut.read_bytes() != path.read_bytes()
    return cut


def test_a_trace_that_keeps_digests_only_is_re_executed_too(play: Play, editor: Edit) -> None:
    path = play("double_auction/smoke", seats={}, record="digests")
    assert verify_file(path).verdict == "reproduced"
    calls = [event for event in map(orjson.loads, editor(path).bodies()) if event["event"] == "tool_called"]
    assert all(call["result_digest"] for call in calls)
    # What an action answered is kept: a repeated call key has no other source for it.
    assert {call["kind"]: call["result"] is None for call in calls} == {"read": True, "action": False}


@pytest.mark.many
def test_a_changed_byte_of_any_event_names_that_event(play: Play, editor: Edit) -> None:
    path = play("double_auction/smoke", seats={})
    for seq, body in enumerate(editor(path).bodies(), 1):
        for column, place in (("body", len(body) // 2), ("body", len(body) - 2), ("hash", 5)):
            changed = editor(_changed(path))
            ((stored,),) = changed.rows(f"SELECT {column} FROM events WHERE seq = {seq}")
            changed.run(f"UPDATE events SET {column} = ? WHERE seq = ?", _flip(stored, place), seq)
            for chain_only in (True, False):
                verdict = verify_file(changed.path, chain_only=chain_only)
                assert (verdict.verdict, verdict.seq, verdict.events) == ("damaged", seq, seq - 1)


def test_a_changed_or_missing_result_outside_the_event_names_the_event(play: Play, editor: Edit) -> None:
    path = play("double_auction/bazaar", **_WIDE)
    seq, blob = editor(path).rows("SELECT seq, blob FROM events WHERE blob IS NOT NULL ORDER BY seq")[0]
    edits: list[tuple[str, tuple[object, ...]]] = [
        ("UPDATE events SET blob = ? WHERE seq = ?", (_flip(blob, 100), seq)),
        ("UPDATE events SET blob = NULL, blob_digest = NULL WHERE seq = ?", (seq,)),
        ("UPDATE events SET blob_digest = ? WHERE seq = ?", ("0" * 64, seq)),
    ]
    for sql, values in edits:
        changed = editor(_changed(path))
        changed.run(sql, *values)
        for chain_only in (True, False):
            verdict = verify_file(changed.path, chain_only=chain_only)
            assert (verdict.verdict, verdict.seq) == ("damaged", seq)


def test_a_result_that_no_event_names_is_a_finding_and_must_still_hash_to_its_name(play: Play, editor: Edit) -> None:
    path = play("double_auction/smoke", seats={})
    stray = editor(path)
    stray.run(
        "UPDATE events SET blob = ?, blob_digest = ? WHERE seq = 1",
        b"{}",
        "9b7b3b4d16b6a1cb5cd3a1b1ad0b1d5d1e5f5d5e5b5a5d5c5f5e5d5c5b5a5958",
    )
    assert verify_file(path).verdict == "damaged"


def test_a_second_result_under_the_name_of_another_is_damage_whichever_is_read(play: Play, tmp_path: Path) -> None:
    path = play("double_auction/bazaar", "zip", **_WIDE)
    with open_trace(path) as trace:
        export = list(jsonl_lines(trace))
        ((name, _), *_) = trace.blobs()
    forged = b'{"blob":"' + name.encode() + b'","body":{}}'
    first = next(place for place, line in enumerate(export) if line.startswith(b'{"blob"'))
    for place in (first, len(export)):
        copy = tmp_path / f"{place}.trace.jsonl"
        copy.write_bytes(b"\n".join([*export[:place], forged, *export[place:]]))
        assert verify_file(copy).verdict == "damaged"


def test_an_episode_that_has_ended_without_a_seal_is_a_finding(play: Play, editor: Edit) -> None:
    bare = editor(play("teaching/pie", "half"))
    assert verify_file(bare.path).findings == []
    bare.unseal()
    verdict = verify_file(bare.path)
    assert (verdict.verdict, verdict.sealed) == ("reproduced", False)
    assert "nothing seals" in verdict.findings[0].message


class _Overtaken(Trace):
    """A trace whose episode goes on while it is read."""

    def __init__(self, trace: Trace, go_on: Callable[[], None]) -> None:
        super().__init__(trace.path, trace._source)
        self._go_on = go_on

    def blobs(self, after: int = 0) -> Iterator[tuple[str, bytes]]:
        found = list(super().blobs(after))
        self._go_on()
        return iter(found)

    def closed_head(self) -> tuple[int, str] | None:
        self._go_on()
        return super().closed_head()


@pytest.mark.parametrize("export", [False, True])
def test_an_episode_that_goes_on_while_it_is_read_is_reproduced(
    play: Play, editor: Edit, tmp_path: Path, export: bool
) -> None:
    whole = editor(play("double_auction/bazaar", "zip", **_WIDE))
    live = editor(_changed(whole.path, "live.trace"))
    closures = [seq for (seq,) in live.rows("SELECT seq FROM events WHERE closes ORDER BY seq")]
    columns = "seq, body, hash, closes, blob_digest, blob"

    def go_on() -> None:
        ((last,),) = live.rows("SELECT max(seq) FROM events")
        following = [seq for seq in closures if seq > last]
        for row in whole.rows(f"SELECT {columns} FROM events WHERE seq > {last} AND seq <= {following[0]}"):
            live.run(f"INSERT INTO events ({columns}) VALUES (?, ?, ?, ?, ?, ?)", *row)

    live.unseal()
    live.run("PRAGMA journal_mode = WAL")
    live.run("DELETE FROM events WHERE seq > ?", closures[0])
    live.close_at(closures[0])
    with closing(sqlite3.connect(live.path)) as host:
        # A host keeps its episode open: the log stays next to it.
        host.execute("SELECT 1 FROM meta").fetchall()
        with open_trace(live.path) as trace:
            overtaken = _Overtaken(trace, go_on)
            if export:
                copy = tmp_path / "copy.jsonl"
                copy.write_bytes(b"".join(line + b"\n" for line in jsonl_lines(overtaken)))
                verdict = verify_file(copy)
            else:
                verdict = verify(overtaken)
    assert (verdict.verdict, verdict.events) == ("reproduced", closures[0])
    assert verify_file(live.path).events > closures[0]


def test_a_changed_seal_or_rewritten_head_is_damage(play: Play, editor: Edit) -> None:
    path = play("double_auction/smoke", seats={})
    about = editor(path).about()
    changes = ({"finished": "never"}, {"head_hash": "0" * 64}, {"head_seq": 3}, {"head_seq": True})
    for change in changes:
        editor(path).set_about({**about, **change})
        assert verify_file(path).verdict == "damaged"


def test_a_forged_chain_diverges_and_both_values_are_shown(play: Play, editor: Edit) -> None:
    path = play("double_auction/smoke", seats={})
    forged = editor(path)
    events: list[dict[str, Any]] = [orjson.loads(body) for body in forged.bodies()]
    victim = next(event for event in events if event.get("tool") == "submit_quote")
    told = victim["result"]["price"]
    victim["arguments"]["price"] = told + 1
    forged.rewrite([_spelt(event) for event in events])
    assert verify_file(path, chain_only=True).verdict == "intact"
    verdict = verify_file(path)
    assert (verdict.verdict, verdict.seq, verdict.events) == ("diverged", victim["seq"], victim["seq"] - 1)
    assert f'"price":{told}' in (verdict.in_log or "")
    assert f'"price":{told + 1}' in (verdict.re_executed or "")


def test_rules_that_are_not_installed_make_a_trace_foreign(play: Play, editor: Edit) -> None:
    path = play("teaching/pie", "half")
    forged = editor(path)
    ((core,),) = forged.rows("SELECT value FROM meta WHERE key = 'core'")
    for old, new in (
        ('"market":"teaching"', '"market":"bazaar_of_yore"'),
        ('"rules_version":"3"', '"rules_version":"0"'),
    ):
        forged.rewrite(forged.bodies(), core.replace(old.encode(), new.encode()))
        assert verify_file(path).verdict == "foreign"
        assert verify_file(path, chain_only=True).verdict == "intact"
    forged.rewrite(forged.bodies(), core.replace(b"tradefair.trace/2", b"tradefair.trace/9"))
    verdict = verify_file(path)
    assert (verdict.verdict, verdict.sentence) == ("foreign", "schema 9 is not known here (known: 2)")


def test_jsonl_verifies_like_its_source_and_shows_its_damage(play: Play, tmp_path: Path) -> None:
    path = play("double_auction/bazaar", **_WIDE)
    with open_trace(path) as trace:
        lines = list(jsonl_lines(trace))
    copy = tmp_path / "copy.trace.jsonl"
    copy.write_bytes(b"\n".join(lines) + b"\n")
    assert verify_file(copy).verdict == "reproduced"
    assert verify_file(copy).head_hash == verify_file(path).head_hash
    for place in (10, 200, len(lines[9]) - 20):
        copy.write_bytes(b"\n".join([*lines[:9], _flip(lines[9], place), *lines[10:]]))
        assert (verify_file(copy).verdict, verify_file(copy).seq) == ("damaged", 9)
    copy.write_bytes(b"\n".join([line for line in lines[:-20] if line.startswith(b'{"hash"') or b"about" in line[:9]]))
    assert verify_file(copy).verdict in ("truncated", "damaged")


async def test_a_live_trace_is_checked_from_the_last_sound_event_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, scenario = tmp_path / "live.trace", load_scenario("teaching", "pie", {"rounds": 4})
    episode = await Episode.create(path, market_type("teaching"), scenario, 3, episode_id="live")
    checker: Checker | None = None
    stepped: list[bytes] = []
    step = Replayed.step

    def counted(self: Replayed, body: bytes) -> Step:
        stepped.append(body)
        return step(self, body)

    monkeypatch.setattr(Replayed, "step", counted)
    read: list[int] = []
    for name in ("events", "blobs"):
        plain = getattr(Trace, name)

        def noted(self: Trace, after: int = 0, plain: Any = plain, **options: Any) -> Any:
            read.append(after)
            return plain(self, after, **options)

        monkeypatch.setattr(Trace, name, noted)
    found: Check | None = None
    for _ in range(4):
        for seat in ("P1", "P2"):
            await episode.call(seat, "claim", {"slices": 5})
        with open_trace(path) as trace:
            checker = checker or Checker(trace)
            before, stepped[:] = checker.events, []
            read.clear()
            found = checker.advance(trace)
            # Nothing that was checked is read again, and seats and large results are no exception.
            assert set(read) == {before} or before == 0
            assert len(stepped) == found.events - before > 0
        with open_trace(path) as trace:
            assert found == verify(trace)
    await episode.close()
    assert found is not None
    assert (found.verdict, found.sealed) == ("reproduced", True)
    editor = sqlite3.connect(path)
    editor.execute("UPDATE meta SET value = replace(value, 'live', 'dead') WHERE key = 'about'")
    editor.commit()
    editor.close()
    with open_trace(path) as trace:
        assert checker is not None
        assert checker.advance(trace).verdict == "damaged"


async def test_an_unfinished_episode_is_reproduced_but_not_sealed(tmp_path: Path) -> None:
    path = tmp_path / "open.trace"
    kind = market_type("teaching")
    episode = await Episode.create(path, kind, load_scenario("teaching", "pie"), 3, episode_id="open")
    for seat in ("P1", "P2"):
        await episode.call(seat, "view_my_value", {})
        await episode.call(seat, "claim", {"slices": 5})
    await episode.call("P1", "claim", {"slices": "many"})
    await episode.call("P1", "no_such_tool", {})
    await episode.close()
    verdict = verify_file(path)
    assert (verdict.verdict, verdict.sealed) == ("reproduced", False)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_verdict_is_given_whatever_bytes_of_the_file_change(play: Play, data: st.DataObject) -> None:
    path = play("teaching/pie", "half", name="whole")
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    broken = path.with_name("broken.trace")
    broken.write_bytes(content[: data.draw(st.integers(1, len(content)))])
    verdict = verify_file(broken)
    assert verdict.verdict in ("reproduced", "damaged", "truncated", "diverged", "foreign", "not_a_trace")
    assert orjson.dumps(verdict.to_json())


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_forger_who_recomputes_the_chain_gets_a_verdict_too(play: Play, editor: Edit, data: st.DataObject) -> None:
    path = play("teaching/talk", "half", name="forged")
    forged = editor(path)
    events: list[dict[str, Any]] = [orjson.loads(body) for body in forged.bodies()]
    victim = events[data.draw(st.integers(0, len(events) - 1))]
    key = data.draw(st.sampled_from(sorted(victim)))
    odd: Any = data.draw(st.sampled_from(_ODD))
    if victim[key] == odd:
        odd = [{"odd": "value"}]
    victim[key] = odd
    forged.rewrite([_spelt(event) for event in events])
    verdict = verify_file(path)
    assert verdict.verdict in ("diverged", "damaged", "truncated")
