"""No line of the log holds what a seat said or was told: the calls of our loggers, read from the sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.source_code import Module, all_modules

_LEVELS = {"debug", "info", "warning", "error", "exception", "critical", "log"}
_LOGGERS = {"_log", "logger", "_security_log", "logging"}
# What may hold words, moves, private values, chance or a credential, as this code names such things.
_FORBIDDEN = {
    *("args", "arguments", "kwargs", "payload", "fields", "values", "value", "data", "about", "core_bytes", "state"),
    *("answer", "body", "content", "message", "messages", "note", "notes", "reply", "result", "results"),
    *("text", "texts"),
    *("view", "words", "request", "response", "headers", "environ", "seating", "label", "labels", "client", "clients"),
    *("seed", "seeds", "token", "tokens", "key", "api_key", "call_key", "secret", "password", "dsn", "base_url"),
}
# Functions that say of a value what anybody may know.
_HARMLESS = {"len", "token_digest", "type"}


def _named(node: ast.AST) -> Iterator[str]:
    """What an expression takes its values from: last parts of attributes, names, keys of mappings."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _HARMLESS:
        return
    if isinstance(node, ast.Attribute):
        yield node.attr
        return
    if isinstance(node, ast.Name):
        yield node.id
    if isinstance(node, ast.Dict):
        yield from (str(key.value) for key in node.keys if isinstance(key, ast.Constant))
    for child in ast.iter_child_nodes(node):
        yield from _named(child)


def _told(module: Module) -> Iterator[str]:
    """`module: line: name` of every forbidden name in a call of a logger."""
    for node in ast.walk(ast.parse(module.text)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LEVELS):
            continue
        logger = node.func.value
        if (logger.id if isinstance(logger, ast.Name) else getattr(logger, "attr", "")) not in _LOGGERS:
            continue
        for given in (*node.args, *(word.value for word in node.keywords if word.arg != "exc_info")):
            yield from (f"{module.name}:{node.lineno}: {name}" for name in _named(given) if name in _FORBIDDEN)


def _planted(statement: str) -> list[str]:
    return list(_told(Module("planted", f'"""A module."""\n{statement}\n', face=False)))


def test_no_call_of_a_logger_has_words_or_secrets_among_its_fields() -> None:
    assert _planted('_log.info("called", extra={"arguments": 1})') == ["planted:2: arguments"]
    assert _planted('logger.warning("%s", params.arguments)') == ["planted:2: arguments"]
    assert _planted('_log.debug(f"{self.result[0]!r}")') == ["planted:2: result"]
    assert _planted('self._log.error("%s", seed + 1, exc_info=error)') == ["planted:2: seed"]
    assert _planted('_log.info("%s of %d", type(value).__name__, len(body), extra={"seat": seat})') == []
    named = {name for module in all_modules() for name in re.findall(r"(?m)^(\w+) = logging.getLogger", module.text)}
    assert named <= _LOGGERS
    calls = [found for module in all_modules() for found in _told(module)]
    assert calls == []
