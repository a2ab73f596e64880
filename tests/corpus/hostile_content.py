"""Hostile trace files, second part: journals, sizes, JSON, and what is no plain file at all."""

from __future__ import annotations

import gzip
import os
import socket
import sqlite3
import struct
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
from tests.corpus.bases import Bases
from tests.corpus.cases import Make, add, canary, case, copied
from tests.corpus.forge import Forge
from tests.corpus.hostile_tables import Pages

from tradefair.contract.chain import digest, seal
from tradefair.tracestore import jsonl_lines, open_trace

MIB = 1024**2

# --- journals -------------------------------------------------------------------------------------------------------

_JOURNAL = bytes.fromhex("d9d505f920a163d7")
_SECTOR = 512


def _journal(path: Path, pages: Mapping[int, bytes], count: int, names: bytes = b"") -> None:
    """A rollback journal beside `path` that would put `pages` back; `names` is the file of several databases."""
    size, nonce = len(next(iter(pages.values()))), 7
    written = (_JOURNAL + struct.pack(">5I", len(pages), nonce, count, _SECTOR, size)).ljust(_SECTOR, b"\0")
    for number, page in pages.items():
        # SQLite sums every 200th byte only.
        total = (nonce + sum(page[at] for at in range(size - 200, 0, -200))) % 2**32
        written += struct.pack(">I", number) + page + struct.pack(">I", total)
    if names:
        # The page of the pending byte, which never holds data, marks the name.
        pending = 0x40000000 // size + 1
        written += struct.pack(">I", pending) + names + struct.pack(">II", len(names), sum(names)) + _JOURNAL
    Path(f"{path}-journal").write_bytes(written)


def _changed(bases: Bases, folder: Path) -> tuple[Pages, int, bytes, bytes]:
    """An honest trace, a page with events, its bytes, and the same with another price."""
    pages = Pages(copied(bases.auction, folder))
    page = next(pages.leaves(pages.root("events")))
    honest = bytes(pages.raw[(page - 1) * pages.size : page * pages.size])
    assert b'"price":' in honest or b'"seat":"' in honest
    return pages, page, honest, honest.replace(b'"seat":"B1"', b'"seat":"B2"')


@case("journals")
def an_honest_hot_one(bases: Bases, folder: Path) -> Path:
    """The other cases would prove nothing if no journal was ever rolled back."""
    pages, page, honest, forged = _changed(bases, folder)
    pages.raw[(page - 1) * pages.size : page * pages.size] = forged
    _journal(pages.path, {page: honest}, len(pages.raw) // pages.size)
    return pages.save()


@case("journals")
def a_hot_one_with_another_price(bases: Bases, folder: Path) -> Path:
    pages, page, _, forged = _changed(bases, folder)
    _journal(pages.path, {page: forged}, len(pages.raw) // pages.size)
    return pages.save()


@case("journals")
def one_that_names_another_file(bases: Bases, folder: Path) -> Path:
    """After the rollback SQLite removes the file that the journal names."""
    pages, page, honest, _ = _changed(bases, folder)
    _journal(pages.path, {page: honest}, len(pages.raw) // pages.size, names=bytes(canary(folder)))
    return pages.save()


@case("journals")
def one_that_is_a_pipe(bases: Bases, folder: Path) -> Path:
    path = copied(bases.auction, folder)
    os.mkfifo(f"{path}-journal")
    return path


@case("journals")
def one_that_is_a_link_out(bases: Bases, folder: Path) -> Path:
    pages, page, honest, _ = _changed(bases, folder)
    _journal(pages.path, {page: honest}, len(pages.raw) // pages.size)
    journal = Path(f"{pages.path}-journal")
    os.replace(journal, canary(folder).with_name(f"{folder.name}.journal"))
    journal.symlink_to(canary(folder).with_name(f"{folder.name}.journal"))
    return pages.save()


def _wal(path: Path, pages: Mapping[int, bytes], count: int, *, frame_salt: int = 1, spoil: int = 0) -> None:
    """A write-ahead log beside `path` with one commit of `pages`."""
    size, sums = len(next(iter(pages.values()))), (0, 0)
    header = struct.pack(">6I", 0x377F0682, 3007000, size, 0, 1, 1)
    sums = _sums(sums, header)
    written = header + struct.pack(">2I", *sums)
    for place, (number, page) in enumerate(pages.items(), 1):
        head = struct.pack(">2I", number, count if place == len(pages) else 0)
        sums = _sums(sums, head + page)
        written += head + struct.pack(">4I", frame_salt, 1, sums[0] ^ spoil, sums[1]) + page
    Path(f"{path}-wal").write_bytes(written)


def _sums(sums: tuple[int, int], data: bytes) -> tuple[int, int]:
    """SQLite's running checksum over words of four bytes, the little end first."""
    first, second = sums
    words = struct.unpack(f"<{len(data) // 4}I", data)
    for one, two in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) % 2**32
        second = (second + two + first) % 2**32
    return first, second


def _live(bases: Bases, folder: Path) -> tuple[Pages, int, bytes]:
    """A trace that says that it has a write-ahead log; a page with events, changed."""
    pages, page, _, forged = _changed(bases, folder)
    pages.put(18, 0x0202, 2)
    pages.save()
    return pages, page, forged


@case("journals")
def a_log_with_another_price(bases: Bases, folder: Path) -> Path:
    pages, page, forged = _live(bases, folder)
    _wal(pages.path, {page: forged}, len(pages.raw) // pages.size)
    return pages.path


@case("journals")
def a_log_of_another_trace(bases: Bases, folder: Path) -> Path:
    pages, _, _ = _live(bases, folder)
    other = bases.bargain.read_bytes()
    count = len(other) // pages.size
    _wal(pages.path, {n: other[(n - 1) * pages.size : n * pages.size] for n in range(2, count)}, count)
    return pages.path


@case("journals")
def a_log_that_brings_a_view(bases: Bases, folder: Path) -> Path:
    pages, _, _ = _live(bases, folder)
    hostile = folder / "hostile"
    hostile.write_bytes(pages.raw)
    with closing(sqlite3.connect(hostile)) as database:
        database.executescript("PRAGMA journal_mode = DELETE; CREATE VIEW another AS SELECT * FROM meta;")
    first = bytearray(hostile.read_bytes()[: pages.size])
    first[18:20] = b"\2\2"
    hostile.unlink()
    _wal(pages.path, {1: bytes(first)}, len(pages.raw) // pages.size)
    return pages.path


def _unfinished(bases: Bases, folder: Path) -> tuple[Path, dict[int, bytes], int]:
    """A live trace: an empty database, the pages that its log holds, and their number."""
    path = copied(bases.auction, folder)
    pages = Pages(path)
    pages.put(18, 0x0202, 2)
    size, count = pages.size, len(pages.raw) // pages.size
    kept = {n: bytes(pages.raw[(n - 1) * size : n * size]) for n in range(1, count + 1)}
    with closing(sqlite3.connect(folder / "empty")) as database:
        # One page, as a log leaves it that has not yet been written back.
        database.executescript("PRAGMA user_version = 0; VACUUM;")
    first = bytearray((folder / "empty").read_bytes()[:size])
    (folder / "empty").unlink()
    first[18:20] = b"\2\2"
    path.write_bytes(first)
    return path, kept, count


def _unfinished_with(log: bool = True, **how: int) -> Make:
    def make(bases: Bases, folder: Path) -> Path:
        path, pages, count = _unfinished(bases, folder)
        if log:
            _wal(path, pages, count, **how)
        return path

    return make


add("journals", "a_live_copy_without_its_log", _unfinished_with(log=False))
add("journals", "a_live_copy_whose_log_has_other_salts", _unfinished_with(frame_salt=2))
add("journals", "a_live_copy_whose_log_is_spoilt", _unfinished_with(spoil=1))


@case("journals")
def shared_memory_that_is_a_link_out(bases: Bases, folder: Path) -> Path:
    path = a_log_with_another_price(bases, folder)
    Path(f"{path}-shm").symlink_to(canary(folder))
    return path


# --- sizes ----------------------------------------------------------------------------------------------------------


def _meta(path: Path, key: str, value: bytes) -> Path:
    with closing(sqlite3.connect(path)) as database:
        database.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))
        database.commit()
    return path


def _forged(bases: Bases, folder: Path) -> tuple[Forge, Path]:
    return Forge.load(bases.auction), folder / "case.trace"


def _large_result(forge: Forge) -> None:
    large = b'"' + b"x" * 2 * MIB + b'"'
    forge.blobs[digest(large)] = large
    place = forge.seq_of(tool="execute_code", status="ok")
    forge.change(place, result_ref=digest(large), result_digest=digest(large), result_size=len(large))


def _core(change: Callable[[dict[str, Any]], object]) -> Callable[[Forge], object]:
    return lambda forge: forge.edit_core(change)


SEATS = [{"id": f"B{number}", "role": "buyer"} for number in range(1, 200_001)]
SIZES: Mapping[str, Callable[[Forge], object]] = {
    "core_of_17_mib": _core(lambda core: core["scenario"].update(description="x" * 17 * MIB)),
    "about_of_5_mib": lambda forge: forge.about.update(remarks={"long": "x" * 5 * MIB}),
    "event_of_9_mib": lambda forge: forge.change(
        forge.seq_of(tool="send_message", seat="S1"), arguments={"message": "x" * 9 * MIB}
    ),
    "result_of_2_mib": _large_result,
    "model_record_of_5_mib": lambda forge: forge.notes.append(
        ("S1", orjson.dumps({"kind": "plan", "text": "x" * 5 * MIB}))
    ),
    "two_hundred_thousand_seats": _core(lambda core: core.update(seats=SEATS)),
    "a_million_rounds": _core(lambda core: core["scenario"].update(rounds=10**6, n_buyers=10**6, n_sellers=10**6)),
    "seat_of_a_megabyte": _core(lambda core: core["seats"][0].update(id="B" * MIB)),
}


def _sized(change: Callable[[Forge], object]) -> Make:
    def make(bases: Bases, folder: Path) -> Path:
        forge, path = _forged(bases, folder)
        change(forge)
        return forge.save(path)

    return make


for _name, _size in SIZES.items():
    add("sizes", _name, _sized(_size))


@case("sizes")
def nine_rows_about_it(bases: Bases, folder: Path) -> Path:
    path = copied(bases.auction, folder)
    for number in range(7):
        _meta(path, f"more{number}", b"x")
    return path


@case("sizes")
def one_unknown_row_about_it(bases: Bases, folder: Path) -> Path:
    return _meta(copied(bases.auction, folder), "verdict", b"reproduced")


@case("sizes")
def five_gibibytes_of_nothing(bases: Bases, folder: Path) -> Path:
    path = copied(bases.auction, folder)
    os.truncate(path, 5 * 1024**3)
    return path


def _lines(bases: Bases) -> list[bytes]:
    with open_trace(bases.auction) as trace:
        return list(jsonl_lines(trace))


def _jsonl(folder: Path, lines: list[bytes]) -> Path:
    path = folder / "case.trace.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


@case("sizes")
def line_of_17_mib(bases: Bases, folder: Path) -> Path:
    lines = _lines(bases)
    lines[5] = lines[5].replace(b'"seq"', b" " * 17 * MIB + b'"seq"')
    return _jsonl(folder, lines)


@case("sizes")
def first_line_of_20_mib(bases: Bases, folder: Path) -> Path:
    return _jsonl(folder, [b'{"about":{"long":"' + b"x" * 20 * MIB + b'"},"core":{}}'])


@case("sizes")
def packed_with_gzip(bases: Bases, folder: Path) -> Path:
    path = folder / "case.trace"
    # 50 MB of zeros in 50 kB.
    path.write_bytes(gzip.compress(b"\0" * 50 * MIB, 9, mtime=0))
    return path


@case("sizes")
def packed_with_zstd(bases: Bases, folder: Path) -> Path:
    path = folder / "case.trace"
    path.write_bytes(bytes.fromhex("28b52ffd") + b"\xff" * 99)
    return path


# --- JSON -----------------------------------------------------------------------------------------------------------

DEEP = b"[" * 100_000 + b"]" * 100_000


ABOUTS: Mapping[str, tuple[bytes, bytes]] = {
    "about_too_deep": (b"{", b'{"deep":' + DEEP + b","),
    # Who reads the first of two reads another end than who reads the last, and the seal fits the last.
    "about_key_twice": (b"{", b'{"end_reason":"truncated:operator",'),
    "about_with_a_number_of_ten_thousand_digits": (b"{", b'{"awaits":' + b"9" * 10_000 + b","),
}
CORES: Mapping[str, tuple[bytes, bytes]] = {
    "core_too_deep": (b'"scenario":{', b'"scenario":{"deep":' + DEEP + b","),
    "core_key_twice": (b"{", b'{"seed":1,'),
    "core_is_a_list": (b"{", b'[{},{"seed":1,'),
}
EVENTS: Mapping[str, tuple[bytes, bytes]] = {
    "event_too_deep": (b'"arguments":', b'"deep":' + DEEP + b',"arguments":'),
    "event_key_twice": (b'"status":"ok"', b'"status":"rejected","status":"ok"'),
    "event_with_a_number_of_ten_thousand_digits": (b'"round":1', b'"round":' + b"1" * 10_000),
    "event_with_a_number_beyond_doubles": (b'"arguments":{', b'"arguments":{"price":1e999,'),
    "event_that_is_not_utf_8": (b'"arguments":{', b'"arguments":{"\xff\xfe":1,'),
    "event_with_half_a_character": (b'"arguments":{', b'"arguments":{"\\ud800":1,'),
    "event_with_a_null_character": (b'"tool":"', b'"tool":"\\u0000\\u001b]0;title\\u0007\\u009b31m\\u202e'),
}
"""Name of a case -> what is replaced in the honest bytes, once, and by what; the chain fits the new ones."""


def _about_by(old: bytes, new: bytes) -> Make:
    def make(bases: Bases, folder: Path) -> Path:
        path = copied(bases.auction, folder)
        return _meta(path, "about", orjson.dumps(Forge.load(path).about).replace(old, new, 1))

    return make


def _core_by(old: bytes, new: bytes) -> Make:
    def make(bases: Bases, folder: Path) -> Path:
        forge, path = _forged(bases, folder)
        forge.core = forge.core.replace(old, new, 1) + b"]" * new.startswith(b"[")
        return forge.save(path)

    return make


def _event_by(old: bytes, new: bytes) -> Make:
    """In the seller's first message."""

    def make(bases: Bases, folder: Path) -> Path:
        forge, path = _forged(bases, folder)
        place = forge.seq_of(tool="send_message", seat="S1", status="ok") - 1
        assert old in forge.bodies[place]
        forge.bodies[place] = forge.bodies[place].replace(old, new, 1)
        return forge.save(path)

    return make


for _table, _by in ((ABOUTS, _about_by), (CORES, _core_by), (EVENTS, _event_by)):
    for _name, _change in _table.items():
        add("json", _name, _by(*_change))


@case("json")
def about_is_null(bases: Bases, folder: Path) -> Path:
    return _meta(copied(bases.auction, folder), "about", b"null")


@case("json")
def line_with_two_cores(bases: Bases, folder: Path) -> Path:
    lines = _lines(bases)
    lines[0] = lines[0].replace(b',"core":{', b',"core":{"seed":1},"core":{')
    return _jsonl(folder, lines)


@case("json")
def line_that_names_a_core_in_its_about(bases: Bases, folder: Path) -> Path:
    """The mark at which the first line is cut stands in a text before it, and the seal fits."""
    forge = Forge.load(bases.auction)
    about = {**forge.about, "remarks": {"mark": ',"core":{"seed":1}'}}
    lines = _lines(bases)
    sealed = orjson.dumps({**about, "seal": seal(about)}).replace(b'\\"', b'"')
    lines[0] = b'{"about":' + sealed + b',"core":' + forge.core + b"}"
    return _jsonl(folder, lines)


# --- files ----------------------------------------------------------------------------------------------------------


def _at(put: Callable[[Path], object]) -> Make:
    """What is put where the trace is looked for."""

    def make(_: Bases, folder: Path) -> Path:
        path = folder / "case.trace"
        put(path)
        return path

    return make


FILES: Mapping[str, Callable[[Path], object]] = {
    "a_pipe": os.mkfifo,
    # By a link: making a device takes the rights of root.
    "a_device": lambda path: path.symlink_to("/dev/zero"),
    "a_folder": Path.mkdir,
    "a_link_to_itself": lambda path: path.symlink_to("case.trace"),
    "zero_bytes": Path.touch,
}
for _name, _put in FILES.items():
    add("files", _name, _at(_put))


@case("files")
def a_socket(bases: Bases, folder: Path) -> Path:
    # By the number of the open folder: the path of a socket has at most 107 bytes.
    opened = os.open(folder, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(f"/proc/self/fd/{opened}/case.trace")
    os.close(opened)
    return folder / "case.trace"


@case("files")
def a_link_out(bases: Bases, folder: Path) -> Path:
    """Named as a folder: what lies outside of it was not asked for."""
    (folder / "case.trace").symlink_to(canary(folder))
    return folder


@case("files")
def a_linked_folder(bases: Bases, folder: Path) -> Path:
    (folder / "linked").symlink_to(canary(folder).parent)
    return folder


@case("files")
def no_rights(bases: Bases, folder: Path) -> Path:
    path = copied(bases.auction, folder)
    path.chmod(0)
    return path


def _named(name: str, encoded: bytes) -> None:
    """A sound trace under a hostile name."""

    def make(bases: Bases, folder: Path) -> Path:
        return copied(bases.auction, folder).rename(folder / os.fsdecode(encoded))

    add("files", name, make)


_named("a_name_that_controls_a_terminal", "\x1b]0;title\x07\u202e\x9b31m.trace".encode())
_named("a_name_of_two_lines", b"one\ntwo.trace")
_named("a_name_that_is_not_utf_8", b"\xff\xfe.trace")
