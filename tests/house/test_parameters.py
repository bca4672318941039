"""A function takes at most six parameters; with more it needs a named struct. Public functions may take more."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import swath

PACKAGE = Path(swath.__file__).parent
PARAMETERS_MAX = 6
PASSED_ON = {("formats/__init__.py", name) for name in ("describe",)}
PASSED_ON |= {("xarray/accessor.py", name) for name in ("DatasetAccessor", "TreeAccessor")}
"""These pass on the keyword options of `swath.open`, or of xarray's `to_netcdf`."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> Iterator[tuple[str | None, Function]]:
    """Yield all functions, and the classes of methods."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            yield from ((node.name, child) for child in node.body if isinstance(child, Function))
        else:
            for child in ast.iter_child_nodes(node):
                if isinstance(child, Function):
                    yield None, child


def parameters(function: Function, of_class: str | None) -> list[str]:
    """Return their names, without the object or class of a method."""
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    names += [a.arg for a in (given.vararg, given.kwarg) if a is not None]
    return names[1:] if of_class is not None and names[:1] in (["self"], ["cls"]) else names


def too_long(module: str, text: str) -> list[str]:
    """Return descriptions of the functions of a module that take too many."""
    return [
        f"{module}:{function.lineno}: {function.name} takes {len(names)}: {', '.join(names)}"
        for of_class, function in functions(ast.parse(text))
        for names in [parameters(function, of_class)]
        if len(names) > PARAMETERS_MAX
        and (of_class or function.name) not in swath.__all__
        and (module, of_class or function.name) not in PASSED_ON
    ]


def test_functions_take_at_most_six_parameters() -> None:
    found = [
        line
        for path in sorted(PACKAGE.rglob("*.py"))
        for line in too_long(path.relative_to(PACKAGE).as_posix(), path.read_text())
    ]
    assert found == [], "name an options dataclass"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f(a, b, c, d, e, f): ...", 0),
        ("def f(a, b, c, d, e, f, g): ...", 1),
        ("def f(a, /, b, c, *d, e, f, **g): ...", 1),
        ("class A:\n    def f(self, b, c, d, e, f, g): ...", 0),
        ("class A:\n    async def f(self, b, c, d, e, f, g, h): ...", 1),
        ("def f():\n    def g(a, b, c, d, e, f, g): ...", 1),
        ("def copy(a, b, c, d, e, f, g): ...", 0),
        ("class Array:\n    def read(self, b, c, d, e, f, g, h): ...", 0),
    ],
)
def test_parameters_of_all_kinds_are_counted(text: str, count: int) -> None:
    assert len(too_long("any.py", text)) == count
