"""Reads the public data sets: a folder of `customers/*.yaml` and `businesses/*.yaml`, one record per file (section 11).

Files are hostile. They are read as YAML events, without tags, anchors or deep nesting, so that a small file cannot grow
and a price is the decimal text that stands there, never a float. Everything wrong is named by file and field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from tradefair.contract import ScenarioError
from tradefair.contract.errors import in_plain_words
from tradefair.contract.money import to_minor
from tradefair.contract.text import clean_line
from tradefair.files.user_files import Unreadable, bytes_within
from tradefair.marketplace.model import Business, Catalogue, Customer

# Far above the published files, which have under 100 lines: what exceeds these limits is a mistake or an attack.
LIMIT_BYTES = 1_000_000
LIMIT_FILES = 20_000
# Lines of problems that are listed; a folder of 20,000 bad files would fill the screen otherwise.
_LIMIT_LINES = 50
_LIMIT_NODES = 5_000
_LIMIT_DEPTH = 3
_SHOWN = 60
_FOLDERS = ("customers", "businesses")
# Comes with the published data sets; those figures are computed here from the records.
_IGNORED_FILES = frozenset({"baseline_utilities.json"})
# The words of YAML 1.1, as unquoted scalars only: "no" in quotes is a name.
_NOTHING = frozenset({"", "~", "null", "Null", "NULL"})
_SPOKEN = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}

R = TypeVar("R", bound=BaseModel)


class Plain(str):
    """A scalar without quotes, which may mean a number, a truth value or nothing."""

    __slots__ = ()


Node: TypeAlias = "str | list[Node] | dict[str, Node]"


class Loaded(NamedTuple):
    """What a folder holds: the catalogue if every file is fine, what is wrong, what was ignored."""

    catalogue: Catalogue | None
    problems: tuple[str, ...]
    findings: tuple[str, ...]


class _Wrong(Exception):
    """A fault of a file; its text starts with the field, if there is one."""


def load_folder(folder: str) -> Catalogue:
    """The data set of a folder. ScenarioError names every malformed file with its field."""
    loaded = read_folder(folder)
    if loaded.catalogue is None:
        raise ScenarioError(f"{folder}: " + "; ".join(loaded.problems))
    return loaded.catalogue


def read_folder(folder: str) -> Loaded:
    """The data set of a folder, with everything that is wrong and everything that was ignored, by file and field.

    Never raises for the content. Problems make the catalogue None, findings do not; at most 50 of each are listed.
    """
    base = Path(folder)
    problems: list[str] = []
    findings: list[str] = []
    customers = _read_records(base, "customers", Customer, _customer, problems, findings)
    businesses = _read_records(base, "businesses", Business, _business, problems, findings)
    findings += [f"{name}: not part of a data set; ignored" for name in _strangers(base)]
    catalogue = None
    if not problems:
        try:
            catalogue = Catalogue(customers=tuple(customers), businesses=tuple(businesses))
        except ValidationError as error:
            problems += _described(error)
    return Loaded(catalogue, _bounded(problems, "problems"), _bounded(sorted(findings), "findings"))


def _bounded(lines: list[str], what: str) -> tuple[str, ...]:
    more = [f"and {len(lines) - _LIMIT_LINES} more {what}"] if len(lines) > _LIMIT_LINES else []
    return (*map(clean_line, lines[:_LIMIT_LINES]), *more)


# --- files ----------------------------------------------------------------------------------------------------------


def _strangers(folder: Path) -> list[str]:
    known = {*_FOLDERS, *_IGNORED_FILES}
    try:
        return sorted(item.name for item in folder.iterdir() if item.name not in known)
    except OSError:
        return []


def _read_records(
    folder: Path, name: str, model: type[R], made: Any, problems: list[str], findings: list[str]
) -> list[R]:
    """The records of one subfolder in file-name order, which gives them their index."""
    records: list[R] = []
    try:
        paths = _files(folder, name, findings)
    except _Wrong as wrong:
        problems.append(str(wrong))
        return records
    except OSError as error:
        problems.append(f"{name}: cannot be read: {error.strerror}")
        return records
    for path in paths:
        where = f"{name}/{path.name}"
        try:
            content = _parsed(_text(path, folder))
            # Unknown keys are findings and not problems: data sets may carry notes of their own.
            fields, unknown = made(content)
            records.append(model.model_validate(fields))
        except _Wrong as wrong:
            problems.append(f"{where}: {wrong}")
        except ValidationError as error:
            problems += [f"{where}: {found}" for found in _described(error)]
        else:
            findings += [f"{where}: {key}: unknown key; ignored" for key in unknown]
    return records


def _files(folder: Path, name: str, findings: list[str]) -> list[Path]:
    inside = folder / name
    if not inside.is_dir():
        raise _Wrong(f"{name}: no such folder in {folder.name}; a data set holds {' and '.join(_FOLDERS)}")
    # The folder of the records may itself be a link; the files in it are checked one by one when they are read.
    if not inside.resolve().is_relative_to(folder.resolve()):
        raise _Wrong(f"{name}: leads out of the data set")
    paths: list[Path] = []
    for path in inside.iterdir():
        if path.suffix == ".yaml":
            paths.append(path)
        else:
            findings.append(f"{name}/{path.name}: not a .yaml file; ignored")
        # Asked inside the loop: a folder of millions of files is not listed to its end.
        if len(paths) > LIMIT_FILES:
            raise _Wrong(f"{name}: more than {LIMIT_FILES} files")
    if not paths:
        raise _Wrong(f"{name}: holds no .yaml file")
    # The order of a directory differs between file systems, and chance is drawn by index.
    return sorted(paths, key=lambda path: path.name)


def _text(path: Path, folder: Path) -> str:
    try:
        raw = bytes_within(folder, path, LIMIT_BYTES, called="the data set")
    except Unreadable as why:
        raise _Wrong(str(why)) from None
    try:
        # With or without a byte order mark, which some editors write.
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _Wrong("is not text in UTF-8") from None


# --- YAML -----------------------------------------------------------------------------------------------------------


def _parsed(text: str) -> dict[str, Node]:
    """The fields of a record, in file order; scalars stay text."""
    # Imported here: only a scenario with a folder needs the library.
    import yaml

    # The C parser where it is built in: many times faster on 20,000 files.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parse: Any = getattr(yaml, "parse")  # noqa: B009  # Any: yaml brings no types
    try:
        content = _document(parse(text, Loader=loader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise _Wrong(f"line {line}: not valid YAML: {error.problem}") from None
    except (yaml.YAMLError, RecursionError):
        raise _Wrong("not valid YAML: it holds characters that are not allowed") from None
    if not isinstance(content, dict):
        raise _Wrong("must be a table of fields, such as `id: customer_0001`")
    return content


def _document(events: Iterator[Any]) -> Node:
    """The one document of a stream of YAML events."""
    import yaml

    # One budget for the whole document, passed down: breadth and depth together are bounded.
    budget = iter(range(_LIMIT_NODES))
    content: Node = ""
    documents = 0
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _Wrong(f"line {event.start_mark.line + 1}: a second document; write one record per file")
            content = _node(next(events), events, 0, budget)
    return content


def _node(event: Any, events: Iterator[Any], depth: int, budget: Iterator[int]) -> Node:
    """The plain tree that starts with `event`; what could grow or hide is refused."""
    import yaml

    line = event.start_mark.line + 1
    if next(budget, None) is None:
        raise _Wrong(f"line {line}: more than {_LIMIT_NODES} values")
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise _Wrong(f"line {line}: anchors and aliases are not allowed; write the value out")
    if event.tag not in (None, "!"):
        raise _Wrong(f"line {line}: the tag {event.tag[:_SHOWN]} is not allowed")
    if isinstance(event, yaml.ScalarEvent):
        value: str = event.value
        # `implicit[0]` is False for quoted scalars: "1.50" in quotes is a text, not a price.
        return Plain(value) if event.implicit[0] else value
    if depth == _LIMIT_DEPTH:
        raise _Wrong(f"line {line}: nested deeper than {_LIMIT_DEPTH} levels")
    if isinstance(event, yaml.SequenceStartEvent):
        entries: list[Node] = []
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            entries.append(_node(event, events, depth + 1, budget))
        return entries
    return _mapping(line, events, depth + 1, budget)


def _mapping(line: int, events: Iterator[Any], depth: int, budget: Iterator[int]) -> dict[str, Node]:
    """The mapping that begins in this line and whose first key comes next."""
    import yaml

    table: dict[str, Node] = {}
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        key = _node(event, events, depth, budget)
        if not isinstance(key, str):
            raise _Wrong(f"line {line}: a key must be text")
        # YAML libraries let the last one win silently, and a price of the file would be lost.
        if key in table:
            raise _Wrong(f"{key[:_SHOWN]}: is there twice")
        table[str(key)] = _node(next(events), events, depth, budget)
    return table


# --- fields ---------------------------------------------------------------------------------------------------------

_CUSTOMER_KEYS = frozenset({"id", "name", "request", "menu_features", "amenity_features"})
_BUSINESS_KEYS = frozenset(
    {"id", "name", "description", "rating", "progenitor_customer", "min_price_factor"}
    | {"menu_features", "amenity_features"}
)


def _customer(content: dict[str, Node]) -> tuple[dict[str, Any], list[str]]:
    fields = {
        "id": _word(content, "id"),
        "name": _word(content, "name"),
        "request": _word(content, "request"),
        "wants": tuple({"item": item, "mean_cents": cents} for item, cents in _prices(content)),
        "amenities": tuple(_text_of(f"amenity_features.{index}", name) for index, name in enumerate(_names(content))),
    }
    return fields, sorted(content.keys() - _CUSTOMER_KEYS)


def _business(content: dict[str, Node]) -> tuple[dict[str, Any], list[str]]:
    owner = content.get("progenitor_customer", Plain())
    fields = {
        "id": _word(content, "id"),
        "name": _word(content, "name"),
        "description": _word(content, "description"),
        "rating_bp": _decimal("rating", content, 4),
        "progenitor_customer": None if _is_nothing(owner) else _text_of("progenitor_customer", owner),
        "menu": tuple({"item": item, "price_cents": cents} for item, cents in _prices(content)),
        "amenities": tuple(
            {"name": name, "offered": _truth(f"amenity_features.{name}", value)}
            for name, value in _table("amenity_features", content).items()
        ),
        "floor_bp": _decimal("min_price_factor", content, 4),
    }
    return fields, sorted(content.keys() - _BUSINESS_KEYS)


def _is_nothing(value: Node) -> bool:
    return isinstance(value, Plain) and value in _NOTHING


def _required(key: str, content: Mapping[str, Node]) -> Node:
    value = content.get(key, Plain())
    if _is_nothing(value):
        raise _Wrong(f"{key}: required")
    return value


def _text_of(field: str, value: Node) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"{field}: must be text, not a {'list' if isinstance(value, list) else 'table'}")
    return str(value)


def _word(content: Mapping[str, Node], key: str) -> str:
    return _text_of(key, _required(key, content))


def _table(key: str, content: Mapping[str, Node]) -> dict[str, Node]:
    value = _required(key, content)
    if not isinstance(value, dict):
        raise _Wrong(f"{key}: must be a table, `name: value`")
    return value


def _names(content: Mapping[str, Node]) -> list[Node]:
    value = _required("amenity_features", content)
    if not isinstance(value, list):
        raise _Wrong("amenity_features: must be a list of names")
    return value


def _prices(content: Mapping[str, Node]) -> list[tuple[str, int]]:
    """Items with their prices in cents, in file order."""
    table = _table("menu_features", content)
    return [(item, _minor(f"menu_features.{item[:_SHOWN]}", value, 2)) for item, value in table.items()]


def _decimal(key: str, content: Mapping[str, Node], decimals: int) -> int:
    return _minor(key, _required(key, content), decimals)


def _minor(field: str, value: Node, decimals: int) -> int:
    """The decimal number that was written, times 10^decimals, exactly."""
    # Python reads 1_000 and digits of other scripts as numbers too; a data set must not contain them.
    if not isinstance(value, Plain) or not value.isascii() or "_" in value:
        raise _Wrong(f"{field}: must be a number, such as 13.51")
    try:
        Decimal(value)
    except InvalidOperation:
        raise _Wrong(f"{field} = {value[:_SHOWN]!r}: must be a number, such as 13.51") from None
    try:
        return to_minor(str(value), decimals=decimals)
    except ValueError as error:
        raise _Wrong(f"{field} = {value[:_SHOWN]}: {error}") from None


def _truth(field: str, value: Node) -> bool:
    known = _SPOKEN.get(value.lower()) if isinstance(value, Plain) else None
    if known is None:
        raise _Wrong(f"{field[:_SHOWN]}: must be true or false")
    return known


_FILE_NAMES = {
    "wants": "menu_features",
    "menu": "menu_features",
    "amenities": "amenity_features",
    "rating_bp": "rating",
    "floor_bp": "min_price_factor",
}
_SCALED = {"mean_cents": 100, "price_cents": 100, "rating_bp": 10_000, "floor_bp": 10_000}


def _described(error: ValidationError) -> Iterator[str]:
    """What the bounds of a record complain about, with the names and units of the file."""
    for found in error.errors(include_url=False, include_context=True):
        path = [_FILE_NAMES.get(str(part), str(part)) for part in found["loc"]]
        last = str(found["loc"][-1]) if found["loc"] else ""
        message = in_plain_words(found["msg"]).removeprefix("Value error, ")
        for bound, limit in found.get("ctx", {}).items():
            if last in _SCALED and bound in ("ge", "le"):
                allowed = Decimal(limit) / _SCALED[last]
                message = f"it should be at {'least' if bound == 'ge' else 'most'} {allowed:f}"
        yield f"{'.'.join(path)}: {message}" if path else message
