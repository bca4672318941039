"""The imports between modules of the package: every import counts, however it is written.

This includes imports in functions, imports for type checkers only, relative ones, modules that are imported by name,
entries of `sys.modules`, and attributes of the face (`swath.array`), which knows all modules.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator
from pathlib import Path

from tree import ROOT

PACKAGE = ROOT / "python" / "swath"
FACE = "swath"
UNKNOWN = "a module whose name is not written down"
COMPILED = {"swath._core", "swath._mpi_mpich", "swath._mpi_openmpi", "swath._mpi_mpiabi"}
BY_NAME = {"import_module", "__import__", "resolve_name", "run_module", "find_spec"}
"""Functions that take the name of a module."""

Graph = dict[str, set[str]]


def name_of(path: Path) -> str:
    """Return "swath.array.plan" for python/swath/array/plan.py, and "swath.array" for its `__init__.py`."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(source: str, package: str, *, types_too: bool = True) -> Iterator[str]:
    """Yield names that may be modules, for every import; `package`: the package of the source, for relative imports.

    `types_too`: include imports for type checkers only.
    """
    nodes = list(_walk(ast.parse(source), types_too))
    by_name = BY_NAME | _other_names(nodes)
    binds_face = any(_binds_face(node) for node in nodes)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{_base(node, package)}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and _last_name(node.func) in by_name:
            yield _written_name(node.args[0] if node.args else None)
        elif isinstance(node, ast.Subscript) and _last_name(node.value) == "modules":
            yield _written_name(node.slice)
        elif isinstance(node, ast.Attribute) and binds_face and _dotted(node).startswith(f"{FACE}."):
            yield _dotted(node)


def _walk(node: ast.AST, types_too: bool) -> Iterator[ast.AST]:
    yield node
    children: Iterable[ast.AST] = ast.iter_child_nodes(node)
    if not types_too and isinstance(node, ast.If) and _last_name(node.test) == "TYPE_CHECKING":
        children = node.orelse
    # Of `a.b.c` the whole only: its part `a.b` names less.
    for child in _below_dots(node) if isinstance(node, ast.Attribute) else children:
        yield from _walk(child, types_too)


def _below_dots(node: ast.AST) -> Iterator[ast.AST]:
    while isinstance(node, ast.Attribute):
        node = node.value
    yield node


def _dotted(node: ast.AST) -> str:
    """Return "swath.array.plan" for such an expression; empty for others."""
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def _other_names(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that a module gives to functions of `BY_NAME` that it imports."""
    imported = [alias for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names]
    return {alias.asname for alias in imported if alias.name in BY_NAME and alias.asname}


def _binds_face(node: ast.AST) -> bool:
    """Return whether it makes `swath` a name of the module: `import swath.errors` does, too."""
    return isinstance(node, ast.Import) and any(
        alias.asname is None and alias.name.partition(".")[0] == FACE for alias in node.names
    )


def _base(node: ast.ImportFrom, package: str) -> str:
    above = package.split(".")[: -(node.level - 1) or None] if node.level > 0 else []
    return ".".join([*above, *([node.module] if node.module else [])])


def _written_name(node: ast.AST | None) -> str:
    """Return the name in `import_module("name")`; `UNKNOWN` if it is computed, or relative."""
    is_written = isinstance(node, ast.Constant) and isinstance(node.value, str) and not node.value.startswith(".")
    return node.value.partition(":")[0] if is_written else UNKNOWN  # type: ignore[union-attr]


def module_of(name: str, known: Iterable[str]) -> str:
    """Return the module for "swath.formats.npy.describe"; empty if it is not the package's, or compiled.

    `import swath`, and the names that it exports, count as imports of the face.
    """
    if name == UNKNOWN:
        return name
    if name.partition(".")[0] != FACE or name in COMPILED or name.rpartition(".")[0] in COMPILED:
        return ""
    while name not in known:
        name = name.rpartition(".")[0]
    return name


def found_in(source: str, package: str, known: Iterable[str]) -> set[str]:
    """Return the modules of the package that a source imports."""
    return {module_of(name, known) for name in imports_of(source, package)} - {""}


@functools.cache
def imported_modules(*, types_too: bool = True) -> Graph:
    """Return, for every module of the package, the modules that it imports; a package only if it is imported itself."""
    sources = {name_of(path): path for path in PACKAGE.rglob("*.py")}
    graph: Graph = {}
    for name, path in sources.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        names = imports_of(path.read_text(), package, types_too=types_too)
        graph[name] = {module_of(imported, sources) for imported in names} - {"", name}
    graph[FACE] = {"swath._public", "swath._moved"}  # which it loads by names that it makes
    graph[UNKNOWN] = set()
    return graph


def loaded_with(module: str) -> Iterator[str]:
    """Yield the module, and the packages above it, without the face, which loads nothing by itself."""
    yield module
    while module != UNKNOWN and (module := module.rpartition(".")[0]) not in ("", FACE):
        yield module


@functools.cache
def package_graph() -> Graph:
    """The same as `imported_modules`, with the packages that are loaded before a module of theirs."""
    modules = imported_modules()
    return {name: {one for module in modules[name] for one in loaded_with(module)} - {name} for name in modules}


def folder_of(module: str) -> str:
    """Return the top entry of the package for a module: "array" for "swath.array.plan"; the face is "swath"."""
    return module.split(".")[1] if "." in module else module


def folder_graph(modules: Graph) -> Graph:
    """Return for every top entry of the package the others that its modules import."""
    graph: Graph = {}
    for module, imported in modules.items():
        folder = folder_of(module)
        graph.setdefault(folder, set()).update({folder_of(one) for one in imported} - {folder})
    return graph


def cycles(graph: Graph) -> set[frozenset[str]]:
    """Return the strongly connected components (Tarjan): groups of nodes that can all be reached from each other."""
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: set[frozenset[str]] = set()

    def visit(node: str) -> None:
        number[node] = lowest[node] = len(number)
        stack.append(node)
        for next_one in sorted(graph[node]):
            if next_one not in number:
                visit(next_one)
                lowest[node] = min(lowest[node], lowest[next_one])
            elif next_one in stack:
                lowest[node] = min(lowest[node], number[next_one])
        if lowest[node] == number[node]:
            group = stack[stack.index(node) :]
            del stack[stack.index(node) :]
            if len(group) > 1:
                found.add(frozenset(group))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return found


def way(graph: Graph, start: str, end: str) -> list[str]:
    """Return the shortest path of imports from one module to another; empty if there is none."""
    ways = [[start]]
    seen = {start}
    for one in ways:
        for imported in sorted(graph[one[-1]] - seen):
            if imported == end:
                return [*one, end]
            seen.add(imported)
            ways.append([*one, imported])
    return []
