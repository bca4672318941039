"""`swath.verify`: comparing two arrays, or all that two files hold."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from swath import formats
from swath.array.open_array import Array
from swath.copying.compare import Comparison, HowToCompare, compare_arrays
from swath.copying.request import check_copied, memory_bytes, text_of_characters
from swath.copying.sources import description_of, refuse_no_source
from swath.errors import ArgumentError, UnsupportedError
from swath.formats import Contents, Description
from swath.formats.contents import Attributes, Variable
from swath.formats.files import checked_path
from swath.ranks import compared
from swath.ranks.ranks import in_turn, ranks_of


@dataclasses.dataclass(frozen=True)
class FileComparison:
    """Whether two files hold the same.

    Attributes:
        equal: the same variables, equal as `Comparison` says it, with the same attributes; groups the same.
        variables: those that both have, compared.
        differences: in words, what else differs: names, dimensions, attributes. Types of attributes do not count.
    """

    equal: bool
    variables: dict[str, Comparison]
    differences: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        if self.equal:
            elements = sum(one.elements for one in self.variables.values())
            return f"equal: {len(self.variables)} variables, {elements:,} elements"
        found = [f"  {name}: {one}" for name, one in self.variables.items() if not one]
        return "\n".join(["different:", *found, *(f"  {words}" for words in self.differences)])

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, for JSON."""
        return dataclasses.asdict(self)


@in_turn
def verify(
    a: Any,
    b: Any,
    *,
    variable: str | None = None,
    other_variable: str | None = None,
    axes: tuple[int, ...] | None = None,
    memory: int | str | None = None,
    comm: Any = None,
    engine: str | None = None,
) -> Comparison | FileComparison:
    """Compare two files, or two arrays element by element, in bounded memory. Collective over `comm`.

    Files of many variables are compared as a whole where no variable and no `axes` are given: names, dimensions and
    attributes, too. Files of one variable each are compared as arrays, whatever these are called.

    Formats, layouts and dtypes may differ: values are compared, as NumPy compares them, of structures those of fields
    of the same names. Padding does not count.

    Args:
        a: a path, or an array opened by `swath.open`.
        b: the same.
        variable: of a in its file.
        other_variable: of b.
        axes: dimension d of b is dimension `axes[d]` of a, as for `swath.copy`.
        memory: the budget, see `swath.copy`.
        comm: an mpi4py communicator: the ranks share the work.
        engine: see `swath.open`.

    Raises:
        ArgumentError: elements that cannot be compared, axes or a budget that cannot be.
        NotFoundError, FormatError, StoreError: as `swath.open` and `Array.read` do.
    """
    words = compared.words("verify", compared.InWords(""), locals(), own=("comm",))
    ranks = ranks_of(comm)

    def describe() -> tuple[Any, int]:
        budget = memory_bytes(memory) // ranks.most_on_a_node
        if variable is None and other_variable is None and axes is None:
            files = _contents(a), _contents(b)
            if None not in files and any(len(file.variables) > 1 for file in files if file is not None):
                return files, budget
        return (_description(a, variable), _description(b, other_variable)), budget

    found, budget = ranks.on_first(words, describe)
    how = HowToCompare(ranks, budget, engine)
    if isinstance(found[0], Description):
        return compare_arrays((found[0], found[1]), axes, how)
    return _compare_files((checked_path(a), checked_path(b)), found, how)


def _contents(source: Any) -> Contents | None:
    if isinstance(source, Array):
        return None
    refuse_no_source(source, "verify")
    found = formats.contents_of_many(source)
    return None if found is None or "" in found.variables else found


def _description(source: Any, variable: str | None) -> Description:
    found = description_of(source, variable, "verify")
    check_copied(found)
    return found


def _compare_files(paths: tuple[str, str], files: tuple[Contents, Contents], how: HowToCompare) -> FileComparison:
    a, b = files
    differences = [f"only in {paths[0]}: {name}" for name in a.variables if name not in b.variables]
    differences += [f"only in {paths[1]}: {name}" for name in b.variables if name not in a.variables]
    for name in dict.fromkeys([*a.groups, *b.groups]):
        if name not in a.groups or name not in b.groups:
            differences.append(f"only in {paths[name not in a.groups]}: group {name}")
        else:
            differences += _of_attributes(
                f"{name}: " if name else "", a.groups[name].attributes, b.groups[name].attributes
            )
    found = {}
    for name in a.variables:
        if name in b.variables:
            one, other = a.variables[name], b.variables[name]
            differences += _of_attributes(f"{name}: ", one.attributes, other.attributes)
            differences += _of_dimensions(one, other)
            found[name] = _compare_variables(paths, name, how)
    return FileComparison(all(found.values()) and not differences, found, tuple(differences))


def _compare_variables(paths: tuple[str, str], name: str, how: HowToCompare) -> Comparison:
    """Compare a variable of two files. Text of variable length is not compared."""

    def describe() -> tuple[Description, Description] | str:
        try:
            one, other = formats.describe(paths[0], name), formats.describe(paths[1], name)
            if one.dtype.kind == other.dtype.kind == "S" and len(one.shape) + 1 == len(other.shape):
                other = text_of_characters(other)
            elif one.dtype.kind == other.dtype.kind == "S" and len(one.shape) == len(other.shape) + 1:
                one = text_of_characters(one)
            check_copied(one)
            check_copied(other)
        except UnsupportedError as error:
            return str(error)
        return one, other

    found = how.ranks.on_first(f"verify {name}", describe)
    if isinstance(found, str):
        return Comparison(False, 0, reason=found)
    try:
        return compare_arrays(found, None, how)
    except ArgumentError as error:
        return Comparison(False, 0, reason=str(error))


def _of_attributes(where: str, a: Attributes, b: Attributes) -> list[str]:
    """Return, in words, which attributes differ."""
    found = []
    for name in dict.fromkeys([*a, *b]):
        if name not in a or name not in b:
            found.append(f"{where}attribute {name}: only in the {'first' if name in a else 'second'}")
        elif not _are_same(a[name], b[name]):
            found.append(f"{where}attribute {name}: {a[name]!r} and {b[name]!r}")
    return found


def _are_same(a: Any, b: Any) -> bool:
    """Return whether attributes have the same value; JSON and netCDF have other types for the same numbers."""
    try:
        one, other = np.atleast_1d(a), np.atleast_1d(b)
        numbers = one.dtype.kind in "iufc" and other.dtype.kind in "iufc"
        return np.array_equal(one, other, equal_nan=numbers)
    except (TypeError, ValueError):
        return bool(a == b)


def _of_dimensions(a: Variable, b: Variable) -> list[str]:
    """Return, in words, whether two variables have differently named dimensions, as far as they have names."""
    pairs = zip(a.dimensions, b.dimensions, strict=False)
    if all(one == other or not one or not other for one, other in pairs):
        return []
    return [f"{a.name}: dimensions {a.dimensions} and {b.dimensions}"]
