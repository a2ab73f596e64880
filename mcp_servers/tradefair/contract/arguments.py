"""Arguments at the door: whatever a client sent becomes checked bytes and a typed model, or one clear refusal."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import BaseModel, ValidationError

from tradefair.contract.chain import INLINE_BYTES, digest
from tradefair.contract.errors import ErrorInfo, fits
from tradefair.contract.schema_text import allowed_text
from tradefair.contract.text import clean
from tradefair.contract.tool import Tool, published

# Re-executed arguments are stored whole (docs/explanation/why/contract.md), so this bounds what one call can add to a
# log.
MAX_ARGUMENT_BYTES = 65_536
# Bounds the recursion of `is_plain_data`, which follows what a client sent.
_MAX_DEPTH = 16
# What orjson writes and every reader of JSON gives back unchanged.
_MAX_INT = 2**63 - 1

# Characters of a tool name that does not exist: the client chose it, and it may have any length.
_MAX_NAME = 100
# Cutting UTF-8 at a byte may take up to three bytes of a character away.
_LEAST_CUT = INLINE_BYTES - 3
_HEX = frozenset("0123456789abcdef")
# The largest number of which each smaller integer is a double, too.
_MAX_WHOLE = 2**53
# What the validator puts before the words of our own checks.
_OWN_WORDS = "Value error, "
_PLAIN_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(\.[0-9]{1,6})?")
_NUMBER_AS_TEXT = re.compile(r'([A-Za-z_]\w{0,63}): "(-?[0-9][0-9.e-]{0,19})" is text; send \2', re.ASCII)
# Complaints in one message, characters of a parameter's path and of the validator's own words in each.
_MAX_COMPLAINTS, _MAX_PATH, _MAX_WORDS = 8, 80, 200


class Remains(NamedTuple):
    """What a log keeps of arguments that it does not hold whole. Replay hands it to `Core` in their place.

    `kept` is `{cut, size, digest}` or `{unencodable}`; `message` is that of the refusal, None for a call that was
    admitted and then failed.
    """

    kept: Mapping[str, Any]
    message: str | None


class BadArguments(ValueError):
    """Arguments that cannot even be encoded; `reason` goes into the trace as `{unencodable: reason}`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason

    def error(self, tool: str) -> ErrorInfo:
        """What the caller of `tool` reads."""
        # A schema tells neither the size of the whole nor what is no Unicode.
        code = "invalid_arguments" if self.reason in (_NO_OBJECT, _NOT_PLAIN) else "bad_value"
        return ErrorInfo(code, self.reason, f"call {tool} again with plain JSON values", True)


class WrongArguments(ValueError):
    """Arguments that a tool does not take, and what its caller reads."""

    def __init__(self, error: ErrorInfo) -> None:
        super().__init__(error.message)
        self.error = error

    @property
    def status(self) -> Literal["invalid", "rejected"]:
        """The outcome of the call: rejected where the published schema allows what was sent."""
        return "invalid" if self.error.code == "invalid_arguments" else "rejected"


_NO_OBJECT = "arguments must be an object"
_NOT_PLAIN = (
    "only finite numbers, integers up to 64 bits, text, true, false, null, lists and objects are allowed, "
    f"at most {_MAX_DEPTH} levels deep"
)
_NO_UNICODE = "text must be valid Unicode"
_TOO_LARGE = f"the arguments take {{number}} bytes; at most {MAX_ARGUMENT_BYTES} are allowed"


def encode_arguments(arguments: object) -> bytes:
    """The arguments' JSON bytes in the order in which the client sent them.

    Raises BadArguments on anything that JSON cannot carry exactly (NaN, infinities, integers over 64 bits, lone
    surrogates, foreign types) and on more than 64 KiB.
    """
    if not isinstance(arguments, dict):
        raise BadArguments(_NO_OBJECT)
    if not is_plain_data(arguments):  # pyright: ignore[reportUnknownArgumentType]
        raise BadArguments(_NOT_PLAIN)
    try:
        encoded = orjson.dumps(arguments)
    except (orjson.JSONEncodeError, RecursionError):
        raise BadArguments(_NO_UNICODE) from None
    if len(encoded) > MAX_ARGUMENT_BYTES:
        raise BadArguments(_TOO_LARGE.format(number=len(encoded)))
    return encoded


def cut_arguments(encoded: bytes) -> dict[str, Any]:
    """The beginning of large arguments that are never re-run, with size and digest of the whole."""
    return {"cut": encoded[:INLINE_BYTES].decode(errors="ignore"), "size": len(encoded), "digest": digest(encoded)}


def kept_arguments(arguments: object) -> object:
    """Arguments as a draft holds them: their bytes, or what the log has kept. Raises BadArguments."""
    if not isinstance(arguments, Remains):
        return encode_arguments(arguments)
    if "unencodable" in arguments.kept:
        raise BadArguments(arguments.kept["unencodable"])
    return arguments.kept


def storable_arguments(arguments: object) -> object:
    """Arguments as a draft holds them, or why they cannot be encoded; of calls that are refused whatever they say."""
    try:
        return kept_arguments(arguments)
    except BadArguments as bad:
        return {"unencodable": bad.reason}


def storable_name(name: str) -> str:
    """The name of a tool that does not exist, as the log keeps it: a client's text, which tables show."""
    # In process, lone surrogates arrive as they are; orjson would refuse to write the event.
    return clean(name)[:_MAX_NAME]


def remains_of(arguments: Any, message: str | None) -> Remains | None:
    """What is left of the arguments in a recorded event of a refused or failed call; None where they are whole.

    `message` is that of a refusal for its arguments, else None.
    """
    match arguments:
        # The message tells it from arguments with a parameter of this name, which are refused in other words.
        case {"unencodable": str(reason)} if reason == message and len(arguments) == 1:
            known = reason in (_NO_OBJECT, _NOT_PLAIN, _NO_UNICODE) or fits(_TOO_LARGE, reason)
            return Remains({"unencodable": reason}, reason) if known else None
        # Whole arguments in this form would be larger than what is cut.
        case {"cut": str(text), "size": int(size), "digest": str(name)} if len(arguments) == 3:
            sized = INLINE_BYTES < size <= MAX_ARGUMENT_BYTES
            filled = _LEAST_CUT <= len(text.encode()) <= INLINE_BYTES
            named = len(name) == 64 and _HEX.issuperset(name)
            return Remains({"cut": text, "size": size, "digest": name}, message) if sized and filled and named else None
        case _:
            return None


def is_plain_data(value: object, depth: int = 0) -> bool:
    """Whether `value` is JSON data that every reader gives back unchanged; `depth` is how deep it lies already."""
    # By exact type: a subclass of int or str may carry more than JSON can, and bool is a subclass of int.
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return -_MAX_INT <= value <= _MAX_INT  # type: ignore[operator]
    if kind is float:
        return math.isfinite(value)  # type: ignore[arg-type]
    if depth >= _MAX_DEPTH:
        return False
    if kind is dict:
        items: dict[object, object] = value  # type: ignore[assignment]
        for key, item in items.items():  # noqa: SIM110  # a generator would cost more than a call's few arguments
            if type(key) is not str or not is_plain_data(item, depth + 1):
                return False
        return True
    if kind is list:
        rows: list[object] = value  # type: ignore[assignment]
        return all(is_plain_data(item, depth + 1) for item in rows)
    return False


def read_arguments(encoded: bytes, parameters: type[BaseModel], tool: str) -> Any:
    """The validated model of encoded arguments. Raises WrongArguments.

    Strict, but for what a schema cannot tell apart: 60.0 is an integer, and null stands for a value left out.
    """
    validator = parameters.__pydantic_validator__
    try:
        return validator.validate_json(encoded, strict=True)
    except ValidationError as refused:
        wrong, schema = refused, _schema(parameters)
    # A second time only where the first has failed: nearly all calls are in the strict form.
    meant = orjson.dumps(_as_declared(orjson.loads(encoded), schema, schema.get("$defs", {})))
    if meant != encoded:
        try:
            return validator.validate_json(meant, strict=True)
        except ValidationError as refused:
            wrong = refused
    error, errors = explain(wrong, parameters, tool), wrong.errors(include_url=False, include_context=False)
    allowed = all(_beyond_schema(item["type"], item["input"]) for item in errors)
    raise WrongArguments(error._replace(code="bad_value") if allowed else error) from None


def accepted_arguments(arguments: object, tool: Tool) -> Any:
    """The validated model of a call's arguments, or None where Core refuses them."""
    try:
        return read_arguments(encode_arguments(arguments), tool.parameters, tool.name)
    except (BadArguments, WrongArguments):
        return None


def _as_declared(value: object, schema: Mapping[str, Any], defined: Mapping[str, Any]) -> object:
    """A value in the strict form of what it is by its schema: whole doubles as integers, no null for what is optional.

    Doubles above 2**53 stay as they are: which integer is meant is lost.
    """
    schema = _opened(schema, defined)
    for option in schema.get("anyOf", ()):
        value = _as_declared(value, option, defined)
    match value:
        case float() if schema.get("type") == "integer" and value.is_integer() and abs(value) <= _MAX_WHOLE:
            return int(value)
        case list():
            rows: list[object] = value  # pyright: ignore[reportUnknownVariableType]
            return [_as_declared(row, schema.get("items", {}), defined) for row in rows]
        case dict():
            fields: dict[str, object] = value  # pyright: ignore[reportUnknownVariableType]
            known, required = schema.get("properties", {}), schema.get("required", ())
            # True and None as well as a schema: neither says what a field is.
            more: Any = schema.get("additionalProperties")
            default: Mapping[str, Any] = more if isinstance(more, dict) else {}  # pyright: ignore[reportUnknownVariableType]
            return {
                name: _as_declared(field, known.get(name, default), defined)
                for name, field in fields.items()
                if field is not None or name not in known or name in required
            }
        case _:
            return value


def event_as_meant(body: bytes) -> Any:
    """A stored event, for readers of traces: 60.0 in its arguments is 60, and what null left out is not there.

    The trace keeps what was sent; whoever reads what a seat did must not see two ways of writing as two acts. Raises
    orjson.JSONDecodeError.
    """
    event = orjson.loads(body)
    if isinstance(event, dict) and "arguments" in event:
        event["arguments"] = _meant(event["arguments"], 0)  # pyright: ignore[reportUnknownArgumentType]
    return event  # pyright: ignore[reportUnknownVariableType]


def _meant(value: object, depth: int) -> object:
    match value:
        case float() if value.is_integer() and abs(value) <= _MAX_WHOLE:
            return int(value)
        # Traces of strangers may be nested without end; no call of ours is.
        case list() if depth < _MAX_DEPTH:
            rows: list[object] = value  # pyright: ignore[reportUnknownVariableType]
            return [_meant(row, depth + 1) for row in rows]
        case dict() if depth < _MAX_DEPTH:
            fields: dict[str, object] = value  # pyright: ignore[reportUnknownVariableType]
            return {name: _meant(field, depth + 1) for name, field in fields.items() if field is not None}
        case _:
            return value


def _opened(schema: Mapping[str, Any], defined: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a schema refers to, or itself."""
    return defined.get(str(schema.get("$ref", "")).rpartition("/")[2], schema)


def explain(error: ValidationError, parameters: type[BaseModel], tool: str) -> ErrorInfo:
    """`invalid_arguments` naming every wrong parameter and what it may be; of what was sent only numbers are repeated.

    At most eight complaints: hostile arguments may have thousands. `tool` is the name that the hint shows.
    """
    whole = _schema(parameters)
    complaints: list[str] = []
    for item in error.errors(include_url=False, include_context=False)[:_MAX_COMPLAINTS]:
        # Cut: the path to an unknown parameter is the client's own text.
        name = ".".join(str(part) for part in item["loc"][:6])[:_MAX_PATH] or "arguments"
        schema = _at(whole, item["loc"])
        allowed = allowed_text(schema, whole) if schema else ""
        number = _number(item["input"], item["type"])
        if item["type"] == "extra_forbidden":
            complaints.append(f"{name}: no such parameter")
        elif item["type"] == "missing":
            complaints.append(f"{name}: required, {allowed or 'value'}")
        else:
            words = f'"{number}" is text; send {number}' if number else _lower(item["msg"].removeprefix(_OWN_WORDS))
            complaints.append(f"{name}: {words}" + (f" ({allowed})" if allowed else ""))
    return wrong_arguments("; ".join(complaints), parameters, tool)


def wrong_arguments(message: str, parameters: type[BaseModel], tool: str) -> ErrorInfo:
    """`invalid_arguments` with a hint that names the tool's parameters, and shows a number that was sent as text."""
    takes = ", ".join(_schema(parameters).get("properties", {})) or "no parameters"
    # Out of the message, because of large arguments replay knows nothing else.
    number = _NUMBER_AS_TEXT.search(message)
    how = f' with {{"{number[1]}": {number[2]}}}: numbers have no quotes' if number else ""
    return ErrorInfo("invalid_arguments", message, f"{tool} takes {takes}; call it again{how}", True)


def _at(whole: Mapping[str, Any], path: Sequence[str | int]) -> Mapping[str, Any]:
    """The schema of the parameter at a validator's path, or of what holds it; nothing where none is known."""
    found: Mapping[str, Any] = {}
    schema, defined = whole, whole.get("$defs", {})
    for part in path:
        schema = _opened(schema, defined)
        inner = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        if inner is None:
            break
        found = schema = inner
    return found


def _beyond_schema(kind: str, given: object) -> bool:
    """Whether a schema lets pass what the validator refuses with an error of this kind."""
    # Python's `$` stands before a last newline too, and so a Python client's check lets it pass.
    newline = kind == "string_pattern_mismatch" and isinstance(given, str) and given.endswith("\n")
    return newline or kind in ("value_error", "assertion_error")


def _number(given: object, kind: str) -> str | None:
    """The JSON number that a text means where one is wanted: of digits, so that a refusal can repeat it."""
    text = given.strip() if isinstance(given, str) and kind in ("int_type", "float_type") else ""
    if _PLAIN_NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    if value.is_integer():
        return str(int(value))
    return str(value) if kind == "float_type" else None


def may_explain(message: str, parameters: type[BaseModel]) -> bool:
    """Whether `explain` could have written a message of this length: the validator's words differ between versions."""
    whole = _schema(parameters)
    models = (whole, *whole.get("$defs", {}).values())
    schemas = (schema for model in models for schema in model.get("properties", {}).values())
    longest = max((len(allowed_text(schema, whole)) for schema in schemas), default=0)
    # "path: words (allowed); "
    return 0 < len(message) <= _MAX_COMPLAINTS * (_MAX_PATH + _MAX_WORDS + longest + len(":  (); "))


@cache
def _schema(parameters: type[BaseModel]) -> Mapping[str, Any]:
    # Made once: a model's schema costs a hundred times the refusal that quotes it.
    return published(parameters)


def _lower(message: str) -> str:
    return message[:1].lower() + message[1:_MAX_WORDS]
