"""An entry: a zip of traces and what they claim, written the same way each time and read as a stranger's file."""

from __future__ import annotations

import re
import stat
import struct
import zipfile
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import orjson
from pydantic import Field, ValidationError

from tradefair.contract.chain import canonical, digest
from tradefair.contract.errors import StorageUnavailable
from tradefair.contract.kernel.players import Player
from tradefair.evaluation.arena.terms import MAX_GAMES
from tradefair.evaluation.prove import proof
from tradefair.evaluation.record import Record
from tradefair.files.folders import drafted

SUFFIX = ".tfb"
INDEX = "entry.json"
_TRACE = re.compile(r"traces/[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.trace(\.jsonl)?", re.ASCII)
_MAX_ARCHIVE = 4 << 30
_MAX_MEMBER = 256 << 20
_MAX_INDEX = 16 << 20
_MAX_DIRECTORY = 4 << 20
# Zip has no older date, and the same bytes need the same one.
_DATE = (1980, 1, 1, 0, 0, 0)
_PIECE = 1 << 20
_END = struct.Struct("<4s4H2LH")

Code = Literal[
    proof.Code, "unsafe_archive", "unlisted_file", "missing_file", "digest_differs", "chain_broken", "truncated",
    "side_rows_altered", "rules_version", "scenario_differs", "seat_differs", "opponents_differ", "seed_not_in_plan",
    "seed_missing", "duplicate_episode", "copied_entry", "unfinished_episode", "agents_mixed", "figures_disagree",
]  # fmt: skip


class Refusal(NamedTuple):
    """Why an entry is refused: the code, the file inside it and the event (0: none), and a sentence."""

    code: Code
    file: str
    event: int
    sentence: str


class Refused(Exception):
    """Nothing more can be read."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.sentence)
        self.refusal = refusal


_Text = Annotated[str, Field(max_length=400)]
_Hash = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Agent(Record):
    """Who played: label, policy or model, and the digest of the whole configuration as the chain has it."""

    label: _Text
    policy: Annotated[str, Field(max_length=2_048)] | None
    model: _Text | None
    digest: _Hash

    @classmethod
    def of(cls, player: Player) -> Agent:
        """The agent that a trace's chain names."""
        said: dict[str, Any] = player.model_dump(mode="json")
        model = player.agent.model if player.agent else None
        return cls(label=player.label, policy=player.policy, model=model, digest=digest(canonical(said)))


class Episode(Record):
    """What an entry claims of one trace; cost is in millionths of a US dollar, null where it is not known."""

    file: _Text
    digest: _Hash
    head: _Hash
    scenario: _Text
    seed: Annotated[int, Field(ge=0, lt=2**63)]
    score: Annotated[float, Field(allow_inf_nan=False)] | None
    model_calls: Annotated[int, Field(ge=0, lt=2**53)]
    cost_usd_micro: Annotated[int, Field(ge=0, lt=2**53)] | None


class Entry(Record):
    """`entry.json`. `commitment` is the agent's digest: what an entrant publishes before sealed seeds are."""

    schema_: Literal["tradefair.entry/1"] = Field(default="tradefair.entry/1", alias="schema")
    arena: Annotated[str, Field(max_length=80)]
    agent: Agent
    commitment: _Hash
    episodes: Annotated[tuple[Episode, ...], Field(min_length=1, max_length=MAX_GAMES)]


def file_digest(path: Path) -> str:
    """BLAKE2b-256 of a file's bytes, in hex."""
    found = blake2b(digest_size=32)
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()


def write_entry(entry: Entry, traces: Mapping[str, Path], path: Path) -> None:
    """Write the archive, whole or not at all: stored, names sorted, one date. `traces` maps names inside it to files.

    Raises StorageUnavailable with the system's reason.
    """
    content = orjson.dumps(entry.model_dump(mode="json", by_alias=True), option=orjson.OPT_INDENT_2) + b"\n"
    try:
        with drafted(path) as draft, zipfile.ZipFile(draft, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted([INDEX, *traces]):
                info = zipfile.ZipInfo(name, _DATE)
                info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
                archive.writestr(info, content if name == INDEX else traces[name].read_bytes())
    except OSError as error:
        raise StorageUnavailable(f"{path}: cannot be written: {error.strerror}") from None


def unpack(path: Path, folder: Path) -> tuple[Entry, dict[str, Path], list[Refusal]]:
    """The entry, its traces by name below `folder`, and what is refused of files. Raises Refused where nothing counts.

    Names inside the archive become no path: files in `folder` are numbered.
    """
    try:
        _check_directory(path)
        with zipfile.ZipFile(path) as archive:
            members = _members(archive, path.stat().st_size)
            entry = _index(archive, members)
            listed = {episode.file: episode.digest for episode in entry.episodes}
            refused = [
                Refusal("unlisted_file", name[:200], 0, f"{name[:80]} is in the archive and not in {INDEX}")
                for name in members
                if name != INDEX and name not in listed
            ]
            found: dict[str, Path] = {}
            for number, (name, expected) in enumerate(listed.items()):
                if name not in members:
                    refused.append(Refusal("missing_file", name, 0, f"{INDEX} lists it, and it is not there"))
                    continue
                target = folder / f"{number}.trace{'.jsonl' if name.endswith('.jsonl') else ''}"
                _extract(archive, members[name], target)
                if file_digest(target) != expected:
                    refused.append(Refusal("digest_differs", name, 0, f"its bytes are not those that {INDEX} names"))
                    continue
                found[name] = target
            return entry, found, refused
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, EOFError) as error:
        raise Refused(_unsafe(f"it cannot be read: {str(error)[:200]}")) from None


def _unsafe(sentence: str, name: str = "") -> Refusal:
    return Refusal("unsafe_archive", name[:200], 0, sentence)


def _check_directory(path: Path) -> None:
    """The end record alone: how many members there are, and how large their list is, before any of it is read."""
    known = path.lstat()
    if not stat.S_ISREG(known.st_mode) or known.st_size > _MAX_ARCHIVE:
        raise Refused(_unsafe(f"no regular file of at most {_MAX_ARCHIVE:,} bytes"))
    with path.open("rb") as file:
        # We write no comment, so that the record is the last of the file.
        file.seek(max(0, known.st_size - _END.size))
        record = file.read()
    if len(record) < _END.size:
        raise Refused(_unsafe("no zip archive"))
    mark, disk, first, here, total, size, offset, comment = _END.unpack(record)
    if mark != b"PK\5\6" or comment:
        raise Refused(_unsafe("no zip archive, or one with a comment"))
    if disk or first or here != total or total > MAX_GAMES + 1 or size > _MAX_DIRECTORY:
        raise Refused(_unsafe(f"a list of {total:,} files in {size:,} bytes; at most {MAX_GAMES + 1:,}"))
    if offset + size != known.st_size - _END.size:
        raise Refused(_unsafe("bytes before or behind what the archive lists"))


def _members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    """The members by name. Raises Refused for a name, a kind or a size that no entry has."""
    members: dict[str, zipfile.ZipInfo] = {}
    end = 0
    for info in sorted(archive.infolist(), key=lambda member: member.header_offset):
        name = info.filename
        kind = stat.S_IFMT(info.external_attr >> 16)
        if name != INDEX and not _TRACE.fullmatch(name):
            raise Refused(_unsafe(f"{name[:80]!r} is no name of an entry", name))
        if name in members:
            raise Refused(_unsafe(f"{name} is there twice", name))
        if kind not in (0, stat.S_IFREG) or info.flag_bits & 1:
            raise Refused(_unsafe(f"{name} is a link, a device or encrypted", name))
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise Refused(_unsafe(f"{name} is compressed; entries are stored", name))
        if info.file_size > (_MAX_INDEX if name == INDEX else _MAX_MEMBER):
            raise Refused(_unsafe(f"{name} has {info.file_size:,} bytes, which is too large", name))
        # Members that share bytes would unpack to more than the archive holds.
        if info.header_offset < end:
            raise Refused(_unsafe(f"{name} overlaps another file", name))
        end = info.header_offset + info.file_size
        members[name] = info
    if end > size:
        raise Refused(_unsafe("its files are larger than the archive"))
    if INDEX not in members:
        raise Refused(_unsafe(f"there is no {INDEX}"))
    return members


def _index(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo]) -> Entry:
    try:
        entry = Entry.model_validate_json(archive.read(members[INDEX]))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))[:80]
        raise Refused(_unsafe(f"{INDEX}: {where}: {first['msg'][:200]}", INDEX)) from None
    files = [episode.file for episode in entry.episodes]
    if len(set(files)) < len(files) or not all(_TRACE.fullmatch(name) for name in files):
        raise Refused(_unsafe(f"{INDEX} lists a file twice, or one that no entry has", INDEX))
    return entry


def _extract(archive: zipfile.ZipFile, info: zipfile.ZipInfo, target: Path) -> None:
    """Copy one member. Raises BadZipFile where its bytes are not those that the archive lists."""
    with archive.open(info) as source, target.open("wb") as file:
        while piece := source.read(_PIECE):
            file.write(piece)
