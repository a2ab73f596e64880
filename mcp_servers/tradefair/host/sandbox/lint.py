"""One look at a program before it runs: names what cannot work, and points imports at our own modules.

It works on tokens, never on a parse tree: the host's parser would recurse over text that an agent wrote, and it knows
an older grammar than the sandbox. A program that cannot be split into tokens passes unchanged; the sandbox's own parser
then says what is wrong with it.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from tokenize import TokenInfo
from typing import NamedTuple

from tradefair.contract import ErrorInfo
from tradefair.host.sandbox.modules import MODULES, module_name, public_names

NATIVE = (
    "asyncio", "base64", "bisect", "collections", "copy", "csv", "dataclasses", "datetime", "decimal", "functools",
    "hashlib", "itertools", "json", "math", "os", "pathlib", "random", "re", "sys", "time", "typing",
)  # fmt: skip
AVAILABLE = tuple(sorted((*NATIVE, *MODULES)))
_USEFUL = (
    "math", "statistics", "random", "json", "re", "datetime", "decimal", "collections", "itertools", "functools",
    "bisect", "heapq", "operator",
)  # fmt: skip
IMPORT_HINT = "use lists and dictionaries with " + ", ".join(_USEFUL)
CALLBACK_HINT = "call it in a plain loop first, keep the answers in a dictionary, and read that in the callback"
_CALLBACKS = frozenset({"filter", "map", "max", "min", "sort", "sorted"})
# Most programs have none of these words and are not tokenized at all.
_WORTH_A_LOOK = re.compile(r"\b(?:import|lambda|map|filter|key)\b")
_MAX_NESTING = 200  # the sandbox's parser refuses deeper programs by itself
_SILENT = frozenset({tokenize.NL, tokenize.COMMENT})
_BREAKS = frozenset({tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER})


class CodeRefused(Exception):
    """A program that cannot work; `info` is the answer.

    The line is the author's: rewriting keeps the number of lines.
    """

    def __init__(self, line: int, message: str, hint: str) -> None:
        super().__init__(message)
        self.info = ErrorInfo("code_error", f"line {line}: {message}", hint, True)


class Prepared(NamedTuple):
    """A program as it will be run, and the modules of ours that it imports. Line numbers are still the author's."""

    source: str
    modules: tuple[str, ...]


class _Clause(NamedTuple):
    """One `name as alias` of an import; the alias may be empty."""

    name: str
    alias: str


def prepare(code: str, tools: Collection[str]) -> Prepared:
    """Check and rewrite `code`, in which `tools` are the names of callable tools. Raises CodeRefused."""
    # One kind of line end, so that offsets below can be counted by splitting at it.
    source = code.replace("\r\n", "\n").replace("\r", "\n")
    if not _WORTH_A_LOOK.search(source):
        return Prepared(source, ())
    try:
        tokens = [item for item in tokenize.generate_tokens(io.StringIO(source).readline) if item.type not in _SILENT]
    except (tokenize.TokenError, SyntaxError):
        return Prepared(source, ())
    _refuse_tools_in_callbacks(tokens, tools)
    return _rewrite_imports(source, [statement for statement in _statements(tokens) if _is_import(statement)])


def _statements(tokens: list[TokenInfo]) -> Iterator[list[TokenInfo]]:
    """Simple statements, and the headers of compound ones.

    Brackets are counted, so that a colon in a slice or a dictionary ends no statement.
    """
    depth = 0
    statement: list[TokenInfo] = []
    for token in tokens:
        if token.type == tokenize.OP and token.string in ("(", "[", "{"):
            depth += 1
        elif token.type == tokenize.OP and token.string in (")", "]", "}"):
            depth -= 1
        if token.type in _BREAKS or (depth == 0 and token.type == tokenize.OP and token.string in (";", ":")):
            yield statement
            statement = []
        else:
            statement.append(token)


def _is_import(statement: list[TokenInfo]) -> bool:
    return bool(statement) and statement[0].type == tokenize.NAME and statement[0].string in ("import", "from")


def _rewrite_imports(source: str, imports: list[list[TokenInfo]]) -> Prepared:
    starts = [0]
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    used: set[str] = set()
    # From the last to the first: a replacement must not move the offsets of those that are still to come.
    for statement in reversed(imports):
        first, last = statement[0], statement[-1]
        replacement = _import_text(statement, used)
        if replacement is not None:
            start = starts[first.start[0] - 1] + first.start[1]
            end = starts[last.end[0] - 1] + last.end[1]
            source = source[:start] + replacement + source[end:]
    return Prepared(source, tuple(name for name in MODULES if name in used))


def _import_text(statement: list[TokenInfo], used: set[str]) -> str | None:
    """The text that replaces an import of our modules, over as many lines; None leaves it unchanged. Fills `used`."""
    words = [token.string for token in statement]
    if words[0] == "import":
        return _plain_import(statement, _clauses(words[1:]), used)
    if "import" not in words or words[1] == ".":
        return None
    cut = words.index("import")
    module = "".join(words[1:cut])
    if module not in MODULES:
        _require(statement, module)
        return None
    used.add(module)
    names = _clauses([word for word in words[cut + 1 :] if word not in ("(", ")")])
    return _from_import(statement, module, names)


def _plain_import(statement: list[TokenInfo], clauses: list[_Clause], used: set[str]) -> str | None:
    parts: list[str] = []
    for module, alias in clauses:
        if module in MODULES:
            used.add(module)
            parts.append(f"{alias or module} = {module_name(module)}")
        else:
            _require(statement, module)
            parts.append(f"import {module} as {alias}" if alias else f"import {module}")
    return "; ".join(parts) if any(module in MODULES for module, _ in clauses) else None


def _from_import(statement: list[TokenInfo], module: str, names: list[_Clause]) -> str:
    line, offered = statement[0].start[0], public_names(module)
    for name, _ in names:
        if name not in offered:
            raise CodeRefused(line, f"{module} has no {name[:40]} here", f"{module} offers " + ", ".join(offered))
    targets = "".join(f"{alias or name}, " for name, alias in names)
    values = "".join(f"{module_name(module)}.{name}, " for name, _ in names)
    # As many lines as the import had, so that a later error names the author's line.
    return f"({targets}) = ({values}" + "\n" * (statement[-1].end[0] - line) + ")"


def _clauses(words: list[str]) -> list[_Clause]:
    """The clauses of `a.b as c, d`."""
    clauses: list[_Clause] = []
    for clause in " ".join(words).split(","):
        name, _, alias = clause.partition(" as ")
        if name.strip():
            clauses.append(_Clause(name.replace(" ", ""), alias.strip()))
    return clauses


def _require(statement: list[TokenInfo], module: str) -> None:
    """Refuse an import of a missing module at the top level.

    One in a `try` or `def` may be meant to fail, and may run.
    """
    top = module.partition(".")[0]
    known = top in AVAILABLE or top == "__future__" or not top.isidentifier()
    if statement[0].start[1] == 0 and not known:
        raise CodeRefused(statement[0].start[0], f"there is no module {top[:40]} here", IMPORT_HINT)


@dataclass
class _Frame:
    """An open bracket: the function that it calls, and whether a lambda is open in the current argument.

    A stack of frames stands in for a parse tree; see the module's text.
    """

    callee: str = ""
    in_lambda: bool = False
    in_parameters: bool = False


def _refuse_tools_in_callbacks(tokens: list[TokenInfo], tools: Collection[str]) -> None:
    # A tool call suspends the interpreter, which it cannot do while a builtin runs the callback. Without this check the
    # program would fail only when that line is reached, after it has used up its calls.
    frames: list[_Frame] = []
    watched = _never_rebound(tokens, tools)
    for index, token in enumerate(tokens[:-1]):
        before = tokens[index - 1].string if index else ""
        if token.type == tokenize.NAME and token.string in watched and before != ".":
            callee = _callback_of(frames, before, tokens[index - 2].string, tokens[index + 1].string)
            if callee:
                message = f"{token.string} cannot be called from inside the callback of {callee}()"
                raise CodeRefused(token.start[0], message, CALLBACK_HINT)
        _follow(frames, token, before)
        if len(frames) > _MAX_NESTING:
            return


def _callback_of(frames: list[_Frame], before: str, before_that: str, after: str) -> str:
    """The builtin that would call the tool; "" where none would."""
    if after == "(":
        return next((frame.callee for frame in frames if frame.callee and frame.in_lambda), "")
    callee = frames[-1].callee if frames else ""
    if callee in ("map", "filter"):
        return callee if before == "(" and after == "," else ""
    return callee if before == "=" and before_that == "key" else ""


def _follow(frames: list[_Frame], token: TokenInfo, before: str) -> None:
    if token.type == tokenize.OP and token.string in ("(", "[", "{"):
        frames.append(_Frame(before if token.string == "(" and before in _CALLBACKS else ""))
    elif token.type == tokenize.OP and token.string in (")", "]", "}"):
        if frames:
            frames.pop()
    elif frames and token.string == "lambda":
        frames[-1].in_lambda = frames[-1].in_parameters = True
    elif frames and token.string == ":":
        frames[-1].in_parameters = False
    elif frames and token.string == "," and not frames[-1].in_parameters:
        frames[-1].in_lambda = False


def _never_rebound(tokens: list[TokenInfo], tools: Collection[str]) -> frozenset[str]:
    """The tools with names that the program does not use for something else."""
    rebound = {
        token.string
        for before, token, after in zip([tokens[0], *tokens], tokens, tokens[1:], strict=False)
        if before.string == "def" or after.string == "="
    }
    return frozenset(tools) - rebound
