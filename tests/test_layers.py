"""Arrays and files: neither imports the other. Every import counts, also those that other readers pass over.

These are imports in functions, imports for type checkers alone, modules that are imported by their name, and the face
(`import swath`), which knows all of them.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "python" / "swath"
FACE = "swath"
UNKNOWN = "a module whose name is not written down"
COMPILED = {"swath._core", "swath._mpi"}

ARRAY = "swath.array.open_array"
"""The module of `Array`."""
OPENS_FILES = "swath.files.core_file"
"""Whoever opens a file for its elements does so by this module, which calls the core."""
SAID_BY_FORMATS = {f"swath.formats.{name}" for name in ("contents", "description", "netcdf_fills", "signals")}
"""What arrays may import of formats: words for what is where. The others read and write what files hold."""
SAID_BY_FILES = {f"swath.files.{name}" for name in ("attributes", "layouts", "stored_array")}
"""What arrays may import of files: what they are stored as."""
JOIN = {"swath.array.opening", "swath.array.file", "swath.array.pickling", "swath.array.conversions"}
"""Modules of `swath.array` that may know both: they stand above `Array`."""

Graph = dict[str, set[str]]


def name_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_by_name(node: ast.AST) -> Iterator[str]:
    """The name in `import_module("name")` and its like; `UNKNOWN` where it is not written down."""
    if not isinstance(node, ast.Call):
        return
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called in ("import_module", "__import__", "resolve_name"):
        argument = node.args[0] if node.args else None
        is_written = isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        yield argument.value.partition(":")[0] if is_written else UNKNOWN  # type: ignore[union-attr]


def imports_of(source: str, package: str) -> Iterator[str]:
    """Names that may be modules, of every import; `package`: that the source is in, for relative imports."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: -(node.level - 1) or None] if node.level > 0 else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{alias.name}" for alias in node.names)
        yield from imported_by_name(node)


def module_of(name: str, known: set[str]) -> str:
    """Of "swath.formats.npy.describe" the module; empty of what is none of the package's, or compiled.

    The face is imported by whoever names it: `import swath`, or one of the names that it exports.
    """
    if name == UNKNOWN:
        return name
    if name.partition(".")[0] != FACE or name in COMPILED or name.rpartition(".")[0] in COMPILED:
        return ""
    while name not in known:
        name = name.rpartition(".")[0]
    return name


def loaded_with(module: str) -> Iterator[str]:
    """The module, and the packages that it is in, without the face, which loads nothing by itself."""
    yield module
    while module != UNKNOWN and (module := module.rpartition(".")[0]) not in ("", FACE):
        yield module


@functools.cache
def imported_modules() -> Graph:
    """Of every module of the package which others it imports; of packages only those that are imported themselves."""
    sources = {name_of(path): path for path in PACKAGE.rglob("*.py")}
    graph: Graph = {}
    for name, path in sources.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found = {module_of(imported, set(sources)) for imported in imports_of(path.read_text(), package)}
        graph[name] = found - {"", name}
    graph[FACE] = {"swath._public"}  # which it loads by a name that it makes
    graph[UNKNOWN] = set()
    return graph


def package_graph() -> Graph:
    """The same with the packages that are loaded before a module of theirs."""
    modules = imported_modules()
    return {name: {one for module in modules[name] for one in loaded_with(module)} - {name} for name in modules}


def way(graph: Graph, start: str, end: str) -> list[str]:
    """The shortest way of imports from one module to another; empty where there is none."""
    ways = [[start]]
    seen = {start}
    for one in ways:
        for imported in sorted(graph[one[-1]] - seen):
            if imported == end:
                return [*one, end]
            seen.add(imported)
            ways.append([*one, imported])
    return []


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("if TYPE_CHECKING:\n    from swath.files.core_file import open_core_file", {OPENS_FILES, "swath.files"}),
        ("def f():\n    from swath.files import core_file", {OPENS_FILES, "swath.files"}),
        ("def f():\n    importlib.import_module('swath.files.core_file')", {OPENS_FILES, "swath.files"}),
        ("pkgutil.resolve_name('swath.files.core_file:open_core_file')", {OPENS_FILES, "swath.files"}),
        ("importlib.import_module('.'.join(names))", {UNKNOWN}),
        ("from ..files.core_file import open_core_file", {OPENS_FILES, "swath.files"}),
        ("def f():\n    import swath", {FACE}),
        ("from swath import open_file", {FACE}),
        ("from swath import _core\nfrom swath._core import Array\nimport numpy", set()),
        ("from swath import errors", {"swath.errors"}),
    ],
)
def test_imports_are_found_however_they_are_written(source: str, expected: set[str]) -> None:
    known = set(imported_modules())
    found = {module_of(name, known) for name in imports_of(source, "swath.array")} - {""}
    assert {one for module in found for one in loaded_with(module)} == expected


def test_the_face_reaches_both() -> None:
    graph = package_graph()
    assert way(graph, FACE, ARRAY)
    assert way(graph, FACE, OPENS_FILES)


def test_array_imports_no_module_that_opens_files() -> None:
    graph = package_graph()
    assert way(graph, ARRAY, OPENS_FILES) == []
    assert way(graph, ARRAY, UNKNOWN) == []


def test_array_imports_of_files_and_formats_what_they_say() -> None:
    graph = imported_modules()
    for name in [ARRAY, *(one for one in graph if way(graph, ARRAY, one))]:
        if name.split(".")[1] in ("array", "files"):
            of_files = {one for one in graph[name] if one.startswith("swath.files")}
            of_formats = {one for one in graph[name] if one.startswith("swath.formats")}
            assert of_files <= SAID_BY_FILES, name
            assert of_formats <= SAID_BY_FORMATS, name


def test_no_module_that_opens_files_imports_array() -> None:
    graph = package_graph()
    of_files = [name for name in graph if name.partition(".")[2].partition(".")[0] == "files"]
    assert OPENS_FILES in of_files
    for name in of_files:
        assert way(graph, name, ARRAY) == []
        assert way(graph, name, UNKNOWN) == []


def test_few_modules_join_arrays_and_files() -> None:
    graph = package_graph()
    of_arrays = [name for name in graph if name.startswith("swath.array.")]
    assert {name for name in of_arrays if way(graph, name, OPENS_FILES)} == JOIN
