"""A user's own tribes and items: TOML files with the tables of a scenario file, below the folder of `--data`.

What they hold is written into the scenario when that is loaded, with the SHA-256 of each file, and so into the manifest
of every trace: what was played can be verified where the files are not. Files are hostile input: an error names the
file and the field of everything that is wrong with it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from tradefair.contract import ScenarioError
from tradefair.contract.scenario import build_scenario, checked_content
from tradefair.contract.text import clean_line
from tradefair.files.user_files import Unreadable, bytes_within, parse_toml, text_of
from tradefair.supply_chain.model import MAX_ITEMS, MAX_TRIBES, DataFiles, Item, SupplyChainScenario, Tribe

# Bytes of a file: what a stranger sends must not fill the memory.
LIMIT_BYTES = 256_000
TABLES: Mapping[str, str] = {"personas": "tribes", "items": "items"}
"""The table that a file of each kind holds, and nothing else."""

_MOST = {"tribes": MAX_TRIBES, "items": MAX_ITEMS}
# Characters of an error: a file can have thousands of wrong fields.
_LIMIT_MESSAGE = 800


class DataFile(NamedTuple):
    """A file as it was read: its name below the folder, its tables, SHA-256 of its bytes as hex."""

    name: str
    content: Mapping[str, Any]
    sha256: str


class _Tables(BaseModel):
    """Tables of either kind of file; checked on their own, so that a wrong field is reported once."""

    model_config = ConfigDict(extra="forbid", strict=True)

    tribes: tuple[Tribe, ...] = ()
    items: tuple[Item, ...] = ()


def lacks_data(scenario: SupplyChainScenario) -> bool:
    """Whether the scenario names a file that was not there when it was loaded."""
    return scenario.data.lacks_personas or scenario.data.lacks_items


def files_read(scenario: SupplyChainScenario) -> dict[str, str]:
    """The file that each table was read from, by table; empty for a scenario with tables of its own."""
    data = scenario.data
    read = {"tribes": (data.personas, data.personas_sha256), "items": (data.items, data.items_sha256)}
    return {table: f"of {name}, SHA-256 {sha256}" for table, (name, sha256) in read.items() if name and sha256}


def missing_files(scenario: SupplyChainScenario) -> str:
    """The message about files that were not there, and what to do."""
    missing = ", ".join(f"data.{kind} = {name}" for kind, name in _unread(scenario.data))
    return (
        f"{scenario.id}: {missing}: no such file was found: name the folder that holds it with --data DIR, or with the "
        "variable TRADEFAIR_DATA"
    )


def with_data(scenario: SupplyChainScenario, root: str) -> SupplyChainScenario:
    """The scenario with the tables of the files that it names below `root`; unchanged where there are none.

    Raises ScenarioError that names every malformed file with its field. A file that does not exist is no error here:
    `create` refuses to play without it.
    """
    found: dict[str, Any] = {}
    digests: dict[str, str] = {}
    # Files that were read already are not read again: a loaded scenario must play the same on a machine without them.
    for kind, name in _unread(scenario.data) if root else ():
        if _stands(Path(root, name)):
            file = read_file(Path(root), name)
            found[TABLES[kind]] = parse_tables(kind, file)
            digests[f"{kind}_sha256"] = file.sha256
    if not found:
        return scenario
    data = {**scenario.data.model_dump(), **digests}
    content = {**scenario.model_dump(mode="json"), **found, "data": data}
    return build_scenario(SupplyChainScenario, content, source=scenario.id)


def read_file(folder: Path, name: str) -> DataFile:
    """A TOML file of the folder.

    Raises ScenarioError when it is a link out of the folder, larger than 256 kB, not UTF-8, or not TOML.
    """
    try:
        # Bounded and within the folder before anything is parsed: the file may be a stranger's.
        raw = bytes_within(folder, folder / name, LIMIT_BYTES, called="the folder of data")
    except Unreadable as why:
        raise ScenarioError(f"{name}: {why}") from None
    content = parse_toml(text_of(raw, source=name), source=name)
    # Of the bytes as they are on disk, so that any tool can check it.
    return DataFile(name, content, hashlib.sha256(raw).hexdigest())


def parse_tables(kind: str, file: DataFile) -> list[Any]:
    """The checked tables of a file of `personas` or of `items`. ScenarioError names the file and every wrong field."""
    table = TABLES[kind]
    tables = file.content.get(table)
    strangers = sorted(file.content.keys() - {table})
    if not isinstance(tables, list) or strangers:
        given = f"{_shown(strangers[0])}: unknown key; " if strangers else ""
        # A file of tables only: it must not change rounds, prices or seats of the scenario that names it.
        raise ScenarioError(f"{file.name}: {given}a file of {kind} holds tables [[{table}]] and nothing else")
    listed: list[Any] = tables  # pyright: ignore[reportUnknownVariableType]
    if not 1 <= len(listed) <= _MOST[table]:
        raise ScenarioError(f"{file.name}: {len(listed)} {table}: allowed are 1 to {_MOST[table]}")
    # Alone, with defaults that refuse as little as can be: the scenario that names it checks the whole.
    alone = {"id": "supply_chain/data", table: listed, "tick": "0.01", "retailers": 2, "funds_factor": 10.0}
    try:
        # The tables alone first: their errors name the field as the file has it. Then within a scenario, for rules that
        # need one (base prices on the tick, weights that sum to 1).
        checked_content(_Tables, {table: listed}, source=file.name)
        build_scenario(SupplyChainScenario, alone, source=file.name)
    # Deep nesting reaches the validation where the parser let it through.
    except (ScenarioError, RecursionError) as error:
        told = str(error).removeprefix(f"{file.name}: ") if isinstance(error, ScenarioError) else "nested too deep"
        raise ScenarioError(f"{file.name}: {_shown(told)}") from None
    return listed


def _unread(data: DataFiles) -> Iterator[tuple[str, str]]:
    """Kind and name of the files that are named and were not read."""
    if data.personas is not None and data.lacks_personas:
        yield "personas", data.personas
    if data.items is not None and data.lacks_items:
        yield "items", data.items


def _stands(path: Path) -> bool:
    """Whether something of that name is there, if only a link to nothing or what may not be looked at."""
    try:
        path.lstat()
    # Only a name that is not there is left out. A broken link or a forbidden file is an error that the reading will
    # name.
    except FileNotFoundError:
        return False
    except OSError:
        pass
    return True


def _shown(text: str) -> str:
    """What a file said, for a terminal: bounded, and characters that one would obey spelt out."""
    cut = text if len(text) <= _LIMIT_MESSAGE else text[:_LIMIT_MESSAGE] + " … and more"
    return clean_line(cut)
