"""What the shape rules ask of a source file: each file is parsed once and walked once."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

REPO = Path(__file__).parents[1]
ROOTS = ("mcp_servers", "agent_graphs", "frameworks", "evaluation")


class Import(NamedTuple):
    """One imported name: `module` as written, `name` what is taken from it (empty for `import module`)."""

    module: str
    name: str
    in_function: bool


class Function(NamedTuple):
    """One function or method, with its length from `def` to its last line and its branches."""

    name: str
    lines: int
    branches: int


class Module:
    """One source file, or a planted one: its dotted name below `tradefair` and its text."""

    def __init__(self, name: str, text: str = '"""A module."""\n', *, face: bool = False, path: Path = Path()) -> None:
        self.name = name
        self.text = text
        self.path = path
        self.face = face  # `__init__.py` or `__main__.py`

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    @cached_property
    def lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def docstring(self) -> str | None:
        return ast.get_docstring(self._tree)

    @property
    def names_its_exports(self) -> bool:
        """Whether `__all__` is assigned, alone or in a tuple as lazy faces do."""
        targets: list[ast.expr] = []
        for node in self._tree.body:
            targets += node.targets if isinstance(node, ast.Assign) else []
            targets += [node.target] if isinstance(node, ast.AnnAssign) else []
        names = [part for target in targets for part in (target.elts if isinstance(target, ast.Tuple) else [target])]
        return any(isinstance(name, ast.Name) and name.id == "__all__" for name in names)

    def words(self) -> Iterator[tuple[int, str]]:
        """Line and word of every name, attribute, imported name and text of one word, in order."""
        found: set[tuple[int, str]] = set()
        for node in ast.walk(self._tree):
            match node:
                case ast.Name(id=str(word)) | ast.Attribute(attr=str(word)) | ast.Constant(value=str(word)):
                    found.add((node.lineno, word))
                case ast.ImportFrom():
                    found |= {(node.lineno, alias.name) for alias in node.names}
                case _:
                    pass
        yield from sorted(found)

    @cached_property
    def _tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def contents(self) -> Contents:
        return Contents(self._tree)

    @property
    def code_lines(self) -> int:
        """Lines that are neither of docstrings nor of comments; empty ones count."""
        return len(self.lines) - len(self.contents.docstring_lines) - self.comment_lines

    @cached_property
    def comment_lines(self) -> int:
        # `#` at the start of a line inside a docstring is no comment.
        return sum(
            line.lstrip().startswith("#")
            for number, line in enumerate(self.lines, 1)
            if number not in self.contents.docstring_lines
        )


class Contents:
    """Lists of what occurs anywhere in a syntax tree."""

    def __init__(self, tree: ast.Module) -> None:
        self.imports: list[Import] = []
        self.functions: list[Function] = []
        self.called: set[str] = set()  # `f` for f() and `.f` for x.f()
        self.loop_variables: list[tuple[int, str]] = []  # line, name; comprehensions too
        self.docstring_lines: set[int] = set()  # of attributes too
        self._walk(tree)

    def _walk(self, tree: ast.Module) -> None:
        todo: list[tuple[ast.AST, bool]] = [(tree, False)]
        while todo:
            node, in_function = todo.pop()
            self._note(node, in_function)
            inside = in_function or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            todo.extend((child, inside) for child in ast.iter_child_nodes(node))

    def _note(self, node: ast.AST, in_function: bool) -> None:
        match node:
            case ast.Import():
                self.imports += [Import(alias.name, "", in_function) for alias in node.names]
            case ast.ImportFrom(module=str(module)):
                self.imports += [Import(module, alias.name, in_function) for alias in node.names]
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                self.functions.append(Function(node.name, lines, branches(node)))
            case ast.Call(func=ast.Name(id=name)):
                self.called.add(name)
            case ast.Call(func=ast.Attribute(attr=name)):
                self.called.add(f".{name}")
            case ast.For() | ast.AsyncFor() | ast.comprehension():
                names = [part for part in ast.walk(node.target) if isinstance(part, ast.Name)]
                self.loop_variables += [(name.lineno, name.id) for name in names]
            case ast.Expr(value=ast.Constant(value=str())):
                self.docstring_lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
            case _:
                pass


def branches(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many ways lead through a function: McCabe's number, in which expressions count too.

    One, and one more for each `if`, loop, `except`, `case`, conditional expression, comprehension and its conditions,
    and each further operand of `and` and `or`. Functions inside count with the one around them.
    """
    return 1 + sum(_further_ways(node) for node in ast.walk(function))


def _further_ways(node: ast.AST) -> int:
    match node:
        case ast.If() | ast.IfExp() | ast.For() | ast.AsyncFor() | ast.While() | ast.ExceptHandler() | ast.match_case():
            return 1
        case ast.BoolOp():
            return len(node.values) - 1
        case ast.comprehension():
            return 1 + len(node.ifs)
        case _:
            return 0


def all_modules() -> list[Module]:
    """All source files of the four roots."""
    found: list[Module] = []
    for root in ROOTS:
        base = REPO / root / "tradefair"
        for path in sorted(base.rglob("*.py")):
            parts = path.relative_to(base).with_suffix("").parts
            name = ".".join(part for part in parts if part != "__init__")
            face = path.name in {"__init__.py", "__main__.py"}
            found.append(Module(name, path.read_text(encoding="utf-8"), face=face, path=path))
    return found


def modules_of_tests() -> list[Module]:
    """All Python files below `tests`."""
    paths = sorted((REPO / "tests").rglob("*.py"))
    names = (".".join(path.relative_to(REPO).with_suffix("").parts) for path in paths)
    return [Module(name, path.read_text(encoding="utf-8"), path=path) for name, path in zip(names, paths, strict=True)]


def imported_modules(module: Module, known: Collection[str]) -> Iterator[str]:
    """Full names of imported modules. `from package import module` gives the module, if `known` (names below
    `tradefair`) has it."""
    for module_name, name, _ in module.contents.imports:
        below = f"{module_name}.{name}".removeprefix("tradefair.")
        yield f"{module_name}.{name}" if below in known else module_name


def import_graph(modules: Iterable[Module]) -> dict[str, set[str]]:
    """Which of `modules` imports which, over every import statement, those for type checkers and in functions too.

    A package face that imports its own modules inside a function does so lazily: that is no arrow.
    """
    by_name = {module.name: module for module in modules}
    graph: dict[str, set[str]] = {name: set() for name in by_name}
    for module in by_name.values():
        for entry in module.contents.imports:
            target = entry.module.removeprefix("tradefair.")
            if f"{target}.{entry.name}" in by_name:
                target = f"{target}.{entry.name}"
            lazy = module.face and entry.in_function and target.startswith(f"{module.name}.")
            if target in by_name and target != module.name and not lazy:
                graph[module.name].add(target)
    return graph


def circles(graph: Mapping[str, Collection[str]]) -> list[str]:
    """Groups of nodes that reach one another, as `a, b, c`; a node that only points at itself is none."""
    left = {node: {end for end in ends if end in graph and end != node} for node, ends in graph.items()}
    # What points nowhere, or is pointed at from nowhere, lies on no circle; without it there is more of the kind.
    while True:
        pointed_at = set[str]().union(*left.values())
        kept = {node for node, ends in left.items() if ends and node in pointed_at}
        if len(kept) == len(left):
            break
        left = {node: left[node] & kept for node in kept}
    reached = {node: _reachable(left, node) for node in left}
    groups = {frozenset(end for end in ends if node in reached[end]) for node, ends in reached.items()}
    return sorted(", ".join(sorted(group)) for group in groups if len(group) > 1)


def _reachable(graph: Mapping[str, Collection[str]], start: str) -> set[str]:
    found: set[str] = set()
    todo = [start]
    while todo:
        for end in graph[todo.pop()]:
            if end not in found:
                found.add(end)
                todo.append(end)
    return found
