"""Servers merged into the file of a client, which keeps its other content, its comments and its order.

The text is edited where an entry belongs and nowhere else. What comes out is parsed again: it must hold exactly the old
content with the new entry, or nothing is written. So an edit may be simple; the check decides.
"""

from __future__ import annotations

import json
import os
import re
import stat
from codecs import BOM_UTF8
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias, cast

import tomlkit
import yaml
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from tradefair.contract.errors import ScenarioError
from tradefair.files.folders import drafted
from tradefair.files.user_files import Unreadable, bytes_within, parse_toml, text_of
from tradefair.host.clients.client_config import Client, Format, Server, entry, snippet

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?(?:\*/|\Z)|\t', re.DOTALL)
_HANGING_COMMA = re.compile(r",(?=\s*[}\]])")
_MOST = 256 << 10  # bytes; YAML of that size takes 20 s, and what people write has a tenth of it at most
_MOST_DEPTH = 100  # brackets that are open at once
# Of an older entry: next to a command they would name a second server, and some clients prefer them.
_ADDRESSES = ("url", "httpUrl", "serverUrl", "headers")


# Of PyYAML, whose stubs leave most of it open.
Node: TypeAlias = Any
_yaml: Any = yaml


class Written(NamedTuple):
    """What `write` did: the file, its backup ("" where there was no file), whether anything changed."""

    file: Path
    backup: Path | None
    changed: bool


class Unmergeable(Exception):
    """Why a file cannot be edited, as the rest of a sentence that begins with its name."""


def write(client: Client, server: Server, file: Path | None = None) -> Written:
    """Put `server` into the client's own file, or into `file`, which is replaced whole and keeps its permissions.

    The old file stays beside it as `NAME.bak`, `NAME.bak2`, … A file that already says so is left alone. Raises
    ScenarioError for what is no regular file of at most 256 KiB, leads out of its folder, cannot be parsed, or would
    lose something; the file is then as it was.
    """
    named, folder = (file.absolute(), file.absolute().parent) if file else client.place(server.name)
    try:
        old, known = _read(named, folder)
        text = text_of(old, source=str(named))
        new = merged(text, client, server)
        if new == text:
            return Written(named, None, False)
        # As an editor on Windows has left it.
        if b"\r\n" in old:
            new = new.replace("\n", "\r\n")
        mark = BOM_UTF8 if old.startswith(BOM_UTF8) else b""
        path = named.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = stat.S_IMODE(known.st_mode) if known else 0o600
        backup = _backup(path, old, mode) if known else None
        with drafted(path) as draft:
            draft.write_bytes(mark + new.encode())
            draft.chmod(mode)
    except Unmergeable as wrong:
        raise ScenarioError(f"{named}: {wrong}; nothing was written: paste the snippet by hand") from None
    except OSError as error:
        raise ScenarioError(f"{named}: cannot be written: {error.strerror or error}") from None
    return Written(path, backup, True)


def merged(text: str, client: Client, server: Server) -> str:
    """The text of a client's file with `server` in it; `text` itself where it is there already. Raises Unmergeable."""
    _check_depth(text)
    old = parsed(text, client.format)
    wanted = snippet(client, server)
    # Nothing but comments: these stay. JSON that is no empty text has brackets, into which the entry goes.
    if not old and (client.format in ("toml", "yaml") or not text.strip()):
        return _checked(text + rendered(wanted, client.format), wanted, client.format)
    return _put_all(text, old, _kept(old, wanted, client, server), client)


def _check_depth(text: str) -> None:
    # PyYAML takes time with the square of it. Brackets in strings count too; what closes there hides nothing that opens
    # later.
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", text):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        if depth > _MOST_DEPTH:
            raise Unmergeable("it is nested too deep")


def _checked(text: str, expected: Mapping[str, Any], form: Format) -> str:
    """`text`, which must hold what is expected."""
    with suppress(Unmergeable):
        if parsed(text, form) == expected:
            return text
    raise Unmergeable("it is written in a way that cannot be edited safely")


def _kept(old: Mapping[str, Any], wanted: dict[str, Any], client: Client, server: Server) -> dict[str, Any]:
    """What is to be set, with what a person added to an entry of that name; the form's own keys are all replaced."""
    own = {*client.local, *(client.remote or {}), *_ADDRESSES}
    made = entry(client, server)
    held = old.get(client.key)
    if client.block:
        listed: list[Any] = cast("list[Any]", held) if isinstance(held, list) else [] if held is None else [held]
        # The list is written anew, and others' entries would go with their comments.
        if any(_named(item) != server.name for item in listed):
            raise Unmergeable(f"its {client.key} are others, too: name a file of its own with --file")
        before: Any = listed[0] if listed else None
    else:
        before = cast("dict[str, Any]", held).get(server.name) if isinstance(held, dict) else None
    if isinstance(before, dict):
        made |= {key: value for key, value in cast("dict[str, Any]", before).items() if key not in own}
    return {**wanted, client.key: [made] if client.block else {server.name: made}}


def _named(item: object) -> object:
    return cast("dict[str, Any]", item).get("name") if isinstance(item, dict) else None


def _put_all(text: str, old: dict[str, Any], wanted: Mapping[str, Any], client: Client) -> str:
    """`text` with every key of `wanted` put where it belongs; the result is checked against what it must hold."""
    expected = dict(old)
    for key, value in wanted.items():
        before = expected.get(key)
        if isinstance(value, dict):
            if before is not None and not isinstance(before, dict):
                raise Unmergeable(f"{key} is no table of names")
            for name, inner in cast("dict[str, Any]", value).items():
                if before is None or cast("dict[str, Any]", before).get(name) != inner:
                    text = _EDITS[client.format](text, (key, name), inner)
            expected[key] = {**(before or {}), **value}
        elif key == "inputs" and isinstance(before, list):
            (question,) = cast("list[dict[str, Any]]", value)
            listed = cast("list[Any]", before)
            # A question with that id may have been reworded: it is left.
            if all(not isinstance(item, dict) or item.get("id") != question["id"] for item in listed):  # pyright: ignore
                text = _EDITS[client.format](text, (key, ""), question)
                expected[key] = [*listed, question]
        elif key == client.key or before is None:
            if before != value:
                text = _EDITS[client.format](text, (key,), value)
            expected[key] = value
    return _checked(text, expected, client.format)


# --- formats ----------------------------------------------------------------------------------------------------------


def parsed(text: str, form: Format) -> dict[str, Any]:
    """The content of a file; {} for an empty one. Raises Unmergeable when it is not of the format, or no table."""
    try:
        match form:
            case "toml":
                value: Any = parse_toml(text, source="")
            case "yaml":
                # One object in many places could be as large as memory when it is compared.
                if any(isinstance(event, yaml.AliasEvent) for event in _yaml.parse(text, Loader=yaml.SafeLoader)):
                    raise Unmergeable("it uses YAML aliases, which are not edited")
                value = yaml.safe_load(text)
            case _:
                plain = _uncommented(text) if form == "jsonc" else text
                value = json.loads(plain) if plain.strip() else {}
    except ScenarioError as wrong:
        raise Unmergeable(str(wrong).removeprefix(": ")) from None
    except yaml.MarkedYAMLError as wrong:
        line = f"line {wrong.problem_mark.line + 1}: " if wrong.problem_mark else ""
        raise Unmergeable(f"not valid YAML: {line}{wrong.problem}") from None
    except json.JSONDecodeError as wrong:
        raise Unmergeable(f"not valid JSON: line {wrong.lineno}: {wrong.msg}") from None
    except (ValueError, RecursionError, yaml.YAMLError):
        raise Unmergeable(f"not valid {form.removesuffix('c').upper()}") from None
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Unmergeable("it holds no table of names")
    return cast("dict[str, Any]", value)


def rendered(value: Mapping[str, Any], form: Format) -> str:
    """A whole file with this content, as a client's documentation would show it."""
    match form:
        case "toml":
            return tomlkit.dumps(_tables(value))
        case "yaml":
            return yaml.safe_dump(value, sort_keys=False, width=1_000)
        case _:
            return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def _tables(value: Mapping[str, Any]) -> Any:
    """Servers as `[key.name]`, without an empty `[key]` above them."""
    document = tomlkit.document()
    for key, servers in value.items():
        above = tomlkit.table(is_super_table=True)
        for name, made in servers.items():
            above[name] = made
        document[key] = above
    return document


def _edit_toml(text: str, path: Sequence[str], value: Any) -> str:
    key, name = path
    try:
        document: Any = tomlkit.parse(text)
        if key not in document:
            document[key] = tomlkit.table(is_super_table=True)
        kept = _tail(document[key].get(name))
        document[key][name] = value
        if kept:
            made = document[key][name].value.body
            # tomlkit moves a blank line over, and no comment; `add` would put a further one before each.
            while made and made[-1][0] is None:
                made.pop()
            made.extend((None, remark) for remark in kept)
        return tomlkit.dumps(document)
    except (TOMLKitError, ValueError, TypeError, RecursionError):
        raise Unmergeable("it is written in a way that cannot be edited safely") from None


def _tail(table: Any) -> list[Any]:
    """Comments and blanks at the end of a table: they stand before the next one, and mean that."""
    kept: list[Any] = []
    for key, held in reversed(table.value.body if isinstance(table, Table) else ()):
        if key is not None:
            return _tail(held) + kept
        kept.insert(0, held)
    return kept


def _edit_json(text: str, path: Sequence[str], value: Any) -> str:
    """Set or add a value in JSON with comments. A last part of `path` that is empty adds to a list."""
    masked = _masked(text)
    node = _composed(masked)
    for depth, key in enumerate(path):
        found = _child(node, lambda node: json.loads(text[node.start_mark.index : node.end_mark.index]), key)
        if found is None:
            return _json_added(text, masked, node, key, _nested(path[depth + 1 :], value))
        node = found
        if isinstance(node, yaml.ScalarNode):  # null, or what the check refuses
            value = _nested(path[depth + 1 :], value)
            break
    start, end = node.start_mark.index, node.end_mark.index
    return text[:start] + _json_text(value, text, _indent_at(text, start)) + text[end:]


def _json_added(text: str, masked: str, node: Node, key: str, value: Any) -> str:
    """The text with a member at the end of an object, or an item at the end of a list."""
    held: list[Any] = node.value if isinstance(node, yaml.CollectionNode) else []
    close = node.end_mark.index - 1
    outer = _indent_at(text, node.start_mark.index)
    first: int = (held[0][0] if isinstance(node, yaml.MappingNode) else held[0]).start_mark.index if held else close
    alone = not text[text.rfind("\n", 0, first) + 1 : first].strip()
    indent = _indent_at(text, first) if held and alone else outer + _unit(text)
    made = (f"{json.dumps(key)}: " if isinstance(node, yaml.MappingNode) else "") + _json_text(value, text, indent)
    # After the last thing before the bracket, be it a comment; the comma goes to the last member, which is before it.
    place = len(text[:close].rstrip())
    comma = ""
    if held:
        last: Node = held[-1][1] if isinstance(node, yaml.MappingNode) else held[-1]
        end: int = last.end_mark.index
        comma = "" if "," in masked[end:close] else ","
        text = text[:end] + comma + text[end:]
        place, close = place + len(comma), close + len(comma)
    tail = text[place:] if "\n" in text[place:close] else f"\n{outer}{text[close:]}"
    return f"{text[:place]}\n{indent}{made}{tail}"


def _edit_yaml(text: str, path: Sequence[str], value: Any) -> str:
    parent = node = _composed(text)
    for depth, key in enumerate(path):
        found = _child(node, lambda node: node.value, key)
        if found is None:
            return _yaml_added(text, node, {key: _nested(path[depth + 1 :], value)})
        parent, node = node, found
        if isinstance(node, yaml.ScalarNode):  # null, or what the check refuses
            value = _nested(path[depth + 1 :], value)
            break
    return _yaml_put(text, node, parent, value)


def _yaml_put(text: str, node: Node, parent: Node, value: Any) -> str:
    """The text with another value in place of that of `node`, a value of the mapping `parent`."""
    start, end = node.start_mark.index, _end(node)
    indent = " " * (parent.start_mark.column + 2)
    if parent.flow_style:
        return text[:start] + json.dumps(value) + text[end:]
    # The blanks and the line break between the key and its value belong to the old value.
    return f"{text[:start].rstrip()}\n{_yaml_lines(value, indent)}{text[end:]}"


def _yaml_added(text: str, node: Node, member: Mapping[str, Any]) -> str:
    """The text with a member at the end of a mapping."""
    if node.flow_style:
        ((key, value),) = member.items()
        return _json_added(text, text, node, key, value)
    # At the end of the line: what follows the last value there is a comment of its own.
    place = _end(node)
    place = place - 1 if text[place - 1 : place] == "\n" else text.find("\n", place) % (len(text) + 1)
    return f"{text[:place]}\n{_yaml_lines(member, ' ' * node.start_mark.column)}{text[place:]}"


def _yaml_lines(value: Any, indent: str) -> str:
    lines = yaml.safe_dump(value, sort_keys=False, width=1_000).splitlines()
    return "\n".join(indent + line for line in lines)


def _end(node: Node) -> int:
    """Where a node's text ends. That of a block ends with its last value: what follows is not its own."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return node.end_mark.index
    last = node.value[-1]
    return _end(last[1] if isinstance(node, yaml.MappingNode) else last)


_EDITS: Mapping[Format, Callable[[str, Sequence[str], Any], str]] = {
    "json": _edit_json,
    "jsonc": _edit_json,
    "toml": _edit_toml,
    "yaml": _edit_yaml,
}


# --- places in a text -------------------------------------------------------------------------------------------------


def _masked(text: str) -> str:
    """JSON with comments as YAML that has the same places: no comments, no tabs, and nothing special in strings."""

    def mask(found: re.Match[str]) -> str:
        token = found[0]
        if token.startswith("/*") and not token.endswith("*/"):
            raise Unmergeable("not valid JSON: a comment without an end")
        return f'"{"x" * (len(token) - 2)}"' if token[0] == '"' else re.sub(r"[^\n]", " ", token)

    return _TOKEN.sub(mask, text)


def _uncommented(text: str) -> str:
    """JSON without comments and hanging commas, every other character in its place."""
    masked = _masked(text)
    blanked = list(_TOKEN.sub(lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\n]", " ", found[0]), text))
    for comma in _HANGING_COMMA.finditer(masked):
        blanked[comma.start()] = " "
    return "".join(blanked)


def _composed(text: str) -> Node:
    try:
        node = _yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        node = None
    if not isinstance(node, yaml.MappingNode):
        raise Unmergeable("it is written in a way that cannot be edited safely")
    return node


def _child(node: Node, name_of: Callable[[Node], object], key: str) -> Node | None:
    """The value of `key` in a mapping. The last one: that is what counts where a key stands there twice."""
    if not isinstance(node, yaml.MappingNode):
        return None
    return next((value for name, value in reversed(node.value) if name_of(name) == key), None)


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value} if key else [value]
    return value


def _json_text(value: Any, text: str, indent: str) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", "\n" + indent)


def _indent_at(text: str, place: int) -> str:
    """The blanks that begin the line in which a place is."""
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """What this file indents by: the blanks of its first line that has any."""
    found = re.search(r"^[ \t]+(?=[^\s])", text, re.MULTILINE)
    return found[0][:8] if found else "  "


# --- files ------------------------------------------------------------------------------------------------------------


def _read(path: Path, folder: Path) -> tuple[bytes, os.stat_result | None]:
    """The bytes of a file and what the system says of it; b"" and None where there is none. Raises Unmergeable."""
    try:
        if os.path.lexists(path):
            return bytes_within(folder, path, _MOST, called=f"{folder}; name the file itself with --file"), path.stat()
        if not path.resolve().is_relative_to(folder.resolve()):
            raise Unmergeable(f"leads out of {folder} by a link; name the file itself with --file")
    except Unreadable as wrong:
        raise Unmergeable(str(wrong)) from None
    # RuntimeError: how Python before 3.13 reports links that lead round in a circle.
    except RuntimeError:
        raise Unmergeable("links in a circle") from None
    return b"", None


def _backup(path: Path, content: bytes, mode: int) -> Path:
    """A copy of `path` beside it, under a name that nothing had."""
    for number in count(1):
        copy = path.with_name(f"{path.name}.bak{'' if number == 1 else number}")
        # Exclusive: no backup is ever overwritten, and no link is followed.
        with suppress(FileExistsError), open(os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as out:
            out.write(content)
            return copy
    raise AssertionError
