"""`swath.verify`: compares two arrays, or the contents of two files."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from swath import formats
from swath.array.open_array import Array
from swath.base.memory_budget import memory_bytes
from swath.copying.by_library.comparing import compare_files, compare_variables, the_variable
from swath.copying.by_library.libraries import FileByLibrary
from swath.copying.characters import text_of_characters
from swath.copying.compare import Comparison, HowToCompare, compare_arrays
from swath.copying.compare_texts import compare_texts
from swath.copying.sources import description_of, refuse_no_source
from swath.errors import ArgumentError, UnsupportedError
from swath.formats import Contents, Description
from swath.formats.contents import Attributes, Group, Variable
from swath.formats.files import checked_path
from swath.ranks import compared
from swath.ranks.ranks import in_turn, ranks_of


@dataclasses.dataclass(frozen=True)
class FileComparison:
    """The result of the comparison of two files.

    Attributes:
        equal: the same variables, equal as `Comparison` defines it, with the same attributes; the same groups.
        variables: the comparisons of the variables that both have.
        differences: descriptions of all other differences: names, dimensions, attributes. Types of attributes count
            only if libraries compare.
        libraries: the libraries that read both files, with `by_library`.
    """

    equal: bool
    variables: dict[str, Comparison]
    differences: tuple[str, ...] = ()
    libraries: tuple[str, ...] = ()

    @property
    def elements(self) -> int:
        """The number of compared elements."""
        return sum(one.elements for one in self.variables.values())

    @property
    def differing(self) -> int:
        """The number of elements that differ."""
        return sum(one.differing for one in self.variables.values())

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        if self.equal:
            count = len(self.variables)
            by = f", by {' and '.join(self.libraries)}" if self.libraries else ""
            return f"equal: {count} variable{'' if count == 1 else 's'}, {self.elements:,} elements{by}"
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
    by_library: bool = False,
) -> Comparison | FileComparison:
    """Compare two files, or two arrays element by element, in bounded memory. Collective over `comm`.

    Files of many variables are compared as a whole if no variable and no `axes` are given, including names, dimensions
    and attributes. Two files of one variable each, with different names, are compared as arrays.

    Formats, layouts and dtypes may differ: values are compared, as NumPy compares them; in structures, the fields of
    the same names. Padding does not count.

    Args:
        a: a path, or an array opened by `swath.open`.
        b: the same.
        variable: the name of a in its file.
        other_variable: the name of b.
        axes: dimension d of b is dimension `axes[d]` of a, as for `swath.copy`.
        memory: the budget, see `swath.copy`.
        comm: an mpi4py communicator: the ranks share the work.
        engine: see `swath.open`.
        by_library: read both files by the libraries of their formats (h5py, netCDF4, zarr, NumPy), not by Swath. This
            also
            compares what Swath does not know: attributes of user-defined types, links, named types, fill values, types
            of attributes, and differences between Zarr's consolidated metadata and the nodes.

    Raises:
        ArgumentError: elements that cannot be compared, an impossible budget or `axes`; `by_library` for a raw file.
        UnsupportedError: a library that `by_library` needs is not installed.
        NotFoundError, FormatError, StoreError: as `swath.open` and `Array.read` do.
    """
    words = compared.call_signature("verify", compared.InWords(""), locals(), own=("comm",))
    ranks = ranks_of(comm)

    is_whole = variable is None and other_variable is None and axes is None

    def describe() -> tuple[Any, int]:
        budget = memory_bytes(memory) // ranks.most_on_a_node
        if by_library:
            return (FileByLibrary.of(a), FileByLibrary.of(b)), budget
        if is_whole:
            files = _contents(a), _contents(b)
            if (
                files[0] is not None
                and files[1] is not None
                and _are_compared_whole(files[0].variables, files[1].variables)
            ):
                return files, budget
        return _comparable(_description(a, variable), _description(b, other_variable), axes), budget

    found, budget = ranks.on_first(words, describe)
    how = HowToCompare(ranks, budget, engine)
    if by_library:
        return _verified_by_library(found, (variable, other_variable), axes, how)
    if isinstance(found[0], Description):
        return _compare_described(found, axes, how)
    return _compare_files((checked_path(a), checked_path(b)), found, how)


def _verified_by_library(
    sides: tuple[FileByLibrary, FileByLibrary],
    names: tuple[str | None, str | None],
    axes: tuple[int, ...] | None,
    how: HowToCompare,
) -> Comparison | FileComparison:
    is_whole = names == (None, None) and axes is None and "npy" not in (sides[0].held.format, sides[1].held.format)
    if is_whole and _are_compared_whole(sides[0].held.variables, sides[1].held.variables):
        variables, differences = compare_files(sides, how)
        libraries = dict.fromkeys(held.library for side in sides for held in side.views.values())
        return FileComparison(
            all(variables.values()) and not differences, variables, tuple(differences), tuple(libraries)
        )
    known = the_variable(sides[0], names[0]), the_variable(sides[1], names[1])
    return compare_variables(sides, known, axes, how)


def _are_compared_whole(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Return whether files are compared as a whole: not if each has one variable, with different names."""
    return len(a) != 1 or len(b) != 1 or list(a) == list(b)


def _contents(source: Any) -> Contents | None:
    if isinstance(source, Array):
        return None
    refuse_no_source(source, "verify")
    found = formats.contents_of_many(source, to_change=True)
    return None if found is None or "" in found.variables else found


def _description(source: Any, variable: str | None) -> Description:
    return description_of(source, variable, "verify")


def _comparable(
    one: Description, other: Description, axes: tuple[int, ...] | None = None
) -> tuple[Description, Description]:
    """Return both as texts, if one has texts of fixed length and the other characters."""
    with contextlib.suppress(UnsupportedError):  # otherwise they are read as texts
        if axes is None and one.dtype.kind == other.dtype.kind == "S":
            if len(one.shape) + 1 == len(other.shape):
                return one, text_of_characters(other)
            if len(one.shape) == len(other.shape) + 1:
                return text_of_characters(one), other
    return one, other


def _compare_described(
    both: tuple[Description, Description], axes: tuple[int, ...] | None, how: HowToCompare
) -> Comparison:
    are_texts = all(one.dtype.kind in "OSU" for one in both)
    if any(one.dtype.hasobject for one in both) or (are_texts and len(both[0].shape) != len(both[1].shape)):
        return compare_texts(both, axes, how)
    return compare_arrays(both, axes, how)


def _compare_files(paths: tuple[str, str], files: tuple[Contents, Contents], how: HowToCompare) -> FileComparison:
    a, b = files
    differences = [f"only in {paths[0]}: {name}" for name in a.variables if name not in b.variables]
    differences += [f"only in {paths[1]}: {name}" for name in b.variables if name not in a.variables]
    for name in dict.fromkeys([*a.groups, *b.groups]):
        if name not in a.groups or name not in b.groups:
            differences.append(f"only in {paths[name not in a.groups]}: group {name}")
        else:
            differences += _of_holders(f"{name}: " if name else "", a.groups[name], b.groups[name])
    found = {}
    for name in a.variables:
        if name in b.variables:
            one, other = a.variables[name], b.variables[name]
            differences += _of_holders(f"{name}: ", one, other)
            differences += _of_dimensions(one, other)
            if one.unsupported or other.unsupported:
                found[name] = _compare_unsupported(paths, (one, other), how)
            else:
                found[name] = _compare_variables(paths, name, how)
    differences += _of_others(paths, a, b)
    return FileComparison(all(found.values()) and not differences, found, tuple(differences))


def _compare_unsupported(paths: tuple[str, str], both: tuple[Variable, Variable], how: HowToCompare) -> Comparison:
    """Compare by their library what Swath does not read: references, sequences, null dataspaces."""
    name = both[0].name

    def sides() -> tuple[FileByLibrary, FileByLibrary] | str:
        found = FileByLibrary.of(paths[0]), FileByLibrary.of(paths[1])
        is_known = all("h5py" in side.views and name in side.views["h5py"].variables for side in found)
        return found if is_known else f"not read: {both[0].unsupported or both[1].unsupported}"

    found = how.ranks.on_first(f"verify {name} by library", sides)
    if isinstance(found, str):
        return Comparison(False, 0, reason=found)
    by_h5py = tuple(FileByLibrary(side.path, {"h5py": side.views["h5py"]}) for side in found)
    return compare_variables((by_h5py[0], by_h5py[1]), (name, name), None, how)


def _of_others(paths: tuple[str, str], a: Contents, b: Contents) -> list[str]:
    """Return descriptions of links and named types that only one file has. netCDF-4 has no types without names."""
    found = []
    for path, one, other in ((paths[0], a, b), (paths[1], b, a)):
        invents = one.format == "netcdf4" != other.format
        for name, words in one.others.items():
            if name not in other.others and not (invents and words == "a named type"):
                found.append(f"only in {path}: {name}, {words}")
    return found


def _compare_variables(paths: tuple[str, str], name: str, how: HowToCompare) -> Comparison:
    """Compare a variable of two files."""

    def describe() -> tuple[Description, Description] | str:
        try:
            return _comparable(formats.describe(paths[0], name), formats.describe(paths[1], name))
        except UnsupportedError as error:
            return str(error)

    found = how.ranks.on_first(f"verify {name}", describe)
    if isinstance(found, str):
        return Comparison(False, 0, reason=found)
    try:
        return _compare_described(found, None, how)
    except ArgumentError as error:
        return Comparison(False, 0, reason=str(error))


def _of_holders(where: str, a: Group | Variable, b: Group | Variable) -> list[str]:
    """Return descriptions of different attributes of two groups or variables; also of those without a value here."""
    found = _of_attributes(where, a.attributes, b.attributes)
    for name in dict.fromkeys([*a.other_attributes, *b.other_attributes]):
        one, other = a.other_attributes.get(name), b.other_attributes.get(name)
        if one is None or other is None:
            found.append(
                f"{where}attribute {name}: only in the {'second' if one is None else 'first'} ({one or other})"
            )
        elif one != other:
            found.append(f"{where}attribute {name}: {one} and {other}")
    if isinstance(a, Variable) and isinstance(b, Variable):
        names = [None if one.enumeration is None else one.enumeration.members for one in (a, b)]
        if names[0] != names[1]:
            found.append(f"{where}what its numbers are called: {names[0] or 'nothing'} and {names[1] or 'nothing'}")
    return found


def _of_attributes(where: str, a: Attributes, b: Attributes) -> list[str]:
    """Return descriptions of different attributes."""
    found = []
    for name in dict.fromkeys([*a, *b]):
        if name not in a or name not in b:
            found.append(f"{where}attribute {name}: only in the {'first' if name in a else 'second'}")
        elif not _are_same(a[name], b[name]):
            found.append(f"{where}attribute {name}: {a[name]!r} and {b[name]!r}")
    return found


def _are_same(a: Any, b: Any) -> bool:
    """Return whether attributes have the same value; JSON and netCDF have different types for the same numbers."""
    try:
        one, other = np.atleast_1d(a), np.atleast_1d(b)
        numbers = one.dtype.kind in "iufc" and other.dtype.kind in "iufc"
        return np.array_equal(one, other, equal_nan=numbers)
    except (TypeError, ValueError):
        return bool(a == b)


def _of_dimensions(a: Variable, b: Variable) -> list[str]:
    """Return a description if the names of two variables' dimensions differ, as far as they have names."""
    pairs = zip(a.dimensions, b.dimensions, strict=False)
    if all(one == other or not one or not other for one, other in pairs):
        return []
    return [f"{a.name}: dimensions {a.dimensions} and {b.dimensions}"]
